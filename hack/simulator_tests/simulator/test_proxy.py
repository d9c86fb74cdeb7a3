"""The proxy before a real API server changes nothing by itself; its faults are tested beside the server's own."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from typing import TYPE_CHECKING

import aiohttp
import pytest
import yarl
from aiohttp import web

from topology_simulator import proxy
from topology_simulator.apiserver import faults

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

DEADLINE = 48.0
WATCH = "/api/v1/nodes?watch=1"


class Upstream:
    """A server that answers what a test says, and remembers what it was asked."""

    def __init__(self) -> None:
        self.handler: Handler | None = None
        self.asked: list[web.Request] = []
        self.bodies: list[bytes] = []
        self.url = ""
        self._runner: web.AppRunner | None = None

    async def start(self, port: int = 0) -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port, reuse_address=True).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        self.bodies.append(await request.read())
        if self.handler is None:
            return web.json_response({"asked": request.raw_path})
        return await self.handler(request)


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    made = Upstream()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def front(upstream: Upstream) -> AsyncIterator[proxy.Proxy]:
    made = proxy.Proxy(upstream.url)
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def session(front: proxy.Proxy) -> AsyncIterator[aiohttp.ClientSession]:
    timeout = aiohttp.ClientTimeout(total=DEADLINE)
    async with aiohttp.ClientSession(front.url, timeout=timeout, auto_decompress=False) as made:
        yield made


def lines(*chunks: bytes, ends: bool = True) -> Handler:
    """Answer a watch with these chunks; then end it, or stay."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0.01)
        if not ends:
            await asyncio.Event().wait()
        return response

    return handler


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not holds():  # noqa: ASYNC110  # real sockets are under test
            await asyncio.sleep(0.005)


async def test_a_request_arrives_as_it_was_sent(
    upstream: Upstream, front: proxy.Proxy, session: aiohttp.ClientSession
) -> None:
    path = "/apis/a.io/v1/widgets/one/status?fieldManager=me%2Fyou&pretty=%C3%A4&dryRun=All&dryRun=All"
    sent = {
        "Authorization": "Bearer secret",
        "User-Agent": "someone/1",
        "Accept": "application/json;as=Table;v=v1;g=meta.k8s.io",
        "Accept-Encoding": "gzip",
        "Content-Type": "application/merge-patch+json",
        "X-Twice": "1",
    }
    exactly = yarl.URL(front.url + path, encoded=True)
    async with session.patch(exactly, data=b'{"a":1}', headers=sent) as response:
        assert response.status == 200
    (found,) = upstream.asked
    assert (found.method, found.raw_path, upstream.bodies) == ("PATCH", path, [b'{"a":1}'])
    assert {name: found.headers[name] for name in sent} == sent
    assert found.headers["Host"] == upstream.url.removeprefix("http://")
    (record,) = front.requests
    assert (record.verb, record.resource, record.name, record.subresource) == ("patch", "widgets", "one", "status")
    assert (record.code, record.path, record.user_agent) == (200, path, "someone/1")


async def test_an_answer_arrives_as_it_was_given(upstream: Upstream, session: aiohttp.ClientSession) -> None:
    packed = gzip.compress(b'{"kind":"Status"}')

    async def refuse(request: web.Request) -> web.StreamResponse:
        response = web.Response(status=429, body=packed, headers={"Retry-After": "7", "Content-Encoding": "gzip"})
        response.headers.add("Warning", '299 - "one"')
        response.headers.add("Warning", '299 - "two"')
        response.headers["Content-Type"] = "application/json"
        return response

    upstream.handler = refuse
    async with session.get("/api/v1/nodes") as response:
        assert response.status == 429
        assert await response.read() == packed
        assert response.headers["Retry-After"] == "7"
        assert response.headers["Content-Encoding"] == "gzip"
        assert response.headers.getall("Warning") == ['299 - "one"', '299 - "two"']
        assert response.content_type == "application/json"


async def test_a_watch_passes_line_by_line_and_ends_when_the_server_ends_it(
    upstream: Upstream, front: proxy.Proxy, session: aiohttp.ClientSession
) -> None:
    long = b'{"type":"ADDED","object":{"note":"%s"}}\n' % (b"x" * 300_000)
    upstream.handler = lines(b'{"type":"ADDED"}\n{"ty', b'pe":"DELETED"}', b"\n", long)
    async with session.get(WATCH) as response:
        assert await response.read() == b'{"type":"ADDED"}\n{"type":"DELETED"}\n' + long
    assert front.open_watches == []


async def test_a_silent_watch_does_not_tell_that_the_server_has_ended_it(
    upstream: Upstream, front: proxy.Proxy, session: aiohttp.ClientSession
) -> None:
    goes_on = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await goes_on.wait()
        await response.write(b'{"type":"ADDED"}\n')
        return response

    upstream.handler = handler
    async with session.get(WATCH) as response:
        active = front.faults.add(faults.Fault(action="silent"))
        assert active.hits == 1
        goes_on.set()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await response.content.read(1)
        assert len(front.open_watches) == 1
        front.faults.clear()
        with pytest.raises(aiohttp.ClientError):
            await response.content.read(1)


async def test_a_watch_is_closed_at_the_server_when_the_client_goes(
    upstream: Upstream, front: proxy.Proxy, session: aiohttp.ClientSession
) -> None:
    left = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        try:
            return await lines(ends=False)(request)
        finally:
            left.set()

    upstream.handler = handler
    response = await session.get(WATCH)
    await until(lambda: front.open_watches)
    response.close()
    async with asyncio.timeout(DEADLINE):
        await left.wait()
    await until(lambda: not front.open_watches)


async def test_a_write_that_was_let_through_is_finished_without_its_client(
    upstream: Upstream, front: proxy.Proxy, session: aiohttp.ClientSession
) -> None:
    arrived, finish, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        arrived.set()
        await finish.wait()
        done.set()
        return web.json_response({})

    upstream.handler = slow
    writing = asyncio.create_task(session.post("/api/v1/nodes", json={}))
    async with asyncio.timeout(DEADLINE):
        await arrived.wait()
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    await until(lambda: [one.code for one in front.requests] == [0])
    finish.set()
    async with asyncio.timeout(DEADLINE):
        await done.wait()


async def test_it_goes_away_and_comes_back_on_its_port(
    upstream: Upstream, front: proxy.Proxy, session: aiohttp.ClientSession
) -> None:
    upstream.handler = lines(ends=False)
    watching = await session.get(WATCH)
    active = front.faults.add(faults.Fault(action="status", code=503, resource="pods"))
    port = front.port
    await front.stop()
    with pytest.raises(aiohttp.ClientError):
        await watching.read()
    with pytest.raises(aiohttp.ClientConnectorError):
        await session.get("/api/v1/nodes")
    await front.start(port=port)
    assert front.port == port
    async with session.get("/api/v1/pods") as response:
        assert response.status == 503
    assert active.hits == 1
    with pytest.raises(RuntimeError):
        await front.start()


async def test_it_stops_while_clients_have_yet_to_say_hello(upstream: Upstream) -> None:
    """What a test leaves behind fails it: a connection that no server knows yet is ended too."""
    front = proxy.Proxy(upstream.url, serving=ssl.create_default_context(ssl.Purpose.CLIENT_AUTH))
    await front.start()
    clients = [await asyncio.open_connection("127.0.0.1", front.port) for _ in range(3)]
    await front.stop()
    for reader, writer in clients:
        async with asyncio.timeout(DEADLINE):
            assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
