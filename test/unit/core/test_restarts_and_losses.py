"""The loop through what happens to it: restarted, its objects deleted, its record dropped, its clock moved.

In every phase of a transition, on a cluster in memory, in virtual time.
"""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topology_api import crd
from topology_api.types import TopologyTransition
from topology_controller.decide import leader, records, state
from topology_controller.observe import facts

from . import strategies, worlds
from .clusters import INFRASTRUCTURE, OPERATOR, Cluster, Raw, Running, accept, running

PHASES = ["Idle", "Unsupported", "Pending", "Admitting", "Converging", "Completed"]
DEFINITION = ("customresourcedefinitions", None, crd.NAME)
SCHEDULER = ("schedulers", None, "cluster")
FREE: Raw = {"spec": {"mastersSchedulable": True}}
pytestmark = pytest.mark.looptime


async def arrive(cluster: Cluster, phase: str) -> None:
    """Let the cluster come to that phase; the operator runs."""
    if phase == "Unsupported":
        cluster.ask_for("DualReplica")
    elif phase != "Idle":
        if phase == "Pending":
            cluster.change(SCHEDULER, {"spec": {"mastersSchedulable": False}})
        cluster.echo = phase != "Admitting"
        cluster.ask_for("HighlyAvailable")
    await asyncio.sleep(2)
    if phase == "Completed":
        cluster.follow()
        await asyncio.sleep(63)
    assert cluster.phase == phase


async def finish(cluster: Cluster, phase: str) -> None:
    """Take away what keeps it and see it through."""
    if phase in {"Idle", "Unsupported"}:
        cluster.ask_for("HighlyAvailable")
    cluster.change(SCHEDULER, FREE)
    if phase == "Admitting":
        cluster.echo = True
        cluster._echo()
    await asyncio.sleep(2)
    if phase != "Completed":
        assert cluster.phase == "Converging"
        cluster.follow()
        await asyncio.sleep(63)
    assert (cluster.phase, cluster.changes) == ("Completed", 1)
    assert cluster.condition("Upgradeable") == ("True", "AsExpected")


@contextlib.asynccontextmanager
async def at(phase: str) -> AsyncIterator[tuple[Cluster, Running]]:
    cluster = Cluster()
    async with running(cluster) as operator:
        await asyncio.sleep(1)
        await arrive(cluster, phase)
        yield cluster, operator


@pytest.mark.parametrize("phase", PHASES)
async def test_evicted_and_started_again_it_goes_on_from_there(phase: str) -> None:
    async with at(phase) as (cluster, _):
        before = cluster.record
    await asyncio.sleep(137)
    writes = len(cluster.writes)
    async with running(cluster):
        await asyncio.sleep(2)
        after = cluster.record
        assert after["phase"] == phase
        for kept in ("requestedTime", "phaseTransitionTime", "admittedTime", "baseline", "source", "target"):
            assert after.get(kept) == before.get(kept), kept
        if phase == "Admitting":
            assert after["attempt"] != before["attempt"], "a new leader, a new attempt"
        else:
            assert after.get("attempt") == before.get("attempt")
            assert len(cluster.writes) == writes, "a restart alone is no news"
        await finish(cluster, phase)


@pytest.mark.parametrize("phase", PHASES)
async def test_a_cluster_operator_deleted_by_hand_is_made_again_and_nothing_else_changes(phase: str) -> None:
    async with at(phase) as (cluster, _):
        before = cluster.record
        said = [(item["type"], item["status"], item["reason"]) for item in conditions(cluster)]
        extension = cluster.objects[OPERATOR]["status"].get("extension")
        cluster.delete(OPERATOR)
        await asyncio.sleep(2)
        assert [(item["type"], item["status"], item["reason"]) for item in conditions(cluster)] == said
        assert cluster.objects[OPERATOR]["status"].get("extension") == extension
        assert cluster.record == before
        await finish(cluster, phase)


async def test_a_report_and_a_record_that_are_taken_while_it_runs_are_both_made_again() -> None:
    async with at("Converging") as (cluster, _):
        before = cluster.record
        cluster.delete(OPERATOR)
        cluster.change(INFRASTRUCTURE, {"status": {"topologyTransition": None}})
        await asyncio.sleep(2)
        for kept in ("phase", "attempt", "baseline"):
            assert cluster.record[kept] == before[kept] == cluster.objects[OPERATOR]["status"]["extension"][kept], kept
        await finish(cluster, "Converging")


@pytest.mark.parametrize("spoilt", ["Idle", {"phase": "Converging", "checks": [{"name": None}]}], ids=["text", "check"])
async def test_a_record_that_cannot_be_read_is_replaced_and_nothing_is_made_of_it(spoilt: Any) -> None:
    async with at("Idle") as (cluster, _):
        cluster.change(INFRASTRUCTURE, {"status": {"topologyTransition": spoilt}})
        await asyncio.sleep(2)
        assert (cluster.phase, cluster.changes, cluster.record.get("checks")) == ("Idle", 0, None)
        await finish(cluster, "Idle")


