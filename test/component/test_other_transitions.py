"""Transitions other than the one of a compact cluster: each is a file, and the same operator leads through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test import polling
from test.component import cluster
from test.component import world as worlds
from test.component.broken_facts import until_failing
from topology_simulator import cluster as simulated
from topology_simulator import follow, kinds

if TYPE_CHECKING:
    import pathlib

    from test.component import backend
    from test.component.world import World

_WORKERS = ("worker-0", "worker-1")
_HA = "HighlyAvailable"


async def cordon(world: World, *names: str, wanted: bool = True) -> None:
    for name in names:
        await world.api.patch(kinds.NODES, name, {"spec": {"unschedulable": wanted or None}})


@pytest.mark.parametrize("infrastructure", ["SingleReplica", _HA])
async def test_a_single_node_with_workers_gets_a_control_plane_of_three(
    apiserver: backend.Place, tmp_path: pathlib.Path, infrastructure: str
) -> None:
    shape = simulated.Shape(masters=3, workers=2, schedulable=False, infrastructure=infrastructure)
    async with worlds.opened(apiserver, tmp_path, shape) as world:
        await cordon(world, *_WORKERS)
        await world.idle_operator()
        await world.ask_for()
        await until_failing(world, "nowhere to put what moves", "EligibleWorkers")
        found = await world.check("EligibleWorkers")
        assert found["message"].startswith("Wanted: "), found
        assert all(name in found["message"] for name in _WORKERS), found
        assert (await world.record())["name"] == "sno-to-ha-with-workers"
        assert "DedicatedWorkers" in {one["name"] for one in (await world.record())["checks"]}
        await cordon(world, *_WORKERS, wanted=False)
        record = await world.completed_once()
        assert record["name"] == "sno-to-ha-with-workers"
        assert record["source"] == {"controlPlane": "SingleReplica", "infrastructure": infrastructure}


async def test_nodes_set_aside_for_infrastructure_count_once_routers_tolerate_their_taint(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    """What the watch knows of the IngressController holds for the live reads before the change too."""
    shape = simulated.Shape(masters=3, workers=2, schedulable=False)
    infra = "node-role.kubernetes.io/infra"
    taint = {"key": infra, "value": "reserved", "effect": "NoSchedule"}
    async with worlds.opened(apiserver, tmp_path, shape) as world:
        for name in _WORKERS:
            set_aside = {"metadata": {"labels": {infra: ""}}, "spec": {"taints": [taint]}}
            await world.api.patch(kinds.NODES, name, set_aside)
        await world.idle_operator()
        await world.ask_for()
        await until_failing(world, "infrastructure has nowhere to go", "EligibleWorkers")
        found = await world.check("EligibleWorkers")
        refused = f"has taint {infra}=reserved:NoSchedule, which IngressController default does not tolerate"
        assert all(f"{name} ({refused})" in found["message"] for name in _WORKERS), found
        placement = {
            "nodeSelector": {"matchLabels": {infra: ""}},
            "tolerations": [{"key": infra, "operator": "Equal", "value": "reserved", "effect": "NoSchedule"}],
        }
        change = {"spec": {"nodePlacement": placement}}
        await world.api.patch(kinds.INGRESS_CONTROLLERS, "default", change, simulated.INGRESS_NAMESPACE)
        assert (await world.completed_once())["name"] == "sno-to-ha-with-workers"


async def test_workers_that_leave_while_pending_change_the_definition(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    shape = simulated.Shape(masters=3, workers=1)
    async with worlds.opened(apiserver, tmp_path, shape) as world:
        await cluster.set_ready(world.api, "master-2", ready=False)
        await world.idle_operator()
        await world.ask_for()
        await world.until_phase("Pending")
        assert (await world.record())["name"] == "sno-to-ha-with-workers"
        await world.api.delete(kinds.NODES, "worker-0")

        async def compact() -> bool:
            return bool((await world.record())["name"] == worlds.NAME)

        await polling.until("the definition of a compact cluster is in use", compact)
        # The machine config operator sees that the pool is empty.
        await follow.follow(world.api)
        await cluster.set_ready(world.api, "master-2", ready=True)
        assert (await world.completed_once())["name"] == worlds.NAME


# -- the control plane is where it is to be, the infrastructure is not

_SPREAD = simulated.Shape(control_plane=_HA, infrastructure="SingleReplica", masters=3)


@pytest.mark.on_real
async def test_only_the_infrastructure_moves(apiserver: backend.Place, tmp_path: pathlib.Path) -> None:
    async with worlds.opened(apiserver, tmp_path, _SPREAD) as world:
        before = (await world.api.get(kinds.KUBE_API_SERVERS, "cluster"))["status"]["latestAvailableRevision"]
        await world.idle_operator()
        await world.ask_for()
        record = await world.completed_once()
        assert record["name"] == "infra-to-ha"
        assert record["source"] == {"controlPlane": _HA, "infrastructure": "SingleReplica"}
        asked = {one["name"] for one in record["checks"] if one["stage"] == "Convergence"}
        assert {"RouterReplicas", "MonitoringReplicas", "ImageRegistryReplicas"} < asked
        assert not {"MachineConfigPoolsRolledOut", "KubeAPIServerRevision"} & asked
        after = (await world.api.get(kinds.KUBE_API_SERVERS, "cluster"))["status"]["latestAvailableRevision"]
        assert after == before


async def test_only_removing_the_request_cancels_where_it_equals_the_control_plane(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    async with worlds.opened(apiserver, tmp_path, _SPREAD) as world:
        await cordon(world, *cluster.MASTERS[1:])
        await world.idle_operator()
        await world.ask_for()
        await until_failing(world, "one node to put it on", "EligibleWorkers", "ControlPlaneNodes")
        await world.ask_for()
        assert (await world.until_phase("Pending"))["name"] == "infra-to-ha"
        await world.ask_for(None)
        await world.until_phase("Idle")
        await world.until_told("TransitionCancelled")
        await cordon(world, *cluster.MASTERS[1:], wanted=False)
        assert await world.moves() == []
        assert world.server.topology_changes == []


async def test_monitoring_that_does_not_spread_is_named(apiserver: backend.Place, tmp_path: pathlib.Path) -> None:
    async with worlds.opened(apiserver, tmp_path, _SPREAD) as world:
        await world.idle_operator()
        world.operands.behind.add("monitoring")
        await world.ask_for()
        await until_failing(world, "monitoring", "MonitoringReplicas", "ClusterOperatorsStable")
        await world.operands.go_on()
        await world.completed_once()
