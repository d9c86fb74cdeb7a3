"""What somebody declares not to come: past the deadline a transition is completed without it, and says so for ever."""

from __future__ import annotations

import dataclasses
import json
import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topology_api.types import ACCEPTED_MESSAGE_LIMIT, Accepted, TopologyTransition
from topology_api.vocabulary import (
    ACCEPTED_REASON_LIMIT,
    CheckName,
    CheckStatus,
    ConditionType,
    EventReason,
    Phase,
    Reason,
)
from topology_controller.decide.decision import Step
from topology_controller.definitions.registry import ACCEPTABLE_CHECKS
from topology_controller.observe import facts, parse
from topology_controller.report import conditions, events, log

from . import operand_worlds, worlds
from .outcomes import F, T, failing, reasons, said

if TYPE_CHECKING:
    from datetime import datetime

    from topology_controller.decide.decision import Decision

DEADLINE = worlds.DEADLINE
OVERDUE = "Overdue since 2026-03-01T14:00:00Z. "
LATER = DEADLINE + timedelta(minutes=5)
PINNED = facts.IngressController(1, 1)
ROUTER = CheckName.ROUTER_REPLICAS


def entry(check: str = ROUTER, attempt: str = "mine", reason: str = "one router is enough here") -> facts.Acceptance:
    return facts.Acceptance(check, attempt, reason)


def asked(*items: facts.Acceptance) -> facts.Acceptances:
    return facts.Acceptances(items or (entry(),))


def followed(record: TopologyTransition | None, now: datetime, **changes: Any) -> facts.Facts:
    """Everybody has followed long ago, but for what the changes say."""
    known = worlds.moved(worlds.converged(worlds.healthy(now)), record)
    return dataclasses.replace(known, **changes)


def stuck(now: datetime = LATER, **changes: Any) -> tuple[TopologyTransition, facts.Facts]:
    """A router that is pinned, found out a minute after the change: the record, and what is known now."""
    early = worlds.NOW + timedelta(minutes=1)
    changes = {"ingress_controller": PINNED, **changes}
    quiet = {name: value for name, value in changes.items() if name not in {"acceptances", "disturbed"}}
    record = worlds.decide(followed(worlds.converging(), early, **quiet), now=early).record
    assert record is not None
    return record, followed(record, now, **changes)


def message(decision: Decision, type_: ConditionType = ConditionType.PROGRESSING) -> str:
    return next(one.message for one in conditions.of(decision) if one.type is type_)


def accepted(decision: Decision) -> list[str]:
    assert decision.record is not None
    return [one.name for one in decision.record.accepted]


# When


def test_before_the_deadline_nothing_is_taken_up_and_it_is_looked_at_again_when_that_has_passed() -> None:
    at = DEADLINE - timedelta(seconds=10)
    _, known = stuck(at, acceptances=asked())
    found = worlds.decide(known, now=at)
    assert found.phase is Phase.CONVERGING
    assert accepted(found) == []
    (sentence,) = found.ignored
    assert sentence == "RouterReplicas in ConfigMap topology-accepted-checks is ignored: the deadline has not passed"
    assert found.look_again == pytest.approx(10.05)


def test_at_the_deadline_it_is_completed_without_it_when_all_else_has_been_quiet_for_long() -> None:
    record, known = stuck(DEADLINE, acceptances=asked())
    assert failing(record) == [ROUTER]
    found = worlds.decide(known, now=DEADLINE)
    assert (found.phase, found.steps) == (Phase.COMPLETED, (Step.SAVE, Step.REPORT))
    assert found.record is not None
    (one,) = found.record.accepted
    assert (one.name, one.reason, one.accepted_time) == (ROUTER, "one router is enough here", DEADLINE)
    answer = next(check for check in found.record.checks if check.name == ROUTER)
    assert answer.status is CheckStatus.UNMET, "the true answer stays"
    assert one.message == answer.message
    assert found.record.progress is not None
    assert found.record.progress.met == found.record.progress.total - 1
    assert said(found, ConditionType.UPGRADEABLE) == (T, Reason.AS_EXPECTED)
    assert said(found, ConditionType.DEGRADED) == (F, Reason.AS_EXPECTED)


