"""Whatever keeps the operator from working has a reason and a message of its own, and ends when its cause does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test.component import cluster, definitions
from test.component import world as worlds
from test.component.operator_conditions import until_told
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib

    from test.component import backend
    from test.component.world import World

_SNO = ("SingleReplica", "SingleReplica")


async def stays_put(world: World) -> None:
    """Nothing was written to Infrastructure by an operator, and nothing is by the next decisions."""

    async def ask() -> bool:
        return not [one for one in world.server.writes if one.resource == "infrastructures"]

    await world.stays_so("Infrastructure is not written", ask)


# -- Infrastructure is not what it should be


@pytest.mark.on_real
async def test_infrastructure_missing_is_degraded_until_it_is_created(world: World) -> None:
    kept = await world.infrastructure()
    await world.api.delete(kinds.INFRASTRUCTURES, "cluster")
    await world.operator()
    await until_told(world, Degraded="InfrastructureMissing")
    message = (await world.condition("Degraded"))["message"]
    assert "Infrastructure cluster does not exist" in message
    assert "installer" in message
    made = {**kept, "metadata": {"name": "cluster"}}
    await world.api.create(kinds.INFRASTRUCTURES, made)
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", kept["status"])
    await until_told(world)
    await world.ask_for()
    await world.until_phase("Completed")


async def test_infrastructure_deleted_while_watched_is_told_within_a_moment(world: World) -> None:
    await world.idle_operator()
    await world.api.delete(kinds.INFRASTRUCTURES, "cluster")
    await until_told(world, Degraded="InfrastructureMissing")


async def test_infrastructure_without_status_is_unknown_topology(world: World) -> None:
    kept = await world.infrastructure()
    await world.api.delete(kinds.INFRASTRUCTURES, "cluster")
    await world.api.create(kinds.INFRASTRUCTURES, {**kept, "metadata": {"name": "cluster"}, "status": None, "spec": {}})
    await world.operator()
    await until_told(world, Disabled="UnknownTopology")
    message = (await world.condition("Disabled"))["message"]
    assert "has no status.controlPlaneTopology" in message
    assert "no such key" not in message
    await stays_put(world)
    with pytest.raises(clients.ApiError, match=r"status\.controlPlaneTopology is not set") as refused:
        await world.ask_for()
    assert refused.value.code == 422
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", kept["status"])
    await until_told(world)


@pytest.mark.on_real(first=True)
@pytest.mark.parametrize("field", ["controlPlaneTopology", "infrastructureTopology"])
async def test_a_topology_that_is_not_known_is_left_alone_and_named(world: World, field: str) -> None:
    await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_rules)
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {field: "Galactic"})
    await world.ask_for()
    await world.operator()
    await until_told(world, Disabled="UnknownTopology")
    message = (await world.condition("Disabled"))["message"]
    assert f"status.{field} Galactic" in message
    await stays_put(world)
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {field: "SingleReplica"})
    await world.until_phase("Completed")


async def test_a_hosted_control_plane_is_looked_at_as_little_as_possible(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    async with worlds.opened(apiserver, tmp_path, simulated.Shape(hosted=True)) as world:
        await world.operator()
        await until_told(world, Disabled="HostedControlPlane")
        message = (await world.condition("Disabled"))["message"]
        for knob in ("HostedCluster", "controllerAvailabilityPolicy", "infrastructureAvailabilityPolicy"):
            assert knob in message
        with pytest.raises(clients.ApiError, match=r"cannot be reached from status\.controlPlaneTopology External"):
            await world.ask_for()
        await stays_put(world)
        asked = {one.resource for one in world.server.asked()}
        assert not asked & {"nodes", "etcds", "configmaps"}, asked


async def test_an_image_based_install_is_left_alone_while_its_label_is_there(world: World) -> None:
    label = "topology.openshift.io/image-based-install"
    await world.api.patch(kinds.INFRASTRUCTURES, "cluster", {"metadata": {"labels": {label: ""}}})
    await world.ask_for()
    await world.operator()
    await until_told(world, Disabled="ImageBasedInstall")
    assert label in (await world.condition("Disabled"))["message"]
    await stays_put(world)
    assert await world.pair() == _SNO
    await world.api.patch(kinds.INFRASTRUCTURES, "cluster", {"metadata": {"labels": {label: None}}})
    await world.until_phase("Completed")


# -- the request leads nowhere


async def test_a_request_that_nobody_defines_is_unsupported_with_what_would_be_legal(world: World) -> None:
    await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_rules)
    await world.idle_operator()
    await world.ask_for("DualReplica")
    record = await world.until_phase("Unsupported")
    assert record["source"] == {"controlPlane": "SingleReplica", "infrastructure": "SingleReplica"}
    await until_told(world, Progressing="UnsupportedTransition", Upgradeable="UnsupportedTransition")
    for type_ in ("Progressing", "Upgradeable"):
        message = (await world.condition(type_))["message"]
        assert "No transition leads from SingleReplica/SingleReplica to DualReplica on platform None" in message
        assert "HighlyAvailable (sno-to-ha-compact" in message
    assert "oc patch infrastructure cluster" in (await world.condition("Upgradeable"))["message"]
    await world.ask_for(None)
    await world.until_phase("Idle")
    await until_told(world)
    assert await world.pair() == _SNO


async def test_a_platform_without_transitions_is_only_mentioned_when_something_is_requested(
    apiserver: backend.Place, tmp_path: pathlib.Path
) -> None:
    async with worlds.opened(apiserver, tmp_path, simulated.Shape(platform="VSphere")) as world:
        await world.operator()
        await world.until_phase("Idle")
        await until_told(world)
        await world.ask_for()
        await world.until_phase("Unsupported")
        message = (await world.until_condition("Progressing", "False", "UnsupportedTransition"))["message"]
        assert "on platform VSphere" in message
        assert "platform None or External" in message


# -- the API is not there


@pytest.mark.on_real
async def test_a_crd_without_our_fields_is_degraded_with_the_command_and_installing_it_recovers(world: World) -> None:
    before = await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_our_fields)
    await world.operator()
    await until_told(world, Degraded="APINotInstalled")
    message = (await world.condition("Degraded"))["message"]
    assert "infrastructures.config.openshift.io" in message
    assert "cluster-topology-operator manifests --crd-patch" in message
    await stays_put(world)
    await definitions.restore(world.api, kinds.INFRASTRUCTURES, before)
    await world.ask_for()
    await world.until_phase("Completed")
    await until_told(world, Progressing="TransitionCompleted")


async def test_a_crd_that_loses_our_fields_while_pending_is_noticed(world: World) -> None:
    await world.idle_operator()
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.ask_for()
    await world.until_phase("Pending")
    before = await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_our_fields)
    await cluster.set_ready(world.api, "master-1", ready=False)
    await until_told(world, Degraded="APINotInstalled")
    assert await world.pair() == _SNO
    await definitions.restore(world.api, kinds.INFRASTRUCTURES, before)
    for name in ("master-1", "master-2"):
        await cluster.set_ready(world.api, name, ready=True)
    # Without news the definition is looked at once a minute; a request is news.
    await world.ask_for(None)
    await world.ask_for()
    await world.until_phase("Completed")


# -- somebody wrote over what we wrote


@pytest.mark.parametrize("phase", ["Converging", "Completed"])
async def test_a_topology_that_somebody_set_back_is_reported_and_never_fought_over(world: World, phase: str) -> None:
    await world.idle_operator()
    world.operands.on = phase == "Completed"
    await world.ask_for()
    await world.until_phase(phase)
    back = {"controlPlaneTopology": "SingleReplica", "infrastructureTopology": "SingleReplica"}
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", back)
    block = {"Upgradeable": "TransitionInProgress"} if phase == "Converging" else {}
    await until_told(world, Degraded="TopologyOverwritten", **block)
    message = (await world.condition("Degraded"))["message"]
    assert "field manager administrator" in message
    assert "was HighlyAvailable/HighlyAvailable and is SingleReplica/SingleReplica now" in message

    async def untouched() -> bool:
        return await world.pair() == _SNO and len(world.server.topology_changes) == 1

    await world.stays_so("topology is not written", untouched)
    # The way out is the one that the message gives.
    assert """'{"spec":{"desiredTopology":null}}'""" in message
    await world.ask_for(None)
    await world.until_phase("Idle")
    await until_told(world)
    # The other operators have followed back, too.
    await world.operands.go_on()
    await world.operands.followed(*_SNO)
    await world.ask_for()
    await world.until_phase("Completed")
    assert await world.pair() == worlds.MOVED
    assert len(world.server.topology_changes) == 2


async def test_an_infrastructure_topology_that_somebody_set_back_is_reported_too(world: World) -> None:
    await world.idle_operator()
    world.operands.on = False
    await world.ask_for()
    await world.until_phase("Converging")
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"infrastructureTopology": "SingleReplica"})
    await until_told(world, Degraded="TopologyOverwritten", Upgradeable="TransitionInProgress")
    message = (await world.condition("Degraded"))["message"]
    assert "was HighlyAvailable/HighlyAvailable and is HighlyAvailable/SingleReplica now" in message
    await world.stays_so("it is not fought over", lambda: _is_pair(world, ("HighlyAvailable", "SingleReplica")))
    assert len(world.server.topology_changes) == 1
    # Put back by whoever did it, it goes on where it was.
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"infrastructureTopology": "HighlyAvailable"})
    await world.until_condition("Degraded", "False", "AsExpected")
    await world.operands.go_on()
    await world.until_phase("Completed")
    assert len(world.server.topology_changes) == 1


async def _is_pair(world: World, pair: tuple[str, str]) -> bool:
    return await world.pair() == pair


# -- we are told to wait


async def test_paused_admits_nothing_new_and_still_reports(world: World) -> None:
    await world.idle_operator()
    annotation = "topology.openshift.io/paused"

    async def pause(value: str | None) -> None:
        await world.api.patch(kinds.CLUSTER_OPERATORS, "topology", {"metadata": {"annotations": {annotation: value}}})

    await pause("")
    await world.ask_for()
    await world.until_phase("Pending")
    await until_told(world, Progressing="PreflightUnmet", Upgradeable="TransitionPending")
    assert annotation in (await world.condition("Progressing"))["message"]

    async def waits() -> bool:
        return bool((await world.record())["phase"] == "Pending")

    await world.stays_so("nothing is admitted", waits)
    world.operands.on = False
    await pause(None)
    await world.until_phase("Converging")
    await pause("true")
    await world.operands.go_on()
    await world.completed_once()


async def test_a_foreign_clusteroperator_topology_deleted_is_made_again(world: World) -> None:
    await world.idle_operator()
    await world.api.delete(kinds.CLUSTER_OPERATORS, "topology")
    await until_told(world)
