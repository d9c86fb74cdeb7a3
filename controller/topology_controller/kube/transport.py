"""One pool of connections to one API server, with TLS, keep-alive and credentials.

TLS and credentials are kubernetes_asyncio's: an ApiClient is made from the Configuration, and its session
is replaced by one with the same TLS context and settings of ours, because the library sets none of these:
a connection that is kept long enough for the next lease renewal to find it (each new one costs a TLS
handshake in the moment when a wish appears), and a peer that has vanished is noticed by the kernel, not
only by our timers.

Certificates change on disk while we run. When the server (or we) refuse a certificate and the files are
not those that were loaded, the pool is built anew. `client` is the only user.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any

import aiohttp

from . import config, credentials, lazy, logged

if TYPE_CHECKING:
    from aiohttp.connector import AddrInfoType
    from kubernetes_asyncio.client.api_client import ApiClient
    from kubernetes_asyncio.client.configuration import Configuration

_LOG = logging.getLogger(__name__)
# Less than the 90 s after which a kube-apiserver closes an idle connection, more than two lease renewals.
_KEEP_IDLE = 75.0
_BUFFER = 256 * 1024
# Pools with older certificates that may still carry a watch.
_RETIRED = 2
# Seconds; together they find a vanished peer within about a minute, whether we are waiting or sending.
_SOCKET_OPTIONS = (
    ("TCP_KEEPIDLE", 30),
    ("TCP_KEEPINTVL", 10),
    ("TCP_KEEPCNT", 3),
    ("TCP_USER_TIMEOUT", 30_000),
)


def _make_socket(address: AddrInfoType) -> socket.socket:
    made = socket.socket(*address[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _SOCKET_OPTIONS:
        # Not every system has every option; keep-alive itself is everywhere.
        if hasattr(socket, option):
            with contextlib.suppress(OSError):
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made


class Transport:
    """Connections to the server of one Configuration. Open it inside a running loop, close it when done."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._api: ApiClient | None = None
        self._loaded: tuple[object, ...] = ()
        self._retired: list[ApiClient] = []
        self._renewing = asyncio.Lock()
        self._said = ""
        self.base = str(configuration.host).rstrip("/")
        # The environment of a process does not change, and reading all of it would cost more than a request's headers.
        self._proxy = configuration.proxy if configuration.proxy is not None else self._environment_proxy()

    async def open(self) -> None:
        """Load certificates and make the pool.

        Nothing is contacted. Raises ConfigError for bad certificates.
        """
        loaded = self._files()
        self._api, self._loaded = await self._make(), loaded

    async def close(self) -> None:
        """Close all connections."""
        retired, self._retired = self._retired, []
        if self._api is not None:
            retired.append(self._api)
            self._api = None
        for api in retired:
            await api.close()

    async def _make(self) -> ApiClient:
        try:
            with credentials.certificates_as_files(self._configuration):
                api = lazy.library().make_api_client(self._configuration)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            files = [name for name in self._certificate_files() if name]
            names = ", ".join(files + credentials.extras(self._configuration).names())
            raise config.ConfigError(names or self.base, f"cannot be used for TLS: {error}") from error
        unused = api.rest_client.pool_manager
        # The library offers no other way to its TLS context; a test fails when this one is gone.
        context = getattr(unused.connector, "_ssl")  # noqa: B009 - a private name, see above
        await unused.close()
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=self._configuration.connection_pool_maxsize,
                ssl=context,
                keepalive_timeout=_KEEP_IDLE,
                socket_factory=_make_socket,
            ),
            # Proxies are looked up below; trusting the environment would also send passwords of ~/.netrc.
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=_BUFFER,
        )
        # aiohttp would send a PUT again when the connection is lost before the answer, and that is ours
        # to decide. There is no public switch; a test fails when this one is gone.
        session._retry_connection = False  # noqa: SLF001 - see above
        api.rest_client.pool_manager = session
        return api

    async def credentials(self) -> dict[str, str]:
        """Return the headers that say who we are. Raises whatever a credential plugin raises."""
        headers: dict[str, str] = {}
        # The library's stubs have it as a coroutine; it is a function that returns one, or nothing.
        refresh: Any = self._configuration.refresh_api_key_hook
        if refresh is not None and "BearerToken" not in self._configuration.api_key:
            # The library asks only for tokens; a plugin that brings certificates would never be asked again.
            waited = refresh(self._configuration)
            if waited is not None:
                await waited
        await self._opened().update_params_for_auth(headers, [], ["BearerToken"])
        for value in headers.values():
            logged.remember(value)
        return headers

    async def renew(self, refused: dict[str, str]) -> bool:
        """Look for newer credentials or certificates than the `refused` ones; say whether there are any.

        Connections with the old certificates go on until they end by themselves: they may carry watches. Files that are
        gone or half-written are no reason to fail: whoever replaces them is not finished. When a credential plugin
        fails, what the server said is the answer.
        """
        credentials.rejected(self._configuration)
        # First of all, as a plugin may bring a certificate too.
        fresh = await self._newer(refused)
        async with self._renewing:
            loaded = self._files()
            if loaded != self._loaded and (made := await self._make_anew()) is not None:
                old = self._opened()
                self._api, self._loaded = made, loaded
                self._retired.append(old)
                if len(self._retired) > _RETIRED:
                    await self._retired.pop(0).close()
                return True
        return fresh != refused

    async def _newer(self, refused: dict[str, str]) -> dict[str, str]:
        try:
            return await self.credentials()
        except Exception as error:  # noqa: BLE001 - a credential plugin is foreign code: it may raise anything
            self._say("the server refuses our credentials, and there are no newer ones: %(error)s", error)
            return refused

    def _say(self, text: str, error: Exception) -> None:
        if str(error) != self._said:
            self._said = str(error)
            _LOG.warning(text, {"error": error})

    async def _make_anew(self) -> ApiClient | None:
        """Make a pool from the files as they are now; None when they are no good, as in the middle of a rotation.

        What was loaded before may still do, and if it does not, whoever asks is told so by the server.
        """
        try:
            made = await self._make()
        except config.ConfigError as error:
            self._say(
                "the certificates have changed, and the old ones are kept until these can be used: %(error)s", error
            )
            return None
        self._said = ""
        return made

    @property
    def session(self) -> aiohttp.ClientSession:
        """The pool."""
        session = self._opened().rest_client.pool_manager
        if not isinstance(session, aiohttp.ClientSession):
            raise TypeError("the session was replaced by something else")
        return session

    def options(self) -> dict[str, Any]:
        """Return what every request of this configuration needs besides its own.

        That is a proxy, and the name in the server's certificate.
        """
        found: dict[str, Any] = {}
        if self._proxy:
            found["proxy"] = self._proxy
            if self._configuration.proxy_headers:
                found["proxy_headers"] = self._configuration.proxy_headers
        if self._configuration.tls_server_name:
            found["server_hostname"] = self._configuration.tls_server_name
        return found

    def _environment_proxy(self) -> str | None:
        address = urllib.parse.urlsplit(self.base)
        if address.hostname is None or urllib.request.proxy_bypass(address.netloc):
            return None
        return urllib.request.getproxies().get(address.scheme)

    def _opened(self) -> ApiClient:
        if self._api is None:
            raise RuntimeError("the client is not open: use it with `async with`")
        return self._api

    def _certificate_files(self) -> tuple[str | None, ...]:
        return (self._configuration.ssl_ca_cert, self._configuration.cert_file, self._configuration.key_file)

    def _files(self) -> tuple[object, ...]:
        """Return what tells one set of certificate files from the next."""
        found: list[object] = [credentials.extras(self._configuration).certificates]
        for name in self._certificate_files():
            found.append(name)
            if name:
                with contextlib.suppress(OSError):
                    status = os.stat(name)  # noqa: PTH116 - one stat of a path that is text already
                    found.extend((status.st_mtime_ns, status.st_ino, status.st_size))
        return tuple(found)
