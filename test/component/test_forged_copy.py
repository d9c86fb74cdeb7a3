"""A client that may write the status of Infrastructure and of ClusterOperators, and may not change the topology.

It makes the copy of the record say Completed and drops the record. On the real server the policy refuses that
(`test/component/admission`); here nothing does, and nothing comes of it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World

_TIMES = 20
_NOW = "2026-03-01T12:00:00Z"


async def _forge(world: World, **changes: Any) -> None:
    """Write the copy and drop the record, both at once, as somebody else."""
    operator = await world.api.get(kinds.CLUSTER_OPERATORS, "topology")
    copy = {**operator["status"]["extension"], "completedTime": _NOW, **changes}
    await asyncio.gather(
        world.api.patch_status(kinds.CLUSTER_OPERATORS, "topology", {"extension": copy}),
        world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": None}),
    )


async def _converging(world: World) -> dict[str, Any]:
    world.operands.on = False
    await world.ask_for()
    return await world.until_phase("Converging")


async def test_a_copy_that_is_forged_while_the_operator_runs_ends_nothing(world: World) -> None:
    operator = await world.idle_operator()
    record = await _converging(world)
    for _ in range(_TIMES):
        await _forge(world, phase="Completed", baseline=None)
        await asyncio.sleep(0.05)
    again = await world.until_phase("Converging", "Completed")
    assert again["phase"] == "Converging"
    assert (again["attempt"], again["baseline"]) == (record["attempt"], record["baseline"])
    assert (await world.condition("Upgradeable"))["status"] == "False"
    assert operator.process.returncode is None
    await world.operands.go_on()
    await world.completed_once()


async def test_a_copy_that_is_forged_while_no_operator_runs_is_proven_again(world: World) -> None:
    operator = await world.idle_operator()
    await _converging(world)
    assert await operator.stop() == 0
    accepted = [{"name": "RouterReplicas", "acceptedTime": _NOW, "reason": "forged"}]
    await _forge(world, phase="Completed", accepted=accepted)
    await world.forget_lease()
    await world.operator("operator-b")
    again = await world.until_phase("Converging", "Completed")
    assert again["phase"] == "Converging"
    assert not again.get("accepted")
    assert (await world.until_condition("Upgradeable", "False"))["reason"] == "TransitionInProgress"
    await world.operands.go_on()
    await world.completed_once()


async def test_a_phase_that_nothing_has_does_not_halt_the_operator(world: World) -> None:
    operator = await world.idle_operator()
    await _converging(world)
    assert await operator.stop() == 0
    await _forge(world, phase="Xyzzy", phaseTransitionTime="x", name="$(id)")
    await world.forget_lease()
    await world.operator("operator-b")
    await world.until_condition("Degraded", "False", "AsExpected")
    for condition in (await world.api.get(kinds.CLUSTER_OPERATORS, "topology"))["status"]["conditions"]:
        assert "$(id)" not in condition["message"], condition
