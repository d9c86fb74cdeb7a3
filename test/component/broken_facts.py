"""Facts that are spoilt through the API, and what must be seen of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from test.component.world import World
    from topology_simulator import client


def node(name: str, **change: object) -> Callable[[client.Client], Awaitable[object]]:
    """Merge-patch a node."""
    return lambda api: api.patch(kinds.NODES, name, change)


async def until_failing(world: World, case: str, *checks: str) -> list[dict[str, Any]]:
    """Wait until exactly these checks are not Met, and return all checks."""

    def exactly(status: dict[str, Any]) -> bool:
        found = (status.get("topologyTransition") or {}).get("checks") or []
        return {one["name"] for one in found if one["status"] != "Met"} == set(checks) if found else False

    status = await world.until(f"{case}: exactly {', '.join(checks)} not Met", exactly)
    found: list[dict[str, Any]] = status["topologyTransition"]["checks"]
    return found
