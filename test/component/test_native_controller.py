"""OpenShift's own controller is switched on, does the work, and is taken away again: never two at once, never none.

It is in charge while feature gate MutableTopology is on for the version that runs and its conditions are there. It
knows nothing of us, so it is always we who stand down. Its conditions outlive it, as they do in a real downgrade.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import cluster, definitions
from test.component import world as worlds
from test.component.operator_conditions import until_told
from topology_simulator import commands, kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from test.component.process import Operator
    from test.component.world import World


async def gate(world: World, *, on: bool) -> None:
    """Switch the native controller on or off for the version that runs."""
    await cluster.switch_native(world.api, on=on)


async def native(world: World, upgradeable: str, reason: str, message: str = "") -> None:
    """Write what the native controller writes about its transition."""
    await cluster.native_says(world.api, upgradeable, reason, message)


async def native_comes(world: World) -> None:
    """Its gate is on, and it has nothing to do."""
    await native(world, "True", "AsExpected")
    await gate(world, on=True)


async def until_it_leads(world: World) -> dict[str, Any]:
    """Wait until we have stood down."""
    return await world.until_condition("Disabled", "True", "NativeControllerActive")


async def metric_says(operator: Operator, phase: str) -> None:
    """Wait until the metric of the phase says so."""

    async def look() -> bool:
        shown = {one: await operator.metric("topology_transition_phase", phase=one) for one in _PHASES}
        return shown == {**dict.fromkeys(_PHASES, 0.0), phase: 1.0}

    await polling.until(f"the metric says {phase}", look)


_PHASES = ("Idle", "Unsupported", "Pending", "Admitting", "Converging", "Completed")


@pytest.mark.on_real
async def test_the_request_is_handed_over_and_its_transition_is_shown(
    world: World, figure: Callable[[str], None]
) -> None:
    before = await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.with_the_native_field)
    try:
        await _handed_over(world, figure)
    finally:
        await definitions.restore(world.api, kinds.INFRASTRUCTURES, before)


async def _handed_over(world: World, figure: Callable[[str], None]) -> None:
    operator = await world.idle_operator()
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.ask_for()
    await world.until_phase("Pending")
    await native_comes(world)
    said = await until_it_leads(world)
    command = commands.within(said["message"])
    assert command.startswith("oc patch infrastructure cluster"), said["message"]
    await world.until_phase("Idle")
    await commands.run(world.api, command)
    assert (await world.infrastructure())["spec"]["controlPlaneTopology"] == worlds.DESIRED
    written = [one for one in world.server.writes if one.resource == "infrastructures"]

    await native(world, "False", "PreflightCheckFailed", "control plane nodes: 2 of 3 are ready")
    await metric_says(operator, "Pending")
    shown = await until_message(world, "2 of 3 are ready")
    figure(f"while the native controller waits: {shown}")
    assert "oc patch" not in shown, "the request has been handed over"
    await native(world, "False", "TopologyTransitionInProgress")
    await metric_says(operator, "Admitting")
    moved = {"controlPlaneTopology": worlds.DESIRED, "infrastructureTopology": worlds.DESIRED}
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", moved)
    await metric_says(operator, "Converging")
    await native(world, "True", "TopologyTransitionComplete")
    await metric_says(operator, "Completed")
    route = {"source": "SingleReplica/SingleReplica", "target": "HighlyAvailable/HighlyAvailable"}
    for counter in ("started", "completed"):
        assert await operator.metric(f"topology_transition_{counter}_total", **route) == 1.0

    assert [one for one in world.server.writes if one.resource == "infrastructures"] == written
    assert world.server.topology_changes == []
    await until_told(world, Disabled="NativeControllerActive")
    assert "TopologyChanged" not in await world.reasons()


async def until_message(world: World, text: str) -> str:
    """Wait until condition Disabled contains a text and return its message."""

    async def look() -> str:
        message = str((await world.condition("Disabled"))["message"])
        return message if text in message else ""

    return await polling.until(f"Disabled says {text!r}", look)
