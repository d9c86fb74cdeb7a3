"""What every response has in common, and the responses to what is no request.

aiohttp answers what its parser refuses past the application: with its own name, an echo of the input and none of our
headers. `Protocol` answers that in our words.
"""

from __future__ import annotations

import http
from typing import TYPE_CHECKING

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
"""A browser stores, frames and guesses nothing, and sends no referrer. A page has a policy of its own."""


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


class Protocol(web.RequestHandler):
    """aiohttp's protocol of one connection, except for what it answers by itself."""

    __slots__ = ()

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
        self.log_exception("not answered as a request: %s", type(exc).__name__, exc_info=exc)
        return Last(status)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send a response; one that aiohttp has made in front of the application (of Expect) says no more either."""
        shown = Last(resp.status) if isinstance(resp, web.HTTPException) else resp
        return await super().finish_response(request, shown, start_time)
