"""Beside OpenShift's own controller: it is in charge while its feature gate is on, and we never stand in its way.

The simulator's actor writes here what the real one was seen to write. It knows nothing of us, so it is always we who
stand down. What each of its conditions means, and one that dies, is told in virtual time (test/unit/core:
test_standing_down.py, test_following_what_the_native_controller_began.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import cluster, definitions
from test.component import world as worlds
from topology_simulator import client as clients
from topology_simulator import conditions, kinds, kubeconfig, pace, probes
from topology_simulator.actors import native as actors

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Callable

    from test.component.world import World

pytestmark = pytest.mark.usefixtures("native")
_PACE = dataclasses.replace(pace.FAST, native=1.5, native_away=0.3)
_PREFIX = "TopologyTransitionController"
_WELL = {"Available": "True", "Progressing": "False", "Degraded": "False"}
_COMES = 30.0
ROUTE = {"source": "SingleReplica/SingleReplica", "target": "HighlyAvailable/HighlyAvailable"}


@pytest.fixture
async def native(world: World, tmp_path: pathlib.Path) -> AsyncIterator[None]:
    """Let it act; its gate is off."""
    access = kubeconfig.access(world.server.kubeconfig())
    async with clients.Client(access, actors.NativeController.agent) as api, asyncio.TaskGroup() as group:
        task = group.create_task(actors.NativeController(api, _PACE).run())
        yield
        task.cancel()


@contextlib.asynccontextmanager
async def served(world: World, alter: Callable[[dict[str, Any]], dict[str, Any]]) -> AsyncIterator[None]:
    """Serve another definition of Infrastructure inside this context.

    A watch from before shows objects by the earlier definition until the server ends it, a second later: what is
    written meanwhile lacks its new fields for whoever goes on from there, since nothing is sent twice.
    """
    cut = {"user_agent": "*", "verb": "watch", "resource": "infrastructures"}
    before = await definitions.change(world.api, kinds.INFRASTRUCTURES, alter)
    try:
        world.server.fault("cut", **cut)
        yield
    finally:
        await definitions.restore(world.api, kinds.INFRASTRUCTURES, before)
        world.server.fault("cut", **cut)


def of_the_payload(schema: dict[str, Any]) -> dict[str, Any]:
    """The payload's definition where the gate can be on: its own field, and none of ours."""
    return definitions.with_the_native_field(definitions.without_our_fields(schema))


async def said_by_it(world: World, type_: str = "Upgradeable") -> dict[str, Any]:
    """One of its conditions."""
    return conditions.find(await world.api.get(kinds.CONFIGS, "cluster"), f"{_PREFIX}{type_}")


async def until_it_says(world: World, reason: str, seconds: float = _COMES) -> None:
    await polling.until(
        f"the native controller says {reason}", lambda: said_by_it(world), seconds,
        holds=lambda found: found.get("reason") == reason,
    )  # fmt: skip


async def until_changed(world: World) -> None:
    await world.asked_until("the topology has changed", world.pair, _COMES, holds=lambda pair: pair == worlds.MOVED)


async def until_we_stand_down(world: World) -> None:
    await world.until_condition("Disabled", "True", "NativeControllerActive", seconds=_COMES)
    for type_, status in _WELL.items():
        await world.until_condition(type_, status)


async def until_message(world: World, holds: Callable[[str], object]) -> str:
    """Wait until the message of Disabled is as wanted, and return it."""
    found = await polling.until(
        "Disabled says what is wanted", lambda: world.condition("Disabled"), holds=lambda found: holds(found["message"])
    )
    return str(found["message"])


def has_changed(message: str) -> bool:
    """Whether Disabled says that its change is behind it: played its pause may be over already."""
    return any(f"Its transition is {phase}" in message for phase in ("Converging", "Completed"))


@pytest.mark.on_real
async def test_where_the_definition_lacks_our_fields_we_are_well_and_it_converts(world: World) -> None:
    """It was blocked for ever by our Degraded, and by that of an operator that was started again."""
    async with served(world, of_the_payload):
        await cluster.switch_native(world.api, on=True)
        await until_it_says(world, "AsExpected")
        for name in ("operator-a", "operator-b"):
            operator = await world.operator(name)
            await until_we_stand_down(world)
            if name == "operator-a":
                await operator.kill()
                await world.forget_lease()
        reports = [one.body.get("status") or {} for one in world.server.writes if one.resource == "clusteroperators"]
        listed = [one for status in reports for one in status.get("conditions") or []]
        said = {(one["type"], one["status"]) for one in listed if one["type"] in _WELL}
        assert said == set(_WELL.items()), "not for a moment"

        await world.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"controlPlaneTopology": worlds.DESIRED}})
        await until_changed(world)
        await until_message(world, has_changed)
        await world.until_condition("Degraded", "False")
        assert await world.moves() == [worlds.MOVED]
        assert not [one for one in world.server.writes if one.resource == "infrastructures"]


@pytest.mark.on_real
async def test_where_our_patch_hides_its_field_we_say_what_goes_first(world: World) -> None:
    """Nobody could convert, and the command that was printed was dropped by the API."""
    await world.idle_operator()
    await cluster.switch_native(world.api, on=True)
    await until_we_stand_down(world)
    await world.ask_for()
    await until_message(world, lambda message: "sh crd-patch.sh remove" in message and "oc patch" not in message)
    async with served(world, of_the_payload):
        # Without news the definition is looked at every six minutes.
        news = {"metadata": {"annotations": {"example.com/news": "1"}}}
        await world.api.patch(kinds.INFRASTRUCTURES, "cluster", news)
        text = await until_message(world, lambda message: "oc patch" in message and "crd-patch" not in message)
        await probes.run_command(world.api, probes.command_in(text))
        await until_changed(world)
        await until_message(world, lambda message: "oc patch" not in message)
        assert await world.moves() == [worlds.MOVED]
        assert world.server.topology_changes == []


@pytest.mark.on_real
async def test_a_pending_request_is_handed_over_and_its_transition_is_shown(world: World) -> None:
    async with served(world, definitions.with_the_native_field):
        operator = await world.idle_operator()
        await cluster.set_ready(world.api, "master-2", ready=False)
        await world.ask_for()
        await world.until_phase("Pending")
        await cluster.switch_native(world.api, on=True)
        await until_we_stand_down(world)
        await world.until_phase("Idle")
        written = len(world.server.writes)
        text = await until_message(world, lambda message: "oc patch infrastructure cluster" in message)
        await probes.run_command(world.api, probes.command_in(text))
        await until_it_says(world, "PreflightCheckFailed")
        cause = "insufficient ready control plane nodes: need 3, have 2"
        text = await until_message(world, lambda message: cause in message)
        assert "oc patch" not in text, "the request has been handed over"

        await cluster.set_ready(world.api, "master-2", ready=True)
        await until_changed(world)
        await until_it_says(world, "TopologyTransitionComplete")
        await until_message(world, lambda message: "Its transition is Completed" in message)
        for counter in ("started", "completed"):
            counted = functools.partial(operator.metric, f"topology_transition_{counter}_total", **ROUTE)
            await polling.until(f"one transition is {counter}", counted, holds=lambda number: number == 1)
        assert await world.moves() == [worlds.MOVED]
        assert not [one for one in world.server.writes[written:] if one.resource == "infrastructures"]
        assert "TopologyChanged" not in await world.reasons()
