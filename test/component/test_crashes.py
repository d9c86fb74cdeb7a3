"""SIGKILL at every point between two writes of a transition, then a restart: as if nothing had happened.

The points are counted, not guessed: `before` kills at the moment when the n-th write arrives, which is then refused;
`after` lets it be executed while the operator is stopped, and kills it before it could read the answer.
"""

from __future__ import annotations

import asyncio
import collections
import json
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

FIRST = 9
"""Writes in Infrastructure and ClusterOperator from the request on: Admitting, the change, the first change while
Converging, each in both, and three events."""
LAST = (
    ("infrastructures", '"phase":"Completed"'),
    ("clusteroperators", '"TransitionCompleted"'),
    ("events", '"TransitionCompleted"'),
)
"""The writes that end it. In between come as many changes as there are moments at which something follows."""
POINTS: tuple[int | tuple[str, str], ...] = (*range(1, FIRST + 1), *LAST)


def is_last(request: requests.Request, which: tuple[str, str]) -> bool:
    plural, words = which
    return request.target.plural == plural and words in request.body.decode().replace(": ", ":")


def counts(request: requests.Request) -> bool:
    """Whether this is a write whose loss or repetition somebody could see: everything but the lease."""
    events = request.verb == "create" and request.target.plural == "events" and backend.by_operator(request)
    return backend.is_write(request) or events


class Crash:
    """Kills an operator at its n-th write, or at one of the last; `done` is set then, `what` says which it was."""

    def __init__(self, world: worlds.World, operator: Operator, point: int | tuple[str, str], moment: str) -> None:
        self.done = asyncio.Event()
        self.what = ""
        self._operator = operator
        self._point = point
        self._moment = moment
        self._seen = 0
        self._killing: asyncio.Task[None] | None = None
        world.server.before(counts, self._arrived, count=None)

    async def _arrived(self, request: requests.Request) -> None:
        if backend.who(request) != self._operator.name:
            return
        self._seen += 1
        if self.what:
            # Sent at the same time as the one that it died of: it is as dead.
            raise backend.refuse(503, "the operator is dead")
        if not (self._seen == self._point if isinstance(self._point, int) else is_last(request, self._point)):
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


async def crash_and_restart(
    place: backend.Place, folder: pathlib.Path, point: int | tuple[str, str], moment: str
) -> str:
    """One run in a world of its own; returns what it was killed at."""
    folder.mkdir()  # noqa: ASYNC240 - one folder, before anything else runs
    async with worlds.opened(place, folder) as world:
        first = await world.idle_operator("operator-a")
        crash = Crash(world, first, point, moment)
        await world.ask_for()
        try:
            async with asyncio.timeout(10.0):
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


async def test_there_is_no_write_of_another_kind(world: worlds.World) -> None:
    """Without a crash: what comes between the first and the last ones are more of the same changes."""
    sent: list[tuple[str, str]] = []

    async def note(request: requests.Request) -> None:
        if backend.by_operator(request):
            reason = json.loads(request.body)["reason"] if request.target.plural == "events" else ""
            sent.append((request.target.plural, reason))
            ends.extend(which for which in LAST if is_last(request, which))

    ends: list[tuple[str, str]] = []
    await world.idle_operator("operator-a")
    world.server.before(counts, note, count=None)
    await world.ask_for()
    await world.completed_once()
    await world.until_condition("Upgradeable", "True")
    assert set(sent[FIRST : -len(LAST)]) <= set(sent[:FIRST]), sent
    assert ends == [*LAST], sent


@pytest.mark.nightly("last of events")
@pytest.mark.on_real("8")
@pytest.mark.parametrize(
    "point", POINTS, ids=lambda point: str(point) if isinstance(point, int) else f"last of {point[0]}"
)
async def test_killed_at_any_write_the_transition_ends_as_if_nothing_had_happened(
    apiserver: backend.Place, tmp_path: pathlib.Path, point: int | tuple[str, str], figure: Callable[[str], None]
) -> None:
    async with asyncio.TaskGroup() as group:
        runs = [
            group.create_task(crash_and_restart(apiserver, tmp_path / moment, point, moment))
            for moment in ("before", "after")
        ]
    figure("; ".join(one.result() for one in runs))
