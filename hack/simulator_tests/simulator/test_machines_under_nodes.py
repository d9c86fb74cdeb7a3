"""Machines and hosts as their controllers keep them, and what the etcd operator makes of them."""

from __future__ import annotations

import pytest

from topology_simulator import kinds, machine_api
from topology_simulator.actors import etcd_operator

NAMESPACE = machine_api.NAMESPACE
GROWN = {"control_plane": "HighlyAvailable", "infrastructure": "HighlyAvailable", "platform": "BareMetal"}


def machine(node, phase="Running", *, address=None, hooked=True, leaves=False, role="master"):
    found = machine_api.machine(node, role=role, hooked=hooked)
    given = {"type": "InternalIP", "address": address}
    found["status"] = {"phase": phase, "addresses": [given] if address else []}
    if leaves:
        found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return found


@pytest.mark.parametrize(
    ("machines", "joins"),
    [
        ([], True),
        ([machine("master-0", "Provisioning", address="10.0.0.1")], True),
        ([machine("master-0", address="10.0.0.1")], False),
        ([machine("master-0", address="10.0.0.1"), machine("master-2", "Provisioned")], False),
        ([machine("master-0", address="10.0.0.1"), machine("master-2", address="10.0.0.3", hooked=False)], False),
        ([machine("master-0", address="10.0.0.1"), machine("master-2", address="10.0.0.3", leaves=True)], False),
        ([machine("master-0", address="10.0.0.1"), machine("master-2", "Provisioned", address="10.0.0.3")], True),
        ([machine("worker-0", address="10.0.0.9", role="worker")], True),
    ],
    ids=["none", "none runs", "no machine", "no address", "no hook", "leaving", "all well", "workers only"],
)
def test_who_may_become_a_member(machines, joins):
    assert etcd_operator.may_join("10.0.0.3", etcd_operator.considered(machines)) is joins


_THREE = {"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3"}


@pytest.mark.parametrize(
    ("voters", "healthy", "desired", "left"),
    [
        ("abc", "abc", 3, None),
        ("abc", "abc", 1, "10.0.0.2"),
        ("abcd", "abcd", 3, "10.0.0.2"),
        ("abc", "ac", 3, "10.0.0.2"),
        ("abc", "ab", 3, None),
        ("ab", "ab", 3, None),
        ("abc", "abc", 0, None),
    ],
    ids=["as wanted", "grown", "replaced", "ill itself", "another is ill", "too few", "not observed"],
)
def test_a_member_goes_with_its_machine_only_when_there_are_more_than_wanted(voters, healthy, desired, left):
    addresses = {**_THREE, "d": "10.0.0.4"}
    machines = [machine(name, address=where, leaves=name == "b") for name, where in addresses.items()]
    found = etcd_operator.leaving(
        machines, {addresses[name] for name in voters}, {addresses[name] for name in healthy}, desired
    )
    assert found == left


async def phase_of(living, node):
    found = await living.api.find(kinds.MACHINES, machine_api.machine_name(node), NAMESPACE)
    return machine_api.phase(found) if found else "gone"


async def test_a_node_without_a_machine_is_no_member_until_it_has_one(running):
    async with running(**GROWN, masters=2, machines=2) as living:
        await living.join("master-2")
        await living.eventually(living.ready, ["master-0", "master-1", "master-2"])
        await living.join("master-3")
        await living.api.create(kinds.BARE_METAL_HOSTS, machine_api.host("master-3", external=True, consumer=True))
        await living.api.create(kinds.MACHINES, machine_api.machine("master-3", linked=True))
        await living.eventually(living.voters, ["master-0", "master-1", "master-3"])
        assert await phase_of(living, "master-3") in {"Provisioned", "Running"}
        await living.api.create(kinds.BARE_METAL_HOSTS, machine_api.host("master-2", external=True, consumer=True))
        await living.api.create(kinds.MACHINES, machine_api.machine("master-2", linked=True))
        await living.eventually(living.voters, ["master-0", "master-1", "master-2", "master-3"])
        await living.eventually(lambda: phase_of(living, "master-2"), "Running")
        found = await living.api.get(kinds.MACHINES, machine_api.machine_name("master-2"), NAMESPACE)
        assert etcd_operator.has_hook(found)
        assert found["status"]["nodeRef"]["name"] == "master-2"
        assert machine_api.internal_addresses(found) == ["192.168.126.12"]


async def test_a_deleted_machine_is_held_until_its_replacement_votes(running):
    async with running(**GROWN, masters=3, machines=3) as living:
        await living.api.delete(kinds.MACHINES, machine_api.machine_name("master-1"), NAMESPACE)
        await living.eventually(lambda: phase_of(living, "master-1"), "Deleting")
        await living.api.create(kinds.BARE_METAL_HOSTS, machine_api.host("master-3"))
        await living.api.create(kinds.MACHINES, machine_api.machine("master-3"))
        await living.eventually(living.voters, ["master-0", "master-2", "master-3"])
        await living.api.delete(kinds.BARE_METAL_HOSTS, "master-1", NAMESPACE)
        await living.eventually(lambda: phase_of(living, "master-1"), "gone")
        await living.eventually(living.ready, ["master-0", "master-2", "master-3"])
        await living.eventually(lambda: phase_of(living, "master-3"), "Running")
        nodes = {one["metadata"]["name"] for one in await living.api.list(kinds.NODES)}
        assert nodes == {"master-0", "master-2", "master-3"}


async def test_on_a_grown_single_node_the_member_goes_at_once(running):
    """What the install-config wanted is one, and three vote."""
    async with running(masters=3, machines=3, platform="BareMetal") as living:
        await living.api.delete(kinds.MACHINES, machine_api.machine_name("master-2"), NAMESPACE)
        await living.eventually(living.voters, ["master-0", "master-1"])
        assert len(await living.ready()) == 3


async def test_a_silent_management_controller_is_an_error_of_the_host_alone(running):
    async with running(**GROWN, masters=3, machines=3) as living:
        living.actors.order("fail_host", "master-0")

        async def host():
            status = (await living.api.get(kinds.BARE_METAL_HOSTS, "master-0", NAMESPACE))["status"]
            return status["operationalStatus"], status.get("errorType"), status["errorMessage"].rpartition(": ")[2]

        await living.eventually(host, ("error", "power management error", "the management controller does not answer"))
        assert await phase_of(living, "master-0") == "Running"
        living.actors.order("mend_host", "master-0")
        await living.eventually(host, ("OK", None, ""))
