"""Every exit code, by the program that is installed: what a script or a pipeline may rely on.

0 done or possible   1 error   2 usage   3 blocked   4 unsupported   5 timed out   130 interrupted
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from test.component import backend, cluster, plugin
from test.component import world as worlds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component.world import World


@pytest.fixture
async def here(tmp_path: pathlib.Path) -> AsyncIterator[World]:
    """A cluster where everything is met. What ends a command is no matter of the API server: ours is quicker."""
    async with worlds.opened(backend.Place(), tmp_path) as made:
        yield made


@pytest.fixture
def command(here: World, tmp_path: pathlib.Path) -> plugin.Plugin:
    return plugin.Plugin(tmp_path, here.server.kubeconfig(), installed=True)


async def test_0_what_is_possible_and_what_is_done(command: plugin.Plugin) -> None:
    for words in (("plan", worlds.WISH), ("status",), ("set", worlds.WISH, "--confirm"), ("cancel",)):
        ended = await command.run(*words)
        assert (ended.code, ended.complaint) == (plugin.DONE, ""), words
        assert ended.printed


async def test_0_when_what_was_waited_for_is_completed(here: World, command: plugin.Plugin) -> None:
    await here.operator()
    ended = await command.run("set", worlds.WISH, "--confirm", "--wait", "--timeout", "50s")
    assert ended.code == plugin.DONE, ended
    assert ended.printed.endswith("Completed: the cluster is HighlyAvailable/HighlyAvailable\n")


async def test_1_one_line_when_there_is_no_answer(here: World, command: plugin.Plugin) -> None:
    assert "no wish to wait for" in (await command.run("wait")).reason
    here.server.fault("status", user_agent=plugin.AGENT, code=403, resource="infrastructures")
    for words in (("plan",), ("set", worlds.WISH, "--confirm"), ("cancel",)):
        ended = await command.run(*words)
        assert ended.code == plugin.FAILED, words
        assert ended.reason.startswith("you have no right to get infrastructures.config.openshift.io/cluster")


async def test_2_bad_usage(command: plugin.Plugin) -> None:
    for words in ((), ("set", "Highlyavailable")):
        ended = await command.run(*words)
        assert (ended.code, ended.printed) == (plugin.USAGE, ""), words
        assert ended.complaint.startswith("usage: kubectl-topology")


async def test_3_a_check_is_not_met(here: World, command: plugin.Plugin) -> None:
    await cluster.set_ready(here.api, "master-2", ready=False)
    for words in (("plan", worlds.WISH), ("set", worlds.WISH, "--confirm")):
        assert (await command.run(*words)).code == plugin.BLOCKED, words
    assert "desiredTopology" not in (await here.infrastructure())["spec"]


async def test_4_nothing_leads_there(here: World, command: plugin.Plugin) -> None:
    for words in (("plan", "DualReplica"), ("set", "DualReplica", "--confirm")):
        assert (await command.run(*words)).code == plugin.UNSUPPORTED, words
    assert "desiredTopology" not in (await here.infrastructure())["spec"]


async def test_5_it_lasts_longer_than_somebody_would_wait(here: World, command: plugin.Plugin) -> None:
    ended = await command.run("set", worlds.WISH, "--confirm", "--wait", "--timeout", "1s")
    assert ended.code == plugin.TIMED_OUT
    assert "not completed after 1 s" in ended.complaint
    assert (await here.infrastructure())["spec"]["desiredTopology"] == worlds.WISH


async def test_130_interrupted(here: World, command: plugin.Plugin) -> None:
    await here.wish()
    async with command.running("wait") as waiting:
        assert waiting.stderr is not None
        assert b"has not said anything" in await waiting.stderr.readline()
        waiting.send_signal(signal.SIGTERM)
        _, complaint = await waiting.communicate()
    assert waiting.returncode == plugin.INTERRUPTED
    assert complaint.decode().strip().endswith("wait on with: oc topology wait")
