"""A reverse proxy before a real API server, with the same seams for tests as the embedded one has (`faults.Front`).

Clients speak TLS to a loopback port, because over plain HTTP they would send no credentials. Everything is passed on as
it is. A write that was sent on is finished also when its client has gone; a watch passes line by line, so that a line
of ours never lands in the middle of one of the server's. Upgraded connections (exec, port-forward) are not passed on.
"""

import asyncio
import io
import json
import ssl
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import yarl
from aiohttp import web
from multidict import CIMultiDict

from . import client
from .apiserver import faults, requests, streams

_UNARY_SECONDS = 70.0
"""Longer than the server's own limit of a minute, which is the one that should decide."""
_CONNECT_SECONDS = 10.0
_OF_THE_CONNECTION = frozenset({
    "connection", "content-length", "host", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip


class _Stream(streams.Stream):
    """One open watch: what the server sends goes on to the client, until a fault says otherwise."""

    def __init__(
        self,
        request: requests.Request,
        response: web.StreamResponse,
        transport: asyncio.Transport | None,
        upstream: aiohttp.ClientResponse,
    ) -> None:
        super().__init__(request, response, transport)
        self._upstream = upstream
        self._error = b""
        self._ended = asyncio.Event()

    def fail(self, status: dict[str, Any]) -> None:
        """Send an ERROR event and end."""
        self._error = json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"
        self._end()

    def _end(self) -> None:
        self._ended.set()

    async def run(self) -> None:
        """Pass on until the server ends the watch, the client goes, or a fault ends it.

        Raises ConnectionError and aiohttp.ClientError when the end is not a proper one.
        """
        passing = asyncio.create_task(self._pass_on())
        ended = asyncio.create_task(self._ended.wait())
        try:
            await asyncio.wait({passing, ended}, return_when=asyncio.FIRST_COMPLETED)
            if self.was_cut:
                raise ConnectionResetError("the watch was cut")
            if not self._ended.is_set():
                passing.result()
        finally:
            for task in (passing, ended):
                task.cancel()
            await asyncio.gather(passing, ended, return_exceptions=True)
        if self._error and not self.muted:
            await self.response.write(self._error)

    async def _pass_on(self) -> None:
        by_line = self._upstream.content_type == "application/json"
        waiting = b""
        try:
            async for chunk in self._upstream.content.iter_any():
                waiting += chunk
                ready = waiting.rfind(b"\n") + 1 if by_line else len(waiting)
                if ready and not self.muted:
                    await self.response.write(waiting[:ready])
                waiting = waiting[ready:]
        except aiohttp.ClientError:
            if not self.muted:
                raise
        if self.muted:
            # Whatever became of the server's side: a silent peer does not even say that.
            await asyncio.Event().wait()
        if waiting:
            await self.response.write(waiting)


class Proxy(faults.Front):
    """Passes requests on to `upstream`, a URL without a path; `tls` is how to trust it, None for plain HTTP.

    `serving` is what it listens with, None for plain HTTP.
    """

    def __init__(self, upstream: str, tls: ssl.SSLContext | None = None, serving: ssl.SSLContext | None = None) -> None:
        super().__init__(serving)
        self._upstream = upstream.rstrip("/")
        self._tls = tls
        self._choose: Callable[[requests.Request], str] | None = None
        self._exchanges: set[asyncio.Task[web.Response | None]] = set()
        self._session: aiohttp.ClientSession | None = None

    def lead(self, choose: Callable[[requests.Request], str] | None) -> None:
        """Send each request from now on to the server that `choose` names by its URL; None: to `upstream` again.

        All of them are trusted by the same `tls`. Watches that are open stay where they are.
        """
        self._choose = choose

    async def start(self, port: int = 0) -> str:
        """Listen and return the URL. Raises OSError for a taken port."""
        if self._session is not None:
            raise RuntimeError(f"{self.url} is served already")
        # A new session each time: connections to a server that was restarted meanwhile are worth nothing.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._tls or True),
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            trust_env=False,
        )
        try:
            return await super().start(port)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Cut all watches, stop listening, and let what was sent on come to its end. Harmless when it does not run."""
        session, self._session = self._session, None
        await super().stop()
        if self._exchanges:
            _, late = await asyncio.wait(self._exchanges, timeout=_CONNECT_SECONDS)
            for exchange in late:
                exchange.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        if session is not None:
            await session.close()

    # -- one request

    async def _outcome(
        self, http: web.Request, request: requests.Request
    ) -> web.Response | aiohttp.ClientResponse | None:
        answer, lost = await self._disturbed(request)
        if answer is not None:
            return faults.response(answer)
        if request.watch:
            opened = await self._open(http, request)
            if opened is not None and lost is None and opened.status == 200:
                return opened
            reply = None if opened is None else await _whole(opened, wanted=lost is None)
        else:
            # Finished also when the client has gone: a write is executed or not, and never half.
            exchange = asyncio.create_task(self._exchange(http, request))
            self._exchanges.add(exchange)
            exchange.add_done_callback(self._exchanges.discard)
            reply = await asyncio.shield(exchange)
        if lost is not None:
            await asyncio.sleep(lost.delay)
            return None
        return reply

    async def _watch(
        self, http: web.Request, request: requests.Request, opened: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=opened.status, headers=_passed(opened.headers))
        try:
            return await self._send(http, _Stream(request, response, http.transport, opened))
        finally:
            client.hang_up(opened)

    async def _exchange(self, http: web.Request, request: requests.Request) -> web.Response | None:
        opened = await self._open(http, request, total=_UNARY_SECONDS)
        return None if opened is None else await _whole(opened, wanted=True)

    async def _open(
        self, http: web.Request, request: requests.Request, *, total: float | None = None
    ) -> aiohttp.ClientResponse | None:
        """Send a request on and return the beginning of the answer; None when there is none."""
        if self._session is None:
            return None
        upstream = self._upstream if self._choose is None else self._choose(request)
        try:
            return await self._session.request(
                http.method,
                yarl.URL(upstream + http.raw_path, encoded=True),
                headers=_passed(http.headers),
                data=io.BytesIO(request.body) if request.body else None,
                timeout=aiohttp.ClientTimeout(total=total, sock_connect=_CONNECT_SECONDS),
                allow_redirects=False,
            )
        except (aiohttp.ClientError, TimeoutError):
            return None


def _passed(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Return the headers that belong to the message, and not to the connection that it came over."""
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _OF_THE_CONNECTION)


async def _whole(opened: aiohttp.ClientResponse, *, wanted: bool) -> web.Response | None:
    """Read an answer to its end, or leave it alone; None when it has no proper end."""
    try:
        body = await opened.read() if wanted else b""
    except (aiohttp.ClientError, TimeoutError):
        return None
    finally:
        client.hang_up(opened)
    return web.Response(status=opened.status, headers=_passed(opened.headers), body=body)
