"""One function per kind: a raw object in, a fact out.

Only the fields that somebody asks about are read; everything else is dropped here, so that a node of 16 KB becomes a
few words. A field of the wrong type raises `fields.Malformed`; whoever called turns it into `Unobserved`.
"""

from __future__ import annotations

import functools
import ipaddress
import math
import re
from typing import Any

import pydantic

from topology_api import served, vocabulary
from topology_api.types import RecordCopy, TopologyTransition

from . import facts, fields

Raw = dict[str, Any]

_ROLE = "node-role.kubernetes.io/"
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e([+-]?[0-9]+)|([KMGTPE]i|[numkMGTPE])?)\Z", re.IGNORECASE)
_SUFFIX = {
    "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip
_NATIVE_CONDITION = "TopologyTransitionController"
_GATE = "MutableTopology"


def quantity(value: object) -> float | None:
    """A Kubernetes quantity as a number, None when it is none: "32Gi", "7500m", 8."""
    try:
        number = _number(value)
    except OverflowError:
        return None
    return number if number is not None and math.isfinite(number) else None


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    found = _QUANTITY.match(value) if isinstance(value, str) else None
    if found is None:
        return None
    number, exponent, suffix = found.groups()
    if exponent is not None:
        return float(f"{number}e{exponent}")
    if not suffix:
        return float(number)
    return float(number) * _SUFFIX[suffix] if suffix in _SUFFIX else None


@functools.lru_cache(maxsize=256)
def address(value: str) -> str | None:
    """An IP address in its shortest form, None when it is none; brackets around IPv6 are accepted."""
    try:
        return str(ipaddress.ip_address(value.strip().removeprefix("[").removesuffix("]")))
    except ValueError:
        return None


def conditions(raw: object, path: str = "status.conditions") -> facts.Conditions:
    """The conditions of an object; an absent list is empty."""
    return facts.Conditions(
        tuple(
            facts.Condition(
                type=fields.text(item, "type") or "",
                status=fields.text(item, "status") or "Unknown",
                reason=fields.text(item, "reason") or "",
                message=fields.text(item, "message") or "",
            )
            for item in fields.items(raw, path)
        )
    )


def infrastructure(raw: Raw) -> facts.Infrastructure:
    """Infrastructure `cluster` (config.openshift.io/v1)."""
    labels = fields.mapping(raw, "metadata.labels")
    found = fields.at(raw, "status.topologyTransition")
    return facts.Infrastructure(
        uid=fields.text(raw, "metadata.uid") or "",
        resource_version=fields.text(raw, "metadata.resourceVersion") or "",
        generation=fields.whole(raw, "metadata.generation"),
        desired=fields.text(raw, "spec.desiredTopology"),
        native_wish=fields.text(raw, "spec.controlPlaneTopology"),
        control_plane=fields.text(raw, "status.controlPlaneTopology"),
        infrastructure=fields.text(raw, "status.infrastructureTopology"),
        platform=fields.text(raw, "status.platformStatus.type") or fields.text(raw, "status.platform"),
        image_based_install=labels.get(vocabulary.IMAGE_BASED_INSTALL_LABEL, "false") != "false",
        record=_record(found),
        raw_record=found if isinstance(found, dict) else None,
        topology_writer=_topology_writer(raw),
    )


def _record(found: object) -> TopologyTransition | facts.Unobserved | None:
    if not found:
        return None
    what = "infrastructures.config.openshift.io/cluster"
    try:
        record = TopologyTransition.from_api(found)
    except pydantic.ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        return facts.Unobserved(what, f"status.topologyTransition.{where}")
    # A time without a zone passes the schema; bounds are reckoned from these, and it could not be compared with now.
    if not _reckonable(record):
        return facts.Unobserved(what, "status.topologyTransition has a time that cannot be reckoned with")
    return record


def _reckonable(record: TopologyTransition) -> bool:
    times = (
        record.requested_time, record.phase_transition_time, record.admitted_time, record.completed_time,
        *(check.last_transition_time for check in record.checks),
        *(item.evaluated_time for item in record.available),
    )  # fmt: skip
    return all(time is None or fields.reckonable(time) for time in times)


def _topology_writer(raw: Raw) -> str | None:
    writer, latest = None, ""
    for entry in fields.items(raw, "metadata.managedFields"):
        owned = fields.mapping(entry, "fieldsV1")
        status = owned.get("f:status")
        when = fields.text(entry, "time") or ""
        if isinstance(status, dict) and "f:controlPlaneTopology" in status and when >= latest:
            writer, latest = fields.text(entry, "manager"), when
    return writer


def own_operator(raw: Raw) -> facts.OwnOperator:
    """ClusterOperator `topology` (config.openshift.io/v1)."""
    annotations = fields.mapping(raw, "metadata.annotations")
    extension = fields.at(raw, "status.extension")
    return facts.OwnOperator(
        resource_version=fields.text(raw, "metadata.resourceVersion") or "",
        paused=annotations.get(vocabulary.PAUSED_ANNOTATION, "false") != "false",
        status=fields.mapping(raw, "status"),
        copy=_copy(extension),
    )


def _copy(extension: object) -> RecordCopy | None:
    if not isinstance(extension, dict) or not extension:
        return None
    # Nothing guards the extension by a schema: what a record could not be rebuilt from is no copy.
    return RecordCopy.model_validate(extension) if isinstance(_record(extension), TopologyTransition) else None


def cluster_operator(raw: Raw) -> facts.ClusterOperator:
    """ClusterOperator (config.openshift.io/v1): the three conditions that stability is judged by."""
    kept = ("Available", "Progressing", "Degraded")
    found = conditions(raw)
    return facts.ClusterOperator(
        name=fields.text(raw, "metadata.name") or "",
        # Messages change with every pod that restarts; the verdict does not depend on them.
        conditions=facts.Conditions(
            tuple(facts.Condition(item.type, item.status) for item in found if item.type in kept)
        ),
    )


def cluster_version(raw: Raw) -> facts.ClusterVersion:
    """ClusterVersion `version` (config.openshift.io/v1)."""
    kept = ("Progressing", "Upgradeable")
    return facts.ClusterVersion(
        version=fields.text(raw, "status.desired.version"),
        conditions=facts.Conditions(tuple(item for item in conditions(raw) if item.type in kept)),
    )


def node(raw: Raw) -> facts.Node:
    """Node (v1) with the label node-role.kubernetes.io/control-plane."""
    labels = fields.mapping(raw, "metadata.labels")
    capacity = fields.mapping(raw, "status.capacity")
    memory = quantity(capacity.get("memory"))
    addresses = (
        address(fields.text(item, "address") or "")
        for item in fields.items(raw, "status.addresses")
        if item.get("type") == "InternalIP"
    )
    taints = (
        f"{fields.text(item, 'key')}:{fields.text(item, 'effect')}"
        for item in fields.items(raw, "spec.taints")
        if fields.text(item, "effect") in {"NoSchedule", "NoExecute"}
    )
    return facts.Node(
        name=fields.text(raw, "metadata.name") or "",
        master=f"{_ROLE}master" in labels,
        worker=f"{_ROLE}worker" in labels,
        ready=conditions(raw).status("Ready"),
        cordoned=fields.flag(raw, "spec.unschedulable"),
        deleting=fields.text(raw, "metadata.deletionTimestamp") is not None,
        kubelet_version=fields.text(raw, "status.nodeInfo.kubeletVersion"),
        cpus=quantity(capacity.get("cpu")),
        memory_bytes=None if memory is None else int(memory),
        addresses=tuple(sorted(found for found in addresses if found)),
        taints=tuple(sorted(taints)),
    )


def other_node(raw: Raw) -> facts.OtherNode:
    """Node (v1) without the label control-plane, from its metadata alone."""
    labels = fields.mapping(raw, "metadata.labels")
    return facts.OtherNode(
        name=fields.text(raw, "metadata.name") or "",
        master=f"{_ROLE}master" in labels,
        arbiter=f"{_ROLE}arbiter" in labels,
    )


def scheduler(raw: Raw) -> facts.Scheduler:
    """Scheduler `cluster` (config.openshift.io/v1)."""
    return facts.Scheduler(masters_schedulable=fields.flag(raw, "spec.mastersSchedulable"))


def etcd_endpoints(raw: Raw) -> facts.EtcdEndpoints:
    """ConfigMap openshift-etcd/etcd-endpoints (v1)."""
    data = fields.mapping(raw, "data")
    # A key may hold dots (a node name), so the values are not read by path.
    return facts.EtcdEndpoints(
        tuple(sorted((key, value if isinstance(value, str) else "") for key, value in data.items()))
    )


def etcd(raw: Raw) -> facts.Etcd:
    """Etcd `cluster` (operator.openshift.io/v1): the conditions about members."""
    return facts.Etcd(
        facts.Conditions(
            tuple(
                facts.Condition(item.type, item.status, item.reason)
                for item in conditions(raw)
                if item.type.startswith("EtcdMembers")
            )
        )
    )


def etcd_lease(raw: Raw) -> facts.EtcdLease:
    """Lease (coordination.k8s.io/v1) of the etcd operator."""
    seconds = fields.optional_whole(raw, "spec.leaseDurationSeconds")
    if seconds is not None and not 0 < seconds < 2**31:
        raise fields.Malformed("spec.leaseDurationSeconds", "a positive number of 31 bits", seconds)
    return facts.EtcdLease(
        holder=fields.text(raw, "spec.holderIdentity") or "",
        renew_time=fields.moment(raw, "spec.renewTime"),
        duration_seconds=seconds,
    )


def machine_config_pool(raw: Raw) -> facts.MachineConfigPool:
    """MachineConfigPool (machineconfiguration.openshift.io/v1)."""
    return facts.MachineConfigPool(
        name=fields.text(raw, "metadata.name") or "",
        wanted_configuration=fields.text(raw, "spec.configuration.name") or "",
        configuration=fields.text(raw, "status.configuration.name") or "",
        machines=fields.whole(raw, "status.machineCount"),
        updated=fields.whole(raw, "status.updatedMachineCount"),
        ready=fields.whole(raw, "status.readyMachineCount"),
        degraded=fields.whole(raw, "status.degradedMachineCount"),
        observed=fields.whole(raw, "status.observedGeneration", -1) == fields.whole(raw, "metadata.generation"),
    )


def ingress_controller(raw: Raw) -> facts.IngressController:
    """IngressController openshift-ingress-operator/default (operator.openshift.io/v1)."""
    return facts.IngressController(
        wanted_replicas=fields.optional_whole(raw, "spec.replicas"),
        available_replicas=fields.whole(raw, "status.availableReplicas"),
    )


def feature_gates(raw: Raw) -> facts.FeatureGates:
    """FeatureGate `cluster` (config.openshift.io/v1): one entry for each payload version that is in play."""
    return facts.FeatureGates(
        tuple(
            (
                fields.text(entry, "version") or "",
                any(gate.get("name") == _GATE for gate in fields.items(entry, "enabled")),
            )
            for entry in fields.items(raw, "status.featureGates")
        )
    )


def native_controller(raw: Raw) -> facts.NativeController:
    """configs.operator.openshift.io/cluster: the native controller leaves its conditions there."""
    return facts.NativeController(any(item.type.startswith(_NATIVE_CONDITION) for item in conditions(raw)))


def installed(raw: Raw) -> facts.Installed:
    """CustomResourceDefinition infrastructures.config.openshift.io: does it have our fields?"""
    found = served.serves_our_fields(raw)
    return facts.Installed(None if found.ok else found.reason)
