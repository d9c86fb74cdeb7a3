"""How fast: from a request, or from the last fact that was missing, to the change that somebody else sees.

Trials of the operator and of the floor take turns, so that both meet the same noise. Each begins when everything has
been quiet for a moment, except for requests that follow each other back to back: those begin in the instant in which
the last one is undone, which is where queues and back-off show.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from topology_simulator import conditions, kinds

from . import figures, processes, side

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Awaitable, Callable

    from . import requests

Raw = dict[str, Any]
P50_RATIO = {"real": 1.5, "embedded": 2.0}
"""The embedded server answers in a fifth of the time, so that what the operator does itself weighs more there."""
LOADED_RATIO, GROWTH_RATIO, P99_RATIO, CLIFF_RATIO = 2.0, 1.5, 3.0, 3.0
FOR_P99 = 50
"""Trials. Of fewer the p99 is the longest one, which is what else the machine did just then: shown, not judged."""
REQUESTS = 16
_WARM_UP = 3
_CHANGE_SECONDS = 15.0
# Longer than the operator and the floor keep a connection.
_COLD_SECONDS = 80.0


@dataclass(slots=True)
class Trials:
    """Milliseconds of every trial, and of each its window in UNIX seconds."""

    milliseconds: list[float] = field(default_factory=list)
    echo: list[float] = field(default_factory=list)
    windows: list[requests.Window] = field(default_factory=list)

    def typical(self) -> requests.Window:
        """The window of the trial that took the median time."""
        return self.windows[self.milliseconds.index(figures.median(self.milliseconds))]


class Operator:
    """The side on which the operator works."""

    def __init__(self, cluster: side.Side) -> None:
        self.side = cluster

    async def prepare(self, what: str, *, quiet: bool = True) -> None:
        """Undo the last trial, or bring about the state that the first one needs."""
        if what == "fact":
            if not self.side.changed():
                await self.side.ask_for(None)
                await self.side.fact(there=False)
                await self.side.ask_for(side.DESIRED)
            await self.side.to_pending(quiet=quiet)
        else:
            await self.side.to_idle(quiet=quiet)


class Floor:
    """The side on which the floor works; it is given a new script for every kind of trial."""

    def __init__(self, cluster: side.Side, script: side.Script, process: asyncio.subprocess.Process) -> None:
        self.side = cluster
        self._script = script
        self._process = process

    async def prepare(self, what: str, *, quiet: bool = True) -> None:
        """Undo the last trial, and have the floor wait for the next."""
        await self._tell("rest" if what == "desired" else "watch")
        script = self._script
        if what == "fact":
            await self.side.to_pending(script.begun_record, script.begun_report, quiet=False)
            if not (self.side.lookout.infrastructure().get("spec") or {}).get("desiredTopology"):
                await self.side.ask_for(side.DESIRED)
        else:
            await self.side.to_idle(script.begun_record, script.begun_report, quiet=False)
        await self._tell(what)
        if quiet:
            await self.side.lookout.quiet(side.QUIET_SECONDS)

    async def _tell(self, word: str) -> None:
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise processes.BenchError("the floor cannot be talked to")
        process.stdin.write(f"{word}\n".encode())
        async with asyncio.timeout(10.0):
            if await process.stdout.readline() != b"ready\n":
                raise processes.BenchError("the floor has ended")


async def trial(cluster: side.Side, what: str, into: Trials) -> None:
    """One trial on a side that is prepared: the request, or the fact, and then the change."""
    seen = cluster.lookout
    seen.seen = [(time.perf_counter(), plural, seen.now.get(plural, {})) for plural in seen.now]
    began = time.perf_counter()
    if what == "desired":
        await cluster.ask_for(side.DESIRED)
    else:
        await cluster.fact(there=True)
    ended = await seen.until(cluster.changed, f"the change after a {what}", _CHANGE_SECONDS)
    into.milliseconds.append((ended - began) * 1000)
    into.windows.append((side.unix_of(began), side.unix_of(ended)))
    into.echo.append(_echo_milliseconds(seen.seen[len(seen.now) :]))


def _echo_milliseconds(seen: list[tuple[float, str, Raw]]) -> float:
    """From the report with our block until its echo, as seen by the lookout; 0 when the echo was there before."""
    asked = None
    for stamp, plural, obj in seen:
        blocked = conditions.of(obj, "Upgradeable").get("status") == "False"
        if plural == kinds.CLUSTER_OPERATORS.plural and blocked and asked is None:
            asked = stamp
        if plural == kinds.CLUSTER_VERSIONS.plural and blocked:
            return (stamp - (asked or stamp)) * 1000
    return 0.0


@contextlib.asynccontextmanager
async def floor_of(cluster: side.Side, script: side.Script, folder: pathlib.Path) -> AsyncIterator[Floor]:
    """Run the floor with a script."""
    plan, log = folder / "floor.json", folder / "floor.log"
    plan.write_text(json.dumps(script.plan()))
    command = ["-m", "test.bench.floor", str(cluster.server.operator), str(plan)]
    async with processes.running(command, log, talks=True) as process:
        yield Floor(cluster, script, process)


async def _no_load(_: side.Side) -> None:
    """Nothing has to be switched."""


async def _alive(*sides: side.Side) -> None:
    """Be an etcd operator that is there; a lease counts for five minutes."""
    for one in sides:
        await one.renew_lease()


async def compare(
    ours: side.Side,
    bare: side.Side,
    what: str,
    count: int,
    folder: pathlib.Path,
    *,
    load: Callable[[side.Side], Awaitable[None]] = _no_load,
) -> tuple[Trials, Trials]:
    """`count` trials of each, in turns, after a few that are not counted. `load` moves the load to a side."""
    operator, mine, theirs = Operator(ours), Trials(), Trials()
    await _alive(ours, bare)
    await load(ours)
    for _ in range(_WARM_UP):
        await operator.prepare(what)
        await trial(ours, what, Trials())
    # The request's own report comes after the change; what the floor imitates was seen before it.
    script = side.Script.of(ours.lookout.seen)
    await operator.prepare(what)
    await ours.server.forget()
    async with floor_of(bare, script, folder) as floor:
        for number in range(-_WARM_UP, count):
            await load(bare)
            await floor.prepare(what)
            await trial(bare, what, Trials() if number < 0 else theirs)
            if number >= 0:
                await load(ours)
                await operator.prepare(what)
                await trial(ours, what, mine)
            if number % 20 == 0:
                await _alive(ours, bare)
    return mine, theirs


async def cold(ours: side.Side, bare: side.Side, count: int, folder: pathlib.Path) -> tuple[Trials, Trials]:
    """Requests after so long that no connection is kept but those of the idle watches and the lease."""
    operator, mine, theirs = Operator(ours), Trials(), Trials()
    await _alive(ours, bare)
    await operator.prepare("desired")
    await trial(ours, "desired", Trials())
    script = side.Script.of(ours.lookout.seen)
    async with floor_of(bare, script, folder) as floor:
        for _ in range(count):
            await floor.prepare("desired")
            await operator.prepare("desired")
            await asyncio.sleep(_COLD_SECONDS)
            for one, into in ((bare, theirs), (ours, mine)):
                # It also opens the driver's own connection, which is not to be measured.
                await one.renew_lease()
                await trial(one, "desired", into)
    return mine, theirs


async def alone(ours: side.Side, what: str, count: int) -> Trials:
    """Trials of the operator only."""
    operator, found = Operator(ours), Trials()
    await _alive(ours)
    for number in range(-_WARM_UP, count):
        await operator.prepare(what)
        await trial(ours, what, Trials() if number < 0 else found)
    return found


async def back_to_back(ours: side.Side, count: int) -> Trials:
    """Requests without a pause in between."""
    operator, found = Operator(ours), Trials()
    await _alive(ours)
    for number in range(-_WARM_UP, count):
        await operator.prepare("desired", quiet=False)
        await trial(ours, "desired", Trials() if number < 0 else found)
    return found


def few(target: float | None) -> str:
    """What a note says of a p99 that is not judged."""
    return "" if target is not None else f"; not judged by fewer than {FOR_P99}"


def tail(count: int, target: float) -> float | None:
    """The target of a p99 of so many trials; None for too few to be judged by."""
    return target if count >= FOR_P99 else None


def latency(name: str, mine: Trials, theirs: Trials, p50: float) -> dict[str, figures.Figure]:
    """p50 and p99 of both, as figures; `p50` is the largest ratio of the medians."""
    found = {}
    count = len(mine.milliseconds)
    for label, share, target in (("p50", 0.5, p50), ("p99", 0.99, tail(count, P99_RATIO))):
        found[f"{name}_{label}"] = figures.Figure(
            value=figures.quantile(mine.milliseconds, share),
            floor=figures.quantile(theirs.milliseconds, share),
            unit="ms",
            target=target,
            note=f"{count} trials of each, in turns{few(target)}",
        )
    return found
