"""A cluster of both families, or of IPv6 only, end to end: voters of etcd are found on their nodes, or missed.

etcd-endpoints has addresses without brackets, in a form of the etcd operator's choice; a node has several InternalIPs,
in the order of the cluster's families. The same address is written in more than one way.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from test.component import cluster
from topology_simulator import cluster as simulated
from topology_simulator import kinds, machines

if TYPE_CHECKING:
    from test.component.world import World

_PREFIX = "fd2e:6f44:5dd8:c956::"


def six(number: int) -> str:
    """The IPv6 address of a machine in its shortest form."""
    return f"{_PREFIX}{20 + number:x}"


async def readdress(world: World, name: str, *addresses: str) -> None:
    """Give a node these InternalIPs."""
    found = [{"type": "InternalIP", "address": one} for one in addresses]
    found += [{"type": "Hostname", "address": name}]
    node = await world.api.get(kinds.NODES, name)
    await world.api.put_status(kinds.NODES, {**node, "status": {**node["status"], "addresses": found}})


async def test_voters_are_found_on_their_nodes_whatever_the_family(world: World) -> None:
    """The first node has IPv4 before IPv6, the second IPv6 alone, written out in capital letters."""
    first, second, last = cluster.MASTERS
    await readdress(world, first, machines.address(0), six(0))
    await readdress(world, second, ipaddress.IPv6Address(six(1)).exploded.upper())
    # One voter is not where the nodes are: a third node that etcd does not run on.
    await readdress(world, last, f"{_PREFIX}dead")
    voters: dict[str, str | None] = {
        simulated.member_id(name): six(number) for number, name in enumerate(cluster.MASTERS)
    }
    await cluster.set_endpoints(world.api, voters)
    await world.idle_operator()
    await world.ask_for()
    assert six(2) in (await world.until_check("EtcdVotingMembers", "Unmet"))["message"]
    message = (await world.until_check("ControlPlaneNodes", "Unmet"))["message"]
    assert f"{last} (" in message
    assert f"{first} (" not in message
    assert f"{second} (" not in message
    assert world.server.topology_changes == []

    await readdress(world, last, machines.address(2), six(2))
    await world.completed_once()
    assert len(world.server.topology_changes) == 1