def test_all_the_rest_has_to_be_quiet_for_the_settle_time() -> None:
    """What moved a moment ago may move again: accepting one check hurries nothing else."""
    _, before = stuck(DEADLINE, etcd=worlds.etcd(8, EtcdMembersDegraded="True"))
    ill = worlds.decide(before, now=DEADLINE)
    assert failing(ill.record) == [CheckName.ETCD_HEALTHY, ROUTER]
    waits = worlds.decide(followed(ill.record, LATER, ingress_controller=PINNED, acceptances=asked()), now=LATER)
    assert (waits.phase, accepted(waits)) == (Phase.CONVERGING, [ROUTER])
    assert waits.degraded is None, "nothing is failing that is waited for"
    assert message(waits).endswith("waiting 60 s for all of them to stay met. Accepted without: RouterReplicas")
    settle = worlds.COMPACT.convergence.settle_seconds
    assert waits.look_again == pytest.approx(settle + 1.05)
    end = LATER + timedelta(seconds=settle + 1)
    done = worlds.decide(followed(waits.record, end, ingress_controller=PINNED), now=end)
    assert done.phase is Phase.COMPLETED


def test_what_flaps_after_it_was_accepted_does_not_begin_the_settle_time_again() -> None:
    _, known = stuck(LATER, acceptances=asked(), etcd=worlds.etcd(8, EtcdMembersDegraded="True"))
    first = worlds.decide(known, now=LATER)
    assert accepted(first) == [ROUTER]
    well = LATER + timedelta(seconds=10)
    second = worlds.decide(followed(first.record, well, ingress_controller=PINNED), now=well)
    met = well + timedelta(seconds=50)
    third = worlds.decide(followed(second.record, met), now=met)
    assert third.record is not None
    assert failing(third.record) == []
    end = well + timedelta(seconds=worlds.COMPACT.convergence.settle_seconds + 1)
    assert worlds.decide(followed(third.record, end, ingress_controller=PINNED), now=end).phase is Phase.COMPLETED


# What


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
    _, known = stuck(acceptances=asked(given_))
    found = worlds.decide(known, now=LATER)
    assert accepted(found) == []
    assert said(found, ConditionType.DEGRADED) == (T, Reason.TRANSITION_STUCK)
    (sentence,) = found.ignored
    assert f" in ConfigMap topology-accepted-checks is ignored: {why}" in sentence


def test_what_the_transition_does_not_wait_for_is_ignored() -> None:
    asking = tuple(one for one in worlds.COMPACT.convergence.checks if one.check is not CheckName.CONSOLE_REPLICAS)
    convergence = worlds.COMPACT.convergence.model_copy(update={"checks": asking})
    definition = worlds.COMPACT.model_copy(update={"convergence": convergence})
    transitions = dataclasses.replace(worlds.ONLY_COMPACT, definitions=(definition,))
    _, known = stuck(acceptances=asked(entry(CheckName.CONSOLE_REPLICAS)))
    (sentence,) = worlds.decide(known, now=LATER, transitions=transitions).ignored
    assert sentence.endswith("transition sno-to-ha-compact does not wait for it")


def test_nothing_of_the_control_plane_can_be_accepted() -> None:
    """Said by hand: a check that is added has to be thought about here."""
    assert {str(name) for name in ACCEPTABLE_CHECKS} == {
        "APIServerReplicas", "RouterReplicas", "ConsoleReplicas", "OAuthReplicas", "MonitoringReplicas",
        "ImageRegistryReplicas", "PackageServerReplicas", "MultusAdmissionReplicas", "GuardPodDisruptionBudgets",
    }  # fmt: skip


