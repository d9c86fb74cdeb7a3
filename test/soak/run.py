"""One soak: install, open the request, warm up, look every few seconds, judge.

The driver is a process of its own, as are the server with the heartbeats and the operator. It also keeps the lease of
the etcd operator alive, and scrapes the metrics as Prometheus would, because both belong to a quiet cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import aiohttp

from test.bench import processes, procfs, requests, servers, side
from topology_controller import bindata
from topology_controller.definitions import load
from topology_controller.observe import catalog
from topology_simulator import kinds, kubeconfig, machines

from . import disturb, verdict

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Callable

Raw = dict[str, Any]
REACHED = 0.9
"""Share of the wanted heartbeats that must really have been sent."""
_ANSWER_SECONDS = 10.0
_LEASE_SECONDS = 60.0
_START_SECONDS = 30.0
_SETTLED_SECONDS = 2.0
_BESIDES = 30
"""Tasks, and descriptors, besides one for each watch: what is always there, and lists after a disturbance of all."""
_NOT_CHANGED = (kinds.INFRASTRUCTURES, kinds.CLUSTER_OPERATORS)


@dataclass(frozen=True, slots=True)
class Settings:
    """One soak. `warm_up` is the part of `seconds` that is not judged; times are in seconds."""

    seconds: float
    warm_up: float
    every: float
    rate: float
    nodes: int
    seed: int
    folder: pathlib.Path
    say: Callable[[str], object]


@dataclass(slots=True)
class Found:
    """What was seen. Series are (seconds since the beginning, value), the warm-up included."""

    rss: list[tuple[float, float]] = field(default_factory=list)
    tasks: list[tuple[float, float]] = field(default_factory=list)
    threads: list[tuple[float, float]] = field(default_factory=list)
    descriptors: list[tuple[float, float]] = field(default_factory=list)
    disturbed: dict[str, int] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    requests: int = 0
    sent: float = 0.0
    cpu: float = 0.0
    before: dict[str, dict[str, int]] = field(default_factory=dict)
    after: dict[str, dict[str, int]] = field(default_factory=dict)


class Operator:
    """The operator that is looked at."""

    def __init__(self, pid: int, port: int, answers: pathlib.Path) -> None:
        self.pid = pid
        self.port = port
        self._answers = answers
        self._read = 0

    def descriptors(self) -> int:
        """How many files and sockets are open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))  # noqa: PTH208 - names are enough

    def threads(self) -> int:
        """How many threads there are."""
        return len(os.listdir(f"/proc/{self.pid}/task"))  # noqa: PTH208 - names are enough

    async def asked(self, number: signal.Signals) -> dict[str, dict[str, int]]:
        """Ask what it keeps, by signal. Raises BenchError when it does not answer."""
        os.kill(self.pid, number)
        deadline = time.monotonic() + _ANSWER_SECONDS
        while time.monotonic() < deadline:
            lines = self._answers.read_text().splitlines() if self._answers.exists() else []
            if len(lines) > self._read:
                self._read = len(lines)
                answer: dict[str, dict[str, int]] = json.loads(lines[-1])
                return answer
            await asyncio.sleep(0.02)
        raise processes.BenchError(f"the operator did not say what it keeps within {_ANSWER_SECONDS:g} s")


