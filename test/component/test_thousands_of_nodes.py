"""A cluster of hundreds of workers is decided as rightly as one of three nodes: no page of a list is left out.

What it costs in memory and time is measured by `make bench`; here it is what is decided, and that it stays bounded.
"""

from __future__ import annotations

import asyncio
import collections
from typing import TYPE_CHECKING

import pytest

from test.bench import processes
from test.component import backend, cluster
from test.component import world as worlds
from topology_simulator import cluster as simulated
from topology_simulator import kinds, machines
from topology_simulator.apiserver import reads, statuses

if TYPE_CHECKING:
    import pathlib

    from topology_simulator import client as clients
    from topology_simulator.apiserver import requests

WORKERS = 400
"""Ten pages: a busy machine, too, has to read them while evidence is fresh. The bench has 2,000."""
FIT = ("worker-98", "worker-99")
"""By name the last of them: they stand on the last page of every list."""
NAME = "sno-to-ha-with-workers"
WHOLE = 40
"""Nodes on a page of whole objects."""
OTHERS = 11
"""Pages that a look at all nodes takes besides: the control plane's, and the names of all."""
_MEMORY_MIB = 69
"""DESIGN section 13: 64 MiB with everything on, and 5 more with 2,000 workers."""


async def add_workers(api: clients.Client) -> None:
    """Register them all, small and with the taint that every new node has: none of them can carry anything."""
    free = asyncio.Semaphore(4)

    async def one(number: int) -> None:
        made = machines.node(f"worker-{number}", roles=("worker",), ready=True)
        made["status"]["images"] = []
        made["metadata"]["annotations"] |= simulated.pool_node_annotations("worker", "SingleReplica")
        async with free:
            await api.create(kinds.NODES, made)

    await asyncio.gather(*map(one, range(WORKERS)))


def of_workers(request: requests.Request) -> bool:
    """Whether this lists whole workers."""
    selector = request.query.get("labelSelector", "")
    return request.verb == "list" and backend.by_operator(request) and selector.startswith("node-role.kubernetes.io/w")


@pytest.mark.slow
async def test_what_decides_stands_on_the_last_page_and_the_history_of_a_list_is_lost(tmp_path: pathlib.Path) -> None:
    assert sorted(f"worker-{number}" for number in range(WORKERS))[-2:] == list(FIT)
    shape = simulated.Shape(masters=len(cluster.MASTERS), schedulable=False)
    async with worlds.opened(backend.Place(None), tmp_path, shape) as world:
        await add_workers(world.api)
        operator = await world.idle_operator(lease=())
        lists = collections.Counter[str]()

        async def count(request: requests.Request) -> None:
            assert int(request.query["limit"]) <= WHOLE, "whole nodes are never asked for all at once"
            lists["continued" if "continue" in request.query else "begun"] += 1
            if "continue" in request.query and lists["expired"] == 0:
                lists["expired"] += 1
                raise statuses.StatusError(410, reads.CONTINUE_EXPIRED)

        world.server.before(of_workers, count, count=None)
        before = world.server.mark()
        await world.ask_for()
        found = await world.until_check("EligibleWorkers", "Unmet", seconds=60.0)
        assert "Found: 0" in found["message"]
        assert (await world.check("DedicatedWorkers"))["message"].startswith(f"{WORKERS} dedicated workers")
        assert (await world.record())["name"] == NAME
        assert lists == {"begun": 2, "continued": WORKERS // WHOLE, "expired": 1}

        lists.clear()
        lists["expired"] = 1
        # What so many nodes do after the change is not asked here.
        world.operands.on = False
        for name in FIT:
            await world.api.patch(kinds.NODES, name, {"spec": {"taints": None}})
        await world.until_phase("Converging", seconds=60.0)
        # Every live read goes on to the last page, and finds what was watched. A slow machine needs more than one.
        assert lists["begun"] >= 1
        assert lists["continued"] == lists["begun"] * (WORKERS // WHOLE - 1)
        assert "live evidence differs" not in operator.words()

        record = await world.until_phase("Converging")
        assert record["name"] == NAME
        assert len(world.server.topology_changes) == 1
        asked = collections.Counter(one.verb for one in world.server.asked(before) if one.resource == "nodes")
        assert asked["list"] <= (lists["begun"] + 3) * (WORKERS // WHOLE + OTHERS), (asked, lists)
        mib = processes.rss_mib(operator.process.pid)
        assert mib <= _MEMORY_MIB, f"{mib:.1f} MiB resident, wanted at most {_MEMORY_MIB}"
