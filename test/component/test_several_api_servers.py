"""Several API servers, one of which lags behind: nobody acts on what it shows, and nothing is changed back.

Two real kube-apiservers that share an etcd, behind one address. A new leader that is shown the past is told in virtual
time (test/unit/core/test_reconciling_through_failures.py), that members of etcd change in test/etcd.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

import pytest

from test.component import backend, cluster, phases, real
from test.component import world as worlds
from topology_simulator import proxy
from topology_simulator.envtest.server import API, SECOND

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Callable, Iterator

    from topology_simulator.apiserver import requests

_LONG = 60.0


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


@pytest.mark.nightly
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
