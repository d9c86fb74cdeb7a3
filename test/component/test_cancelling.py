"""A request can be taken back until the topology has changed, at no cost; afterwards the API says why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test import polling
from test.component import cluster
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World

_SNO = ("SingleReplica", "SingleReplica")
_FIVE = ("Available", "Progressing", "Degraded", "Upgradeable", "Disabled")


async def until_calm(world: World) -> None:
    """Wait until each condition has reason AsExpected and says nothing of a transition."""

    async def calm() -> bool:
        found = [await world.condition(name) for name in _FIVE]
        return all(one.get("reason") == "AsExpected" for one in found)

    try:
        await polling.until("every condition is AsExpected", calm)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{await world.describe()}") from None
    for name in _FIVE:
        message = (await world.condition(name))["message"]
        for stale in ("Waiting", "HighlyAvailable", "sno-to-ha", "ControlPlaneNodes"):
            assert stale not in message, f"{name}: {message}"


async def test_cancelling_while_pending_leaves_nothing_behind(world: World) -> None:
    await world.idle_operator()
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.ask_for()
    await world.until_phase("Pending")
    await world.until_condition("Upgradeable", "False", "TransitionPending")
    await world.ask_for(None)
    record = await world.until_phase("Idle")
    assert not {"name", "source", "target", "attempt", "checks", "progress", "requestedTime"} & set(record), record
    await until_calm(world)
    await world.until_told("TransitionCancelled")
    assert await world.reasons() == ["TransitionBlocked", "TransitionCancelled", "TransitionRequested"]
    assert world.server.topology_changes == []
    assert await world.pair() == _SNO

    # The block of upgrades is gone from ClusterVersion too, and the idle watches are the only ones.
    async def free() -> bool:
        version = await world.api.get(kinds.CLUSTER_VERSIONS, "version")
        return all(one["type"] != "Upgradeable" for one in version["status"]["conditions"])

    await polling.until("ClusterVersion holds nothing back", free)

    async def idle_watches() -> bool:
        open_ones = world.server.watches()
        mine = [one for one in open_ones if one.user_agent.startswith("cluster-topology-operator/")]
        return not {one.target.plural for one in mine} & {"nodes", "etcds", "machineconfigpools"}

    await polling.until("the watches of the request are closed", idle_watches)


async def test_a_request_that_is_cancelled_while_admitting_is_never_changed(world: World) -> None:
    world.echo.on = False
    await world.idle_operator()
    await world.ask_for()
    await world.until_phase("Admitting")
    await world.until_condition("Progressing", "True", "TransitionAdmitting")
    await world.ask_for(None)
    await world.until_phase("Idle")
    await until_calm(world)
    assert world.server.topology_changes == []
    await world.until_told("TransitionCancelled")


@pytest.mark.on_real
async def test_while_converging_the_api_refuses_to_change_the_request(world: World) -> None:
    await world.idle_operator()
    world.operands.on = False
    await world.ask_for()
    await world.until_phase("Converging")
    with pytest.raises(clients.ApiError) as refused:
        await world.ask_for(None)
    assert refused.value.code == 422
    message = refused.value.message
    assert "spec.desiredTopology" in message
    assert "the topology has changed to HighlyAvailable and the cluster is converging" in message
    assert "there is no way back" in message
    assert (await world.infrastructure())["spec"]["desiredTopology"] == "HighlyAvailable"
    await world.operands.go_on()
    await world.completed_once()
