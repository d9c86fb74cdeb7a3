"""One policy adds our fields to the payload's definition, sets the override and installs the operator; none goes back.

The way of docs/fleet.md to install is a script on each cluster. This is why: a policy could do the first half of it.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import yaml

from topology_api import crd
from topology_api import served as served_fields
from topology_deploy import manifests
from topology_simulator import kinds
from topology_simulator.envtest import openshift
from topology_simulator.fleet import verdict

from . import controlled

if TYPE_CHECKING:
    from topology_simulator import client

Raw = dict[str, Any]
_SECONDS = 60.0


def _unmanaged(kind: str, group: str, namespace: str, name: str) -> Raw:
    return {"kind": kind, "group": group, "namespace": namespace, "name": name, "unmanaged": True}


_OTHER = _unmanaged("Deployment", "apps", "openshift-console", "console")
_OURS = _unmanaged("CustomResourceDefinition", "apiextensions.k8s.io", "", crd.NAME)


def _override(*overrides: Raw) -> Raw:
    return kinds.CLUSTER_VERSIONS.new("version", spec={"overrides": [*overrides]})


def _fields() -> Raw:
    """Our part of the definition alone: the controller merges items of a list that have the same name."""
    whole = crd.infrastructure(manifests.edges())
    (version,) = whole["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    ours = {"spec": (crd.DESIRED,), "status": (crd.RECORD,)}
    properties = {
        part: {"properties": {name: schema["properties"][part]["properties"][name] for name in names}}
        for part, names in ours.items()
    }
    part = {
        "name": crd.VERSION,
        "additionalPrinterColumns": crd.columns(),
        "schema": {"openAPIV3Schema": {"properties": properties, crd.RULES: schema[crd.RULES]}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": crd.NAME},
        "spec": {"versions": [part]},
    }


def _operator() -> list[Raw]:
    """What `manifests` prints, but for the status of ClusterOperator, which is the operator's."""
    text = manifests.render(manifests.Kind.OPERATOR, image="registry.example/operator:1")
    return [{key: part for key, part in obj.items() if key != "status"} for obj in yaml.safe_load_all(text) if obj]


def _policy(compliance: str, *objects: Raw) -> Raw:
    return {
        "remediationAction": "enforce",
        "severity": "low",
        "evaluationInterval": {"compliant": "watch", "noncompliant": "watch"},
        "pruneObjectBehavior": "None",
        "object-templates": [{"complianceType": compliance, "objectDefinition": obj} for obj in objects],
    }


async def _complies(api: client.Client, name: str) -> None:
    async def agrees() -> bool:
        return (await controlled.status(api, name)).get("compliant") == "Compliant"

    try:
        await verdict.until(f"{name} complies", agrees, _SECONDS)
    except verdict.StoryFailedError as error:
        raise AssertionError(f"{error}: {json.dumps(await controlled.status(api, name))[:4000]}") from None


async def _ready(api: client.Client, objects: list[Raw]) -> None:
    """Create what an OpenShift cluster has before: its version, with an override of somebody, and its namespaces."""
    version = _override(_OTHER)
    version["spec"]["clusterID"] = "11111111-2222-3333-4444-555555555555"
    await api.create(kinds.CLUSTER_VERSIONS, version)
    own = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "Namespace"}
    names = {obj["metadata"].get("namespace", "default") for obj in objects} - own - {"default"}
    for name in sorted(names):
        if await api.find(kinds.NAMESPACES, name) is None:
            await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(name))


def _without_ours(definition: Raw) -> Raw:
    """The rest of a definition, whatever the order of its lists."""
    rest = copy.deepcopy(definition["spec"])
    version = next(each for each in rest["versions"] if each["name"] == crd.VERSION)
    schema = version["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"].pop(crd.DESIRED, None)
    schema["properties"]["status"]["properties"].pop(crd.RECORD, None)
    rules = [rule for rule in schema.get(crd.RULES, []) if rule.get("fieldPath") != f".spec.{crd.DESIRED}"]
    schema[crd.RULES] = sorted(rules, key=json.dumps)
    names = {column["name"] for column in crd.columns()}
    columns = [column for column in version.get("additionalPrinterColumns", []) if column["name"] not in names]
    version["additionalPrinterColumns"] = columns
    rest["versions"] = sorted(rest["versions"], key=lambda each: str(each["name"]))
    return dict(rest)


async def test_a_policy_installs_all_and_cannot_take_the_override_away() -> None:
    """Input: a payload's definition, an override of somebody, no operator. `musthave`: all is there.

    `mustnothave` with our override: all of ClusterVersion goes, with the release of the cluster.
    """
    operator = _operator()
    async with controlled.opened(openshift.payload()) as api:
        await _ready(api, operator)
        before = await api.get(kinds.DEFINITIONS, crd.NAME)
        assert not served_fields.serves_our_fields(before)
        install = _policy("musthave", _override(_OURS), _fields(), *operator)
        # Alerts and dashboards have templates of their own.
        await controlled.give(api, "install", install, templates=False)
        await _complies(api, "install")
        after = await api.get(kinds.DEFINITIONS, crd.NAME)
        overrides = (await api.get(kinds.CLUSTER_VERSIONS, "version"))["spec"]["overrides"]
        assert served_fields.serves_our_fields(after), served_fields.serves_our_fields(after).reason
        assert _without_ours(after) == _without_ours(before), "only our part differs"
        assert sorted(each["name"] for each in overrides) == sorted((_OTHER["name"], crd.NAME)), overrides
        await controlled.give(api, "remove", _policy("mustnothave", _override(_OURS)))

        async def gone() -> bool:
            return await api.find(kinds.CLUSTER_VERSIONS, "version") is None

        await verdict.until("all of ClusterVersion is gone", gone, _SECONDS)
