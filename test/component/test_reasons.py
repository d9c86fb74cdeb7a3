"""Whatever keeps the operator from working has a reason and a message of its own, and ends when its cause does.

Our fields are lost by the version operator's own definition, or by a typed writer: the record is made again from its
copy in ClusterOperator `topology`, and the topology is written once.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import cluster, definitions, phases
from test.component import world as worlds
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib

    from test.component import backend
    from test.component.world import World

_ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}


async def stays_put(world: World) -> None:
    """Nothing was written to Infrastructure by an operator, and nothing is by the next decisions."""

    async def ask() -> bool:
        return not [one for one in world.server.writes if one.resource == "infrastructures"]

    await world.stays_so("Infrastructure is not written", ask)


async def test_a_hosted_control_plane_is_looked_at_as_little_as_possible(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    async with worlds.opened(apiserver, tmp_path, simulated.Shape(hosted=True)) as world:
        await world.operator()
        await world.until_reasons(Disabled="HostedControlPlane")
        assert "controllerAvailabilityPolicy" in (await world.condition("Disabled"))["message"]
        with pytest.raises(clients.ApiError, match=r"cannot be reached from status\.controlPlaneTopology External"):
            await world.ask_for()
        await stays_put(world)
        asked = {one.resource for one in world.server.asked()}
        assert not asked & {"nodes", "etcds", "configmaps"}, asked


@pytest.mark.on_real
async def test_a_crd_without_our_fields_is_degraded_with_the_command_and_installing_it_recovers(world: World) -> None:
    before = await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_our_fields)
    await world.operator()
    await world.until_reasons(Degraded="APINotInstalled")
    message = (await world.condition("Degraded"))["message"]
    assert "infrastructures.config.openshift.io" in message
    assert "cluster-topology-operator manifests --crd-patch" in message
    await stays_put(world)
    await definitions.restore(world.api, kinds.INFRASTRUCTURES, before)
    await world.ask_for()
    await world.until_phase("Completed")
    await world.until_reasons(Progressing="TransitionCompleted")


def lax(schema: dict[str, Any]) -> dict[str, Any]:
    """Infrastructure with any record, and anything in all fields but the request."""
    changed = definitions.without_rules(copy.deepcopy(schema))
    for part in ("spec", "status"):
        fields = changed["properties"][part]["properties"]
        for name in set(fields) - {"desiredTopology"}:
            fields[name] = _ANYTHING
    return changed


def deafen(world: World) -> None:
    """Let the operands ignore what a test spoils: they are simpler than the operator."""

    async def ignore(_: dict[str, Any]) -> None:
        """Hear nothing."""

    world.operands._act = ignore  # type: ignore[method-assign, assignment]  # one instance, for one test


def is_idle(status: dict[str, Any]) -> bool:
    found = status.get("topologyTransition")
    return isinstance(found, dict) and found.get("phase") == "Idle" and "checks" not in found


async def test_a_record_that_cannot_be_read_is_replaced_and_nothing_is_made_of_it(world: World) -> None:
    await world.idle_operator()
    deafen(world)
    await definitions.change(world.api, kinds.INFRASTRUCTURES, lax)
    for spoilt in ("Idle", {"phase": "Converging", "checks": [{"name": None}]}):
        await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": spoilt})
        await world.until("the record is Idle", is_idle)
    await world.ask_for()
    await world.until_phase("Converging")
    await cluster.follow_the_change(world.api)
    await world.until_phase("Completed")


# -- in the middle of a transition: nothing is claimed while nothing can be recorded, and it heals

_HEAD = ("name", "source", "target", "attempt", "requestedTime", "admittedTime", "completedTime", "baseline")


async def put_back(world: World) -> definitions.Versions:
    """Serve the definition of a payload that does not know this operator; return ours."""
    return await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_our_fields)


async def until_missing(world: World) -> None:
    """Wait until ClusterOperator topology names the definition."""
    degraded = await world.until_condition("Degraded", "True", "APINotInstalled", seconds=15.0)
    assert "infrastructures.config.openshift.io" in degraded["message"]


@pytest.mark.on_real
async def test_put_back_while_admitting_nothing_moves_and_the_request_can_be_made_again(world: World) -> None:
    await phases.reach(world, "Admitting")
    block = await world.until_condition("Upgradeable", "False", "TransitionInProgress")
    ours = await put_back(world)
    # The echo arrives: the last thing that the change of topology waited for.
    await phases.go_on(world, "Admitting")

    await until_missing(world)
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
            await world.api.put_status(kinds.INFRASTRUCTURES, found)
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

    await polling.until("the copy is written", world.report, holds=copied)
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
