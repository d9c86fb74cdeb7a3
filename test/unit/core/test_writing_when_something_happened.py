"""When the record is written: Infrastructure is everybody's, and each write makes others work.

The operator runs in virtual time on a cluster in memory; what is counted are its writes of Infrastructure.
"""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_controller.decide import cadence
from topology_controller.decide.cadence import Writes
from topology_controller.decide.decision import Step
from topology_controller.observe import facts

from . import worlds
from .clusters import OPERATOR, Cluster, running

if TYPE_CHECKING:
    from topology_controller.decide.decision import Decision

Raw = dict[str, Any]
CONSOLE = ("deployments", "openshift-console", "console")
NODE = ("nodes", None, worlds.NAMES[1])
SCHEDULER = ("schedulers", None, "cluster")


def writes(cluster: Cluster) -> int:
    return sum(where == "infrastructures/cluster" for where, _ in cluster.writes)


def flap(cluster: Cluster, *, cordoned: bool) -> None:
    cluster.change(NODE, {"spec": {"unschedulable": cordoned or None}})


def told(cluster: Cluster) -> dict[str, str]:
    """The newest answers, as ClusterOperator topology has them."""
    extension = cluster.objects[("clusteroperators", None, "topology")]["status"]["extension"]
    return {check["name"]: check["status"] for check in extension["checks"]}


def with_a_request_that_waits() -> Cluster:
    """A cluster with a request that one preflight check keeps Pending."""
    cluster = Cluster()
    cluster.put(OPERATOR, {"metadata": {"annotations": cluster.annotations}})
    cluster.change(SCHEDULER, {"spec": {"mastersSchedulable": False}})
    cluster.ask_for("HighlyAvailable")
    return cluster


@pytest.mark.looptime
async def test_an_answer_that_changes_is_told_at_once_and_written_after_a_minute() -> None:
    cluster = with_a_request_that_waits()
    async with running(cluster):
        await asyncio.sleep(5)
        before = writes(cluster)
        flap(cluster, cordoned=True)
        await asyncio.sleep(1)
        assert told(cluster)["ControlPlaneNodes"] == "Unmet"
        assert writes(cluster) == before
        await asyncio.sleep(60)
        assert writes(cluster) == before + 1
        stored = {check["name"]: check["status"] for check in cluster.record["checks"]}
        assert stored == told(cluster)


def moments(cluster: Cluster, *where: str) -> list[tuple[float, Raw]]:
    """The writes of these objects from now on, each with the virtual second in which it happened."""
    written: list[tuple[float, Raw]] = []

    def note(target: str, body: Raw) -> None:
        if target in where:
            written.append((asyncio.get_running_loop().time(), body))

    cluster.after = note
    return written


def says(cluster: Cluster, type_: str = "Progressing") -> str:
    """The message of a condition of ClusterOperator topology."""
    stored = cluster.objects[OPERATOR]["status"]["conditions"]
    return next(str(item["message"]) for item in stored if item["type"] == type_)


def drain_one_after_another(cluster: Cluster, second: int) -> None:
    """What drains do to the answers: each second another number of components is updated."""
    flap(cluster, cordoned=second % 2 == 0)
    cluster.change(CONSOLE, {"status": dict.fromkeys(("readyReplicas", "availableReplicas"), second % 3)})


@pytest.mark.looptime
@pytest.mark.parametrize(("minutes", "every"), [(5, 1), (60, 8)])
async def test_a_whole_transition_with_drains_that_flap_is_thirty_reports(minutes: int, every: int) -> None:
    cluster = Cluster()
    cluster.limit = 200_000
    reports = moments(cluster, "clusteroperators/topology")
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(1)
        for step in range(minutes * 60 // every):
            drain_one_after_another(cluster, step)
            await asyncio.sleep(every)
        flap(cluster, cordoned=False)
        cluster.follow()
        await asyncio.sleep(120)
        assert cluster.phase == "Completed"
        assert len(reports) <= 30
        assert writes(cluster) <= 10


@pytest.mark.looptime
async def test_status_reason_and_phase_are_reported_at_once_however_lately_a_text_was() -> None:
    cluster = with_a_request_that_waits()
    async with running(cluster):
        await asyncio.sleep(5)
        for cordoned in (True, False):
            flap(cluster, cordoned=cordoned)
            await asyncio.sleep(1)
        assert told(cluster)["ControlPlaneNodes"] == "Unmet", "a text alone: it waits"
        cluster.change(SCHEDULER, {"spec": {"mastersSchedulable": True}})
        await asyncio.sleep(1)
        assert cluster.condition("Progressing") == ("True", "TransitionConverging")
        extension = cluster.objects[OPERATOR]["status"]["extension"]
        assert (extension["phase"], extension["attempt"]) == ("Converging", cluster.record["attempt"])
        assert told(cluster)["ControlPlaneNodes"] == "Met"


@pytest.mark.looptime
@pytest.mark.parametrize("after", [15, 65, 130])
async def test_when_the_last_check_is_met_both_objects_say_so_at_once(after: int) -> None:
    """However lately the record was written, and however long the interval has become."""
    cluster = Cluster()
    cluster.limit = 50_000
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(1)
        for second in range(after):
            drain_one_after_another(cluster, second)
            await asyncio.sleep(1)
        flap(cluster, cordoned=False)
        before = writes(cluster)
        cluster.follow()
        await asyncio.sleep(1)
        assert "All convergence checks are met" in says(cluster)
        assert cluster.record["message"] == says(cluster)
        stored = {check["name"]: check["status"] for check in cluster.record["checks"]}
        assert set(stored.values()) == {"Met"}
        assert writes(cluster) == before + 1
        for _ in range(55):
            await asyncio.sleep(1)
            assert (cluster.phase, cluster.record["message"]) == ("Converging", says(cluster))
        await asyncio.sleep(8)
        assert cluster.phase == "Completed"
        assert writes(cluster) == before + 2


# The rule itself


def pending(**changes: Any) -> Decision:
    known = worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False), **changes)
    return dataclasses.replace(worlds.decide(known), steps=(Step.REPORT,))


@given(st.integers(0, 40), st.floats(0, 7200, allow_nan=False))
def test_newer_answers_alone_are_never_written_twice_within_a_minute(in_a_row: int, seconds: float) -> None:
    first, second = pending(), pending(etcd=worlds.etcd(EtcdMembersDegraded="True"))
    assert first.record is not None
    at = worlds.NOW + timedelta(seconds=seconds)
    term = worlds.term(writes=Writes(worlds.NOW, in_a_row))
    found = cadence.due(second, first.record, term, at)
    if Step.SAVE in found.steps:
        assert seconds >= 60 * min(2**in_a_row, 32)
    else:
        assert found.look_again is not None
        assert 0 < found.look_again <= 32 * 60 + 0.05
