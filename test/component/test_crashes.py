"""SIGKILL at every point between two writes of a transition, then a restart: as if nothing had happened.

The points are counted, not guessed: `before` kills at the moment when the n-th write arrives, which is then refused;
`after` lets it be executed while the operator is stopped, and kills it before it could read the answer.
"""

from __future__ import annotations

import asyncio
import collections
import signal
from typing import TYPE_CHECKING

import pytest

from test.component import backend

if TYPE_CHECKING:
    from topology_simulator.apiserver import requests

    from test.component.process import Operator
    from test.component.world import World

WRITES = ("Admitting", "report Admitting", "flip", "report Converging", "event", "event", "event")
"""What is written at least, from the wish to the flip and a little further; later writes depend on what changes when."""
POINTS = 12


def counts(request: requests.Request) -> bool:
    """Whether this is a write whose loss or repetition somebody could see: everything but the lease."""
    events = request.verb == "create" and request.target.plural == "events" and backend.by_operator(request)
    return backend.is_write(request) or events


class Crash:
    """Kills an operator at its n-th write; `done` is set afterwards, `what` says which write it was."""

    def __init__(self, world: World, operator: Operator, number: int, moment: str) -> None:
        self.done = asyncio.Event()
        self.what = ""
        self._operator = operator
        self._number = number
        self._moment = moment
        self._seen = 0
        self._killing: asyncio.Task[None] | None = None
        world.embedded.before(counts, self._arrived, count=None)

    async def _arrived(self, request: requests.Request) -> None:
        if backend.who(request) != self._operator.name:
            return
        self._seen += 1
        if self._seen > self._number:
            # Sent at the same time as the one that it died of: it is as dead.
            raise backend.refuse(503, "the operator is dead")
        if self._seen < self._number:
            return
        target = request.target
        self.what = f"{request.verb} {target.plural}" + (" (flip)" if backend.is_flip(request) else "")
        if self._moment == "before":
            await self._operator.kill()
            self.done.set()
            raise backend.refuse(503, "the operator is dead")
        self._operator.send(signal.SIGSTOP)
        self._killing = asyncio.create_task(self._kill_soon())

    async def _kill_soon(self) -> None:
        # The request is executed in the same step of the loop that ends the hook; the answer is on its way then.
        await asyncio.sleep(0.05)
        await self._operator.kill()
        self.done.set()


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("number", range(1, POINTS + 1))
async def test_killed_at_any_write_the_transition_ends_as_if_nothing_had_happened(
    world: World, number: int, moment: str
) -> None:
    first = await world.idle_operator("operator-a")
    crash = Crash(world, first, number, moment)
    await world.wish()
    completed = asyncio.create_task(world.until_phase("Completed"))
    try:
        async with asyncio.timeout(8.0):
            await asyncio.wait({completed, asyncio.create_task(crash.done.wait())}, return_when="FIRST_COMPLETED")
    finally:
        completed.cancel()
    if not crash.done.is_set():
        # This run had fewer writes, because two changes came together; nothing was killed, nothing is to be proven.
        async with asyncio.timeout(3.0):
            await crash.done.wait()
    print(f"killed {moment} write {number}: {crash.what}")
    assert not first.alive

    await world.forget_lease()
    await world.operator("operator-b", wait=False)
    await world.completed_once()

    executed = [one for one in world.operands.history if one == ("HighlyAvailable", "HighlyAvailable")]
    assert len(executed) == 1
    told = collections.Counter(await world.reasons())
    assert told["TopologyChanged"] == told["TransitionAdmitted"] == told["TransitionCompleted"] == 1
    assert told["TransitionRequested"] <= 1
    assert (await world.condition("Upgradeable"))["status"] == "True"
