"""How many Python calls of the operator an event costs, without client and transport: facts are assembled once."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from .clusters import OPERATOR, Cluster, running

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.looptime
_OURS = ("/topology_controller/", "/topology_api/")
_CLIENT = ("/kube/client.py", "/kube/transport.py", "/kube/errors.py")
NODE_EVENT, REQUEST = 2_500, 25_500
"""Measured with Python 3.11: 2,427 and 24,704. A newer one calls less: comprehensions are inlined."""


@contextlib.contextmanager
def counted() -> Iterator[Counter[str]]:
    """Calls by file and function, while this is open."""
    calls: Counter[str] = Counter()

    def enter(frame: Any, event: str, _argument: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and any(part in file for part in _OURS) and not file.endswith(_CLIENT):
            calls[f"{file.rpartition('/')[2]}:{frame.f_code.co_name}"] += 1

    sys.setprofile(enter)
    try:
        yield calls
    finally:
        sys.setprofile(None)


async def test_one_node_event_while_a_request_is_open() -> None:
    cluster = Cluster()
    cluster.put(OPERATOR, {"metadata": {"annotations": cluster.annotations}})
    cluster.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        # After a minute the newest answers may be written at once.
        await asyncio.sleep(70)
        with counted() as calls:
            cluster.change(("nodes", None, "node-2"), {"spec": {"unschedulable": True}})
            await asyncio.sleep(1)
        assert "node-2 (is cordoned)" in str(cluster.record["checks"])
    assert calls.total() <= NODE_EVENT, calls.most_common(20)


async def test_a_request_that_becomes_a_topology() -> None:
    cluster = Cluster()
    async with running(cluster):
        await asyncio.sleep(70)
        with counted() as calls:
            cluster.ask_for("HighlyAvailable")
            await asyncio.sleep(5)
        assert (cluster.topology, cluster.changes) == ("HighlyAvailable", 1)
    assert calls.total() <= REQUEST, calls.most_common(20)
