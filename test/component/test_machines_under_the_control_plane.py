"""Machines under the control plane: why etcd leaves a node out, and what is on its way out.

No controller runs: the test writes what it would have written. The etcd operator's side is what it makes of the list of
voters. A control plane of three on BareMetal has a definition by which its infrastructure becomes available.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import cluster, machine_world, plugin
from test.component import world as worlds
from test.component.machine_world import CHECK, NAMESPACE
from topology_simulator import cluster as simulated
from topology_simulator import kinds, machine_api, machines

if TYPE_CHECKING:
    import pathlib

    from test.component import backend
    from topology_simulator import client as clients

_NO_MACHINE = "no Machine in openshift-machine-api has its address 192.168.126.12"
_MISSING = "ControlPlaneMachineMissing"
_TWO_OF_THREE = simulated.Shape(
    control_plane=worlds.DESIRED, masters=3, machines=2, workers=2, schedulable=False, platform="BareMetal"
)


def named(found: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return one check, or one advisory; empty when it is not there."""
    return next((one for one in found if one["name"] == name), {})


async def add(api: clients.Client, node: str) -> None:
    """Make a Machine that runs under this node, as its controller leaves it."""
    made = machine_api.machine(node, role="master", linked=False, hooked=True)
    made["metadata"]["finalizers"] = [machine_api.MACHINE_FINALIZER]
    await api.create(kinds.MACHINES, made)
    address = {"type": "InternalIP", "address": machines.address(machines.number_of(node))}
    status = {"status": {"phase": "Running", "addresses": [address]}}
    await api.patch(kinds.MACHINES, made["metadata"]["name"], status, NAMESPACE, "status")


async def until_message(world: worlds.World, check: str, status: str, *parts: str) -> None:
    """Wait until a preflight check has a status and says each of these."""

    async def said() -> bool:
        found = await world.check(check)
        return found.get("status") == status and all(part in found["message"] for part in parts)

    await polling.until(f"{check} is {status} and says {parts}", said)


async def advisory(world: worlds.World) -> str:
    return str(named((await world.record()).get("advisories") or [], _MISSING).get("message", ""))


@pytest.mark.on_real
async def test_a_machine_that_lacks_or_is_being_deleted_is_named_until_replaced(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    voter = simulated.member_id("master-2")
    async with worlds.opened(apiserver, tmp_path, _TWO_OF_THREE) as world:
        await cluster.set_endpoints(world.api, {voter: None})
        command = plugin.Plugin(tmp_path, world.server.kubeconfig())
        code, plan = await command.json("plan", worlds.DESIRED)
        assert code == plugin.BLOCKED
        found = named(plan["checks"], "ControlPlaneNodes")
        assert f"master-2 (has no voting etcd member: {_NO_MACHINE})" in found["message"]

        await world.idle_operator()
        await world.ask_for()
        for check in ("ControlPlaneNodes", "EtcdVotingMembers"):
            await until_message(world, check, "Unmet", "master-2", _NO_MACHINE)
        await until_message(world, CHECK, "Met")
        assert "master-2" in await polling.until("it is advised", lambda: advisory(world))

        doomed = machine_api.machine_name("master-1")
        await world.api.delete(kinds.MACHINES, doomed, NAMESPACE)
        await add(world.api, "master-2")
        await cluster.set_endpoints(world.api, {voter: machines.address(2)})
        await until_message(world, CHECK, "Unmet", f"Machine {doomed} of node master-1 is being deleted")
        assert {one["name"] for one in (await world.record())["checks"] if one["status"] != "Met"} >= {CHECK}
        assert world.server.topology_changes == []

        await machine_world.let_go(world.api, kinds.MACHINES, doomed)

        async def gone() -> bool:
            return await world.api.find(kinds.MACHINES, doomed, NAMESPACE) is None

        await polling.until("the Machine is gone", gone)
        await add(world.api, "master-1")
        assert (await world.completed_once())["name"] == "infra-to-ha"
        assert not await advisory(world)
