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
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import aiohttp

from test.bench import processes, servers, side
from topology_controller import bindata
from topology_controller.definitions import load
from topology_controller.observe import catalog
from topology_simulator import kinds, kubeconfig, machines
from topology_simulator.etcd import keeping

from . import disturb, verdict

if TYPE_CHECKING:
    import pathlib

SERIES = ("rss", "tasks", "threads", "descriptors")
RATE, NODES = 500.0, 500
"""Heartbeats a second of all nodes, and nodes besides the control plane."""
REACHED = 0.9
"""Share of the wanted heartbeats that must really have been sent."""
_SERVER = ("-m", "test.soak.cluster")
# The operator does not tell its tasks to anybody, and need not learn it for this: whoever starts it adds a handler.
_OPERATOR = """
import asyncio, signal, sys
from topology_controller import cli
def tell(*_):
    print(len(asyncio.all_tasks()), flush=True)
signal.signal(signal.SIGUSR1, tell)
sys.exit(cli.main(sys.argv[1:]))
"""
_ANSWER_SECONDS = 10.0
_SETTLED_SECONDS = 2.0
_BESIDES = 30
"""Tasks, and descriptors, besides one for each watch: what is always there, and lists after a disturbance of all."""
_NOT_CHANGED = {kind.plural for kind in (kinds.INFRASTRUCTURES, kinds.CLUSTER_OPERATORS)}


@dataclass(frozen=True, slots=True)
class Settings:
    """One soak. `warm_up` is the part of `seconds` that is not judged; samples are taken `every` so many."""

    seconds: float
    seed: int
    folder: pathlib.Path

    @property
    def warm_up(self) -> float:
        return min(self.seconds / 3, 300.0)

    @property
    def every(self) -> float:
        return 2.0 if self.seconds <= 600 else max(5.0, self.seconds / 720)  # all pairs of samples are compared


@dataclass(slots=True)
class Found:
    """What was seen. Samples are (seconds since the beginning, value), the warm-up included."""

    samples: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: {name: [] for name in SERIES})
    disturbed: dict[str, int] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    requests: int = 0
    sent: float = 0.0
    cpu: float = 0.0


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
    (port,) = keeping.free_ports(1)
    async with contextlib.AsyncExitStack() as stack:
        beating, file = await stack.enter_async_context(processes.api_server(folder, _SERVER))
        server = servers.Embedded(file)
        ours = await stack.enter_async_context(side.opened(server))
        for number in range(NODES):
            await ours.api.create(kinds.NODES, machines.node(f"worker-{number}", roles=("worker",), ready=True))
        await ours.renew_lease()
        await ours.fact(there=False)
        command = ["-c", _OPERATOR, *processes.operator_command(server.operator, port)[2:]]
        operator = await stack.enter_async_context(processes.running(command, folder / "operator.log", talks=True))
        await ours.reported()
        await ours.ask_for(side.DESIRED)
        await ours.lookout.until(lambda: ours.phase() == "Pending" and ours.lookout.echoed(), "Pending", 30.0)
        await ours.settled(_SETTLED_SECONDS)
        ours.lookout.seen.clear()
        sys.stderr.write(f"a request is open, {NODES + side.MEMBERS} nodes beat {RATE:g} times a second\n")
        await _beat(beating, RATE)
        began, used, since = time.monotonic(), processes.cpu_seconds(operator.pid), time.time()
        session = await stack.enter_async_context(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20.0)))
        async with asyncio.TaskGroup() as group:
            others = [
                group.create_task(_disturbing(kubeconfig.load(file).server, session, settings, found)),
                group.create_task(_renewing(ours)),
                group.create_task(_scraping(port, session)),
                group.create_task(_asked(server, since, found)),
            ]
            while (now := time.monotonic() - began) < settings.seconds:
                proc = f"/proc/{operator.pid}"
                opened = (float(len(os.listdir(f"{proc}/{what}"))) for what in ("task", "fd"))  # noqa: PTH208 - names
                values = (processes.rss_mib(operator.pid), await _tasks(operator), *opened)
                for name, value in zip(SERIES, values, strict=True):
                    found.samples[name].append((now, value))
                await asyncio.sleep(settings.every)
            for task in others:
                task.cancel()
        found.sent = await _beat(beating, 0.0)
        found.cpu = (processes.cpu_seconds(operator.pid) - used) * 60 / (time.monotonic() - began)
        # What is still on its way has arrived after a moment without disturbances.
        await asyncio.sleep(_SETTLED_SECONDS)
        found.changes = [
            f"{plural}: {json.dumps(obj.get('status'))}" for plural, obj in ours.lookout.seen if plural in _NOT_CHANGED
        ]
    return found


