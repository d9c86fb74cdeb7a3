"""Events are not lost when the operator is asked to stop while the API refuses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from test.component.world import World

_WHOLE = ["TopologyChanged", "TransitionAdmitted", "TransitionCompleted", "TransitionRequested"]


async def test_what_waits_is_sent_before_the_lease_is_given_back(world: World) -> None:
    refused = world.server.fault("status", verb="create", resource="events", code=503)
    operator = await world.idle_operator()
    await world.ask_for()
    await world.until_phase("Completed")
    await operator.said("was not sent")
    # The last event is made after the report of the end has been written.
    await world.until_condition("Upgradeable", "True")

    async def none() -> bool:
        return await world.reasons() == []

    await world.stays_so("no event is taken", none, decisions=1)
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
