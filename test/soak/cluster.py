"""The embedded API server with nodes that beat: a process of its own.

`python -m test.soak.cluster KUBECONFIG`; a line on stdin is how many heartbeats a second all nodes together send from
now on, and each line is answered with what was really sent since the last: `{"sent": N, "seconds": S}`. A server that
takes each heartbeat as a request of its own does not reach 500 a second on one core, so they are put where a request
would put them: into the storage. From there on they are what any update is, to the log and to whoever watches.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import pathlib
import sys
import time
from typing import TYPE_CHECKING, Any

import yaml

from topology_simulator.apiserver import server

if TYPE_CHECKING:
    from topology_simulator.apiserver import storage

STORE = "/nodes"
HISTORY = 20_000
_BATCH_SECONDS = 0.02


class Beats:
    """Heartbeats of all nodes in turn. `rate` is how many a second; 0 is none."""

    def __init__(self, store: storage.Storage) -> None:
        self.rate = 0.0
        self._store = store
        self._sent = 0
        self._since = time.perf_counter()

    def told(self, rate: float) -> dict[str, float]:
        """Go on at another rate; returns what was sent until now."""
        found = {"sent": float(self._sent), "seconds": time.perf_counter() - self._since}
        self.rate, self._sent, self._since = rate, 0, time.perf_counter()
        return found

    async def run(self) -> None:
        """Beat until cancelled: a few at once, many times a second, and none is made up for later than a second."""
        number, due = 0, 0.0
        last = time.perf_counter()
        while True:
            await asyncio.sleep(_BATCH_SECONDS)
            now = time.perf_counter()
            due = min(due + (now - last) * self.rate, max(self.rate, 1.0))
            last = now
            nodes = self._store.items(STORE) if due >= 1 else []
            while due >= 1 and nodes:
                self._store.put(STORE, beaten(nodes[number % len(nodes)].obj))
                number, due = number + 1, due - 1
                self._sent += 1


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
    await api.start("127.0.0.1", 0)
    partial = file.with_name(f"{file.name}.partial")
    partial.write_text(yaml.safe_dump(api.kubeconfig()))
    partial.replace(file)
    beats = Beats(api.storage)
    beating = asyncio.create_task(beats.run())
    try:
        while line := (await lines.readline()).strip():
            sys.stdout.write(json.dumps(beats.told(float(line))) + "\n")
            sys.stdout.flush()
            if beating.done():
                await beating
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        await api.stop()


if __name__ == "__main__":
    asyncio.run(serve(pathlib.Path(sys.argv[1])))
