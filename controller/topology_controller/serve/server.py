"""The listening socket, and the routes behind it.

Who may see what is served is decided here, for all routes at once, so that a new page cannot be open by mistake. With
`Security` everything goes through its gate, over TLS. Without, plain HTTP is spoken on a loopback address, and what is
asked for must be a name of this machine: a web site whose own name leads to 127.0.0.1 gets nothing out of a browser.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Self

from aiohttp import web

from . import answers, connections, headers, listener
from .address import Address, refuse_open_http

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Iterable
    from types import TracebackType

    from aiohttp.typedefs import Handler, Middleware

    from .security import Security

_LOG = logging.getLogger(__name__)
_SHUTDOWN = 1.0


class _Quiet(logging.LoggerAdapter[logging.Logger]):
    """aiohttp tells every request that is no HTTP with a traceback; that is somebody else's mistake, and one line."""

    def error(self, msg: object, *args: object, **_: object) -> None:
        self.logger.debug(msg, *args)

    exception = error


class Server:
    """Serves while it is entered. `bound` is the port that was really taken (0 asks for any).

    `routes` are all that is served; what is open and what is not is said in `access`. Raises ValueError for an address
    that may not be served without `security`. Should a task of it fail, whoever has entered it is cancelled, and gets
    the reason on leaving.
    """

    def __init__(
        self,
        address: Address,
        routes: Iterable[web.RouteDef],
        security: Security | None = None,
        *,
        limits: connections.Limits = connections.DEFAULT,
    ) -> None:
        refuse_open_http(address, security)
        self._address = address
        self._routes = tuple(routes)
        self._security = security
        self._limits = limits
        self._answers = answers.Answers(limits, self._context)
        self._connections: connections.Connections | None = None
        self._stack = contextlib.AsyncExitStack()
        self.bound = 0

    @property
    def connections(self) -> int:
        """How many are connected, or are about to be."""
        return 0 if self._connections is None else len(self._connections)

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            sockets = await listener.bind(self._address)
            for one in sockets:
                stack.callback(one.close)
            handlers = await self._runner(stack)
            self._connections = self._answers.connections = connections.Connections(handlers, self._limits)
            accepting = listener.Listener(sockets, self._connections, self._context, self._limits)
            group = await asyncio.TaskGroup().__aenter__()
            stack.push_async_exit(_Leaving(group))
            tasks = [group.create_task(accepting.run(), name="listener")]
            if self._security is not None:
                tasks.append(group.create_task(self._security.run(), name="security"))
            for task in tasks:
                stack.callback(task.cancel)
            self.bound = _port(sockets)
            self._stack = stack.pop_all()
        # The listener's first step: from here on whoever comes is served.
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.__aexit__(*error)  # type: ignore[arg-type]  # handed on as they came

    async def _runner(self, stack: contextlib.AsyncExitStack) -> web.Server:
        app = web.Application(middlewares=[self._answers.middleware, self._guard], client_max_size=self._limits.body)
        app.on_response_prepare.append(headers.careful)
        app.on_response_prepare.append(self._answers.note)
        app.add_routes(self._routes)
        if self._security is not None:
            app.add_routes(self._security.sign_in.routes())
        runner = web.AppRunner(
            app,
            access_log=None,
            auto_decompress=False,
            handle_signals=False,
            handler_cancellation=True,
            keepalive_timeout=self._limits.keep_alive,
            lingering_time=self._limits.farewell,
            logger=_Quiet(_LOG),
            max_field_size=self._limits.line,
            max_headers=self._limits.headers,
            max_line_size=self._limits.line,
            shutdown_timeout=_SHUTDOWN,
        )
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        if runner.server is None:
            raise RuntimeError("the runner was set up and has no server")
        return runner.server

    def _context(self) -> ssl.SSLContext | None:
        return None if self._security is None else self._security.context

    @property
    def _guard(self) -> Middleware:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            if self._security is None:
                return await self._local(request, handler)
            return await self._security.gate.pass_through(request, handler, self._let_in)

        return guard

    async def _local(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not _names_this_machine(request.headers.get("Host", "")):
            return answers.text(421, "only this machine is served here, by the name localhost or its loopback address")
        self._let_in(request)
        return await handler(request)

    def _let_in(self, request: web.Request) -> None:
        answers.let_in(self._connections, request)


class _Leaving:
    """Leaves a task group without taking over what happened to whoever entered: their exception stays as it is."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group

    async def __call__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the tasks; raise an ExceptionGroup when one has failed."""
        cancelled = kind is not None and issubclass(kind, asyncio.CancelledError)
        await self._group.__aexit__(*((kind, error, trace) if cancelled else (None, None, None)))


def _port(sockets: list[socket.socket]) -> int:
    return int(sockets[0].getsockname()[1])


def _names_this_machine(host: str) -> bool:
    """Is this what a browser on this machine would ask for? `host` is a Host header, with or without a port."""
    name = host.lower()
    if not name.endswith("]"):
        before, colon, port = name.rpartition(":")
        if colon and (not port or (port.isascii() and port.isdigit())):
            name = before
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    return Address(name, 0).loopback
