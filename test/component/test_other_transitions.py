"""Transitions other than the one of a compact cluster: each is a file, and the same operator leads through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test.component import world as worlds
from topology_simulator import cluster as simulated
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib

    from test.component import backend

_HA = "HighlyAvailable"


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