@pytest.mark.parametrize("check", [*ACCEPTABLE_CHECKS], ids=str)
def test_each_of_the_others_can_be_accepted_also_when_its_operator_has_not_reacted(check: CheckName) -> None:
    """An operator that does nothing is what ClusterOperatorsStable would wait for instead."""
    group = worlds.MATRIX.group(check)
    assert group is not None
    early = worlds.NOW + timedelta(minutes=1)
    before = followed(worlds.converging(), early)
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
    taken = worlds.decide(followed(first.record, LATER, acceptances=asked(entry(check)), **changes), now=LATER)
    assert accepted(taken) == [check]
    # What waited for the operator to react was Unmet as well, and has to stay quiet first.
    end = LATER + timedelta(seconds=worlds.COMPACT.convergence.settle_seconds + 1)
    done = worlds.decide(followed(taken.record, end, **changes), now=end)
    assert done.phase is Phase.COMPLETED, message(done)
    assert failing(done.record) == [check]


def test_its_operator_still_has_to_be_well() -> None:
    ill = tuple(
        dataclasses.replace(one, conditions=worlds.conditions(Available="False")) if one.name == "ingress" else one
        for one in worlds.cluster_operators(operand_worlds.REACTED)
    )
    _, known = stuck(acceptances=asked(), cluster_operators=ill)
    found = worlds.decide(known, now=LATER)
    assert (found.phase, accepted(found)) == (Phase.CONVERGING, [ROUTER])
    assert found.degraded is not None
    assert "Blocked by ClusterOperatorsStable" in found.degraded.message


def test_another_check_that_is_not_met_is_waited_for_and_named() -> None:
    _, known = stuck(acceptances=asked(), machine_config_pools=(worlds.pool(),))
    found = worlds.decide(known, now=LATER)
    assert (found.phase, accepted(found)) == (Phase.CONVERGING, [ROUTER])
    waits = "1 of 19 convergence checks not met: MachineConfigPoolsRolledOut (0 of 3). Accepted without: RouterReplicas"
    assert message(found).startswith(f"{OVERDUE}22 of 24 components updated ")
    assert message(found).endswith(f". {waits}"), "no action is required for what is accepted"
    assert found.degraded is not None
    assert found.degraded.reason is Reason.TRANSITION_STUCK
    assert "Blocked by MachineConfigPoolsRolledOut" in found.degraded.message


def test_a_watch_in_trouble_is_waited_for_all_the_same() -> None:
    _, known = stuck(acceptances=asked(), disturbed=("nodes",))
    found = worlds.decide(known, now=LATER)
    assert (found.phase, accepted(found)) == (Phase.CONVERGING, [ROUTER])


def test_an_answer_that_cannot_be_told_can_be_accepted_and_troubles_nobody_then() -> None:
    record, known = stuck(ingress_controller=worlds.BROKEN, acceptances=asked())
    assert next(one for one in record.checks if one.name == ROUTER).status is CheckStatus.UNKNOWN
    without = worlds.decide(dataclasses.replace(known, acceptances=asked(entry(attempt="x"))), now=LATER)
    assert said(without, ConditionType.DEGRADED) == (T, Reason.TRANSITION_STUCK)
    ill = dataclasses.replace(known, etcd=worlds.etcd(8, EtcdMembersProgressing="True"))
    found = worlds.decide(ill, now=DEADLINE)
    again = worlds.decide(followed(found.record, LATER, ingress_controller=worlds.BROKEN), now=LATER)
    assert said(again, ConditionType.DEGRADED) == (F, Reason.AS_EXPECTED)


