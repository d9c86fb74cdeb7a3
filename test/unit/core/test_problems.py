"""`status.topologyTransition.problem`: present only while a person should look, and what it says to do."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.types import PoolBaseline, Problem
from topology_api.vocabulary import ConditionType, Phase, ProblemReason, Reason
from topology_controller.decide import discovery, leader
from topology_controller.decide.decision import Step
from topology_controller.decide.leader import Progress, Voids
from topology_controller.observe import facts

from . import worlds
from .outcomes import F, T, row, said

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import TopologyTransition
    from topology_controller.decide.decision import Decision

AFTER = worlds.NOW + timedelta(minutes=2)
TEN = timedelta(minutes=10)
NOTHING_SEEN = Progress()
UNREAD = facts.Unobserved("it", "Forbidden")


def problem(decision: Decision) -> tuple[ProblemReason, datetime] | None:
    assert decision.record is not None
    found = decision.record.problem
    return None if found is None else (found.reason, found.since)


def converging(now: datetime = AFTER, record: TopologyTransition | None = None, **changes: Any) -> facts.Facts:
    known = worlds.moved(worlds.converged(worlds.healthy(now)), record or worlds.converging())
    return dataclasses.replace(known, **changes)


# Before the change


def test_a_request_that_has_been_pending_for_an_hour_is_blocked() -> None:
    known = worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False))
    first = worlds.decide(known)
    assert problem(first) is None
    at = worlds.NOW + timedelta(hours=1)
    early = worlds.decide(worlds.recorded(known, first.record), now=at - timedelta(seconds=1))
    assert problem(early) is None
    assert early.look_again is not None
    late = worlds.decide(worlds.recorded(known, first.record), now=at)
    assert problem(late) == (ProblemReason.BLOCKED, at)
    assert Step.SAVE in late.steps
    later = worlds.decide(worlds.recorded(known, late.record), now=at + TEN)
    assert problem(later) == (ProblemReason.BLOCKED, at), "it keeps its time"


def test_a_pause_is_a_problem_while_a_request_is_open_and_says_how_it_ends() -> None:
    found = worlds.decide(worlds.healthy(own_operator=worlds.own(paused=True)))
    assert found.record is not None
    assert found.record.problem is not None
    assert found.record.problem.reason is ProblemReason.PAUSED
    assert "oc annotate clusteroperator topology topology.openshift.io/paused-" in found.record.problem.message
    assert problem(worlds.decide(worlds.recorded(worlds.healthy(), found.record))) is None


def test_what_cannot_be_read_for_five_minutes_is_a_problem() -> None:
    first = worlds.decide(worlds.healthy(scheduler=worlds.BROKEN))
    assert problem(first) is None
    at = worlds.NOW + timedelta(minutes=5)
    late = worlds.decide(worlds.recorded(worlds.healthy(at, scheduler=worlds.BROKEN), first.record), now=at)
    assert problem(late) == (ProblemReason.EVIDENCE_UNREADABLE, at)


# After the change


def behind(**changes: Any) -> facts.MachineConfigPool:
    return worlds.pool("canary", wanted_configuration="rendered-canary-2", **changes)


def rolled_master() -> facts.MachineConfigPool:
    return worlds.rolled(worlds.pool())


def with_canary() -> TopologyTransition:
    record = worlds.converging()
    assert record.baseline is not None
    canary = PoolBaseline(name="canary", configuration="rendered-canary-1")
    baseline = record.baseline.model_copy(
        update={"machine_config_pools": (*record.baseline.machine_config_pools, canary)}
    )
    return record.model_copy(update={"baseline": baseline})


def test_a_paused_pool_is_a_problem_when_nothing_else_is_left_to_wait_for() -> None:
    record = with_canary()
    pools = (rolled_master(), behind(paused=True))
    found = worlds.decide(converging(record=record, machine_config_pools=pools), now=AFTER)
    assert problem(found) == (ProblemReason.PAUSED, AFTER)
    assert found.record is not None
    assert found.record.problem is not None
    assert "oc patch machineconfigpool canary --type merge" in found.record.problem.message
    assert found.degraded is None
    assert said(found, ConditionType.PROGRESSING)[0] is T


@pytest.mark.parametrize(
    "changes",
    [
        {"machine_config_pools": (rolled_master(), behind())},
        {"machine_config_pools": (worlds.pool(ready=0), behind(paused=True))},
        {
            "machine_config_pools": (rolled_master(), behind(paused=True)),
            "etcd": worlds.etcd(EtcdMembersDegraded="True"),
        },
        {"machine_config_pools": UNREAD},
        {"machine_config_pools": (rolled_master(), behind(paused=True)), "cluster_operators": UNREAD},
    ],
)
def test_while_something_else_is_waited_for_a_paused_pool_is_none(changes: dict[str, Any]) -> None:
    assert problem(worlds.decide(converging(record=with_canary(), **changes), now=AFTER)) is None


def test_a_request_that_is_gone_after_the_change_is_restored_by_a_command() -> None:
    known = worlds.with_infrastructure(converging(), desired=None)
    found = worlds.decide(known, now=AFTER)
    assert problem(found) == (ProblemReason.REQUEST_LOST, AFTER)
    assert found.record is not None
    assert found.record.problem is not None
    assert '"desiredTopology":"HighlyAvailable"' in found.record.problem.message
    back = worlds.decide(converging(record=found.record), now=AFTER)
    assert problem(back) is None


def test_completed_has_none() -> None:
    old = worlds.completed().model_copy(
        update={"problem": Problem(reason=ProblemReason.STUCK, message="m", since=worlds.NOW)}
    )
    assert problem(worlds.decide(worlds.moved(worlds.healthy(), old), now=AFTER)) is None


# Stuck


def stalled(
    at: datetime, record: TopologyTransition | None = None, progress: Progress = NOTHING_SEEN, **changes: Any
) -> Decision:
    """One operand is behind at that time; `progress` is what the leader has seen of answers and times."""
    changes = changes or {"ingress_controller": facts.IngressController(1, 1)}
    return worlds.decide(converging(at, record, **changes), worlds.term(progress=progress), at)


def test_past_the_deadline_it_is_overdue_while_something_progresses_and_stuck_ten_minutes_later() -> None:
    first = stalled(worlds.DEADLINE - TEN)
    assert first.record is not None
    assert "Overdue" not in first.note
    seen = Progress(frozenset({1}), worlds.DEADLINE - timedelta(minutes=4))
    # The answer of the moment is new to this leader: that is progress.
    moving = stalled(worlds.DEADLINE, first.record, seen)
    assert moving.degraded is None
    assert moving.note.startswith("Overdue since 2026-03-01T14:00:00Z. 23 of 24 components updated ")
    assert problem(moving) is None


def test_the_same_answers_again_are_no_progress() -> None:
    term = worlds.term(since=worlds.DEADLINE - TEN)
    now = worlds.DEADLINE - timedelta(minutes=5)
    known = converging(now, ingress_controller=facts.IngressController(1, 1))
    other = converging(now, etcd=worlds.etcd(EtcdMembersDegraded="True"))
    for world in (known, other, known, other):
        decision = worlds.decide(world, term, now)
        term = leader.decided(term, decision, now)
    # The second answer was new, the third and fourth came and went.
    assert term.progress.at == now
    at = now + timedelta(minutes=9)
    decision = worlds.decide(converging(at, ingress_controller=facts.IngressController(1, 1)), term, at)
    assert (problem(decision), decision.degraded) == (None, None)
    at = now + TEN
    decision = worlds.decide(converging(at, ingress_controller=facts.IngressController(1, 1)), term, at)
    assert problem(decision) == (ProblemReason.STUCK, at)
    assert said(decision, ConditionType.DEGRADED) == (T, Reason.TRANSITION_STUCK)


def test_a_new_leader_keeps_calling_it_stuck() -> None:
    late = worlds.DEADLINE + timedelta(hours=1)
    first = stalled(late)
    assert problem(first) == (ProblemReason.STUCK, late)
    again = worlds.decide(
        converging(late, first.record, ingress_controller=facts.IngressController(1, 1)),
        worlds.term(since=late),
        late,
    )
    assert problem(again) == (ProblemReason.STUCK, late)


def test_a_new_leader_gives_ten_minutes_to_what_it_finds_overdue() -> None:
    late = worlds.DEADLINE + timedelta(hours=1)
    known = converging(late, ingress_controller=facts.IngressController(1, 1))
    assert worlds.decide(known, worlds.term(since=late), late).degraded is None
    assert worlds.decide(known, worlds.term(since=late), late + TEN).degraded is not None


def test_the_deadline_follows_the_machines_of_the_largest_pool() -> None:
    record = worlds.converging()
    assert record.deadline_time == worlds.DEADLINE
    pools = (worlds.pool(), worlds.pool("worker", machines=9, updated=9, ready=9))
    known = worlds.recorded(worlds.healthy(machine_config_pools=pools), worlds.admitting())
    found = worlds.decide(dataclasses.replace(known, live=True), worlds.term(attempt="mine"))
    assert found.record is not None
    assert found.record.deadline_time == worlds.NOW + timedelta(minutes=30 + 9 * 30)
    external = worlds.with_infrastructure(known, platform="External")
    found = worlds.decide(dataclasses.replace(external, live=True), worlds.term(attempt="mine"))
    assert found.record is not None
    assert found.record.deadline_time == worlds.NOW + timedelta(minutes=30 + 9 * 20)


# The block on upgrades


@pytest.mark.parametrize(
    ("record", "phase"), [(worlds.converging(), Phase.CONVERGING), (worlds.admitting(), Phase.ADMITTING)]
)
def test_a_lost_definition_does_not_lift_the_block_of_what_is_under_way(
    record: TopologyTransition, phase: Phase
) -> None:
    known = worlds.with_infrastructure(worlds.healthy(), desired=None)
    if phase is Phase.CONVERGING:
        known = worlds.moved(worlds.with_infrastructure(worlds.healthy(), desired=None), None)
    known = dataclasses.replace(
        known, installed=facts.Installed("spec.desiredTopology is missing"), own_operator=worlds.copy_of(record)
    )
    found = worlds.decide(known)
    assert found.phase is phase
    assert found.upgrade_block
    assert row(found)["Upgradeable"] == (F, Reason.TRANSITION_IN_PROGRESS)
    assert row(found)["Degraded"] == (T, Reason.API_NOT_INSTALLED)
    assert row(found)["Progressing"][0] is F


def test_without_anything_under_way_a_lost_definition_blocks_nothing() -> None:
    known = worlds.healthy(
        installed=facts.Installed("spec.desiredTopology is missing"), own_operator=worlds.copy_of(worlds.completed())
    )
    assert row(worlds.decide(known))["Upgradeable"] == (T, Reason.AS_EXPECTED)


# A slow API server


def test_nobody_is_told_to_wait_for_clusterversion_when_it_is_the_api_server() -> None:
    known = worlds.recorded(worlds.healthy(), worlds.admitting())
    silent = dataclasses.replace(known, cluster_version=worlds.version(None))
    waiting = worlds.decide(silent, worlds.term(attempt="mine")).note
    assert "once ClusterVersion blocks upgrades" in waiting
    assert worlds.decide(silent, worlds.term(attempt="mine", voids=Voids(3, 2.4))).note == waiting
    assert worlds.decide(known, worlds.term(attempt="mine", voids=Voids(2, 2.4))).note == waiting
    slow = worlds.decide(known, worlds.term(attempt="mine", voids=Voids(3, 2.4))).note
    assert "API server answers too slowly" in slow
    assert "took up to 3 s" in slow
    assert "ClusterVersion" not in slow


# What could be asked for


def test_what_is_blocked_as_a_request_is_not_called_available() -> None:
    ready = worlds.decide(worlds.with_infrastructure(worlds.healthy(), desired=None)).record
    offered = discovery.available(worlds.healthy(), worlds.ONLY_COMPACT, worlds.NOW)
    assert offered is not None
    assert offered[0].available
    known = worlds.recorded(worlds.healthy(AFTER, scheduler=worlds.BROKEN), ready)
    found = worlds.decide(known, worlds.term(available=offered), AFTER)
    assert found.record is not None
    (item,) = found.record.available
    assert not item.available
    assert item.evaluated_time == AFTER
    assert [(one.name, one.status.value) for one in item.blockers] == [("MastersSchedulable", "Unknown")]
