"""Exit codes, by the program that is installed: what a script or a pipeline may rely on.

That it is 0 when what was waited for is completed, and 130 when interrupted, is shown where waiting is tested
(test_plugin_writing, test_plugin_reading).

0 done or possible   1 error   2 usage   3 blocked   4 unsupported   5 timed out   130 interrupted
"""

from __future__ import annotations

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
    return plugin.Plugin(tmp_path, here.server.kubeconfig())


async def test_0_what_is_possible_and_what_is_done(command: plugin.Plugin) -> None:
    for words in (
        ("plan", worlds.DESIRED),
        ("status",),
        ("set", worlds.DESIRED, "--confirm", "--allow-pending"),
        ("cancel",),
    ):
        ended = await command.run(*words)
        assert (ended.code, ended.complaint) == (plugin.DONE, ""), words
        assert ended.printed


async def test_1_one_line_when_there_is_no_answer(here: World, command: plugin.Plugin) -> None:
    here.server.fault("status", user_agent=plugin.AGENT, code=403, resource="infrastructures")
    for words in (("plan",), ("status",), ("wait",), ("graph",), ("set", worlds.DESIRED, "--confirm"), ("cancel",)):
        ended = await command.run(*words)
        assert ended.code == plugin.FAILED, words
        assert ended.reason.startswith(
            "forbidden: you need permission to get infrastructures.config.openshift.io/cluster"
        )


async def test_2_bad_usage(command: plugin.Plugin) -> None:
    for words in (("stauts",), ("set", "Highlyavailable")):
        ended = await command.run(*words)
        assert ended.code == plugin.USAGE, words
        assert "did you mean" in ended.reason
    helped = await command.run()
    assert (helped.code, helped.complaint) == (plugin.DONE, "")
    assert helped.printed.startswith("usage: oc topology VERB")


async def test_3_a_check_is_not_met(here: World, command: plugin.Plugin) -> None:
    await cluster.set_ready(here.api, "master-2", ready=False)
    for words in (("plan", worlds.DESIRED), ("set", worlds.DESIRED, "--confirm")):
        assert (await command.run(*words)).code == plugin.BLOCKED, words
    await cluster.set_ready(here.api, "master-2", ready=True)
    assert (await command.run("plan", worlds.DESIRED)).code == plugin.DONE
    ended = await command.run("set", worlds.DESIRED, "--confirm")
    assert ended.code == plugin.BLOCKED, "no operator runs"
    assert "no operator runs that would act on the request" in " ".join(ended.printed.split())
    assert "desiredTopology" not in (await here.infrastructure())["spec"]


async def test_4_nothing_leads_there(here: World, command: plugin.Plugin) -> None:
    for words in (("plan", "DualReplica"), ("set", "DualReplica", "--confirm")):
        assert (await command.run(*words)).code == plugin.UNSUPPORTED, words
    assert "desiredTopology" not in (await here.infrastructure())["spec"]


async def test_5_it_lasts_longer_than_somebody_would_wait(here: World, command: plugin.Plugin) -> None:
    ended = await command.run("set", worlds.DESIRED, "--confirm", "--allow-pending", "--wait", "--timeout", "1s")
    assert ended.code == plugin.TIMED_OUT
    assert "not completed after 1 s" in ended.complaint
    assert (await here.infrastructure())["spec"]["desiredTopology"] == worlds.DESIRED
