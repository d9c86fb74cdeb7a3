"""Around every request: its place among the connections, its time, and an answer in plain words whatever happens.

The outermost of the server's middlewares. An error is answered with one line that gives nothing away, and an exception
of ours is told in full to the log alone. A stream has a time of its own, and ends in good order: the browser comes
back, and is asked again who it is. Who does not read an answer is idle, and treated as such.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from aiohttp import web

from . import access
from .connections import State

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from aiohttp.typedefs import Handler, Middleware

    from .connections import Connections, Limits


_LOG = logging.getLogger(__name__)
_BEGUN: web.RequestKey[web.StreamResponse] = web.RequestKey("begun", web.StreamResponse)


class Answers:
    """The middleware. `context` says which TLS context is the newest; None where there is no TLS."""

    def __init__(self, limits: Limits, context: Callable[[], ssl.SSLContext | None]) -> None:
        self._limits = limits
        self._context = context
        self.connections: Connections | None = None
        """The server's connections; it sets them before anybody is connected."""

    async def note(self, request: web.Request, response: web.StreamResponse) -> None:
        """Remember what was begun to be answered; for `Application.on_response_prepare`."""
        request[_BEGUN] = response
        if request.get_extra_info("sslcontext") is not self._context():
            # Made before the certificate, the client CA or the profile changed: the next request is judged by the new.
            response.force_close()
            response.headers["Connection"] = "close"

    @property
    def middleware(self) -> Middleware:
        """What `Application(middlewares=...)` takes."""

        @web.middleware
        async def around(request: web.Request, handler: Handler) -> web.StreamResponse:
            self._move(request, State.ASKING)
            try:
                return await self._answered(request, handler)
            finally:
                self._move(request, State.IDLE)

        return around

    def _move(self, request: web.Request, state: State) -> None:
        connection = None if self.connections is None else self.connections.of(request.protocol)
        if connection is not None:
            connection.move(state)

    async def _answered(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        streams = access.path(request) in access.STREAMS
        try:
            async with asyncio.timeout(self._limits.stream if streams else self._limits.request):
                return await self._tried(request, handler)
        except TimeoutError:
            if _BEGUN not in request:
                return text(503, f"this took longer than {self._limits.request:.0f} s")
            if not streams and request.transport is not None:
                request.transport.abort()
            return request[_BEGUN]
        except ConnectionError:
            # They have gone, or were sent away.
            return request[_BEGUN] if _BEGUN in request else text(503, "the connection was lost")

    async def _tried(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPException as error:
            return text(error.status, str(error.reason).lower(), allow=error.headers.get("Allow"))
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:  # noqa: BLE001 - a bug of whoever made the page; the others go on being served
            told = {"method": request.method, "path": request.path[:200]}
            _LOG.error("%(method)s %(path)s failed", told, exc_info=error)
            if _BEGUN in request:
                raise ConnectionResetError from None
            return text(500, "something went wrong here; the log of the operator says what")


def let_in(connections: Connections | None, request: web.Request) -> None:
    """Say that this request may have what it asks for: its connection is not given away."""
    connection = None if connections is None else connections.of(request.protocol)
    if connection is not None:
        connection.move(State.LET_IN)


def text(status: int, words: str, *, allow: str | None = None) -> web.Response:
    """Return an answer of one line."""
    headers = {} if allow is None else {"Allow": allow}
    return web.Response(status=status, text=f"{words}\n", headers=headers)