class HeartbeatServer:
    """The server with the heartbeats."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self._process = process
        self._url = url

    async def beat(self, rate: float) -> tuple[float, float]:
        """Go on at this rate; returns (heartbeats sent, seconds) since the last time."""
        if self._process.stdin is None or self._process.stdout is None:
            raise processes.BenchError("the heartbeats cannot be talked to")
        self._process.stdin.write(f"{rate}\n".encode())
        async with asyncio.timeout(_ANSWER_SECONDS):
            answer = await self._process.stdout.readline()
        if not answer:
            raise processes.BenchError("the API server has ended; look at api.log")
        found = json.loads(answer)
        return found["sent"], found["seconds"]

    async def disturb(self, session: aiohttp.ClientSession, one: disturb.Disturbance) -> int:
        """Do it; returns how many open watches it has hit."""
        if one.compact:
            async with session.post(f"{self._url}/simulator/compact") as response:
                response.raise_for_status()
        async with session.post(f"{self._url}/simulator/faults", data=json.dumps(one.faults)) as response:
            response.raise_for_status()
            return sum(fault["hits"] for fault in await response.json())


def sources() -> tuple[catalog.Source, ...]:
    """What the operator watches while a request is open: each source is a watch."""
    return (*catalog.IDLE, *catalog.watched(load.load(bindata.root() / "transitions")))


def targets() -> list[disturb.Target]:
    """What faults can be about, each once: three watches are of nodes."""
    chosen = [source.selection for source in sources()]
    found = {disturb.Target(one.resource.plural, one.namespace or "", one.name or ""): None for one in chosen}
    return list(found)


async def soak(settings: Settings) -> Found:
    """Run one soak. Raises BenchError, OSError when a process ends before its time."""
    found, folder = Found(), settings.folder
    async with contextlib.AsyncExitStack() as stack:
        cluster, server = await stack.enter_async_context(_cluster(folder))
        ours = await stack.enter_async_context(side.opened(server))
        for number in range(settings.nodes):
            await ours.api.create(kinds.NODES, machines.node(f"worker-{number}", roles=("worker",), ready=True))
        await ours.renew_lease()
        await ours.fact(there=False)
        operator = await stack.enter_async_context(_operator(server, folder))
        await ours.lookout.until(lambda: bool(ours.lookout.report().get("status")), "the first report", _START_SECONDS)
        await ours.ask_for(side.DESIRED)
        await ours.lookout.until(lambda: ours.phase() == "Pending" and ours.lookout.echoed(), "Pending", _START_SECONDS)
        await asyncio.sleep(_SETTLED_SECONDS)
        await ours.lookout.quiet(_SETTLED_SECONDS)
        ours.lookout.seen.clear()
        settings.say(f"a request is open, {settings.nodes + side.MEMBERS} nodes beat {settings.rate:g} times a second")
        await cluster.beat(settings.rate)
        began, used, since = time.monotonic(), procfs.cpu_seconds(operator.pid), time.time()
        session = await stack.enter_async_context(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20.0)))
        async with asyncio.TaskGroup() as group:
            others = [
                group.create_task(_disturbing(cluster, session, settings, found)),
                group.create_task(_renewing(ours)),
                group.create_task(_scraping(operator, session)),
                group.create_task(_asked(server, since, found)),
            ]
            await _looking(operator, settings, found, began)
            for task in others:
                task.cancel()
        sent, lasted = await cluster.beat(0.0)
        found.sent = sent / lasted
        found.cpu = (procfs.cpu_seconds(operator.pid) - used) * 60 / (time.monotonic() - began)
        # What is still on its way has arrived after a moment without disturbances.
        await asyncio.sleep(_SETTLED_SECONDS)
        found.changes = [_told(plural, obj) for _, plural, obj in ours.lookout.seen if plural in _PLURALS]
    return found


_PLURALS = {kind.plural for kind in _NOT_CHANGED}


def _told(plural: str, obj: Raw) -> str:
    meta = obj.get("metadata") or {}
    states = (obj.get("status") or {}).get("conditions") or []
    shown = "; ".join(f"{one['type']}={one['status']} since {one.get('lastTransitionTime')}" for one in states)
    return f"{plural}/{meta.get('name')} at resourceVersion {meta.get('resourceVersion')}: {shown}"


@contextlib.asynccontextmanager
async def _cluster(folder: pathlib.Path) -> AsyncIterator[tuple[HeartbeatServer, servers.Embedded]]:
    file, log = folder / "api.kubeconfig", folder / "api.log"
    async with processes.running(["-m", "test.soak.cluster", str(file)], log, talks=True) as process:
        deadline = time.monotonic() + _START_SECONDS
        while not file.exists():
            if process.returncode is not None or time.monotonic() > deadline:
                raise processes.BenchError(f"the API server did not start: {log.read_text()[-2000:]}")
            await asyncio.sleep(0.05)
        yield HeartbeatServer(process, kubeconfig.load(file).server), servers.Embedded(file)


@contextlib.asynccontextmanager
async def _operator(server: servers.Embedded, folder: pathlib.Path) -> AsyncIterator[Operator]:
    port, answers = processes.free_port(), folder / "kept.jsonl"
    command = processes.operator_command(server.operator, port)
    command[1:2] = ["test.soak.counted", str(answers)]
    async with processes.running(command, folder / "operator.log") as process:
        yield Operator(process.pid, port, answers)


async def _disturbing(
    cluster: HeartbeatServer, session: aiohttp.ClientSession, settings: Settings, found: Found
) -> None:
    """First the worst, once each, then what is drawn."""
    known = targets()
    # Early, because the pauses after that are part of the warm-up too.
    apart = settings.warm_up / 8
    planned = [disturb.made(apart * (n + 1), what, known[0]) for n, what in enumerate(disturb.FAR_REACHING)]
    planned += disturb.planned(settings.seed, settings.seconds, known, after=planned[-1].at)
    began = time.monotonic()
    for one in sorted(planned, key=lambda one: one.at):
        await asyncio.sleep(max(0.0, began + one.at - time.monotonic()))
        found.disturbed[one.what] = found.disturbed.get(one.what, 0) + await cluster.disturb(session, one)


async def _renewing(ours: side.Side) -> None:
    while True:
        await ours.renew_lease()
        await asyncio.sleep(_LEASE_SECONDS)


async def _scraping(operator: Operator, session: aiohttp.ClientSession) -> None:
    while True:
        async with session.get(f"http://127.0.0.1:{operator.port}/metrics") as response:
            response.raise_for_status()
            await response.read()
        await asyncio.sleep(10.0)


async def _asked(server: servers.Embedded, since: float, found: Found) -> None:
    """Read on in the server's audit log, which keeps the latest only."""
    while True:
        await asyncio.sleep(5.0)
        until = time.time() - 0.5
        ours = [one for one in requests.of_operator(await server.requests(since)) if one.time < until]
        found.requests += len(ours)
        found.writes += [f"{one.verb} {one.what} ({one.code})" for one in ours if one.verb in requests.WRITES]
        since = until


