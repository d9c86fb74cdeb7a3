"""A loopback port whose clients can be disturbed: what the embedded server and the proxy before a real one share.

That is listening and stopping, the faults, the audit log, and the watches that are open.
"""

import abc
import asyncio
import contextlib
import ssl

import aiohttp
from aiohttp import web

from . import faults, requests, streams

_AUDIT_LIMIT = 50_000
_HOST = "127.0.0.1"


class Front(abc.ABC):
    """A port of 127.0.0.1. Over plain HTTP, without `tls`, clients send no credentials.

    Faults, hooks and records outlast a `stop`.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._served_tls = tls
        self.requests = requests.Log(maxlen=_AUDIT_LIMIT)
        self.faults = faults.Faults(lambda: self._streams)
        self._streams: dict[streams.Stream, None] = {}
        self._stopping = asyncio.Event()
        self._runner: web.AppRunner | None = None
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
        await runner.setup()
        try:
            # Loopback and nothing else: nothing here checks who is asking.
            await web.TCPSite(runner, _HOST, port, reuse_address=True, ssl_context=self._served_tls).start()
        except BaseException:
            await runner.cleanup()
            raise
        self._runner = runner
        scheme = "http" if self._served_tls is None else "https"
        self._url = f"{scheme}://{_HOST}:{runner.addresses[0][1]}"
        return self._url

    async def stop(self) -> None:
        """Cut all watches and stop listening. Harmless when it does not run."""
        runner, self._runner = self._runner, None
        self._stopping.set()
        for stream in tuple(self._streams):
            stream.cut()
        if runner is not None:
            await runner.cleanup()

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
