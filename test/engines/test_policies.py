"""Policies in the real config-policy-controller: what they say of each object of the table, and what they install.

One kube-apiserver holds the object, as the controller would find it on a cluster; its generation is what that server
counts. Two policies judge each object: one of this test prints the state by the template of `meaning`, and the one of
the pack says whether the cluster complies and what it would write. Both say which version they speak of.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling
from test.unit.fleet import table
from topology_api import crd, crd_patch, vocabulary
from topology_api import served as served_fields
from topology_deploy import manifests
from topology_deploy.fleet import install as fleet_install
from topology_deploy.fleet import meaning
from topology_deploy.fleet.meaning import State
from topology_simulator import client, install, kinds, kubeconfig
from topology_simulator.envtest import openshift, server
from topology_simulator.fleet import engines, pack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from topology_deploy.fleet import engines as fleet_engines

Raw = dict[str, Any]
_SECONDS, _INSTALLED_SECONDS = 30.0, 60.0
_POLICIES = pack.CONFIGURATION_POLICIES
_RULES = ("x-kubernetes-validations", "enum", "required", "default")
_STATE = "state"
_LOOKUP = '{{- $infrastructure := lookup "config.openshift.io/v1" "Infrastructure" "" "cluster" }}'
_VERSION = "(index .Policy.status.relatedObjects 0).object.metadata.resourceVersion"


_OTHER: Raw = {
    "kind": "Deployment", "group": "apps", "namespace": "openshift-console", "name": "console", "unmanaged": True,
}  # fmt: skip
_VERSION_SPEC = {"clusterID": "11111111-2222-3333-4444-555555555555", "channel": "stable-4.20"}
_PLATFORM = {"cloudConfig": {"name": ""}, "platformSpec": {"type": "None"}}


def _state_policy() -> Raw:
    """A policy that wants the state that the template finds as an annotation, which is never there."""
    raw = f"""\
{_LOOKUP}
{meaning.template(table.TARGET, table.NAMES)}
- complianceType: musthave
  recordDiff: InStatus
  objectDefinition:
    apiVersion: config.openshift.io/v1
    kind: Infrastructure
    metadata:
      name: cluster
      annotations:
        state: '{{{{ $state }}}} {{{{ $infrastructure.metadata.resourceVersion }}}}'
