"""The log of a leader: one line per decision that changes something, and none for what does not."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest

from topology_controller.kube import errors

from . import clusters, worlds
from .clusters import Cluster, running

if TYPE_CHECKING:
    from .clusters import Raw

pytestmark = pytest.mark.looptime
SCHEDULER = ("schedulers", None, "cluster")


@pytest.fixture(autouse=True)
def _at_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="topology_controller")


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was said since the last call."""
    lines = [record.getMessage() for record in caplog.records]
    caplog.clear()
    return lines


def unschedulable() -> Cluster:
    cluster = Cluster()
    cluster.change(SCHEDULER, {"spec": {"mastersSchedulable": False}})
    return cluster


async def test_a_thousand_heartbeats_while_pending_give_no_line(caplog: pytest.LogCaptureFixture) -> None:
    cluster = unschedulable()
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(1)
        assert cluster.phase == "Pending"
        assert any("MastersSchedulable" in line for line in said(caplog))
        decisions = operator.loop.decisions
        for number in range(1000):
            node = ("nodes", None, worlds.NAMES[number % 3])
            conditions = cluster.objects[node]["status"]["conditions"]
            beaten = [
                {**one, "lastHeartbeatTime": f"2026-03-01T12:{number // 60:02d}:{number % 60:02d}Z"}
                for one in conditions
            ]
            cluster.change(node, {"status": {"conditions": beaten, "images": [{"names": [str(number)]}]}})
            await asyncio.sleep(0.1)
        assert said(caplog) == []
        assert operator.loop.decisions <= decisions + 3, "a heartbeat is no fact; time alone asks for a look or two"
        # And a look that time asks for is none either.
        await asyncio.sleep(1800)
        assert operator.loop.decisions > decisions
        assert said(caplog) == []


async def test_a_failure_that_stays_is_repeated_every_five_minutes(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()

    def refuse(where: str, _: Raw) -> None:
        if where == clusters.INFRASTRUCTURE[0] + "/cluster":
            raise cluster.error(errors.ServerError, 500)

    cluster.fault = refuse
    async with running(cluster):
        await asyncio.sleep(1)
        said(caplog)
        for seconds, times in ((290, 0), (600, 2)):
            # It is tried about once a minute.
            await asyncio.sleep(seconds)
            failures = [line for line in said(caplog) if line.startswith("cannot patch infrastructures")]
            assert len(failures) == times, failures
        cluster.fault = clusters.accept
        await asyncio.sleep(60)
        assert cluster.phase == "Idle"
