"""Idle, Unsupported and Pending: what follows from a request and the facts, and where Infrastructure makes no sense."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from topology_api.types import TopologyTransition
from topology_api.vocabulary import CheckName, ConditionType, EventReason, Phase, Reason
from topology_controller.decide import admission, state
from topology_controller.decide.state import Step
from topology_controller.definitions import load, model
from topology_controller.observe import facts
from topology_controller.report import clusteroperator

from . import machine_worlds, worlds
from .worlds import WELL, F, T, failing, reasons, row, said


@pytest.mark.parametrize("desired", [None, "SingleReplica"])
def test_without_an_unfulfilled_request_it_is_idle(desired: str | None) -> None:
    known = worlds.healthy(infrastructure=worlds.infrastructure(desired=desired))
    found = worlds.decide(known, worlds.term(available=()))
    assert found.phase is Phase.IDLE
    assert not found.watch
    assert row(found) == WELL
    assert found.happened == ()
    assert found.look_again is None


def test_a_native_request_that_nobody_reads_is_named() -> None:
    known = worlds.healthy(infrastructure=worlds.infrastructure(desired=None, native_desired="HighlyAvailable"))
    messages = {condition.type: condition.message for condition in clusteroperator.conditions(worlds.decide(known))}
    assert "No controller acts on spec.controlPlaneTopology HighlyAvailable" in messages[ConditionType.PROGRESSING]


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
def test_a_request_that_no_definition_leads_to(changes: dict[str, Any], text: str) -> None:
    known = worlds.with_infrastructure(worlds.healthy(), **changes)
    found = worlds.decide(known)
    assert found.phase is Phase.UNSUPPORTED
    assert not found.watch
    unsupported = (F, Reason.UNSUPPORTED_TRANSITION)
    assert row(found) == WELL | {"Progressing": unsupported, "Upgradeable": unsupported}
    assert text in found.note
    assert reasons(found) == [EventReason.TRANSITION_REQUESTED, EventReason.TRANSITION_BLOCKED]
    later = worlds.NOW + timedelta(hours=1)
    again = worlds.decide(worlds.recorded(known, found.record), now=later)
    assert (again.steps, again.happened) == ((Step.REPORT,), ())
    same = worlds.record_of(worlds.decide(worlds.recorded(known, found.record, generation=3), now=later))
    assert same.requested_time == worlds.NOW, "something else in the spec has changed"
    other = worlds.record_of(worlds.decide(worlds.recorded(known, same, desired="External", generation=4), now=later))
    assert (other.requested_time, other.phase_transition_time) == (later, worlds.NOW), "another request, one phase"


PENDING = {"Progressing": (F, Reason.PREFLIGHT_UNMET), "Upgradeable": (F, Reason.TRANSITION_PENDING)}
BREAKS: list[tuple[dict[str, Any], CheckName]] = [
    ({"cluster_operators": ()}, CheckName.CLUSTER_OPERATORS_STABLE),
    ({"cluster_version": worlds.version(progressing="True")}, CheckName.NO_UPGRADE_IN_PROGRESS),
    ({"control_plane_nodes": (worlds.node(cordoned=True), *map(worlds.node, (1, 2)))}, CheckName.CONTROL_PLANE_NODES),
    ({"machines": machine_worlds.three(deleting=True)}, CheckName.CONTROL_PLANE_MACHINES),
    ({"machine_config_pools": (worlds.pool(), worlds.pool("x", paused=True))}, CheckName.MACHINE_CONFIG_POOLS_READY),
    ({"other_nodes": (facts.OtherNode("w", master=False, arbiter=False),)}, CheckName.DEDICATED_WORKERS),
    ({"scheduler": False}, CheckName.MASTERS_SCHEDULABLE),
    ({"etcd_endpoints": facts.EtcdEndpoints((("cafe", worlds.ADDRESSES[0]),))}, CheckName.ETCD_VOTING_MEMBERS),
    ({"etcd": facts.Etcd(facts.Conditions(), unsafe_scaling=False)}, CheckName.ETCD_HEALTHY),
    ({"etcd": dataclasses.replace(worlds.etcd(), unsafe_scaling=True)}, CheckName.ETCD_SCALING_SAFE),
    ({"etcd_lease": facts.Lease("", worlds.NOW, 137)}, CheckName.ETCD_OPERATOR_ALIVE),
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
    assert (check in found.note, found.upgrade_block) == (True, worlds.BLOCK), "one text, whatever fails"
    assert Step.CHANGE not in found.steps
    assert Step.GATHER not in found.steps
    assert found.watch
    assert row(found) == WELL | PENDING
    assert worlds.record_of(found).attempt is None
    repaired = worlds.decide(worlds.recorded(worlds.healthy(), found.record))
    assert repaired.phase is Phase.ADMITTING


def test_facts_that_are_on_their_way_are_no_news() -> None:
    found = worlds.decide(worlds.healthy(etcd=facts.NOT_READ, awaited=True))
    assert found.watch
    assert found.steps == ()


@pytest.mark.parametrize("phase", ["pending", "admitting", "unsupported"])
@pytest.mark.parametrize("desired", [None, "SingleReplica"])
def test_a_cancel_costs_nothing_and_leaves_no_stale_reason(phase: str, desired: str | None) -> None:
    known = worlds.healthy(etcd=worlds.BROKEN) if phase == "pending" else worlds.healthy()
    if phase == "unsupported":
        known = worlds.with_infrastructure(known, desired="DualReplica")
    known = worlds.recorded(known, worlds.decide(known).record, desired=desired, generation=3)
    found = worlds.decide(known, worlds.term(attempt="next", available=()))
    assert found.phase is Phase.IDLE
    assert found.steps == (Step.SAVE, Step.REPORT)
    assert row(found) == WELL
    assert not found.watch
    assert reasons(found) == [EventReason.TRANSITION_CANCELLED]
    assert found.record is not None
    assert (found.record.name, found.record.attempt, found.record.checks) == (None, None, ())


def test_a_fact_that_stays_unreadable_for_five_minutes_degrades_and_recovers() -> None:
    known = worlds.healthy(scheduler=worlds.BROKEN)
    first = worlds.decide(known)
    assert first.degraded is None
    assert first.look_again is not None
    at = worlds.NOW + timedelta(minutes=5)
    # Another reason is another message, and does not begin the five minutes again.
    other = dataclasses.replace(worlds.BROKEN, why="TimedOut")
    lasting = dataclasses.replace(worlds.healthy(at), scheduler=other)
    early = worlds.decide(worlds.recorded(lasting, first.record), now=at - timedelta(seconds=1))
    assert early.degraded is None
    assert early.look_again is not None
    assert early.look_again <= 1.1
    found = worlds.decide(worlds.recorded(lasting, first.record), now=at)
    assert row(found) == WELL | PENDING | {"Degraded": (T, Reason.EVIDENCE_UNREADABLE)}
    assert str(other) in str(found.degraded)
    healed = worlds.decide(worlds.recorded(worlds.healthy(at), found.record), now=at)
    assert said(healed, ConditionType.DEGRADED) == (F, Reason.AS_EXPECTED)


def test_unmet_for_long_is_no_trouble_of_ours() -> None:
    first = worlds.decide(worlds.healthy(scheduler=False)).record
    at = worlds.NOW + timedelta(days=1)
    known = dataclasses.replace(worlds.healthy(at), scheduler=False)
    assert worlds.decide(worlds.recorded(known, first), now=at).degraded is None


WHAT = "infrastructures.config.openshift.io/cluster"
NONSENSE = facts.Unobserved(WHAT, "spec.desiredTopology should be a string, found int", kind=facts.Kind.MALFORMED)


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        (NONSENSE, Reason.EVIDENCE_UNREADABLE),
        (dataclasses.replace(NONSENSE, why="Forbidden", kind=facts.Kind.FORBIDDEN), Reason.EVIDENCE_UNREADABLE),
        (dataclasses.replace(NONSENSE, why="NotFound", kind=facts.Kind.MISSING), Reason.INFRASTRUCTURE_MISSING),
    ],
)
@pytest.mark.parametrize("record", [None, worlds.completed(), worlds.admitting(), worlds.converging()])
def test_without_infrastructure_only_what_was_under_way_keeps_upgrades_blocked(
    why: facts.Unobserved, reason: Reason, record: TopologyTransition | None
) -> None:
    """It has been so for five minutes; the copy of the record is what is known."""
    own = worlds.own() if record is None else worlds.copy_of(record)
    term = worlds.term(unread_since=worlds.NOW - timedelta(minutes=5))
    found = worlds.decide(worlds.healthy(infrastructure=why, own_operator=own), term)
    under_way = record.phase if record is not None and record.phase is not Phase.COMPLETED else None
    assert (found.phase, found.watch, bool(found.upgrade_block)) == (under_way or Phase.IDLE, *[bool(under_way)] * 2)
    assert found.steps == (state.Step.REPORT,)
    assert found.degraded is not None
    assert (found.degraded.reason, why.why in found.degraded.message) == (reason, True)


def siblings() -> load.Transitions:
    """The two shipped ones, with a gap between them."""
    large = worlds.named("sno-to-ha-with-workers").model_copy(
        update={"name": "sno-to-ha-large", "workers": model.Workers.model_validate({"min": 3})}
    )
    return load.Transitions((worlds.COMPACT, large), worlds.MATRIX)


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


def test_what_a_request_finds_blocked_is_not_called_available() -> None:
    offered = admission.available(worlds.healthy(), worlds.ONLY_COMPACT, worlds.NOW)
    assert offered is not None
    assert [item.available for item in offered] == [True]
    known = worlds.recorded(worlds.healthy(scheduler=worlds.BROKEN), TopologyTransition(phase=Phase.IDLE))
    found = worlds.record_of(worlds.decide(known, worlds.term(available=offered)))
    (item,) = found.available
    assert not item.available
    assert [(one.name, one.status.value) for one in item.blockers] == [("MastersSchedulable", "Unknown")]


def test_a_verdict_from_the_future_is_the_oldest() -> None:
    (now,) = admission.available(worlds.healthy(), worlds.ONLY_COMPACT, worlds.NOW) or ()
    ahead = now.model_copy(update={"available": False, "evaluated_time": worlds.NOW + timedelta(days=30)})
    idle = worlds.healthy(infrastructure=worlds.infrastructure(desired=None))
    known = worlds.recorded(idle, TopologyTransition(phase=Phase.IDLE, available=(ahead,)))
    for discovered, shown in (((now,), now), (None, ahead)):
        assert worlds.record_of(worlds.decide(known, worlds.term(available=discovered))).available == (shown,)


def test_an_admission_without_an_echo_is_looked_at_when_its_time_is_over() -> None:
    at = worlds.NOW + timedelta(seconds=400)
    known = worlds.recorded(worlds.healthy(at), worlds.admitting())
    assert worlds.decide(known, worlds.term(attempt="mine"), at).look_again == pytest.approx(80, abs=0.1)
