"""The HTTP server: how it accepts connections, what bounds each of them, and what every request passes.

All routes pass the same checks, so that a new page cannot be open by mistake. With `Security` everything is served over
TLS and passes `authn.refusal`. Without, plain HTTP is served on a loopback address, and the Host header must be a name
of this machine: a web site whose own name leads to 127.0.0.1 gets nothing out of a browser.

Each accepted connection gets the newest TLS context. (asyncio's own `Server` is tied to one. Another one on the same
socket, and `close` of the one before, loses every connection that was accepted in the same turn of the loop.) aiohttp
would answer what its parser refuses past the application: with its own name, an echo of the input, no header of ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import http
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

from . import authn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aiohttp.typedefs import Handler

    from . import tls

_LOG = logging.getLogger(__name__)
_PAUSE = 1.0  # seconds before the next attempt to accept where files or memory are exhausted
_BEGUN: web.RequestKey[web.StreamResponse] = web.RequestKey("begun", web.StreamResponse)
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
    """All bounds of serving; times in seconds, sizes in bytes."""

    connections: int = 64
    share: int = 24  # of one source: the NetworkPolicies leave two beside the kubelet
    silent: float = 5.0  # for a handshake, and for the whole head of the first request
    keep_alive: float = 45.0  # more than Prometheus's half minute between two scrapes
    closing: float = 2.0  # for what was not read or sent yet
    request: float = 15.0
    stream: float = 900.0  # then a browser has to ask for events again
    line: int = 8 * 1024
    headers: int = 64
    received: int = 32 * 1024  # head and body of one request together


def _ending(status: int) -> bytes:
    """Return a whole response that says its status and nothing else, and ends the connection."""
    phrase = http.HTTPStatus(status).phrase
    body = f"{phrase}\n".lower()
    fields = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": len(body), "Connection": "close"}
    head = "".join(f"{name}: {value}\r\n" for name, value in {**HEADERS, **fields}.items())
    return f"HTTP/1.1 {status} {phrase}\r\n{head}\r\n{body}".encode("ascii")


class _Last(web.Response):
    """Stands for `_ending` with its status."""


class _Connection(web.RequestHandler):
    """aiohttp's protocol of one client. `ended` is done when it has lost its connection."""

    __slots__ = ("_busy", "_limits", "_received", "_silence", "_wire", "ended")
    _silence: asyncio.TimerHandle
    _wire: asyncio.Transport  # aiohttp forgets its own `transport` before everything is sent

    def __init__(self, manager: web.Server, limits: Limits) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(
            manager,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # what its stub does not say: None is no log
            auto_decompress=False,
            keepalive_timeout=limits.keep_alive,
            lingering_time=limits.closing,
            logger=_LOG,
            max_field_size=limits.line,
            max_headers=limits.headers,
            max_line_size=limits.line,
        )
        self._limits, self._received, self._busy = limits, 0, False
        self.ended: asyncio.Future[None] = loop.create_future()

    def turn(self, *, busy: bool) -> None:
        """Begin or end a request, with a new allowance."""
        self._busy, self._received = busy, 0
        self._silence.cancel()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
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
            self._wire.write(_ending(431))
            self._wire.close()

    def connection_lost(self, exc: BaseException | None) -> None:
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
        return _Last(status=status)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send a response; one that aiohttp has made in front of the application (of Expect) says no more either."""
        if isinstance(resp, _Last | web.HTTPException):
            self._wire.write(_ending(resp.status))
            return resp, True
        return await super().finish_response(request, resp, start_time)


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
        why = "needs --serving-cert-dir: without certificates metrics are served on loopback only"
        raise ValueError(f"--bind-address {address} is not a loopback address and {why}")


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
        limits: Limits = Limits(),
    ) -> None:
        refuse_open_http(address, security)
        self._address, self._security, self._limits = address, security, limits
        self._routes = list(routes)
        self._open: dict[asyncio.Task[None], str] = {}  # the connections, each with its source
        self._socket: socket.socket
        self._runner: web.AppRunner
        self._met: set[type[Exception]] = set()
        self.bound = 0

    async def __aenter__(self) -> Self:
        self._socket = _listen(self._address)
        self.bound = int(self._socket.getsockname()[1])
        app = web.Application(middlewares=[self._respond])
        app.on_response_prepare.append(self._prepare)
        app.add_routes(self._routes)
        self._runner = web.AppRunner(app, handle_signals=False, handler_cancellation=True, shutdown_timeout=1.0)
        await self._runner.setup()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()
        self._socket.close()

    async def run(self) -> None:
        """Accept until cancelled; handshakes that are not done by then are cut."""
        loop, exhausted = asyncio.get_running_loop(), False
        async with asyncio.TaskGroup() as group:
            for number in itertools.count(1):
                if number % 64 == 0:
                    # A flood leaves time for everything else.
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
        connection = _Connection(cast("web.Server", self._runner.server), self._limits)
        secure: dict[str, Any] = {}
        if self._security is not None:
            times = {"ssl_handshake_timeout": self._limits.silent, "ssl_shutdown_timeout": self._limits.closing}
            secure = {"ssl": self._security.tls.current, **times}
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
        streaming = authn.route_path(request) == "/events"
        connection = cast("_Connection", request.protocol)
        connection.turn(busy=True)
        try:
            async with asyncio.timeout(self._limits.stream if streaming else self._limits.request):
                refusal = await self._refusal(request)
                return await handler(request) if refusal is None else refusal
        except web.HTTPException as error:
            headers = {name: value for name, value in error.headers.items() if name == "Allow"}
            return web.Response(status=error.status, text=f"{error.reason}\n".lower(), headers=headers)
        except TimeoutError:
            failure = web.Response(status=503, text=f"this took longer than {self._limits.request:.0f} s\n")
            if _BEGUN in request and not streaming and request.transport is not None:
                request.transport.abort()
        except ConnectionError:
            # The client has left, or was cut.
            failure = web.Response(status=503, text="the connection was lost\n")
        except Exception as error:  # noqa: BLE001 - a bug in one page; the others go on being served
            fields = {"method": request.method, "path": request.path[:200]}
            _LOG.error("%(method)s %(path)s failed", fields, exc_info=error)
            failure = web.Response(status=500, text="something went wrong here; the log of the operator says what\n")
        finally:
            connection.turn(busy=False)
        begun: web.StreamResponse = request.get(_BEGUN, failure)
        return begun

    async def _refusal(self, request: web.Request) -> web.Response | None:
        # HTTP/0.9 has no head, and HTTP/1.0 no chunks: a proxy would see the end elsewhere (RFC 9112, 6.1).
        old = request.version < aiohttp.HttpVersion11
        if old and (request.version < aiohttp.HttpVersion10 or "Transfer-Encoding" in request.headers):
            return _Last(status=400)
        if _from_elsewhere(request):
            return web.Response(status=403, text="a browser sends this for another site: open the address by itself\n")
        if self._security is not None:
            return await authn.refusal(request, self._security.reviews)
        if _names_this_machine(request.headers.get("Host", "")):
            return None
        text = "only this machine is served here, by the name localhost or its loopback address\n"
        return web.Response(status=421, text=text)

    async def _prepare(self, request: web.Request, response: web.StreamResponse) -> None:
        """Complete the head of a response, and remember that it was begun."""
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        # It names versions.
        response.headers.popall("Server", None)
        request[_BEGUN] = response
        if self._security is not None and request.get_extra_info("sslcontext") is not self._security.tls.current:
            # Made before the certificate, the client CA or the profile changed: the next request is judged by the new.
            response.force_close()
            response.headers["Connection"] = "close"


def _listen(address: Address) -> socket.socket:
    """Listen on an address; without a host, on both families. Raises OSError."""
    both = not address.host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both or ":" in address.host else socket.AF_INET
    place = (address.host, address.port)
    try:
        listening = socket.create_server(place, family=family, backlog=4096, dualstack_ipv6=both)
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
    site, ours = request.headers.get("Sec-Fetch-Site", "none"), f"{request.scheme}://{request.host}"
    return site not in {"same-origin", "none"} or request.headers.get("Origin", ours) != ours
