"""What an administrator asks before, while and after the topology changes, with the command as its own process."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from test import sentences
from test.component import cluster, definitions, plugin
from test.component import world as worlds
from topology_simulator import cluster as simulated
from topology_simulator import kinds
from topology_simulator.apiserver import server

if TYPE_CHECKING:
    import pathlib

    from test.component import backend, real
    from test.component.world import World

PATCH = (
    "oc -n NAMESPACE patch hostedcluster NAME --type merge "
    """-p '{"spec":{"infrastructureAvailabilityPolicy":"HighlyAvailable"}}'"""
)
HOSTED_READS = frozenset({
    "clusteroperators", "configs", "customresourcedefinitions", "events", "featuregates", "infrastructures", "leases",
})  # fmt: skip
"""All that the operator asks about on a hosted cluster: no routers, and no ClusterVersion."""


@pytest.fixture
def command(world: World, tmp_path: pathlib.Path) -> plugin.Plugin:
    return plugin.Plugin(tmp_path, world.server.kubeconfig())


async def test_everything_can_be_asked_before_the_operator_is_there_and_nothing_is_written(
    world: World, command: plugin.Plugin
) -> None:
    mark = world.server.mark()
    code, ways = await command.json("plan")
    assert code == plugin.DONE
    assert {one["name"]: one["verdict"] for one in ways["transitions"]} == {
        "sno-to-ha-compact": "Possible",
        "sno-to-ha-with-workers": "Blocked",
    }
    code, found = await command.json("plan", worlds.DESIRED)
    assert (code, found["verdict"]) == (plugin.DONE, "Possible")
    assert {one["status"] for one in found["checks"]} == {"Met"}
    assert found["operator"]["state"] == "NotInstalled"
    assert (await command.json("plan", "DualReplica"))[0] == plugin.UNSUPPORTED
    code, told = await command.json("status")
    assert (code, told["phase"]) == (plugin.DONE, None)
    assert "no record" in (await command.run("status")).printed
    drawn = await command.run("graph", "-o", "mermaid")
    assert (drawn.code, drawn.printed.splitlines()[0]) == (plugin.DONE, "flowchart LR")
    assert world.server.changes(plugin.PROGRAM, mark) == 0


async def test_what_is_planned_is_what_the_operator_publishes_until_it_is_completed(
    world: World, command: plugin.Plugin
) -> None:
    await cluster.set_ready(world.api, "master-2", ready=False)
    code, planned = await command.json("plan", worlds.DESIRED)
    assert (code, planned["verdict"]) == (plugin.BLOCKED, "Blocked")
    await world.operator()
    await world.ask_for()
    await world.until_check("ControlPlaneNodes", "Unmet")
    published = [
        {name: one[name] for name in ("name", "status", "message")} for one in (await world.record())["checks"]
    ]
    assert planned["checks"] == published
    code, again = await command.json("plan", worlds.DESIRED)
    assert (code, again["checks"], again["command"]) == (plugin.BLOCKED, published, None)
    code, told = await command.json("status")
    assert (code, told["phase"], told["operator"]["state"]) == (plugin.DONE, "Pending", "Running")
    assert [{name: one[name] for name in ("name", "status", "message")} for one in told["checks"]] == published
    late = await command.run("wait", "--timeout", "1s")
    assert late.code == plugin.TIMED_OUT
    assert "Pending 9/10: waiting for ControlPlaneNodes" in late.complaint
    async with command.running("wait", "--timeout", "50s") as waiting:
        await cluster.set_ready(world.api, "master-2", ready=True)
        printed, _ = await waiting.communicate()
    assert waiting.returncode == plugin.DONE
    assert printed.decode() == f"{sentences.COMPLETED}. 3 actions required, see: oc topology status\n"
    code, told = await command.json("status")
    assert (code, told["phase"], told["topologyWriter"]) == (plugin.DONE, "Completed", "cluster-topology-operator")
    assert (await command.json("plan", worlds.DESIRED))[1]["verdict"] == "Fulfilled"
    assert (await command.json("plan", "SingleReplica"))[0] == plugin.UNSUPPORTED


@pytest.mark.on_real
async def test_who_may_not_read_everything_is_told_which_right_lacks(world: World, command: plugin.Plugin) -> None:
    world.server.fault("status", user_agent=plugin.AGENT, code=403, resource="nodes")
    code, found = await command.json("plan", worlds.DESIRED)
    assert (code, found["verdict"]) == (plugin.FAILED, "CannotTell")
    by_name = {one["name"]: one for one in found["checks"]}
    assert by_name["ControlPlaneNodes"]["status"] == "Unknown"
    assert "you need permission to list nodes" in by_name["ControlPlaneNodes"]["message"]
    assert by_name["EtcdHealthy"]["status"] == "Met"
    assert {one["right"].split(" ", 2)[1] for one in found["unread"]} == {"nodes"}


@pytest.mark.on_real
async def test_a_crd_without_our_fields_is_said_with_the_command_that_installs_them(
    world: World, command: plugin.Plugin
) -> None:
    await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_our_fields)
    for verb in ("plan", "status"):
        ended = await command.run(verb)
        assert ended.code == plugin.FAILED
        assert "cluster-topology-operator manifests --crd-patch" in ended.reason


async def test_whoever_waits_can_be_told_to_stop(world: World, command: plugin.Plugin) -> None:
    assert "no request to wait for" in (await command.run("wait")).reason
    await world.ask_for()
    async with command.running("wait") as waiting:
        assert waiting.stderr is not None
        assert b"waiting for the operator to pick it up" in await waiting.stderr.readline()
        waiting.send_signal(signal.SIGTERM)
        printed, complaint = await waiting.communicate()
    assert waiting.returncode == plugin.INTERRUPTED
    ended = plugin.Ended(plugin.INTERRUPTED, printed.decode(), complaint.decode())
    assert ended.reason.startswith("interrupted; nothing was written")


async def test_waiting_goes_on_when_every_watch_is_cut(world: World, command: plugin.Plugin) -> None:
    await world.ask_for()
    async with command.running("wait", "--timeout", "50s") as waiting:
        assert waiting.stderr is not None
        await waiting.stderr.readline()
        world.server.fault("cut", user_agent=plugin.AGENT, verb="watch")
        await world.operator()
        printed, _ = await waiting.communicate()
    assert waiting.returncode == plugin.DONE
    assert printed.startswith(b"Completed")


async def test_a_hosted_cluster_is_unsupported(apiserver: backend.Place, tmp_path: pathlib.Path) -> None:
    async with worlds.opened(apiserver, tmp_path, simulated.Shape(hosted=True)) as world:
        command = plugin.Plugin(tmp_path, world.server.kubeconfig())
        for words in (("plan",), ("plan", worlds.DESIRED)):
            code, found = await command.json(*words)
            assert (code, found["verdict"]) == (plugin.UNSUPPORTED, "Unsupported")
            assert "hosted" in found["message"]


@pytest.mark.on_real
@pytest.mark.parametrize("routers", [1, 2])
async def test_the_routers_of_a_hosted_cluster_are_audited_and_the_operator_reads_none_of_it(
    apiserver: backend.Place, tmp_path: pathlib.Path, routers: int
) -> None:
    async with worlds.opened(apiserver, tmp_path, simulated.Shape(hosted=True, router_replicas=routers)) as world:
        command = plugin.Plugin(tmp_path, world.server.kubeconfig())
        await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"infrastructureTopology": "HighlyAvailable"})
        await world.operator()
        await world.until_condition("Disabled", "True", "HostedControlPlane")
        ended = await command.run("audit")
        assert ended.code == (plugin.BLOCKED if routers == 1 else plugin.DONE)
        patch = (
            "    oc -n openshift-ingress-operator patch ingresscontroller default --type merge "
            """-p '{"spec":{"replicas":2}}'\n"""
        )
        assert (patch in ended.printed) is (routers == 1)
        assert "hostedcluster NAME" not in (await command.run("plan")).printed, (
            "its infrastructure is redundant already"
        )
        assert (await command.json("audit"))[1]["next"] == []
        assert {request.resource for request in world.server.asked()} <= HOSTED_READS


@pytest.mark.on_real
async def test_a_hosted_cluster_with_one_of_each_is_told_the_patch_for_the_management_cluster(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    async with worlds.opened(apiserver, tmp_path, simulated.Shape(hosted=True, router_replicas=1)) as world:
        command = plugin.Plugin(tmp_path, world.server.kubeconfig())
        await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"infrastructureTopology": "SingleReplica"})
        for words in (("plan",), ("plan", worlds.DESIRED)):
            ended = await command.run(*words)
            assert ended.code == plugin.UNSUPPORTED
            assert ended.printed.endswith(f"    {PATCH}\n")
        ended = await command.run("audit")
        assert (ended.code, PATCH in ended.printed, "Action required" in ended.printed) == (plugin.DONE, True, False)
        assert PATCH in (await command.run("cancel")).printed


async def test_a_plain_kubernetes_cluster_is_no_openshift(tmp_path: pathlib.Path) -> None:
    empty = server.ApiServer()
    await empty.start()
    try:
        command = plugin.Plugin(tmp_path, empty.kubeconfig())
        for words in (("status",), ("set", worlds.DESIRED, "--confirm"), ("cancel",)):
            ended = await command.run(*words)
            assert ended.code == plugin.FAILED
            assert "this is no OpenShift cluster" in ended.reason
    finally:
        await empty.stop()
    for verb in ("plan", "cancel"):
        gone = await command.run(verb)
        assert gone.code == plugin.FAILED
        assert gone.reason.startswith(f"connection refused by {empty.url}: is the server running?")


async def test_what_cannot_be_used_to_reach_a_cluster_is_named(tmp_path: pathlib.Path) -> None:
    command = plugin.Plugin(tmp_path, {"clusters": [], "contexts": [], "users": []})
    ended = await command.run("status", "--context", "nowhere")
    assert ended.code == plugin.FAILED
    assert "kubeconfig-plugin" in ended.reason
    nonsense = await command.run("plan", "Highlyavailable")
    assert nonsense.code == plugin.USAGE
    assert "did you mean HighlyAvailable?" in nonsense.complaint
    nowhere = await command.run("plan", "--transitions-dir", str(tmp_path))
    assert nowhere.code == plugin.USAGE
    assert str(tmp_path) in nowhere.reason


async def test_a_certificate_that_nobody_vouches_for_is_refused_unless_it_may_be(
    real_server: real.Session, tmp_path: pathlib.Path
) -> None:
    access = real_server.server.kubeconfig()
    for one in access["clusters"]:
        del one["cluster"]["certificate-authority-data"]
    command = plugin.Plugin(tmp_path, access)
    refused = await command.run("status")
    assert refused.code == plugin.FAILED
    assert refused.reason.startswith("the certificate of https://")
    assert "ertificate" in refused.reason
    heard = await command.run("status", "--insecure-skip-tls-verify")
    assert "certificate" not in heard.complaint, heard.complaint
