"""Who looks on while etcd is restored from a backup: each shows the restored cluster without being started anew.

They have no Lease of their own to notice it by. `fleet` keeps nothing from one run to the next, and is left out.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import backend, cluster, elsewhere, phases, plugin
from test.component import world as worlds
from topology_simulator import backups

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import forked, process

pytestmark = [pytest.mark.parametrize("way", list(backups.BUMPS)), pytest.mark.nightly(but=("plain",))]
_SOON = 30.0


@pytest.fixture
async def world(tmp_path: pathlib.Path) -> AsyncIterator[worlds.World]:
    """The embedded server: what is tested here is on this side of it."""
    async with worlds.opened(backend.Place(), tmp_path) as made:
        yield made


@pytest.fixture
def command(world: worlds.World, tmp_path: pathlib.Path) -> plugin.Plugin:
    return plugin.Plugin(tmp_path, world.server.kubeconfig())


async def put_back(world: worlds.World, saved: Any, way: backups.Way) -> None:
    await world.server.put_back(saved, bump=backups.BUMPS[way], meanwhile=world.operands.forget)
    await world.operands.seen()


async def until_said(following: asyncio.subprocess.Process | forked.Process, words: str, *, complaint: bool) -> None:
    """Wait for a line of standard output, or of standard error, that has these words."""
    stream = following.stderr if complaint else following.stdout
    assert stream is not None
    lines: list[str] = []
    try:
        async with asyncio.timeout(_SOON):
            while not lines or words not in lines[-1]:
                lines.append((await stream.readline()).decode())
                assert lines[-1], f"ended without {words!r}: {lines}"
    except TimeoutError:
        raise AssertionError(f"not within {_SOON:g} s: {words!r}; said: {lines}") from None


async def test_wait_learns_that_there_is_no_request_any_more(
    world: worlds.World, command: plugin.Plugin, way: backups.Way
) -> None:
    await world.idle_operator()
    backup = await world.server.snapshot()
    await phases.bring(world, "Pending")
    async with command.running("wait") as waiting:
        await until_said(waiting, "Pending", complaint=True)
        await put_back(world, backup, way)
        await until_said(waiting, "there is no request to wait for", complaint=True)
        await waiting.communicate()
    assert waiting.returncode == plugin.FAILED


async def test_status_watch_shows_the_cluster_of_the_backup(
    world: worlds.World, command: plugin.Plugin, way: backups.Way
) -> None:
    await world.idle_operator()
    backup = await world.server.snapshot()
    await phases.bring(world, "Converging")
    async with command.running("status", "--watch") as following:
        await until_said(following, "Converging", complaint=False)
        await put_back(world, backup, way)
        await until_said(following, "Idle: the cluster is SingleReplica", complaint=False)
        following.terminate()
        await following.communicate()


async def test_the_page_shows_the_cluster_of_the_backup_whoever_leads(world: worlds.World, way: backups.Way) -> None:
    leading = await world.idle_operator()
    backup = await world.server.snapshot()
    await phases.bring(world, "Converging")
    standing_by = await world.operator("operator-b")

    async def until_shown(operator: process.Operator, phase: str) -> None:
        async def shown() -> bool:
            _, text = await operator.ask("/state")
            return bool(json.loads(text)["phase"] == phase)

        await polling.until(f"the page of {operator.name} shows {phase}", shown)

    for operator in (leading, standing_by):
        await until_shown(operator, "Converging")
    await put_back(world, backup, way)
    for operator in (leading, standing_by):
        await until_shown(operator, "Idle")


async def test_an_operator_elsewhere_begins_anew_and_takes_the_request_up_again(
    world: worlds.World, tmp_path: pathlib.Path, way: backups.Way
) -> None:
    """Its lease is in another cluster, and says nothing of this one."""
    async with elsewhere.opened(world, None, tmp_path) as pair:
        operator = await pair.operator()
        await world.until_phase("Idle")
        backup = await world.server.snapshot()
        await phases.bring(world, "Completed")
        await put_back(world, backup, way)
        await world.until_condition("Progressing", "False", "AsExpected", seconds=_SOON)
        assert await world.pair() == world.installed
        await cluster.set_ready(world.api, "master-2", ready=False)
        await world.ask_for()
        await world.until_check("ControlPlaneNodes", "Unmet", seconds=_SOON)
        assert await operator.metric("topology_store_restored_total") == 1
        assert await pair.holder() == "operator-a"
