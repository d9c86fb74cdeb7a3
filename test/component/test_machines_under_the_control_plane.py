"""Machines and hosts under the control plane: why etcd leaves a node out, and what is on its way out.

No controller runs: each test writes what it would have written. The etcd operator's side is what a test makes of the
list of voters. `machine_world` says which cluster, and by which definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import cluster, machine_world, plugin
from test.component import world as worlds
from test.component.machine_world import CHECK
from topology_simulator import kinds, machine_api

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import backend
    from test.component.world import World

MACHINE = machine_api.machine_name
_NOT_IN_USE = "Machine API is not in use here"
_NO_MACHINE = "no Machine in openshift-machine-api has its address 192.168.126.12"
_MISSING, _TROUBLE, _BEHIND = "ControlPlaneMachineMissing", "ControlPlaneHostTrouble", "EtcdReplicasBehind"


@pytest.fixture
async def whole(apiserver: backend.Place, tmp_path: pathlib.Path) -> AsyncIterator[World]:
    """Three nodes with a Machine and a host each; only one worker, so that a request stays open."""
    async with worlds.opened(apiserver, tmp_path, machine_world.infrastructure(workers=1)) as world:
        yield world


@pytest.fixture
async def lacking(apiserver: backend.Place, tmp_path: pathlib.Path) -> AsyncIterator[World]:
    """Everything is there, but that master-2 has no Machine and no voter."""
    async with worlds.opened(apiserver, tmp_path, machine_world.infrastructure(2)) as world:
        await machine_world.without_voter(world.api, "master-2")
        yield world


async def let_go_on(world: World) -> None:
    """Give it the second worker that is missing."""
    await cluster.add_node(world.api, "worker-1", ("worker",))


# -- why etcd leaves a node out


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


@pytest.mark.on_real("hook")
@pytest.mark.parametrize("what", ["address", "hook", "deletion"])
async def test_a_machine_that_does_not_do_is_named_with_what_it_lacks(lacking: World, what: str) -> None:
    name = MACHINE("master-2")
    if what == "address":
        await machine_world.add(lacking.api, "master-2", addresses=[], node_ref="master-2")
        told = f"Machine {name} refers to it but lacks its address 192.168.126.12"
    elif what == "hook":
        await machine_world.add(lacking.api, "master-2", hooked=False)
        told = f"Machine {name} lacks preDrain hook EtcdQuorumOperator"
    else:
        await machine_world.add(lacking.api, "master-2")
        await machine_world.delete(lacking.api, kinds.MACHINES, name)
        told = f"Machine {name} is being deleted"
    await lacking.idle_operator()
    await lacking.ask_for()
    for check in ("ControlPlaneNodes", "EtcdVotingMembers"):
        await machine_world.until_message(lacking, check, "Unmet", "master-2", told)
    if what == "address":
        change = [{"type": "InternalIP", "address": "192.168.126.12"}]
        await machine_world.set_machine(lacking.api, "master-2", addresses=change)
    elif what == "hook":
        await machine_world.set_hooks(lacking.api, "master-2", [machine_api.HOOK])
    else:
        await machine_world.let_go(lacking.api, kinds.MACHINES, name)
        await machine_world.until_gone(lacking.api, kinds.MACHINES, name)
        await machine_world.add(lacking.api, "master-2")
    await machine_world.with_voter(lacking.api, "master-2")
    await lacking.completed_once()


async def test_a_machine_that_has_no_node_yet_is_on_the_way(lacking: World) -> None:
    await lacking.api.create(kinds.BARE_METAL_HOSTS, machine_api.host("master-3"))
    await machine_world.set_host(
        lacking.api, "master-3", **machine_api.host_status("inspecting", ident="one", powered_on=True)
    )
    await machine_world.add(lacking.api, "master-3", phase="Provisioning", addresses=[], linked=True)
    await lacking.idle_operator()
    await lacking.ask_for()
    told = f"on the way: Machine {MACHINE('master-3')} (Provisioning; BareMetalHost master-3 is inspecting)"
    await machine_world.until_message(lacking, "ControlPlaneNodes", "Unmet", told)


async def test_without_a_running_machine_nothing_is_said_of_them(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    async with worlds.opened(apiserver, tmp_path, machine_world.infrastructure(0)) as world:
        for node in ("master-0", "master-1"):
            await machine_world.add(world.api, node, phase="Provisioning", addresses=[])
        await machine_world.without_voter(world.api, "master-2")
        await world.idle_operator()
        await world.ask_for()
        met = await machine_world.until_message(world, CHECK, "Met", _NOT_IN_USE)
        assert "none of 2 is Running" in met
        text = await machine_world.until_message(world, "ControlPlaneNodes", "Unmet", "master-2")
        assert "Machine" not in text
        await machine_world.with_voter(world.api, "master-2")
        await world.completed_once()
        assert not {_MISSING, _TROUBLE, _BEHIND} & set(await machine_world.advisories(world))


# -- what is on its way out


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


@pytest.mark.on_real
async def test_a_host_that_is_being_taken_away_keeps_the_topology(whole: World) -> None:
    await whole.idle_operator()
    await whole.ask_for()
    await machine_world.until_message(whole, CHECK, "Met", "on its way out")

    subject = f"BareMetalHost master-1 of Machine {MACHINE('master-1')} of node master-1"
    for state in ("deprovisioning", "powering off before delete", "deleting"):
        await machine_world.set_host(whole.api, "master-1", provisioning={"state": state, "ID": "one"})
        await machine_world.until_message(whole, CHECK, "Unmet", f"{subject} is {state}")
    await machine_world.set_host(whole.api, "master-1", provisioning={"state": "externally provisioned", "ID": "one"})
    await machine_world.until_message(whole, CHECK, "Met")

    await machine_world.delete(whole.api, kinds.BARE_METAL_HOSTS, "master-1")
    await machine_world.until_message(whole, CHECK, "Unmet", f"{subject} is being deleted")
    await let_go_on(whole)
    await whole.until_check("EligibleWorkers", "Met")
    await machine_world.stays_unchanged(whole)
    await machine_world.let_go(whole.api, kinds.BARE_METAL_HOSTS, "master-1")
    await whole.completed_once()


async def test_a_host_is_found_by_its_consumer_where_the_machine_does_not_name_it(whole: World) -> None:
    change = {"metadata": {"annotations": {machine_api.HOST: None}}}
    await whole.api.patch(kinds.MACHINES, MACHINE("master-1"), change, machine_world.NAMESPACE)
    await whole.idle_operator()
    await whole.ask_for()
    await machine_world.until_message(whole, CHECK, "Met")
    await machine_world.delete(whole.api, kinds.BARE_METAL_HOSTS, "master-1")
    await machine_world.until_message(whole, CHECK, "Unmet", "BareMetalHost master-1")


async def test_the_machine_of_an_arbiter_and_one_already_replaced_do_not_matter(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    async with worlds.opened(apiserver, tmp_path, machine_world.infrastructure()) as world:
        await cluster.add_node(world.api, "arbiter-7", ("arbiter",))
        await machine_world.add(world.api, "arbiter-7", role="arbiter")
        await machine_world.add(world.api, "master-9", node_ref="master-9")
        for node in ("arbiter-7", "master-9"):
            await machine_world.delete(world.api, kinds.MACHINES, MACHINE(node))
        await world.idle_operator()
        await world.ask_for()
        await world.completed_once()
        assert (await world.check(CHECK))["status"] in {"Met", None}


# -- what is not well, and keeps nothing


@pytest.mark.on_real
async def test_a_host_in_error_is_advice(whole: World) -> None:
    why = "the management controller does not answer " + "x" * 300
    error = {"operationalStatus": "error", "errorType": "power management error", "errorMessage": why}
    await machine_world.set_host(whole.api, "master-1", **error)
    await whole.idle_operator()
    await whole.ask_for()
    advisory = await machine_world.until_advised(whole, _TROUBLE)
    assert f"BareMetalHost master-1 of Machine {MACHINE('master-1')}, node master-1" in advisory["message"]
    assert why[:256] in advisory["message"]
    assert why[:257] not in advisory["message"]
    assert advisory["command"] == "oc -n openshift-machine-api describe baremetalhost master-1"
    await machine_world.until_message(whole, CHECK, "Met")

    await machine_world.set_host(whole.api, "master-1", operationalStatus="OK", errorType=None, errorMessage="")
    await machine_world.until_advised(whole, _TROUBLE, shown=False)
    await machine_world.set_host(whole.api, "master-1", poweredOn=False)
    assert "is powered off" in (await machine_world.until_advised(whole, _TROUBLE))["message"]
    await machine_world.set_host(whole.api, "master-1", poweredOn=True)
    await machine_world.until_advised(whole, _TROUBLE, shown=False)
    await machine_world.set_machine(whole.api, "master-2", phase="Failed", errorMessage="can't find created instance")
    assert "can't find created instance" in (await machine_world.until_advised(whole, _TROUBLE))["message"]
    await let_go_on(whole)
    await whole.completed_once()
    assert _TROUBLE in await machine_world.advisories(whole)


async def test_that_etcd_wants_fewer_members_than_there_will_be_is_advice(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    async with worlds.opened(apiserver, tmp_path, machine_world.control_plane()) as world:
        await world.idle_operator("operator-a", *machine_world.own_definition(tmp_path))
        await world.ask_for()
        advisory = await machine_world.until_advised(world, _BEHIND)
        assert "wants 1 member" in advisory["message"]
        assert advisory["command"] == "oc -n kube-system get configmap cluster-config-v1 -o yaml"
        await world.completed_once()
        assert _BEHIND in await machine_world.advisories(world)


async def test_where_no_machine_runs_what_etcd_wants_is_no_matter(world: World) -> None:
    await world.idle_operator()
    await world.ask_for()
    await world.completed_once()
    assert not {_MISSING, _TROUBLE, _BEHIND} & set(await machine_world.advisories(world))


# -- the gauge, and what plan shows


async def test_the_gauge_counts_machines_where_they_are_in_use(whole: World) -> None:
    operator = await whole.idle_operator()
    await whole.ask_for()
    await machine_world.until_message(whole, CHECK, "Met")

    async def counted() -> dict[str, float]:
        _, text = await operator.ask("/metrics")
        prefix = 'topology_control_plane_machines{state="'
        lines = [line.removeprefix(prefix) for line in text.splitlines() if line.startswith(prefix)]
        return {name: float(value) for name, value in (line.split('"} ') for line in lines)}

    steady = {"present": 3.0, "running": 3.0, "leaving": 0.0, "without_node": 0.0, "missing": 0.0}
    await polling.until("all three are counted", lambda: _equal(counted, steady))
    await machine_world.delete(whole.api, kinds.MACHINES, MACHINE("master-1"))
    await machine_world.set_machine(whole.api, "master-1", phase="Deleting")
    await machine_world.add(whole.api, "master-3", phase="Provisioning", addresses=[])
    await machine_world.set_machine(whole.api, "master-2", addresses=[])
    changed = {"present": 4.0, "running": 2.0, "leaving": 1.0, "without_node": 1.0, "missing": 1.0}
    await polling.until("the changes are counted", lambda: _equal(counted, changed))


async def _equal(ask: Any, wanted: dict[str, float]) -> bool:
    return bool(await ask() == wanted)


async def test_plan_and_status_show_whose_node_a_machine_is(lacking: World, tmp_path: pathlib.Path) -> None:
    await machine_world.add(lacking.api, "master-2", addresses=[], node_ref="master-2", phase="Provisioned")
    await machine_world.add(lacking.api, "master-3", phase="Provisioning", addresses=[])
    program = plugin.Plugin(tmp_path, lacking.server.kubeconfig())
    for words in (("plan", "HighlyAvailable"), ("status",)):
        _, answer = await program.json(*words)
        found = {one["machine"]: one for one in answer["machines"]}
        assert list(found) == [MACHINE(f"master-{number}") for number in range(4)]
        assert found[MACHINE("master-0")] == {
            "node": "master-0", "machine": MACHINE("master-0"), "phase": "Running", "authority": None,
            "boundBy": "Address", "leaving": False, "host": "master-0", "hostState": "externally provisioned",
            "voter": True,
        }  # fmt: skip
        bound = [(one["node"], one["boundBy"], one["voter"]) for one in found.values()]
        assert bound[2:] == [("master-2", "NodeRef", False), (None, None, False)]
    shown = await program.run("plan", "HighlyAvailable")
    assert f"{MACHINE('master-2')}" in shown.printed
    assert "master-2 (by nodeRef only)" in shown.printed


async def test_without_a_running_machine_no_table_is_shown(world: World, tmp_path: pathlib.Path) -> None:
    program = plugin.Plugin(tmp_path, world.server.kubeconfig())
    _, answer = await program.json("plan", "HighlyAvailable")
    assert answer["machines"] == []
    assert "Machines of the control plane" not in (await program.run("plan", "HighlyAvailable")).printed