async def _looking(operator: Operator, settings: Settings, found: Found, began: float) -> None:
    """Take samples until the time is over; what is kept is counted by type after the warm-up and at the end."""
    counted = False
    while (now := time.monotonic() - began) < settings.seconds:
        if not counted and now >= settings.warm_up:
            found.before, counted = await operator.asked(signal.SIGUSR2), True
            settings.say(f"warm after {now:.0f} s: {procfs.rss_mib(operator.pid):.1f} MiB")
        kept = await operator.asked(signal.SIGUSR1)
        at = time.monotonic() - began
        found.rss.append((at, procfs.rss_mib(operator.pid)))
        found.tasks.append((at, float(sum(kept["tasks"].values()))))
        found.threads.append((at, float(operator.threads())))
        found.descriptors.append((at, float(operator.descriptors())))
        await asyncio.sleep(settings.every)
    found.after = await operator.asked(signal.SIGUSR2)


def judged(found: Found, settings: Settings) -> tuple[list[verdict.Judgement], list[str]]:
    """What grows, and everything that is wrong (empty: all is well). Raises TooFewError."""
    most = len(sources()) + _BESIDES
    series = {
        "rss": ("MiB", found.rss, verdict.Limits(growth=1.0)),
        "tasks": ("tasks", found.tasks, verdict.Limits(growth=2.0, most=most)),
        "threads": ("threads", found.threads, verdict.Limits(growth=1.0, most=8)),
        "fds": ("descriptors", found.descriptors, verdict.Limits(growth=2.0, most=most)),
    }
    judgements = [
        verdict.judge(name, unit, tuple(one for one in taken if one[0] >= settings.warm_up), limits)
        for name, (unit, taken, limits) in series.items()
    ]
    wrong = [f"{one.name}: {one.wrong}" for one in judgements if one.wrong]
    wrong += filter(
        None,
        (
            verdict.none_of("condition changes", len(found.changes), "changes of the record or of ClusterOperator"),
            verdict.none_of("writes", len(found.writes), "writes besides the lease"),
        ),
    )
    if found.sent < REACHED * settings.rate:
        wrong.append(f"heartbeats: {found.sent:.0f} a second were sent, {settings.rate:g} were wanted")
    return judgements, wrong