@pytest.mark.parametrize("readable", [True, False])
async def test_while_the_server_drops_every_record_nothing_moves_and_the_log_says_why(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, *, readable: bool
) -> None:
    cluster.put(DEFINITION, crd.infrastructure(worlds.ONLY_COMPACT.edges()))
    cluster.ask_for("HighlyAvailable")

    def drop(where: str, body: Raw) -> None:
        if where == "infrastructures/cluster":
            del body["status"]["topologyTransition"]

    cluster.fault = drop
    if not readable:
        cluster.before_get = cluster.refusal(f"{DEFINITION[0]}/{DEFINITION[2]}")
    async with running(cluster) as operator:
        await asyncio.sleep(60)
        assert (cluster.topology, cluster.record) == ("SingleReplica", {})
        assert 2 < operator.retries < 20, "it goes on trying, later each time"
        (said,) = {text.partition("; trying")[0] for text in caplog.messages if "dropped" in text}
        assert said.startswith("the server dropped the record; ")
        assert ("although the CRD has its fields" in said) is readable
        assert ("is unknown: customresourcedefinitions" in said) is not readable
        cluster.fault = accept
        await asyncio.sleep(120)
        assert (cluster.changes, cluster.phase) == (1, "Converging")


@pytest.mark.parametrize("write", range(1, 7))
@pytest.mark.parametrize("desired", [None, "SingleReplica", "DualReplica"])
async def test_a_request_that_changes_at_any_instant_either_comes_too_late_or_never_moves_anything(
    cluster: Cluster, write: int, desired: str | None
) -> None:
    """Changed right before the nth write is sent. After the change the API would refuse it; the record leads."""
    done = 0

    def change(_where: str, _body: Raw) -> None:
        nonlocal done
        done += 1
        if done == write:
            cluster.ask_for(desired)

    cluster.fault = change
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(30)
        if cluster.changes:
            assert (cluster.phase, cluster.topology) == ("Converging", "HighlyAvailable")
        else:
            assert cluster.topology == "SingleReplica"
            assert cluster.phase == ("Unsupported" if desired == "DualReplica" else "Idle")
        assert cluster.changes <= 1
        if done < write:
            assert cluster.changes == 1


def conditions(cluster: Cluster) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cluster.objects[OPERATOR]["status"]["conditions"]
    return found


def test_a_deadline_before_an_admission_of_the_future_stays_a_time_that_can_be_read() -> None:
    admitted = worlds.NOW.replace(year=3000)
    for deadline in (worlds.NOW, worlds.NOW.replace(year=1971)):
        record = worlds.converging().model_copy(update={"admitted_time": admitted, "deadline_time": deadline})
        found = records.believed(record, worlds.NOW)
        assert (found.admitted_time, found.deadline_time) == (worlds.NOW, deadline)


JUMPS = (timedelta(minutes=5), timedelta(minutes=-5), timedelta(days=400), timedelta(days=-400))


@given(strategies.records())
def test_no_time_that_something_is_reckoned_from_lies_in_the_future(record: TopologyTransition) -> None:
    found = records.believed(record, worlds.NOW)
    times = (found.phase_transition_time, found.admitted_time, *(one.last_transition_time for one in found.checks))
    assert all(time is None or time <= worlds.NOW for time in times)
    assert records.believed(found, worlds.NOW) is found
    same = {"phase_transition_time", "admitted_time", "checks"}
    assert found.model_dump(exclude=same) == record.model_dump(exclude=same)
    if record.admitted_time is not None and record.admitted_time <= worlds.NOW:
        assert found.admitted_time == record.admitted_time


def waits(term: state.LeaderState) -> dict[str, datetime | None]:
    """Every moment that a leader counts from."""
    own = {field.name: getattr(term, field.name) for field in dataclasses.fields(term) if "datetime" in field.type}
    nested = {name: getattr(term, name).at for name in ("writes", "texts")}
    return {name: moment for name, moment in (own | nested).items() if name != "steady_since"}


def test_all_waits_of_a_leader_go_with_the_clock() -> None:
    """Two voters, a gate that is on, and no Infrastructure, so that what counts from these is not over."""
    by, moment = timedelta(minutes=-5), worlds.NOW - timedelta(seconds=1)
    times: dict[str, Any] = dict.fromkeys(waits(worlds.term()), moment)
    times |= {"writes": state.Writes(moment), "texts": state.Writes(moment)}
    before = worlds.term(**times | {"clocks": state.Clocks(worlds.NOW, 100.0)})
    endpoints = facts.EtcdEndpoints(tuple(zip(worlds.MEMBERS[:2], worlds.ADDRESSES[:2], strict=True)))
    known = worlds.healthy(feature_gates=facts.FeatureGates((("4.20.1", True),)), etcd_endpoints=endpoints)
    known = dataclasses.replace(known, infrastructure=facts.NOT_READ)
    found = leader.looked(before, known, state.Clocks(worlds.NOW + by, 100.0), watching=True, missed=False)
    assert waits(found) == dict.fromkeys(waits(before), moment + by)
    assert found.steady_since == worlds.NOW + by


