"""An operator that gets little of the processor renews its lease late: it writes nothing that the lease does not cover.

Throttling is what a cgroup does: the process stands still for most of each period (SIGSTOP, SIGCONT). What matters is
seen from the server: when the lease was last renewed there, and when a write arrives. Others may take over once the
lease's duration has passed since then.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from typing import TYPE_CHECKING

from test import polling
from test.component import backend, cluster
from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from test.component import process
    from test.component.world import World
    from topology_simulator.apiserver import requests

STILL = 5.0
"""Longer than what may pass between a renewal and a write (3 s: `process.LEASE` less one request timeout of 10 s), and
shorter than what ends a term."""
LOST_THE_LEASE = 3
SHORT = ("--lease-duration", "6", "--renew-deadline", "4", "--retry-period", "1")
"""Too short for any write, which needs ten seconds of it, and long enough to see what becomes of a leader."""


class Ages:
    """Seconds since the last renewal, as the server saw it, at the arrival of each write of an operator."""

    def __init__(self, world: World) -> None:
        self.of_writes: list[float] = []
        self.renewals: list[float] = []
        world.server.before(_renews, self._renewed, count=None)
        world.server.before(backend.is_write, self._wrote, count=None)

    @property
    def longest_pause(self) -> float:
        """Between two renewals."""
        return max((later - first for first, later in zip(self.renewals, self.renewals[1:], strict=False)), default=0.0)

    async def _renewed(self, _: requests.Request) -> None:
        self.renewals.append(time.monotonic())

    async def _wrote(self, _: requests.Request) -> None:
        self.of_writes.append(time.monotonic() - self.renewals[-1])


def _renews(request: requests.Request) -> bool:
    return (
        backend.by_operator(request)
        and request.target.plural == "leases"
        and (request.verb == "create" or (request.verb == "update" and request.target.name == cluster.OWN_LEASE))
    )


@contextlib.asynccontextmanager
async def throttled(operator: process.Operator, *, still: float, moving: float) -> AsyncIterator[None]:
    """Let a process run for `moving` seconds, then stand still for `still`, again and again."""

    async def run() -> None:
        while operator.alive:
            operator.send(signal.SIGSTOP)
            await asyncio.sleep(still)
            operator.send(signal.SIGCONT)
            await asyncio.sleep(moving)

    running = asyncio.create_task(run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        operator.send(signal.SIGCONT)


async def test_a_leader_that_renews_late_changes_the_topology_only_after_a_renewal(world: World) -> None:
    world.echo.on = False
    ages = Ages(world)
    operator = await world.idle_operator()
    await world.ask_for()
    await world.until_condition("Progressing", "True", "TransitionAdmitting")
    async with throttled(operator, still=0.4, moving=0.1):
        await asyncio.sleep(2.0)
    operator.send(signal.SIGSTOP)
    # What was on its way is over: the renewal that takes its time is the first one after this.
    await asyncio.sleep(1.0)
    # All that the change waits for comes while it stands still, and its next renewal takes its time.
    await world.echo.go_on()
    world.server.fault("slow", verb="update", resource="leases", name=cluster.OWN_LEASE, delay=1.0, count=1)
    await asyncio.sleep(STILL)
    operator.send(signal.SIGCONT)

    await operator.said("the lease has less than one request timeout left")
    await world.completed_once(seconds=30.0)
    assert ages.longest_pause >= STILL
    assert max(ages.of_writes) < STILL, ages.of_writes
    assert len(world.server.topology_changes) == 1
    assert operator.alive


async def test_a_leader_that_stood_still_for_too_long_ends_without_a_change_and_the_next_one_goes_on(
    world: World,
) -> None:
    first = await world.operator("operator-a", lease=SHORT)

    async def leads() -> bool:
        return await world.holder() == "operator-a"

    await polling.until("the lease is held", leads)
    # It can go no further than Admitting before it stands still.
    world.echo.on = False
    await world.ask_for()
    async with throttled(first, still=5.0, moving=0.5):
        assert await first.ended(30.0) == LOST_THE_LEASE, first.tail()
    assert world.server.topology_changes == []
    assert await world.moves() == []

    sent = len(world.server.writes)
    world.echo.on = True
    await world.operator("operator-b")
    operator = await world.api.find(kinds.CLUSTER_OPERATORS, "topology")
    if operator is not None:
        await world.echo.say(operator)
    await world.completed_once(seconds=30.0)
    assert {one.who for one in world.server.writes[sent:]} == {"operator-b"}
