"""Two operators, one cluster: one acts, the other is ready; and a leader that should not act does not."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import TYPE_CHECKING

import pytest

from test import polling
from test.component import backend, cluster, phases, process
from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from test.component.world import World
    from topology_simulator.apiserver import requests

LOST_THE_LEASE = 3
SHORT = ("--lease-duration", "6", "--renew-deadline", "4", "--retry-period", "0.5")
"""Shorter still, for a leader that is cut off. A request timeout of it is 2 s, so it may write."""


@pytest.mark.on_real
async def test_a_leader_that_is_told_to_stop_hands_over_at_once(world: World, figure: Callable[[str], None]) -> None:
    world.echo.on = False
    first = await world.idle_operator("operator-a")
    second = await world.operator("operator-b")
    await world.ask_for()
    await world.until_condition("Progressing", "True", "TransitionAdmitting")
    attempt = (await world.record())["attempt"]
    assert "leading as" not in second.words()
    assert {one.who for one in world.server.writes} == {"operator-a"}
    # The one who waits is warm: its idle watches are open.
    assert len([one for one in world.server.watches() if backend.who(one) == "operator-b"]) == phases.IDLE

    assert await first.stop() == 0
    began = time.monotonic()
    assert await world.holder() in {"", "operator-b"}
    await world.until_held("operator-b", seconds=3.0)
    lasted = time.monotonic() - began
    figure(f"a clean end to the next leader: {lasted:.2f} s")
    assert lasted < int(process.LEASE[1]) / 2, "it waits until the lease has run out"
    await world.asked_until("an attempt of its own", world.record, holds=lambda found: found["attempt"] != attempt)
    assert world.server.topology_changes == []
    await world.echo.go_on()
    world.echo.on = True
    await world.completed_once()
    assert {one.who for one in world.server.topology_changes} == {"operator-b"}


@pytest.mark.parametrize("on_its_way", [False, True], ids=["before the change", "with the change on its way"])
async def test_a_leader_that_slept_since_its_live_read_does_not_change(world: World, *, on_its_way: bool) -> None:
    world.echo.on = False
    first = await world.idle_operator("operator-a")
    second = await world.operator("operator-b")
    await world.ask_for()
    await world.until_condition("Progressing", "True", "TransitionAdmitting")
    old = (await world.record())["attempt"]
    stopped, arrives = asyncio.Event(), asyncio.Event()

    async def stop(request: requests.Request) -> None:
        assert backend.who(request) == "operator-a"
        first.send(signal.SIGSTOP)
        stopped.set()
        if on_its_way:
            await arrives.wait()

    world.server.before(backend.is_change if on_its_way else backend.is_live_read, stop)
    operator = await world.api.get(kinds.CLUSTER_OPERATORS, "topology")
    await world.echo.say(operator)
    async with asyncio.timeout(5.0 * polling.PATIENCE):
        await stopped.wait()
    # Nobody else may admit while it sleeps: what matters is that a new attempt stands there when it wakes up.
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.forget_lease()
    await world.until_held("operator-b", seconds=5.0)

    def conflicts() -> int:
        asked = [one for one in world.server.asked() if (one.verb, one.resource) == ("patch", "infrastructures")]
        return [one.code for one in asked].count(409)

    await polling.until(
        "the new leader supersedes the attempt", world.record, holds=lambda found: found.get("attempt") != old
    )
    if on_its_way:
        arrives.set()
        await polling.until("the server has refused the change of the attempt before", conflicts)
    else:
        # Its evidence grows old.
        await asyncio.sleep(2.5)
        assert world.server.topology_changes == []
    first.send(signal.SIGCONT)

    assert await first.ended(10.0) == LOST_THE_LEASE, first.tail()
    assert "operator-b" in first.words()
    assert await world.moves() == []
    assert conflicts() == len(world.server.topology_changes) == on_its_way

    await world.echo.go_on()
    await cluster.set_ready(world.api, "master-2", ready=True)
    await world.completed_once()
    assert world.server.topology_changes[-1].who == "operator-b"
    assert second.alive


async def test_a_leader_that_is_cut_off_has_stopped_before_the_next_one_begins(
    world: World, figure: Callable[[str], None]
) -> None:
    """Requests get no answer and watches say nothing, for it alone: the network is torn, the server is well."""
    first = await world.operator("operator-a", lease=SHORT)
    await world.until_held("operator-a")
    second = await world.operator("operator-b", lease=SHORT)
    taken: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    async def take(_: requests.Request) -> None:
        taken.set_result(time.monotonic())

    world.server.before(
        lambda request: (
            request.verb == "update" and request.target.plural == "leases" and backend.who(request) == "operator-b"
        ),
        take,
    )
    began = time.monotonic()
    world.server.fault("silent", token="operator-a")

    async def end() -> float:
        assert await first.ended(15.0) == LOST_THE_LEASE, first.tail()
        return time.monotonic()

    ended = asyncio.create_task(end())
    try:
        async with asyncio.timeout(15.0 * polling.PATIENCE):
            after = await taken
    finally:
        stopped = await ended
    figure(f"cut off: gone {stopped - began:.2f} s after it heard last, {after - stopped:.2f} s before it was replaced")
    assert stopped < after
    assert "not renewed for 4 s" in first.words()
    await second.said("leading as")
    assert await world.holder() == "operator-b"
