"""Our fields are lost by the version operator's own definition in the middle of a transition.

Nothing is claimed while nothing can be recorded, and the topology is written once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test.component import definitions, phases
from test.component import world as worlds
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World


@pytest.mark.on_real
async def test_put_back_while_admitting_nothing_moves_and_the_request_can_be_made_again(world: World) -> None:
    await phases.reach(world, "Admitting")
    block = await world.until_condition("Upgradeable", "False", "TransitionInProgress")
    ours = await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_our_fields)
    # The echo arrives: the last thing that the change of topology waited for.
    await phases.go_on(world, "Admitting")

    degraded = await world.until_condition("Degraded", "True", "APINotInstalled", seconds=15.0)
    for named in ("infrastructures.config.openshift.io", "cluster-topology-operator manifests --crd-patch"):
        assert named in degraded["message"]
    # The copy of the record still says Admitting: whether a change is on its way cannot be told from here.
    assert (await world.condition("Upgradeable"))["message"] == block["message"]
    assert await world.moves() == []
    assert world.server.topology_changes == []

    await definitions.restore(world.api, kinds.INFRASTRUCTURES, ours)
    # The request was dropped with the field, so this is another one, and may be told as such.
    await world.ask_for()
    await world.until_phase("Completed", seconds=20.0)
    assert await world.moves() == [worlds.MOVED]
    assert len(world.server.topology_changes) == 1
    await world.until_condition("Degraded", "False", "AsExpected")
