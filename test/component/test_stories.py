"""Stories of clusters that are not ready, are in trouble, or keep something back that only a person can give.

Each goes from a state through an event to a state, by writes of whoever would write it. What they have in common: the
topology moves once and only when it may, and whatever is waited for has a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import cluster
from test.component import world as worlds
from test.component.broken_facts import LAST, VOTERS, condition, endpoints, until_failing
from topology_simulator import cluster as simulated
from topology_simulator import commands, conditions, kinds, operands

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import backend
    from test.component.world import World

_SHAPE = simulated.Shape(masters=3)


async def stays(world: World, phase: str) -> None:
    """It stays in this phase, and the topology where it is."""
    pair = await world.pair()

    async def unmoved() -> bool:
        return (await world.record())["phase"] == phase and await world.pair() == pair

    await world.stays_so(f"it stays {phase}", unmoved)


async def advisory(world: World, name: str) -> dict[str, Any]:
    """Read one advisory; empty when it is not there."""
    found = (await world.record()).get("advisories") or []
    return next((one for one in found if one["name"] == name), {})


async def until_advised(world: World, name: str) -> dict[str, Any]:
    """Wait for an advisory."""

    async def look() -> dict[str, Any]:
        return await advisory(world, name)

    return await polling.until(f"advisory {name}", look)


async def until_not_advised(world: World, name: str) -> None:
    """Wait until an advisory is gone."""

    async def look() -> bool:
        return not await advisory(world, name)

    await polling.until(f"no advisory {name}", look)


# -- not ready


async def test_a_learner_that_does_not_become_a_voter(world: World) -> None:
    await endpoints(**{LAST: None})(world.api)
    await condition(kinds.ETCDS, "cluster", "EtcdMembersProgressing", "True")(world.api)
    await world.idle_operator()
    await world.ask_for()
    await until_failing(world, "two voters", "EtcdVotingMembers", "EtcdHealthy", "ControlPlaneNodes")
    found = await world.check("ControlPlaneNodes")
    assert "master-2 (has no voting etcd member)" in found["message"], found
    await condition(kinds.ETCDS, "cluster", "EtcdMembersProgressing", "False")(world.api)
    await until_failing(world, "started, and still no voter", "EtcdVotingMembers", "ControlPlaneNodes")
    await stays(world, "Pending")

    await endpoints(**{LAST: VOTERS[LAST]})(world.api)
    await world.completed_once()


async def test_a_node_that_comes_and_goes(world: World) -> None:
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": False}})
    await world.idle_operator()
    await world.ask_for()
    for _ in range(3):
        await until_failing(world, "the node is away", "ControlPlaneNodes", "MastersSchedulable")
        await cluster.set_ready(world.api, "master-2", ready=True)
        await until_failing(world, "the node is back", "MastersSchedulable")
        await cluster.set_ready(world.api, "master-2", ready=False)
    await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": True}})
    await until_failing(world, "only the node", "ControlPlaneNodes")
    await stays(world, "Pending")
    assert (await world.reasons()).count("TransitionBlocked") == 1

    await cluster.set_ready(world.api, "master-2", ready=True)
    await world.completed_once()


async def test_etcd_without_a_quorum(world: World) -> None:
    sick = simulated.etcd_states(3, unhealthy=("master-1", "master-2"))
    await cluster.set_conditions(world.api, kinds.ETCDS, "cluster", *sick)
    await cluster.set_ready(world.api, "master-1", ready=False)
    await world.idle_operator()
    await world.ask_for()
    await until_failing(world, "no quorum", "EtcdHealthy", "ControlPlaneNodes")
    found = await world.check("EtcdHealthy")
    assert "EtcdMembersAvailable=False" in found["message"], found
    await stays(world, "Pending")

    await cluster.set_ready(world.api, "master-1", ready=True)
    one_left = simulated.etcd_states(3, unhealthy=("master-2",))
    await cluster.set_conditions(world.api, kinds.ETCDS, "cluster", *one_left)
    await until_failing(world, "a quorum, and one member is ill", "EtcdHealthy")
    await stays(world, "Pending")
    await cluster.set_conditions(world.api, kinds.ETCDS, "cluster", *simulated.etcd_states(3))
    await world.completed_once()


async def test_an_upgrade_that_is_under_way(world: World) -> None:
    await condition(kinds.CLUSTER_VERSIONS, "version", "Progressing", "True")(world.api)
    await condition(kinds.CLUSTER_OPERATORS, "network", "Progressing", "True")(world.api)
    await world.idle_operator()
    await world.ask_for()
    await until_failing(world, "upgrade", "NoUpgradeInProgress", "ClusterOperatorsStable")
    await condition(kinds.CLUSTER_OPERATORS, "network", "Progressing", "False")(world.api)
    await until_failing(world, "upgrade, between two operators", "NoUpgradeInProgress")
    await stays(world, "Pending")
    await world.until_condition("Upgradeable", "False", "TransitionPending")

    await condition(kinds.CLUSTER_VERSIONS, "version", "Progressing", "False")(world.api)
    await world.completed_once()
    await world.until_condition("Upgradeable", "True")


# -- what a person must do


@pytest.fixture
async def pinned(apiserver: backend.Place, tmp_path: pathlib.Path) -> AsyncIterator[World]:
    """A cluster whose router has an explicit number, as one that began with a single node has."""
    shape = simulated.Shape(masters=3, router_replicas=1)
    async with worlds.opened(apiserver, tmp_path, shape) as made:
        yield made


async def test_a_pinned_router_is_told_before_and_waited_for_by_name(pinned: World) -> None:
    world = pinned
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.idle_operator()
    await world.ask_for()
    await world.until_phase("Pending")
    told = await until_advised(world, "RouterReplicasPinned")
    assert "has spec.replicas set to 1, so the ingress operator will not scale it" in told["message"]
    assert told["command"].startswith("oc -n openshift-ingress-operator patch ingresscontroller default --type merge")

    await cluster.set_ready(world.api, "master-2", ready=True)
    await until_failing(world, "the router alone", "RouterReplicas")
    found = await world.check("RouterReplicas", "Convergence")
    assert "has spec.replicas set to 1, which no operator changes" in found["message"], found
    assert "It needs an administrator: see advisory RouterReplicasPinned" in found["message"], found
    await stays(world, "Converging")

    told = await until_advised(world, "RouterReplicasPinned")
    await commands.run(world.api, told["command"])
    await world.operands.go_on()
    await world.completed_once()
    await until_not_advised(world, "RouterReplicasPinned")


async def test_a_pinned_router_that_is_freed_before_is_never_waited_for(pinned: World) -> None:
    world = pinned
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.idle_operator()
    await world.ask_for()
    told = await until_advised(world, "RouterReplicasPinned")
    await commands.run(world.api, told["command"])
    await until_not_advised(world, "RouterReplicasPinned")
    await world.operands.go_on()
    await cluster.set_ready(world.api, "master-2", ready=True)
    await world.completed_once()


async def test_one_registry_is_advised_about_and_never_waited_for(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    """The documented registry of a cluster on premises: Managed, a volume, one replica, whatever the topology."""
    shape = simulated.Shape(masters=3, registry="Managed", registry_replicas=1)
    async with worlds.opened(apiserver, tmp_path, shape) as world:
        await cluster.set_ready(world.api, "master-2", ready=False)
        await world.idle_operator()
        await world.ask_for()
        told = await until_advised(world, "ImageRegistryReplicasFixed")
        assert "storage that several nodes can mount" in told["message"]
        await cluster.set_ready(world.api, "master-2", ready=True)
        record = await world.completed_once()
        assert "ImageRegistryReplicasFixed" in {one["name"] for one in record["advisories"]}


@pytest.mark.on_real
async def test_a_dnsmasq_configuration_that_the_installer_left(world: World) -> None:
    name = "50-master-dnsmasq-configuration"
    made = kinds.MACHINE_CONFIGS.new(name, spec={"config": {"ignition": {"version": "3.2.0"}}})
    await world.api.create(kinds.MACHINE_CONFIGS, made)
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.idle_operator()
    await world.ask_for()
    told = await until_advised(world, "DnsmasqConfigurationLeft")
    assert told["command"] == f"oc delete machineconfig {name}"
    await commands.run(world.api, told["command"])
    await until_not_advised(world, "DnsmasqConfigurationLeft")
    await cluster.set_ready(world.api, "master-2", ready=True)
    await world.completed_once()


async def converging(world: World) -> None:
    """Start an operator, and bring it to where one workload is missing."""
    await world.idle_operator()
    await converging_now(world)


async def converging_now(world: World) -> None:
    """Bring it to where one workload is missing."""
    world.operands.behind.add("openshift-monitoring/thanos-querier")
    await world.ask_for()
    await until_failing(world, "one workload", "MonitoringReplicas")


async def a_second_later(world: World) -> None:
    """Wait until the second in which the topology moved is over: times in objects are whole seconds."""
    moved = (await world.record())["admittedTime"]

    async def over() -> bool:
        return bool(conditions.now() > moved)

    await polling.until("the next second", over)


async def test_operators_that_read_the_topology_at_their_start_are_told_until_they_start(world: World) -> None:
    await converging(world)
    told = await until_advised(world, "TopologyReadAtStart")
    for one in operands.READERS:
        assert f"oc -n {one.namespace} delete pod -l app={one.app}" in told["command"], told
    await a_second_later(world)
    await commands.run(world.api, told["command"])
    for one in operands.READERS:
        await world.api.create(kinds.PODS, operands.reader(one, 1))
    await until_not_advised(world, "TopologyReadAtStart")
    await world.operands.go_on()
    await world.completed_once()
    assert not await advisory(world, "TopologyReadAtStart")


async def test_a_backup_from_before_is_told_until_there_is_a_newer_one(world: World) -> None:
    async def say(moment: str) -> None:
        annotation = {"topology.openshift.io/etcd-backup-taken": moment}
        await world.api.patch(kinds.CLUSTER_OPERATORS, "topology", {"metadata": {"annotations": annotation}})

    await world.idle_operator()
    await say(conditions.now(60.0))
    await converging_now(world)
    told = await until_advised(world, "EtcdBackupOutdated")
    assert "older than the change of the topology" in told["message"], told
    assert "cluster-backup.sh" in told["command"], told
    await a_second_later(world)
    await say(conditions.now())
    await until_not_advised(world, "EtcdBackupOutdated")
    await world.operands.go_on()
    await world.completed_once()


# -- what a cluster does not have


async def test_what_is_removed_or_disabled_needs_not_follow(apiserver: backend.Place, tmp_path: pathlib.Path) -> None:
    shape = simulated.Shape(masters=3, registry="Removed", without=("Console",))
    async with worlds.opened(apiserver, tmp_path, shape) as world:
        await world.idle_operator()
        await world.ask_for()
        await world.completed_once()
        for check, why in (
            ("ImageRegistryReplicas", "has managementState Removed"),
            ("ConsoleReplicas", "capability Console is not enabled on this cluster"),
        ):
            found = await world.check(check, "Convergence")
            assert found["status"] == "Met", found
            assert found["message"].startswith("Nothing has to follow: "), found
            assert why in found["message"], found
