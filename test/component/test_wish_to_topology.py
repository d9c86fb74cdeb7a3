"""The happy path, by writes only: a wish becomes a topology, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from test.component.world import World


async def test_a_wish_becomes_a_topology(world: World) -> None:
    await world.idle_operator()
    await world.wish()
    await world.completed_once()
    print(*world.embedded.writes, sep="\n")
    print(world.operands.phases)
    print(await world.reasons())
    import collections
    print(collections.Counter((r.verb,r.resource,r.subresource) for r in world.embedded.asked()))
