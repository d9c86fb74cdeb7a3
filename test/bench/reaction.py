"""How fast: from a wish, or from the last fact that was missing, to the flip that somebody else sees.

Trials of the operator and of the floor take turns, so that both meet the same noise. Each begins when everything has
been quiet for a moment, except for wishes that follow each other back to back: those begin in the instant in which the
last one is undone, which is where queues and back-off show.
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

Raw = dict[str, Any]
P50_RATIO, P99_RATIO, CLIFF_RATIO = 1.5, 3.0, 3.0
REQUESTS = 12
_WARM_UP = 3
_FLIP_SECONDS = 15.0


@dataclass(slots=True)
class Trials:
    """Milliseconds of every trial, and of each its window in UNIX seconds."""

    milliseconds: list[float] = field(default_factory=list)
    echo: list[float] = field(default_factory=list)
    windows: list[tuple[float, float]] = field(default_factory=list)


class Operator:
    """The side on which the operator works."""

    def __init__(self, cluster: side.Side) -> None:
        self.side = cluster

    async def prepare(self, what: str, *, quiet: bool = True) -> None:
        """Undo the last trial, or bring about the state that the first one needs."""
        if what == "fact":
            if not self.side.flipped():
                await self.side.wish(None)
                await self.side.fact(there=False)
                await self.side.wish(side.WISH)
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
        await self._tell("rest" if what == "wish" else "watch")
        script = self._script
        if what == "fact":
            await self.side.to_pending(script.begun_record, script.begun_report, quiet=False)
            if not (self.side.lookout.infrastructure().get("spec") or {}).get("desiredTopology"):
                await self.side.wish(side.WISH)
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
    """One trial on a side that is prepared: the wish, or the fact, and then the flip."""
    seen = cluster.lookout
    seen.seen = [(time.perf_counter(), plural, seen.now.get(plural, {})) for plural in seen.now]
    began = time.perf_counter()
    if what == "wish":
        await cluster.wish(side.WISH)
    else:
        await cluster.fact(there=True)
    ended = await seen.until(cluster.flipped, f"the flip after a {what}", _FLIP_SECONDS)
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
    command = ["-m", "test.bench.floor", cluster.url, str(plan)]
    async with processes.running(command, log, talks=True) as process:
        yield Floor(cluster, script, process)


async def _no_load(_: side.Side) -> None:
    """Nothing has to be switched."""


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
    await load(ours)
    for _ in range(_WARM_UP):
        await operator.prepare(what)
        await trial(ours, what, Trials())
    # The wish's own report comes after the flip; what the floor imitates was seen before it.
    script = side.Script.of(ours.lookout.seen)
    await operator.prepare(what)
    await ours.forget_requests()
    async with floor_of(bare, script, folder) as floor:
        for number in range(-_WARM_UP, count):
            await load(bare)
            await floor.prepare(what)
            await trial(bare, what, Trials() if number < 0 else theirs)
            if number >= 0:
                await load(ours)
                await operator.prepare(what)
                await trial(ours, what, mine)
            for one in (ours, bare):
                if number % 20 == 0:
                    await one.renew_lease()
    return mine, theirs


async def back_to_back(ours: side.Side, count: int) -> Trials:
    """Wishes without a pause in between."""
    operator, found = Operator(ours), Trials()
    for number in range(-_WARM_UP, count):
        await operator.prepare("wish", quiet=False)
        await trial(ours, "wish", Trials() if number < 0 else found)
    return found


def latency(name: str, mine: Trials, theirs: Trials) -> dict[str, figures.Figure]:
    """p50 and p99 of both, as figures."""
    found = {}
    for label, share, target in (("p50", 0.5, P50_RATIO), ("p99", 0.99, P99_RATIO)):
        found[f"{name}_{label}"] = figures.Figure(
            value=figures.quantile(mine.milliseconds, share),
            floor=figures.quantile(theirs.milliseconds, share),
            unit="ms",
            target=target,
            note=f"{len(mine.milliseconds)} trials of each, in turns",
        )
    return found


def on_the_path(records: list[Raw], window: tuple[float, float]) -> tuple[int, int]:
    """Requests of the operator within a trial: (on the critical path, to open watches)."""
    began, ended = window
    asked = [record for record in side.requests_of(records) if began <= record["time"] <= ended]
    moves = [n for n, one in enumerate(asked) if one["verb"] == "patch" and one["resource"] == "infrastructures"]
    # The second write of Infrastructure is the flip; the report that follows it is on nobody's path.
    asked = asked[: moves[1] + 1] if len(moves) > 1 else asked
    opening = 2 * sum(record["watch"] for record in asked)
    return len(asked) - opening, opening


def stages(records: list[Raw], windows: list[tuple[float, float]], agent: str) -> dict[str, float]:
    """Median milliseconds after the beginning at which each stage of a trial reached the server."""
    found: dict[str, list[float]] = {}
    for began, ended in windows:
        asked = [one for one in records if began <= one["time"] <= ended]
        mine = [one for one in asked if one["user_agent"].startswith(agent)]
        moments = {
            "watches": [one for one in mine if one["verb"] == "list"][:1],
            "echo": [one for one in asked if (one["verb"], one["resource"]) == ("patch", "clusterversions")],
            "reads": [one for one in mine if one["verb"] == "get"][:1],
        }
        writes = [one for one in mine if one["verb"] == "patch"]
        moments |= {"record": writes[:1], "report": writes[1:2], "flip": writes[2:3]}
        reads = [one for one in mine if one["verb"] == "get" and one["resource"] == "infrastructures"]
        moments["infrastructure"] = reads[-1:]
        for stage, entries in moments.items():
            if entries:
                found.setdefault(stage, []).append((entries[0]["time"] - began) * 1000)
        found.setdefault("seen", []).append((ended - began) * 1000)
    return dict(sorted(((stage, figures.median(times)) for stage, times in found.items()), key=lambda item: item[1]))
