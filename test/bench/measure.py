"""One run: which figures are wanted, in an order in which nothing disturbs what comes later.

Two API servers that are alike: on one the operator works, on the other the floor. `reaction` and `costs` measure;
this module says when, on what cluster, and what a figure is called.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from topology_api import vocabulary
from topology_simulator import kinds

from . import costs, figures, procfs, reaction, requests, servers, side

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Sequence

NODES = 500
MANY = 2000


@dataclass(frozen=True, slots=True)
class Sizes:
    """How often and for how many seconds."""

    starts: int
    trials: int
    loaded: int
    back_to_back: int
    idle: float
    beats: float
    cold: int
    scrapes: int


LONG = Sizes(starts=7, trials=80, loaded=60, back_to_back=50, idle=40.0, beats=30.0, cold=0, scrapes=300)
# Five minutes: bookmarks, renewals and whatever else comes by the minute show in them. With TLS a cold pool matters.
LONG_REAL = dataclasses.replace(LONG, idle=300.0, cold=3)
SHORT = Sizes(starts=3, trials=15, loaded=30, back_to_back=10, idle=6.0, beats=6.0, cold=0, scrapes=100)

START = ("start_to_first_decision_s",)
IDLE = ("rss_idle_mib", "idle_requests_per_hour", "idle_writes", "idle_cpu_seconds_per_minute")
SCRAPE = ("scrape_cpu_ms_idle", "scrape_series_idle", "scrape_cpu_ms_converging", "scrape_series_converging")
DESIRED = ("request_to_change_p50", "request_to_change_p99", "request_to_change_echo_p50", "requests_request_to_change")
COLD = ("request_to_change_cold_p50",)
FACT = ("last_fact_to_change_p50", "last_fact_to_change_p99", "requests_last_fact_to_change")
NEXT = ("back_to_back_p50", "back_to_back_p99_over_p50")
LOADED = (
    "last_fact_to_change_500_nodes_p50",
    "last_fact_to_change_500_nodes_p99",
    "last_fact_to_change_500_nodes_over_quiet",
    "heartbeats_over_none_500_nodes",
)
WORKERS = (
    "rss_2000_workers_extra_mib",
    "cpu_seconds_per_minute",
    "idle_cpu_seconds_per_minute_with_heartbeats",
)
ALL = (*DESIRED, *COLD, *FACT, *LOADED, *NEXT, *START, *IDLE, *SCRAPE, *WORKERS)
Found = dict[str, figures.Figure]


def offered(apiserver: str) -> tuple[str, ...]:
    """The figures that there are on such a server: without TLS a cold connection costs nothing worth measuring."""
    return tuple(name for name in ALL if apiserver == "real" or name not in COLD)


@dataclass(frozen=True, slots=True)
class Run:
    """One run: how much of everything, which figures are wanted, and where files go."""

    sizes: Sizes
    wanted: frozenset[str]
    folder: pathlib.Path
    apiserver: str = "embedded"
    verbose: bool = False
    transitions: dict[str, str] = field(default_factory=dict)
    """The requests of one trial of each kind, for people to read."""

    def wants(self, names: Sequence[str]) -> bool:
        """Is any of these asked for?"""
        return not self.wanted.isdisjoint(names)

    def say(self, text: str) -> None:
        """Tell what is being done; standard output is for the table."""
        sys.stderr.write(f"{text}\n")

    def show_stages(self, name: str, who: str, found: dict[str, float]) -> None:
        """With --verbose: when each stage of a trial reached the server."""
        if self.verbose:
            times = "  ".join(f"{stage} {at:.1f}" for stage, at in found.items())
            self.say(f"  {name}, {who}, median ms after the beginning: {times}")


async def _quiet_costs(run: Run, ours: side.Side) -> tuple[Found, float | None]:
    """Start, memory and requests; also the memory of an open request without any worker."""
    found: Found = {}
    pending: float | None = None
    if run.wants(START):
        run.say(f"start, {run.sizes.starts} times")
        found[START[0]] = await costs.start(ours, run.folder, run.sizes.starts)
    if run.wants((*IDLE, *WORKERS)):
        run.say(f"idle, {run.sizes.idle:g} s")
        async with costs.operator_on(ours, run.folder) as operator:
            await costs.scrape(operator)
            if run.wants(IDLE):
                found["rss_idle_mib"] = costs.rss_idle(operator)
                found |= await costs.idle(ours, operator, run.sizes.idle)
            if run.wants(WORKERS):
                pending = await _pending_rss(ours, operator)
    if run.wants(SCRAPE):
        found |= await _scrapes(run, ours)
    return found, pending


async def _scrapes(run: Run, ours: side.Side) -> Found:
    """What a scrape costs, idle and while converging; with an operator of its own, whose memory nobody measures."""
    count = run.sizes.scrapes
    run.say(f"scrapes, twice {count}")
    async with costs.operator_on(ours, run.folder) as operator:
        found = await costs.scrapes(operator, run.folder, count, "idle")
        await ours.renew_lease()
        await ours.ask_for(side.DESIRED)
        await ours.lookout.until(lambda: ours.phase() == "Converging", "Converging")
        await costs.settled(ours, 1.0)
        found |= await costs.scrapes(operator, run.folder, count, "converging")
        await ours.to_idle()
        await costs.settled(ours, 0.5)
    return found


async def _pending_rss(ours: side.Side, operator: costs.Operator) -> float:
    """Resident memory with a request that one missing fact keeps Pending; the request is cancelled again."""
    await ours.fact(there=False)
    await ours.ask_for(side.DESIRED)
    await ours.lookout.until(lambda: ours.phase() == "Pending", "Pending")
    await costs.settled(ours, 1.0)
    found = procfs.rss_mib(operator.pid)
    await ours.ask_for(None)
    await ours.lookout.until(lambda: ours.phase() == "Idle", "Idle")
    await ours.fact(there=True)
    await costs.settled(ours, 0.5)
    return found


async def _reaction(run: Run, ours: side.Side, bare: side.Side) -> Found:
    found: Found = {}
    async with costs.operator_on(ours, run.folder):
        for what, prefix, names in (("desired", "request_to_change", DESIRED), ("fact", "last_fact_to_change", FACT)):
            # The load is held against the quiet, so that is measured too.
            if not run.wants(names if what == "desired" else (*names, *LOADED)):
                continue
            run.say(f"{prefix}, {run.sizes.trials} trials")
            since = time.time()
            mine, theirs = await reaction.compare(ours, bare, what, run.sizes.trials, run.folder)
            found |= reaction.latency(prefix, mine, theirs, reaction.P50_RATIO[run.apiserver])
            found |= await _counted(run, ours, prefix, since, mine)
            asked = await bare.server.requests(since)
            run.show_stages(prefix, "floor", requests.stages(asked, theirs.windows, "floor"))
            if what == "desired":
                found["request_to_change_echo_p50"] = figures.Figure(
                    value=figures.median(mine.echo),
                    floor=figures.median(theirs.echo),
                    unit="ms",
                    note="part of request_to_change: from our block to the echo of a version operator without delay",
                )
        if run.wants(NEXT):
            run.say(f"back to back, {run.sizes.back_to_back} requests")
            found |= _cliff(await reaction.back_to_back(ours, run.sizes.back_to_back))
        if run.wants(COLD) and run.sizes.cold:
            run.say(f"requests on cold connections, {run.sizes.cold} trials")
            mine, theirs = await reaction.cold(ours, bare, run.sizes.cold, run.folder)
            found[COLD[0]] = figures.Figure(
                value=figures.median(mine.milliseconds),
                floor=figures.median(theirs.milliseconds),
                unit="ms",
                note=f"median of {run.sizes.cold}; nothing was asked for so long that connections are closed",
            )
    return found


async def _counted(run: Run, ours: side.Side, prefix: str, since: float, mine: reaction.Trials) -> Found:
    asked = await ours.server.requests(since)
    run.show_stages(prefix, "operator", requests.stages(asked, mine.windows, vocabulary.OPERATOR_NAME))
    run.transitions[prefix] = requests.transition(asked, mine.typical())
    counts = [requests.on_the_path(asked, window) for window in mine.windows]
    most, opening = max(count for count, _ in counts), max(count for _, count in counts)
    figure = figures.Figure(
        value=float(most),
        unit="requests",
        target=float(reaction.REQUESTS),
        note=f"the most of {len(counts)} trials; besides, {opening} to open watches (one list and one watch a kind)",
    )
    return {f"requests_{prefix}": figure}


def _cliff(trials: reaction.Trials) -> Found:
    p50, p99 = (figures.quantile(trials.milliseconds, share) for share in (0.5, 0.99))
    count = len(trials.milliseconds)
    target = reaction.tail(count, reaction.CLIFF_RATIO)
    note = f"{count} requests, each made in the instant in which the last was undone"
    return {
        "back_to_back_p50": figures.Figure(value=p50, unit="ms", note=note),
        "back_to_back_p99_over_p50": figures.Figure(
            value=p99, floor=p50, unit="ms", target=target, note=f"floor is its own p50; {note}{reaction.few(target)}"
        ),
    }


async def _loaded(run: Run, ours: side.Side, bare: side.Side, quiet: figures.Figure) -> Found:
    """With 500 nodes and heartbeats; the definition is the one for dedicated workers.

    `quiet` has the medians of both with three nodes and no heartbeats, in milliseconds.
    """
    workers = NODES - side.MEMBERS
    run.say(f"{workers} workers on both sides")
    await asyncio.gather(ours.add_workers(0, workers), bare.add_workers(0, workers))
    async with (
        costs.operator_on(ours, run.folder),
        costs.beating(run.folder, workers) as beats,
    ):
        run.say(f"last_fact_to_change with {NODES} nodes, {run.sizes.loaded} trials")
        since = time.time()
        mine, theirs = await reaction.compare(ours, bare, "fact", run.sizes.loaded, run.folder, load=beats.to)
        rate = await beats.off()
        await costs.settled(ours, 0.5)
        for one, trials, agent in ((ours, mine, vocabulary.OPERATOR_NAME), (bare, theirs, "floor")):
            times = requests.stages(await one.server.requests(since), trials.windows, agent)
            run.show_stages("with 500 nodes", agent, times)
        unloaded = await reaction.alone(ours, "fact", run.sizes.loaded // 2)
        await reaction.Operator(ours).prepare("desired")
    found = reaction.latency("last_fact_to_change_500_nodes", mine, theirs, reaction.LOADED_RATIO)
    value, still = figures.median(mine.milliseconds), figures.median(unloaded.milliseconds)
    found["last_fact_to_change_500_nodes_over_quiet"] = figures.Figure(
        value=value,
        floor=(quiet.value or 0.0) * figures.median(theirs.milliseconds) / (quiet.floor or 1.0),
        unit="ms",
        target=reaction.GROWTH_RATIO,
        note="floor is its own p50 with 3 nodes, all quiet, times what the bare client grows by",
    )
    found["heartbeats_over_none_500_nodes"] = figures.Figure(
        value=value, floor=still, unit="ms", note=f"floor is its own p50 with {NODES} nodes, all quiet"
    )
    more = f", {NODES} nodes, {rate:.0f} node status updates a second"
    return {name: dataclasses.replace(figure, note=figure.note + more) for name, figure in found.items()}


async def _workers(run: Run, ours: side.Side, pending: float | None) -> Found:
    """With 2,000 workers: memory, and CPU while heartbeats arrive."""
    present = len([one for one in await ours.api.list(kinds.NODES) if "worker-" in one["metadata"]["name"]])
    run.say(f"{MANY} workers")
    await ours.add_workers(present, MANY)
    found: Found = {}
    async with costs.operator_on(ours, run.folder) as operator, costs.beating(run.folder, MANY) as beats:
        await costs.scrape(operator)
        run.say(f"heartbeats, twice {run.sizes.beats:g} s")
        found[WORKERS[2]] = await costs.with_beats(ours, operator, beats, run.sizes.beats, "no request")
        await ours.fact(there=False)
        await ours.ask_for(side.DESIRED)
        await ours.lookout.until(lambda: ours.phase() == "Pending", "Pending")
        await costs.settled(ours, 1.0)
        before = procfs.rss_mib(operator.pid)
        async with costs.watching(ours, run.folder) as bare:
            await costs.settled(ours, 1.0)
            found[WORKERS[1]] = await costs.with_beats(
                ours, operator, beats, run.sizes.beats, f"a request Pending, {MANY} workers", bare
            )
        after = procfs.rss_mib(operator.pid)
    if pending is None:
        found[WORKERS[0]] = figures.missing("MiB", "memory without workers is not known", costs.RSS_EXTRA_MIB)
    else:
        found[WORKERS[0]] = figures.Figure(
            value=max(before, after) - pending,
            unit="MiB",
            target=costs.RSS_EXTRA_MIB,
            note=f"request Pending: {pending:.1f} without workers, {before:.1f} with, {after:.1f} after heartbeats",
        )
    return found


async def measure(run: Run) -> Found:
    """Run what is wanted, in an order in which nothing disturbs what comes later."""
    found: Found = {}
    async with contextlib.AsyncExitStack() as stack:
        run.say(f"two API servers ({run.apiserver})")
        served = [await stack.enter_async_context(servers.opened(run.apiserver, run.folder, name)) for name in "ab"]
        ours = await stack.enter_async_context(side.opened(served[0]))
        bare = await stack.enter_async_context(side.opened(served[1], floor=True))
        quiet, pending = await _quiet_costs(run, ours)
        found |= quiet
        if run.wants((*DESIRED, *COLD, *FACT, *NEXT, *LOADED)):
            found |= await _reaction(run, ours, bare)
        if run.wants(LOADED):
            found |= await _loaded(run, ours, bare, found[FACT[0]])
        if run.wants(WORKERS):
            found |= await _workers(run, ours, pending)
    return {name: found[name] for name in ALL if name in found and name in run.wanted}
