"""The embedded API server with nodes that beat: a process of its own.

`python -m test.soak.cluster KUBECONFIG`; a line on stdin is how many heartbeats a second all nodes together send from
now on, and each line is answered with how many a second there really were since the last. A server that takes each
heartbeat as a request of its own does not reach 500 a second on one core, so they are put where a request would put
them: into the storage. From there on they are what any update is, to the log and to whoever watches.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import pathlib
import sys
import time
from typing import Any

import yaml

from topology_simulator.apiserver import server

STORE = "/nodes"
HISTORY = 20_000
_BATCH_SECONDS = 0.02


def beaten(node: dict[str, Any]) -> dict[str, Any]:
    """The node after one more heartbeat: a new object that shares what has not changed. Nothing but times differs."""
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    states = [{**state, "lastHeartbeatTime": now} for state in node["status"]["conditions"]]
    return {**node, "metadata": dict(node["metadata"]), "status": {**node["status"], "conditions": states}}


async def serve(file: pathlib.Path) -> None:
    """Serve until stdin ends; the kubeconfig is written when the port is open."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    api = server.ApiServer(history=HISTORY)
    await api.start()
    partial = file.with_name(f"{file.name}.partial")
    partial.write_text(yaml.safe_dump(api.kubeconfig()))
    partial.replace(file)
    rate, sent, since = 0.0, 0, time.perf_counter()

    async def beat() -> None:
        """A few at once, many times a second, and none is made up for later than a second."""
        nonlocal sent
        due, last, turns = 0.0, since, itertools.count()
        while True:
            await asyncio.sleep(_BATCH_SECONDS)
            due, last = min(due + (time.perf_counter() - last) * rate, max(rate, 1.0)), time.perf_counter()
            nodes = api.storage.items(STORE) if due >= 1 else []
            while due >= 1 and nodes:
                api.storage.put(STORE, beaten(nodes[next(turns) % len(nodes)].obj))
                sent, due = sent + 1, due - 1

    beating = asyncio.create_task(beat())
    try:
        while line := (await lines.readline()).strip():
            sys.stdout.write(f"{sent / (time.perf_counter() - since)}\n")
            sys.stdout.flush()
            rate, sent, since = float(line), 0, time.perf_counter()
            if beating.done():
                await beating
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        await api.stop()


if __name__ == "__main__":
    asyncio.run(serve(pathlib.Path(sys.argv[1])))
