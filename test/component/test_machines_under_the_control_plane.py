"""Machines and hosts under the control plane: why etcd leaves a node out, and what is on its way out.

No controller runs: each test writes what it would have written. The etcd operator's side is what a test makes of the
list of voters. `machine_world` says which cluster, and by which definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test.component import machine_world
from test.component import world as worlds
from test.component.machine_world import CHECK
from topology_simulator import kinds, machine_api

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import backend
    from test.component.world import World

MACHINE = machine_api.machine_name
_NO_MACHINE = "no Machine in openshift-machine-api has its address 192.168.126.12"
_MISSING = "ControlPlaneMachineMissing"


@pytest.fixture
async def lacking(apiserver: backend.Place, tmp_path: pathlib.Path) -> AsyncIterator[World]:
    """Everything is there, but that master-2 has no Machine and no voter."""
    async with worlds.opened(apiserver, tmp_path, machine_world.infrastructure(2)) as world:
        await machine_world.without_voter(world.api, "master-2")
        yield world


@pytest.mark.on_real
async def test_a_node_without_a_machine_is_named_with_the_reason_until_it_has_one(
    lacking: World, tmp_path: pathlib.Path
) -> None:
    code, plan = await machine_world.planned(lacking, tmp_path)
    found = machine_world.named(plan["checks"], "ControlPlaneNodes")
    assert (code, found["status"]) == (3, "Unmet")
    assert f"master-2 (has no voting etcd member: {_NO_MACHINE})" in found["message"]

    await lacking.idle_operator()
    await lacking.ask_for()
    await machine_world.until_message(lacking, "ControlPlaneNodes", "Unmet", "master-2", _NO_MACHINE)
    await machine_world.until_message(lacking, "EtcdVotingMembers", "Unmet", "master-2", _NO_MACHINE)
    await machine_world.until_message(lacking, CHECK, "Met")
    advisory = await machine_world.until_advised(lacking, _MISSING)
    assert "master-2" in advisory["message"]
    assert advisory["command"].startswith("oc -n openshift-machine-api get machines.machine.openshift.io -l ")

    await machine_world.add(lacking.api, "master-2")
    await machine_world.with_voter(lacking.api, "master-2")
    await machine_world.until_advised(lacking, _MISSING, shown=False)
    assert (await lacking.completed_once())["name"] == "infra-to-ha"


@pytest.mark.on_real
async def test_a_machine_that_is_being_deleted_keeps_the_topology_until_it_is_replaced(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    async with worlds.opened(apiserver, tmp_path, machine_world.control_plane()) as world:
        await machine_world.delete(world.api, kinds.MACHINES, MACHINE("master-1"))
        await world.idle_operator("operator-a", *machine_world.own_definition(tmp_path))
        await world.ask_for()
        told = f"Machine {MACHINE('master-1')} of node master-1 is being deleted"
        await machine_world.until_message(world, CHECK, "Unmet", told)
        await machine_world.stays_unchanged(world)
        record = await world.record()
        assert [one["name"] for one in record["checks"] if one["status"] != "Met"] == [CHECK]

        await machine_world.let_go(world.api, kinds.MACHINES, MACHINE("master-1"))
        await machine_world.until_gone(world.api, kinds.MACHINES, MACHINE("master-1"))
        await machine_world.add(world.api, "master-1")
        assert (await world.completed_once())["name"] == "own-to-ha"