@pytest.mark.parametrize(
    "unread",
    [
        worlds.MISSING,
        worlds.BROKEN,
        facts.NOT_READ,
        facts.Unobserved("configmaps/one", "malformed: data should be an object, found str", malformed=True),
    ],
    ids=lambda one: one.why[:9],
)
def test_what_cannot_be_read_accepts_nothing_and_is_no_trouble(unread: facts.Unobserved) -> None:
    _, known = stuck(acceptances=unread)
    found = worlds.decide(known, now=LATER)
    assert (found.phase, accepted(found), found.ignored) == (Phase.CONVERGING, [], ())
    assert said(found, ConditionType.DEGRADED) == (T, Reason.TRANSITION_STUCK)
    early = worlds.NOW + timedelta(minutes=20)
    first = worlds.decide(followed(worlds.converging(), early, acceptances=unread), now=early)
    quiet = early + timedelta(minutes=2)
    well = worlds.decide(followed(first.record, quiet, acceptances=unread), now=quiet)
    assert well.phase is Phase.COMPLETED, "whoever has nothing to accept does not need it"


# For ever


def test_it_is_final_for_the_attempt() -> None:
    """Neither taking it out of the ConfigMap, nor losing that, nor another leader takes it back."""
    _, known = stuck(acceptances=asked(), machine_config_pools=(worlds.pool(),))
    first = worlds.decide(known, now=LATER)
    for acceptances in (facts.Acceptances(), worlds.MISSING, asked(entry(reason="another")), asked(entry(attempt="x"))):
        later = LATER + timedelta(minutes=1)
        known = followed(first.record, later, ingress_controller=PINNED, machine_config_pools=(worlds.pool(),))
        again = worlds.decide(dataclasses.replace(known, acceptances=acceptances), now=later)
        assert again.record is not None
        assert first.record is not None
        assert again.record.accepted == first.record.accepted
        assert Step.SAVE not in again.steps, "and nothing is written for it"


def test_what_comes_after_all_is_shown_as_met_and_stays_accepted() -> None:
    _, known = stuck(acceptances=asked(), machine_config_pools=(worlds.pool(),))
    first = worlds.decide(known, now=LATER)
    later = LATER + timedelta(minutes=1)
    again = worlds.decide(followed(first.record, later, machine_config_pools=(worlds.pool(),)), now=later)
    assert again.record is not None
    assert next(one for one in again.record.checks if one.name == ROUTER).status is CheckStatus.MET
    assert accepted(again) == [ROUTER]


def test_a_record_that_was_lost_is_rebuilt_without_what_its_copy_says_was_accepted() -> None:
    _, known = stuck(acceptances=asked(), machine_config_pools=(worlds.pool(),))
    first = worlds.decide(known, now=LATER).record
    assert first is not None
    lost = dataclasses.replace(
        followed(None, LATER, ingress_controller=PINNED, machine_config_pools=(worlds.pool(),)),
        own_operator=worlds.copy_of(first),
    )
    again = worlds.decide(lost, now=LATER)
    assert again.record is not None
    assert again.record.accepted == ()
    waits = "2 of 20 convergence checks not met: MachineConfigPoolsRolledOut (0 of 3), RouterReplicas (1 of 2). "
    assert waits in message(again)
    asked_still = worlds.decide(dataclasses.replace(lost, acceptances=asked()), now=LATER)
    assert asked_still.record is not None
    assert [item.name for item in asked_still.record.accepted] == [item.name for item in first.accepted]
    remembered = worlds.decide(lost, worlds.term(latest=first), LATER)
    assert remembered.record is not None
    assert remembered.record.accepted == first.accepted, "this leader has taken it itself"


def test_completed_says_it_as_long_as_it_lasts() -> None:
    _, known = stuck(acceptances=asked())
    done = worlds.decide(known, now=LATER)
    assert message(done) == (
        "The transition to HighlyAvailable/HighlyAvailable is completed, accepted without: RouterReplicas. Left to do: "
        "RouterReplicasPinned, TopologyReadAtStart, EtcdBackupOutdated (see status.topologyTransition.advisories)"
    )
    assert reasons(done) == [EventReason.TRANSITION_COMPLETED]
    assert done.happened[0].note.endswith("is completed, accepted without: RouterReplicas")
    assert done.record is not None
    assert events.after_restart(done.record, LATER)[-1].note == done.happened[0].note, "the same event"
    tomorrow = LATER + timedelta(days=1)
    kept = worlds.decide(followed(done.record, tomorrow), now=tomorrow)
    assert (kept.phase, kept.steps) == (Phase.COMPLETED, (Step.REPORT,))
    assert message(kept) == message(done)


