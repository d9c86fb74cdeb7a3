"""Two voting members of etcd are the one state in which the loss of either one stops the cluster."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.vocabulary import Phase, ProblemReason
from topology_controller.decide import leader
from topology_controller.decide.decision import Step
from topology_controller.observe import facts

from . import worlds

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import TopologyTransition
    from topology_controller.decide.decision import Decision

QUARTER = timedelta(minutes=15)
SECOND = timedelta(seconds=1)
TWO = facts.EtcdEndpoints(tuple(zip(worlds.MEMBERS[:2], worlds.ADDRESSES[:2], strict=True)))
THREE = worlds.healthy().etcd_endpoints
UNREAD = worlds.BROKEN
PHASES = [Phase.PENDING, Phase.CONVERGING]


def converging() -> TopologyTransition:
    """The record of an earlier version: it does not have the nodes, whose loss is a problem at once."""
    record = worlds.converging()
    assert record.baseline is not None
    return record.model_copy(update={"baseline": record.baseline.model_copy(update={"control_plane_nodes": ()})})


class Watching:
    """A leader that looks at etcd in that phase; `record` is what it has written."""

    def __init__(self, phase: Phase, record: TopologyTransition | None = None) -> None:
        self.phase = phase
        self.record = record if phase is Phase.PENDING or record is not None else converging()
        self.begin()

    def begin(self, at: timedelta = timedelta()) -> None:
        """Another leader, which remembers nothing."""
        self.leader = worlds.term(since=worlds.NOW + at)

    def look(self, endpoints: Any, after: timedelta, **changes: Any) -> Decision:
        """What it decides when it sees these voters, so long after the beginning."""
        now = worlds.NOW + after
        known = worlds.healthy(now, etcd_endpoints=endpoints, **changes)
        if self.phase is Phase.CONVERGING:
            known = worlds.moved(worlds.converged(known), self.record)
        else:
            known = worlds.recorded(known, self.record)
        self.leader = leader.looked(self.leader, known, (now, after.total_seconds()), watching=True, missed=False)
        decision = worlds.decide(known, self.leader, now)
        self.leader = leader.decided(self.leader, decision, now)
        assert decision.record is not None
        if Step.SAVE in decision.steps:
            self.record = decision.record
        return decision


def problem(decision: Decision) -> tuple[ProblemReason, datetime] | None:
    assert decision.record is not None
    found = decision.record.problem
    return None if found is None else (found.reason, found.since)


@pytest.mark.parametrize("phase", PHASES)
def test_it_is_a_problem_after_a_quarter_of_an_hour_and_not_before(phase: Phase) -> None:
    watching = Watching(phase)
    first = watching.look(TWO, timedelta())
    assert (first.phase, problem(first)) == (phase, None)
    early = watching.look(TWO, QUARTER - SECOND)
    assert problem(early) is None
    assert early.look_again is not None
    assert early.look_again <= 1.1, "time alone brings it"
    late = watching.look(TWO, QUARTER)
    assert problem(late) == (ProblemReason.TWO_VOTERS, worlds.NOW + QUARTER)
    assert Step.SAVE in late.steps, "it does not wait for the minute"
    assert late.record is not None
    assert late.record.problem is not None
    assert "Do not restart or drain a control-plane node" in late.record.problem.message
    again = watching.look(TWO, 2 * QUARTER)
    assert problem(again) == (ProblemReason.TWO_VOTERS, worlds.NOW + QUARTER), "it keeps its time"


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("first", [TWO, UNREAD], ids=["seen again", "not read yet"])
def test_another_leader_keeps_it(phase: Phase, first: Any) -> None:
    """One that begins to lead does not wait for another quarter of an hour, whatever it can read at first."""
    watching = Watching(phase)
    watching.look(TWO, timedelta())
    since = problem(watching.look(TWO, QUARTER))
    assert since is not None
    watching.begin(QUARTER)
    assert problem(watching.look(first, QUARTER + SECOND)) == since
    assert problem(watching.look(TWO, QUARTER + 2 * SECOND)) == since
    watching.begin(QUARTER)
    assert problem(watching.look(THREE, QUARTER + SECOND, scheduler=facts.Scheduler(masters_schedulable=False))) is None
