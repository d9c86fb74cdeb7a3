"""Several API servers behind one address, and an etcd of three members under them: what a grown cluster has.

Two real kube-apiservers that share three real members: one lags, both are restarted one after the other, the leader of
etcd changes and a learner is promoted in the middle of it all. In each story the topology moves once, no phase goes
back, and it completes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import TYPE_CHECKING

import pytest

from test.component import backend, cluster, phases, replicated
from test.component import world as worlds
from test.component.replicated import API, SECOND

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Iterator

    from test.component.world import World
    from topology_simulator.apiserver import requests

pytestmark = pytest.mark.usefixtures("real_binaries")
_LONG = 60.0


@pytest.fixture(scope="module")
def session(real_binaries: None) -> Iterator[replicated.Session]:
    with replicated.Session() as made:
        yield made


@pytest.fixture
async def world(session: replicated.Session, tmp_path: pathlib.Path) -> AsyncIterator[World]:
    async with worlds.opened(replicated.Place(session), tmp_path) as made:
        yield made


def servers(world: World) -> replicated.Servers:
    assert isinstance(world.server, replicated.Servers)
    return world.server


async def completed_once(world: World) -> None:
    """Completed, and once the topology had changed no phase went back: what was shown then was never older."""
    await world.completed_once(seconds=_LONG)
    assert world.operands.phases[-2:] == ["Converging", "Completed"], world.operands.phases
    assert world.operands.phases.count("Converging") == 1, world.operands.phases


@pytest.mark.nightly
@pytest.mark.slow
async def test_the_servers_are_restarted_one_after_the_other_in_the_middle_of_it(world: World) -> None:
    turn = itertools.cycle((API, SECOND))
    # The operator is sent to both in turn, everybody else to the one that is not restarted.
    steady = [API]
    servers(world).lead(lambda request: next(turn) if backend.by_operator(request) else steady[0])
    await phases.reach(world, "Admitting")

    # What is sent to a server that is down is lost.
    await asyncio.gather(servers(world).restart_one(SECOND), phases.go_on(world, "Admitting"))
    steady[0] = SECOND
    await servers(world).restart_one(API)
    await completed_once(world)


async def test_a_server_that_lags_shows_nothing_that_anybody_acts_on(world: World) -> None:
    """Nodes and Infrastructure are watched on one server, which stands still; everything else is asked of the other."""
    lagging = {"nodes", "infrastructures"}

    def choose(request: requests.Request) -> str:
        return SECOND if request.watch and request.target.plural in lagging and backend.by_operator(request) else API

    servers(world).lead(choose)
    await phases.reach(world, "Pending")
    operator = world.operators[0]
    with servers(world).standing_still(SECOND):
        await cluster.set_ready(world.api, "master-2", ready=False)
        await phases.go_on(world, "Pending")
        await operator.said("live evidence differs from what was watched")
        assert world.server.topology_changes == []
    found = await world.until_check("ControlPlaneNodes", "Unmet")
    assert "master-2" in found["message"]

    # It lags again: the change is made past it, and what it tells afterwards is older than what was written.
    with servers(world).standing_still(SECOND):
        world.server.fault("cut", verb="watch", resource="nodes")
        servers(world).lead(lambda _: API)
        await cluster.set_ready(world.api, "master-2", ready=True)
        await world.until_phase("Converging", "Completed", seconds=_LONG)
        servers(world).lead(choose)
    await completed_once(world)
    assert len(world.server.topology_changes) == 1
    assert await operator.metric("topology_store_restored_total") == 0, "lag is no restored backup"


@pytest.mark.nightly
@pytest.mark.slow
async def test_a_server_that_is_a_minute_behind_is_no_restored_backup(world: World) -> None:
    """All is watched there, and lists take turns; what is new has been read or written at the other server."""
    turn = itertools.cycle((API, SECOND))

    def choose(request: requests.Request) -> str:
        if not backend.by_operator(request):
            return API
        return SECOND if request.watch else next(turn) if request.verb == "list" else API

    servers(world).lead(choose)
    await phases.reach(world, "Pending")
    operator = world.operators[0]
    asked = world.server.mark()
    async with servers(world).second_behind():
        until = asyncio.get_running_loop().time() + _LONG
        await phases.go_on(world, "Pending")
        while asyncio.get_running_loop().time() < until:
            # Watches are opened again, from versions that this server has yet to hear of.
            world.server.fault("cut", verb="watch")
            await asyncio.sleep(5.0)
    assert any(one.verb == "watch" for one in world.server.asked(asked))
    await completed_once(world)
    assert len(world.server.topology_changes) == 1
    assert await operator.metric("topology_store_restored_total") == 0


@pytest.mark.nightly
@pytest.mark.slow
async def test_the_leader_of_etcd_is_killed_under_the_change_and_a_learner_is_promoted(world: World) -> None:
    await phases.reach(world, "Admitting")
    etcd = servers(world).session
    killed: list[str] = []

    async def kill(_: requests.Request) -> None:
        killed.append(await etcd.run(etcd.server.kill_leader()))

    world.server.before(backend.is_change, kill)
    await world.echo.go_on()
    await world.until_phase("Converging", seconds=_LONG)
    assert len(killed) == 1

    # The cluster follows only when the learner is a voter.
    await etcd.run(etcd.server.start_member(killed[0]))
    await etcd.run(etcd.server.etcd.add("etcd-3"))
    await etcd.run(etcd.server.etcd.promote("etcd-3"))
    assert (await world.record())["phase"] == "Converging"
    await world.operands.go_on()
    await completed_once(world)
    await etcd.run(etcd.server.etcd.remove("etcd-3"))


@pytest.mark.nightly
async def test_the_leadership_of_etcd_goes_to_and_fro_all_the_time(world: World) -> None:
    await phases.reach(world, "Pending")
    etcd = servers(world).session
    moved = 0

    async def move() -> None:
        nonlocal moved
        while True:
            await etcd.run(etcd.server.move_leader())
            moved += 1
            await asyncio.sleep(0.2)

    moving = asyncio.create_task(move())
    try:
        await phases.go_on(world, "Pending")
        await completed_once(world)
    finally:
        moving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await moving
    assert moved > 1
