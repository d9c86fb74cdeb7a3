"""The API server goes and comes back, forgets, throttles or falls silent: the transition ends once, at a bounded price.

What a restarted server is like, a real one shows best: it begins with 429 for kinds whose definitions it has yet to
look at, and with 410 for every version from before, because its watch cache remembers nothing.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import pytest

from test import polling
from test.component.phases import IDLE, NOT_SERVED, OPEN, go_on, reach, side_by_side

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from test.component import backend
    from test.component.world import World

RESTARTED = 6 * OPEN + 50
"""Requests from a restart to Completed at most: each watch asks, is judged by a list of one, lists, asks again and may
be told to wait twice; a transition (12) with its writes afterwards, discovery, and the lease."""


@pytest.mark.on_real(first=True)
@pytest.mark.parametrize("phase", ["Pending", "Admitting", "Converging"])
async def test_the_server_restarts_in_every_phase(world: World, phase: str, figure: Callable[[str], None]) -> None:
    await reach(world, phase)
    before = world.server.mark()
    await world.server.restart(down=0.5)
    await go_on(world, phase)
    await world.completed_once(seconds=30.0)
    asked = world.server.asked(before)
    figure(f"restart in {phase}: {len(asked)} requests until Completed")
    assert len(asked) <= RESTARTED, collections.Counter((one.verb, one.resource, one.code) for one in asked)
    assert len(world.server.topology_changes) == 1


@pytest.mark.on_real
async def test_versions_that_the_server_has_forgotten_cost_one_list_each(
    apiserver: backend.Place, tmp_path: pathlib.Path, figure: Callable[[str], None]
) -> None:
    """The log is compacted and the server begins anew: 410 on every watch, and no fault is in force."""

    async def run(world: World, phase: str) -> None:
        await reach(world, phase)
        before = world.server.mark()
        await world.server.forget_history()
        await go_on(world, phase)
        await world.completed_once(seconds=30.0)
        asked = world.server.asked(before)
        figure(f"history forgotten in {phase}: {len(asked)} requests until Completed")
        assert len(asked) <= RESTARTED, collections.Counter((one.verb, one.resource, one.code) for one in asked)
        assert len(world.server.topology_changes) == 1

    await side_by_side(apiserver, tmp_path, ("Pending", "Converging"), run)


async def test_silence_on_all_watches(world: World, figure: Callable[[str], None]) -> None:
    """Shorter than what it takes for a dead peer: it waits, renews its lease, and goes on where it was."""
    await reach(world, "Pending")
    operator = world.operators[0]
    before = world.server.mark()
    silent = world.server.fault("silent", verb="watch")
    assert silent.hits == OPEN
    await go_on(world, "Pending")

    async def calm() -> bool:
        return operator.alive and not [one for one in world.server.asked(before) if one.watch]

    lasts = 5
    await polling.steadily("no watch is opened, and the operator lives", calm, lasts)
    during = collections.Counter(one.resource for one in world.server.asked(before))
    assert during["leases"] <= 2 * lasts
    assert during.total() - during["leases"] <= OPEN, during

    world.server.lift(silent)
    world.server.fault("cut", verb="watch")
    await world.completed_once(seconds=30.0)
    asked = collections.Counter(one.verb for one in world.server.asked(before) if one.resource != "leases")
    figure(f"{lasts} s of silence on all watches: {dict(during)} meanwhile, {dict(asked)} until Completed")
    assert asked["watch"] <= OPEN + IDLE, asked
    # Three in the evidence of each look, four of discovery, and what is not served: no watch has lost its place. And
    # one of one object after each watch that goes on: has the store reached that place?
    assert asked["list"] <= 10 + 6 * NOT_SERVED + asked["watch"], asked
    assert len(world.server.topology_changes) == 1
