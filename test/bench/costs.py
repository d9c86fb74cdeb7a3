"""What it costs: start, memory, CPU, scrapes, and requests while nothing is wanted.

Memory is resident memory of the whole process. CPU and requests are measured for a stated time and extrapolated; what
happens less than once in that time (watches that end after 45 to 60 minutes, the hourly look at what could be asked
for) is added from the figures that the operator itself uses, and the note says which part is which.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp

from topology_controller import discover
from topology_controller.kube import watch
from topology_controller.observe import catalog
from topology_simulator import client, kinds

from . import figures, processes, procfs, requests

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from . import side

Raw = dict[str, Any]
START_RATIO, RSS_MIB, RSS_EXTRA_MIB = 3.5, 64.0, 5.0
IDLE_REQUESTS, IDLE_WRITES = 40.0, 0.0
IDLE_CPU, BUSY_RATIO = 0.12, 2.0
SCRAPE_RATIO, SCRAPE_SERIES = 2.0, 300.0
RATE = 100.0
_LIBRARIES = "import aiohttp, prometheus_client, pydantic, ssl, yaml"
"""What every operator of this kind has to import before it can ask for anything."""
_WARM_SCRAPES = 5
_SERVING_SECONDS = 60.0
_SETTLED_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator at work: its process id, and where its metrics are."""

    pid: int
    port: int


@contextlib.asynccontextmanager
async def operator_on(cluster: side.Side, folder: pathlib.Path) -> AsyncIterator[Operator]:
    """Run the operator and wait until it is idle and has found out what could be asked for."""
    port = processes.free_port()
    command = processes.operator_command(cluster.server.operator, port)
    await _forget_report(cluster)
    async with processes.running(command, folder / "operator.log") as process:
        seen = cluster.lookout
        await seen.until(lambda: bool(seen.report().get("status")), "the first report")
        await settled(cluster, seconds=_SETTLED_SECONDS)
        yield Operator(process.pid, port)


async def _forget_report(cluster: side.Side) -> None:
    """Delete ClusterOperator `topology`, so that the next one comes from whoever is started now."""
    with contextlib.suppress(client.ApiError):
        await cluster.api.delete(kinds.CLUSTER_OPERATORS, "topology")
    await cluster.lookout.until(lambda: not cluster.lookout.report(), "ClusterOperator topology is gone")


async def settled(cluster: side.Side, seconds: float) -> None:
    """Wait until nothing has been written for so long."""
    await asyncio.sleep(seconds)
    await cluster.lookout.quiet(seconds)


async def start(cluster: side.Side, folder: pathlib.Path, count: int) -> figures.Figure:
    """From exec until ClusterOperator `topology`, deleted before, has been written.

    The floor is an interpreter that imports the libraries and ends, in turns with it.
    """
    seen = cluster.lookout
    found: list[float] = []
    bare: list[float] = []
    for number in range(count + 1):
        await _forget_report(cluster)
        command = processes.operator_command(cluster.server.operator, processes.free_port())
        began = time.perf_counter()
        async with processes.running(command, folder / "start.log"):
            ended = await seen.until(lambda: bool(seen.report().get("status")), "the first report")
        began_bare = time.perf_counter()
        async with processes.running(["-c", _LIBRARIES], folder / "start.log") as process:
            await process.wait()
        if number:
            found.append(ended - began)
            bare.append(time.perf_counter() - began_bare)
    return figures.Figure(
        value=figures.median(found),
        floor=figures.median(bare),
        unit="s",
        target=START_RATIO,
        note=f"median of {count}, {min(found):.2f} to {max(found):.2f}; bytecode compiled, one start before",
    )


async def scrape(operator: Operator) -> None:
    """Ask for the metrics once: they are part of what is to fit into the memory."""
    async with _scraping() as session:
        await _scraped(session, operator)


def _scraping() -> aiohttp.ClientSession:
    """What scrapes; it keeps its connection, as Prometheus does."""
    return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5.0), raise_for_status=True)


async def _scraped(session: aiohttp.ClientSession, operator: Operator) -> str:
    async with session.get(f"http://127.0.0.1:{operator.port}/metrics") as response:
        return await response.text()


async def _serving(session: aiohttp.ClientSession, operator: Operator) -> None:
    """Wait until something is served there. Raises BenchError."""
    deadline = time.monotonic() + _SERVING_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(aiohttp.ClientError):
            await _scraped(session, operator)
            return
        await asyncio.sleep(0.05)
    raise processes.BenchError("the floor of a scrape does not serve; look at bare.log")


async def scrapes(operator: Operator, folder: pathlib.Path, count: int, when: str) -> dict[str, figures.Figure]:
    """CPU of a scrape, of the whole process and without TLS, and how many series there are; `when` is in the names.

    The floor is a program that serves as many series and does nothing else, scraped in turns with the operator.
    """
    async with _scraping() as session:
        text = await _scraped(session, operator)
        series = [line for line in text.splitlines() if line and not line.startswith("#")]
        port = processes.free_port()
        command = ["-m", "test.bench.bare", "serve", str(port), str(len(series))]
        async with processes.running(command, folder / "bare.log") as process:
            bare = Operator(process.pid, port)
            await _serving(session, bare)
            for _ in range(_WARM_SCRAPES):
                await _scraped(session, operator)
                await _scraped(session, bare)
            began = {one: procfs.cpu_seconds(one.pid) for one in (operator, bare)}
            for _ in range(count):
                await _scraped(session, operator)
                await _scraped(session, bare)
            used, floor = (procfs.cpu_seconds(one.pid) - before for one, before in began.items())
    return {
        f"scrape_cpu_ms_{when}": figures.Figure(
            value=used * 1000 / count,
            floor=floor * 1000 / count,
            unit="ms",
            target=SCRAPE_RATIO,
            note=f"mean of {count} scrapes of {len(text.encode()) / 1024:.0f} KiB on one connection, plain HTTP",
        ),
        f"scrape_series_{when}": figures.Figure(
            value=float(len(series)), unit="series", target=SCRAPE_SERIES, note=f"{when}, process_* included"
        ),
    }


