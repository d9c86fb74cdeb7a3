"""Several API servers, one of which lags behind: nobody acts on what it shows, and nothing is changed back.

Two real kube-apiservers that share an etcd, behind one address; and an API server that answers what was true before, or
that it is not so far yet (504), as after a store was restored or by a cache in between. That leaders and members of
etcd change under an API server is told in test/etcd.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import backend, cluster, phases, real
from test.component import world as worlds
from topology_simulator import proxy
from topology_simulator.apiserver import statuses
from topology_simulator.envtest.server import API, SECOND

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Callable, Iterator

    from topology_simulator.apiserver import requests

_LONG = 60.0
OURS = {"infrastructures", "clusteroperators"}


class Two(real.Session):
    """Two kube-apiservers on one etcd, for this module."""

    async def _furnish(self) -> None:
        await super()._furnish()
        await self.server.start_api(SECOND)

    @contextlib.contextmanager
    def standing_still(self) -> Iterator[None]:
        """The second one neither answers nor tells its watchers anything inside this context."""
        pid = self.server.pids[SECOND]
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.fixture(scope="module")
def two(real_binaries: None) -> Iterator[Two]:
    with Two() as made:
        yield made


@pytest.fixture
async def led(two: Two, tmp_path: pathlib.Path) -> AsyncIterator[worlds.World]:
    async with worlds.opened(backend.Place(two), tmp_path) as made:
        yield made


def lead(world: worlds.World, two: Two, choose: Callable[[requests.Request], str]) -> None:
    """Let a server be chosen by its name for each request from now on; open watches stay where they are."""
    assert isinstance(world.server._front, proxy.Proxy)
    world.server._front.lead(lambda request: two.server.url_of(choose(request)))


async def completed_once(world: worlds.World) -> None:
    """Completed, and once the topology had changed no phase went back: what was shown then was never older."""
    await world.completed_once(seconds=_LONG)
    assert world.operands.phases[-2:] == ["Converging", "Completed"], world.operands.phases
    assert world.operands.phases.count("Converging") == 1, world.operands.phases
    assert len(world.server.topology_changes) == 1


async def test_a_server_that_lags_shows_nothing_that_anybody_acts_on(led: worlds.World, two: Two) -> None:
    """Nodes and Infrastructure are watched on one server, which stands still; everything else is asked of the other."""
    lagging = {"nodes", "infrastructures"}

    def choose(request: requests.Request) -> str:
        return SECOND if request.watch and request.target.plural in lagging and backend.by_operator(request) else API

    lead(led, two, choose)
    await phases.reach(led, "Pending")
    operator = led.operators[0]
    with two.standing_still():
        await cluster.set_ready(led.api, "master-2", ready=False)
        await phases.go_on(led, "Pending")
        await operator.said("live evidence differs from what was watched")
        assert led.server.topology_changes == []
    found = await led.until_check("ControlPlaneNodes", "Unmet")
    assert "master-2" in found["message"]

    # It lags again: the change is made past it, and what it tells afterwards is older than what was written.
    with two.standing_still():
        led.server.fault("cut", verb="watch", resource="nodes")
        lead(led, two, lambda _: API)
        await cluster.set_ready(led.api, "master-2", ready=True)
        await led.until_phase("Converging", "Completed", seconds=_LONG)
        lead(led, two, choose)
    await completed_once(led)
    assert await operator.metric("topology_store_restored_total") == 0, "lag is no restored backup"


# -- lists of the past, which a new leader cannot know for what they are


def too_large(version: int) -> statuses.StatusError:
    """What a real server says of a version that its cache has not seen."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    text = f"Timeout: Too large resource version: {version}, current: {version - 10}"
    return statuses.StatusError(504, text, details={"causes": [cause], "retryAfterSeconds": 1})


@pytest.fixture
async def embedded(tmp_path: pathlib.Path) -> AsyncIterator[worlds.World]:
    # A list as of any version is asked for in the embedded server only: the proxy passes requests on as they are.
    async with worlds.opened(backend.Place(None), tmp_path) as made:
        yield made


async def test_a_new_leader_that_is_shown_the_past_changes_nothing_back(embedded: worlds.World) -> None:
    world = embedded
    await phases.reach(world, "Admitting")
    old = (await world.infrastructure())["metadata"]["resourceVersion"]
    world.operands.on = False
    await world.echo.go_on()
    attempt = (await world.until_phase("Converging"))["attempt"]
    await world.until_condition("Progressing", "True", "TransitionConverging")
    assert await world.operators[0].stop() == 0

    def listed(request: requests.Request) -> bool:
        return request.verb == "list" and backend.by_operator(request) and request.target.plural in OURS

    async def lag(_: requests.Request) -> None:
        raise too_large(int(old) + 10)

    async def show_the_past(request: requests.Request) -> None:
        # The server reads the very request that its hooks were shown.
        past = {**request.query, "resourceVersion": old, "resourceVersionMatch": "Exact"}
        object.__setattr__(request, "query", past)

    # The first list is refused, all later ones are of the past.
    world.server.before(listed, lag, count=1)
    world.server.before(listed, show_the_past, count=None)
    # And nothing newer is told: what it knows of the present are answers to its own requests.
    silent = [world.server.fault("silent", verb="watch", resource=plural) for plural in OURS]
    before = len(world.server.writes)
    second = await world.operator("operator-b", wait=False)
    await second.said("leading as")

    async def looked() -> bool:
        asked = world.server.asked()
        read = any((one.resource, one.verb) == ("infrastructures", "get") for one in asked)
        return read and any(one.code == 409 for one in asked)

    await polling.until("a write was refused for its version, and Infrastructure read", looked)
    assert await world.moves() == [worlds.MOVED]
    assert not [one for one in world.server.writes[before:] if one.is_change]
    await world.operands.go_on()
    for one in silent:
        world.server.lift(one)
    await completed_once(world)
    assert (await world.record())["attempt"] == attempt
    assert "TransitionAdmitting" not in _progressing(world, before), "our own report did not go back either"


def _progressing(world: worlds.World, since: int) -> list[Any]:
    """The reason of every Progressing that was sent."""
    reports = [one.body["status"] for one in world.server.writes[since:] if one.resource == "clusteroperators"]
    listed = [one for status in reports for one in status.get("conditions") or []]
    return [one["reason"] for one in listed if one["type"] == "Progressing"]
