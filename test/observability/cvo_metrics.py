"""Metrics of others that our rules look at: what the cluster version operator says about ClusterOperator `topology`.

Where the simulated cluster has that object, these series are there, with the labels that a cluster's Prometheus gives
them; the rules must find our operator by them even when it says nothing itself.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from aiohttp import web

from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from topology_simulator import client

JOB = "cluster-version-operator"
LABELS = {"namespace": "openshift-cluster-version", "service": JOB, "job": JOB, "endpoint": "metrics"}


@contextlib.asynccontextmanager
async def version_operator(api: client.Client) -> AsyncIterator[str]:
    """Serve its metrics on loopback and yield HOST:PORT."""

    async def scrape(_: web.Request) -> web.Response:
        found = await api.find(kinds.CLUSTER_OPERATORS, "topology")
        lines = [] if found is None else list(_lines(found))
        return web.Response(text="".join(f"{line}\n" for line in lines))

    app = web.Application()
    app.router.add_get("/metrics", scrape)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"{host}:{port}"
    finally:
        await runner.cleanup()


def _lines(operator: dict[str, object]) -> list[str]:
    status = operator.get("status")
    conditions = status.get("conditions") or [] if isinstance(status, dict) else []
    lines = [
        f'cluster_operator_conditions{{name="topology",condition="{one["type"]}",reason="{one.get("reason", "")}"}} '
        f"{int(one['status'] == 'True')}"
        for one in conditions
    ]
    available = any(one["type"] == "Available" and one["status"] == "True" for one in conditions)
    return [*lines, f'cluster_operator_up{{name="topology"}} {int(available)}']