"""
    return {**_judging(), "object-templates-raw": raw}


def _pack_policy() -> Raw:
    """The policy of the pack, whose difference to the object is recorded."""
    spec = pack.Pack().policy()
    raw = spec["object-templates-raw"].replace("- complianceType:", "- recordDiff: InStatus\n  complianceType:")
    return {**spec, **_judging(), "object-templates-raw": raw}


def _judging() -> Raw:
    """What both have: they judge each change, and say which version they speak of."""
    return {
        "remediationAction": "inform",
        "severity": "low",
        "customMessage": dict.fromkeys(("compliant", "noncompliant"), f"version={{{{ {_VERSION} }}}}."),
        "evaluationInterval": {"compliant": "watch", "noncompliant": "watch"},
    }


@contextlib.asynccontextmanager
async def _opened(crds: Iterable[Raw]) -> AsyncIterator[client.Client]:
    """Open both, with these definitions. Raises binaries.MissingError where a program is not here."""
    async with server.RealServer() as api_server, engines.Engines() as running:
        access = kubeconfig.access(api_server.kubeconfig())
        async with client.Client(access, "test-engines", strict=True) as api:
            await install.define(api, engines.definitions())
            await install.define(api, list(crds))
            await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(engines.POLICY_NAMESPACE))
            await running.run(
                engines.POLICIES, cluster="spoke", site=running.kubeconfig("policy", api_server.kubeconfig())
            )
            yield api


@pytest.fixture
async def cluster() -> AsyncIterator[client.Client]:
    """An API server with the definition of Infrastructure, and the controller with both policies."""
    name = f"infrastructures.{kinds.INFRASTRUCTURES.group}"
    crds = [_without_rules(crd) for crd in install.definitions() if crd["metadata"]["name"] == name]
    async with _opened(crds) as api:
        # As governance-policy-framework-addon would.
        for policy, spec in ((_STATE, _state_policy()), (pack.NAME, _pack_policy())):
            await api.create(_POLICIES, _POLICIES.new(policy, engines.POLICY_NAMESPACE, spec=spec))
        yield api


def _without_rules(schema: Any, keys: list[str] | None = None) -> Any:
    """A definition without its rules, words, defaults and fields that have to be there, but for the keys of a list.

    An object gets its request before its record here, and the table has records that no operator of ours writes.
    """
    if not isinstance(schema, dict):
        return [_without_rules(part) for part in schema] if isinstance(schema, list) else schema
    kept = {name: part for name, part in schema.items() if name not in _RULES}
    in_list = schema.get("x-kubernetes-list-map-keys")
    simple = {name: _without_rules(part, in_list if name == "items" else None) for name, part in kept.items()}
    return {**simple, "required": keys} if keys else simple


async def _stored(api: client.Client, infrastructure: Raw) -> str:
    """Store an object in place of the one before it, and return its version.

    The server counts its generation; the record is as far ahead or behind as it was.
    """
    obj = copy.deepcopy(infrastructure)
    status = obj.pop("status", {})
    behind = obj["metadata"].pop("generation", 0)
    for name in ("resourceVersion", "uid", "creationTimestamp", "managedFields"):
        obj["metadata"].pop(name, None)
    if await api.find(kinds.INFRASTRUCTURES, "cluster"):
        await api.delete(kinds.INFRASTRUCTURES, "cluster")
    created = await api.create(kinds.INFRASTRUCTURES, obj)
    record = status.get("topologyTransition") or {}
    if "observedGeneration" in record:
        record["observedGeneration"] += created["metadata"]["generation"] - behind
    updated = await api.put(kinds.INFRASTRUCTURES, {**created, "status": status}, "status")
    return str(updated["metadata"]["resourceVersion"])


async def _state(api: client.Client, version: str) -> str:
    """Wait until the policy of this test has judged this version, and return the state that it found."""
    while True:
        _, difference = await _said(api, _STATE)
        if judged := re.search(rf"state: (\w+) {version}$", difference, re.MULTILINE):
            return judged[1]
        await asyncio.sleep(0.05)


async def _verdict(api: client.Client, version: str) -> tuple[str, bool]:
    """Wait until the policy of the pack speaks of this version: does it comply, and would it make the request?"""
    while True:
        message, difference = await _said(api, pack.NAME)
        if message.endswith(f"version={version}."):
            return message.partition(";")[0], "+  desiredTopology: HighlyAvailable" in difference
        await asyncio.sleep(0.05)


async def _said(api: client.Client, name: str) -> tuple[str, str]:
    """The newest message of a policy, and the difference between what it wants and what is there."""
    status = (await api.get(_POLICIES, name, engines.POLICY_NAMESPACE)).get("status") or {}
    newest, *_ = status.get("history") or [{"message": ""}]
    related, *_ = status.get("relatedObjects") or [{}]
    return newest["message"], (related.get("properties") or {}).get("diff", "")


async def test_the_template_finds_the_state_of_every_row_and_the_policy_acts_by_it(cluster: client.Client) -> None:
    wanted, found = {}, {}
    for row in (row for row in table.rows() if row.legal):
        version = await _stored(cluster, row.infrastructure)
        async with asyncio.timeout(_SECONDS):
            found[row.name] = (await _state(cluster, version), *await _verdict(cluster, version))
        complies = row.state in {State.DONE, State.NOT_FOR_US}
        wanted[row.name] = (row.state.value, "Compliant" if complies else "NonCompliant", row.state is State.READY)
    assert len(wanted) >= 40
    assert found == wanted


def _steps(parts: Iterable[fleet_engines.File]) -> list[Raw]:
    """The steps of the policy of a pack; by `extraDependencies` a cluster gets one when that before it complies."""
    documents = yaml.load_all("---\n".join(part.text for part in parts), install.LOADER)
    (policy,) = (item for item in documents if item["kind"] == "Policy")
    return [step["objectDefinition"] for step in policy["spec"]["policy-templates"]]


async def _gives(api: client.Client, step: Raw, compliance: str = "Compliant") -> None:
    """Give the cluster a step, unless it has it, and wait until it is judged so."""
    name = step["metadata"]["name"]
    if await api.find(_POLICIES, name, engines.POLICY_NAMESPACE) is None:
        await api.create(_POLICIES, {**step, "metadata": {**step["metadata"], "namespace": engines.POLICY_NAMESPACE}})
    await polling.until(
        f"{name} is {compliance}",
        lambda: api.get(_POLICIES, name, engines.POLICY_NAMESPACE),
        _INSTALLED_SECONDS,
        holds=lambda policy: (policy.get("status") or {}).get("compliant") == compliance,
    )


def _in_any_order(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: _in_any_order(inner) for name, inner in part.items()}
    return sorted(map(_in_any_order, part), key=json.dumps) if isinstance(part, list) else part


async def test_one_policy_installs_all_and_another_takes_it_away() -> None:
    """What `fleet install` and `fleet remove` print, on a cluster whose payload owns the definition.

    Another override, no operator -> all is there, and nothing else differs.
    A transition that converges -> nothing is removed.
    Then -> request, operator and our override are gone; the other override, and all else of ClusterVersion, stay.
    """
    text = manifests.render(image="registry.example/operator:1")
    operator = fleet_install.read(text)
    async with _opened(openshift.payload()) as api:
        version = kinds.CLUSTER_VERSIONS.new("version", spec={**_VERSION_SPEC, "overrides": [_OTHER]})
        await api.create(kinds.CLUSTER_VERSIONS, version)
        own = {obj["metadata"]["name"] for obj in operator if obj["kind"] == "Namespace"}
        for name in sorted({obj["metadata"].get("namespace", "default") for obj in operator} - own):
            if await api.find(kinds.NAMESPACES, name) is None:
                await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(name))
        before = await api.get(kinds.DEFINITIONS, crd.NAME)
        assert served_fields.lacking(before)
        for step in _steps(fleet_install.install("topology-fleet", "global", operator)):
            await _gives(api, step)
        after = await api.get(kinds.DEFINITIONS, crd.NAME)
        overrides = (await api.get(kinds.CLUSTER_VERSIONS, "version"))["spec"]["overrides"]
        assert not served_fields.lacking(after)
        taken_out = crd_patch.apply(after, crd_patch.remove(after))
        assert _in_any_order(taken_out["spec"]) == _in_any_order(before["spec"]), "only our part differs"
        assert sorted(each["name"] for each in overrides) == sorted((_OTHER["name"], crd.NAME)), overrides
        for listed in await api.list(_POLICIES):  # as the hub does when the label changes
            await api.delete(_POLICIES, listed["metadata"]["name"], engines.POLICY_NAMESPACE)

        await api.create(kinds.INFRASTRUCTURES, kinds.INFRASTRUCTURES.new("cluster", spec=_PLATFORM))
        await _has(api, "SingleReplica", "Pending")
        await api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {crd.DESIRED: "HighlyAvailable"}})
        await _has(api, "HighlyAvailable", "Converging")
        request, rest, override = _steps(fleet_install.remove("topology-fleet", "global", operator))
        await _gives(api, request, "NonCompliant")
        assert (await api.get(kinds.INFRASTRUCTURES, "cluster"))["spec"][crd.DESIRED] == "HighlyAvailable"
        await _has(api, "HighlyAvailable", "Completed")
        for step in (request, rest, override):
            await _gives(api, step)
        assert (await api.get(kinds.INFRASTRUCTURES, "cluster"))["spec"] == _PLATFORM
        places = ((kinds.any_kind(obj), obj["metadata"]) for obj in operator)
        left = [at["name"] for kind, at in places if await api.find(kind, at["name"], at.get("namespace", ""))]
        assert left == [vocabulary.DEFAULT_NAMESPACE], "nothing here finalizes a namespace"
        spec = (await api.get(kinds.CLUSTER_VERSIONS, "version"))["spec"]
        assert spec == {**_VERSION_SPEC, "overrides": [_OTHER]}


async def _has(api: client.Client, topology: str, phase: str) -> None:
    status = dict.fromkeys(("controlPlaneTopology", "infrastructureTopology"), topology)
    await api.patch_status(kinds.INFRASTRUCTURES, "cluster", {**status, crd.RECORD: {"phase": phase}})
