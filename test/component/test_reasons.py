"""Whatever keeps the operator from working has a reason and a message of its own, and ends when its cause does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test.component import definitions
from test.component import world as worlds
from test.component.operator_conditions import until_told
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib

    from test.component import backend
    from test.component.world import World

_SNO = ("SingleReplica", "SingleReplica")


async def stays_put(world: World) -> None:
    """Nothing was written to Infrastructure by an operator, and nothing is by the next decisions."""

    async def ask() -> bool:
        return not [one for one in world.server.writes if one.resource == "infrastructures"]

    await world.stays_so("Infrastructure is not written", ask)


async def test_a_hosted_control_plane_is_looked_at_as_little_as_possible(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    async with worlds.opened(apiserver, tmp_path, simulated.Shape(hosted=True)) as world:
        await world.operator()
        await until_told(world, Disabled="HostedControlPlane")
        message = (await world.condition("Disabled"))["message"]
        for knob in ("HostedCluster", "controllerAvailabilityPolicy", "infrastructureAvailabilityPolicy"):
            assert knob in message
        with pytest.raises(clients.ApiError, match=r"cannot be reached from status\.controlPlaneTopology External"):
            await world.ask_for()
        await stays_put(world)
        asked = {one.resource for one in world.server.asked()}
        assert not asked & {"nodes", "etcds", "configmaps"}, asked


@pytest.mark.on_real
async def test_a_crd_without_our_fields_is_degraded_with_the_command_and_installing_it_recovers(world: World) -> None:
    before = await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_our_fields)
    await world.operator()
    await until_told(world, Degraded="APINotInstalled")
    message = (await world.condition("Degraded"))["message"]
    assert "infrastructures.config.openshift.io" in message
    assert "cluster-topology-operator manifests --crd-patch" in message
    await stays_put(world)
    await definitions.restore(world.api, kinds.INFRASTRUCTURES, before)
    await world.ask_for()
    await world.until_phase("Completed")
    await until_told(world, Progressing="TransitionCompleted")


async def test_a_topology_that_somebody_set_back_is_reported_and_never_fought_over(world: World) -> None:
    await world.idle_operator()
    world.operands.on = False
    await world.ask_for()
    await world.until_phase("Converging")
    back = {"controlPlaneTopology": "SingleReplica", "infrastructureTopology": "SingleReplica"}
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", back)
    await until_told(world, Degraded="TopologyOverwritten", Upgradeable="TransitionInProgress")
    message = (await world.condition("Degraded"))["message"]
    assert "field manager administrator" in message
    assert "was HighlyAvailable/HighlyAvailable and is SingleReplica/SingleReplica now" in message

    async def untouched() -> bool:
        return await world.pair() == _SNO and len(world.server.topology_changes) == 1

    await world.stays_so("topology is not written", untouched)
    # The way out is the one that the message gives.
    assert """'{"spec":{"desiredTopology":null}}'""" in message
    await world.ask_for(None)
    await world.until_phase("Idle")
    await until_told(world)
    # The other operators have followed back, too.
    await world.operands.go_on()
    await world.operands.followed(*_SNO)
    await world.ask_for()
    await world.until_phase("Completed")
    assert await world.pair() == worlds.MOVED
    assert len(world.server.topology_changes) == 2
