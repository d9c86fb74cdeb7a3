"""`python -m test.bench.fleet --clusters 100`: that many operators at once. Does one of many cost what one alone costs?

Each cluster is an embedded API server and an operator, processes of their own, with three control-plane nodes that are
ready to be asked. What is measured at 1, 10 and all of them: resident memory, CPU and requests of an operator while
nothing is wanted. Then all are asked, some at a time, as an engine would; what is measured is the time until each
topology has changed, and what that costs. No engine takes part, and no operand follows: this is a load on operators.

Prints a table and writes build/bench-fleet.json. Exit code 0, or 1 when it could not be measured, 2 for bad usage.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import pathlib
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import aiohttp

from topology_simulator import client, install

from . import costs, processes, procfs, requests, servers, side

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROOT = pathlib.Path(__file__).parents[2]
_MOST = 200


@dataclass(frozen=True, slots=True)
class Idle:
    """An operator of so many while nothing is wanted: the mean, and the most of any. Requests without its own lease."""

    clusters: int
    rss_mib: float
    rss_mib_most: float
    cpu_seconds_an_hour: float
    cpu_seconds_an_hour_most: float
    requests: float
    requests_most: int


@dataclass(frozen=True, slots=True)
class Change:
    """All of them asked: seconds until the topology has changed, from each cluster's own request."""

    clusters: int
    at_once: int
    seconds_for_all: float
    seconds: float
    seconds_most: float
    cpu_seconds: float
    requests: float


@dataclass(frozen=True, slots=True)
class _Cluster:
    side: side.Side
    operator: costs.Operator


async def _opened(number: int, folder: pathlib.Path, stack: contextlib.AsyncExitStack) -> _Cluster:
    place = folder / str(number)
    place.mkdir()
    server = await stack.enter_async_context(servers.opened("embedded", place, "cluster"))
    cluster = await stack.enter_async_context(side.opened(server))
    return _Cluster(cluster, await stack.enter_async_context(costs.operator_on(cluster, place)))


async def _idle(clusters: Sequence[_Cluster], seconds: float) -> Idle:
    began, used = time.time(), [procfs.cpu_seconds(each.operator.pid) for each in clusters]
    await asyncio.sleep(seconds)
    cpu = [
        (procfs.cpu_seconds(each.operator.pid) - before) * 3600 / seconds
        for each, before in zip(clusters, used, strict=True)
    ]
    rss = [procfs.rss_mib(each.operator.pid) for each in clusters]
    asked = [len(requests.of_operator(await each.side.server.requests(began))) for each in clusters]
    mean = statistics.fmean
    return Idle(len(clusters), mean(rss), max(rss), mean(cpu), max(cpu), mean(asked), max(asked))


async def _change(clusters: Sequence[_Cluster], at_once: int) -> Change:
    free, began = asyncio.Semaphore(at_once), time.time()
    used = [procfs.cpu_seconds(each.operator.pid) for each in clusters]

    async def change(cluster: _Cluster) -> float:
        async with free:
            # Opening a hundred takes longer than a lease counts that nobody renews.
            await cluster.side.renew_lease()
            asked = time.perf_counter()
            await cluster.side.ask_for(side.DESIRED)
            return await cluster.side.lookout.until(cluster.side.changed, "the topology has changed") - asked

    times = await asyncio.gather(*(change(each) for each in clusters))
    lasted = time.time() - began
    await asyncio.sleep(2.0)
    cpu = [procfs.cpu_seconds(each.operator.pid) - before for each, before in zip(clusters, used, strict=True)]
    sent = [len(requests.of_operator(await each.side.server.requests(began))) for each in clusters]
    mean = statistics.fmean
    return Change(len(clusters), at_once, lasted, mean(times), max(times), mean(cpu), mean(sent))


async def measure(number: int, at_once: int, seconds: float, folder: pathlib.Path) -> tuple[list[Idle], Change]:
    """Open clusters until there are so many, and measure on the way. Raises BenchError, ClientError, InstallError."""
    clusters: list[_Cluster] = []
    idle = []
    async with contextlib.AsyncExitStack() as stack:
        for size in sorted({1, min(10, number), number}):
            while len(clusters) < size:
                clusters.append(await _opened(len(clusters), folder, stack))
            idle.append(await _idle(clusters, seconds))
        return idle, await _change(clusters, at_once)


def _table(idle: Sequence[Idle], change: Change) -> str:
    rows = [("operators", "memory MiB (most)", "CPU s an hour (most)", "requests (most)")]
    rows += [
        (
            str(each.clusters),
            f"{each.rss_mib:.1f} ({each.rss_mib_most:.1f})",
            f"{each.cpu_seconds_an_hour:.1f} ({each.cpu_seconds_an_hour_most:.1f})",
            f"{each.requests:.1f} ({each.requests_most})",
        )
        for each in idle
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    first, last = idle[0], idle[-1]
    lines.append(f"memory of one of {last.clusters} against one alone: {last.rss_mib / first.rss_mib:.3f}")
    lines.append(
        f"{change.clusters} asked, {change.at_once} at once: all changed after {change.seconds_for_all:.1f} s; each "
        f"{change.seconds:.2f} s ({change.seconds_most:.2f} at most), {change.cpu_seconds:.2f} s of CPU, "
        f"{change.requests:.0f} requests"
    )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(prog="python -m test.bench.fleet", description="measure many operators at once")
    parser.add_argument("--clusters", type=int, default=100, help=f"1 to {_MOST}; default: %(default)s")
    parser.add_argument("--at-once", type=int, default=20, help="how many are asked at a time; default: %(default)s")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each idle measurement; default: %(default)s")
    parser.add_argument("--output", type=pathlib.Path, default=_ROOT / "build" / "bench-fleet.json")
    options = parser.parse_args(argv)
    if not 1 <= options.clusters <= _MOST or options.at_once < 1 or options.seconds <= 0:
        parser.error(f"--clusters {options.clusters}: allowed are 1 to {_MOST}; the others are more than 0")
    with tempfile.TemporaryDirectory(prefix="bench-fleet-") as folder:
        try:
            measured = measure(options.clusters, options.at_once, options.seconds, pathlib.Path(folder))
            idle, change = asyncio.run(measured)
        except (processes.BenchError, aiohttp.ClientError, client.ClientError, install.InstallError, OSError) as error:
            sys.stderr.write(f"bench-fleet: {error}\n")
            return 1
    options.output.parent.mkdir(parents=True, exist_ok=True)
    content = {"idle": [asdict(each) for each in idle], "change": asdict(change)}
    options.output.write_text(json.dumps(content, indent=2) + "\n")
    sys.stdout.write(f"{_table(idle, change)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
