"""Requests to one API server: one pool of connections, with TLS, keep-alive and credentials.

Nothing is sent twice, except that a request which was refused for its credentials is sent again when there are newer
ones. `client` decides what to ask and how long in all; `errors` judges what comes back.

Certificates change while we run, in files or in the kubeconfig: they are looked at once a minute, and when one is
refused. Then new connections have the new ones, and those that are open go on until they end.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import ssl
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any, Self

import yarl

from .. import terminal
from . import config, credentials, errors

# aiohttp reads the system's authorities twice while it is imported, which takes a fifth of a start and 2 MiB
# (measured), for contexts that no request of ours uses.
ssl.SSLContext.set_default_verify_paths = lambda _: None  # type: ignore[assignment,method-assign]
import aiohttp  # noqa: E402 - see above

del ssl.SSLContext.set_default_verify_paths

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from aiohttp.connector import AddrInfoType

    # Called once for each attempt: (verb, plural, HTTP status or "error", seconds until the headers came).
    Observer = Callable[[str, str, str, float], None]

_LOG = logging.getLogger(__name__)
Raw = dict[str, Any]

_JSON = "application/json"
METHODS = {"get": "GET", "list": "GET", "watch": "GET", "create": "POST", "update": "PUT", "patch": "PATCH"}
# etcd keeps no object above about 1.5 MB; this is far above any page or event, and bounds what garbage can take.
_LONGEST_BODY = 64 * 1024 * 1024
# Seconds to connect; between two looks at the certificates, as an authority that was taken out must not be trusted for
# long.
_CONNECT, _CERTIFICATE_PERIOD = 5.0, 60.0
# Seconds; together they find a vanished peer within about a minute, whether we are waiting or sending: nodes of the
# control plane restart in every transition, and a watch that is bound to one would be silent for longer.
_SOCKET_OPTIONS = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 30_000}


class Transport:
    """Connections to the server of one Configuration. Entering raises ConfigError for unusable certificates."""

    def __init__(
        self, configuration: credentials.Configuration, user_agent: str, observer: Observer | None = None
    ) -> None:
        self._configuration, self._observer = configuration, observer
        theirs = () if configuration.acting is None else configuration.acting.headers
        self._headers = (("User-Agent", user_agent), ("Accept-Encoding", "identity"), *theirs)
        self._session: aiohttp.ClientSession
        self._tls: ssl.SSLContext
        self._loaded: dict[str, bytes] | None = None
        self._look_again = float("inf")
        self._warned = ""
        self._base = configuration.host.rstrip("/")
        self.proxy = configuration.proxy
        if self.proxy is None:
            # Once: reading the environment costs more than a request's headers.
            address = urllib.parse.urlsplit(self._base)
            if address.hostname is not None and not urllib.request.proxy_bypass(address.netloc):
                self.proxy = urllib.request.getproxies().get(address.scheme)

    async def __aenter__(self) -> Self:
        self._load()
        self._look_again = asyncio.get_running_loop().time() + _CERTIFICATE_PERIOD
        connector = aiohttp.TCPConnector(
            # Less than the 90 s after which a kube-apiserver closes an idle connection, more than two lease renewals.
            keepalive_timeout=75.0,
            socket_factory=_make_socket,
        )
        # Proxies are looked up by us; trusting the environment would also send passwords of ~/.netrc.
        jar = aiohttp.DummyCookieJar()
        self._session = aiohttp.ClientSession(
            connector=connector, headers=self._headers, trust_env=False, cookie_jar=jar, read_bufsize=256 * 1024
        )
        # aiohttp would send a PUT again when the connection is lost before the answer, and that is ours to decide.
        # There is no public switch; a test fails when this one is gone.
        self._session._retry_connection = False  # noqa: SLF001 - see above
        return self

    async def __aexit__(self, *_: object) -> None:
        plugin = self._configuration.refresh
        if isinstance(plugin, credentials.ExecPlugin) and plugin.running is not None:
            plugin.running.cancel()
            await asyncio.wait({plugin.running})
        await self._session.close()

    async def ask(self, request: errors.Request, seconds: float) -> Raw:
        """Return the object that answers, within `seconds`; raises a KubeError."""
        connect = min(_CONNECT, seconds)
        limits = aiohttp.ClientTimeout(total=None, connect=connect, sock_connect=connect)
        async with _as_errors(request), asyncio.timeout(seconds), contextlib.AsyncExitStack() as stack:
            response = await self._start(stack, request, limits)
            return errors.parsed(request, response.status, response.headers, await _read(request, response))

    @contextlib.asynccontextmanager
    async def stream(
        self, request: errors.Request, *, start: float, silence: float, longest: float
    ) -> AsyncIterator[AsyncIterator[tuple[str, Raw]]]:
        """Open a stream within `start` seconds; it fails after `silence` without a byte, and after `longest` in all."""
        limits = aiohttp.ClientTimeout(total=longest, sock_connect=_CONNECT, sock_read=silence)
        async with contextlib.AsyncExitStack() as stack:
            async with _as_errors(request), asyncio.timeout(start):
                response = await self._start(stack, request, limits)
            events = _events(request, response)
            # Leaving closes the connection if the stream has not ended: nothing can follow on it.
            stack.push_async_callback(events.aclose)
            yield events

    async def _start(
        self, stack: contextlib.AsyncExitStack, request: errors.Request, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """Send, and return the response if its status is 2xx; it is released with `stack`."""
        used = await self._credentials(request)
        try:
            return await self._request(stack, request, limits, used)
        except (errors.Unauthorized, aiohttp.ClientSSLError):
            # Refused, so not executed: safe for writes too.
            if not await self._renew(used):
                raise
        return await self._request(stack, request, limits, await self._credentials(request))

    async def _request(
        self,
        stack: contextlib.AsyncExitStack,
        request: errors.Request,
        limits: aiohttp.ClientTimeout,
        authorization: dict[str, str],
    ) -> aiohttp.ClientResponse:
        wanted = request.kinds[0]
        accept = f"{_JSON};as={wanted};g=meta.k8s.io;v=v1" if wanted.startswith(errors.PARTIAL) else _JSON
        headers = {"Accept": accept, **authorization}
        data = None
        if request.body is not None:
            headers["Content-Type"] = "application/merge-patch+json" if request.verb == "patch" else _JSON
            data = json.dumps(request.body, separators=(",", ":")).encode()
        url = yarl.URL(self._base + request.path, encoded=True).with_query(request.query or None)
        code = "error"
        loop = asyncio.get_running_loop()
        begin = loop.time()
        try:
            response = await stack.enter_async_context(
                self._session.request(
                    METHODS[request.verb],
                    url,
                    data=data,
                    headers=headers,
                    timeout=limits,
                    allow_redirects=False,
                    ssl=self._tls,
                    proxy=self.proxy or None,
                    server_hostname=self._configuration.tls_server_name or None,
                )
            )
            code = str(response.status)
        finally:
            seconds = loop.time() - begin
            if self._observer is not None:
                self._observer(request.verb, request.resource.plural, code, seconds)
            if _LOG.isEnabledFor(terminal.REQUESTS):
                fields = {"verb": request.verb, "method": METHODS[request.verb], "path": request.path}
                timed = {"code": int(code) if code.isdigit() else code, "ms": 1000 * seconds}
                _LOG.log(terminal.REQUESTS, "%(method)s %(path)s: %(code)s after %(ms).1f ms", {**fields, **timed})
        if not 200 <= response.status < 300:
            raise errors.failure(request, response.status, response.headers, await _read(request, response))
        return response

    async def _credentials(self, request: errors.Request) -> dict[str, str]:
        if (now := asyncio.get_running_loop().time()) >= self._look_again:
            self._look_again = now + _CERTIFICATE_PERIOD
            await self._take_changes()
            self._replace()
        try:
            return await self._authorization()
        except Exception as error:  # a credential plugin is foreign code: it may raise anything
            raise request.error(errors.Unauthorized, 0, "NoCredentials", str(error), sent=False) from error

    async def _authorization(self) -> dict[str, str]:
        """Return the headers that say who we are. Raises whatever a credential plugin raises."""
        refresh: Any = self._configuration.refresh
        if refresh is not None and (refreshing := refresh(self._configuration)) is not None:
            await refreshing
        token = self._configuration.authorization
        terminal.remember(token)
        return {"Authorization": token} if token else {}

    async def _renew(self, refused: dict[str, str]) -> bool:
        """Look for newer credentials or certificates than the `refused` ones; return whether there are any.

        Files in the middle of a rotation and a plugin that fails are no failure: the server's own error is raised then.
        """
        await self._take_changes()
        if self._configuration.refresh is not None:
            self._configuration.refresh.rejected()
        try:
            # Before the certificates, as a plugin may bring one too.
            fresh = await self._authorization()
        except Exception as error:  # noqa: BLE001 - a credential plugin is foreign code: it may raise anything
            self._warn("the server refuses our credentials, and there are no newer ones: %(error)s", error)
            fresh = refused
        return self._replace() or fresh != refused

    async def _take_changes(self) -> None:
        """Read a kubeconfig again that has changed."""
        try:
            await self._configuration.read_again()
        except config.ConfigError as error:
            text = "the kubeconfig has changed, and what was read before is kept until it can be used: %(error)s"
            self._warn(text, error)

    def _replace(self) -> bool:
        """Load the certificates as they are now, and return whether they have changed and can be used."""
        try:
            changed = self._load()
        except config.ConfigError as error:
            text = "the certificates have changed, and the old ones are kept until these can be used: %(error)s"
            self._warn(text, error)
            return False
        self._warned = "" if changed else self._warned
        return changed

    def _load(self) -> bool:
        """Give the certificates as they are now to new connections; return whether they differ. Raises ConfigError."""
        configuration = self._configuration
        try:
            loaded = credentials.certificates(configuration)
            if loaded == self._loaded:
                return False
            self._tls, self._loaded = credentials.tls(configuration, loaded), loaded
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            names = ", ".join((*configuration.files.values(), *(f"{name}-data" for name in configuration.inline)))
            raise config.ConfigError(names or self._base, f"cannot be used for TLS: {error}") from error
        return True

    def _warn(self, text: str, error: Exception) -> None:
        if str(error) != self._warned:
            self._warned = str(error)
            _LOG.warning(text, {"error": error})


def _make_socket(address: AddrInfoType) -> socket.socket:
    connecting = socket.socket(*address[:3])
    connecting.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Not every system has every option; keep-alive itself is everywhere.
    for option in filter(lambda name: hasattr(socket, name), _SOCKET_OPTIONS):
        connecting.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), _SOCKET_OPTIONS[option])
    return connecting


async def _events(request: errors.Request, response: aiohttp.ClientResponse) -> AsyncGenerator[tuple[str, Raw], None]:
    """Cut a stream into events. A line may be longer than any buffer: aiohttp's own line reader refuses those."""
    held = bytearray()
    async with _as_errors(request):
        async for chunk in response.content.iter_any():
            begin = 0
            while (end := chunk.find(b"\n", begin)) >= 0:
                held += chunk[begin:end]
                line = bytes(held)
                held.clear()
                begin = end + 1
                if line.strip():
                    yield errors.event(request, line)
            held += chunk[begin:]
            if len(held) > _LONGEST_BODY:
                raise request.error(errors.Malformed, 200, "TooLong", f"an event of more than {_LONGEST_BODY} bytes")
    if rest := held.strip():
        message = f"cut in the middle of an event, after {len(rest)} bytes"
        raise request.error(errors.Unreachable, 0, "ConnectionLost", message)


