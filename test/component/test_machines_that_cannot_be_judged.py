"""Machines that are not there, not readable, half handed over, or odd: what is Unknown, what is Met, what it costs."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Any
from urllib import parse

import pytest

from test import polling
from test.component import cluster, definitions, machine_world, plugin
from test.component import test_request_to_topology as happy
from test.component import world as worlds
from test.component.machine_world import CHECK
from test.component.test_thousands_of_nodes import resident_mib
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import kinds, machine_api

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from test.component import backend
    from test.component.world import World

MACHINE = machine_api.machine_name
_FURTHER = 2
"""Requests to the change that Machines and hosts may cost: one list each."""
_WORKERS = 500
_WORKERS_MIB = 1.0
_MIRRORED = kinds.Kind("cluster.x-k8s.io", "machines", "Machine", namespaced=True, version="v1beta1")


# -- where there are none


async def requests_to_the_change(world: World, *flags: str) -> list[str]:
    """Bring it to the edge, go over it, and return what the operator asked between the last fact and the change."""
    await cluster.set_ready(world.api, "master-0", ready=False)
    await world.idle_operator("operator-a", *flags)
    await world.ask_for()
    await world.until_check("ControlPlaneNodes", "Unmet")
    await happy.until_echoed(world)
    before = world.server.mark()
    await cluster.set_ready(world.api, "master-0", ready=True)
    await world.until_phase("Converging", "Completed")
    way = await happy.asked_to_the_change(world, before)
    return sorted(f"{one.verb} {one.resource}" for one in way)


@pytest.mark.on_real
async def test_without_the_kind_or_without_machines_it_changes_as_ever_and_asks_no_more(
    apiserver: backend.Place, tmp_path: pathlib.Path, figure: Callable[[str], None]
) -> None:
    asked: dict[str, list[str]] = {}
    for name in ("not served", "none", "none runs"):
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        async with worlds.opened(apiserver, folder) as world:
            if name == "not served":
                await machine_world.withdraw(world.api, kinds.MACHINES, kinds.BARE_METAL_HOSTS)
            asked[name] = await requests_to_the_change(world)
            check = await world.check(CHECK)
            assert check["message"].startswith("Machine API is not in use here"), check
            assert ("does not serve" in check["message"]) is (name == "not served"), check
            await world.completed_once()
    figure(f"requests from the last fact to the change without Machines: {len(asked['none'])}")
    assert asked["none"] == asked["not served"]
    assert not any("machines" in one or "baremetalhosts" in one for one in asked["none"])


async def test_with_machines_it_asks_for_them_and_for_their_hosts_once_more(
    apiserver: backend.Place, tmp_path: pathlib.Path, figure: Callable[[str], None]
) -> None:
    counted: dict[int, list[str]] = {}
    for number in (0, 3):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with worlds.opened(apiserver, folder, machine_world.control_plane(number)) as world:
            counted[number] = await requests_to_the_change(world, *machine_world.own_definition(folder))
            await world.completed_once()
    further = list(counted[3])
    for one in counted[0]:
        further.remove(one)
    figure(f"requests from the last fact to the change: {len(counted[0])}, with Machines and hosts {len(counted[3])}")
    assert further == ["list baremetalhosts", "list machines"]
    assert len(further) <= _FURTHER


# -- where they are half handed over


def with_an_authority(schema: dict[str, Any]) -> dict[str, Any]:
    """As OpenShift serves Machines where MachineAPIMigration is enabled; the Default ones have no authority."""
    changed = copy.deepcopy(schema)
    for part in ("spec", "status"):
        changed["properties"][part]["properties"]["authoritativeAPI"] = {"type": "string"}
    return changed


async def serve_mirrored(api: clients.Client) -> None:
    """Serve Machines of the Cluster API too."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": _MIRRORED.version, "served": True, "storage": True, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }  # fmt: skip
    names = {"plural": "machines", "singular": "machine", "kind": "Machine", "listKind": "MachineList"}
    name = f"{_MIRRORED.plural}.{_MIRRORED.group}"
    made = kinds.DEFINITIONS.new(
        name, spec={"group": _MIRRORED.group, "scope": "Namespaced", "names": names, "versions": [version]}
    )
    made["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    await api.create(kinds.DEFINITIONS, made)

    async def served() -> bool:
        try:
            await api.list(_MIRRORED)
        except clients.ApiError as error:
            if error.code in definitions.NOT_YET:
                return False
            raise
        return True

    await polling.until("Machines of the Cluster API are served", served)


@pytest.mark.on_real
async def test_a_machine_that_is_mirrored_counts_once_and_one_that_migrates_is_not_judged(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    async with worlds.opened(apiserver, tmp_path, machine_world.infrastructure()) as world:
        await definitions.change(world.api, kinds.MACHINES, with_an_authority)
        await serve_mirrored(world.api)
        try:
            await mirrored_and_migrating(world, tmp_path)
        finally:
            await world.api.delete(kinds.DEFINITIONS, f"{_MIRRORED.plural}.{_MIRRORED.group}")


async def mirrored_and_migrating(world: World, folder: pathlib.Path) -> None:
    for node in cluster.MASTERS:
        ours = await world.api.get(kinds.MACHINES, MACHINE(node), machine_world.NAMESPACE)
        copied = {key: ours["metadata"][key] for key in ("name", "namespace", "labels")}
        copied["labels"] |= {"cluster.x-k8s.io/control-plane": ""}
        mirror = {"apiVersion": _MIRRORED.api_version, "kind": "Machine", "metadata": copied, "spec": ours["spec"]}
        await world.api.create(_MIRRORED, mirror)
        await world.api.patch(_MIRRORED, MACHINE(node), {"status": ours["status"]}, machine_world.NAMESPACE, "status")
    await machine_world.set_machine(world.api, "master-1", authoritativeAPI="Migrating")
    code, plan = await machine_world.planned(world, folder)
    assert code == plugin.FAILED, plan["verdict"]
    assert sorted(one["machine"] for one in plan["machines"]) == [MACHINE(node) for node in cluster.MASTERS]
    assert {one["node"]: one["authority"] for one in plan["machines"]}["master-1"] == "Migrating"
    found = machine_world.named(plan["checks"], CHECK)
    assert (found["status"], "master-1 is Migrating" in found["message"]) == ("Unknown", True), found

    await world.idle_operator()
    await world.ask_for()
    await machine_world.until_message(world, CHECK, "Unknown", "master-1", "Migrating")
    await machine_world.stays_unchanged(world)
    await machine_world.set_machine(world.api, "master-1", authoritativeAPI="ClusterAPI")
    await world.completed_once()


# -- where they are odd


@pytest.mark.on_real("addresses")
@pytest.mark.parametrize("what", ["addresses", "metadata", "host", "host without status", "phase"])
async def test_what_is_malformed_is_named_and_what_merely_says_nothing_is_not(
    apiserver: backend.Place, tmp_path: pathlib.Path, what: str
) -> None:
    async with worlds.opened(apiserver, tmp_path, machine_world.infrastructure()) as world:
        kind = kinds.BARE_METAL_HOSTS if what.startswith("host") else kinds.MACHINES
        if what in {"addresses", "host", "phase"}:
            await definitions.change(world.api, kind, definitions.anything)
        if what == "addresses":
            await machine_world.set_machine(world.api, "master-1", addresses="x")
        elif what == "metadata":
            change = {"metadata": {"annotations": {machine_api.HOST: "elsewhere/master-1"}}}
            await world.api.patch(kind, MACHINE("master-1"), change, machine_world.NAMESPACE)
        elif what == "host":
            await machine_world.set_host(world.api, "master-1", provisioning=[])
        elif what == "host without status":
            await machine_world.let_go(world.api, kind, "master-1")
            await world.api.delete(kind, "master-1", machine_world.NAMESPACE)
            await world.api.create(kind, {**machine_api.host("master-1"), "status": {}})
        else:
            await machine_world.set_machine(world.api, "master-1", phase="Dreaming")
        await world.idle_operator()
        await world.ask_for()
        if what in {"metadata", "host without status", "phase"}:
            await world.completed_once()
            return
        told = MACHINE("master-1") if what == "addresses" else "baremetalhosts.metal3.io/master-1"
        await machine_world.until_message(world, CHECK, "Unknown", told)
        await machine_world.stays_unchanged(world)


async def test_machines_of_workers_are_not_read_and_cost_nothing(
    apiserver: backend.Place, tmp_path: pathlib.Path, figure: Callable[[str], None]
) -> None:
    resident = {}
    for number in (0, _WORKERS):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with worlds.opened(apiserver, folder, machine_world.control_plane()) as world:
            await make_worker_machines(world.api, number)
            world.echo.on = False
            operator = await world.idle_operator("operator-a", *machine_world.own_definition(folder))
            await world.ask_for()
            await world.until_phase("Admitting")
            resident[number] = resident_mib(operator.process.pid)
            asked = [one.path for one in world.server.asked() if one.resource == "machines"]
            assert asked
            selected = "labelSelector=machine.openshift.io/cluster-api-machine-role+in+(master,arbiter)"
            assert all(selected in path for path in map(parse.unquote, asked)), asked
            _, plan = await machine_world.planned(world, folder)
            assert len(plan["machines"]) == len(cluster.MASTERS)
    more = resident[_WORKERS] - resident[0]
    figure(f"{_WORKERS} Machines of workers: {more:+.2f} MiB of {resident[0]:.1f} MiB")
    assert more <= _WORKERS_MIB, resident


async def make_worker_machines(api: clients.Client, number: int) -> None:
    free = asyncio.Semaphore(8)

    async def one(node: str) -> None:
        async with free:
            await api.create(kinds.MACHINES, machine_api.machine(node, role="worker"))

    await asyncio.gather(*(one(f"worker-{each}") for each in range(number)))


# -- where the operator may not read them: `rights.test_machines_not_to_be_read`, on a server that has rights


@pytest.mark.parametrize("kind", [kinds.MACHINES, kinds.BARE_METAL_HOSTS], ids=lambda kind: kind.plural)
async def test_a_list_that_fails_is_unknown_and_the_next_heals_it(
    apiserver: backend.Place, tmp_path: pathlib.Path, kind: kinds.Kind
) -> None:
    async with worlds.opened(apiserver, tmp_path, machine_world.infrastructure()) as world:
        failing = world.server.fault("status", code=403, resource=kind.plural)
        operator = await world.idle_operator()
        await world.ask_for()
        await machine_world.until_message(world, CHECK, "Unknown", f"{kind.plural}.{kind.group}")
        await machine_world.stays_unchanged(world)
        world.server.lift(failing)
        await world.completed_once(seconds=60.0)
        assert operator.alive


def test_the_cluster_has_the_kinds_by_default_and_machines_only_where_they_are_asked_for() -> None:
    found = [obj["kind"] for obj in simulated.objects(simulated.Shape())]
    assert not {"Machine", "BareMetalHost"} & set(found)
    shape = simulated.Shape(masters=3, machines=2, platform="BareMetal")
    made = [obj["kind"] for obj in simulated.objects(shape)]
    assert (made.count("Machine"), made.count("BareMetalHost")) == (2, 2)
