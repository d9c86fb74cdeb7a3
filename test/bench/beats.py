"""Heartbeats: a process that updates the status of worker nodes at a steady rate, as kubelets do.

`python -m test.bench.beats PREFIX COUNT RATE`; a line on stdin is the kubeconfig of the server to send to from now on,
or `off`. Every update changes the time of the heartbeat and nothing else. It answers `off` with what it has really
sent: `{"sent": N, "seconds": S}`, because a rate that was not reached must not be reported as one.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import json
import pathlib
import sys
import time

import aiohttp

from topology_simulator import kubeconfig, machines

_MERGE = {"Content-Type": "application/merge-patch+json"}
_IN_FLIGHT = 20


async def beat(session: aiohttp.ClientSession, url: str, names: list[str], rate: float) -> None:
    """Send until cancelled; `sent` counts what was answered."""
    began, number = time.perf_counter(), 0
    free = asyncio.Semaphore(_IN_FLIGHT)
    conditions = [one._asdict() for one in machines.states(ready=True)]
    sent = _SENT
    try:
        async with asyncio.TaskGroup() as group:
            while True:
                await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
                await free.acquire()
                name = names[number % len(names)]
                number += 1
                group.create_task(_send(session, f"{url}/api/v1/nodes/{name}/status", conditions, free))
    finally:
        sent["seconds"] += time.perf_counter() - began


_SENT = {"sent": 0.0, "seconds": 0.0}


async def _send(
    session: aiohttp.ClientSession, url: str, states: list[dict[str, str]], free: asyncio.Semaphore
) -> None:
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    beating = [{**state, "lastHeartbeatTime": now, "lastTransitionTime": "2026-01-01T00:00:00Z"} for state in states]
    # Real ones differ in every beat; the time has seconds only, and a second may hold several.
    body = {"status": {"conditions": beating, "volumesInUse": [f"kubernetes.io/beat/{time.time_ns()}"]}}
    try:
        async with session.patch(url, data=json.dumps(body), headers=_MERGE) as response:
            await response.read()
            if response.status != 200:
                raise SystemExit(f"{url}: {response.status}")
            _SENT["sent"] += 1
    finally:
        free.release()


def _session(access: kubeconfig.Access) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=_IN_FLIGHT, ssl=access.tls or True, keepalive_timeout=75.0),
        headers={"User-Agent": "kubelet", **access.headers},
        timeout=aiohttp.ClientTimeout(total=30.0),
    )


async def main(names: list[str], rate: float) -> None:
    """Obey stdin until it ends. Each server has a session of its own, kept: real kubelets keep their connections."""
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    task: asyncio.Task[None] | None = None
    sessions: dict[str, tuple[str, aiohttp.ClientSession]] = {}
    async with contextlib.AsyncExitStack() as stack:
        while word := (await lines.readline()).decode().strip():
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                task = None
            if word == "off":
                sys.stdout.write(json.dumps(_SENT) + "\n")
                sys.stdout.flush()
                _SENT.update(sent=0.0, seconds=0.0)
            else:
                if word not in sessions:
                    access = kubeconfig.load(pathlib.Path(word))
                    sessions[word] = access.server, await stack.enter_async_context(_session(access))
                url, session = sessions[word]
                task = asyncio.create_task(beat(session, url, names, rate))
        if task is not None:
            task.cancel()


if __name__ == "__main__":
    prefix, count, rate = sys.argv[1:4]
    asyncio.run(main([f"{prefix}-{number}" for number in range(int(count))], float(rate)))
