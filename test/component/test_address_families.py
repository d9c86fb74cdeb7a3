"""Clusters of IPv6 only and of both families, end to end: voters of etcd are found on their nodes, or missed.

etcd-endpoints has addresses without brackets, in a form of the etcd operator's choice; a node has several InternalIPs,
in the order of the cluster's families. The same address is written in more than one way.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

import pytest

from test.component import cluster
from topology_simulator import cluster as simulated
from topology_simulator import kinds, machines

if TYPE_CHECKING:
    from test.component.world import World

_PREFIX = "fd2e:6f44:5dd8:c956::"
STRANGER = "fd2e:6f44:5dd8:c956::dead"


def six(number: int) -> str:
    """The IPv6 address of a machine in its shortest form."""
    return f"{_PREFIX}{20 + number:x}"


def whole(number: int) -> str:
    """The same, written out and in capital letters."""
    return ipaddress.IPv6Address(six(number)).exploded.upper()


def four(number: int) -> str:
    return machines.address(number)


FAMILIES = {
    "IPv6 only, written out on the nodes": ((whole,), six),
    "IPv4 first, etcd on IPv6": ((four, six), six),
}


async def readdress(world: World, name: str, *addresses: str) -> None:
    """Give a node these InternalIPs."""
    found = [{"type": "InternalIP", "address": one} for one in addresses]
    found += [{"type": "Hostname", "address": name}]
    node = await world.api.get(kinds.NODES, name)
    await world.api.put_status(kinds.NODES, {**node, "status": {**node["status"], "addresses": found}})


@pytest.mark.parametrize("families", FAMILIES)
async def test_voters_are_found_on_their_nodes_whatever_the_family(world: World, families: str) -> None:
    on_nodes, of_etcd = FAMILIES[families]
    last = cluster.MASTERS[-1]
    for number, name in enumerate(cluster.MASTERS):
        await readdress(world, name, *(family(number) for family in on_nodes))
    await cluster.set_endpoints(
        world.api,
        {simulated.member_id(name): of_etcd(number) for number, name in enumerate(cluster.MASTERS)},
    )
    # One voter is not where the nodes are: a third node that etcd does not run on.
    await readdress(world, last, STRANGER)
    await world.idle_operator()
    await world.ask_for()
    found = await world.until_check("EtcdVotingMembers", "Unmet")
    assert str(ipaddress.ip_address(of_etcd(2))) in found["message"], found
    nodes = await world.until_check("ControlPlaneNodes", "Unmet")
    assert last in nodes["message"]
    assert world.server.topology_changes == []

    await readdress(world, last, *(family(2) for family in on_nodes))
    await world.completed_once()
    assert len(world.server.topology_changes) == 1
