"""When the record is written: Infrastructure is everybody's, and each write makes others work.

The operator runs in virtual time on a cluster in memory; what is counted are its writes of Infrastructure.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api.vocabulary import Phase
from topology_controller.decide import cadence
from topology_controller.decide.cadence import Writes
from topology_controller.decide.decision import Step
from topology_controller.observe import facts

from . import worlds
from .clusters import INFRASTRUCTURE, OPERATOR, Cluster, running

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


@pytest.mark.looptime
async def test_what_comes_and_goes_in_between_is_never_written() -> None:
    cluster = with_a_request_that_waits()
    async with running(cluster):
        await asyncio.sleep(5)
        before = writes(cluster)
        flap(cluster, cordoned=True)
        await asyncio.sleep(20)
        flap(cluster, cordoned=False)
        await asyncio.sleep(600)
        assert writes(cluster) == before


@pytest.mark.looptime
async def test_a_phase_is_written_at_once_however_lately_something_was() -> None:
    cluster = with_a_request_that_waits()
    async with running(cluster):
        await asyncio.sleep(1)
        assert cluster.phase == "Pending"
        cluster.change(SCHEDULER, {"spec": {"mastersSchedulable": True}})
        await asyncio.sleep(1)
        assert cluster.phase == "Converging"
        cluster.follow()
        await asyncio.sleep(63)
        assert cluster.phase == "Completed"
        assert writes(cluster) <= 6


@pytest.mark.looptime
async def test_quiet_is_judged_from_what_was_seen_and_not_from_what_was_written() -> None:
    """Half a minute after all is Met one falls back for a moment: no write tells of it, and it begins anew."""
    cluster = Cluster()
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.follow()
        await asyncio.sleep(30)
        before = writes(cluster)
        flap(cluster, cordoned=True)
        await asyncio.sleep(0.5)
        flap(cluster, cordoned=False)
        await asyncio.sleep(1)
        assert writes(cluster) == before
        await asyncio.sleep(40)
        assert cluster.phase == "Converging", "sixty seconds after the first time all were Met"
        await asyncio.sleep(25)
        assert cluster.phase == "Completed"


@pytest.mark.looptime
@pytest.mark.parametrize("minutes", [40, 60])
async def test_a_transition_in_which_something_changes_all_the_time_is_ten_writes(minutes: int) -> None:
    cluster = Cluster()
    cluster.limit = 50_000
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        for _ in range(minutes * 2):
            flap(cluster, cordoned=True)
            await asyncio.sleep(15)
            flap(cluster, cordoned=False)
            await asyncio.sleep(15)
        cluster.follow()
        await asyncio.sleep(120)
        assert cluster.phase == "Completed"
        assert writes(cluster) <= 10


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
async def test_a_text_alone_is_reported_every_ten_seconds_at_most_and_less_often_later() -> None:
    cluster = Cluster()
    cluster.limit = 50_000
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(1)
        assert cluster.phase == "Converging"
        written = moments(cluster, "infrastructures/cluster", "clusteroperators/topology")
        for second in range(300):
            drain_one_after_another(cluster, second)
            await asyncio.sleep(1)
        reports = [at for at, body in written if "topologyTransition" not in body["status"]]
        with_the_record = {at for at, body in written if "topologyTransition" in body["status"]}
        pauses = [later - earlier for earlier, later in itertools.pairwise(reports) if later not in with_the_record]
        assert min(pauses) >= 10
        assert len(reports) <= 12
        assert max(pauses) <= 100
        # What was last is not left out: it comes when its time has come.
        cluster.change(CONSOLE, {"status": dict.fromkeys(("readyReplicas", "availableReplicas"), 2)})
        flap(cluster, cordoned=False)
        await asyncio.sleep(100)
        assert told(cluster)["ControlPlaneNodes"] == "Met"


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
async def test_a_problem_that_begins_is_reported_at_once_and_its_text_is_not() -> None:
    cluster = with_a_request_that_waits()
    async with running(cluster):
        await asyncio.sleep(5)
        flap(cluster, cordoned=True)
        await asyncio.sleep(1)
        cluster.change(OPERATOR, {"metadata": {"annotations": {"topology.openshift.io/paused": "true"}}})
        await asyncio.sleep(1)
        assert cluster.objects[OPERATOR]["status"]["extension"]["problem"]["reason"] == "Paused"


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


@pytest.mark.looptime
async def test_a_last_check_that_comes_and_goes_is_no_write_a_minute() -> None:
    """Twenty minutes in which all checks are Met every few seconds: what is written at once does not add up."""
    cluster = Cluster()
    cluster.limit = 200_000
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.follow()
        recorded = moments(cluster, "infrastructures/cluster")
        for _ in range(120):
            await asyncio.sleep(7)
            flap(cluster, cordoned=True)
            await asyncio.sleep(3)
            flap(cluster, cordoned=False)
        for (first, _), (third, _) in zip(recorded, recorded[2:], strict=False):
            assert third - first >= 60
        await asyncio.sleep(70)
        assert cluster.phase == "Completed"
        assert writes(cluster) <= 10 + 2


@pytest.mark.looptime
async def test_a_check_that_flaps_while_the_echo_is_awaited_is_two_writes_a_minute_at_most() -> None:
    cluster = Cluster()
    cluster.limit = 50_000
    cluster.echo = False
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(1)
        assert cluster.phase == "Admitting"
        before = writes(cluster)
        for _ in range(30):
            flap(cluster, cordoned=True)
            await asyncio.sleep(5)
            flap(cluster, cordoned=False)
            await asyncio.sleep(5)
        assert writes(cluster) - before <= 2 * 5
        cluster._echo()
        await asyncio.sleep(61)
        assert cluster.phase == "Converging"


@pytest.mark.looptime
async def test_a_record_that_was_dropped_or_changed_by_others_is_written_at_once() -> None:
    cluster = with_a_request_that_waits()
    async with running(cluster):
        await asyncio.sleep(2)
        cluster.change(INFRASTRUCTURE, {"status": {"topologyTransition": None}})
        await asyncio.sleep(1)
        assert cluster.phase == "Pending"


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


def test_the_time_of_an_evaluation_alone_is_no_reason_to_write() -> None:
    found = worlds.decide(worlds.healthy(), worlds.term(available=()))
    assert found.record is not None
    assert found.record.phase is Phase.ADMITTING
    again = cadence.due(dataclasses.replace(found, steps=()), found.record, worlds.term(), worlds.NOW)
    assert again.steps == ()


def test_who_shortens_the_settle_time_shortens_the_interval() -> None:
    first, second = pending(), pending(etcd=worlds.etcd(EtcdMembersDegraded="True"))
    at = worlds.NOW + timedelta(seconds=2)
    for settle, written in ((2, True), (3, False), (600, False), (None, False)):
        term = worlds.term(settle_seconds=settle, writes=Writes(worlds.NOW))
        assert (Step.SAVE in cadence.due(second, first.record, term, at).steps) is written


@pytest.mark.looptime
async def test_an_api_server_that_takes_a_second_for_each_answer_is_named_after_three_attempts() -> None:
    cluster = Cluster()
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.latency = lambda: 1.1
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(240)
        said = cluster.objects[("clusteroperators", None, "topology")]["status"]["conditions"]
        message = next(one["message"] for one in said if one["type"] == "Progressing")
        assert (cluster.phase, cluster.changes) == ("Admitting", 0)
        assert "the API server answers too slowly" in message
        cluster.latency = lambda: 0.01
        await asyncio.sleep(60)
        assert cluster.changes == 1