async def _tasks(operator: asyncio.subprocess.Process) -> float:
    """Ask the operator by signal how many tasks it has."""
    operator.send_signal(signal.SIGUSR1)
    return await _answer(operator)


async def _beat(server: asyncio.subprocess.Process, rate: float) -> float:
    """Have the nodes beat so many times a second from now on; returns how many a second there were until now."""
    if server.stdin is not None:
        server.stdin.write(f"{rate}\n".encode())
    return await _answer(server)


async def _answer(process: asyncio.subprocess.Process) -> float:
    """A number that a process writes. Raises BenchError when it has ended."""
    if process.stdout is None:
        raise processes.BenchError("nobody can read what it says")
    async with asyncio.timeout(_ANSWER_SECONDS):
        line = await process.stdout.readline()
    if not line:
        raise processes.BenchError("the API server or the operator has ended; look at the logs")
    return float(line)


async def _disturbing(url: str, session: aiohttp.ClientSession, settings: Settings, found: Found) -> None:
    """First the worst, once each, then what is drawn; how many open watches each has hit is counted."""
    known = targets()
    # Early, because the pauses after that are part of the warm-up too.
    apart = settings.warm_up / 8
    planned = [disturb.Disturbance(apart * (n + 1), what, known[0]) for n, what in enumerate(disturb.FAR_REACHING)]
    planned += disturb.planned(settings.seed, settings.seconds, known, after=planned[-1].at)
    began = time.monotonic()
    for one in sorted(planned, key=lambda one: one.at):
        await asyncio.sleep(max(0.0, began + one.at - time.monotonic()))
        if one.compact:
            async with session.post(f"{url}/simulator/compact") as response:
                response.raise_for_status()
        async with session.post(f"{url}/simulator/faults", data=json.dumps(one.faults)) as response:
            response.raise_for_status()
            hits = sum(fault["hits"] for fault in await response.json())
        found.disturbed[one.what] = found.disturbed.get(one.what, 0) + hits


async def _renewing(ours: side.Side) -> None:
    while True:
        await ours.renew_lease()
        await asyncio.sleep(60.0)


async def _scraping(port: int, session: aiohttp.ClientSession) -> None:
    while True:
        async with session.get(f"http://127.0.0.1:{port}/metrics") as response:
            response.raise_for_status()
            await response.read()
        await asyncio.sleep(10.0)


async def _asked(server: servers.Embedded, since: float, found: Found) -> None:
    """Read on in the server's audit log, which keeps the latest only."""
    while True:
        await asyncio.sleep(5.0)
        until = time.time() - 0.5
        ours = [one for one in servers.of_operator(await server.requests(since)) if one.time < until]
        found.requests += len(ours)
        found.writes += [
            f"{one.verb} {one.resource}/{one.name} ({one.code})" for one in ours if one.verb in servers.WRITES
        ]
        since = until


def judged(found: Found, settings: Settings) -> tuple[list[verdict.Judgement], list[str]]:
    """What grows, and everything that is wrong (empty: all is well). Raises TooFewError."""
    most = len(sources()) + _BESIDES
    limits = {
        "rss": ("MiB", verdict.Limits(growth=1.0)),
        "tasks": ("tasks", verdict.Limits(growth=2.0, most=most)),
        "threads": ("threads", verdict.Limits(growth=1.0, most=8)),
        "descriptors": ("fds", verdict.Limits(growth=2.0, most=most)),
    }
    judgements = [
        verdict.judge(name, unit, tuple(one for one in found.samples[name] if one[0] >= settings.warm_up), limit)
        for name, (unit, limit) in limits.items()
    ]
    wrong = [f"{one.name}: {one.wrong}" for one in judgements if one.wrong]
    for what, seen in (("condition changes", found.changes), ("writes besides the lease", found.writes)):
        wrong += [f"{what}: {len(seen)}, none is allowed"] if seen else []
    if found.sent < REACHED * RATE:
        wrong.append(f"heartbeats: {found.sent:.0f} a second were sent, {RATE:g} were wanted")
    return judgements, wrong
