"""A reverse proxy before a real API server, with the same seams for tests as the embedded one has.

Clients speak TLS to a loopback port, because over plain HTTP they would send no credentials. The proxy speaks TLS to
the server and passes everything on as it is. What it adds is what a test can do in between: faults, hooks before a
request is executed (`apiserver.faults`), the record of who asked what (`apiserver.requests`), the list of open watches,
and going away with its port kept. A write that was sent on is finished also when its client has gone: what a hook has
let through is executed. A watch passes line by line, so that a line of ours never lands in the middle of one of the
server's. Upgraded connections (exec, port-forward) are not passed on.
"""

import asyncio
import dataclasses
import io
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import aiohttp
import yarl
from aiohttp import web
from multidict import CIMultiDict

from . import client
from .apiserver import faults, handlers, requests, statuses, streams

_UNARY_SECONDS = 70.0
"""Longer than the server's own limit of a minute, which is the one that should decide."""
_CONNECT_SECONDS = 10.0
_OF_THE_CONNECTION = frozenset({
    "connection", "content-length", "host", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Reply:
    """A whole answer of the server."""

    code: int
    headers: CIMultiDict[str]
    body: bytes


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
        self._exchanges: set[asyncio.Task[_Reply | None]] = set()
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

    async def _serve(self, http: web.Request) -> web.StreamResponse:
        request = requests.parse(http.method, unquote(http.rel_url.raw_path), http.query, http.headers)
        arrived, code = time.time(), 0
        try:
            outcome = await self._outcome(http, request)
            if outcome is not None:
                code = outcome.code if isinstance(outcome, _Reply) else outcome.status
        finally:
            self.requests.append(requests.record(request, http.path_qs, code, arrived))
        if outcome is None:
            return faults.vanish(http)
        if isinstance(outcome, _Reply):
            return web.Response(status=outcome.code, headers=outcome.headers, body=outcome.body)
        response = web.StreamResponse(status=outcome.status, headers=_passed(outcome.headers))
        try:
            return await self._send(http, _Stream(request, response, http.transport, outcome))
        finally:
            client.hang_up(outcome)

    async def _outcome(self, http: web.Request, request: requests.Request) -> _Reply | aiohttp.ClientResponse | None:
        """Return the answer, or the watch that was opened; None: nothing, the connection is to end."""
        try:
            body = await http.read() if http.can_read_body else b""
            verdict = await self.faults.before(dataclasses.replace(request, body=body))
        except statuses.StatusError as error:
            return _reply(handlers.refusal(error))
        if verdict.answer is not None:
            return _reply(verdict.answer)
        if verdict.hold is not None:
            await self._hold(verdict.hold)
        if verdict.hold is not None or verdict.drop:
            return None
        if request.watch:
            opened = await self._open(http, request)
            if opened is not None and verdict.lost is None and opened.status == 200:
                return opened
            reply = None if opened is None else await _whole(opened, wanted=verdict.lost is None)
        else:
            # Finished also when the client has gone: a write is executed or not, and never half.
            exchange = asyncio.create_task(self._exchange(http, request, body))
            self._exchanges.add(exchange)
            exchange.add_done_callback(self._exchanges.discard)
            reply = await asyncio.shield(exchange)
        if verdict.lost is not None:
            await asyncio.sleep(verdict.lost.delay)
            return None
        return reply

    async def _exchange(self, http: web.Request, request: requests.Request, body: bytes) -> _Reply | None:
        opened = await self._open(http, request, body, total=_UNARY_SECONDS)
        return None if opened is None else await _whole(opened, wanted=True)

    async def _open(
        self, http: web.Request, request: requests.Request, body: bytes = b"", *, total: float | None = None
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
                data=io.BytesIO(body) if body else None,
                timeout=aiohttp.ClientTimeout(total=total, sock_connect=_CONNECT_SECONDS),
                allow_redirects=False,
            )
        except (aiohttp.ClientError, TimeoutError):
            return None


def _passed(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Return the headers that belong to the message, and not to the connection that it came over."""
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _OF_THE_CONNECTION)


async def _whole(opened: aiohttp.ClientResponse, *, wanted: bool) -> _Reply | None:
    """Read an answer to its end, or leave it alone; None when it has no proper end."""
    try:
        body = await opened.read() if wanted else b""
    except (aiohttp.ClientError, TimeoutError):
        return None
    finally:
        client.hang_up(opened)
    return _Reply(opened.status, _passed(opened.headers), body)


def _reply(answer: handlers.Answer) -> _Reply:
    return _Reply(answer.code, CIMultiDict({"Content-Type": answer.content_type, **answer.headers}), answer.body)
