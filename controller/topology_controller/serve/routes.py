"""What is served: probes, metrics, and the status page `/` with its state as JSON (`/state`) and as events (`/events`).

A stream has the whole state when it begins and whenever it differs, and a comment in between. A process that does not
lead has no decision, and looks at its idle watches every two seconds. While there is a reader, `Latest` is asked to
have what nothing watches read again; without one nothing is computed or read. `server` decides who may see it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from .. import bindata
from ..report import view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..observe import facts
    from ..report import metrics as measuring

STUCK_BOUND = 120.0
"""Seconds that one pass of the loop may take, or that the event loop may stand still, before healthz fails."""
STREAMS = 8  # at once; others get 503 with Retry-After, and can read /state meanwhile
_AGAIN = 15
_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of a stream: between two looks, of silence before a comment, between looks without a lead, to write."""

    interval: float = 0.25
    comment: float = 15.0
    standby: float = 2.0
    write: float = 10.0


def policy(page: str) -> str:
    """Return the Content-Security-Policy of a page: what stands in it may run, nothing is loaded from elsewhere."""
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for kind, text in _INLINE.findall(page):
        digest = hashlib.sha256(text.encode()).digest()
        hashes[kind].append(f"'sha256-{base64.b64encode(digest).decode()}'")
    scripts, styles = (" ".join(inline) or "'none'" for inline in hashes.values())
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class Page(contextlib.AbstractAsyncContextManager["Page"]):
    """What is served. `async with` it inside of the server: leaving ends all streams."""

    def __init__(
        self,
        latest: view.Latest,
        known: Callable[[], facts.Facts],
        about: Callable[[], view.About],
        *,
        timing: Timing = Timing(),
    ) -> None:
        self._latest, self._known, self.about = latest, known, about
        self._timing = timing
        self._page: tuple[str, str] | None = None
        self._seen: tuple[int, float, str] | None = None
        self._streams: set[asyncio.Timeout] = set()
        self._closed = False

    def routes(self) -> Iterable[web.RouteDef]:
        """Return what is served."""
        events = web.get("/events", self._events, allow_head=False)
        return (web.get("/", self._show), web.get("/state", self._state), events)

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        for stream in self._streams:
            stream.reschedule(asyncio.get_running_loop().time())

    async def _show(self, _: web.Request) -> web.Response:
        if self._page is None:
            text = (bindata.root() / "page" / "index.html").read_text(encoding="utf-8")
            self._page = text, policy(text)
        text, allowed = self._page
        return web.Response(text=text, content_type="text/html", headers={"Content-Security-Policy": allowed})

    async def _state(self, _: web.Request) -> web.Response:
        self._latest.wanted()
        return web.Response(text=_dated(self._look()), content_type="application/json")

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if self._closed or len(self._streams) >= STREAMS:
            text = f"There are {STREAMS} streams already; /state has the same\n"
            return web.Response(status=503, text=text, headers={"Retry-After": str(_AGAIN)})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None) as stream:
                self._streams.add(stream)
                try:
                    await self._stream(request, response)
                finally:
                    self._streams.remove(stream)
        return response

    async def _stream(self, request: web.Request, response: web.StreamResponse) -> None:
        """Send what is to be seen. Raises ConnectionError when the reader has left, or does not read."""
        loop = asyncio.get_running_loop()
        sent, sent_at = "", loop.time()
        await response.prepare(request)
        while True:
            self._latest.wanted()
            number, looked = self._latest.number, loop.time()
            state = self._look()
            if state != sent:
                await self._send(request, response, f"data: {_dated(state)}\n\n")
                sent, sent_at = state, loop.time()
            elif loop.time() - sent_at >= self._timing.comment:
                await self._send(request, response, ": still here\n\n")
                sent_at = loop.time()
            await self._news(number, sent_at + self._timing.comment - loop.time())
            await asyncio.sleep(max(0.0, looked + self._timing.interval - loop.time()))

    async def _send(self, request: web.Request, response: web.StreamResponse, text: str) -> None:
        try:
            async with asyncio.timeout(self._timing.write):
                await response.write(text.encode())
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionError("the reader takes nothing") from None

    async def _news(self, number: int, longest: float) -> None:
        """Wait until something else may have to be shown, or for so many seconds."""
        if self._latest.snapshot is None:
            longest = min(longest, self._timing.standby)
        try:
            async with asyncio.timeout(max(0.0, longest)):
                await self._latest.changed(number)
        except TimeoutError:
            return
        if self._latest.snapshot is None:
            # It leads no more, mostly because it ends: what was decided last is worth more than none.
            await asyncio.sleep(self._timing.standby)

    def _look(self) -> str:
        """Return what is to be shown now, as JSON. Streams that look at the same moment share one look."""
        number, moment = self._latest.number, asyncio.get_running_loop().time()
        seen = self._seen
        if seen is None or seen[0] != number or moment - seen[1] >= self._timing.interval:
            state = view.look(self._latest.snapshot, self._known(), self.about())
            seen = self._seen = number, moment, json.dumps(state, separators=(",", ":"))
        return seen[2]


def _dated(state: str) -> str:
    """Add the time at which it is sent, by which a reader tells ages whatever its own clock says."""
    return f'{{"time":"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",{state[1:]}'


def probes(
    troubles: Callable[[], Sequence[str]], working_since: Callable[[], float | None]
) -> tuple[web.RouteDef, ...]:
    """Return /healthz, /livez (the pass that began at this loop time makes progress) and /readyz (no `troubles`)."""

    async def healthz(_: web.Request) -> web.Response:
        since = working_since()
        lasting = 0.0 if since is None else asyncio.get_running_loop().time() - since
        if lasting > STUCK_BOUND:
            return web.Response(status=500, text=f"the loop has been at one pass for {lasting:.0f} s\n")
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        unreliable = "".join(f"{trouble}\n" for trouble in troubles())
        return web.Response(status=500 if unreliable else 200, text=unreliable or "ok\n")

    return web.get("/healthz", healthz), web.get("/livez", healthz), web.get("/readyz", readyz)


def scrape(metrics: measuring.Metrics, *last_activities: Callable[[], dict[str, float]]) -> tuple[web.RouteDef, ...]:
    """Return /metrics; each of `last_activities` returns the Unix time of the last sign of life of some watches."""

    async def show(_: web.Request) -> web.Response:
        metrics.activity = {name: seen for last_activity in last_activities for name, seen in last_activity().items()}
        return web.Response(body=generate_latest(metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return (web.get("/metrics", show),)
