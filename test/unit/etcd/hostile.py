"""A member that has a good certificate and means harm: it answers every connection with the bytes that a test says.

It runs in threads, so that nothing of it counts for the event loop of the reader. `cost` measures what such an answer
takes there: memory at its highest, and the longest for which the loop was at work without a rest, as a renewal of the
lease would have had to wait. That is the time of its own thread, so it is the same on a busy machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import socket
import threading
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    Answer = Callable[[], Iterable[bytes]]

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


@dataclasses.dataclass
class Cost:
    """What was measured: bytes, and seconds."""

    peak: int = 0
    longest_stall: float = 0.0
    seconds: float = 0.0


@contextlib.asynccontextmanager
async def cost() -> AsyncIterator[Cost]:
    """Measure what happens inside."""
    spent = Cost()

    async def tick() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(_TICK)
            spent.longest_stall = max(spent.longest_stall, time.thread_time() - before)

    ticking = asyncio.create_task(tick())
    began = time.thread_time()
    tracemalloc.start()
    try:
        yield spent
    finally:
        spent.peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        spent.seconds = time.thread_time() - began
        ticking.cancel()
