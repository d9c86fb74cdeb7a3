"""The HTTP server: where it listens, how it accepts connections, and what every request passes. Probes and metrics.

All routes pass the same checks, so that a new page cannot be open by mistake. With `Security` everything is served over
TLS and passes `authn.refusal`. Without, plain HTTP is served on a loopback address, and the Host header must be a name
of this machine: a web site whose own name leads to 127.0.0.1 gets nothing out of a browser. A request that a browser
sends for another site is refused everywhere.

Each accepted connection gets the newest TLS context, and the listening sockets stay the same. (asyncio's own `Server`
is tied to one context. Another one on the same socket, and `close` of the one before, loses every connection that was
accepted in the same turn of the loop.)
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
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from . import authn, connections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from aiohttp.typedefs import Handler

    from ..report import metrics as measuring
    from . import tls

_LOG = logging.getLogger(__name__)
STUCK_BOUND = 120.0
"""Seconds that one pass of the loop may take, or that the event loop may stand still, before healthz fails."""
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
    """Listens on an address while it is entered, at port `bound`, and serves `routes` there while `run` runs.

    Raises ValueError for an address that may not be served without `security`, OSError for one that cannot be had.
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
        self._socket: socket.socket
        self._runner: web.AppRunner
        self._connection: Callable[[], connections.Connection]
        self._met: set[type[Exception]] = set()
        self.bound = 0

    async def __aenter__(self) -> Self:
        self._socket = _listen(self._address)
        self.bound = int(self._socket.getsockname()[1])
        app = web.Application(middlewares=[self._respond])
        app.on_response_prepare.append(self._prepare)
        app.add_routes(self._routes)
        self._runner = web.AppRunner(app, handle_signals=False, handler_cancellation=True, shutdown_timeout=_SHUTDOWN)
        await self._runner.setup()
        self._connection = functools.partial(
            connections.Connection,
            cast("web.Server", self._runner.server),
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
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()
        self._socket.close()

    async def run(self) -> None:
        """Accept until cancelled; handshakes that are not done by then are cut."""
        async with asyncio.TaskGroup() as group:
            await self._accept(group)

    async def _accept(self, group: asyncio.TaskGroup) -> None:
        loop = asyncio.get_running_loop()
        exhausted = False
        for number in itertools.count(1):
            if number % _BATCH == 0:
                await asyncio.sleep(0)
            try:
                accepted, (source, *_) = await loop.sock_accept(self._socket)
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
        """Respond in time, whatever happens; details of a bug are in the log alone."""
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
        """Complete the head of a response, and remember that it was begun."""
        for name, value in connections.HEADERS.items():
            response.headers.setdefault(name, value)
        # It names versions.
        response.headers.popall("Server", None)
        request[_BEGUN] = response
        if self._security is not None and request.get_extra_info("sslcontext") is not self._security.tls.context:
            # Made before the certificate, the client CA or the profile changed: the next request is judged by the new.
            response.force_close()
            response.headers["Connection"] = "close"


def _listen(address: Address) -> socket.socket:
    """Listen on an address; without a host, on both families. Raises OSError."""
    both = not address.host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both or ":" in address.host else socket.AF_INET
    place = (address.host, address.port)
    try:
        listening = socket.create_server(place, family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        # Its own text repeats the address; a name that is not known has a number below 0.
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
        raise OSError(error.errno, f"cannot listen on {address}: {why.lower()}") from error
    listening.setblocking(False)  # noqa: FBT003 - the name of a method of the standard library
    return listening


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


def probes(
    troubles: Callable[[], Sequence[str]], working_since: Callable[[], float | None]
) -> tuple[web.RouteDef, ...]:
    """Return /healthz, /livez (the loop makes progress) and /readyz (every watch has synced and is alive).

    `troubles` names the watches that cannot be relied on; `working_since` is the loop time at which the pass that is
    under way began, None between two.
    """

    async def healthz(_: web.Request) -> web.Response:
        since = working_since()
        lasting = 0.0 if since is None else asyncio.get_running_loop().time() - since
        if lasting > STUCK_BOUND:
            return web.Response(status=500, text=f"the loop has been at one pass for {lasting:.0f} s\n")
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        unreliable = troubles()
        if unreliable:
            return web.Response(status=500, text="".join(f"{trouble}\n" for trouble in unreliable))
        return web.Response(text="ok\n")

    return web.get("/healthz", healthz), web.get("/livez", healthz), web.get("/readyz", readyz)


def scrape(metrics: measuring.Metrics, *last_activities: Callable[[], dict[str, float]]) -> tuple[web.RouteDef, ...]:
    """Return /metrics; each of `last_activities` returns the Unix time of the last sign of life of some watches."""

    async def show(_: web.Request) -> web.Response:
        metrics.watches({name: seen for last_activity in last_activities for name, seen in last_activity().items()})
        return web.Response(body=generate_latest(metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return (web.get("/metrics", show),)
