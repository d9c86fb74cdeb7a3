"""The floors of what costs CPU: programs that do only what nobody can leave out, with the same libraries.

`python -m test.bench.bare watch KUBECONFIG` watches all nodes twice, as the operator does while a request is open, and
decodes what comes. `python -m test.bench.bare serve PORT SERIES` serves so many series, without reading a fact.
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import sys

import aiohttp
import prometheus_client
from aiohttp import web
from prometheus_client import aiohttp as exposition

from topology_simulator import kubeconfig

_WATCHES = 2


async def watch(access: kubeconfig.Access) -> None:
    """Decode every event of the nodes, once for each watch."""
    timeout = aiohttp.ClientTimeout(total=None)
    async with (
        aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=access.tls or True), headers=access.headers, timeout=timeout
        ) as session,
        asyncio.TaskGroup() as group,
    ):
        for _ in range(_WATCHES):
            group.create_task(_decode(session, access.server))


async def _decode(session: aiohttp.ClientSession, server: str) -> None:
    async with session.get(f"{server}/api/v1/nodes", params={"limit": "1"}) as response:
        version = (await response.json())["metadata"]["resourceVersion"]
    asked = {"watch": "true", "resourceVersion": version}
    async with session.get(f"{server}/api/v1/nodes", params=asked, read_bufsize=1 << 20) as response:
        async for line in response.content:
            json.loads(line)


async def serve(port: int, series: int) -> None:
    """Serve so many series until stopped."""
    registry = prometheus_client.CollectorRegistry()
    gauge = prometheus_client.Gauge("bare_state", "One of many.", ["check", "stage"], registry=registry)
    for number in range(series):
        gauge.labels(f"ACheckWithANameOfUsualLength{number}", "Convergence").set(1)
    application = web.Application()
    application.router.add_get("/metrics", exposition.make_aiohttp_handler(registry))
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    if sys.argv[1] == "watch":
        asyncio.run(watch(kubeconfig.load(pathlib.Path(sys.argv[2]))))
    else:
        asyncio.run(serve(int(sys.argv[2]), int(sys.argv[3])))
