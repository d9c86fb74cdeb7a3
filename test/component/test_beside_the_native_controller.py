"""Beside the native controller itself: the stories in which one of both stood in the other's way (real-native).

It acts here, played or real (`native_neighbour`). What it writes about itself, and what we make of each of its
conditions, is in `test_native_controller`; that a dead one is not waited for without end takes its Lease and minutes,
so it is told in virtual time (test/unit/core/test_following_what_the_native_controller_began.py).
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import cluster, definitions, native_neighbour, phases
from test.component import world as worlds
from topology_simulator import client as clients
from topology_simulator import commands, conditions, kinds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Callable

    from test.component.native_neighbour import Native, Played
    from test.component.world import World

_PREFIX = "TopologyTransitionController"
_WELL = {"Available": "True", "Progressing": "False", "Degraded": "False"}
_SOON = 10.0
_COMES = 30.0
ROUTE = {"source": "SingleReplica/SingleReplica", "target": "HighlyAvailable/HighlyAvailable"}


@pytest.fixture(params=native_neighbour.KINDS)
async def native(request: pytest.FixtureRequest, world: World, tmp_path: pathlib.Path) -> AsyncIterator[Native]:
    opened = native_neighbour.played if request.param == native_neighbour.PLAYED else native_neighbour.binary
    async with opened(world, tmp_path) as made:
        yield made


@pytest.fixture
async def played(world: World, tmp_path: pathlib.Path) -> AsyncIterator[Played]:
    async with native_neighbour.played(world, tmp_path) as made:
        yield made


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


def both_fields(schema: dict[str, Any]) -> dict[str, Any]:
    """The payload's definition with our patch."""
    return definitions.with_the_native_field(schema)


def of_the_payload(schema: dict[str, Any]) -> dict[str, Any]:
    """The payload's definition where the gate can be on: its own field, and none of ours."""
    return definitions.with_the_native_field(definitions.without_our_fields(schema))


async def request_of_it(world: World, topology: str | None = worlds.DESIRED) -> None:
    """Set the field that it reads."""
    await world.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"controlPlaneTopology": topology}})


async def said_by_it(world: World, type_: str = "Upgradeable") -> dict[str, Any]:
    """One of its conditions."""
    return conditions.of(await world.api.get(kinds.CONFIGS, "cluster"), f"{_PREFIX}{type_}")


async def until_it_says(world: World, reason: str, seconds: float = _COMES) -> None:
    async def says() -> bool:
        return (await said_by_it(world)).get("reason") == reason

    await polling.until(f"the native controller says {reason}", says, seconds)


async def until_changed(world: World) -> None:
    async def changed() -> bool:
        return await world.pair() == worlds.MOVED

    await polling.until("the topology has changed", changed, _COMES)


async def until_we_stand_down(world: World) -> None:
    await world.until_condition("Disabled", "True", "NativeControllerActive", seconds=_COMES)
    for type_, status in _WELL.items():
        await world.until_condition(type_, status)


async def until_message(world: World, holds: Callable[[str], object]) -> str:
    """Wait until the message of Disabled is as wanted, and return it."""

    async def look() -> str:
        message = str((await world.condition("Disabled"))["message"])
        return message if holds(message) else ""

    return await polling.until("Disabled says what is wanted", look)


async def until_advised(world: World, *, left: bool) -> dict[str, str]:
    """Wait until the record has the advisory about what was left behind, or has not, and return it."""

    async def look() -> list[dict[str, str]]:
        named = [one for one in (await world.record()).get("advisories") or [] if one["name"] == "NativeConditionsLeft"]
        return (named or []) if left else [] if named else [{}]

    return (await polling.until(f"NativeConditionsLeft is {'there' if left else 'gone'}", look))[0]


async def clean_up(world: World) -> None:
    """Do what the command of the advisory does: jq, and a PUT of status."""
    config = await world.api.get(kinds.CONFIGS, "cluster")
    kept = [one for one in config["status"]["conditions"] if not one["type"].startswith("TopologyTransition")]
    await world.api.put_status(kinds.CONFIGS, {**config, "status": {**config["status"], "conditions": kept}})

    async def well() -> bool:
        # A custom feature set blocks upgrades too, as long as it is chosen.
        found = await world.api.get(kinds.CLUSTER_OPERATORS, "config-operator")
        reasons = [conditions.of(found, type_).get("reason", "") for type_ in ("Progressing", "Upgradeable")]
        return not any("TopologyTransition" in reason for reason in reasons)

    await polling.until("nothing of it is left in ClusterOperator config-operator", well)