def _completed_without_router() -> TopologyTransition:
    _, known = stuck(acceptances=asked())
    done = worlds.decide(known, now=LATER).record
    assert done is not None
    return done


def test_it_is_kept_while_nothing_is_wanted_and_a_new_attempt_begins_without_it() -> None:
    done = _completed_without_router()
    idle = worlds.decide(worlds.with_infrastructure(followed(done, LATER), desired=None), now=LATER)
    assert (idle.phase, accepted(idle)) == (Phase.IDLE, [ROUTER])
    again = worlds.recorded(worlds.healthy(LATER), idle.record)
    blocked = dataclasses.replace(again, scheduler=facts.Scheduler(masters_schedulable=False))
    pending = worlds.decide(blocked, now=LATER)
    assert (pending.phase, accepted(pending)) == (Phase.PENDING, [ROUTER])
    admitting = worlds.decide(worlds.recorded(again, pending.record), worlds.term(next_attempt="second"), LATER)
    assert (admitting.phase, accepted(admitting)) == (Phase.ADMITTING, [])
    live = dataclasses.replace(worlds.recorded(again, admitting.record), live=True)
    changed = worlds.decide(live, worlds.term(attempt="second"), LATER)
    assert Step.CHANGE in changed.steps
    assert accepted(changed) == []
    # What stands in the ConfigMap is for the attempt before.
    much_later = LATER + timedelta(hours=2)
    found = worlds.decide(
        followed(changed.record, much_later, ingress_controller=PINNED, acceptances=asked()), now=much_later
    )
    assert (found.phase, accepted(found)) == (Phase.CONVERGING, [])
    assert found.ignored[0].endswith("it is for attempt mine, and second is under way")


def test_a_record_that_somebody_has_tampered_with_goes_without_nothing_of_the_control_plane() -> None:
    """Whoever may write the record may do worse; but what it says must not be taken for acceptable."""
    record, _ = stuck()
    forged = Accepted(name=CheckName.ETCD_HEALTHY, message="", accepted_time=LATER)
    ill = worlds.etcd(8, EtcdMembersDegraded="True")
    found = worlds.decide(followed(record.model_copy(update={"accepted": (forged,)}), LATER, etcd=ill), now=LATER)
    assert found.phase is Phase.CONVERGING
    assert message(found).endswith(". 1 of 20 convergence checks not met: EtcdHealthy")


# How it is read


def read(**data: str) -> facts.Acceptances:
    return parse.acceptances({"metadata": {"name": "topology-accepted-checks"}, "data": data})


def test_an_entry_says_attempt_and_reason() -> None:
    value = json.dumps({"attempt": "mine", "reason": "one\nrouter  is enough", "more": 1})
    assert read(RouterReplicas=value).items == (facts.Acceptance("RouterReplicas", "mine", "one router is enough"),)
    assert read(RouterReplicas='{"attempt":"mine"}').items == (facts.Acceptance("RouterReplicas", "mine"),)
    assert parse.acceptances({"metadata": {}}).items == ()
    assert parse.acceptances({"metadata": {}, "data": None}).items == ()


@pytest.mark.parametrize(
    "value",
    ["", "mine", "[]", "null", "{}", '{"attempt":""}', '{"attempt":7}', '{"attempt":"mine","reason":[]}', "{",
     "[" * 100_000, '{"attempt":' + "9" * 5000 + "}"],
    ids=lambda value: value[:12],
)  # fmt: skip
def test_one_that_makes_no_sense_says_so_and_spoils_no_other(value: str) -> None:
    found = read(ConsoleReplicas=value, RouterReplicas='{"attempt":"mine"}')
    assert [one.wrong for one in found.items] == ['its value is not {"attempt": ..., "reason": ...} as JSON', ""]


