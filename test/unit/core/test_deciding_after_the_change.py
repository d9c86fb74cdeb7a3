"""Converging and Completed, a record that was lost, a topology that was set back, and what need not come."""

from __future__ import annotations

import dataclasses
import json
import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.types import Accepted
from topology_api.vocabulary import AdvisoryName, CheckName, ConditionType, EventReason, Phase, ProblemReason, Reason
from topology_controller.decide.state import Step
from topology_controller.definitions import load
from topology_controller.definitions.registry import ACCEPTABLE_CHECKS
from topology_controller.observe import facts, parse
from topology_controller.report import clusteroperator, log

from . import operand_worlds, worlds
from .worlds import WELL, F, T, failing, reasons, row, said

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import TopologyTransition
    from topology_controller.decide.state import Decision

AFTER = worlds.NOW + timedelta(seconds=30)


def later(
    record: TopologyTransition | None, now: Any = AFTER, *, followed: bool = False, **changes: Any
) -> facts.Facts:
    known = worlds.moved(worlds.converged(worlds.healthy(now)) if followed else worlds.healthy(now), record)
    about = {name: changes.pop(name) for name in ("topology_writer", "infrastructure") if name in changes}
    return dataclasses.replace(worlds.with_infrastructure(known, **about), **changes)


def settle(seconds: float, *, settle_seconds: int | None = None, **changes: Any) -> Decision:
    """All convergence checks became Met at AFTER; decide that many seconds later."""
    first = worlds.decide(later(worlds.converging(), followed=True), now=AFTER)
    assert first.record is not None
    now = AFTER + timedelta(seconds=seconds)
    known, term = later(first.record, now, followed=True, **changes), worlds.term(settle_seconds=settle_seconds)
    return worlds.decide(known, term, now)


def test_completed_when_all_are_met_and_quiet_for_the_settle_time() -> None:
    assert settle(0).look_again == pytest.approx(61.05)
    assert settle(60).phase is Phase.CONVERGING
    assert settle(1, settle_seconds=0).phase is Phase.COMPLETED
    assert settle(61, settle_seconds=600).phase is Phase.CONVERGING
    found = settle(61)
    assert found.phase is Phase.COMPLETED
    assert not found.watch
    assert worlds.record_of(found).completed_time == AFTER + timedelta(seconds=61)
    assert row(found) == WELL | {"Progressing": (F, Reason.TRANSITION_COMPLETED)}
    assert reasons(found) == [EventReason.TRANSITION_COMPLETED]


def test_nothing_is_called_finished_while_a_watch_is_in_trouble() -> None:
    found = settle(3000, disturbed=("nodes",))
    assert found.phase is Phase.CONVERGING
    assert found.note.endswith("waiting for the watch of nodes"), found.note
    assert found.look_again == pytest.approx(157.05), "by then the lease of the etcd operator would have expired"
    late = settle(7200, disturbed=("nodes",))
    assert said(late, ConditionType.DEGRADED) == (T, Reason.TRANSITION_STUCK)
    assert late.degraded is not None
    assert late.degraded.message.endswith("Waiting for the watch of nodes")
    assert settle(7200).phase is Phase.COMPLETED


def test_past_the_deadline_it_is_stuck_says_why_and_recovers() -> None:
    at = worlds.DEADLINE
    record = worlds.converging()
    assert worlds.decide(later(record, at), now=at - timedelta(seconds=1)).degraded is None
    found = worlds.decide(later(record, at), now=at)
    assert found.phase is Phase.CONVERGING
    assert Step.CHANGE not in found.steps
    assert said(found, ConditionType.DEGRADED) == (T, Reason.TRANSITION_STUCK)
    assert said(found, ConditionType.UPGRADEABLE) == (F, Reason.TRANSITION_IN_PROGRESS)
    assert found.degraded is not None
    # All of them have been failing since the change: the first in the order of the definition is named, but not that
    # the operators are not stable, which is so because of the others.
    failing = [one for one in found.results if not one.met]
    assert failing[0].name is CheckName.CLUSTER_OPERATORS_STABLE
    first = failing[1]
    assert f"Blocked by {first.name}: {first.found()}" in found.degraded.message
    assert reasons(found) == [EventReason.TRANSITION_STUCK]
    healed = worlds.decide(later(found.record, at, followed=True), now=at)
    assert said(healed, ConditionType.DEGRADED) == (F, Reason.AS_EXPECTED)
    end = at + timedelta(seconds=61)
    assert worlds.decide(later(healed.record, end, followed=True), now=end).phase is Phase.COMPLETED