async def until_it_has_written(played: Played) -> None:
    """Its PUT of status; as the real one it tries again where somebody has written in between."""

    async def wrote() -> bool:
        try:
            await played.actor._change(worlds.DESIRED)
        except clients.ApiError as error:
            if error.code != 409:
                raise
            return False
        return True

    await polling.until("it has written the topology", wrote)


def has_changed(message: str) -> bool:
    """Whether Disabled says that its change is behind it: played its pause may be over already."""
    return any(f"Its transition is {phase}" in message for phase in ("Converging", "Completed"))


def changes_by_us(world: World) -> int:
    return len(world.server.topology_changes)


@pytest.mark.on_real
async def test_where_the_definition_lacks_our_fields_we_are_well_and_it_converts(world: World, native: Native) -> None:
    """Scenario 1. It was blocked for ever by our Degraded, and by that of an operator that was started again."""
    async with served(world, of_the_payload):
        await native.switch(on=True)
        await until_it_says(world, "AsExpected")
        for name in ("operator-a", "operator-b"):
            operator = await world.operator(name)
            began = time.monotonic()
            await until_we_stand_down(world)
            assert time.monotonic() - began < _SOON
            if name == "operator-a":
                await operator.kill()
                await world.forget_lease()
        reports = [one.body.get("status") or {} for one in world.server.writes if one.resource == "clusteroperators"]
        listed = [one for status in reports for one in status.get("conditions") or []]
        said = {(one["type"], one["status"]) for one in listed if one["type"] in _WELL}
        assert said == set(_WELL.items()), "not for a moment"

        await request_of_it(world)
        await until_changed(world)
        await until_message(world, has_changed)
        await world.until_condition("Degraded", "False")
        assert await world.moves() == [worlds.MOVED]
        assert not [one for one in world.server.writes if one.resource == "infrastructures"]


@pytest.mark.on_real
async def test_where_our_patch_hides_its_field_we_say_what_goes_first(world: World, native: Native) -> None:
    """Scenarios 2 and 3. Nobody could convert, and the command that was printed was dropped by the API."""
    await world.idle_operator()
    await native.switch(on=True)
    await until_we_stand_down(world)
    await world.ask_for()
    text = await until_message(world, lambda message: "oc patch" in message)
    assert 0 < text.index("sh crd-patch.sh remove") < text.index("oc patch infrastructure cluster")
    async with served(world, of_the_payload):
        # Without news the definition is looked at every six minutes.
        news = {"metadata": {"annotations": {"example.com/news": "1"}}}
        await world.api.patch(kinds.INFRASTRUCTURES, "cluster", news)
        text = await until_message(world, lambda message: "oc patch" in message and "crd-patch" not in message)
        await commands.run(world.api, commands.within(text))
        await until_changed(world)
        await until_message(world, lambda message: "oc patch" not in message)
        assert await world.moves() == [worlds.MOVED]
        assert changes_by_us(world) == 0


@pytest.mark.nightly
@pytest.mark.on_real
async def test_both_fields_at_once_have_one_writer_and_its_end_is_counted(world: World, native: Native) -> None:
    """A request that is taken away during its pause is completed all the same."""
    async with served(world, both_fields):
        operator = await world.idle_operator()
        await native.switch(on=True)
        await until_we_stand_down(world)
        spec = {"desiredTopology": worlds.DESIRED, "controlPlaneTopology": worlds.DESIRED}
        await world.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": spec})
        await until_changed(world)
        await until_message(world, has_changed)
        await request_of_it(world, None)
        await until_it_says(world, "TopologyTransitionComplete", native.pause + _COMES)
        await until_message(world, lambda message: "Its transition is Completed" in message)

        async def counted() -> bool:
            names = [f"topology_transition_{name}_total" for name in ("started", "completed")]
            return [await operator.metric(name, **ROUTE) for name in names] == [1.0, 1.0]

        await polling.until("one started, one completed", counted)
        assert await world.moves() == [worlds.MOVED]
        assert changes_by_us(world) == 0


