"""The HTTP server: where it listens, how it accepts connections, and what every request passes.

All routes pass the same checks, so that a new page cannot be open by mistake. With `Security` everything is served over
TLS and passes `authn.refusal`. Without, plain HTTP is served on a loopback address, and the Host header must be a name
of this machine: a web site whose own name leads to 127.0.0.1 gets nothing out of a browser. A request that a browser
sends for another site is refused everywhere.

Each accepted connection gets the newest TLS context, and the listening sockets stay the same: a new certificate, client
CA or profile refuses no connection, and open ones go on. (asyncio's own `Server` is tied to one context. Another one on
the same socket, and `close` of the one before, loses every connection that was accepted in the same turn of the loop.)
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import itertools
import logging
import os
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import aiohttp
from aiohttp import web

from . import authn, connections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aiohttp.typedefs import Handler

    from . import tls

_LOG = logging.getLogger(__name__)
_BACKLOG = 4096
_BATCH = 64
"""Connections that are accepted in one turn of the loop, so that a flood leaves time for everything else."""
_PAUSE = 1.0
"""Seconds before the next attempt to accept where files or memory are exhausted."""
_SHUTDOWN = 1.0
_STREAMS = frozenset({"/events"})
"""Answers that go on for as long as the client stays."""
_BEGUN: web.RequestKey[web.StreamResponse] = web.RequestKey("begun", web.StreamResponse)


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; no host is every address of this machine."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read HOST:PORT, with brackets around an IPv6 address. Raises ValueError for anything else."""
        host, separator, port = text.rpartition(":")
        if not separator or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"{text!r} is not HOST:PORT")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether it is reachable from this machine only."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def refuse_open_http(address: Address, certificates: object) -> None:
    """Raise ValueError for an address that others can reach while there is no certificate (None)."""
    if certificates is None and not address.loopback:
        raise ValueError(
            f"--bind-address {address} is not a loopback address and needs --serving-cert-dir: "
            "without certificates metrics are served on loopback only"
        )


class Security(NamedTuple):
    """What serving to others needs."""

    tls: tls.ServingTLS
    reviews: authn.Reviews


