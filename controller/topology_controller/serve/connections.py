"""One connection: aiohttp's protocol with bounds, and what it is answered where aiohttp would answer by itself.

aiohttp keeps a connection that sends nothing for as long as one that is kept alive, and answers what its parser refuses
past the application: with its own name, an echo of the input and none of our headers.
"""

from __future__ import annotations

import asyncio
import http
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web

if TYPE_CHECKING:
    from aiohttp import abc

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every response; a page has a policy of its own."""


@dataclass(frozen=True, slots=True)
class Limits:
    """All bounds of serving; times in seconds, sizes in bytes.

    At most `connections`, `share` of one source, from before their handshake on: the NetworkPolicies leave two sources
    beside the kubelet. A handshake may take `silent`, and so may the whole head of the first request after it.
    `keep_alive` is more than Prometheus's half minute between two scrapes. `closing` is for what was not read or sent
    yet. After `stream` a browser has to ask for events again. `line` is one line of a head; `received` is head and body
    of one request together.
    """

    connections: int = 64
    share: int = 24
    silent: float = 5.0
    keep_alive: float = 45.0
    closing: float = 2.0
    request: float = 15.0
    stream: float = 900.0
    line: int = 8 * 1024
    headers: int = 64
    received: int = 32 * 1024


DEFAULT = Limits()


def last(status: int) -> bytes:
    """Return a whole response that says its status and nothing else, and ends the connection."""
    phrase = http.HTTPStatus(status).phrase
    body = f"{phrase}\n".lower()
    fields = {
        **HEADERS,
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} {phrase}\r\n{head}\r\n{body}".encode("ascii")


class Last(web.Response):
    """`last`, as aiohttp's protocol sends a response."""

    def __init__(self, status: int) -> None:
        super().__init__(status=status)
        self.force_close()

    async def prepare(self, request: web.BaseRequest) -> abc.AbstractStreamWriter:
        """Send all of it."""
        await request.writer.write(last(self.status))
        return request.writer

    async def write_eof(self, data: bytes = b"") -> None:
        """Send nothing more."""


class Connection(web.RequestHandler):
    """aiohttp's protocol of one client. `ended` is done when it has lost its connection."""

    __slots__ = ("_busy", "_limits", "_received", "_silence", "_wire", "ended")
    _silence: asyncio.TimerHandle
    _wire: asyncio.Transport
    """aiohttp forgets its own `transport` before everything is sent."""

    def __init__(self, manager: web.Server, limits: Limits, **options: Any) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(manager, loop=loop, **options)
        self._limits = limits
        self._received = 0
        self._busy = False
        self.ended: asyncio.Future[None] = loop.create_future()

    def turn(self, *, busy: bool) -> None:
        """Begin or end a request, with a new allowance."""
        self._busy = busy
        self._received = 0
        self._silence.cancel()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to serve: the handshake is done."""
        super().connection_made(transport)
        self._wire = transport = cast("asyncio.Transport", transport)
        self._silence = asyncio.get_running_loop().call_later(self._limits.silent, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Take what came in, up to the limit of one request."""
        if self._wire.is_closing():
            return
        self._received += len(data)
        if self._received <= self._limits.received:
            super().data_received(data)
        elif self._busy:
            self._wire.abort()
        else:
            self._wire.write(last(431))
            self._wire.close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """End."""
        self._silence.cancel()
        super().connection_lost(exc)
        if not self.ended.done():
            self.ended.set_result(None)

    def log_exception(self, *args: Any, **_: Any) -> None:
        """Log a request that is no HTTP in one line; aiohttp would log a traceback."""
        self.logger.debug(*args)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - echoes the input
    ) -> web.StreamResponse:
        """Return the response to what the parser refused, or to a bug in front of the application."""
        if request.writer.output_size > 0:
            raise ConnectionError("a response was begun")
        self.log_exception("not answered as a request: %s", type(exc).__name__)
        return Last(status)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send a response; one that aiohttp has made in front of the application (of Expect) says no more either."""
        shown = Last(resp.status) if isinstance(resp, web.HTTPException) else resp
        return await super().finish_response(request, shown, start_time)