def test_evidence_that_cannot_be_read_after_the_change_degrades_after_five_minutes() -> None:
    first = worlds.decide(later(worlds.converging(), machine_config_pools=worlds.BROKEN), now=AFTER)
    at = AFTER + timedelta(minutes=5)
    just = at - timedelta(seconds=1)
    early = worlds.decide(later(first.record, just, machine_config_pools=worlds.BROKEN), now=just)
    assert early.look_again == pytest.approx(1.05)
    found = worlds.decide(later(first.record, at, machine_config_pools=worlds.BROKEN), now=at)
    assert said(found, ConditionType.DEGRADED) == (T, Reason.EVIDENCE_UNREADABLE)
    assert said(found, ConditionType.PROGRESSING) == (T, Reason.TRANSITION_CONVERGING)


def test_a_definition_that_this_version_does_not_have_is_said() -> None:
    found = worlds.decide(later(worlds.converging()), now=AFTER, transitions=load.Transitions(()))
    assert said(found, ConditionType.DEGRADED) == (T, Reason.TRANSITION_STUCK)
    assert said(found, ConditionType.UPGRADEABLE) == (F, Reason.TRANSITION_IN_PROGRESS)
    assert found.steps == (Step.REPORT,)


def test_a_pause_does_not_stop_reporting_what_was_changed() -> None:
    known = later(worlds.converging(), own_operator=worlds.own(paused=True))
    assert worlds.decide(known, now=AFTER).phase is Phase.CONVERGING
    assert settle(61, own_operator=worlds.own(paused=True)).phase is Phase.COMPLETED


def test_completed_stays_until_the_request_goes() -> None:
    old = worlds.decide(later(worlds.completed()), now=AFTER)
    assert old.steps == (Step.SAVE, Step.REPORT), "an older version has not said which one was the last"
    known = later(old.record)
    found = worlds.decide(known, now=AFTER)
    assert found.phase is Phase.COMPLETED
    assert found.steps == (Step.REPORT,)
    gone = worlds.decide(
        worlds.with_infrastructure(known, desired=None, generation=3), worlds.term(available=()), AFTER
    )
    assert gone.phase is Phase.IDLE
    assert row(gone) == WELL
    assert gone.happened == ()
    other = worlds.decide(worlds.with_infrastructure(known, desired="SingleReplica", generation=3), now=AFTER)
    assert other.phase is Phase.UNSUPPORTED


@pytest.mark.parametrize("unreadable", [False, True])
@pytest.mark.parametrize("make", [worlds.admitting, worlds.converging])
def test_a_lost_record_is_rebuilt_when_topology_is_the_target_of_the_copy(*, make: Any, unreadable: bool) -> None:
    """Also from a copy that says Admitting: the crash was between the change and the report."""
    record = make()
    known = later(None, own_operator=worlds.copy_of(record))
    if unreadable:
        known = worlds.with_infrastructure(known, record=worlds.BROKEN, raw_record={"phase": 5})
    found = worlds.decide(known, now=AFTER)
    assert found.phase is Phase.CONVERGING
    assert found.steps == (Step.SAVE, Step.REPORT)
    rebuilt = worlds.record_of(found)
    assert (rebuilt.attempt, rebuilt.name, rebuilt.target) == (record.attempt, record.name, record.target)
    assert rebuilt.admitted_time is not None


def test_a_lost_completed_record_is_rebuilt_from_what_this_leader_decided_itself() -> None:
    found = worlds.decide(later(None), worlds.term(latest=worlds.completed()), now=AFTER)
    assert found.phase is Phase.COMPLETED
    assert found.steps == (Step.SAVE, Step.REPORT)


def test_the_copy_of_a_lost_record_is_no_proof_of_its_end() -> None:
    """Others may write status.extension: what it calls Completed is proven again, and accepts nothing."""
    done = worlds.completed()
    found = worlds.decide(later(None, own_operator=worlds.copy_of(done)), now=AFTER)
    assert found.phase is Phase.CONVERGING
    assert found.record is not None
    assert (found.record.completed_time, found.record.accepted) == (None, ())
    assert (found.record.attempt, found.record.baseline) == (done.attempt, done.baseline)


