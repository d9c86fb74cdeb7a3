"""`status.topologyTransition.problem`, present only while a person should look, and the first sentence beside it."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.types import LastTransition, PoolBaseline
from topology_api.vocabulary import AdvisoryName, ConditionType, Phase, ProblemReason, Reason
from topology_controller.decide import assessment, leader, problems, state
from topology_controller.decide.state import Step
from topology_controller.observe import facts
from topology_controller.report import clusteroperator

from . import operand_worlds, worlds
from .worlds import F, T, row, said

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import TopologyTransition
    from topology_controller.decide.state import Decision

AFTER = worlds.NOW + timedelta(minutes=2)
TEN = timedelta(minutes=10)
UNREAD = facts.Unobserved("it", "Forbidden")


def problem(decision: Decision) -> tuple[ProblemReason, datetime] | None:
    found = worlds.record_of(decision).problem
    return None if found is None else (found.reason, found.since)


def reason_of(decision: Decision) -> ProblemReason | None:
    found = problem(decision)
    return None if found is None else found[0]


SECOND, QUARTER = timedelta(seconds=1), timedelta(minutes=15)


def voters(count: int) -> facts.EtcdEndpoints:
    return facts.EtcdEndpoints(tuple(zip(worlds.MEMBERS[:count], worlds.ADDRESSES[:count], strict=True)))


TWO, THREE = voters(2), voters(3)


class Looking:
    """A leader that looks at the cluster; `record` is what it has written."""

    def __init__(self, record: TopologyTransition | None) -> None:
        self.record = record
        self.moved = record is not None
        self.begin()

    @classmethod
    def waiting(cls, phase: Phase) -> Looking:
        """After the change by the record of an earlier version, which lacks the nodes whose loss is told at once."""
        record = worlds.converging()
        assert record.baseline is not None
        baseline = record.baseline.model_copy(update={"control_plane_nodes": ()})
        return cls(record.model_copy(update={"baseline": baseline}) if phase is Phase.CONVERGING else None)

    def begin(self, at: timedelta = timedelta()) -> None:
        """Another leader, which remembers nothing."""
        self.leader = worlds.term(since=worlds.NOW + at)

    def look(self, after: timedelta = SECOND, **changes: Any) -> Decision:
        """What it decides of that, so long after the beginning."""
        now = worlds.NOW + after
        well = worlds.healthy(now)
        known = worlds.moved(worlds.converged(well), self.record) if self.moved else worlds.recorded(well, self.record)
        known = dataclasses.replace(known, **changes)
        self.leader = leader.looked(
            self.leader, known, state.Clocks(now, after.total_seconds()), watching=True, missed=False
        )
        decision = worlds.decide(known, self.leader, now)
        self.leader = leader.decided(self.leader, decision, now)
        assert decision.record is not None
        if Step.SAVE in decision.steps:
            before, self.record = self.record, decision.record
            self.leader = leader.wrote(self.leader, self.record, before, now, next_attempt="next")
        return decision


def converging(now: datetime = AFTER, record: TopologyTransition | None = None, **changes: Any) -> facts.Facts:
    known = worlds.moved(worlds.converged(worlds.healthy(now)), record or worlds.converging())
    return dataclasses.replace(known, **changes)


def test_a_request_that_has_been_pending_for_an_hour_is_blocked() -> None:
    known = worlds.healthy(scheduler=False)
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
    ahead = worlds.record_of(first).model_copy(update={"requested_time": at + timedelta(days=400)})
    assert reason_of(worlds.decide(worlds.recorded(known, ahead), now=at)) is ProblemReason.BLOCKED, "put back"


@pytest.mark.parametrize(("scheduler", "after"), [(True, Phase.CONVERGING), (False, Phase.PENDING)])
def test_so_is_one_that_is_pending_and_admitting_in_turn_until_the_change(*, scheduler: bool, after: Phase) -> None:
    """The API server answers too slowly, or refuses the change: the alert of that name counts Admitting, too."""
    at, mine = worlds.NOW + timedelta(hours=1), worlds.term(attempt="mine")
    record = worlds.admitting().model_copy(update={"phase_transition_time": at - TEN / 2})
    early = worlds.decide(worlds.recorded(worlds.healthy(at - SECOND), record), mine, at - SECOND)
    assert (early.phase, problem(early), round(early.look_again or 0)) == (Phase.ADMITTING, None, 1)
    late = worlds.decide(worlds.recorded(worlds.healthy(at), record), mine, at)
    assert (late.phase, problem(late)) == (Phase.ADMITTING, (ProblemReason.BLOCKED, at))
    assert late.note in str(worlds.record_of(late).problem)
    known = worlds.recorded(worlds.healthy(at + SECOND, scheduler=scheduler), late.record)
    found = worlds.decide(dataclasses.replace(known, live=True), mine, at + SECOND)
    assert (found.phase, problem(found)) == (after, None if scheduler else (ProblemReason.BLOCKED, at))


def behind(**changes: Any) -> facts.MachineConfigPool:
    return worlds.pool("canary", wanted_configuration="rendered-canary-2", **changes)


def rolled_master() -> facts.MachineConfigPool:
    return worlds.rolled(worlds.pool())


def with_canary() -> TopologyTransition:
    record = worlds.converging()
    assert record.baseline is not None
    canary = PoolBaseline(name="canary", configuration="rendered-canary-1")
    pools = (*record.baseline.machine_config_pools, canary)
    baseline = record.baseline.model_copy(update={"machine_config_pools": pools})
    return record.model_copy(update={"baseline": baseline})


def test_a_paused_pool_is_a_problem_when_nothing_else_is_left_to_wait_for() -> None:
    record = with_canary()
    pools = (rolled_master(), behind(paused=True))
    found = worlds.decide(converging(record=record, machine_config_pools=pools), now=AFTER)
    assert problem(found) == (ProblemReason.PAUSED, AFTER)
    assert "oc patch machineconfigpool canary --type merge" in str(worlds.record_of(found).problem)
    assert found.degraded is None
    assert said(found, ConditionType.PROGRESSING)[0] is T
    now = AFTER + TEN
    both = (worlds.pool(ready=0), behind(paused=True))
    for others in ({}, {"etcd": SICK}, {"machine_config_pools": UNREAD}, {"machine_config_pools": both}):
        later = worlds.decide(converging(now, found.record, **({"machine_config_pools": pools} | others)), now=now)
        assert problem(later) == (ProblemReason.PAUSED, AFTER), "what comes and goes beside it does not end it"
        told = str(worlds.record_of(later).problem)
        assert ("Only paused" in told) is (others in ({}, {"machine_config_pools": UNREAD})), told
    assert problem(worlds.decide(converging(now, found.record, machine_config_pools=FOLLOWING), now=now)) is None
    # With that of the control plane its nodes are awaited, too, and the operator of both.
    busy = worlds.conditions(Available="True", Progressing="True", Degraded="False")
    operators = tuple(
        dataclasses.replace(one, conditions=busy) if one.name == "machine-config" else one
        for one in worlds.cluster_operators(operand_worlds.REACTED)
    )
    paused = (worlds.pool(paused=True),)
    known = converging(machine_config_pools=paused, cluster_operators=operators, **nodes(worlds.node(2)))
    found = worlds.decide(known, now=AFTER)
    assert (problem(found), len(worlds.failing(found.record))) == ((ProblemReason.PAUSED, AFTER), 3)


SICK = worlds.etcd(EtcdMembersDegraded="True")
FOLLOWING = (rolled_master(), behind())


@pytest.mark.parametrize(
    "changes",
    [
        {"machine_config_pools": FOLLOWING},
        {"machine_config_pools": (worlds.pool(ready=0), behind(paused=True))},
        {"machine_config_pools": (rolled_master(), behind(paused=True)), "etcd": SICK},
        {"machine_config_pools": UNREAD},
        {"machine_config_pools": (rolled_master(), behind(paused=True)), "cluster_operators": UNREAD},
    ],
)
def test_while_something_else_is_waited_for_a_paused_pool_is_none(changes: dict[str, Any]) -> None:
    assert problem(worlds.decide(converging(record=with_canary(), **changes), now=AFTER)) is None


def test_the_same_answers_again_are_no_progress() -> None:
    term = worlds.term(since=worlds.DEADLINE - TEN)
    now = worlds.DEADLINE - timedelta(minutes=5)
    known = converging(now, ingress_controller=facts.IngressController(1, 1))
    other = converging(now, etcd=worlds.etcd(EtcdMembersDegraded="True"))
    for world in (known, other, known, other):
        decision = worlds.decide(world, term, now)
        term = leader.decided(term, decision, now)
    # The second answer was new, the third and fourth came and went.
    assert term.progressed == now
    at = now + timedelta(minutes=9)
    decision = worlds.decide(converging(at, ingress_controller=facts.IngressController(1, 1)), term, at)
    assert (problem(decision), decision.degraded) == (None, None)
    at = now + TEN
    decision = worlds.decide(converging(at, ingress_controller=facts.IngressController(1, 1)), term, at)
    assert problem(decision) == (ProblemReason.STUCK, at)
    assert said(decision, ConditionType.DEGRADED) == (T, Reason.TRANSITION_STUCK)


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


PHASES = [Phase.PENDING, Phase.CONVERGING]


@pytest.mark.parametrize("phase", PHASES)
def test_it_is_a_problem_after_a_quarter_of_an_hour_and_not_before(phase: Phase) -> None:
    watching = Looking.waiting(phase)
    first = watching.look(timedelta(), etcd_endpoints=TWO)
    assert (first.phase, problem(first)) == (phase, None)
    early = watching.look(QUARTER - SECOND, etcd_endpoints=TWO)
    assert problem(early) is None
    assert early.look_again is not None
    assert early.look_again <= 1.1, "time alone brings it"
    late = watching.look(QUARTER, etcd_endpoints=TWO)
    assert problem(late) == (ProblemReason.TWO_VOTERS, worlds.NOW + QUARTER)
    assert Step.SAVE in late.steps, "it does not wait for the minute"
    assert "Do not restart or drain a control-plane node" in str(worlds.record_of(late).problem)
    again = watching.look(2 * QUARTER, etcd_endpoints=TWO)
    assert problem(again) == (ProblemReason.TWO_VOTERS, worlds.NOW + QUARTER), "it keeps its time"


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("first", [TWO, worlds.BROKEN], ids=["seen again", "not read yet"])
def test_another_leader_keeps_it(phase: Phase, first: Any) -> None:
    """One that begins to lead does not wait for another quarter of an hour, whatever it can read at first."""
    watching = Looking.waiting(phase)
    watching.look(timedelta(), etcd_endpoints=TWO)
    since = problem(watching.look(QUARTER, etcd_endpoints=TWO))
    assert since is not None
    watching.begin(QUARTER)
    assert problem(watching.look(QUARTER + SECOND, etcd_endpoints=first)) == since
    assert problem(watching.look(QUARTER + 2 * SECOND, etcd_endpoints=TWO)) == since
    watching.begin(QUARTER)
    unschedulable = False
    assert problem(watching.look(QUARTER + SECOND, etcd_endpoints=THREE, scheduler=unschedulable)) is None


NODES = tuple(worlds.node(index) for index in range(3))


def nodes(*last: facts.Node) -> dict[str, Any]:
    """Two nodes that are well, and these."""
    return {"control_plane_nodes": (*NODES[:2], *last)}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        pytest.param(nodes(), "node-2 (is not a control-plane node any more)", id="a node is gone"),
        pytest.param(nodes(worlds.node(2, ready="False")), "node-2 (Ready=False)", id="a node fails"),
        pytest.param(nodes(worlds.node(2, deleting=True)), "node-2 (is being deleted)", id="a node is deleted"),
        pytest.param(nodes(worlds.node(2, pressure=("DiskPressure",))), "node-2 (DiskPressure=True)", id="a full disk"),
        pytest.param(nodes(worlds.node(2, free_storage=2.0**32)), "node-2 (has 4096 of 8192 MiB", id="a small disk"),
        pytest.param({"etcd_endpoints": voters(2)}, "node-2 (has no voting etcd member)", id="two voters"),
        pytest.param({"etcd_endpoints": voters(1)}, "node-1 (has no voting etcd member), node-2", id="one voter"),
        pytest.param(
            {"etcd_endpoints": voters(1), **nodes(worlds.node(2, ready="False"))}, "node-2 (Ready=False)", id="both"
        ),
    ],
)
def test_what_is_gone_is_a_problem_with_the_first_look(changes: dict[str, Any], named: str) -> None:
    first = Looking(worlds.converging()).look(**changes)
    assert first.phase is Phase.CONVERGING
    assert problem(first) == (ProblemReason.REDUNDANCY_LOST, worlds.NOW + SECOND)
    assert Step.SAVE in first.steps, "it does not wait for the minute"
    assert named in str(worlds.record_of(first).problem)
    assert said(first, ConditionType.DEGRADED) == (T, Reason.REDUNDANCY_LOST)


def test_after_the_change_one_voter_is_as_bad_as_two() -> None:
    looking = Looking.waiting(Phase.CONVERGING)
    assert reason_of(looking.look(etcd_endpoints=voters(1))) is None
    assert reason_of(looking.look(SECOND + QUARTER, etcd_endpoints=voters(1))) is ProblemReason.TWO_VOTERS


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(nodes(worlds.node(2, cordoned=True)), id="cordoned"),
        pytest.param(nodes(worlds.node(2, ready="False", cordoned=True)), id="it restarts for its machine config"),
        pytest.param(nodes(worlds.node(2, pressure=("NetworkUnavailable",))), id="not eligible, and there"),
        pytest.param({"etcd_endpoints": worlds.BROKEN}, id="not known"),
    ],
)
def test_what_a_roll_out_does_and_what_is_not_known_is_none(changes: dict[str, Any]) -> None:
    first = Looking(worlds.converging()).look(**changes)
    assert reason_of(first) is None
    assert said(first, ConditionType.DEGRADED)[0] is F


def test_it_ends_a_minute_after_they_are_back_and_does_not_flap() -> None:
    looking = Looking(worlds.converging())
    gone = nodes(worlds.node(2, ready="False"))
    looking.look(SECOND, **gone)
    saved = 0
    for second in range(2, 40):
        found = looking.look(second * SECOND, **(gone if second % 3 else {}))
        saved += Step.SAVE in found.steps
        assert reason_of(found) is ProblemReason.REDUNDANCY_LOST
    assert saved == 1, "that all checks are Met, once: what takes it back is over within ten seconds"
    # It was last away in second 38.
    late = looking.look(60 * SECOND)
    assert reason_of(late) is ProblemReason.REDUNDANCY_LOST
    assert late.look_again is not None
    assert late.look_again <= 38.1, "time alone ends it"
    ended = looking.look(98 * SECOND)
    assert ended.phase is Phase.COMPLETED or reason_of(ended) is None
    assert Step.SAVE in ended.steps


PINNED = facts.IngressController(1, 1)


def sentence(decision: Decision) -> str:
    """The message of the record, which Progressing says, too."""
    assert decision.record is not None
    assert decision.record.message is not None
    progressing = next(item for item in clusteroperator.conditions(decision) if item.type is ConditionType.PROGRESSING)
    assert progressing.message == decision.record.message
    return decision.record.message


def test_the_command_that_a_check_waits_for_stands_last_and_whole() -> None:
    """Also where an upgrade has begun: who copies the rest of the line has the command and nothing else."""
    version = worlds.version(progressing="True")
    found = worlds.decide(converging(ingress_controller=PINNED, cluster_version=version, etcd_endpoints=TWO), now=AFTER)
    assert found.record is not None
    pinned = next(item for item in found.record.advisories if item.name == AdvisoryName.ROUTER_REPLICAS_PINNED)
    assert "An upgrade from 4.20.1 to 4.20.1 is under way. 1 action required: " in sentence(found)
    assert sentence(found).endswith(f": {pinned.command}")
    assert sentence(found).startswith(problems.TWO_VOTERS), "what has no room is left out, the danger never"


def test_this_cluster_s_own_last_time_wins_over_the_estimate() -> None:
    compact = worlds.COMPACT
    last = LastTransition(
        name=compact.name, admitted_time=worlds.NOW, completed_time=worlds.NOW + timedelta(minutes=41, seconds=20)
    )
    assert assessment.typical(compact, last) == "41 min the last time"
    assert assessment.typical(compact, last.model_copy(update={"name": "other"})) == "typically 25-75 min"
    unknown = compact.convergence.model_copy(update={"typical_minutes": None})
    assert assessment.typical(compact.model_copy(update={"convergence": unknown}), None) == ""
    assert assessment.typical(None, last) == ""
