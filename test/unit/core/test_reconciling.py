"""The loop on a cluster in memory, in virtual time: what it writes, and in which order."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from .clusters import INFRASTRUCTURE, OPERATOR, Cluster, accept, running

if TYPE_CHECKING:
    from .clusters import Raw

EVIDENCE = {
    "clusterversions",
    "nodes",
    "schedulers",
    "configmaps",
    "etcds",
    "leases",
    "machineconfigpools",
    "ingresscontrollers",
}
IDLE = {"infrastructures", "clusteroperators", "featuregates", "configs"}
pytestmark = pytest.mark.looptime


def phase_of(body: Raw) -> str | None:
    found = (body.get("status") or {}).get("topologyTransition") or {}
    return found.get("phase")


async def test_a_request_becomes_a_topology_with_few_writes() -> None:
    cluster = Cluster()
    async with running(cluster) as operator:
        await asyncio.sleep(1)
        assert cluster.phase == "Idle"
        assert cluster.watched == IDLE
        before = len(cluster.asked)
        await asyncio.sleep(3000)
        assert len(cluster.asked) == before, "an idle operator asks nothing"

        cluster.writes.clear()
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(1)
        assert (cluster.phase, cluster.topology) == ("Converging", "HighlyAvailable")
        assert cluster.watched >= EVIDENCE
        to_infrastructure = [phase_of(body) for where, body in cluster.writes if where == "infrastructures/cluster"]
        assert to_infrastructure == ["Admitting", "Converging"]
        assert cluster.condition("Progressing") == ("True", "TransitionConverging")

        cluster.follow()
        await asyncio.sleep(70)
        assert cluster.phase == "Completed"
        assert cluster.condition("Upgradeable") == ("True", "AsExpected")
        await asyncio.sleep(60)
        assert cluster.watched == IDLE
        assert cluster.changes == 1
        assert operator.told.reasons == [
            "TransitionRequested", "TransitionAdmitted", "TopologyChanged", "TransitionCompleted",
        ]  # fmt: skip
        assert operator.topologies[0] == "SingleReplica"
        assert operator.topologies[-1] == "HighlyAvailable"
        await asyncio.sleep(600)
        assert cluster.changes == 1


async def test_a_request_that_flips_opens_each_watch_once_and_is_reported() -> None:
    """Sixty times in six seconds, on a server that needs time for each answer."""
    cluster = Cluster()
    cluster.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
    cluster.latency = lambda: 0.02
    async with running(cluster):
        await asyncio.sleep(1)
        before, reports = len(cluster.asked), len(cluster.writes)
        for _ in range(30):
            cluster.ask_for("HighlyAvailable")
            await asyncio.sleep(0.1)
            cluster.ask_for(None)
            await asyncio.sleep(0.1)
        opened = Counter(what for verb, what in cluster.asked[before:] if verb == "watch")
        # Of some kinds there is more than one watch.
        at_once = Counter(selection.resource.plural for selection, _ in cluster._watching.values())
        assert set(opened) >= EVIDENCE - {"infrastructures"}
        assert all(count <= at_once[plural] for plural, count in opened.items()), opened
        assert any(where == "clusteroperators/topology" for where, _ in cluster.writes[reports:])
        await asyncio.sleep(2)
        assert cluster.phase == "Idle"
        assert cluster.condition("Progressing") == ("False", "AsExpected")


async def test_a_record_that_always_conflicts_keeps_no_report_back() -> None:
    """Somebody writes Infrastructure right before each of our writes: that a request waits is said all the same."""
    cluster = Cluster()
    cluster.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
    async with running(cluster):
        await asyncio.sleep(1)
        assert cluster.condition("Upgradeable") == ("True", "AsExpected")

        def storm(where: str, _: Raw) -> None:
            if where == "infrastructures/cluster":
                cluster.change(INFRASTRUCTURE, {"status": {"noise": cluster.version}})

        cluster.fault, cluster.limit = storm, 20_000
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(3)
        assert cluster.phase == "Idle", "nothing can be recorded"
        assert cluster.condition("Upgradeable")[0] == "False"
        assert cluster.objects[OPERATOR]["status"]["extension"]["phase"] == "Idle", "the copy is of what stands there"
        written = sum(where == "clusteroperators/topology" for where, _ in cluster.writes)
        await asyncio.sleep(10)
        assert sum(where == "clusteroperators/topology" for where, _ in cluster.writes) <= written + 1
        cluster.fault = accept
        await asyncio.sleep(61)
        assert cluster.phase == "Pending"


async def test_no_echo_goes_back_to_pending_after_eight_minutes_and_proceeds_when_it_comes() -> None:
    cluster = Cluster()
    cluster.echo = False
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(479)
        assert cluster.phase == "Admitting"
        await asyncio.sleep(3)
        assert cluster.phase == "Pending"
        assert cluster.condition("Progressing") == ("False", "PreflightUnmet")
        await asyncio.sleep(3000)
        assert (cluster.phase, cluster.changes) == ("Pending", 0)
        assert len(cluster.asked) < 200
        cluster._echo()
        await asyncio.sleep(1)
        assert (cluster.phase, cluster.changes) == ("Converging", 1)
