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
from test.component.phases import go_on, reach
from topology_simulator import cluster as simulated
from topology_simulator import commands, kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from test.component.process import Operator
    from test.component.world import World

_NEWER = "4.22.0"


def gates(**versions: bool) -> dict[str, Any]:
    """Status of FeatureGate: for each version (with _ for .) whether MutableTopology is on."""
    entries = []
    for version, on in versions.items():
        entry: dict[str, Any] = {"version": version.strip("v").replace("_", "."), "enabled": [], "disabled": []}
        entry["enabled" if on else "disabled"] = [{"name": "MutableTopology"}]
        entries.append(entry)
    return {"featureGates": entries}


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


async def nothing_is_written(world: World) -> None:
    """Infrastructure is left alone."""
    before = len(world.server.writes)

    async def unwritten() -> bool:
        return all(write.resource != "infrastructures" for write in world.server.writes[before:])

    await world.stays_so("Infrastructure is not written", unwritten)


@pytest.mark.nightly("Completed")
@pytest.mark.parametrize("phase", ["Idle", "Pending", "Admitting", "Completed"])
async def test_it_takes_over_in_any_phase_and_a_downgrade_gives_back(world: World, phase: str) -> None:
    await reach(world, phase)
    before = await world.record()
    await native_comes(world)
    said = await until_it_leads(world)
    assert "MutableTopology" in said["message"]
    for type_, status in (
        ("Available", "True"),
        ("Progressing", "False"),
        ("Degraded", "False"),
        ("Upgradeable", "True"),
    ):
        await world.until_condition(type_, status)
    if phase == "Completed":
        assert (await world.record())["attempt"] == before["attempt"]
    else:
        # What was not admitted is cleared, once.
        assert not {"attempt", "name", "checks"} & set(await world.until_phase("Idle"))
    changes = len(world.server.topology_changes)
    world.echo.on = True
    await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": True}})
    await nothing_is_written(world)
    assert len(world.server.topology_changes) == changes

    # A downgrade: the gate is gone, the conditions are still there.
    await gate(world, on=False)
    await world.until_condition("Disabled", "False", "AsExpected")
    if phase == "Idle":
        assert (await world.record())["phase"] == "Idle"
        await go_on(world, phase)
    # The change may have happened already.
    await world.operands.go_on()
    await world.until_phase("Completed", seconds=15.0)
    assert await world.moves() == [worlds.MOVED]
    assert len(world.server.topology_changes) == 1


async def test_what_we_have_moved_is_reported_to_its_end_and_then_handed_over(world: World) -> None:
    await reach(world, "Converging")
    await native_comes(world)

    async def ours() -> bool:
        disabled = await world.condition("Disabled")
        return bool(disabled["status"] == "False" and (await world.record())["phase"] == "Converging")

    await world.stays_so("it goes on converging", ours)
    await world.operands.go_on()
    await world.until_phase("Completed")
    await until_it_leads(world)
    assert await world.moves() == [worlds.MOVED]
    await world.until_told("TransitionCompleted")


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


async def test_a_gate_without_a_controller_is_waited_for(world: World) -> None:
    await gate(world, on=True)
    await world.idle_operator()
    await world.ask_for()
    await world.until_phase("Pending")

    async def waits() -> bool:
        message = (await world.condition("Progressing"))["message"]
        return "waiting whether the native controller shows up" in message and not world.server.topology_changes

    await polling.until("it says what it waits for", waits)
    await world.stays_so("it waits", waits)
    await native(world, "True", "AsExpected")
    await until_it_leads(world)
    assert await world.moves() == []


async def test_of_two_versions_the_one_that_runs_decides(world: World) -> None:
    """Around an upgrade both stand there: the gate of the newer one switches nothing yet."""
    await native(world, "True", "AsExpected")
    both = {f"v{simulated.VERSION.replace('.', '_')}": False, f"v{_NEWER.replace('.', '_')}": True}
    await world.api.patch_status(kinds.FEATURE_GATES, "cluster", gates(**both))
    await world.idle_operator()
    await world.until_condition("Disabled", "False", "AsExpected")
    await world.ask_for()
    await world.completed_once()


async def test_a_request_of_the_native_field_that_nobody_acts_on_is_named(world: World) -> None:
    async def named() -> bool:
        message = (await world.condition("Progressing")).get("message", "")
        return f"No controller acts on spec.controlPlaneTopology {worlds.DESIRED}" in message

    before = await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.with_the_native_field)
    try:
        await world.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"controlPlaneTopology": worlds.DESIRED}})
        await world.operator()
        await polling.until("Progressing names it", named)
    finally:
        await definitions.restore(world.api, kinds.INFRASTRUCTURES, before)
    assert await world.moves() == []
