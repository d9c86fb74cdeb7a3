"""Idle, Unsupported, Pending and Admitting: what follows from a wish and the facts."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.vocabulary import CheckName, CheckStatus, ConditionStatus, ConditionType, EventReason, Phase, Reason
from topology_controller.decide.decision import Step
from topology_controller.observe import facts
from topology_controller.report import conditions
from topology_controller.transitions import load, model

from . import worlds

if TYPE_CHECKING:
    from topology_api.types import TopologyTransition
    from topology_controller.decide.decision import Decision

T, F = ConditionStatus.TRUE, ConditionStatus.FALSE


def said(decision: Decision, type_: ConditionType) -> tuple[ConditionStatus, Reason]:
    found = {condition.type: condition for condition in conditions.of(decision)}
    assert found[type_].message, type_
    return found[type_].status, found[type_].reason


def row(decision: Decision) -> dict[str, tuple[ConditionStatus, Reason]]:
    return {type_.value: said(decision, type_) for type_ in ConditionType}


WELL = {type_.value: (F, Reason.AS_EXPECTED) for type_ in ConditionType} | {
    "Available": (T, Reason.AS_EXPECTED),
    "Upgradeable": (T, Reason.AS_EXPECTED),
}


def reasons(decision: Decision) -> list[EventReason]:
    return [happening.reason for happening in decision.happened]


def failing(record: TopologyTransition | None) -> list[str]:
    return [check.name for check in (record.checks if record else ()) if check.status is not CheckStatus.MET]


# Idle


@pytest.mark.parametrize("desired", [None, "SingleReplica"])
def test_without_an_unfulfilled_wish_it_is_idle(desired: str | None) -> None:
    found = worlds.decide(
        worlds.healthy(infrastructure=worlds.infrastructure(desired=desired)), worlds.term(available=())
    )
    assert found.phase is Phase.IDLE
    assert not found.watch
    assert row(found) == WELL
    assert found.happened == ()
    assert found.look_again is None


def test_the_first_record_waits_for_discovery_and_then_nothing_is_written() -> None:
    known = worlds.healthy(infrastructure=worlds.infrastructure(desired=None))
    assert worlds.decide(known).steps == (Step.REPORT,)
    found = worlds.decide(known, worlds.term(available=()))
    assert found.steps == (Step.SAVE, Step.REPORT)
    assert worlds.decide(worlds.recorded(known, found.record), worlds.term(available=())).steps == (Step.REPORT,)


def test_a_native_wish_that_nobody_reads_is_named() -> None:
    known = worlds.healthy(infrastructure=worlds.infrastructure(desired=None, native_wish="HighlyAvailable"))
    messages = {condition.type: condition.message for condition in conditions.of(worlds.decide(known))}
    assert "Nobody acts on spec.controlPlaneTopology HighlyAvailable" in messages[ConditionType.PROGRESSING]


# Unsupported


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"desired": "DualReplica"}, "to DualReplica on platform None"),
        ({"platform": "AWS"}, "on platform AWS"),
        ({"platform": None}, "on platform unknown"),
        (
            {"control_plane": "HighlyAvailable", "infrastructure": "HighlyAvailable", "desired": "SingleReplica"},
            "From here: none",
        ),
    ],
)
def test_a_wish_that_no_definition_leads_to(changes: dict[str, Any], text: str) -> None:
    known = worlds.with_infrastructure(worlds.healthy(), **changes)
    found = worlds.decide(known)
    assert found.phase is Phase.UNSUPPORTED
    assert not found.watch
    assert row(found) == WELL | {
        "Progressing": (F, Reason.UNSUPPORTED_TRANSITION),
        "Upgradeable": (F, Reason.UNSUPPORTED_TRANSITION),
    }
    messages = {condition.type: condition.message for condition in conditions.of(found)}
    assert text in messages[ConditionType.PROGRESSING]
    assert '"desiredTopology":null' in messages[ConditionType.UPGRADEABLE]
    assert reasons(found) == [EventReason.TRANSITION_REQUESTED, EventReason.TRANSITION_BLOCKED]
    again = worlds.decide(worlds.recorded(known, found.record), now=worlds.NOW + timedelta(hours=1))
    assert again.steps == (Step.REPORT,)
    assert again.happened == ()


def test_what_would_be_legal_is_named() -> None:
    found = worlds.decide(worlds.with_infrastructure(worlds.healthy(), desired="DualReplica"))
    assert (
        "HighlyAvailable (sno-to-ha-compact, on platform None or External, with exactly 0 dedicated workers)"
        in found.note
    )


def test_an_unsupported_wish_that_is_withdrawn_leaves_no_trace() -> None:
    known = worlds.with_infrastructure(worlds.healthy(), desired="DualReplica")
    before = worlds.decide(known).record
    found = worlds.decide(worlds.recorded(known, before, desired=None, generation=3), worlds.term(available=()))
    assert found.phase is Phase.IDLE
    assert row(found) == WELL
    assert reasons(found) == [EventReason.TRANSITION_CANCELLED]


# Pending


BREAKS: list[tuple[dict[str, Any], CheckName]] = [
    ({"cluster_operators": ()}, CheckName.CLUSTER_OPERATORS_STABLE),
    ({"cluster_version": worlds.version(progressing="True")}, CheckName.NO_UPGRADE_IN_PROGRESS),
    (
        {"control_plane_nodes": (worlds.node(0), worlds.node(1), worlds.node(2, ready="False"))},
        CheckName.CONTROL_PLANE_NODES,
    ),
    ({"other_nodes": (facts.OtherNode("w", master=False, arbiter=False),)}, CheckName.DEDICATED_WORKERS),
    ({"scheduler": facts.Scheduler(masters_schedulable=False)}, CheckName.MASTERS_SCHEDULABLE),
    ({"etcd_endpoints": facts.EtcdEndpoints((("cafe", worlds.ADDRESSES[0]),))}, CheckName.ETCD_VOTING_MEMBERS),
    ({"etcd": facts.Etcd(facts.Conditions())}, CheckName.ETCD_HEALTHY),
    ({"etcd_lease": facts.EtcdLease("", worlds.NOW, 137)}, CheckName.ETCD_OPERATOR_ALIVE),
]


@pytest.mark.parametrize(("changes", "check"), BREAKS)
@pytest.mark.parametrize("before", [None, "admitting"])
def test_any_single_broken_fact_holds_it_and_repairing_it_lets_go(
    changes: dict[str, Any], check: CheckName, before: str | None
) -> None:
    known = worlds.recorded(worlds.healthy(**changes), worlds.admitting() if before else None)
    found = worlds.decide(dataclasses.replace(known, live=True), worlds.term(attempt="mine"))
    assert found.phase is Phase.PENDING
    assert check in failing(found.record)
    assert check in found.note
    assert Step.FLIP not in found.steps
    assert Step.GATHER not in found.steps
    assert found.watch
    assert row(found) == WELL | {
        "Progressing": (F, Reason.PREFLIGHT_UNMET),
        "Upgradeable": (F, Reason.TRANSITION_PENDING),
    }
    assert found.record is not None
    assert found.record.attempt is None
    repaired = worlds.decide(worlds.recorded(worlds.healthy(), found.record))
    assert repaired.phase is Phase.ADMITTING


@pytest.mark.parametrize(("changes", "check"), BREAKS)
def test_the_block_is_the_same_text_whatever_fails(changes: dict[str, Any], check: CheckName) -> None:
    assert worlds.decide(worlds.healthy(**changes)).upgrade_block == worlds.BLOCK


def test_first_requested_and_blocked_then_nothing_twice() -> None:
    known = worlds.healthy(etcd=facts.Etcd(facts.Conditions()))
    found = worlds.decide(known)
    assert reasons(found) == [EventReason.TRANSITION_REQUESTED, EventReason.TRANSITION_BLOCKED]
    assert worlds.decide(worlds.recorded(known, found.record)).happened == ()


def test_facts_that_are_on_their_way_are_no_news() -> None:
    found = worlds.decide(worlds.healthy(etcd=facts.NOT_READ))
    assert found.watch
    assert found.steps == ()


@pytest.mark.parametrize("phase", ["pending", "admitting"])
@pytest.mark.parametrize("desired", [None, "SingleReplica"])
def test_a_cancel_costs_nothing_and_leaves_no_stale_reason(phase: str, desired: str | None) -> None:
    known = worlds.healthy() if phase == "admitting" else worlds.healthy(etcd=worlds.BROKEN)
    record = worlds.decide(known).record
    found = worlds.decide(
        worlds.recorded(known, record, desired=desired, generation=3), worlds.term(attempt="next", available=())
    )
    assert found.phase is Phase.IDLE
    assert found.steps == (Step.SAVE, Step.REPORT)
    assert row(found) == WELL
    assert not found.watch
    assert reasons(found) == [EventReason.TRANSITION_CANCELLED]
    assert found.record is not None
    assert (found.record.name, found.record.attempt, found.record.checks) == (None, None, ())


@pytest.mark.parametrize("phase", ["pending", "admitting"])
def test_another_wish_begins_anew(phase: str) -> None:
    known = worlds.healthy() if phase == "admitting" else worlds.healthy(etcd=worlds.BROKEN)
    record = worlds.decide(known).record
    found = worlds.decide(worlds.recorded(known, record, desired="DualReplica", generation=3))
    assert found.phase is Phase.UNSUPPORTED
    assert found.record is not None
    assert found.record.attempt is None


def test_times_are_kept_while_the_phase_and_the_answers_stay() -> None:
    known = worlds.healthy(etcd=facts.Etcd(facts.Conditions()))
    first = worlds.decide(known).record
    assert first is not None
    later = worlds.NOW + timedelta(minutes=3)
    broken = dataclasses.replace(worlds.healthy(later), etcd=facts.Etcd(facts.Conditions()), scheduler=worlds.BROKEN)
    second = worlds.decide(worlds.recorded(broken, first), now=later).record
    assert second is not None
    assert second.requested_time == second.phase_transition_time == worlds.NOW
    times = {check.name: check.last_transition_time for check in second.checks}
    assert times[CheckName.ETCD_HEALTHY] == worlds.NOW
    assert times[CheckName.MASTERS_SCHEDULABLE] == later


def test_a_fact_that_stays_unreadable_for_five_minutes_degrades_and_recovers() -> None:
    known = worlds.healthy(scheduler=worlds.BROKEN)
    first = worlds.decide(known)
    assert first.degraded is None
    assert first.look_again is not None
    at = worlds.NOW + timedelta(minutes=5)
    lasting = dataclasses.replace(worlds.healthy(at), scheduler=worlds.BROKEN)
    early = worlds.decide(worlds.recorded(lasting, first.record), now=at - timedelta(seconds=1))
    assert early.degraded is None
    assert early.look_again is not None
    assert early.look_again <= 1.1
    found = worlds.decide(worlds.recorded(lasting, first.record), now=at)
    assert row(found) == WELL | {
        "Progressing": (F, Reason.PREFLIGHT_UNMET),
        "Degraded": (T, Reason.EVIDENCE_UNREADABLE),
        "Upgradeable": (F, Reason.TRANSITION_PENDING),
    }
    assert found.degraded is not None
    assert str(worlds.BROKEN) in found.degraded.message
    healed = worlds.decide(worlds.recorded(worlds.healthy(at), found.record), now=at)
    assert said(healed, ConditionType.DEGRADED) == (F, Reason.AS_EXPECTED)


def test_unmet_for_long_is_no_trouble_of_ours() -> None:
    first = worlds.decide(worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False))).record
    at = worlds.NOW + timedelta(days=1)
    known = dataclasses.replace(worlds.healthy(at), scheduler=facts.Scheduler(masters_schedulable=False))
    assert worlds.decide(worlds.recorded(known, first), now=at).degraded is None


# Admitting and the echo


def test_all_met_records_a_new_attempt_reports_and_then_looks_live() -> None:
    found = worlds.decide(worlds.healthy())
    assert found.steps == (Step.SAVE, Step.REPORT, Step.GATHER)
    assert found.record is not None
    assert found.record.attempt == "next"
    assert row(found) == WELL | {
        "Progressing": (T, Reason.TRANSITION_ADMITTING),
        "Upgradeable": (F, Reason.TRANSITION_IN_PROGRESS),
    }


@pytest.mark.parametrize("message", [None, "somebody else's reason"])
def test_without_our_echo_it_waits(message: str | None) -> None:
    known = worlds.healthy(cluster_version=worlds.version(message))
    found = worlds.decide(known)
    assert found.phase is Phase.ADMITTING
    assert found.steps == (Step.SAVE, Step.REPORT)
    again = worlds.decide(
        dataclasses.replace(worlds.recorded(known, found.record), live=True), worlds.term(attempt="next")
    )
    assert again.steps == (Step.REPORT,)
    assert again.look_again is not None


def test_an_echo_that_does_not_come_in_five_minutes_ends_the_admission_and_is_named() -> None:
    before = worlds.admitting()
    silent = worlds.version(None)

    def at(seconds: float) -> Decision:
        now = worlds.NOW + timedelta(seconds=seconds)
        known = dataclasses.replace(worlds.healthy(now), cluster_version=silent)
        return worlds.decide(worlds.recorded(known, before), worlds.term(attempt="mine"), now)

    assert at(299).phase is Phase.ADMITTING
    found = at(300)
    assert found.phase is Phase.PENDING
    assert failing(found.record) == [CheckName.UPGRADES_BLOCKED]
    assert said(found, ConditionType.PROGRESSING) == (F, Reason.PREFLIGHT_UNMET)
    assert reasons(found) == [EventReason.TRANSITION_BLOCKED]
    assert found.upgrade_block == worlds.BLOCK


@pytest.mark.parametrize(
    ("after", "echo", "phase"),
    [(1, True, Phase.PENDING), (59, True, Phase.PENDING), (60, True, Phase.ADMITTING), (3600, False, Phase.PENDING)],
)
def test_after_a_timeout_it_backs_off_and_then_waits_for_the_echo(after: float, echo: bool, phase: Phase) -> None:  # noqa: FBT001 - a column of the table
    now = worlds.NOW + timedelta(minutes=5)
    silent = dataclasses.replace(worlds.healthy(now), cluster_version=worlds.version(None))
    pending = worlds.decide(worlds.recorded(silent, worlds.admitting()), worlds.term(attempt="mine"), now).record
    later = now + timedelta(seconds=after)
    known = dataclasses.replace(
        worlds.healthy(later), cluster_version=worlds.version() if echo else worlds.version(None)
    )
    found = worlds.decide(worlds.recorded(known, pending), worlds.term(attempt="mine"), later)
    assert found.phase is phase
    if phase is Phase.ADMITTING:
        assert found.record is not None
        assert found.record.attempt == "next"


def test_a_foreign_attempt_is_never_taken_over() -> None:
    """A new leader writes an attempt of its own before anything else, so that every older write conflicts."""
    known = worlds.recorded(worlds.healthy(), worlds.admitting(attempt="theirs"))
    for live in (False, True):
        found = worlds.decide(dataclasses.replace(known, live=live), worlds.term(attempt=None))
        assert found.steps[0] is Step.SAVE
        assert Step.FLIP not in found.steps
        assert found.record is not None
        assert found.record.attempt == "next"


def test_our_own_attempt_is_kept() -> None:
    known = worlds.recorded(worlds.healthy(), worlds.admitting())
    found = worlds.decide(known, worlds.term(attempt="mine"))
    assert found.steps == (Step.REPORT, Step.GATHER)


def test_the_flip_carries_topology_record_and_baseline_together() -> None:
    known = dataclasses.replace(worlds.recorded(worlds.healthy(), worlds.admitting()), live=True)
    found = worlds.decide(known, worlds.term(attempt="mine"))
    assert found.steps == (Step.FLIP, Step.REPORT)
    record = found.record
    assert record is not None
    assert (record.phase, record.attempt, record.source, record.target) == (
        Phase.CONVERGING,
        "mine",
        worlds.SNO,
        worlds.HA,
    )
    assert record.admitted_time == worlds.NOW
    assert record.baseline is not None
    assert {pool.name: pool.configuration for pool in record.baseline.machine_config_pools} == {
        "master": "rendered-master-1",
        "worker": "rendered-worker-1",
    }
    assert reasons(found) == [EventReason.TRANSITION_ADMITTED, EventReason.TOPOLOGY_CHANGED]


@pytest.mark.parametrize(
    "changes",
    [
        {"live": False},
        {"live": True, "own_operator": worlds.own(paused=True)},
        {"live": True, "cluster_version": worlds.version(None)},
    ],
)
def test_no_flip_without_live_facts_while_paused_or_without_the_echo(changes: dict[str, Any]) -> None:
    known = dataclasses.replace(worlds.recorded(worlds.healthy(), worlds.admitting()), **changes)
    assert Step.FLIP not in worlds.decide(known, worlds.term(attempt="mine")).steps


@pytest.mark.parametrize(
    ("known", "term", "text"),
    [
        (worlds.healthy(own_operator=worlds.own(paused=True)), worlds.term(), "Paused by annotation"),
        (worlds.healthy(), worlds.term(hold_until=worlds.NOW + timedelta(seconds=5)), "waiting a moment"),
        (worlds.healthy(feature_gates=worlds.BROKEN), worlds.term(), "native controller"),
        (worlds.healthy(native_controller=worlds.BROKEN), worlds.term(), "native controller"),
        (worlds.healthy(machine_config_pools=worlds.BROKEN), worlds.term(), "machine config pools cannot be read"),
        (worlds.healthy(machine_config_pools=(worlds.BROKEN,)), worlds.term(), "machine config pools cannot be read"),
        (worlds.healthy(machine_config_pools=(worlds.pool(configuration="x" * 254),)), worlds.term(), "cannot be read"),
        (
            worlds.healthy(feature_gates=facts.FeatureGates((("4.20.1", True),))),
            worlds.term(since=worlds.NOW - timedelta(seconds=100)),
            "native controller shows up",
        ),
    ],
)
def test_held_back_although_every_check_is_met(known: facts.Facts, term: Any, text: str) -> None:
    found = worlds.decide(known, term)
    assert found.phase is Phase.PENDING
    assert text in found.note
    assert failing(found.record) == []
    assert Step.GATHER not in found.steps


def test_a_hold_that_time_ends_asks_to_look_again() -> None:
    found = worlds.decide(worlds.healthy(), worlds.term(hold_until=worlds.NOW + timedelta(seconds=5)))
    assert found.look_again == pytest.approx(5.05)
    gate = worlds.healthy(feature_gates=facts.FeatureGates((("4.20.1", True),)))
    found = worlds.decide(gate, worlds.term(since=worlds.NOW - timedelta(seconds=100)))
    assert found.look_again == pytest.approx(37.05)
    assert worlds.decide(gate, worlds.term(since=worlds.NOW - timedelta(seconds=137))).phase is Phase.ADMITTING


# Several definitions with one source


def siblings() -> load.Transitions:
    raw = worlds.COMPACT.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    big = {**raw, "name": "sno-to-ha-large", "workers": {"min": 3}}
    return load.Transitions((worlds.COMPACT, model.Definition.model_validate(big)))


def workers(count: int) -> tuple[facts.OtherNode, ...]:
    return tuple(facts.OtherNode(f"w-{index}", master=False, arbiter=False) for index in range(count))


@pytest.mark.parametrize(("count", "name"), [(0, "sno-to-ha-compact"), (3, "sno-to-ha-large"), (9, "sno-to-ha-large")])
def test_the_number_of_workers_chooses_between_siblings(count: int, name: str) -> None:
    found = worlds.decide(worlds.healthy(other_nodes=workers(count)), transitions=siblings())
    assert found.definition is not None
    assert found.definition.name == name


def test_a_number_of_workers_that_fits_no_sibling_keeps_watching() -> None:
    """Closing the watches would forget the number, open them again, and so on for ever."""
    found = worlds.decide(worlds.healthy(other_nodes=workers(1)), transitions=siblings())
    assert found.phase is Phase.UNSUPPORTED
    assert found.watch


@pytest.mark.parametrize("others", [worlds.BROKEN, (worlds.BROKEN,), (*workers(2), worlds.BROKEN)])
def test_workers_that_cannot_be_counted_choose_nothing_and_admit_nothing(others: Any) -> None:
    found = worlds.decide(worlds.healthy(other_nodes=others), transitions=siblings())
    assert found.phase is Phase.PENDING
    assert CheckName.DEDICATED_WORKERS in failing(found.record)


def test_what_live_evidence_said_stands_while_the_watches_may_be_behind() -> None:
    """The live read saw a node fail; the watch has not heard of it yet, and must not take the news back."""
    lagging = worlds.healthy()
    broken = dataclasses.replace(
        lagging, live=True, control_plane_nodes=(worlds.node(0), worlds.node(1), worlds.node(2, ready="False"))
    )
    said = worlds.decide(worlds.recorded(broken, worlds.admitting()), worlds.term(attempt="mine")).record
    assert said is not None
    assert said.phase is Phase.PENDING
    known = worlds.recorded(lagging, said)
    held = worlds.decide(known, worlds.term(hold_until=worlds.NOW + timedelta(seconds=1)))
    assert (held.phase, held.steps, held.record) == (Phase.PENDING, (), None)
    assert {result.name: result.status for result in held.results}[CheckName.CONTROL_PLANE_NODES] is CheckStatus.UNMET
    assert held.look_again is not None
    assert held.look_again <= 1.1
    assert worlds.decide(known).phase is Phase.ADMITTING, "afterwards the watches are believed again"
