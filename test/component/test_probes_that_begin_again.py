"""A kubelet that begins its connections again and again, and ends them at any moment: none is left over.

It is restarted, or its probe runs out of time: the connection is reset in the handshake, in the request, in the answer.
"""

from __future__ import annotations

import contextlib
import pathlib
import socket
import struct
import time
from typing import TYPE_CHECKING

import aiohttp
import pytest

from test import polling, skips
from test.component.test_thousands_of_nodes import resident_mib

if TYPE_CHECKING:
    from collections.abc import Callable

    from test.component.world import World

_TIMES = 300
_MORE_MIB = 8
_HELLO = bytes.fromhex("16030100c8010000c40303")
"""The beginning of a handshake."""
_PROBE = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nUser-Agent: kube-probe/1.34\r\nConnection: close\r\n\r\n"
_CUT = _PROBE[:-20]
_AT_ONCE = struct.pack("ii", 1, 0)
"""Close with a reset, as the kernel does for a process that is killed."""


def descriptors(pid: int) -> int:
    return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


def _reset(port: int, content: bytes) -> None:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5.0) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        one.sendall(content)


def _port(words: str) -> int:
    return int(words.partition("serves on port ")[2].split()[0])


@pytest.mark.skipif(
    not pathlib.Path("/proc/self/fd").exists(), reason=f"{skips.ELSEWHERE}needs /proc to count descriptors"
)
async def test_connections_that_are_begun_and_reset_are_gone(world: World, figure: Callable[[str], None]) -> None:
    operator = await world.idle_operator()
    pid, port = operator.process.pid, _port(await operator.said("serves on port"))
    for content in (b"", _PROBE):
        _reset(port, content)
    before, mib = descriptors(pid), resident_mib(pid)
    slowest = 0.0
    for content in (b"", _HELLO, _CUT, _PROBE, _PROBE * 20):
        for _ in range(_TIMES):
            _reset(port, content)
        began = time.monotonic()
        assert (await operator.ask("/readyz"))[0] == 200
        slowest = max(slowest, time.monotonic() - began)

    async def as_before() -> bool:
        return descriptors(pid) <= before

    await polling.until("no descriptor is left over", as_before)
    after = resident_mib(pid)
    figure(f"{5 * _TIMES} connections reset: {mib:.1f} MiB, then {after:.1f}; the slowest probe {slowest:.3f} s")
    assert slowest < 1.0 * polling.PATIENCE
    assert after - mib < _MORE_MIB
    assert operator.alive


async def test_a_kubelet_that_is_restarted_finds_an_answer_at_once(world: World) -> None:
    """Its old connections stay open, as after a crash of its machine; the new ones are answered all the same."""
    operator = await world.idle_operator()
    port = _port(await operator.said("serves on port"))
    limit = aiohttp.ClientTimeout(total=1.0 * polling.PATIENCE)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(10):
            session = await stack.enter_async_context(aiohttp.ClientSession(timeout=limit))
            for path in ("/livez", "/readyz", "/healthz"):
                async with session.get(f"http://127.0.0.1:{port}{path}") as response:
                    assert response.status == 200
