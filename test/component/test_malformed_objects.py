"""A record, or an Infrastructure, that breaks its schema: named, never a traceback, until it is mended."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import cluster, definitions
from test.component.operator_conditions import deafen, until_told
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World


@pytest.mark.parametrize(
    "spoilt",
    [
        {"topologyTransition": "Idle"},
        {"topologyTransition": {"phase": "Converging", "checks": [{"name": None}]}},
    ],
    ids=["text", "broken-checks"],
)
async def test_a_record_that_cannot_be_read_is_replaced_and_nothing_is_made_of_it(
    world: World, spoilt: dict[str, Any]
) -> None:
    def free_record(schema: dict[str, Any]) -> dict[str, Any]:
        changed = definitions.without_rules(copy.deepcopy(schema))
        changed["properties"]["status"]["properties"]["topologyTransition"] = {
            "x-kubernetes-preserve-unknown-fields": True
        }
        return changed

    await world.idle_operator()
    deafen(world.operands)
    await definitions.change(world.api, kinds.INFRASTRUCTURES, free_record)
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", spoilt)

    async def replaced() -> bool:
        found = (await world.infrastructure())["status"].get("topologyTransition")
        return isinstance(found, dict) and found.get("phase") == "Idle" and "checks" not in found

    await polling.until("the record is Idle", replaced)
    await world.ask_for()
    await world.until_phase("Converging")
    await cluster.follow_the_change(world.api)
    await world.until_phase("Completed")


def _without_types(schema: dict[str, Any]) -> dict[str, Any]:
    """Infrastructure with our fields as they are and anything in all others."""
    changed = definitions.without_rules(copy.deepcopy(schema))
    for part in ("spec", "status"):
        fields = changed["properties"][part]["properties"]
        for name in set(fields) - {"desiredTopology", "topologyTransition"}:
            fields[name] = {"x-kubernetes-preserve-unknown-fields": True}
    return changed


async def test_a_malformed_infrastructure_is_told_and_keeps_what_it_held_back(world: World) -> None:
    await world.idle_operator()
    await definitions.change(world.api, kinds.INFRASTRUCTURES, _without_types)
    world.operands.on = False
    await world.ask_for()
    await world.until_phase("Converging")
    reasons = {"Progressing": "TransitionConverging", "Upgradeable": "TransitionInProgress"}
    await world.until_condition("Upgradeable", "False", "TransitionInProgress")
    deafen(world.operands)
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"platformStatus": "None"})
    await until_told(world, **reasons, Degraded="EvidenceUnreadable")
    message = (await world.condition("Degraded"))["message"]
    assert "infrastructures.config.openshift.io/cluster" in message
    assert "status.platformStatus should be an object, found str" in message
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"platformStatus": {"type": "None"}})
    await until_told(world, **reasons)
    await cluster.follow_the_change(world.api)
    await world.until_phase("Completed")
    assert len(world.server.topology_changes) == 1
