"""Our fields are lost by the version operator's own definition, or by a typed writer, in the middle of a transition.

Nothing is claimed while nothing can be recorded. The record is made again from its copy in ClusterOperator `topology`,
and the topology is written once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import definitions, phases
from test.component import world as worlds
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World


_HEAD = ("name", "source", "target", "attempt", "requestedTime", "admittedTime", "completedTime", "baseline")


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


async def write_typed(world: World) -> None:
    """PUT the status as a client does whose types do not know our field."""

    async def put() -> bool:
        found = await world.infrastructure()
        found["status"].pop("topologyTransition")
        try:
            await world.api.put(kinds.INFRASTRUCTURES, found, "status")
        except clients.ApiError as error:
            if error.code != 409:
                raise
            return False
        return True

    await polling.until("the status is written", put)


@pytest.mark.on_real
async def test_a_typed_writer_drops_our_record_and_it_is_rebuilt(world: World) -> None:
    """While the operator watches, and while it is away."""
    await phases.reach(world, "Converging")
    lost = await world.record()

    def copied(report: dict[str, Any]) -> bool:
        found = report.get("extension") or {}
        return all(found.get(one) == lost.get(one) for one in ("phase", *_HEAD))

    await world.asked_until("the copy is written", world.report, holds=copied)
    await world.until_told("TopologyChanged")
    assert "baseline" in lost
    for name in ("operator-a", "operator-b"):
        if name == "operator-b":
            assert await world.operators[0].stop() == 0
        await write_typed(world)
        if name == "operator-b":
            assert not await world.record()
            await world.operator(name)
        rebuilt = await world.until_phase("Converging")
        assert {one: rebuilt.get(one) for one in _HEAD} == {one: lost.get(one) for one in _HEAD}
    await world.operands.go_on()
    await world.completed_once()
