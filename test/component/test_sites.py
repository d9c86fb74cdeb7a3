"""Sites as they are really built, on a real API server of their own and with OpenShift's definitions.

What each has and lacks is in its story (`topology_simulator.scenario`). The operator comes by its manifests, once as
the version operator applies them and once as `kubectl apply` does, and has the rights that these bring and no others.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling
from test.component import installing, plugin, reactors
from topology_simulator import client as clients
from topology_simulator import conditions, kinds, kubeconfig, machine_api, scenario

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import process
    from test.component.installing import Empty
    from topology_simulator.envtest import audit

ACCOUNT = f"system:serviceaccount:{installing.NAMESPACE}:{installing.NAME}"
_CAPABILITY = "capability.openshift.io/name"
_SETTINGS = ("spec.disableNetworkDiagnostics of Network cluster", "spec.disableDrain of SriovOperatorConfig")
_REQUEST = '{"spec":{"desiredTopology":"HighlyAvailable"}}'
_OVERRIDE = "useUnsupportedUnsafeNonHANonProductionUnstableEtcd"


class Site:
    """A site on its server: its administrator, the plugin, and the operator's manifests once they are applied."""

    def __init__(self, empty: Empty, api: clients.Client, folder: pathlib.Path) -> None:
        self.empty = empty
        self.api = api
        self.administrator = installing.Administrator(empty.server.kubeconfig(), folder)
        self.plugin = plugin.Plugin(folder, empty.server.kubeconfig())
        self.log = empty.server.audit()
        self.printed = ""

    async def install(self) -> None:
        """Patch the definition, and bring the manifests as the version operator does: by enabled capabilities."""
        *fields, _, _, _ = installing.converting()
        for command in fields:
            await self.administrator.types(command.text)
        self.printed = await self.administrator.prints("--image", "REGISTRY/cluster-topology-operator:0.2.0")
        version = await self.api.get(kinds.CLUSTER_VERSIONS, "version")
        enabled = {None, *version["status"]["capabilities"]["enabledCapabilities"]}
        every = installing.objects(self.printed)
        payload = [one for one in every if one["metadata"].get("annotations", {}).get(_CAPABILITY) in enabled]
        self.left_out = [one for one in every if one not in payload]
        assert bool(self.left_out) is ("MachineAPI" not in enabled), "a capability of ours is not annotated"
        await self.apply(yaml.safe_dump_all(payload))

    async def apply(self, manifests: str) -> None:
        """Apply manifests with kubectl, which must not complain of any."""
        said = await self.administrator.tries("kubectl", "apply", "-f", "-", given=manifests)
        assert (said.code, said.complaint) == (0, ""), said.complaint

    @contextlib.asynccontextmanager
    async def operator(self) -> AsyncIterator[process.Operator]:
        """Run the operator as its account, among those who follow."""
        token = await self.administrator.oc("create", "token", installing.NAME, "-n", installing.NAMESPACE)
        running = installing.running(self.administrator, self.empty, self.printed, token.strip())
        async with reactors.living(kubeconfig.access(self.empty.server.kubeconfig())), running as operator:
            yield operator

    async def status(self) -> dict[str, Any]:
        return dict((await self.api.get(kinds.INFRASTRUCTURES, "cluster"))["status"])

    def asked(self) -> list[audit.Event]:
        """What the operator has asked since this was asked last."""
        return [one for one in self.log.read() if one.user == ACCOUNT]

    def refused(self) -> set[str]:
        """What of that it may not."""
        return {f"{one.verb} {one.resource}: {one.code}" for one in self.asked() if one.code in {401, 403}}


