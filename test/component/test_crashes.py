"""SIGKILL at a write of a transition, then a restart: as if nothing had happened.

`before` kills at the moment when the write arrives, which is then refused; `after` lets it be executed while the
operator is stopped, and kills it before it could read the answer. Every point between two writes has its turn in
virtual time (test/unit/core/test_reconciling_through_failures.py).
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

POINTS: dict[str, Callable[[requests.Request], bool]] = {
    "admitting": lambda request: _says(request, "infrastructures", "phase", "Admitting"),
    "change": backend.is_change,
    "changed": lambda request: _says(request, "events", "reason", "TopologyChanged"),
    "completed": lambda request: _says(request, "infrastructures", "phase", "Completed"),
}
"""Writes that an operator may die of, by name; the last event is sent after all other writes."""


def _says(request: requests.Request, plural: str, field: str, text: str) -> bool:
    return request.target.plural == plural and f'"{field}":"{text}"' in request.body.decode().replace(": ", ":")


def counts(request: requests.Request) -> bool:
    """Whether this is a write whose loss or repetition somebody could see: everything but the lease."""
    events = request.verb == "create" and request.target.plural == "events" and backend.by_operator(request)
    return backend.is_write(request) or events


class Crash:
    """Kills an operator at a write; `done` is set then, `what` says which it was."""

    def __init__(self, world: worlds.World, operator: Operator, point: str, moment: str) -> None:
        self.done = asyncio.Event()
        self.what = ""
        self._operator = operator
        self._is_it = POINTS[point]
        self._moment = moment
        self._killing: asyncio.Task[None] | None = None
        world.server.before(counts, self._arrived, count=None)

    async def _arrived(self, request: requests.Request) -> None:
        if backend.who(request) != self._operator.name:
            return
        if self.what:
            # Sent at the same time as the one that it died of: it is as dead.
            raise backend.refuse(503, "the operator is dead")
        if not self._is_it(request):
            return
        change = " (change)" if backend.is_change(request) else ""
        self.what = f"{request.verb} {request.target.plural}{change}"
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


async def crash_and_restart(place: backend.Place, folder: pathlib.Path, point: str, moment: str) -> str:
    """One run in a world of its own; returns what it was killed at."""
    folder.mkdir()  # noqa: ASYNC240 - one folder, before anything else runs
    async with worlds.opened(place, folder) as world:
        first = await world.idle_operator("operator-a")
        crash = Crash(world, first, point, moment)
        await world.ask_for()
        try:
            async with asyncio.timeout(60.0):
                await crash.done.wait()
        except TimeoutError:
            raise AssertionError(f"there was no write {point}:\n{await world.describe()}") from None
        assert not first.alive

        await world.forget_lease()
        await world.operator("operator-b", wait=False)
        await world.completed_once()

        told = collections.Counter(await world.reasons())
        assert told["TopologyChanged"] == told["TransitionAdmitted"] == told["TransitionCompleted"] == 1, told
        assert told["TransitionRequested"] <= 1, told
        await world.until_condition("Upgradeable", "True")
        return f"killed {moment} write {point}: {crash.what}"


@pytest.mark.nightly("changed")
@pytest.mark.parametrize("point", POINTS)
async def test_killed_at_a_write_the_transition_ends_as_if_nothing_had_happened(
    apiserver: backend.Place, tmp_path: pathlib.Path, point: str, figure: Callable[[str], None]
) -> None:
    async with asyncio.TaskGroup() as group:
        runs = [
            group.create_task(crash_and_restart(apiserver, tmp_path / moment, point, moment))
            for moment in ("before", "after")
        ]
    figure("; ".join(one.result() for one in runs))
