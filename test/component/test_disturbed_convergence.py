"""What happens to a cluster and to our objects while it converges: the truth is told, nothing is undone, it goes on.

The topology is written once, whatever is lost afterwards. What somebody takes away from us is made again from what is
left: the record from its copy in ClusterOperator `topology`, and that from the record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component.phases import reach
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World

_HEAD = ("name", "source", "target", "attempt", "requestedTime", "admittedTime", "completedTime", "baseline")


# -- the cluster


# -- the operator


# -- what we have written


async def test_our_clusteroperator_is_deleted_by_hand(world: World) -> None:
    await reach(world, "Converging")
    await world.until_told("TransitionRequested")
    settled = ("Progressing", "True", "TransitionConverging")
    await world.until_condition(*settled)
    uid = (await world.api.get(kinds.CLUSTER_OPERATORS, "topology"))["metadata"]["uid"]
    record = await world.record()
    await world.api.delete(kinds.CLUSTER_OPERATORS, "topology")

    async def made_again() -> dict[str, Any]:
        found = await world.api.find(kinds.CLUSTER_OPERATORS, "topology")
        copy = ((found or {}).get("status") or {}).get("extension")
        return found if found and copy and found["metadata"]["uid"] != uid else {}

    made = await polling.until("it is made again, with the copy of the record", made_again)
    copied = {one: made["status"]["extension"].get(one) for one in _HEAD}
    now = await world.record()
    assert copied == {one: now.get(one) for one in _HEAD}
    assert {one: now.get(one) for one in _HEAD} == {one: record.get(one) for one in _HEAD}
    await world.until_condition(*settled)

    await world.operands.go_on()
    await world.completed_once()


async def write_typed(world: World) -> None:
    """PUT the status as a client does whose types do not know our field."""

    async def put() -> bool:
        found = await world.infrastructure()
        found["status"].pop("topologyTransition")
        try:
            await world.api.put_status(kinds.INFRASTRUCTURES, found)
        except clients.ApiError as error:
            if error.code != 409:
                raise
            return False
        return True

    await polling.until("the status is written", put)


@pytest.mark.on_real(first=True)
@pytest.mark.parametrize("operator", ["watches", "is away"])
async def test_a_typed_writer_drops_our_record_and_it_is_rebuilt(world: World, operator: str) -> None:
    await reach(world, "Converging")
    lost = await world.record()

    async def copied() -> bool:
        found = (await world.api.get(kinds.CLUSTER_OPERATORS, "topology"))["status"].get("extension") or {}
        return all(found.get(one) == lost.get(one) for one in ("phase", *_HEAD))

    await polling.until("the copy is written", copied)
    await world.until_told("TopologyChanged")
    if operator == "is away":
        assert await world.operators[0].stop() == 0
    await write_typed(world)
    assert operator == "watches" or not await world.record()
    if operator == "is away":
        await world.operator("operator-b")

    rebuilt = await world.until_phase("Converging")
    assert {one: rebuilt.get(one) for one in _HEAD} == {one: lost.get(one) for one in _HEAD}
    assert "baseline" in rebuilt
    await world.operands.go_on()
    await world.completed_once()
