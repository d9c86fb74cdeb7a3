"""/metrics, in the text format of Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..report import metrics as measuring


class Watched(Protocol):
    """What a scrape asks of the watches."""

    def last_activity(self) -> dict[str, float]:
        """Unix time of the last sign of life of each."""


class Scrape:
    """/metrics of one registry. `watches` are all who watch something."""

    def __init__(self, metrics: measuring.Metrics, *watches: Watched) -> None:
        self._metrics = metrics
        self._watches = watches

    def routes(self) -> Iterable[web.RouteDef]:
        """Return what is served."""
        return (web.get("/metrics", self._show),)

    async def _show(self, _: web.Request) -> web.Response:
        self._metrics.watches({name: seen for one in self._watches for name, seen in one.last_activity().items()})
        body = generate_latest(self._metrics.registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})