def test_a_forged_copy_does_not_replace_what_this_leader_has_seen() -> None:
    latest = worlds.converging()
    forged = worlds.copy_of(worlds.completed().model_copy(update={"baseline": None}))
    found = worlds.decide(later(None, own_operator=forged), worlds.term(latest=latest), now=AFTER)
    assert found.phase is Phase.CONVERGING
    assert worlds.record_of(found).baseline == latest.baseline


def test_a_lost_record_before_the_change_is_decided_from_the_start() -> None:
    for record in (worlds.admitting(), worlds.record_of(worlds.decide(worlds.healthy(etcd=worlds.BROKEN)))):
        found = worlds.decide(worlds.healthy(own_operator=worlds.copy_of(record)), worlds.term(attempt="mine"))
        assert found.phase is Phase.ADMITTING
        assert worlds.record_of(found).attempt == "next"


def test_no_record_and_no_copy_is_a_fresh_start() -> None:
    missing = facts.Unobserved("clusteroperators.config.openshift.io/topology", "NotFound", kind=facts.Kind.MISSING)
    found = worlds.decide(later(None, own_operator=missing), worlds.term(available=()), AFTER)
    assert found.phase is Phase.IDLE
    assert found.happened == ()


def test_without_having_read_the_copy_nothing_is_decided() -> None:
    for record, phase in ((None, Phase.IDLE), (worlds.converging(), Phase.CONVERGING)):
        found = worlds.decide(later(record, own_operator=worlds.BROKEN), now=AFTER)
        assert found.steps == ()
        assert found.phase is phase
        # What an open transition needs is not forgotten over it.
        assert found.watch is (record is not None)


@pytest.mark.parametrize("make", [worlds.converging, worlds.completed])
def test_status_that_was_set_back_is_reported_and_not_fought(make: Any) -> None:
    known = worlds.recorded(worlds.healthy(AFTER, live=True), make(), topology_writer="cluster-bootstrap")
    found = worlds.decide(known, worlds.term(attempt="mine"), AFTER)
    assert found.steps == (Step.SAVE, Step.REPORT)
    assert found.record is not None
    assert found.record.problem is not None
    assert found.record.problem.reason is ProblemReason.TOPOLOGY_OVERWRITTEN
    under_way = found.phase is Phase.CONVERGING
    held = {"Upgradeable": (F, Reason.TRANSITION_IN_PROGRESS)} if under_way else {}
    assert row(found) == WELL | {"Degraded": (T, Reason.TOPOLOGY_OVERWRITTEN)} | held
    again = worlds.decide(worlds.recorded(known, found.record), worlds.term(attempt="mine"), AFTER)
    assert again.steps == (Step.REPORT,)
    assert found.degraded is not None
    assert "field manager cluster-bootstrap" in found.degraded.message
    assert '"desiredTopology":null' in found.degraded.message
    assert f"Stopped: {found.degraded.message}" in [one.message for one in clusteroperator.conditions(found)]


@pytest.mark.parametrize(("generation", "phase"), [(1, Phase.COMPLETED), (2, Phase.ADMITTING)])
def test_what_the_native_controller_began_was_set_back_and_is_asked_for(generation: int, phase: Phase) -> None:
    """A spec that has changed since asks for it anew; nobody need have asked us before."""
    record = worlds.completed().model_copy(update={"attempt": "native-20260301T120000Z", "observed_generation": 1})
    found = worlds.decide(worlds.recorded(worlds.healthy(AFTER), record, generation=generation), now=AFTER)
    assert found.phase is phase


def test_set_back_and_lost_together_does_not_move_it_again_by_itself() -> None:
    """The copy says that it was admitted, the topology says that it is not there: whoever did it removed both."""
    known = worlds.healthy(AFTER, own_operator=worlds.copy_of(worlds.converging()), live=True)
    found = worlds.decide(known, worlds.term(attempt="mine"), AFTER)
    assert Step.CHANGE not in found.steps
    assert len(clusteroperator.conditions(found)) == len(ConditionType)


def but(record: TopologyTransition | None, now: Any = AFTER, **changes: Any) -> facts.Facts:
    """Everybody has followed, but for the changes."""
    return dataclasses.replace(worlds.moved(worlds.converged(worlds.healthy(now)), record), **changes)


def operands() -> dict[str, Any]:
    return dict(worlds.converged(worlds.healthy()).operands)


