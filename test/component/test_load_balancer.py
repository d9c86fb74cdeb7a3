"""A load balancer that nothing in the cluster can see: confirmed by an administrator, waited for where configured."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling
from test.component import cluster
from test.component import world as worlds
from test.component.broken_facts import until_failing
from test.unit.configuration.files import HEAD
from topology_controller import bindata
from topology_simulator import cluster as simulated
from topology_simulator import commands, kinds, machines

if TYPE_CHECKING:
    import pathlib

    from test.component import backend
    from test.component.world import World

ADVISORY, CHECK = "LoadBalancerBackendsUnconfirmed", "LoadBalancerBackends"
ANNOTATION = "topology.openshift.io/load-balancer-backends"
ADDRESSES = [machines.address(machines.number_of(name)) for name in cluster.MASTERS]
SOON = 5.0


async def advised(world: World) -> dict[str, str]:
    """Read the advisory; empty when it is not there."""
    every = (await world.record()).get("advisories") or []
    return next((one for one in every if one["name"] == ADVISORY), {})


async def until_advised(world: World, *, saying: str = "") -> dict[str, str]:
    async def ask() -> dict[str, str]:
        advisory = await advised(world)
        return advisory if saying in advisory.get("message", "") else {}

    return await polling.until(f"the advisory says {saying!r}", ask, SOON)


async def until_not_advised(world: World) -> None:
    async def ask() -> bool:
        return not await advised(world)

    await polling.until("the advisory is gone", ask, SOON)


async def annotate(world: World, value: str | None) -> None:
    change = {"metadata": {"annotations": {ANNOTATION: value}}}
    await world.api.patch(kinds.CLUSTER_OPERATORS, "topology", change)


async def pending(world: World, *flags: str) -> None:
    """Start an operator with a request that waits for a node."""
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.idle_operator("operator-a", *flags)
    await world.ask_for()
    await world.until_phase("Pending")


@pytest.mark.on_real
async def test_its_command_confirms_all_nodes_until_another_one_joins(world: World) -> None:
    await pending(world)
    advisory = await until_advised(world)
    named = ", ".join(f"{address} ({name})" for address, name in zip(ADDRESSES, cluster.MASTERS, strict=True))
    assert f"api.edge.example.com and api-int.edge.example.com lead. Not confirmed: {named}. " in advisory["message"]
    await commands.run(world.api, advisory["command"])
    operator = await world.api.get(kinds.CLUSTER_OPERATORS, "topology")
    assert operator["metadata"]["annotations"][ANNOTATION] == ",".join(ADDRESSES)
    await until_not_advised(world)

    await cluster.add_node(world.api, "master-3")
    fourth = machines.address(machines.number_of("master-3"))
    advisory = await until_advised(world, saying=f"Not confirmed: {fourth} (master-3). Confirmed: {ADDRESSES[0]}")
    await world.api.delete(kinds.NODES, "master-3")
    await until_not_advised(world)
    await cluster.set_ready(world.api, "master-2", ready=True)
    record = await world.completed_once()
    assert ADVISORY not in {one["name"] for one in record["advisories"]}


async def test_after_the_change_it_stays_through_the_end_of_the_request_until_it_is_confirmed(world: World) -> None:
    await world.idle_operator()
    await world.ask_for()
    record = await world.completed_once()
    assert ADVISORY in {one["name"] for one in record["advisories"]}
    found = await world.condition("Progressing")
    assert ADVISORY in found["message"]
    await world.ask_for(None)
    await world.until_phase("Idle")
    advisory = await until_advised(world)
    await commands.run(world.api, advisory["command"])
    await until_not_advised(world)
    await annotate(world, ADDRESSES[0])
    await until_advised(
        world, saying=f"Not confirmed: {ADDRESSES[1]} (master-1), {ADDRESSES[2]} (master-2). Confirmed:"
    )


@pytest.mark.on_real
async def test_what_is_no_address_is_quoted_and_a_long_address_is_the_short_one(world: World) -> None:
    await pending(world)
    await annotate(world, f"{','.join(ADDRESSES)},foo")
    advisory = await until_advised(world, saying='entry 4 ("foo") is no address')
    assert "write 192.0.2.10,192.0.2.11,192.0.2.12" in advisory["message"]
    for number, name in enumerate(cluster.MASTERS):
        address = {"type": "InternalIP", "address": f"2001:db8::{number + 1}"}
        node = await world.api.get(kinds.NODES, name)
        others = [one for one in node["status"]["addresses"] if one["type"] != "InternalIP"]
        await world.api.patch_status(kinds.NODES, name, {"addresses": [*others, address]})
    advisory = await until_advised(world, saying="2001:db8::3 (master-2)")
    assert "No control-plane node has" in advisory["message"]
    assert advisory["command"].endswith("=2001:db8::1,2001:db8::2,2001:db8::3")
    written = (ipaddress.ip_address(f"2001:db8::{number}").exploded.upper() for number in (1, 2, 3))
    await annotate(world, " , ".join(written))
    await until_not_advised(world)


@pytest.mark.on_real
async def test_where_it_is_configured_a_request_waits_until_it_is_confirmed(
    world: World, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(f'{HEAD}requireLoadBalancerBackends: "yes"\n')
    await world.idle_operator("operator-a", "--config", str(file))
    found = await world.until_condition("Degraded", "True", "ConfigurationInvalid")
    assert f"{file}:3: requireLoadBalancerBackends is 'yes'" in found["message"]

    file.write_text(f"{HEAD}requireLoadBalancerBackends: true\n")
    await world.until_condition("Degraded", "False", "AsExpected")

    async def judged() -> list[str]:
        (compact,) = (one for one in (await world.record())["available"] if one["name"] == worlds.NAME)
        return [one["name"] for one in compact.get("blockers") or []]

    async def blocked() -> bool:
        return await judged() == [CHECK]

    await polling.until("what is available is judged by it", blocked)

    await world.ask_for()
    await until_failing(world, "nothing is confirmed", CHECK)
    check = await world.check(CHECK)
    assert check["message"].startswith(f"Wanted: {ADDRESSES[0]} (master-0), {ADDRESSES[1]} (master-1), ")
    assert "Found: no such annotation" in check["message"]
    assert f"See advisory {ADVISORY}" in check["message"]
    await annotate(world, ",".join(ADDRESSES[:2]))

    async def two() -> bool:
        return f"Wanted: {ADDRESSES[2]} (master-2) in" in (await world.check(CHECK))["message"]

    await polling.until("one is left", two)
    await commands.run(world.api, (await until_advised(world))["command"])
    record = await world.completed_once()
    (met,) = (one for one in record["checks"] if one["name"] == CHECK)
    assert met["status"] == "Met"
    assert met["message"].startswith(f"As annotation {ANNOTATION} of ClusterOperator topology names ")


async def until_answered(world: World, status: str, words: str) -> None:
    async def ask() -> bool:
        check = await world.check(CHECK)
        return check["status"] == status and words in check["message"]

    await polling.until(f"{CHECK} is {status}: {words}", ask)


def on_bare_metal(folder: pathlib.Path) -> tuple[str, ...]:
    """Flags of an operator with a definition of its owner's, for bare metal, and with the check."""
    place = folder / "transitions"
    place.mkdir()
    definition = yaml.safe_load((bindata.root() / "transitions" / f"{worlds.NAME}.yaml").read_text())
    definition["platforms"] = ["BareMetal"]
    definition["convergence"]["machineMinutes"] = {"BareMetal": 30}
    (place / f"{worlds.NAME}.yaml").write_text(yaml.safe_dump(definition))
    file = folder / "config.yaml"
    file.write_text(f"{HEAD}requireLoadBalancerBackends: true\n")
    return "--transitions-dir", str(place), "--config", str(file)