def test_nonsense_costs_little() -> None:
    value = json.dumps({"attempt": "a" * 9000, "reason": "r" * 9000})
    found = read(**{f"key-{index}": value for index in range(500)}, RouterReplicas=value)
    assert len(found.items) == 17
    assert found.items[0].check == "RouterReplicas", "what can be meant comes first"
    assert all(len(one.attempt) == 64 and len(one.reason) == ACCEPTED_REASON_LIMIT for one in found.items)


def attempt_of(value: str) -> object:
    """The attempt that a value names, None where it is no JSON object."""
    try:
        found = json.loads(value)
    except ValueError:
        return None
    return found.get("attempt") if isinstance(found, dict) else None


@settings(deadline=None)
@given(
    st.dictionaries(
        st.one_of(st.sampled_from([*CheckName]), st.text(max_size=20)),
        st.one_of(
            st.text(max_size=40),
            st.fixed_dictionaries(
                {"attempt": st.sampled_from(["mine", "another"])}, optional={"reason": st.text(max_size=300)}
            ).map(json.dumps),
        ),
        max_size=6,
    ),
    st.integers(-5, 5).map(lambda minutes: DEADLINE + timedelta(minutes=minutes)),
)
def test_whatever_it_holds_only_the_right_entries_count_and_the_record_can_be_written(
    data: dict[str, str], now: datetime
) -> None:
    _, known = stuck(now, acceptances=parse.acceptances({"data": data}))
    found = worlds.decide(known, now=now)
    assert found.record is not None
    meant = attempt_of(data.get(ROUTER, "")) == "mine" and now >= DEADLINE
    assert accepted(found) == ([ROUTER] if meant else [])
    assert (found.phase is Phase.COMPLETED) is meant
    written = json.dumps(found.record.to_api()).encode()
    assert TopologyTransition.from_api(json.loads(written)) == found.record


def test_a_record_with_all_of_them_stays_small() -> None:
    """It is written twice, in the record and in its copy: at worst 9 checks, each with a long message and reason."""
    long = Accepted(
        name=CheckName.GUARD_POD_DISRUPTION_BUDGETS,
        message="m" * ACCEPTED_MESSAGE_LIMIT,
        reason="r" * ACCEPTED_REASON_LIMIT,
        accepted_time=LATER,
    )
    worst = len(ACCEPTABLE_CHECKS) * (len(json.dumps(long.to_api())) + 2)
    usual = len(json.dumps(_completed_without_router().accepted[0].to_api()))
    assert worst <= 9 * 1024, worst
    assert usual <= 640, usual


# How it is told in the log


def test_each_is_told_once_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    spoken = log.DecisionLog()

    def told(decision: Decision) -> list[str]:
        caplog.clear()
        spoken.decided(decision)
        return [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]

    pools = (worlds.pool(),)
    wrong = entry(CheckName.ETCD_HEALTHY)
    _, known = stuck(machine_config_pools=pools, acceptances=asked(wrong))
    before = worlds.decide(known, now=LATER)
    assert len(told(before)) == 1
    assert told(before) == []
    taken = worlds.decide(dataclasses.replace(known, acceptances=asked(wrong, entry())), now=LATER)
    (sentence,) = told(taken)
    assert sentence.startswith(
        "check RouterReplicas is accepted and not waited for any more: one router is enough here; it says: Wanted: "
    )
    assert told(taken) == []
    # A successor finds it in the record: no news but what it ignores itself.
    known = followed(taken.record, LATER, ingress_controller=PINNED, machine_config_pools=pools, acceptances=asked())
    spoken = log.DecisionLog()
    assert told(worlds.decide(known, now=LATER)) == []