def test_a_leader_that_has_just_begun_has_seen_no_quiet() -> None:
    """What happened between the last look of its predecessor and its first one, nobody knows."""
    quiet = worlds.decide(but(worlds.converging()), now=AFTER)
    at = AFTER + timedelta(minutes=3)
    young = worlds.term(since=at - timedelta(seconds=59))
    found = worlds.decide(but(quiet.record, at), young, at)
    assert found.phase is Phase.CONVERGING
    assert found.look_again == pytest.approx(1.05)
    end = at + timedelta(seconds=1)
    assert worlds.decide(but(quiet.record, end), young, end).phase is Phase.COMPLETED


PINNED = facts.IngressController(1, 1)


def names(record: TopologyTransition | None) -> list[str]:
    return [one.name for one in (record.advisories if record else ())]


@pytest.mark.parametrize("live", [False, True])
def test_what_a_person_has_to_do_is_told_before_the_change(*, live: bool) -> None:
    known = worlds.healthy(ingress_controller=PINNED, dnsmasq=True, live=live)
    blocked = dataclasses.replace(known, scheduler=False)
    for found in (worlds.decide(known), worlds.decide(blocked)):
        assert names(found.record) == [AdvisoryName.ROUTER_REPLICAS_PINNED, AdvisoryName.DNSMASQ_CONFIGURATION_LEFT]
    fixed = worlds.decide(worlds.recorded(worlds.healthy(), worlds.decide(blocked).record))
    assert names(fixed.record) == []


def unready(key: str) -> dict[str, Any]:
    found = operands()
    found[key] = dataclasses.replace(found[key], ready=0, available=0)
    return found


def test_the_check_that_has_been_failing_longest_is_named_and_it_is_one_event_for_the_attempt() -> None:
    console = next(key for key in operands() if "console/console" in key)
    multus = next(key for key in operands() if "multus" in key)
    early = worlds.NOW + timedelta(minutes=10)
    first = worlds.decide(but(worlds.converging(), early, operands=unready(multus)), now=early)
    late = worlds.DEADLINE - timedelta(minutes=1)
    both = {**unready(multus), console: unready(console)[console]}
    second = worlds.decide(but(first.record, late, operands=both), now=late)
    # The console comes long before the other in the order of the definition, but has not been failing for as long.
    at = worlds.DEADLINE
    stuck = worlds.decide(but(second.record, at, operands=both), now=at)
    assert "Blocked by MultusAdmissionReplicas" in str(stuck.degraded)
    assert reasons(stuck) == [EventReason.TRANSITION_STUCK]
    assert said(stuck, ConditionType.PROGRESSING) == (T, Reason.TRANSITION_CONVERGING)
    pinned = worlds.decide(but(second.record, at, operands=both, ingress_controller=PINNED), now=at)
    assert "Blocked by RouterReplicas" in str(pinned.degraded), "what can be repaired comes before what is older"
    healed = worlds.decide(but(stuck.record, at, operands=unready(console)), now=at)
    assert "Blocked by ConsoleReplicas" in str(healed.degraded)
    well = worlds.decide(but(healed.record, at), now=at)
    assert (well.degraded, well.happened) == (None, ())


DEADLINE = worlds.DEADLINE
LATER = DEADLINE + timedelta(minutes=5)
ROUTER = CheckName.ROUTER_REPLICAS


def entry(check: str = ROUTER, attempt: str = "mine", reason: str = "one router is enough here") -> facts.Acceptance:
    return facts.Acceptance(check, attempt, reason)


def acceptances(*items: facts.Acceptance) -> tuple[facts.Acceptance, ...]:
    return items or (entry(),)


def stuck(now: datetime = LATER, **changes: Any) -> tuple[TopologyTransition, facts.Facts]:
    """A router that is pinned, found out a minute after the change: the record, and what is known now."""
    early = worlds.NOW + timedelta(minutes=1)
    changes = {"ingress_controller": PINNED, **changes}
    quiet = {name: value for name, value in changes.items() if name not in {"acceptances", "disturbed"}}
    record = worlds.record_of(worlds.decide(but(worlds.converging(), early, **quiet), now=early))
    return record, but(record, now, **changes)


def message(decision: Decision, type_: ConditionType = ConditionType.PROGRESSING) -> str:
    return next(one.message for one in clusteroperator.conditions(decision) if one.type is type_)


def accepted_names(decision: Decision) -> list[str]:
    return [one.name for one in worlds.record_of(decision).accepted]


