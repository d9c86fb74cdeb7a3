"""A member of etcd that means harm: what it sends costs no more than a survey may, and nothing is believed of it alone.

It has a certificate that its authority has signed, as a control-plane node has one, and answers every connection with
the bytes that a test says. It runs in threads, so that nothing of it counts for the event loop of the reader.
"""

import asyncio
import contextlib
import gzip
import itertools
import json
import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import pytest

from topology_controller.observe import facts

from . import gateways

Answer = Callable[[], Iterable[bytes]]

MIB = 2**20
ANSWERS = 9
"""What three members say to three questions each: then a survey is over."""
_TICK = 0.005
_PATIENCE = 30.0
_SHORT = 16
"""Bytes: after a piece so short it rests for a millisecond."""


@contextlib.contextmanager
def answering(context: ssl.SSLContext | None, answer: Answer) -> Iterator[str]:
    """Serve every connection with `answer` once its request has begun; yields the endpoint."""
    ended = threading.Event()

    def serve(plain: socket.socket) -> None:
        plain.settimeout(_PATIENCE)
        with contextlib.suppress(OSError):
            connection = context.wrap_socket(plain, server_side=True) if context else plain
            with connection:
                connection.recv(4096)
                for piece in answer():
                    connection.sendall(piece)
                    if ended.wait(0.001 if len(piece) < _SHORT else 0):
                        return

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"https://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            ended.set()
            listening.shutdown(socket.SHUT_RDWR)


def head(*lines: str) -> bytes:
    """Return the beginning of an answer: what follows is its body."""
    return "\r\n".join(("HTTP/1.1 200 OK", "Content-Type: application/json", *lines, "", "")).encode()


def whole(body: bytes, *lines: str) -> Answer:
    """An answer of one piece."""
    return lambda: (head(f"Content-Length: {len(body)}", *lines) + body,)


def listing(members: list[dict[str, Any]]) -> bytes:
    """Return a member list, which is a status as well: what is of no use there is passed over."""
    header = {"cluster_id": "1", "member_id": "1", "raft_term": "2"}
    return json.dumps({"header": header, "members": members}, separators=(",", ":")).encode()


@contextlib.asynccontextmanager
async def cheap() -> AsyncIterator[None]:
    """What a survey may cost, whatever is answered. `tracemalloc` makes all of it several times slower.

    Memory at its highest, and the longest for which the loop was at work without a rest, as a renewal of the lease
    would have had to wait. That is the time of its own thread, so it is the same on a busy machine.
    """
    stalls = []

    async def tick() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(_TICK)
            stalls.append(time.thread_time() - before)

    ticking = asyncio.create_task(tick())
    began = time.thread_time()
    tracemalloc.start()
    try:
        yield
        peak, seconds = tracemalloc.get_traced_memory()[1], time.thread_time() - began
    finally:
        tracemalloc.stop()
        ticking.cancel()
    assert (peak < 8 * MIB, max(stalls, default=0.0) < 0.2, seconds < 2.0) == (True, True, True), (peak, seconds)


def byte_by_byte() -> Iterator[bytes]:
    """It is HTTP, however long it lasts: a head, and chunks without an end."""
    for byte in itertools.chain(head("Transfer-Encoding: chunked"), itertools.cycle(b"1\r\n{\r\n")):
        yield bytes((byte,))


def body_byte_by_byte() -> Iterator[bytes]:
    yield head("Content-Length: 1000000")
    yield from itertools.repeat(b"[")


def endless_headers() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    for number in itertools.count():
        yield b"X-%d: %s\r\n" % (number, b"y" * 4000)


def endless_continue() -> Iterator[bytes]:
    yield from itertools.repeat(b"HTTP/1.1 100 C\r\n\r\n" * 1024)


def endless_body() -> Iterator[bytes]:
    yield head("Transfer-Encoding: chunked")
    yield from itertools.repeat(b"10000\r\n%s\r\n" % (b"[" * 65536))


def endless_chunk_extension() -> Iterator[bytes]:
    yield head("Transfer-Encoding: chunked") + b"1;"
    yield from itertools.repeat(b"x" * 65536)


LATE, LONG, STRANGE = "no answer in time", "an answer of more than 65536 bytes", "the answer is not HTTP"
SLOW = (byte_by_byte, body_byte_by_byte)
ENDLESS = (*SLOW, endless_headers, endless_continue, endless_body, endless_chunk_extension)


@pytest.mark.parametrize("answer", ENDLESS, ids=lambda answer: answer.__name__)
async def test_an_answer_without_an_end_costs_neither_time_nor_memory(etcd, folder, answer):
    with answering(etcd.serving(), answer) as where:
        async with cheap():
            found = await etcd.survey(folder, *etcd.urls, where, answers=ANSWERS if answer in SLOW else 0)
    assert {one.member for one in found.voices} == {"1", "2", "3"}
    (silence,) = found.silences
    assert (silence.endpoint, silence.why in {LATE, LONG, STRANGE}) == (where, True), silence
    # What comes fast is not read until the time is up.
    assert (silence.why == LATE) is (answer in SLOW), silence


