"""A loopback port whose clients can be disturbed: what the embedded server and the proxy before a real one share.

That is listening and stopping, the faults, the audit log, and the watches that are open.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING, cast

import aiohttp
from aiohttp import web

from . import audit, faults, requests

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from . import streams

_AUDIT_LIMIT = 50_000
_HOST = "127.0.0.1"


class Front(abc.ABC):
    """A port of 127.0.0.1. Over plain HTTP, without `tls`, clients send no credentials.

    Faults, hooks and records outlast a `stop`.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._served_tls = tls
        self.requests = audit.Log(maxlen=_AUDIT_LIMIT)
        self.faults = faults.Faults(lambda: self._streams)
        self._streams: dict[streams.Stream, None] = {}
        self._stopping = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._listening: socket.socket | None = None
        self._greetings: set[asyncio.Task[None]] = set()
        self._url = ""

    @property
    def url(self) -> str:
        """Where it listens, or last did: `http://127.0.0.1:PORT`, or https."""
        return self._url

    @property
    def port(self) -> int:
        """The port of `url`."""
        return int(self._url.rpartition(":")[2])

    @property
    def open_watches(self) -> list[requests.Request]:
        """The requests of the watches that are open now, oldest first."""
        return [stream.request for stream in self._streams]

    async def start(self, port: int = 0) -> str:
        """Listen and return the URL. Raises OSError for a taken port."""
        if self._runner is not None:
            raise RuntimeError(f"{self._url} is served already")
        self._stopping = asyncio.Event()
        app = web.Application(client_max_size=requests.MAX_BODY + 1)
        app.router.add_route("*", "/{path:.*}", self._serve)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
        # Loopback and nothing else: nothing here checks who is asking.
        listening = socket.create_server((_HOST, port), backlog=128)
        listening.settimeout(0.0)
        scheme = "http" if self._served_tls is None else "https"
        self._url = f"{scheme}://{_HOST}:{listening.getsockname()[1]}"
        await runner.setup()
        self._runner, self._listening = runner, listening
        served = cast("Callable[[], asyncio.BaseProtocol]", runner.server)
        asyncio.get_running_loop().add_reader(listening, self._accept, listening, served)
        return self._url

    async def stop(self) -> None:
        """Cut all watches and stop listening. Harmless when it does not run."""
        runner, self._runner = self._runner, None
        self._stopping.set()
        for stream in tuple(self._streams):
            stream.cut()
        if runner is None or self._listening is None:
            return
        asyncio.get_running_loop().remove_reader(self._listening)
        self._listening.close()
        # Each has begun then, so that its socket is closed when it is cancelled.
        await asyncio.sleep(0)
        for greeting in (greetings := tuple(self._greetings)):
            greeting.cancel()
        await asyncio.gather(*greetings, return_exceptions=True)
        await runner.cleanup()

    def _accept(self, listening: socket.socket, served: Callable[[], asyncio.BaseProtocol]) -> None:
        with contextlib.suppress(OSError):
            connection, _ = listening.accept()
            greeting = asyncio.create_task(self._greet(connection, served))
            self._greetings.add(greeting)
            greeting.add_done_callback(self._greetings.discard)

    async def _greet(self, connection: socket.socket, served: Callable[[], asyncio.BaseProtocol]) -> None:
        """Shake hands. Until that is done no server knows of the connection, and none would end it."""
        connection.settimeout(0.0)
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().connect_accepted_socket(served, connection, ssl=self._served_tls)

    @abc.abstractmethod
    async def _serve(self, http: web.Request) -> web.StreamResponse:
        """Answer one request."""

    async def _hold(self, active: faults.Active) -> None:
        """Wait until a silent fault is taken away or the port stops."""
        waits = {asyncio.ensure_future(event.wait()) for event in (active.gone, self._stopping)}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _send(self, http: web.Request, stream: streams.Stream) -> web.StreamResponse:
        """Send a watch until it ends, properly or not."""
        stream.response.enable_chunked_encoding()
        self._streams[stream] = None
        try:
            await stream.response.prepare(http)
            await stream.run()
        except (ConnectionError, aiohttp.ClientError):
            vanish(http)
        finally:
            del self._streams[stream]
        with contextlib.suppress(ConnectionError):
            await stream.response.write_eof()
        return stream.response


def vanish(http: web.Request) -> web.Response:
    """End the connection without an answer; the response is for aiohttp, no client sees it."""
    if http.transport is not None:
        http.transport.abort()
    return web.Response(status=500)