def test_before_the_deadline_nothing_is_taken_up_and_it_is_looked_at_again_when_that_has_passed() -> None:
    at = DEADLINE - timedelta(seconds=10)
    _, known = stuck(at, acceptances=acceptances())
    found = worlds.decide(known, now=at)
    assert found.phase is Phase.CONVERGING
    assert accepted_names(found) == []
    (sentence,) = found.ignored
    assert sentence == "RouterReplicas in ConfigMap topology-accepted-checks is ignored: the deadline has not passed"
    assert found.look_again == pytest.approx(10.05)


@pytest.mark.parametrize(
    ("given_", "why"),
    [
        (entry(attempt="another"), "it is for attempt another, and mine is under way"),
        (entry(CheckName.CONSOLE_REPLICAS), "it is Met"),
        (facts.Acceptance(ROUTER, wrong="it is nonsense"), "it is nonsense"),
        *(
            (entry(name), "only APIServerReplicas, RouterReplicas, ")
            for name in sorted(set(CheckName) - {*ACCEPTABLE_CHECKS})
        ),
        (entry("no-check-at-all"), "only APIServerReplicas, RouterReplicas, "),
    ],
    ids=lambda one: f"{one.check}-{one.attempt}" if isinstance(one, facts.Acceptance) else "",
)
def test_anything_else_is_ignored_and_the_reason_is_told(given_: facts.Acceptance, why: str) -> None:
    _, known = stuck(acceptances=acceptances(given_))
    found = worlds.decide(known, now=LATER)
    assert accepted_names(found) == []
    assert said(found, ConditionType.DEGRADED) == (T, Reason.TRANSITION_STUCK)
    (sentence,) = found.ignored
    assert f" in ConfigMap topology-accepted-checks is ignored: {why}" in sentence


def test_nothing_of_the_control_plane_can_be_accepted() -> None:
    """Only what workloads and their budgets answer: never nodes, etcd, static pods, or machine configurations."""
    workloads = {"Deployment", "StatefulSet", "IngressController", "PodDisruptionBudget"}
    kinds = {group.check: {operand.kind for operand in group.operands} for group in worlds.MATRIX.groups}
    assert set(ACCEPTABLE_CHECKS) == {check for check, found in kinds.items() if found and found <= workloads}


@pytest.mark.parametrize("check", [*ACCEPTABLE_CHECKS], ids=str)
def test_each_of_the_others_can_be_accepted_also_when_its_operator_has_not_reacted(check: CheckName) -> None:
    """An operator that does nothing is what ClusterOperatorsStable would wait for instead."""
    group = worlds.MATRIX.group(check)
    assert group is not None
    early = worlds.NOW + timedelta(minutes=1)
    before = but(worlds.converging(), early)
    silent = tuple(
        dataclasses.replace(one, settled_time=operand_worlds.LONG_AGO) if one.name in group.operators else one
        for one in worlds.cluster_operators(operand_worlds.REACTED)
    )
    behind = dict(before.operands)
    for key in {one.key for one in group.operands} & set(behind):
        found = behind[key]
        behind[key] = facts.DisruptionBudget(None)
        if isinstance(found, facts.Workload):
            behind[key] = dataclasses.replace(found, wanted=1, updated=1, ready=1, available=1)
    changes: dict[str, Any] = {"operands": behind, "cluster_operators": silent}
    if check is ROUTER:
        changes["ingress_controller"] = facts.IngressController(None, 1)
    first = worlds.decide(dataclasses.replace(before, **changes), now=early)
    # No operator reports guard budgets, and no topology makes the registry's react.
    unwatched = {CheckName.GUARD_POD_DISRUPTION_BUDGETS, CheckName.IMAGE_REGISTRY_REPLICAS}
    silent_too = [] if check in unwatched else [CheckName.CLUSTER_OPERATORS_STABLE]
    assert sorted(failing(first.record)) == sorted([check, *silent_too])
    taken = worlds.decide(but(first.record, LATER, acceptances=acceptances(entry(check)), **changes), now=LATER)
    assert accepted_names(taken) == [check]
    # What waited for the operator to react was Unmet as well, and has to stay quiet first.
    end = LATER + timedelta(seconds=worlds.COMPACT.convergence.settle_seconds + 1)
    done = worlds.decide(but(taken.record, end, **changes), now=end)
    assert done.phase is Phase.COMPLETED, message(done)
    assert failing(done.record) == [check]