@pytest.mark.parametrize(("passed", "off"), [(10.0, 0.9), (100.0, 9.0)])
def test_a_clock_that_is_corrected_slowly_was_not_moved(passed: float, off: float) -> None:
    before = state.Clocks(worlds.NOW, 0.0)
    far = timedelta(seconds=2 * off)
    assert not leader.jump(before, state.Clocks(worlds.NOW + timedelta(seconds=passed + off), passed))
    assert leader.jump(before, state.Clocks(worlds.NOW + timedelta(seconds=passed) + far, passed)) == far


@pytest.mark.parametrize("by", [timedelta(minutes=-5), timedelta(days=-400)])
def test_a_clock_put_back_does_not_put_off_the_deadline_for_ever(by: timedelta) -> None:
    now = worlds.NOW + by
    first = worlds.decide(worlds.moved(worlds.healthy(now), worlds.converging()), now=now)
    late = now + (worlds.DEADLINE - worlds.NOW)
    known = worlds.moved(worlds.healthy(late), first.record)
    assert worlds.decide(known, worlds.term(since=now), late).degraded is not None


async def changed(cluster: Cluster) -> None:
    cluster.ask_for("HighlyAvailable")
    await asyncio.sleep(1)
    assert cluster.phase == "Converging"


@pytest.mark.parametrize("at", [0.0, 1.0, 30.0, 59.0])
@pytest.mark.parametrize("by", JUMPS)
async def test_a_jump_while_it_is_quiet_neither_shortens_nor_endlessly_lengthens_the_wait(
    cluster: Cluster, by: timedelta, at: float
) -> None:
    async with running(cluster):
        await changed(cluster)
        cluster.follow()
        await asyncio.sleep(at)
        cluster.skew += by
        # The lease of the etcd operator is renewed by a clock that nobody has moved.
        _renew(cluster, by)
        await asyncio.sleep(58.0 - min(at, 57.0))
        assert cluster.phase == "Converging", "60 s of quiet have not passed"
        await asyncio.sleep(2 * 62.0)
        assert cluster.phase == "Completed"
        assert cluster.condition("Degraded") == ("False", "AsExpected")


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 90), st.sampled_from((-300, 300))), max_size=4))
async def test_however_often_it_jumps_completed_needs_the_whole_quiet_time(jumps: list[tuple[int, int]]) -> None:
    cluster = Cluster()
    loop = asyncio.get_running_loop()
    async with running(cluster):
        await changed(cluster)
        cluster.follow()
        began = loop.time()
        for after, seconds in jumps:
            await asyncio.sleep(after)
            if cluster.phase == "Completed":
                break
            cluster.skew += timedelta(seconds=seconds)
            _renew(cluster, timedelta(seconds=seconds))
            cluster.change(INFRASTRUCTURE, {"metadata": {"annotations": {"news": str(after)}}})
        for _ in range(200):
            if cluster.phase == "Completed":
                break
            await asyncio.sleep(1)
        assert cluster.phase == "Completed"
        assert loop.time() - began >= 60
        assert cluster.changes == 1


@pytest.mark.parametrize("by", JUMPS)
async def test_a_jump_while_it_waits_for_the_echo_costs_no_more_than_another_try(
    cluster: Cluster, by: timedelta
) -> None:
    cluster.echo = False
    async with running(cluster):
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(10)
        assert cluster.phase == "Admitting"
        cluster.skew += by
        _renew(cluster, by)
        await asyncio.sleep(10)
        assert cluster.changes == 0
        cluster.echo = True
        cluster._echo()
        await asyncio.sleep(62)
        assert (cluster.phase, cluster.changes) == ("Converging", 1)


async def test_an_etcd_operator_whose_clock_is_hours_behind_is_alive_only_while_its_lease_moves(
    cluster: Cluster,
) -> None:
    lease = ("leases", "openshift-etcd-operator", "openshift-cluster-etcd-operator-lock")
    cluster.change(lease, {"spec": {"renewTime": "2026-03-01T09:00:00.000000Z", "leaseDurationSeconds": 100}})
    cluster.ask_for("HighlyAvailable")

    def alive() -> str:
        checks = cluster.objects[OPERATOR]["status"]["extension"]["checks"]
        return str(next(check["status"] for check in checks if check["name"] == "EtcdOperatorAlive"))

    async with running(cluster):
        await asyncio.sleep(2)
        assert alive() == "Unmet", "nobody has seen it move"
        cluster.change(lease, {"spec": {"renewTime": "2026-03-01T09:00:05.000000Z"}})
        await asyncio.sleep(129)
        assert alive() == "Unknown"
        await asyncio.sleep(3)
        assert alive() == "Unmet", "its duration and 30 s have passed by our clock"


def _renew(cluster: Cluster, by: timedelta) -> None:
    """Let the lease of the etcd operator be of this time, as its own clock was put right as well."""
    key = ("leases", "openshift-etcd-operator", "openshift-cluster-etcd-operator-lock")
    spec: Raw = {"renewTime": f"{cluster.now():%Y-%m-%dT%H:%M:%S}.000000Z"}
    assert by
    cluster.change(key, {"spec": spec})
