"""The version operator puts its own Infrastructure definition back in the middle of a transition.

Our fields are pruned from then on, also from what a read shows. Nothing is claimed meanwhile that cannot be recorded,
the reason is told, and it heals when the definition is patched again. At the start and while Pending: `test_reasons`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test.component import definitions, phases
from test.component import world as worlds
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World


async def put_back(world: World) -> definitions.Versions:
    """Serve the definition of a payload that does not know this operator; return ours."""
    return await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_our_fields)


async def until_missing(world: World) -> None:
    """Wait until ClusterOperator topology names the definition and the command that patches it."""
    degraded = await world.until_condition("Degraded", "True", "APINotInstalled", seconds=15.0)
    assert "infrastructures.config.openshift.io" in degraded["message"]
    assert "cluster-topology-operator manifests --crd-patch" in degraded["message"]


@pytest.mark.on_real
async def test_put_back_while_admitting_nothing_moves_and_the_request_can_be_made_again(world: World) -> None:
    await phases.reach(world, "Admitting")
    block = await world.until_condition("Upgradeable", "False", "TransitionInProgress")
    ours = await put_back(world)
    # The echo arrives: the last thing that the change of topology waited for.
    await phases.go_on(world, "Admitting")

    await until_missing(world)
    # The copy of the record still says Admitting: whether a change is on its way cannot be told from here.
    assert (await world.condition("Upgradeable"))["message"] == block["message"]
    assert await world.pair() == world.installed
    assert await world.moves() == []
    assert world.server.topology_changes == []

    await definitions.restore(world.api, kinds.INFRASTRUCTURES, ours)
    # The request was dropped with the field, so this is another one, and may be told as such.
    await world.ask_for()
    await world.until_phase("Completed", seconds=20.0)
    assert await world.moves() == [worlds.MOVED]
    assert len(world.server.topology_changes) == 1
    await world.until_condition("Degraded", "False", "AsExpected")


async def test_put_back_while_converging_upgrades_stay_blocked_and_it_is_finished_later(world: World) -> None:
    await phases.reach(world, "Converging")
    attempt = (await world.record())["attempt"]
    await world.until_condition("Progressing", "True", "TransitionConverging")
    block = await world.until_condition("Upgradeable", "False", "TransitionInProgress")
    ours = await put_back(world)
    # All operators follow meanwhile: with its record it would be Completed now.
    await phases.go_on(world, "Converging")

    await until_missing(world)
    assert await world.pair() == worlds.MOVED
    assert "topologyTransition" not in (await world.infrastructure())["status"]

    async def still_blocked() -> bool:
        said = {name: await world.condition(name) for name in ("Upgradeable", "Progressing", "Available")}
        return (
            (said["Upgradeable"]["status"], said["Upgradeable"]["message"]) == ("False", block["message"])
            and said["Progressing"].get("reason") != "TransitionCompleted"
            and said["Available"]["status"] == "True"
        )

    await world.stays_so("minor upgrades stay blocked, nothing is called completed", still_blocked)

    await definitions.restore(world.api, kinds.INFRASTRUCTURES, ours)
    await world.ask_for()
    record = await world.completed_once(seconds=20.0)
    assert record["attempt"] == attempt
    assert len(world.server.topology_changes) == 1
    await world.until_condition("Upgradeable", "True", "AsExpected")
    await world.until_condition("Degraded", "False", "AsExpected")