@pytest.mark.parametrize(
    "unread",
    [
        worlds.MISSING,
        worlds.BROKEN,
        facts.NOT_READ,
        facts.Unobserved("configmaps/one", "malformed: data should be an object, found str", kind=facts.Kind.MALFORMED),
    ],
    ids=lambda one: one.why[:9],
)
def test_what_cannot_be_read_accepts_nothing_and_is_no_trouble(unread: facts.Unobserved) -> None:
    _, known = stuck(acceptances=unread)
    found = worlds.decide(known, now=LATER)
    assert (found.phase, accepted_names(found), found.ignored) == (Phase.CONVERGING, [], ())
    assert said(found, ConditionType.DEGRADED) == (T, Reason.TRANSITION_STUCK)


def read(**data: str) -> tuple[facts.Acceptance, ...]:
    return parse.acceptances({"metadata": {"name": "topology-accepted-checks"}, "data": data})


def test_an_entry_says_attempt_and_reason() -> None:
    value = json.dumps({"attempt": "mine", "reason": "one\nrouter  is enough", "more": 1})
    assert read(RouterReplicas=value) == (facts.Acceptance("RouterReplicas", "mine", "one router is enough"),)
    assert read(RouterReplicas='{"attempt":"mine"}') == (facts.Acceptance("RouterReplicas", "mine"),)
    assert read(A=value, RouterReplicas=value, ConsoleReplicas=value) == read(
        ConsoleReplicas=value, RouterReplicas=value, A=value
    ), "in whatever order the server has them"
    assert parse.acceptances({"metadata": {}}) == parse.acceptances({"metadata": {}, "data": None}) == ()


@pytest.mark.parametrize(
    "value",
    ["", "mine", "[]", "null", "{}", '{"attempt":""}', '{"attempt":7}', '{"attempt":"mine","reason":[]}', "{",
     "[" * 100_000, '{"attempt":' + "9" * 5000 + "}"],
    ids=lambda value: value[:12],
)  # fmt: skip
def test_one_that_makes_no_sense_says_so_and_spoils_no_other(value: str) -> None:
    found = read(ConsoleReplicas=value, RouterReplicas='{"attempt":"mine"}')
    assert [one.wrong for one in found] == ['its value is not {"attempt": ..., "reason": ...} as JSON', ""]


def test_each_is_told_once_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    spoken = log.DecisionLog()

    def told(decision: Decision, level: int = logging.WARNING) -> list[str]:
        caplog.clear()
        spoken.decided(decision)
        return [one.getMessage() for one in caplog.records if one.levelno == level]

    pools = (worlds.pool(),)
    wrong = entry(CheckName.ETCD_HEALTHY)
    _, known = stuck(machine_config_pools=pools, acceptances=acceptances(wrong))
    before = worlds.decide(known, now=LATER)
    assert len(told(before)) == 1
    assert told(before) == []
    taken = worlds.decide(dataclasses.replace(known, acceptances=acceptances(wrong, entry())), now=LATER)
    (sentence,) = told(taken)
    assert sentence.startswith(
        "check RouterReplicas is accepted and not waited for any more: one router is enough here; it says: Wanted: "
    )
    assert told(taken) == []
    # A successor finds it in the record: no news but what it ignores itself.
    known = but(taken.record, LATER, ingress_controller=PINNED, machine_config_pools=pools, acceptances=acceptances())
    spoken = log.DecisionLog()
    assert told(worlds.decide(known, now=LATER)) == []
    # Beside the phase, the checks: what is Met from the beginning needs no line.
    spoken = log.DecisionLog()
    _, *unmet = told(before, logging.INFO)
    assert [line.split(":")[0] for line in unmet] == [f"check {name} is Unmet" for name in failing(before.record)]
    healed = told(worlds.decide(but(before.record, LATER, machine_config_pools=pools), now=LATER), logging.INFO)
    assert any(line.startswith("check RouterReplicas is Met: ") for line in healed)


def test_a_record_that_somebody_has_tampered_with_goes_without_nothing_of_the_control_plane() -> None:
    """Whoever may write the record may do worse; but what it says must not be taken for acceptable."""
    record, _ = stuck()
    forged = Accepted(name=CheckName.ETCD_HEALTHY, message="", accepted_time=LATER)
    ill = worlds.etcd(8, EtcdMembersDegraded="True")
    found = worlds.decide(but(record.model_copy(update={"accepted": (forged,)}), LATER, etcd=ill), now=LATER)
    assert found.phase is Phase.CONVERGING
    asked = len(worlds.COMPACT.convergence.checks)
    assert message(found).endswith(f". 1 of {asked} convergence checks not met: EtcdHealthy")
