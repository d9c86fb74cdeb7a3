"""Whatever is sent to the port of the operator: nobody is let in by it, and the next one is answered all the same.

Whole requests, byte by byte, over TLS: heads, Authorization, cookies, the form. What is asked of the API server stands
in test/unit/serving.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
import threading

import pytest
from hypothesis import strategies as st

from test.unit.serving import ground
from topology_controller.serve import authn, connections

from . import bounds

TOKEN = "the-one-token-that-is-known"  # of a made-up cluster
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
WORDS = st.sampled_from(
    [b"GET ", b"POST ", b"PRI * ", b"/metrics", b"/state", b"/sign-in", b"/healthz", b"//metrics", b"/%2e%2e/metrics",
     b"http://x/metrics", b"*", b" HTTP/1.1\r\n", b" HTTP/9.9\r\n", b"\r\n", b"\n", b"\r", b"\x00", b"Host: x\r\n",
     b"Host: x\r\nHost: y\r\n", b"Authorization: Bearer ", b"Authorization: Basic ", b"Authorization:\r\n ",
     b"Cookie: ", b"topology_session=", b"Content-Length: 5\r\n", b"Content-Length: -1\r\n",
     b"Content-Length: 99999999999999\r\n", b"Transfer-Encoding: chunked\r\n",
     b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", b"Expect: 100-continue\r\n",
     b"Upgrade: websocket\r\nConnection: Upgrade\r\n", FORM, b"ffffffffffffffff\r\n", b"token=%ff%00&token=",
     b"X: " + b"a" * 9000 + b"\r\n", b"X: y\r\n" * 70, b"\xff\xfe", b"Accept: text/html\r\n"]
)  # fmt: skip
VALUES = st.binary(max_size=40).map(lambda raw: raw.replace(b"\r", b"").replace(b"\n", b""))
CREDENTIALS = st.builds(
    lambda name, scheme, value: name + scheme + value + b"\r\n",
    st.sampled_from([b"Authorization: ", b"authorization:", b"Cookie: topology_session="]),
    st.sampled_from([b"Bearer ", b"bearer\t", b"Basic ", b"", b"Bearer,"]),
    VALUES | st.just(TOKEN[:-1].encode()),
)  # fmt: skip
ASKED = st.builds(
    lambda path, heads: b"GET " + path + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + b"".join(heads) + b"\r\n",
    st.sampled_from([b"/metrics", b"/state", b"/", b"/healthz/../metrics"]),
    st.lists(CREDENTIALS | WORDS.filter(lambda one: one.endswith(b"\r\n")), max_size=5),
)
REQUESTS = ASKED | st.lists(WORDS | VALUES, max_size=25).map(b"".join) | st.binary(max_size=200)


class Served:
    """A server in a thread of its own, and a client that sends bytes to it."""

    def __init__(self, folder):
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._end: asyncio.Event
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        self.tls = ground.client_tls(folder)
        self.tls.check_hostname = False
        self.port = 0

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(30), "it serves"
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(30)
        self._loop.close()

    async def _serve(self):
        self._end = asyncio.Event()
        cluster = ground.Cluster()
        cluster.know(TOKEN, "alice", authn.METRICS.path)
        # Who sends half a request is waited for; here that is not what is looked at.
        soon = dataclasses.replace(connections.DEFAULT, first_request=0.2, body_wait=0.2, keep_alive=0.2, closing=0.2)
        async with ground.served(cluster, ground.serving_pair(self._folder), limits=soon) as server:
            self.port = server.bound
            self._ready.set()
            await self._end.wait()

    def said(self, raw: bytes) -> bytes:
        """Send it, and nothing after it; return all that is answered."""
        answered = b""
        with (
            socket.create_connection(("127.0.0.1", self.port), 20) as plain,
            self.tls.wrap_socket(plain, server_hostname="x") as connection,
            contextlib.suppress(ConnectionError),
        ):
            connection.sendall(raw)
            with contextlib.suppress(OSError):
                plain.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                answered += part
        return answered


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("serving")) as made:
        yield made


def request(path: str, *heads: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: x", "Connection: close", *heads, "", ""]).encode()


def test_who_is_known_comes_in(served):
    assert b"this is /metrics" in served.said(request("/metrics", f"Authorization: Bearer {TOKEN}"))


@bounds.fuzz(REQUESTS)
def test_whatever_is_sent_lets_nobody_in_and_ends_nothing(served, raw):
    answered = served.said(raw)
    for path in (b"/metrics", b"/state", b"/"):
        assert b"this is " + path + b"\n" not in answered, raw
    assert b"HTTP/1.1 500" not in answered, raw
    assert b"Traceback" not in answered, raw
    assert b"this is /healthz" in served.said(request("/healthz")), raw
