"""What is no request, or one that a proxy in front of us might read otherwise: 400, in our words, and it is over.

Two that read the same bytes as different requests let an attacker put a request of their own before that of another
client (smuggling). So nothing that can be read in two ways is read at all: one answer, and the connection is closed.
"""

import asyncio
import contextlib
import dataclasses
import functools
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine

import pytest

from topology_controller.serve import server as servers

from . import ground

SECOND = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Second: yes\r\n\r\n"
"""What would be smuggled."""
HOST = b"Host: localhost\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
AMBIGUOUS = {
    "length and chunks": HOST + b"Content-Length: 4\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
    "chunks and length": HOST + CHUNKED + b"Content-Length: 4\r\n\r\n0\r\n\r\n",
    "two lengths": HOST + b"Content-Length: 0\r\nContent-Length: 60\r\n\r\n",
    "the same length twice": HOST + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "two lengths in one": HOST + b"Content-Length: 0, 60\r\n\r\n",
    "length with a sign": HOST + b"Content-Length: +0\r\n\r\n",
    "length of no end": HOST + b"Content-Length: 99999999999999999999999999\r\n\r\n",
    "unknown coding": HOST + b"Transfer-Encoding: cow\r\n\r\n",
    "chunked is not the last": HOST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "chunked behind a control character": HOST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "space before the colon": b"Host : localhost\r\n\r\n",
    "a line that goes on": HOST + b"X-A: b\r\n c\r\n\r\n",
    "bare LF after a field": b"Host: localhost\nX-A: b\r\n\r\n",
    "bare CR in a field": HOST + b"X-A: b\rX-B: c\r\n\r\n",
    "NUL in a field": HOST + b"X-A: b\x00c\r\n\r\n",
    "no name": HOST + b": b\r\n\r\n",
    "chunk of no number": HOST + CHUNKED + b"\r\nzz\r\n\r\n",
    "chunk that is longer": HOST + CHUNKED + b"\r\n1\r\nxyz\r\n0\r\n\r\n",
    "chunk with bare LF": HOST + CHUNKED + b"\r\n1\nx\r\n0\r\n\r\n",
}
FIRST_LINES = {
    "a tab": b"GET\t/healthz\tHTTP/1.1\r\n" + HOST + b"\r\n",
    "bare LF": b"GET /healthz HTTP/1.1\n" + HOST + b"\r\n",
    "no version": b"GET /healthz\r\n" + HOST + b"\r\n",
    "chunks in HTTP/1.0": b"GET /healthz HTTP/1.0\r\n" + HOST + CHUNKED + b"\r\n0\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "control characters": b"GET /\x7fhealthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "markup": b"<script>alert(1)</script>\r\n\r\n",
    "TLS in TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
}
REFUSED = FIRST_LINES | {name: b"GET /healthz HTTP/1.1\r\n" + rest for name, rest in AMBIGUOUS.items()}


async def exchange(port: int, tls: ssl.SSLContext | None, raw: bytes) -> bytes:
    """Send this and what would be smuggled; return what comes until the server ends it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    found = b""
    try:
        writer.write(raw + SECOND)
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(60):
                while part := await reader.read(65536):
                    found += part
    finally:
        writer.transport.abort()
    return found


@contextlib.asynccontextmanager
async def served(kind: str, tmp_path) -> AsyncIterator[Callable[..., Coroutine[None, None, bytes]]]:
    # Nothing is cut for being slow: it is closed because of what it is.
    patient = dataclasses.replace(ground.QUICK, keep_alive=60.0, silent=60.0, closing=0.2)
    if kind == "https":
        folder, tls = ground.serving_pair(tmp_path / "serving"), ground.client_tls(tmp_path)
        async with ground.served(ground.Cluster(), folder, limits=patient) as server:
            yield functools.partial(exchange, server.bound, tls)
    else:
        plain = servers.Server(servers.Address("127.0.0.1", 0), ground.ROUTES, limits=patient)
        async with ground.running(plain) as server:
            yield functools.partial(exchange, server.bound, None)


@pytest.mark.parametrize("kind", ["https", "http"])
async def test_what_could_be_read_in_two_ways_is_not_read(kind, tmp_path, caplog):
    async with served(kind, tmp_path) as ask:
        for name, raw in REFUSED.items():
            found = await ask(raw)
            assert found.count(b"HTTP/1.1 ") == 1, (name, found)
            assert b"this is /metrics" not in found, name
            assert found.startswith(b"HTTP/1.1 400 Bad Request\r\n"), (name, found)
            assert_careful(found, name)
    assert not [one for one in caplog.records if one.levelname in {"WARNING", "ERROR"}], "a stranger fills no log"


def assert_careful(found: bytes, name: str) -> None:
    """It has the headers of every answer, names no software, and says nothing of what was sent."""
    head, _, body = found.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    assert b"server" not in fields, name
    assert fields[b"x-content-type-options"] == b"nosniff", name
    assert fields[b"cache-control"] == b"no-store", name
    assert fields[b"referrer-policy"] == b"no-referrer", name
    assert fields[b"x-frame-options"] == b"deny", name
    assert b"frame-ancestors 'none'" in fields[b"content-security-policy"], name
    assert fields[b"connection"] == b"close", name
    assert body == b"bad request\n", (name, body)


@pytest.mark.parametrize("expected", ["<script>", "200-ok", "100-continue, more"])
async def test_an_expectation_that_is_not_met_is_not_echoed(tmp_path, expected):
    async with served("http", tmp_path) as ask:
        found = await ask(f"GET /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: {expected}\r\n\r\n".encode())
    assert found.startswith(b"HTTP/1.1 417 "), found
    assert expected.encode() not in found
    assert b"Server:" not in found
    assert b"nosniff" in found
