"""A client whose types do not know our field drops the record while the cluster converges: it is made again.

From its copy in ClusterOperator `topology`. The topology is written once, whatever is lost afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test import polling
from test.component.phases import reach
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World

_HEAD = ("name", "source", "target", "attempt", "requestedTime", "admittedTime", "completedTime", "baseline")


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