USER = {"loadBalancer": {"type": "UserManaged"}}
VIPS = {"apiServerInternalIPs": ["192.168.126.5"], "ingressIPs": ["192.168.126.6"]}


@pytest.mark.on_real
async def test_on_bare_metal_it_goes_by_who_manages_the_load_balancer(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    shape = simulated.Shape(masters=3, platform="BareMetal")
    async with worlds.opened(apiserver, tmp_path, shape) as world:

        async def say(front: dict[str, Any]) -> None:
            # A merge patch: what the case before said goes first.
            for said in (None, front or None):
                platform = {"type": "BareMetal", "baremetal": said}
                await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"platformStatus": platform})

        await pending(world, *on_bare_metal(tmp_path))
        cases: list[tuple[dict[str, Any], str, str, bool]] = [
            ({}, "Unknown", "has no apiServerInternalIPs for it", False),
            (USER, "Unmet", f"Wanted: {ADDRESSES[0]} (master-0)", True),
            ({**USER, **VIPS}, "Unmet", f"Wanted: {ADDRESSES[0]} (master-0)", True),
            (VIPS, "Met", "The cluster manages its load balancer itself, at 192.168.126.5", False),
        ]
        for front, status, words, is_advised in cases:
            await say(front)
            await until_answered(world, status, words)
            assert bool(await advised(world)) is is_advised
        await cluster.set_ready(world.api, "master-2", ready=True)
        await world.until_phase("Converging", "Completed")
