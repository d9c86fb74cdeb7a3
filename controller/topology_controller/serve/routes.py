"""The routes for machines: probes and metrics.

readyz is true while every watch has synced and is alive, so that a pod that has gone blind is seen; healthz is true
while the loop makes progress, so that a pod that hangs is restarted. Both say in a line what is wrong.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..report import metrics as measuring

STUCK_BOUND = 120.0
"""Seconds that one pass of the loop may take, or that the event loop may stand still, before healthz fails."""


def probes(
    troubles: Callable[[], Sequence[str]], working_since: Callable[[], float | None]
) -> tuple[web.RouteDef, ...]:
    """Return /healthz, /livez and /readyz.

    `troubles` names the watches that cannot be relied on; `working_since` is the loop time at which the pass that is
    under way began, None between two.
    """

    async def healthz(_: web.Request) -> web.Response:
        since = working_since()
        lasting = 0.0 if since is None else asyncio.get_running_loop().time() - since
        if lasting > STUCK_BOUND:
            return web.Response(status=500, text=f"the loop has been at one pass for {lasting:.0f} s\n")
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        unreliable = troubles()
        if unreliable:
            return web.Response(status=500, text="".join(f"{trouble}\n" for trouble in unreliable))
        return web.Response(text="ok\n")

    return web.get("/healthz", healthz), web.get("/livez", healthz), web.get("/readyz", readyz)


def scrape(metrics: measuring.Metrics, *last_activities: Callable[[], dict[str, float]]) -> tuple[web.RouteDef, ...]:
    """Return /metrics; each of `last_activities` returns the Unix time of the last sign of life of some watches."""

    async def show(_: web.Request) -> web.Response:
        metrics.watches({name: seen for last_activity in last_activities for name, seen in last_activity().items()})
        return web.Response(body=generate_latest(metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return (web.get("/metrics", show),)
