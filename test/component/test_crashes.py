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
from test.component import world as worlds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from test.component.process import Operator
    from topology_simulator.apiserver import requests

POINTS = 12
"""Writes from the wish to Completed, events among them: Admitting, the flip, at least one change while Converging and
Completed in Infrastructure, the same four in ClusterOperator, four events."""


def counts(request: requests.Request) -> bool:
    """Whether this is a write whose loss or repetition somebody could see: everything but the lease."""
    events = request.verb == "create" and request.target.plural == "events" and backend.by_operator(request)
    return backend.is_write(request) or events


class Crash:
    """Kills an operator at its n-th write; `done` is set afterwards, `what` says which write it was."""

    def __init__(self, world: worlds.World, operator: Operator, number: int, moment: str) -> None:
        self.done = asyncio.Event()
        self.what = ""
        self._operator = operator
        self._number = number
        self._moment = moment
        self._seen = 0
        self._killing: asyncio.Task[None] | None = None
        world.server.before(counts, self._arrived, count=None)

    async def _arrived(self, request: requests.Request) -> None:
        if backend.who(request) != self._operator.name:
            return
        self._seen += 1
        if self._seen > self._number:
            # Sent at the same time as the one that it died of: it is as dead.
            raise backend.refuse(503, "the operator is dead")
        if self._seen < self._number:
            return
        flip = " (flip)" if backend.is_flip(request) else ""
        self.what = f"{request.verb} {request.target.plural}{flip}"
        # Nothing is awaited here: the server would give up a request whose client has gone.
        if self._moment == "before":
            self._killing = asyncio.create_task(self._kill(0.0))
            raise backend.refuse(503, "the operator is dead")
        self._operator.send(signal.SIGSTOP)
        # The request is executed in the same step of the loop that ends this hook; its answer finds nobody.
        self._killing = asyncio.create_task(self._kill(0.05))

    async def _kill(self, later: float) -> None:
        if later:
            await asyncio.sleep(later)
        await self._operator.kill()
        self.done.set()


async def crash_and_restart(place: backend.Place, folder: pathlib.Path, number: int, moment: str) -> str:
    """One run in a world of its own; returns what it was killed at."""
    folder.mkdir()  # noqa: ASYNC240 - one folder, before anything else runs
    async with worlds.opened(place, folder) as world:
        first = await world.idle_operator("operator-a")
        crash = Crash(world, first, number, moment)
        await world.wish()
        try:
            async with asyncio.timeout(10.0):
                await crash.done.wait()
        except TimeoutError:
            raise AssertionError(f"there was no write {number}:\n{await world.describe()}") from None
        assert not first.alive

        await world.forget_lease()
        await world.operator("operator-b", wait=False)
        await world.completed_once()

        told = collections.Counter(await world.reasons())
        assert told["TopologyChanged"] == told["TransitionAdmitted"] == told["TransitionCompleted"] == 1, told
        assert told["TransitionRequested"] <= 1, told
        await world.until_condition("Upgradeable", "True")
        return f"killed {moment} write {number}: {crash.what}"


@pytest.mark.parametrize("number", range(1, POINTS + 1))
async def test_killed_at_any_write_the_transition_ends_as_if_nothing_had_happened(
    apiserver: backend.Place, tmp_path: pathlib.Path, number: int, figure: Callable[[str], None]
) -> None:
    async with asyncio.TaskGroup() as group:
        runs = [
            group.create_task(crash_and_restart(apiserver, tmp_path / moment, number, moment))
            for moment in ("before", "after")
        ]
    figure("; ".join(one.result() for one in runs))
