"""The hub of a fleet, as far as `fleet` asks it: ManagedClusters, and ManifestWorks as the work agent writes them.

Definitions are the test's own, and lax: what a work looks like is what the survey prints (bindata/fleet/survey.yaml)
and what the agent of Open Cluster Management 1.2 adds to it: conditions, feedback and field managers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from topology_controller import bindata
from topology_simulator.apiserver import server

if TYPE_CHECKING:
    from collections.abc import Iterable

Raw = dict[str, Any]
SURVEY = "topology-fleet.topology-survey"
ROLL_OUT = "topology-fleet.topology"
_LABEL = "work.open-cluster-management.io/manifestworkreplicaset"
_WORK, _CLUSTER = "work.open-cluster-management.io/v1", "cluster.open-cluster-management.io/v1"
_SINCE = "2026-03-01T11:02:00Z"
_GENERATION = 2


def definition(group: str, kind: str, *, namespaced: bool) -> Raw:
    """A definition that takes any spec and any status."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def empty() -> server.ApiServer:
    """A hub without a cluster."""
    return server.ApiServer(
        crds=(
            definition(_WORK.partition("/")[0], "ManifestWork", namespaced=True),
            definition(_CLUSTER.partition("/")[0], "ManagedCluster", namespaced=False),
        )
    )


def template() -> Raw:
    """The spec that the survey gives to each work."""
    *_, survey = yaml.safe_load_all((bindata.root() / "fleet" / "survey.yaml").read_text(encoding="utf-8"))
    spec: Raw = survey["spec"]["manifestWorkTemplate"]
    return spec


def add(hub: server.ApiServer, works: Iterable[Raw], *, available: str = "True") -> None:
    """Put works and their clusters onto a hub."""
    for work in works:
        name = work["metadata"]["namespace"]
        if work["metadata"]["labels"][_LABEL] == SURVEY:
            hub.install({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            condition = _condition("ManagedClusterConditionAvailable", available, "ManagedClusterAvailable", "")
            status = {"conditions": [condition], "version": {"kubernetes": "v1.36.3"}}
            metadata = {"name": name}
            hub.install({"apiVersion": _CLUSTER, "kind": "ManagedCluster", "metadata": metadata, "status": status})
        hub.install(work)


def surveyed(cluster: str, message: str, spec: Raw, *, since: str = "", disabled: str = "") -> Raw:
    """The survey's work of a cluster whose condition has this message."""
    values = {
        "controlPlane": "SingleReplica", "infrastructure": "SingleReplica", "phase": "Idle", "since": _SINCE,
        "problemSince": since,
    }  # fmt: skip
    state = _condition("Ready", "True" if message == "Ready" else "False", "ConditionRuleEvaluated", message)
    return _work(
        cluster,
        SURVEY,
        spec,
        (
            _manifest("Infrastructure", "cluster", values, (state,)),
            _manifest("ClusterOperator", "topology", {"disabled": disabled}, ()),
        ),
    )


def refused(cluster: str, message: str) -> Raw:
    """The roll-out's work of a cluster that could not be applied."""
    manifest = _manifest("Infrastructure", "cluster", {}, ())
    manifest["conditions"] = [_condition("Applied", "False", "AppliedManifestFailed", message)]
    return _work(cluster, ROLL_OUT, {"workload": {"manifests": []}}, (manifest,))


def _work(cluster: str, made_by: str, spec: Raw, manifests: tuple[Raw, ...]) -> Raw:
    conditions = [
        _condition("Applied", "True", "AppliedManifestWorkComplete", "Apply manifest work complete"),
        _condition("Available", "True", "ResourcesAvailable", "All resources are available"),
    ]
    status = {"conditions": conditions, "resourceStatus": {"manifests": list(manifests)}}
    return {
        "apiVersion": _WORK,
        "kind": "ManifestWork",
        "metadata": {
            "name": made_by.partition(".")[2],
            "namespace": cluster,
            "labels": {_LABEL: made_by},
            "finalizers": ["cluster.open-cluster-management.io/manifest-work-cleanup"],
            "managedFields": [
                {
                    "apiVersion": _WORK, "fieldsType": "FieldsV1", "manager": manager, "operation": "Update",
                    "time": _SINCE, "fieldsV1": {f"f:{part}": {".": {}, f"f:{field}": {}}},
                }
                for manager, part, field in (
                    ("manifestworkreplicaset", "spec", "workload"), ("work-agent", "status", "resourceStatus"),
                )
            ],
        },
        "spec": spec,
        "status": status,
    }  # fmt: skip


def _manifest(kind: str, name: str, values: dict[str, str], conditions: tuple[Raw, ...]) -> Raw:
    feedback = [{"name": key, "fieldValue": {"type": "String", "string": text}} for key, text in values.items() if text]
    known = (
        _condition("Applied", "True", "AppliedManifestComplete", "Apply manifest complete"),
        _condition("Available", "True", "ResourceAvailable", "Resource is available"),
        _condition("StatusFeedbackSynced", "True", "StatusFeedbackSynced", ""),
    )
    return {
        "conditions": [*known, *conditions],
        "resourceMeta": {
            "group": "config.openshift.io", "kind": kind, "name": name, "namespace": "",
            "ordinal": int(kind == "ClusterOperator"), "resource": f"{kind.lower()}s", "version": "v1",
        },
        "statusFeedback": {"values": feedback} if feedback else {},
    }  # fmt: skip


def _condition(kind: str, status: str, reason: str, message: str) -> Raw:
    return {
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": _SINCE,
        "observedGeneration": _GENERATION,
    }  # fmt: skip
