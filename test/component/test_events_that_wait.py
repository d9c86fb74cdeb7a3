"""Events are not lost: neither while the API refuses them, nor when the operator is asked to stop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from test import polling
from test.component import cluster
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World

_WHOLE = ["TopologyChanged", "TransitionAdmitted", "TransitionCompleted", "TransitionRequested"]


@pytest.mark.parametrize("code", [401, 403])
async def test_without_the_right_they_wait_and_come_when_it_is_granted(world: World, code: int) -> None:
    refused = world.server.fault("status", verb="create", resource="events", code=code)
    operator = await world.idle_operator()
    await world.ask_for()
    await world.until_phase("Completed")
    await operator.said("event TransitionRequested was not sent: cannot create events.events.k8s.io")
    assert await world.reasons() == []
    world.server.lift(refused)

    async def all_told() -> bool:
        return await world.reasons() == _WHOLE

    await polling.until("all four are told", all_told, seconds=40.0)
    await operator.said("events are sent again")
    assert operator.words().count("was not sent") == 1, operator.tail()


@pytest.mark.parametrize("code", [403, 503])
async def test_what_waits_is_sent_before_the_lease_is_given_back(world: World, code: int) -> None:
    refused = world.server.fault("status", verb="create", resource="events", code=code)
    operator = await world.idle_operator()
    await world.ask_for()
    await world.until_phase("Completed")
    await operator.said("was not sent")
    # The last event is made after the report of the end has been written.
    await world.until_condition("Upgradeable", "True")
    await asyncio.sleep(2.0)
    world.server.lift(refused)
    mark = world.server.mark()
    assert await operator.stop() == 0
    assert await world.reasons() == _WHOLE
    asked = [(one.verb, one.resource) for one in world.server.asked(mark)]
    told = [place for place, one in enumerate(asked) if one == ("create", "events")]
    given_back = max(place for place, one in enumerate(asked) if one == ("update", "leases"))
    assert told, asked
    assert max(told) < given_back, asked
    assert await world.holder() == ""


async def test_an_api_that_takes_no_events_delays_the_end_by_two_seconds_at_most(world: World) -> None:
    operator = await world.idle_operator()
    silent = world.server.fault("silent", verb="create", resource="events")
    await world.ask_for()
    await world.until_phase("Completed")
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await operator.stop() == 0
    # Two for the events; the lease and the server that is asked for probes take their part on a loaded machine.
    assert loop.time() - began < 8.0
    world.server.lift(silent)
    assert "events were not sent before the end, and are lost: TransitionRequested" in operator.words()
    assert operator.words().splitlines()[-1].endswith("is released")


async def test_a_node_that_flaps_is_told_once(world: World) -> None:
    operator = await world.idle_operator()
    await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": False}})
    await world.ask_for()
    await world.until_told("TransitionRequested", "TransitionBlocked")
    for _ in range(10):
        await cluster.set_ready(world.api, "master-2", ready=False)
        await world.until_check("ControlPlaneNodes", "Unmet")
        await cluster.set_ready(world.api, "master-2", ready=True)
        await world.until_check("ControlPlaneNodes", "Met")
    assert operator.words().count("check ControlPlaneNodes is Unmet") >= 10, operator.tail()
    assert await world.reasons() == ["TransitionBlocked", "TransitionRequested"]
    await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": True}})
    await world.completed_once()
    assert await world.reasons() == sorted([*_WHOLE, "TransitionBlocked"])