@pytest.fixture
async def site(real_binaries: None, request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> AsyncIterator[Site]:
    story, changes = request.param
    shape = scenario.load(story).shape().model_copy(update=changes)
    with installing.Empty(shape) as empty:
        async with clients.Client(empty.access(), "administrator") as api:
            made = Site(empty, api, tmp_path)
            await made.install()
            yield made


def unmet(plan: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["message"] for one in plan["checks"] if one["status"] != "Met"}


def advised(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in record["advisories"] if one["name"] == "SingleNodeSettings"]


@pytest.mark.parametrize("site", [("ran-du", {"masters": 3})], indirect=True, ids=["three nodes"])
async def test_a_radio_site_takes_the_manifests_and_completes_with_its_settings_named(site: Site) -> None:
    assert await site.api.find(kinds.NAMESPACES, machine_api.NAMESPACE) is None
    async with site.operator() as operator:
        await installing.until_phase(site.api, "Idle", operator)
        code, plan = await site.plugin.json("plan", "HighlyAvailable")
        assert (code, plan["verdict"], unmet(plan)) == (plugin.DONE, "Possible", {}), plan
        named = {one["name"]: one["message"] for one in plan["advisories"]}["SingleNodeSettings"]
        assert all(words in named for words in _SETTINGS), named
        replicas = str([one["message"] for one in plan["expected"] if one["name"] == "Replicas"])
        assert not [one for one in ("console", "registry", "alertmanager", "plugin") if one in replicas], replicas
        assert not plan["unread"], plan["unread"]
        await site.plugin.run("set", "HighlyAvailable", "--confirm")
        await installing.until_phase(site.api, "Completed", operator)
        record = (await site.status())["topologyTransition"]
        (console,) = [one["message"] for one in record["checks"] if one["name"] == "ConsoleReplicas"]
        assert "capability Console is not enabled" in console, console
        (advisory,) = advised(record)
        assert all(words in advisory["message"] for words in _SETTINGS), advisory
        await site.administrator.types(advisory["command"])
        assert await operator.stop() == 0, operator.tail()
    # Kind and right come with the same capability: the server refuses before it looks, and discovery tells both apart.
    assert site.refused() == {"list machines: 403"}
    await site.apply(yaml.safe_dump_all(site.left_out))
    async with site.operator():
        gone = "what was set back is advised no more"
        await polling.until(gone, site.status, holds=lambda status: not advised(status["topologyTransition"]))
    assert site.refused() == set(), "with what kubectl applies there is nothing that may not be asked"


@pytest.mark.parametrize("site", [("old-sno", {})], indirect=True, ids=["one node"])
async def test_an_old_site_is_told_each_thing_and_nothing_moves_until_it_is_done(site: Site) -> None:
    async with site.operator() as operator:
        reads = functools.partial(site.api.find, kinds.CLUSTER_OPERATORS, "topology")
        found = await polling.until("Disabled", reads, holds=lambda one: conditions.is_true(one, "Disabled"))
        told = conditions.find(found, "Disabled")["message"]
        command = told[told.index("oc patch ") :]
        assert ("status.controlPlaneTopology" in told, len(told) <= 300) == (True, True), told
        asks = ("patch", "infrastructure", "cluster", "--type", "merge", "-p", _REQUEST)
        refused = await site.administrator.tries("kubectl", *asks)
        assert (refused.code, "condition Disabled of ClusterOperator" in refused.complaint) == (1, True), refused
        code, plan = await site.plugin.json("plan", "HighlyAvailable")
        assert (code, command in plan["message"]) == (plugin.UNSUPPORTED, True), plan
        assert _OVERRIDE in unmet(plan)["EtcdScalingSafe"]
        assert "master-0 (lacks label node-role.kubernetes.io/control-plane)" in unmet(plan)["ControlPlaneNodes"]
        await asyncio.sleep(2.0)  # as long as a decision would never take
        assert [(await site.status())[f"{one}Topology"] for one in ("controlPlane", "infrastructure")] == ["", ""]
        written = {one.resource for one in site.asked() if one.verb in {"create", "update", "patch", "delete"}}
        assert written <= {"clusteroperators", "leases", "tokenreviews", "subjectaccessreviews"}, written
        await site.administrator.types(command)
        await polling.until("not Disabled", reads, holds=lambda one: not conditions.is_true(one, "Disabled"))
        await site.administrator.oc(*asks)
        await installing.until_phase(site.api, "Pending", operator)
        _, plan = await site.plugin.json("plan", "HighlyAvailable")
        assert {"EtcdScalingSafe", "ControlPlaneNodes"} <= unmet(plan).keys(), plan["checks"]
        assert (await site.status())["controlPlaneTopology"] == "SingleReplica"
