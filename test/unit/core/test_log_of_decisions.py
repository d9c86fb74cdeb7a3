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
DEPLOYMENT = ("deployments", "openshift-apiserver", "apiserver")


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


async def test_half_an_hour_of_idleness_gives_no_line(caplog: pytest.LogCaptureFixture) -> None:
    async with running(Cluster()):
        await asyncio.sleep(5)
        assert "phase Idle: No topology is requested" in said(caplog)
        await asyncio.sleep(1800)
        assert said(caplog) == []


async def test_a_whole_transition_is_told_step_by_step(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(1)
        cluster.follow()
        await asyncio.sleep(70)
        assert cluster.phase == "Completed"
    records = caplog.records
    phases = [record.args["phase"] for record in records if isinstance(record.args, dict) and "phase" in record.args]
    assert list(dict.fromkeys(phases)) == ["Idle", "Admitting", "Converging", "Completed"]
    changes = [record for record in records if record.getMessage().startswith("topology changed")]
    assert len(changes) == 1
    facts = changes[0].args
    assert isinstance(facts, dict)
    assert facts["attempt"] == cluster.record["attempt"]
    assert (facts["definition"], facts["generation"]) == ("sno-to-ha-compact", 2)


async def test_an_answer_that_changes_is_told_each_time(caplog: pytest.LogCaptureFixture) -> None:
    cluster = unschedulable()
    cluster.ask_for("HighlyAvailable")
    node = ("nodes", None, worlds.NAMES[1])
    async with running(cluster):
        await asyncio.sleep(1)
        said(caplog)
        for _ in range(3):
            cluster.change(node, {"spec": {"unschedulable": True}})
            await asyncio.sleep(1)
            lines = said(caplog)
            assert [line for line in lines if line.startswith("check ControlPlaneNodes is Unmet: ")]
            assert [line for line in lines if line.startswith("phase Pending: 2 of 10 preflight checks not met: ")]
            assert len(lines) == 2, lines
            cluster.change(node, {"spec": {"unschedulable": None}})
            await asyncio.sleep(1)
            assert any(line.startswith("check ControlPlaneNodes is Met: ") for line in said(caplog))


async def test_the_next_request_is_told_from_its_beginning(caplog: pytest.LogCaptureFixture) -> None:
    cluster = unschedulable()
    async with running(cluster):
        for _ in range(2):
            cluster.ask_for("HighlyAvailable")
            await asyncio.sleep(1)
            assert any(line.startswith("check MastersSchedulable is Unmet: ") for line in said(caplog))
            cluster.ask_for(None)
            await asyncio.sleep(1)
            assert "phase Idle: No topology is requested" in said(caplog)


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


async def test_a_count_that_changes_among_what_is_met_gives_no_line(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(1)
        assert cluster.phase == "Converging"
        said(caplog)
        for ready in (3, 4, 3):
            counts = {"updatedReplicas": 4, "readyReplicas": ready, "availableReplicas": ready}
            cluster.change(DEPLOYMENT, {"spec": {"replicas": 4}, "status": counts})
            await asyncio.sleep(1)
        assert [line for line in said(caplog) if "APIServerReplicas" in line] == []
