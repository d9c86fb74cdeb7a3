"""How the operator ends, what it does before, and what it costs to keep it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from test.component import cluster
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World

OK, FAILED, LOST_LEASE = 0, 1, 3


SHORT = ("--lease-duration", "12", "--renew-deadline", "8", "--retry-period", "1")


@pytest.mark.parametrize(
    ("moment", "number"), [("idle", signal.SIGINT), ("converging", signal.SIGTERM)], ids=["idle", "converging"]
)
async def test_asked_to_stop_it_gives_back_the_lease_and_ends_with_0(
    world: World, moment: str, number: signal.Signals
) -> None:
    operator = await world.idle_operator()
    assert await world.holder() == operator.name
    world.operands.on = False
    if moment == "converging":
        await world.ask_for()
        await world.until_phase("Converging")
    operator.send(number)
    assert await operator.ended() == OK
    assert await world.holder() == ""
    assert "ResourceWarning" not in operator.words()
    assert operator.words().splitlines()[-1].endswith("is released")


async def test_with_a_silent_server_it_still_ends_in_time(world: World) -> None:
    operator = await world.idle_operator()
    world.server.fault("silent")
    assert await operator.stop(seconds=10.0) == OK


async def test_a_lost_lease_ends_with_3_and_says_who_has_it(world: World) -> None:
    operator = await world.idle_operator()
    change = {"spec": {"holderIdentity": "somebody-else"}}
    await world.api.patch(kinds.LEASES, cluster.OWN_LEASE, change, cluster.OWN_NAMESPACE)
    assert await operator.ended() == LOST_LEASE
    assert "lease" in operator.words().splitlines()[-1]
    assert "somebody-else" in operator.words()
    assert await world.holder() == "somebody-else"


async def test_events_that_wait_are_sent_before_the_lease_is_given_back(world: World) -> None:
    """The lease is short, but sane: there is time for every write of a transition."""
    refused = world.server.fault("status", verb="create", resource="events", code=503)
    operator = await world.idle_operator(lease=SHORT)
    await world.ask_for()
    await world.until_phase("Completed")
    await operator.said("was not sent")
    # The last event is made after the report of the end has been written.
    await world.until_condition("Upgradeable", "True")
    assert await world.reasons() == []
    world.server.lift(refused)
    mark = world.server.mark()
    assert await operator.stop() == OK
    assert await world.reasons() == [
        "TopologyChanged", "TransitionAdmitted", "TransitionCompleted", "TransitionRequested",
    ]  # fmt: skip
    asked = [(one.verb, one.resource) for one in world.server.asked(mark)]
    told = [place for place, one in enumerate(asked) if one == ("create", "events")]
    given_back = max(place for place, one in enumerate(asked) if one == ("update", "leases"))
    assert told, asked
    assert max(told) < given_back, asked
    assert await world.holder() == ""
