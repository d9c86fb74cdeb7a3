"""A lease that is short, but sane, leaves time for every write of a transition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from test.component import cluster
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World

SHORT = ("--lease-duration", "12", "--renew-deadline", "8", "--retry-period", "1")


async def test_with_a_lease_shorter_than_ten_seconds_a_request_is_carried_out(world: World) -> None:
    operator = await world.idle_operator(lease=SHORT)
    lease = await world.api.get(kinds.LEASES, cluster.OWN_LEASE, cluster.OWN_NAMESPACE)
    assert lease["spec"]["leaseDurationSeconds"] == 12

    await world.ask_for()

    assert (await world.completed_once())["phase"] == "Completed"
    assert "the lease has less than one request timeout left" not in operator.words()
