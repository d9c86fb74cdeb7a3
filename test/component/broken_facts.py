"""Facts that are spoilt and repaired through the API, one at a time, and what must be seen of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from test.component import cluster
from topology_simulator import cluster as simulated
from topology_simulator import conditions, kinds, machines

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from test.component.world import World
    from topology_simulator import client

    Change = Callable[[client.Client], Awaitable[object]]

VOTERS = {simulated.member_id(name): machines.address(machines.number_of(name)) for name in cluster.MASTERS}
LAST = simulated.member_id("master-2")


def condition(kind: kinds.Kind, name: str, type_: str, status: str) -> Change:
    """Set one condition."""
    return lambda api: cluster.set_conditions(api, kind, name, conditions.Condition(type_, status, "Told", "by a test"))


def node(name: str, **change: object) -> Change:
    """Merge-patch a node."""
    return lambda api: api.patch(kinds.NODES, name, change)


def endpoints(**data: str | None) -> Change:
    """Merge into the endpoints."""
    return lambda api: cluster.set_endpoints(api, dict(data))


async def until_failing(world: World, case: str, *checks: str) -> list[dict[str, Any]]:
    """Wait until exactly these checks are not Met, and return all checks."""

    def exactly(status: dict[str, Any]) -> bool:
        found = (status.get("topologyTransition") or {}).get("checks") or []
        return {one["name"] for one in found if one["status"] != "Met"} == set(checks) if found else False

    status = await world.until(f"{case}: exactly {', '.join(checks)} not Met", exactly)
    found: list[dict[str, Any]] = status["topologyTransition"]["checks"]
    return found
