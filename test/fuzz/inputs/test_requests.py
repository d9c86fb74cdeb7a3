"""Whatever is sent to a port of the operator: nobody is let in by it, and the next one is answered all the same.

Byte by byte, over TLS and plain: pieces of heads in any order; and whole requests one after the other, with bodies of
every framing, cut anywhere, the last of them perhaps wrong. Those in front of a wrong one are answered in their order
or not at all, and what comes behind it is never read as a request: two who read the same bytes must not see different
requests. What is asked of the API server stands in test/unit/serving.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import socket
import ssl
import threading

import pytest
from hypothesis import strategies as st

from test.unit.serving import ground
from test.unit.serving import test_malformed_requests as malformed
from topology_controller.serve import authn
from topology_controller.serve import server as servers

from . import bounds

TOKEN = "the-one-token-that-is-known"  # of a made-up cluster
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
MARK = b"<script>echo</script>"
"""Is in what is sent, and never in what is answered."""
WORDS = st.sampled_from(
    [b"GET ", b"POST ", b"PRI * ", b"/metrics", b"/state", b"/healthz", b"//metrics", b"/%2e%2e/metrics",
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


PATHS = st.sampled_from([b"/healthz", b"/healthz?" + MARK[1:7], b"/none", b"/state", b"/metrics", b"/"])
FIELDS = st.sampled_from(
    [b"X-A: b\r\n", b"Accept: text/html\r\n", b"X-Mark: " + MARK + b"\r\n", b"Cookie: a=b\r\n", FORM,
     b"Origin: https://" + MARK + b"\r\n", b"Sec-Fetch-Site: cross-site\r\n", b"Authorization: Bearer nobodys\r\n",
     b"X-Forwarded-For: 127.0.0.1\r\n", b"Content-Encoding: gzip\r\n", b"Upgrade: h2c\r\n", b"Range: bytes=0-\r\n"]
)  # fmt: skip


def chunked(parts: list[bytes], trailer: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in parts if one) + b"0\r\n" + trailer + b"\r\n"


CONTENT = st.binary(max_size=60) | st.just(b"GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n")
BODIES = (
    st.just((b"", b""))
    | CONTENT.map(lambda body: (b"Content-Length: %d\r\n" % len(body), body))
    | st.builds(
        lambda parts, trailer: (b"Transfer-Encoding: chunked\r\n", chunked(parts, trailer)),
        st.lists(CONTENT, max_size=3),
        st.sampled_from([b"", b"X-Trailer: t\r\n"]),
    )
)
GOOD = st.builds(
    lambda method, path, fields, body: (
        method + b" " + path + b" HTTP/1.1\r\nHost: localhost\r\n" + b"".join(fields) + body[0] + b"\r\n" + body[1]
    ),
    st.sampled_from([b"GET", b"GET", b"POST", b"DELETE", b"OPTIONS"]),
    PATHS,
    st.lists(FIELDS, max_size=3, unique=True),
    BODIES,
)
WRONG = st.sampled_from([raw.replace(b"GET /healthz", b"GET /state") for raw in malformed.REFUSED.values()])
LAST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
BEHIND = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n\r\n"
CUTS = st.lists(st.integers(0, 400), max_size=3)


def answers(raw: bytes) -> list[tuple[int, dict[bytes, bytes], bytes]]:
    """Read all answers, strictly; the last may be cut off."""
    found = []
    while raw:
        head, end, raw = raw.partition(b"\r\n\r\n")
        if not end:
            break
        first, *lines = head.split(b"\r\n")
        version, code = first.split(b" ")[:2]
        assert version == b"HTTP/1.1", first
        fields = dict(line.lower().split(b": ", 1) for line in lines)
        length = int(fields[b"content-length"])
        found.append((int(code), fields, raw[:length]))
        raw = raw[length:]
    return found


class Served:
    """Servers in a thread of their own, and a client that sends bytes to them; `plain` is that of the page.

    `port` waits for a fifth of a second only; `patient` and `plain` wait as on a cluster, for who sends all of it.
    """

    def __init__(self, folder):
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._end: asyncio.Event
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        self.tls = ground.client_tls(folder)
        self.tls.check_hostname = False
        self.port = self.patient = self.plain = 0

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
        cluster.know(TOKEN, "alice", authn.PATH)
        # Who sends half a request is waited for; here that is not what is looked at.
        soon = dataclasses.replace(servers.Limits(), silent=0.2, keep_alive=0.2, closing=0.2)
        loopback = servers.Address("127.0.0.1", 0)
        pair = ground.serving_pair(self._folder)
        async with (
            ground.served(cluster, pair, limits=soon) as server,
            ground.served(cluster, pair) as patient,
            ground.running(servers.Server(loopback, ground.ROUTES)) as page,
        ):
            self.port, self.patient, self.plain = server.bound, patient.bound, page.bound
            self._ready.set()
            await self._end.wait()

    def said(self, raw: bytes, *, whole: bool = False) -> bytes:
        """Send it, and nothing after it; return all that is answered. What is `whole` is waited for as on a cluster."""
        answered = b""
        with (
            socket.create_connection(("127.0.0.1", self.patient if whole else self.port), 20) as plain,
            self.tls.wrap_socket(plain, server_hostname="x") as connection,
            # The server may have closed it before everything is sent: TLS has an error of its own for that.
            contextlib.suppress(ConnectionError, ssl.SSLEOFError),
        ):
            connection.sendall(raw)
            with contextlib.suppress(OSError):
                plain.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                answered += part
        return answered

    def exchanged(self, raw: bytes, cuts: list[int], *, tls: bool) -> bytes:
        """Send it in pieces and return what is answered until the server ends the connection."""
        answered = b""
        with contextlib.ExitStack() as stack:
            port = self.patient if tls else self.plain
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), 20))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls:
                connection = stack.enter_context(self.tls.wrap_socket(connection, server_hostname="x"))
            places = [0, *sorted(cuts), len(raw)]
            # The server may have closed it before everything is sent: TLS has an error of its own for that.
            with contextlib.suppress(ConnectionError, ssl.SSLEOFError):
                for begin, end in itertools.pairwise(places):
                    if part := raw[begin:end]:
                        connection.sendall(part)
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
    assert b"this is /metrics" in served.said(request("/metrics", f"Authorization: Bearer {TOKEN}"), whole=True)


@bounds.fuzz(REQUESTS)
def test_whatever_is_sent_lets_nobody_in_and_ends_nothing(served, raw):
    answered = served.said(raw)
    for path in (b"/metrics", b"/state", b"/"):
        assert b"this is " + path + b"\n" not in answered, raw
    assert b"HTTP/1.1 500" not in answered, raw
    assert b"Traceback" not in answered, raw
    # Both are served by one loop; a port that were closed would refuse the next example.
    assert b"this is /healthz" in served.said(request("/healthz"), whole=True), raw


def careful(found: list[tuple[int, dict[bytes, bytes], bytes]], raw: bytes) -> None:
    for code, fields, body in found:
        assert code < 500, raw
        assert b"server" not in fields, raw
        assert fields[b"x-content-type-options"] == b"nosniff", raw
        assert b"frame-ancestors 'none'" in fields[b"content-security-policy"], raw
        assert MARK not in body + b"".join(fields.values()), raw


@bounds.fuzz(st.lists(GOOD, max_size=4), CUTS, st.booleans())
def test_each_request_has_its_answer_whatever_its_body_and_wherever_it_is_cut(served, requests, cuts, tls):
    raw = b"".join(requests) + LAST
    found = answers(served.exchanged(raw, cuts, tls=tls))
    careful(found, raw)
    assert len(found) == len(requests) + 1, raw
    assert found[-1][2] == b"this is /healthz\n", raw
    for request_, (code, _, body) in zip(requests, found, strict=False):
        method, target = request_.split(b" ", 2)[:2]
        path = target.partition(b"?")[0]
        foreign = b"Sec-Fetch-Site" in request_.partition(b"\r\n\r\n")[0] or b"\nOrigin:" in request_
        if foreign:
            assert code == 403, raw
        elif tls and path != b"/healthz":
            assert code == 401, raw
        elif path == b"/none":
            assert code == 404, raw
        elif method == b"GET":
            assert (code, body) == (200, b"this is " + path + b"\n"), raw
        else:
            # Which of two is said first is the router's: nothing of that name, or not by that method.
            assert code in {401, 404, 405}, raw


@bounds.fuzz(st.lists(GOOD, max_size=2), WRONG, CUTS, st.booleans())
def test_what_comes_behind_a_request_that_is_none_is_never_read_as_one(served, requests, wrong, cuts, tls):
    raw = b"".join(requests) + wrong + BEHIND
    found = answers(served.exchanged(raw, cuts, tls=tls))
    careful(found, raw)
    assert len(found) <= len(requests) + 1, raw
    for _, _, body in found[len(requests) :]:
        assert b"this is /metrics" not in body, raw
    if tls:
        assert not [body for _, _, body in found if b"this is /metrics" in body], raw
