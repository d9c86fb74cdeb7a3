"""What disturbs watches and requests in the middle of a transition: it ends Completed, the server is not stormed."""

from __future__ import annotations

import asyncio
import collections
import contextlib
from typing import TYPE_CHECKING

from test import polling, sentences
from test.component.phases import IDLE, NOT_SERVED, OPEN, go_on, reach, side_by_side
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from test.component import backend
    from test.component.process import Operator
    from test.component.world import World
    from topology_simulator.apiserver import requests


async def test_watches_that_are_cut_or_expired_come_back(
    apiserver: backend.Place, tmp_path: pathlib.Path, figure: Callable[[str], None]
) -> None:
    def disturb(world: World, how: str) -> None:
        if how == "expired":
            fault = world.server.fault("expire", verb="watch")
        else:
            fault = world.server.fault("cut", verb="watch", mid_line=how == "cut in a line")
        assert fault.hits == OPEN

    async def run(world: World, how: str) -> None:
        await reach(world, "Pending")
        disturb(world, how)
        before = world.server.mark()
        await go_on(world, "Pending")
        await world.completed_once(seconds=25.0)
        asked = collections.Counter(one.verb for one in world.server.asked(before))
        figure(f"{how}: {dict(asked)}")
        assert asked["watch"] <= OPEN + IDLE, asked
        # One list for each watch, whole where it has lost its place and of one object where it goes on; three in the
        # evidence of each look, four of discovery, and what is not served.
        assert asked["list"] <= OPEN + IDLE + 10 + 3 * NOT_SERVED, asked

    await side_by_side(apiserver, tmp_path, ("cut", "cut in a line", "expired"), run)


async def test_while_a_watch_is_down_nothing_is_called_finished_from_old_news(world: World) -> None:
    await reach(world, "Converging")
    # What etcd's voters are: the change changes nothing about them, so what was last seen is good.
    refused = world.server.fault("status", code=503, verb="watch", resource="configmaps", namespace="openshift-etcd")
    assert world.server.fault("cut", verb="watch", resource="configmaps", namespace="openshift-etcd").hits == 1
    await world.operands.go_on()
    await world.until(
        "everything that is known is good",
        lambda status: (
            status["topologyTransition"]["progress"]["met"] == status["topologyTransition"]["progress"]["total"]
        ),
    )

    async def not_completed() -> bool:
        return bool((await world.record())["phase"] == "Converging")

    await world.stays_so("it stays Converging", not_completed)
    world.server.lift(refused)
    await world.completed_once(seconds=15.0)


async def test_429_is_obeyed_although_there_is_news_all_the_time(world: World) -> None:
    await reach(world, "Pending")
    asked: list[float] = []
    loop = asyncio.get_running_loop()

    async def note(_: requests.Request) -> None:
        asked.append(loop.time())

    world.server.before(
        lambda request: (
            request.verb == "patch"
            and request.target.plural == "infrastructures"
            and request.user_agent.startswith("cluster-topology-operator/")
        ),
        note,
        count=3,
    )
    world.server.fault(
        "status", code=429, retry_after=2, verb="patch", resource="infrastructures", subresource="status", count=1
    )

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


async def unready(operator: Operator, *words: str) -> None:
    async def look() -> bool:
        status, text = await operator.ask("/readyz")
        return status == 500 and all(word in text for word in words)

    await polling.until(f"{operator.name} is not ready: {', '.join(words)}", look)
    assert (await operator.ask("/healthz"))[0] == 200


async def test_a_kind_that_may_not_be_read_is_named_and_recovers(world: World) -> None:
    operator = await world.idle_operator()
    forbidden = world.server.fault("status", code=403, resource="etcds")
    before = world.server.mark()
    await world.ask_for()

    found = await world.until_check("EtcdHealthy", "Unknown")
    assert "etcds.operator.openshift.io/cluster" in found["message"]
    assert sentences.FORBIDDEN in found["message"], found
    record = await world.record()
    assert record["phase"] == "Pending"
    assert {one["name"] for one in record["checks"] if one["status"] != "Met"} == {"EtcdHealthy"}
    await unready(operator, "etcds.operator.openshift.io/cluster")

    writes = len(world.server.writes)

    def tries() -> int:
        return sum(one.resource == "etcds" for one in world.server.asked(before))

    async def tried_again() -> bool:
        assert len(world.server.writes) == writes, "the same trouble is not news"
        return tries() >= 3

    await polling.until("it is tried again", tried_again)
    assert tries() <= 4

    world.server.lift(forbidden)
    await operator.ready(seconds=15.0)
    await world.completed_once()
