"""Is this process alive, and is it ready?

readyz is true while every watch has synced and is alive, so that a pod that has gone blind is seen; healthz is true
while the loop makes progress, so that a pod that hangs is restarted. Both say in a line what is wrong, and are open to
everybody: a kubelet has no credentials here.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Iterable

STUCK_BOUND = 120.0
"""Seconds that one pass of the loop may take, or that the event loop may stand still, before healthz fails."""


class Watched(Protocol):
    """What readiness asks of the watches."""

    @property
    def troubles(self) -> tuple[str, ...]:
        """Watches that cannot be relied on."""


class Worked(Protocol):
    """What liveness asks of the queue."""

    working_since: float | None


class Probes:
    """/healthz, /livez and /readyz."""

    def __init__(self, watches: Watched, queue: Worked) -> None:
        self._watches = watches
        self._queue = queue

    def routes(self) -> Iterable[web.RouteDef]:
        """Return what is served."""
        return (
            web.get("/healthz", self._healthz),
            web.get("/livez", self._healthz),
            web.get("/readyz", self._readyz),
        )

    async def _healthz(self, _: web.Request) -> web.Response:
        since = self._queue.working_since
        lasting = 0.0 if since is None else asyncio.get_running_loop().time() - since
        if lasting > STUCK_BOUND:
            return web.Response(status=500, text=f"the loop has been at one pass for {lasting:.0f} s\n")
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        troubles = self._watches.troubles
        if troubles:
            return web.Response(status=500, text="".join(f"{trouble}\n" for trouble in troubles))
        return web.Response(text="ok\n")