async def _read(request: errors.Request, response: aiohttp.ClientResponse) -> bytes:
    held = bytearray()
    async for chunk in response.content.iter_any():
        held += chunk
        if len(held) > _LONGEST_BODY:
            raise request.error(errors.Malformed, response.status, "TooLong", f"more than {_LONGEST_BODY} bytes")
    return bytes(held)


@contextlib.asynccontextmanager
async def _as_errors(request: errors.Request) -> AsyncIterator[None]:
    """Turn what aiohttp raises into our errors."""
    try:
        yield
    except errors.KubeError:
        raise
    except aiohttp.ConnectionTimeoutError as error:
        raise request.error(errors.TimedOut, 0, "NoConnection", str(error), sent=False) from error
    except aiohttp.SocketTimeoutError as error:
        raise request.error(errors.TimedOut, 0, "Silent", "the peer sent nothing for too long") from error
    except TimeoutError as error:
        raise request.error(errors.TimedOut, 0, "TimedOut", str(error) or "no answer in time") from error
    except aiohttp.ClientConnectorError as error:
        raise request.error(errors.Unreachable, 0, "NoConnection", str(error), sent=False) from error
    except aiohttp.ClientResponseError as error:
        raise request.error(errors.Malformed, 0, "NotHTTP", str(error.message)) from error
    except (aiohttp.ClientError, OSError) as error:
        raise request.error(errors.Unreachable, 0, "ConnectionLost", str(error) or type(error).__name__) from error
    except ValueError as error:
        # aiohttp refuses to send it, e.g. a header with a line break.
        raise request.error(errors.Malformed, 0, "NotSent", str(error), sent=False) from error