async def test_tls_that_stalls_in_its_handshake_costs_the_budget(etcd, folder):
    """It sends a record of a handshake, byte by byte."""

    def stall() -> Iterator[bytes]:
        yield b"\x16\x03\x03\x40\x00\x02"
        yield from itertools.repeat(b"\x00")

    with answering(None, stall) as where:
        async with cheap():
            found = await etcd.survey(folder, *etcd.urls, where, answers=ANSWERS)
    assert found.silences == (facts.EtcdSilence(where, (), "no answer in time", down=True),)


async def test_what_is_packed_is_not_unpacked(etcd, folder):
    """64 MiB of zeros in 300 KB."""
    bomb = gzip.compress(b"\0" * (64 * MIB), 1)
    with answering(etcd.serving(), whole(bomb, "Content-Encoding: gzip")) as where:
        async with cheap():
            found = await etcd.survey(folder, *etcd.urls, where)
    (silence,) = found.silences
    assert silence.endpoint == where


@pytest.mark.parametrize(
    "members_",
    [
        [{"ID": str(number)} for number in range(1, 50_000)],
        [{"ID": "1", "clientURLs": [f"https://127.0.0.1:{port}" for port in range(1, 30_000)]}],
        [{"ID": "1", "name": "x" * 900_000}],
        [{"ID": str(number)} for number in range(1, 4_000)],
        [{"ID": "1", "clientURLs": [f"https://127.0.0.1:{port}" for port in range(1, 2_000)]}],
    ],
    ids=["members", "addresses", "name", "members that fit", "addresses that fit"],
)
async def test_a_list_of_thousands_is_no_list(etcd, folder, members_):
    """etcd advises seven members. A list that is longer than any is refused before it is made into objects."""
    with contextlib.ExitStack() as stack:
        answer = whole(listing(members_))
        places = [stack.enter_context(answering(etcd.serving(), answer)) for _ in range(2)]
        async with cheap():
            found = await etcd.survey(folder, *etcd.urls, *places)
    assert {one.member for one in found.voices} >= {"1", "2", "3"}
    assert sum(len(one.members) for one in found.voices) < 100, "no list of thousands is kept"


@pytest.mark.parametrize(
    "body",
    [
        b'{"header":{"cluster_id":%s,"member_id":"1"}}' % (b"9" * 60_000),
        b'{"header":{"cluster_id":"1","member_id":"%s"}}' % (b"9" * 60_000),
        b'{"header":{"cluster_id":"1","member_id":1e309}}',
        b'{"header":{"cluster_id":"1","member_id":"1"},"raftTerm":"18446744073709551616"}',
        b'{"header":{"cluster_id":"1","member_id":"1"},"raftTerm":NaN}',
        b'{"header":{"cluster_id":"1","member_id":"1"},"errors":[{}]}',
        b'{"header":{"cluster_id":"1","member_id":"1"},"members":[[]]}',
    ],
)
async def test_a_number_that_is_none_is_no_answer(etcd, folder, body):
    with answering(etcd.serving(), whole(body)) as where:
        async with cheap():
            found = await etcd.survey(folder, *etcd.urls, where)
    assert {one.member for one in found.voices if one.confirmed} == {"1", "2", "3"}


@pytest.fixture
def inside():
    """Ports to which nobody should connect."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(socket.create_server((address, 0))) for address in ("127.0.0.8", "127.0.0.9")]


async def test_an_address_that_only_a_member_names_is_never_connected_to(etcd, folder, inside):
    """It could name anything in the network that the operator reaches, and read from our report what is there."""
    urls = [*("https://{}:{}".format(*one.getsockname()) for one in inside), "https://metadata.example:80"]
    etcd.gateways[2].told.urls = urls
    found = await etcd.survey(folder, *etcd.urls[:2])
    for one in inside:
        one.settimeout(0)
        with pytest.raises(BlockingIOError):
            one.accept()
    assert {one.member for one in found.voices} == {"1", "2"}
    assert {one.endpoint for one in found.silences} == {*urls}
    for silence in found.silences:
        assert (silence.members, silence.down) == (("3",), False)
        assert silence.why == "not asked: its address is not in ConfigMap openshift-etcd/etcd-endpoints"


async def test_members_of_another_cluster_in_one_list_prove_nothing(etcd, folder):
    """The check says so (`test/unit/core/test_checks_of_etcd.py`); here, that each answer names its cluster."""
    etcd.gateways[1].cluster = 7
    assert {one.cluster for one in (await etcd.survey(folder, *etcd.urls)).voices} == {"7", f"{gateways.CLUSTER:x}"}
