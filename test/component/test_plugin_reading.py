"""What an administrator asks before, while and after the topology changes, with the command as its own process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test import sentences
from test.component import cluster, plugin
from test.component import world as worlds

if TYPE_CHECKING:
    import pathlib

    from test.component import real
    from test.component.world import World


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
