"""Transitions other than the one of a compact cluster: each is a file, and the same operator leads through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test.component import world as worlds
from test.component.broken_facts import until_failing
from topology_simulator import cluster as simulated
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib

    from test.component import backend
    from test.component.world import World

_WORKERS = ("worker-0", "worker-1")
_HA = "HighlyAvailable"


async def cordon(world: World, *names: str, wanted: bool = True) -> None:
    for name in names:
        await world.api.patch(kinds.NODES, name, {"spec": {"unschedulable": wanted or None}})


async def test_a_single_node_with_workers_gets_a_control_plane_of_three(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    shape = simulated.Shape(masters=3, workers=2, schedulable=False, infrastructure="SingleReplica")
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
        assert record["source"] == {"controlPlane": "SingleReplica", "infrastructure": "SingleReplica"}


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
