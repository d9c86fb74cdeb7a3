"""Nodes that are as large as the API server lets them be, while a request is open: what they cost the operator.

A kubelet writes its own Node: annotations (256 KiB in all), labels, and a status of up to 1.5 MB. What is read of them
goes through the watches of the real `run`.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from test import polling
from test.component import cluster
from test.component.test_thousands_of_nodes import resident_mib
from topology_simulator import kinds, machines

if TYPE_CHECKING:
    from collections.abc import Callable

    from test.component.world import World

NODE = "master-1"
_TIMES = 10
"""Updates of each kind, each with other content: what is kept of them adds up."""
_MORE_MIB = 64
"""What decoding objects of 1 MB leaves with the allocator, however many there are: 20 on CPython 3.11."""
_SECONDS = 10.0


def _ip(number: int) -> dict[str, str]:
    return {"type": "InternalIP", "address": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"}


def _condition(number: int) -> dict[str, str]:
    return {"type": f"Made-{number}", "status": "True", "reason": "x" * 20, "message": "y" * 20}


METADATA: dict[str, Callable[[int], dict[str, Any]]] = {
    "annotations": lambda turn: {"annotations": {f"example.com/{turn}": "x" * 250_000}},
    "labels": lambda turn: {"labels": {f"example.com/l-{turn}-{number}": "x" * 60 for number in range(1_000)}},
}
STATUS: dict[str, Callable[[int], dict[str, Any]]] = {
    "addresses": lambda turn: {"addresses": [_ip(turn * 20_000 + number) for number in range(20_000)]},
    "a long address": lambda turn: {"addresses": [{"type": "InternalIP", "address": f"{turn}" * 1_000_000}]},
    "a long version": lambda turn: {"nodeInfo": {"kubeletVersion": f"{turn}" * 1_000_000}},
    "images": lambda turn: {"images": [{"names": [f"{turn}-{number}-" + "x" * 80]} for number in range(8_000)]},
}


async def _pending(world: World) -> None:
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.ask_for()
    await world.until_check("ControlPlaneNodes", "Unmet")


async def test_a_control_plane_node_of_any_size_costs_little(world: World, figure: Callable[[str], None]) -> None:
    # The server of this process is busy with such objects for seconds: a lease of 15 s would run out meanwhile.
    operator = await world.idle_operator(lease=())
    await _pending(world)
    whole = await world.api.get(kinds.NODES, NODE)
    pid, costs = operator.process.pid, {}
    before = resident_mib(pid)
    for what, make in STATUS.items():
        for turn in range(1, _TIMES):
            await world.api.patch_status(kinds.NODES, NODE, make(turn))
        costs[what] = resident_mib(pid)
        await world.api.patch_status(kinds.NODES, NODE, whole["status"] | {"images": None})
    conditions = [*whole["status"]["conditions"], *map(_condition, range(3_000))]
    for turn in range(1, _TIMES):
        await world.api.patch_status(kinds.NODES, NODE, {"conditions": conditions[: 3_000 - turn]})
    costs["conditions"] = resident_mib(pid)
    taints = [{"key": f"example.com/{n}", "value": "x" * 60, "effect": "NoSchedule"} for n in range(5_000)]
    for turn in range(1, _TIMES):
        await world.api.patch(kinds.NODES, NODE, {"spec": {"taints": taints[turn:]}})
    costs["taints"] = resident_mib(pid)
    await world.until_check("ControlPlaneNodes", "Unmet", "Unknown")
    await world.api.patch(kinds.NODES, NODE, {"spec": {"taints": None}})
    await world.api.patch_status(kinds.NODES, NODE, {"conditions": whole["status"]["conditions"]})
    for what, make in METADATA.items():
        for turn in range(1, _TIMES):
            change = make(turn)
            await world.api.patch(kinds.NODES, NODE, {"metadata": change})
            (field,) = change
            await world.api.patch(kinds.NODES, NODE, {"metadata": {field: dict.fromkeys(change[field])}})
        costs[what] = resident_mib(pid)
    began = time.monotonic()
    await cluster.set_ready(world.api, "master-2", ready=True)
    await world.until_phase("Converging", "Completed", seconds=_SECONDS)
    figure(f"before {before:.0f} MiB; " + ", ".join(f"{what} {mib:.0f}" for what, mib in costs.items()))
    assert max(costs.values()) - before < _MORE_MIB, (before, costs)
    assert time.monotonic() - began < _SECONDS * polling.PATIENCE
    assert operator.alive


async def test_workers_of_any_size_cost_little(world: World, figure: Callable[[str], None]) -> None:
    """Of them only the metadata are read, page by page."""
    large = {f"example.com/l-{number}": "x" * 60 for number in range(3_000)}

    async def register(number: int) -> None:
        made = machines.node(f"worker-{number}", roles=("worker",), ready=True)
        made["metadata"]["annotations"] |= {"example.com/large": "x" * 250_000}
        made["metadata"]["labels"] |= large
        await world.api.create(kinds.NODES, made)

    await asyncio.gather(*map(register, range(20)))
    operator = await world.idle_operator(lease=())
    before = resident_mib(operator.process.pid)
    await world.ask_for()
    found = await world.until_check("DedicatedWorkers", "Unmet", "Met", seconds=_SECONDS)
    assert "20 dedicated workers" in found["message"], found
    after = resident_mib(operator.process.pid)
    figure(f"20 workers with half a megabyte of metadata each: {before:.0f} MiB, then {after:.0f}")
    assert after - before < _MORE_MIB
    assert operator.alive