@pytest.mark.nightly
@pytest.mark.on_real
async def test_begun_and_not_done_when_its_gate_goes_off_is_done_by_us(world: World, native: Native) -> None:
    """Scenario 4, first: its Progressing, which has no author any more, keeps nothing waiting."""
    async with served(world, both_fields):
        await world.idle_operator()
        await native.switch(on=True)
        await until_we_stand_down(world)
        refused = world.server.fault(
            "status", code=403, verb="update", resource="infrastructures", subresource="status",
            user_agent=native_neighbour.AGENT,
        )  # fmt: skip
        await request_of_it(world)
        await world.ask_for()
        await until_it_says(world, "TopologyTransitionInProgress")

        async def progressing() -> bool:
            found = await world.api.get(kinds.CLUSTER_OPERATORS, "config-operator")
            return conditions.is_true(found, "Progressing")

        await polling.until("ClusterOperator config-operator is Progressing", progressing)
        await native.switch(on=False)
        await world.until_condition("Disabled", "False", seconds=_COMES)
        await world.until_phase("Completed", seconds=_COMES)
        world.server.lift(refused)
        advisory = await until_advised(world, left=True)
        assert "TopologyTransitionInProgress" in advisory["message"]
        await clean_up(world)
        await until_advised(world, left=False)
        assert await world.moves() == [worlds.MOVED]
        assert changes_by_us(world) == 1


@pytest.mark.nightly
@pytest.mark.on_real
async def test_what_it_has_changed_when_its_gate_goes_off_is_followed_by_us_to_its_end(
    world: World, native: Native
) -> None:
    """Scenario 4, second: within its five minutes. Nobody followed, nothing was told, and its start had no end."""
    world.operands.on = False
    async with served(world, both_fields):
        operator = await world.idle_operator()
        await native.switch(on=True)
        await until_we_stand_down(world)
        await request_of_it(world)
        await until_it_says(world, "TopologyTransitionInProgress")
        await native.switch(on=False)
        await until_changed(world)
        record = await world.until_phase("Converging", seconds=_COMES)
        assert record["attempt"].startswith("native-")
        assert record["admittedTime"] == (await said_by_it(world, "Progressing"))["lastTransitionTime"]
        assert record["deadlineTime"] > record["admittedTime"]
        await world.until_condition("Disabled", "False")
        await world.until_condition("Upgradeable", "False", "TransitionInProgress")
        progressing = await world.until_condition("Progressing", "True", "TransitionConverging")
        assert "The native controller began this transition" in progressing["message"]
        advisory = await until_advised(world, left=True)
        assert "No controller follows" not in advisory["message"]

        async def is_started() -> bool:
            return await operator.metric("topology_transition_started_total", **ROUTE) == 1.0

        await polling.until("its start is counted", is_started)
        await operator.kill()
        await world.forget_lease()
        successor = await world.operator("operator-b")
        # Nothing but our record says now that there is something to follow.
        await clean_up(world)
        await until_advised(world, left=False)
        assert (await world.until_phase("Converging"))["attempt"] == record["attempt"]
        await world.until_condition("Upgradeable", "False", "TransitionInProgress")
        world.operands.on = True
        await world.operands.go_on()
        await world.until_phase("Completed", seconds=_COMES)
        await world.until_condition("Upgradeable", "True")

        async def is_completed() -> bool:
            return await successor.metric("topology_transition_completed_total", **ROUTE) == 1.0

        await polling.until("its end is counted", is_completed)
        assert await world.moves() == [worlds.MOVED]
        assert changes_by_us(world) == 0


@pytest.mark.nightly
@pytest.mark.on_real
async def test_it_had_completed_when_its_gate_went_off_and_nothing_is_followed(world: World, native: Native) -> None:
    """What it leaves behind then is old; whether anything has followed is not our word."""
    world.operands.on = False
    async with served(world, both_fields):
        await world.idle_operator()
        await native.switch(on=True)
        await until_we_stand_down(world)
        await request_of_it(world)
        await until_it_says(world, "TopologyTransitionComplete", native.pause + _COMES)
        await native.switch(on=False)
        await world.until_condition("Disabled", "False", seconds=_COMES)

        async def is_idle() -> bool:
            return str((await world.record()).get("phase", "Idle")) == "Idle"

        await world.stays_so("nothing is under way", is_idle)
        await world.until_condition("Upgradeable", "True")
        assert changes_by_us(world) == 0


