"""Open watches on their way to a client: what faults can do to any, and how the embedded server sends its own.

Lines go out as they come, bookmarks when it is quiet, and the end is a proper one when the time is over. A fault may
mute a watch (the connection stays, nothing is sent any more, not even its end) or cut it, between two lines or in the
middle of one.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from aiohttp import web

from . import reads, requests

_FINAL_BOOKMARK_SECONDS = 2.0
_HALF_A_LINE = b'{"type":"MODIFIED","object":{"kind":"'


class Stream(abc.ABC):
    """One open watch. `request` is what opened it, `transport` its connection."""

    def __init__(
        self, request: requests.Request, response: web.StreamResponse, transport: asyncio.Transport | None
    ) -> None:
        self.request = request
        self.response = response
        self.transport = transport
        self.muted = False
        self.was_cut = False

    def mute(self) -> None:
        """Send nothing any more, and never end."""
        self.muted = True

    def cut(self, *, mid_line: bool = False) -> None:
        """End the connection now, without the end of the chunked body; first send half a line if asked to."""
        self.was_cut = True
        if self.transport is not None:
            if mid_line:
                self.transport.write(b"%x\r\n%s\r\n" % (len(_HALF_A_LINE), _HALF_A_LINE))
                self.transport.close()
            else:
                self.transport.abort()
        self._end()

    @abc.abstractmethod
    def fail(self, status: dict[str, Any]) -> None:
        """Send an ERROR event and end."""

    @abc.abstractmethod
    def _end(self) -> None:
        """Let `run` end."""

    @abc.abstractmethod
    async def run(self) -> None:
        """Send until the watch ends. Raises ConnectionError when the end is not a proper one."""


class WatchStream(Stream):
    """A watch of the embedded server."""

    def __init__(  # noqa: PLR0913  # a connection, and what is sent over it
        self,
        request: requests.Request,
        response: web.StreamResponse,
        transport: asyncio.Transport | None,
        opening: reads.Opening,
        *,
        revision: Callable[[], int],
        bookmark_seconds: float,
    ) -> None:
        super().__init__(request, response, transport)
        self._opening = opening
        self._revision = revision
        self._bookmark_seconds = bookmark_seconds
        self._next_bookmark = 0.0
        self._ends = 0.0

    def fail(self, status: dict[str, Any]) -> None:
        """Send an ERROR event and end."""
        self._opening.watcher.add_error(status)

    def _end(self) -> None:
        self._opening.watcher.close()

    async def run(self) -> None:
        """Send until the client goes, the time is over, or the watch was ended. Raises ConnectionError."""
        loop = asyncio.get_running_loop()
        watcher = self._opening.watcher
        self._ends = loop.time() + self._opening.seconds
        self._next_bookmark = min(
            loop.time() + self._bookmark_seconds, max(self._ends - _FINAL_BOOKMARK_SECONDS, loop.time())
        )
        while True:
            await self._wait(loop)
            if self.was_cut:
                raise ConnectionResetError("the watch was cut")
            if self.muted:
                watcher.pending.clear()
                continue
            self._bookmark(loop.time())
            if watcher.pending:
                chunk = b"".join(watcher.pending)
                watcher.pending.clear()
                await self.response.write(chunk)
            if not watcher.pending and (watcher.closed or loop.time() >= self._ends):
                return

    async def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        watcher = self._opening.watcher
        if self.muted or not watcher.pending:
            due = min(self._ends, self._next_bookmark) if self._opening.bookmarks else self._ends
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(None if self.muted else max(due, loop.time())):
                    await watcher.wake.wait()
        watcher.wake.clear()

    def _bookmark(self, now: float) -> None:
        if not self._opening.bookmarks or now < self._next_bookmark:
            return
        last = self._ends - _FINAL_BOOKMARK_SECONDS
        following = now + self._bookmark_seconds
        self._next_bookmark = min(following, last) if now < last else self._ends + self._bookmark_seconds
        self._opening.watcher.add_bookmark(self._revision())
