"""An API server whose cache lags behind the others answers what was true before, or that it is not so far yet (504).

Two real servers that share an etcd are in `test_several_api_servers`. Real lists without a version are never old; here
they are, as after a store was restored or by a cache in between, and a new leader knows nothing that is newer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test import polling
from test.component import backend, phases
from test.component import world as worlds
from topology_simulator.apiserver import statuses

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from topology_simulator.apiserver import requests

OURS = {"infrastructures", "clusteroperators"}


@pytest.fixture
async def world(tmp_path: pathlib.Path) -> AsyncIterator[worlds.World]:
    # A list as of any version is asked for in the embedded server only: the proxy passes requests on as they are.
    async with worlds.opened(backend.Place(None), tmp_path) as made:
        yield made


def too_large(version: int) -> statuses.StatusError:
    """What a real server says of a version that its cache has not seen."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return statuses.StatusError(
        504,
        f"Timeout: Too large resource version: {version}, current: {version - 10}",
        details={"causes": [cause], "retryAfterSeconds": 1},
    )


async def test_a_new_leader_that_is_shown_the_past_changes_nothing_back(world: worlds.World) -> None:
    await phases.reach(world, "Admitting")
    old = (await world.infrastructure())["metadata"]["resourceVersion"]
    world.operands.on = False
    await world.echo.go_on()
    await world.until_phase("Converging")
    attempt = (await world.record())["attempt"]
    await world.until_condition("Progressing", "True", "TransitionConverging")
    assert await world.operators[0].stop() == 0

    def ours(request: requests.Request, verb: str) -> bool:
        return request.verb == verb and backend.by_operator(request) and request.target.plural in OURS

    async def lag(_: requests.Request) -> None:
        raise too_large(int(old) + 10)

    async def show_the_past(request: requests.Request) -> None:
        # The server reads the very request that its hooks were shown.
        past = {**request.query, "resourceVersion": old, "resourceVersionMatch": "Exact"}
        object.__setattr__(request, "query", past)

    # The first list is refused, all later ones are of the past.
    world.server.before(lambda request: ours(request, "list"), lag, count=1)
    world.server.before(lambda request: ours(request, "list"), show_the_past, count=None)
    # And nothing newer is told: what it knows of the present are answers to its own requests.
    silent = [world.server.fault("silent", verb="watch", resource=plural) for plural in OURS]
    before = len(world.server.writes)
    second = await world.operator("operator-b", wait=False)
    await second.said("leading as")

    async def looked() -> bool:
        asked = [one for one in world.server.asked() if one.resource == "infrastructures" and one.verb == "get"]
        return any(one.code == 409 for one in world.server.asked()) and bool(asked)

    await polling.until("a write was refused for its version, and Infrastructure read", looked)
    assert await world.moves() == [worlds.MOVED]
    assert not [one for one in world.server.writes[before:] if one.is_change]
    await world.operands.go_on()
    for one in silent:
        world.server.lift(one)
    record = await world.completed_once(seconds=20.0)
    assert record["attempt"] == attempt
    assert len(world.server.topology_changes) == 1
    assert world.operands.phases[-2:] == ["Converging", "Completed"], world.operands.phases
    said = [one["reason"] for one in await told_by(world, before)]
    assert "TransitionAdmitting" not in said, "our own report did not go back either"


async def told_by(world: worlds.World, since: int) -> list[dict[str, str]]:
    """Every Progressing that was sent."""
    reports = [one.body["status"] for one in world.server.writes[since:] if one.resource == "clusteroperators"]
    return [one for status in reports for one in status.get("conditions") or [] if one["type"] == "Progressing"]
