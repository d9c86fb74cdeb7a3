"""Those who are slow, many, or large: on real sockets, with short times."""

import asyncio
import contextlib
import dataclasses
import ssl
from collections.abc import AsyncIterator

import pytest
from test import polling

from topology_controller.serve import server as servers

from . import ground

HOST = b"Host: localhost\r\n"
PATIENT = dataclasses.replace(ground.QUICK, keep_alive=600.0)
"""Quick with who has not asked, so that nothing else can have cut them."""


class Peer:
    """A client that says what it is told to, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, content: bytes) -> None:
        self.writer.write(content)
        with contextlib.suppress(ConnectionError):
            await self.writer.drain()

    async def answer(self) -> bytes:
        """Read a whole answer; nothing when the connection ends before."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = next(
                (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
            )
            return head + await self.reader.readexactly(length)
        return b""

    async def cut(self, within: float) -> float:
        """Wait until the server has ended it; return how long that took."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.timeout(within * polling.PATIENCE):
            with contextlib.suppress(ConnectionError):
                while await self.reader.read(65536):
                    pass
        return loop.time() - began

    @property
    def is_open(self) -> bool:
        return not self.reader.at_eof() and self.reader.exception() is None


@contextlib.asynccontextmanager
async def peer(server: servers.Server, tls: ssl.SSLContext | None, source: str = "127.0.0.1") -> AsyncIterator[Peer]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.bound, ssl=tls, local_addr=(source, 0))
    try:
        yield Peer(reader, writer)
    finally:
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def test_who_stops_in_the_middle_of_a_handshake_is_cut(cluster, folder):
    async with ground.served(cluster, folder, limits=PATIENT) as server, peer(server, None) as slow:
        await slow.say(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        assert await slow.cut(within=10) >= 0.4


async def test_who_asks_nothing_is_cut(cluster, folder, tls):
    async with ground.served(cluster, folder, limits=PATIENT) as server, peer(server, tls) as silent:
        assert await silent.cut(within=10) >= 0.4
        await polling.until("its place is free", lambda: len(server._open) == 0)


async def test_a_body_that_nobody_asked_for_is_not_taken(cluster, folder, tls):
    async with ground.served(cluster, folder, limits=ground.QUICK) as server, peer(server, tls) as pushy:
        await pushy.say(b"GET /healthz HTTP/1.1\r\n" + HOST + b"Content-Length: 1000000000\r\n\r\n")
        assert b"200 OK" in await pushy.answer()
        for _ in range(8):
            await pushy.say(b"x" * 8192)
        await pushy.cut(within=10)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n",
        b"GET /healthz HTTP/1.1\r\nX-Long: " + b"x" * 9000 + b"\r\n",
        b"GET /healthz HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % one for one in range(70)),
        b"GET /healthz HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (one, b"y" * 4000) for one in range(10)),
    ],
    ids=["line", "field", "many fields", "large together"],
)
async def test_a_head_that_is_too_large_is_refused(cluster, folder, tls, head, caplog):
    async with ground.served(cluster, folder, limits=ground.QUICK) as server, peer(server, tls) as large:
        await large.say(head + HOST + b"\r\n")
        answer = await large.answer()
        assert answer[9:12] in {b"400", b"431"}, answer
        await large.cut(within=10)
    assert not [one for one in caplog.records if one.exc_info], "somebody else's mistake is no traceback of ours"


async def test_a_request_that_takes_too_long_is_answered(cluster, folder, tls):
    cluster.slow = 30.0
    async with ground.served(cluster, folder, limits=ground.QUICK) as server:
        found = await ground.get(server, tls, "/metrics", Authorization="Bearer alices")
    assert found == (503, "this took longer than 1 s\n")


async def crowd(stack: contextlib.AsyncExitStack, server: servers.Server, tls, number: int, source: str) -> list[Peer]:
    return [await stack.enter_async_context(peer(server, tls, source)) for _ in range(number)]


async def probe(server: servers.Server, tls: ssl.SSLContext, source: str = "127.0.0.1") -> bool:
    """Ask as a kubelet does."""
    with contextlib.suppress(OSError):
        async with peer(server, tls, source) as kubelet:
            await kubelet.say(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n")
            return b"200 OK" in await kubelet.answer()
    return False


async def test_a_source_has_a_share_and_takes_no_place_from_others(cluster, folder, tls):
    full = dataclasses.replace(ground.QUICK, connections=8, share=3, silent=30.0, keep_alive=30.0)
    async with ground.served(cluster, folder, limits=full) as server, contextlib.AsyncExitStack() as stack:
        greedy = await crowd(stack, server, tls, 3, "127.0.0.2")
        assert not await probe(server, tls, "127.0.0.2")
        others = await crowd(stack, server, tls, 3, "127.0.0.3")
        assert await probe(server, tls)
        await polling.until("it has left", lambda: len(server._open) == 6)
        await crowd(stack, server, tls, 2, "127.0.0.4")
        assert len(server._open) == 8
        assert not await probe(server, tls), "it is full"
        assert [one.is_open for one in (*greedy, *others)] == [True] * 6


async def test_a_flood_of_connections_does_not_keep_a_probe_out(cluster, folder, tls):
    """From two sources, as many as a network policy leaves, far more than there are places, while a kubelet asks."""
    few = dataclasses.replace(ground.QUICK, connections=16, share=6, silent=30.0)
    async with ground.served(cluster, folder, limits=few) as server, contextlib.AsyncExitStack() as stack:
        for _ in range(5):
            for source in ("127.0.0.2", "127.0.0.3"):
                await crowd(stack, server, None, 16, source)
            assert await probe(server, tls)
            assert len(server._open) <= 13