def rss_idle(operator: Operator) -> figures.Figure:
    """Resident memory while nothing is wanted."""
    return figures.Figure(
        value=procfs.rss_mib(operator.pid), unit="MiB", target=RSS_MIB, note="after discovery and one scrape"
    )


async def idle(cluster: side.Side, operator: Operator, seconds: float) -> dict[str, figures.Figure]:
    """Requests, writes and CPU while nothing is wanted and nothing changes."""
    began, used = time.time(), procfs.cpu_seconds(operator.pid)
    await asyncio.sleep(seconds)
    used = procfs.cpu_seconds(operator.pid) - used
    asked = requests.of_operator(await cluster.server.requests(began))
    timing = watch.Timing()
    # Each is followed by a list of one object: has the store reached the version from which it was opened again?
    reopened = 2 * len(catalog.IDLE) * 3600 / ((timing.shortest + timing.longest) / 2)
    looked = (len(catalog.EVIDENCE) + 1) * 3600 / discover.PERIOD
    seen = len(asked) * 3600 / seconds
    return {
        "idle_requests_per_hour": figures.Figure(
            value=seen + reopened + looked,
            unit="requests/h",
            target=IDLE_REQUESTS,
            note=f"{len(asked)} seen in {seconds:g} s; computed: {len(catalog.IDLE)} watches opened again and judged, "
            f"{reopened:.1f}/h, and {looked:.0f}/h for what could be asked for; the lease is not counted",
        ),
        "idle_writes": figures.Figure(
            value=float(sum(one.verb in requests.WRITES for one in asked)),
            unit="writes",
            target=IDLE_WRITES,
            note=f"in {seconds:g} s, the lease not counted",
        ),
        "idle_cpu_seconds_per_minute": figures.Figure(
            value=used * 60 / seconds,
            unit="s/min",
            target=IDLE_CPU,
            note=f"{used * 1000:.0f} ms in {seconds:g} s, nothing changes",
        ),
    }


class Beats:
    """Heartbeats of worker nodes, from a process of their own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def to(self, cluster: side.Side) -> None:
        """Send to this cluster from now on."""
        await self._tell(str(cluster.server.admin))

    async def off(self) -> float:
        """Stop, and return how many a second were really sent."""
        await self._tell("off")
        if self._process.stdout is None:
            raise processes.BenchError("the heartbeats cannot be talked to")
        async with asyncio.timeout(60.0):
            line = await self._process.stdout.readline()
        if not line:
            raise processes.BenchError("the heartbeats have ended; look at beats.log")
        found = json.loads(line)
        return float(found["sent"] / found["seconds"]) if found["seconds"] else 0.0

    async def _tell(self, word: str) -> None:
        if self._process.stdin is None:
            raise processes.BenchError("the heartbeats cannot be talked to")
        self._process.stdin.write(f"{word}\n".encode())
        await self._process.stdin.drain()


@contextlib.asynccontextmanager
async def beating(folder: pathlib.Path, workers: int) -> AsyncIterator[Beats]:
    """Have heartbeats at hand, off at first."""
    command = ["-m", "test.bench.beats", "worker", str(workers), str(RATE)]
    async with processes.running(command, folder / "beats.log", talks=True) as process:
        yield Beats(process)


@contextlib.asynccontextmanager
async def watching(cluster: side.Side, folder: pathlib.Path) -> AsyncIterator[int]:
    """Have a bare program watch what a busy operator watches; yields its process id."""
    command = ["-m", "test.bench.bare", "watch", str(cluster.server.admin)]
    async with processes.running(command, folder / "bare.log") as process:
        yield process.pid


async def with_beats(  # noqa: PLR0917 - where, who, and beside whom
    cluster: side.Side, operator: Operator, beats: Beats, seconds: float, what: str, bare: int | None = None
) -> figures.Figure:
    """CPU while heartbeats arrive, beside that of a `bare` program; null when the rate was not reached."""
    await beats.to(cluster)
    await asyncio.sleep(1.0)
    used = procfs.cpu_seconds(operator.pid)
    floor = procfs.cpu_seconds(bare) if bare is not None else 0.0
    await asyncio.sleep(seconds)
    used = procfs.cpu_seconds(operator.pid) - used
    floor = procfs.cpu_seconds(bare) - floor if bare is not None else 0.0
    target = IDLE_CPU if bare is None else BUSY_RATIO
    rate = await beats.off()
    if rate < 0.95 * RATE:
        return figures.missing("s/min", f"only {rate:.0f} of {RATE:.0f} heartbeats a second were sent", target)
    return figures.Figure(
        value=used * 60 / seconds,
        floor=None if bare is None else floor * 60 / seconds,
        unit="s/min",
        target=target,
        note=f"{used * 1000:.0f} ms in {seconds:g} s at {rate:.0f} node status updates a second, {what}",
    )
