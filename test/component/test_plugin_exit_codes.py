"""Exit codes, by the program that is installed: what a script or a pipeline may rely on.

That it is 0 when what was waited for is completed, and 130 when interrupted, is shown where waiting is tested
(test_plugin_writing, test_plugin_reading).

0 done or possible   1 error   2 usage   3 blocked   4 unsupported   5 timed out   130 interrupted
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test.component import backend, plugin
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


async def test_every_way_to_end_has_its_code(here: World, command: plugin.Plugin) -> None:
    for words in (("plan", worlds.DESIRED), ("status",)):
        ended = await command.run(*words)
        assert (ended.code, ended.complaint) == (plugin.DONE, ""), words
        assert ended.printed
    assert (await command.run("set", "Highlyavailable")).code == plugin.USAGE
    assert (await command.run("set", "DualReplica", "--confirm")).code == plugin.UNSUPPORTED
    ended = await command.run("set", worlds.DESIRED, "--confirm")
    assert ended.code == plugin.BLOCKED, "no operator runs"
    assert "desiredTopology" not in (await here.infrastructure())["spec"]

    ended = await command.run("set", worlds.DESIRED, "--confirm", "--allow-pending", "--wait", "--timeout", "1s")
    assert (ended.code, "not completed after 1 s" in ended.complaint) == (plugin.TIMED_OUT, True)
    assert (await here.infrastructure())["spec"]["desiredTopology"] == worlds.DESIRED
    assert (await command.run("cancel")).code == plugin.DONE

    here.server.fault("status", user_agent=plugin.AGENT, code=403, resource="infrastructures")
    ended = await command.run("plan")
    assert ended.code == plugin.FAILED
    assert ended.reason.startswith("forbidden: you need permission to get infrastructures.config.openshift.io/cluster")
