"""What disturbs watches, requests and the server in the middle of a transition: it ends Completed, at a bounded price.

What a restarted server is like, a real one shows best: it begins with 429 for kinds whose definitions it has yet to
look at, and with 410 for every version from before, because its watch cache remembers nothing.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
from typing import TYPE_CHECKING

import pytest

from test.component import backend, process
from test.component.phases import IDLE, NOT_SERVED, OPEN, go_on, reach
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from test.component.world import World
    from topology_simulator.apiserver import requests

RESTARTED = 6 * OPEN + 50
"""Requests from a restart to Completed at most: each watch asks, is judged by a list of one, lists, asks again and may
be told to wait twice; a transition (12) with its writes afterwards, discovery, and the lease."""
MOST_LISTS = OPEN + IDLE + 10 + 3 * NOT_SERVED
"""One for each watch, whole where it has lost its place and of one object where it goes on; three in the evidence of
each look, four of discovery, and what is not served."""


@pytest.mark.nightly("expired")
@pytest.mark.parametrize("how", ["cut in a line", "expired"])
async def test_watches_that_are_cut_or_expired_come_back(world: World, how: str, figure: Callable[[str], None]) -> None:
    await reach(world, "Pending")
    broken = {"mid_line": True} if how == "cut in a line" else {}
    assert world.server.fault("cut" if broken else "expire", verb="watch", **broken).hits == OPEN
    before = world.server.mark()
    await go_on(world, "Pending")
    await world.completed_once(seconds=25.0)
    asked = collections.Counter(one.verb for one in world.server.asked(before))
    figure(f"{how}: {dict(asked)}")
    assert asked["watch"] <= OPEN + IDLE, asked
    assert asked["list"] <= MOST_LISTS, asked


async def test_429_is_obeyed_although_there_is_news_all_the_time(world: World) -> None:
    await reach(world, "Pending")
    asked: list[float] = []
    loop = asyncio.get_running_loop()

    async def note(_: requests.Request) -> None:
        asked.append(loop.time())

    def is_patch(request: requests.Request) -> bool:
        return request.verb == "patch" and request.target.plural == "infrastructures" and backend.by_operator(request)

    world.server.before(is_patch, note, count=3)
    patch = {"verb": "patch", "resource": "infrastructures", "subresource": "status"}
    world.server.fault("status", code=429, retry_after=2, count=1, **patch)

    async def news() -> None:
        number = 0
        while True:
            number += 1
            change = {"metadata": {"annotations": {"example.com/heartbeat": str(number)}}}
            with contextlib.suppress(clients.ClientError):
                await world.api.patch(kinds.INFRASTRUCTURES, "cluster", change)
            await asyncio.sleep(0.1)

    telling = asyncio.create_task(news())
    try:
        await go_on(world, "Pending")
        await world.until_phase("Converging", "Completed")
    finally:
        telling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await telling
    assert asked[1] - asked[0] >= 1.9, asked
    await world.completed_once()


@pytest.mark.on_real
@pytest.mark.parametrize("how", ["restarts", "forgets its history"])
async def test_a_server_that_comes_back_costs_one_list_for_each_watch(
    world: World, how: str, figure: Callable[[str], None]
) -> None:
    """Where its log is compacted there is 410 on every watch, and no fault is in force."""
    phase = "Admitting" if how == "restarts" else "Converging"
    await reach(world, phase, lease=process.PATIENT)
    before = world.server.mark()
    if how == "restarts":
        await world.server.restart(down=0.5)
    else:
        await world.server.forget_history()
    await go_on(world, phase)
    await world.completed_once(seconds=30.0)
    asked = world.server.asked(before)
    figure(f"it {how}: {len(asked)} requests until Completed")
    assert len(asked) <= RESTARTED, collections.Counter((one.verb, one.resource, one.code) for one in asked)
    assert len(world.server.topology_changes) == 1