@pytest.mark.nightly
@pytest.mark.on_real
async def test_what_it_waits_for_is_shown_and_when_its_gate_goes_off_we_do_it(world: World, native: Native) -> None:
    """Scenario 4, third, and 7: the cause is in its Progressing, and Upgradeable has a fixed sentence."""
    async with served(world, both_fields):
        await world.idle_operator()
        await cluster.set_ready(world.api, "master-2", ready=False)
        await native.switch(on=True)
        await until_we_stand_down(world)
        await request_of_it(world)
        await world.ask_for()
        await until_it_says(world, "PreflightCheckFailed")
        cause = "insufficient ready control plane nodes: need 3, have 2"
        assert cause in (await said_by_it(world, "Progressing"))["message"]
        await until_message(world, lambda message: cause in message)
        await native.switch(on=False)
        await world.until_condition("Disabled", "False", seconds=_COMES)
        await cluster.set_ready(world.api, "master-2", ready=True)
        await world.until_phase("Completed", seconds=_COMES)
        assert "PreflightCheckFailed" in (await until_advised(world, left=True))["message"]
        await clean_up(world)
        await until_advised(world, left=False)
        assert await world.moves() == [worlds.MOVED]
        assert changes_by_us(world) == 1


@pytest.mark.nightly
@pytest.mark.on_real
async def test_a_request_that_another_definition_hides_comes_back_with_it(world: World) -> None:
    """Scenario 8: a payload with another feature set. Our own write took request and record out for good."""
    await phases.reach(world, "Pending")
    before = len(world.server.writes)
    async with served(world, definitions.without_our_fields):
        # A watch that goes on shows nothing new; one that lists anew has neither field.
        await world.server.forget_history()
        await world.until_condition("Degraded", "True", "APINotInstalled", seconds=_COMES)
    assert not [one for one in world.server.writes[before:] if one.resource == "infrastructures"]
    assert (await world.infrastructure())["spec"]["desiredTopology"] == worlds.DESIRED
    assert (await world.record())["phase"] == "Pending"
    await phases.go_on(world, "Pending")
    # The definition is looked at once a minute.
    await world.until_phase("Completed", seconds=90.0)
    assert await world.moves() == [worlds.MOVED]


@pytest.mark.nightly
@pytest.mark.on_real
async def test_one_that_wakes_up_and_writes_what_we_have_written_costs_the_record_a_moment(
    world: World, played: Played
) -> None:
    """Scenario 9: its PUT drops our Converging record, which is rebuilt from its copy."""
    async with served(world, both_fields):
        await phases.reach(world, "Converging")
        await request_of_it(world)
        attempt = (await world.record())["attempt"]
        await until_it_has_written(played)
        record = await world.until_phase("Converging")
        assert record["attempt"] == attempt
        await world.operands.go_on()
        await world.until_phase("Completed")
        assert await world.moves() == [worlds.MOVED]
        assert changes_by_us(world) == 1


@pytest.mark.nightly
@pytest.mark.on_real
async def test_what_was_requested_of_it_before_we_converted_is_taken_back_by_the_command(
    world: World, native: Native
) -> None:
    """Smaller: spec.controlPlaneTopology was left over, and blocks upgrades as soon as the gate is on."""
    async with served(world, both_fields):
        await request_of_it(world, "SingleReplica")
        await world.idle_operator()
        await world.ask_for()
        await world.completed_once()
        await native.switch(on=True)
        await until_it_says(world, "UnsupportedTransition")
        text = await until_message(world, lambda message: "Its transition is Unsupported" in message)
        await commands.run(world.api, commands.within(text))
        await until_it_says(world, "AsExpected")
        await until_message(world, lambda message: "oc patch" not in message)


@pytest.mark.nightly
@pytest.mark.on_real
async def test_killed_between_its_condition_and_its_change_it_changes_once(world: World, native: Native) -> None:
    """And we are killed while it changes: the next process shows where it is, and writes nothing."""
    async with served(world, both_fields):
        operator = await world.idle_operator()
        await native.switch(on=True)
        await until_we_stand_down(world)
        refused = world.server.fault(
            "status", code=403, verb="update", resource="infrastructures", subresource="status",
            user_agent=native_neighbour.AGENT,
        )  # fmt: skip
        await request_of_it(world)
        await world.ask_for()
        await until_it_says(world, "TopologyTransitionInProgress")
        native.kill()
        await until_message(world, lambda message: "Its transition is Admitting" in message)
        world.server.lift(refused)
        native.start()
        await operator.kill()
        await until_changed(world)
        await world.forget_lease()
        await world.operator("operator-b")
        await until_message(world, has_changed)
        await until_we_stand_down(world)
        assert await world.moves() == [worlds.MOVED]
        assert changes_by_us(world) == 0
