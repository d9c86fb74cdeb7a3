"""A client deletes ClusterOperator `topology`, or replaces it by force, while a transition is under way.

It needs the right to delete ClusterOperators, which the version operator and administrators have. The copy of the
record goes with the object; the record itself stays, unless the client may write that too.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from test import polling
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World

MOVED = ("HighlyAvailable", "HighlyAvailable")


async def _converging(world: World) -> str:
    world.operands.on = False
    await world.ask_for()
    record = await world.until_phase("Converging")
    await _copied(world)
    return str(record["attempt"])


async def _copied(world: World) -> None:
    async def converging() -> bool:
        found = await world.api.find(kinds.CLUSTER_OPERATORS, "topology") or {}
        return ((found.get("status") or {}).get("extension") or {}).get("phase") == "Converging"

    await polling.until("the record is copied", converging)


async def _replace(world: World) -> None:
    """As `kubectl replace --force` does it: what stands in its status is dropped.

    The operator may be faster with an object of its own; then this is done again.
    """
    forged = kinds.CLUSTER_OPERATORS.new("topology", spec={}, status={"extension": {"phase": "Completed"}})

    async def created() -> bool:
        await world.api.delete(kinds.CLUSTER_OPERATORS, "topology")
        try:
            await world.api.create(kinds.CLUSTER_OPERATORS, forged)
        except clients.ApiError as error:
            if error.code != HTTPStatus.CONFLICT:
                raise
            return False
        return True

    await polling.until("it is replaced", created)


async def test_a_report_that_is_deleted_is_made_again_from_the_record(world: World) -> None:
    await world.idle_operator()
    attempt = await _converging(world)
    for spoil in (world.api.delete(kinds.CLUSTER_OPERATORS, "topology"), _replace(world)):
        await spoil
        await _copied(world)
        await world.until_condition("Upgradeable", "False", "TransitionInProgress")
        assert (await world.record())["attempt"] == attempt
    await world.operands.go_on()
    await world.completed_once()


async def test_a_report_and_a_record_that_are_taken_while_it_runs_are_both_made_again(world: World) -> None:
    await world.idle_operator()
    attempt = await _converging(world)
    await _replace(world)
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": None})
    assert (await world.until_phase("Converging", "Completed", "Idle"))["attempt"] == attempt
    await _copied(world)
    await world.until_condition("Upgradeable", "False", "TransitionInProgress")
    await world.operands.go_on()
    await world.completed_once()


async def test_a_report_and_a_record_that_are_taken_while_none_runs_are_a_fresh_start(world: World) -> None:
    """Nothing is left to go by. The topology stays as it is, and so does the request: it is fulfilled by status."""
    operator = await world.idle_operator()
    await _converging(world)
    assert await operator.stop() == 0
    await world.api.delete(kinds.CLUSTER_OPERATORS, "topology")
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": None})
    await world.forget_lease()
    await world.operator("operator-b")
    assert (await world.until_phase("Converging", "Completed", "Idle"))["phase"] == "Idle"
    assert await world.pair() == MOVED
    await world.until_condition("Upgradeable", "True", "AsExpected")
