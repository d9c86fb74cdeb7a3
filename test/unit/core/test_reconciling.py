"""The loop on a cluster in memory, in virtual time: what it writes, and in which order."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from .clusters import INFRASTRUCTURE, OPERATOR, VERSION, Cluster, accept, running

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
MOVED = {"TransitionRequested", "TransitionAdmitted", "TopologyChanged"}
pytestmark = pytest.mark.looptime


def is_change(body: Raw) -> bool:
    return "controlPlaneTopology" in body.get("status", {})


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


async def test_discovery_happens_at_start_when_the_place_changes_and_hourly() -> None:
    cluster = Cluster()
    async with running(cluster):
        await asyncio.sleep(1)
        available = cluster.objects[INFRASTRUCTURE]["status"]["topologyTransition"]["available"]
        assert [item["available"] for item in available] == [True]

        def lists() -> int:
            return sum(asked == ("list", "nodes") for asked in cluster.asked)

        assert lists() == 2  # control-plane nodes, and the others
        await asyncio.sleep(3590)
        assert lists() == 2
        await asyncio.sleep(20)
        assert lists() == 4
        writes = len(cluster.writes)
        cluster.change(INFRASTRUCTURE, {"metadata": {"generation": 7}})
        await asyncio.sleep(1)
        assert lists() == 6
        assert len(cluster.writes) == writes + 1, "observedGeneration only: no verdict has changed"


async def test_what_was_discovered_before_is_not_offered_after_the_change() -> None:
    cluster = Cluster()
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(1)
        cluster.change(("schedulers", None, "cluster"), {"spec": {"other": 1}})
        cluster.follow()
        await asyncio.sleep(1)
        assert cluster.phase == "Converging"
        assert "available" not in cluster.objects[INFRASTRUCTURE]["status"]["topologyTransition"]


async def test_a_cancelled_request_closes_the_watches() -> None:
    cluster = Cluster()
    cluster.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(1)
        assert cluster.phase == "Pending"
        assert cluster.watched >= EVIDENCE
        cluster.ask_for(None)
        await asyncio.sleep(1)
        assert cluster.phase == "Idle"
        assert cluster.condition("Upgradeable") == ("True", "AsExpected")
        await asyncio.sleep(58)
        assert cluster.watched >= EVIDENCE, "the next request may follow"
        await asyncio.sleep(2)
        assert cluster.watched == IDLE


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


async def test_an_echo_that_comes_late_lets_it_proceed() -> None:
    cluster = Cluster()
    cluster.echo = False
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(100)
        assert (cluster.phase, cluster.changes) == ("Admitting", 0)
        cluster._echo()
        await asyncio.sleep(1)
        assert cluster.changes == 1


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


async def test_a_record_that_somebody_drops_after_the_change_is_rebuilt_and_nothing_moves_again() -> None:
    cluster = Cluster()
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(1)
        attempt = cluster.objects[INFRASTRUCTURE]["status"]["topologyTransition"]["attempt"]
        cluster.change(INFRASTRUCTURE, {"status": {"topologyTransition": None}})
        await asyncio.sleep(1)
        assert cluster.phase == "Converging"
        assert cluster.objects[INFRASTRUCTURE]["status"]["topologyTransition"]["attempt"] == attempt
        assert cluster.changes == 1
        route = {"source": "SingleReplica/SingleReplica", "target": "HighlyAvailable/HighlyAvailable"}
        assert operator.metrics.registry.get_sample_value("topology_transition_started_total", route) == 1


async def test_a_topology_that_somebody_sets_back_is_not_fought() -> None:
    cluster = Cluster()
    cluster.ask_for("HighlyAvailable")
    back: Raw = {"status": {"controlPlaneTopology": "SingleReplica", "infrastructureTopology": "SingleReplica"}}
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.change(INFRASTRUCTURE, back)
        await asyncio.sleep(600)
        assert cluster.changes == 1
        assert cluster.condition("Degraded") == ("True", "TopologyOverwritten")
        cluster.ask_for(None)
        await asyncio.sleep(1)
        assert cluster.condition("Degraded") == ("False", "AsExpected")
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(1)
        assert cluster.changes == 2


async def test_a_topology_that_was_set_back_stays_a_problem_of_the_spec_as_it_is_now() -> None:
    """A health check goes on waiting while the record has an older generation."""
    cluster = Cluster()
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.change(INFRASTRUCTURE, {"status": {"controlPlaneTopology": "SingleReplica"}})
        await asyncio.sleep(1)
        edited = {"metadata": {"generation": 3}, "spec": {"cloudConfig": {"name": "other"}}}
        cluster.change(INFRASTRUCTURE, edited)
        await asyncio.sleep(61)
        record = cluster.objects[INFRASTRUCTURE]["status"]["topologyTransition"]
        assert (record["problem"]["reason"], record["observedGeneration"]) == ("TopologyOverwritten", 3)
        assert cluster.changes == 1


async def test_a_broken_fact_that_is_repaired_lets_it_proceed_by_itself() -> None:
    cluster = Cluster()
    broken: list[tuple[Any, Raw, Raw]] = [
        (
            ("schedulers", None, "cluster"),
            {"spec": {"mastersSchedulable": False}},
            {"spec": {"mastersSchedulable": True}},
        ),
        (
            VERSION,
            {"status": {"conditions": None}},
            {"status": {"conditions": [{"type": "Progressing", "status": "False"}]}},
        ),
        (("nodes", None, "node-1"), {"spec": {"unschedulable": True}}, {"spec": {"unschedulable": None}}),
        (
            ("etcds", None, "cluster"),
            {"status": "text"},
            {"status": cluster.objects["etcds", None, "cluster"]["status"]},
        ),
    ]
    for key, damage, _ in broken:
        cluster.change(key, damage)
    cluster.echo = False
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        for key, _, repair in broken:
            await asyncio.sleep(10)
            assert (cluster.phase, cluster.changes) == ("Pending", 0)
            cluster.change(key, repair)
        await asyncio.sleep(1)
        assert cluster.phase == "Admitting"
        cluster._echo()
        await asyncio.sleep(1)
        assert cluster.changes == 1


async def test_a_pause_is_respected_and_lifted() -> None:
    cluster = Cluster()
    cluster.put(OPERATOR, {"metadata": {"annotations": {"topology.openshift.io/paused": ""}}, "spec": {}})
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(100)
        assert (cluster.phase, cluster.changes) == ("Pending", 0)
        cluster.change(OPERATOR, {"metadata": {"annotations": None}})
        await asyncio.sleep(1)
        assert cluster.changes == 1
