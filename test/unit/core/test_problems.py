"""`status.topologyTransition.problem`: present only while a person should look, and what it says to do."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.types import PoolBaseline
from topology_api.vocabulary import ConditionType, Phase, ProblemReason, Reason
from topology_controller.decide import leader
from topology_controller.decide.decision import Step
from topology_controller.observe import facts

from . import worlds
from .outcomes import F, T, row, said

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import TopologyTransition
    from topology_controller.decide.decision import Decision

AFTER = worlds.NOW + timedelta(minutes=2)
TEN = timedelta(minutes=10)
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


# Stuck


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


# A slow API server


# What could be asked for