class Server:
    """Listens on an address while it is entered, and serves `routes` there while `run` runs.

    `bound` is the port that was really taken (0 asks for any). Raises ValueError for an address that may not be served
    without `security`, OSError for one that cannot be had.
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
        self._routes = list(routes)
        self._security = security
        self._limits = limits
        self._open: dict[asyncio.Task[None], str] = {}
        """The connections, each with its source."""
        self._sockets: list[socket.socket] = []
        self._connection: Callable[[], connections.Connection]
        self._stack = contextlib.AsyncExitStack()
        self._met: set[type[Exception]] = set()
        self.bound = 0

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            self._sockets = await _listen(self._address)
            for listening in self._sockets:
                stack.callback(listening.close)
            self.bound = int(self._sockets[0].getsockname()[1])
            app = web.Application(middlewares=[self._respond])
            app.on_response_prepare.append(self._prepare)
            app.add_routes(self._routes)
            runner = web.AppRunner(app, handle_signals=False, handler_cancellation=True, shutdown_timeout=_SHUTDOWN)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            if runner.server is None:
                raise RuntimeError("the runner was set up and has no server")
            self._connection = functools.partial(
                connections.Connection,
                runner.server,
                self._limits,
                access_log=None,
                auto_decompress=False,
                keepalive_timeout=self._limits.keep_alive,
                lingering_time=self._limits.closing,
                logger=_LOG,
                max_field_size=self._limits.line,
                max_headers=self._limits.headers,
                max_line_size=self._limits.line,
            )
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.__aexit__(*error)  # type: ignore[arg-type]  # handed on as they came

    async def run(self) -> None:
        """Accept until cancelled; handshakes that are not done by then are cut."""
        async with asyncio.TaskGroup() as group:
            await asyncio.gather(*(self._accept(listening, group) for listening in self._sockets))

    async def _accept(self, listening: socket.socket, group: asyncio.TaskGroup) -> None:
        loop = asyncio.get_running_loop()
        exhausted = False
        for number in itertools.count(1):
            if number % _BATCH == 0:
                await asyncio.sleep(0)
            try:
                accepted, (source, *_) = await loop.sock_accept(listening)
            except ConnectionAbortedError:
                continue
            except OSError as error:
                # Out of files or memory: the socket stays readable, and trying at once would take the whole loop.
                if not exhausted:
                    _LOG.warning("cannot accept connections: %s", error.strerror or error)
                exhausted = True
                await asyncio.sleep(_PAUSE)
                continue
            exhausted = False
            theirs = sum(other == source for other in self._open.values())
            if theirs < self._limits.share and len(self._open) < self._limits.connections:
                connection = group.create_task(self._connect(accepted), name="connection")
                self._open[connection] = source
                connection.add_done_callback(self._open.pop)
            else:
                accepted.close()

    async def _connect(self, accepted: socket.socket) -> None:
        """Hand a client over to aiohttp after its handshake, and wait until it has left."""
        loop = asyncio.get_running_loop()
        connection = self._connection()
        secure: dict[str, Any] = {}
        if self._security is not None:
            secure = {
                "ssl": self._security.tls.context,
                "ssl_handshake_timeout": self._limits.silent,
                "ssl_shutdown_timeout": self._limits.closing,
            }
        try:
            await loop.connect_accepted_socket(lambda: connection, accepted, **secure)
            await connection.ended
        except OSError:
            # The client's business: an old version, a certificate of another CA, or it has left.
            return
        except Exception as error:  # noqa: BLE001 - a bug that one client meets; the others go on being served
            with contextlib.suppress(RuntimeError):
                # Refused where a transport has it, which closes it.
                loop.remove_reader(accepted)
                accepted.close()
            # Anybody who connects may bring it about, so the log has it once.
            if type(error) not in self._met:
                self._met.add(type(error))
                _LOG.error("a connection failed", exc_info=error)

    @web.middleware
    async def _respond(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Respond in time, whatever happens; details of a bug are in the log alone.

        A stream that ends after its time ends in good order: the browser comes back, and is authorized again.
        """
        streaming = authn.route_path(request) in _STREAMS
        connection = cast("connections.Connection", request.protocol)
        connection.turn(busy=True)
        try:
            async with asyncio.timeout(self._limits.stream if streaming else self._limits.request):
                refusal = await self._refusal(request)
                return await handler(request) if refusal is None else refusal
        except web.HTTPException as error:
            headers = {name: value for name, value in error.headers.items() if name == "Allow"}
            return web.Response(status=error.status, text=f"{error.reason}\n".lower(), headers=headers)
        except TimeoutError:
            if _BEGUN not in request:
                return web.Response(status=503, text=f"this took longer than {self._limits.request:.0f} s\n")
            if not streaming and request.transport is not None:
                request.transport.abort()
        except ConnectionError:
            # The client has left, or was cut.
            if _BEGUN not in request:
                return web.Response(status=503, text="the connection was lost\n")
        except Exception as error:  # noqa: BLE001 - a bug in one page; the others go on being served
            fields = {"method": request.method, "path": request.path[:200]}
            _LOG.error("%(method)s %(path)s failed", fields, exc_info=error)
            if _BEGUN not in request:
                return web.Response(status=500, text="something went wrong here; the log of the operator says what\n")
        finally:
            connection.turn(busy=False)
        return request[_BEGUN]

    async def _refusal(self, request: web.Request) -> web.Response | None:
        """Return why a request is not served; None when it is."""
        if _ends_where_it_likes(request):
            return connections.Last(400)
        if _from_elsewhere(request):
            return web.Response(status=403, text="a browser sends this for another site: open the address by itself\n")
        if self._security is None:
            if not _names_this_machine(request.headers.get("Host", "")):
                text = "only this machine is served here, by the name localhost or its loopback address\n"
                return web.Response(status=421, text=text)
        else:
            return await authn.refusal(request, self._security.reviews)
        return None

    async def _prepare(self, request: web.Request, response: web.StreamResponse) -> None:
        """Complete the head of a response, and remember that it was begun; for `Application.on_response_prepare`."""
        for name, value in connections.HEADERS.items():
            response.headers.setdefault(name, value)
        # It names versions.
        response.headers.popall("Server", None)
        request[_BEGUN] = response
        if self._security is not None and request.get_extra_info("sslcontext") is not self._security.tls.context:
            # Made before the certificate, the client CA or the profile changed: the next request is judged by the new.
            response.force_close()
            response.headers["Connection"] = "close"


async def _listen(address: Address) -> list[socket.socket]:
    """Listen on every address of a host name; without a host, on both families with one socket. Raises OSError."""
    both = not address.host and socket.has_dualstack_ipv6()
    places = [(socket.AF_INET6 if both else socket.AF_INET, "")]
    sockets: list[socket.socket] = []
    try:
        if address.host:
            infos = await asyncio.get_running_loop().getaddrinfo(
                address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            places = list(dict.fromkeys((family, str(place[0])) for family, _, _, _, place in infos))
        for family, host in places:
            place = (host, address.port)
            sockets.append(socket.create_server(place, family=family, backlog=_BACKLOG, dualstack_ipv6=both))
            sockets[-1].setblocking(False)  # noqa: FBT003 - the name of a method of the standard library
    except OSError as error:
        for listening in sockets:
            listening.close()
        why = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise OSError(error.errno, f"cannot listen on {address}: {str(why).lower()}") from error
    return sockets


def _names_this_machine(host: str) -> bool:
    """Is this Host header, with or without a port, what a browser on this machine would send?"""
    name = re.sub(r":[0-9]*\Z", "", host.lower())
    return Address(re.sub(r"\A\[(.*)\]\Z", r"\1", name), 0).loopback


def _from_elsewhere(request: web.Request) -> bool:
    """Did a browser send this for another site? Programs send neither header, and an address that is typed no site."""
    site = request.headers.get("Sec-Fetch-Site", "none")
    return site not in {"same-origin", "none"} or request.headers.get("Origin") not in {
        None,
        f"{request.scheme}://{request.host}",
    }


def _ends_where_it_likes(request: web.Request) -> bool:
    """HTTP/0.9 has no head, and HTTP/1.0 no chunks: a proxy would see the end elsewhere (RFC 9112, 6.1)."""
    old = request.version < aiohttp.HttpVersion11
    return old and (request.version < aiohttp.HttpVersion10 or "Transfer-Encoding" in request.headers)
