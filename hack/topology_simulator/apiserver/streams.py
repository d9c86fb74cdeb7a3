"""Sending one watch: lines as they come, bookmarks when it is quiet, a clean end when its time is over.

`Stream` is what the faults act on while a watch is open: mute it (the connection stays, nothing is sent any
more, not even its end) or cut it, between two lines or in the middle of one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp import web

    from . import reads, requests

_FINAL_BOOKMARK_SECONDS = 2.0


@dataclass(slots=True, eq=False)
class Stream:
    """One open watch. `request` tells what it is, for whoever wants to cut it."""

    request: requests.Request
    opening: reads.Opening
    response: web.StreamResponse
    revision: Callable[[], int]
    bookmark_seconds: float
    transport: asyncio.Transport | None
    muted: bool = False
    cut_now: bool = False
    _next_bookmark: float = 0.0
    _ends: float = 0.0

    def mute(self) -> None:
        """Send nothing any more, and never end."""
        self.muted = True

    def cut(self, *, mid_line: bool = False) -> None:
        """End the connection now, without the end of the chunked body; first send half a line if asked to."""
        self.cut_now = True
        transport = self.transport
        if transport is not None:
            if mid_line:
                half = b'{"type":"MODIFIED","object":{"kind":"'
                transport.write(b"%x\r\n%s\r\n" % (len(half), half))
                transport.close()
            else:
                transport.abort()
        self.opening.watcher.close()

    def fail(self, status: dict[str, Any]) -> None:
        """Send an ERROR event and end."""
        self.opening.watcher.add_error(status)

    async def run(self) -> None:
        """Send until the client goes, the time is over, or the watch was ended. Raises ConnectionError."""
        loop = asyncio.get_running_loop()
        watcher = self.opening.watcher
        if self.transport is not None:
            watcher.on_drop = self.transport.abort
        self._ends = loop.time() + self.opening.seconds
        self._next_bookmark = min(
            loop.time() + self.bookmark_seconds, max(self._ends - _FINAL_BOOKMARK_SECONDS, loop.time())
        )
        while True:
            await self._wait(loop)
            if self.cut_now:
                raise ConnectionResetError("the watch was cut")
            if self.muted:
                watcher.pending.clear()
                continue
            self._bookmark(loop.time())
            if watcher.dropped:
                return
            if watcher.pending:
                chunk = b"".join(watcher.pending)
                watcher.pending.clear()
                await self.response.write(chunk)
            if not watcher.pending and (watcher.closed or loop.time() >= self._ends):
                return

    async def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        watcher = self.opening.watcher
        if watcher.pending and not self.muted:
            watcher.wake.clear()
            return
        due = None
        if not self.muted:
            due = min(self._ends, self._next_bookmark) if self.opening.bookmarks else self._ends
        try:
            async with asyncio.timeout_at(due if due is None or due > loop.time() else loop.time()):
                await watcher.wake.wait()
        except TimeoutError:
            pass
        watcher.wake.clear()

    def _bookmark(self, now: float) -> None:
        if not self.opening.bookmarks or now < self._next_bookmark:
            return
        last = self._ends - _FINAL_BOOKMARK_SECONDS
        following = now + self.bookmark_seconds
        self._next_bookmark = min(following, last) if now < last else self._ends + self.bookmark_seconds
        self.opening.watcher.add_bookmark(self.revision())
