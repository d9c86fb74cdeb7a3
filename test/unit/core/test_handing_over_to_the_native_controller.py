"""The native controller: who acts in each state of the hand-over, back again after a downgrade, and what is shown.

The rows of the table in the reference (native-controller-and-handover, A3), and its transition as it is seen from here
while it is in charge.
"""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.vocabulary import ConditionStatus, ConditionType, Phase, Reason
from topology_controller.decide import native_controller
from topology_controller.decide.decision import Step
from topology_controller.observe import facts
from topology_controller.report import conditions

from . import worlds
from .outcomes import WELL, F, T, failing, row, said

if TYPE_CHECKING:
    from topology_controller.decide.decision import Decision

ON = facts.FeatureGates((("4.20.1", True),))
AFTER = worlds.NOW + timedelta(seconds=30)


def native(
    reason: str = "AsExpected", status: str = "True", message: str = "", *, older: str | None = None
) -> facts.NativeController:
    """Its conditions. `older`: the version that also writes Progressing, with this status and the same reason."""
    found = [facts.Condition("TopologyTransitionControllerUpgradeable", status, reason, message)]
    if older is not None:
        found.append(facts.Condition("TopologyTransitionControllerProgressing", older, reason, message))
    return facts.NativeController(present=True, conditions=facts.Conditions(tuple(found)))


def in_charge(known: facts.Facts, found: facts.NativeController | None = None) -> facts.Facts:
    return dataclasses.replace(known, feature_gates=ON, native_controller=found or native())


def message(found: Decision, type_: ConditionType) -> str:
    return next(one.message for one in conditions.of(found) if one.type is type_)


# The table


def test_gate_off_we_act_whatever_conditions_it_left_behind() -> None:
    for left in (facts.NativeController(present=False), native("TopologyTransitionInProgress", "False")):
        assert worlds.decide(worlds.healthy(native_controller=left)).phase is Phase.ADMITTING


def test_gate_on_and_nobody_there_we_wait_one_lease_and_then_act() -> None:
    known = worlds.healthy(feature_gates=ON)
    term = worlds.term(gate_since=worlds.NOW)
    end = worlds.NOW + timedelta(seconds=137)
    waiting = worlds.decide(known, term, end - timedelta(seconds=1))
    assert (waiting.phase, failing(waiting.record)) == (Phase.PENDING, [])
    assert worlds.decide(known, term, end).phase is Phase.ADMITTING
    idle = worlds.decide(worlds.with_infrastructure(known, desired=None), term, end)
    assert "the native controller has not shown up" in message(idle, ConditionType.PROGRESSING)
    assert idle.disabled is None


@pytest.mark.parametrize("desired", [None, "HighlyAvailable"])
def test_it_is_there_and_nothing_is_under_way_we_stand_down(desired: str | None) -> None:
    known = in_charge(worlds.with_infrastructure(worlds.healthy(), desired=desired))
    found = worlds.decide(known)
    assert row(found) == WELL | {"Disabled": (T, Reason.NATIVE_CONTROLLER_ACTIVE)}
    assert (found.steps, found.watch) == ((Step.REPORT,), False)


@pytest.mark.parametrize("make", [worlds.admitting, lambda: worlds.decide(worlds.healthy(etcd=worlds.BROKEN)).record])
@pytest.mark.parametrize("live", [False, True])
def test_it_comes_before_the_change_our_record_goes_and_the_request_stays(make: Any, live: bool) -> None:  # noqa: FBT001 - a column
    known = in_charge(worlds.recorded(worlds.healthy(live=live), make()))
    found = worlds.decide(known, worlds.term(attempt="mine"))
    assert found.steps == (Step.SAVE, Step.REPORT)
    assert found.record is not None
    assert (found.record.phase, found.record.attempt) == (Phase.IDLE, None)
    assert found.happened == (), "nobody has cancelled anything"
    assert "hand the request over" in message(found, ConditionType.DISABLED)
    assert worlds.decide(worlds.recorded(known, found.record)).steps == (Step.REPORT,)


def test_it_comes_after_the_change_we_report_to_the_end_and_then_stand_down() -> None:
    record = worlds.converging()
    known = in_charge(worlds.moved(worlds.healthy(AFTER), record))
    found = worlds.decide(known, worlds.term(attempt="mine"), AFTER)
    assert (found.phase, found.disabled, found.watch) == (Phase.CONVERGING, None, True)
    assert said(found, ConditionType.UPGRADEABLE) == (F, Reason.TRANSITION_IN_PROGRESS)
    assert "The native controller is in charge of what comes next" in message(found, ConditionType.PROGRESSING)
    assert found.record is not None
    followed = in_charge(worlds.moved(worlds.converged(worlds.healthy(AFTER)), found.record))
    quiet = worlds.decide(followed, now=AFTER)
    end = AFTER + timedelta(seconds=62)
    known = dataclasses.replace(worlds.recorded(followed, quiet.record), etcd_lease=worlds.healthy(end).etcd_lease)
    done = worlds.decide(known, now=end)
    assert (done.phase, done.steps) == (Phase.COMPLETED, (Step.SAVE, Step.REPORT))
    away = worlds.decide(worlds.recorded(known, done.record), now=end)
    assert away.disabled is not None
    assert away.steps == (Step.REPORT,), "the record of what was completed stays"
    late = worlds.NOW + timedelta(hours=2)
    stuck = worlds.decide(in_charge(worlds.moved(worlds.healthy(late), record)), now=late)
    assert said(stuck, ConditionType.DEGRADED) == (T, Reason.TRANSITION_STUCK)


def test_it_moves_the_topology_on_while_we_converge_and_nobody_fights() -> None:
    known = worlds.moved(worlds.healthy(AFTER), worlds.converging())
    known = in_charge(worlds.with_infrastructure(known, infrastructure="SingleReplica"))
    found = worlds.decide(known, worlds.term(attempt="mine"), AFTER)
    assert found.steps == (Step.REPORT,)
    assert found.disabled is not None


@pytest.mark.parametrize("make", [None, worlds.converging, worlds.completed])
def test_a_downgrade_takes_it_back_from_what_the_objects_say(make: Any) -> None:
    """Gate off for the version that runs now; its conditions linger, and so does the entry of the newer version."""
    gates = facts.FeatureGates((("4.20.1", False), ("4.21.0", True)))
    record = make() if make else None
    known = worlds.healthy(AFTER) if record is None else worlds.moved(worlds.healthy(AFTER), record)
    known = dataclasses.replace(known, feature_gates=gates, native_controller=native())
    found = worlds.decide(known, now=AFTER)
    assert found.disabled is None
    assert found.phase is (Phase.ADMITTING if record is None else record.phase)


# Where its transition is


HERE = {"control_plane": "SingleReplica", "native_desired": "HighlyAvailable", "desired": None}
MOVED = {**HERE, "control_plane": "HighlyAvailable", "infrastructure": "HighlyAvailable"}
QUIET = {**HERE, "native_desired": None}
FULFILLED = {**HERE, "native_desired": "SingleReplica"}


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize(
    ("changes", "reason", "upgradeable", "progressing", "phase"),
    [
        (QUIET, "AsExpected", "True", "False", Phase.IDLE),
        (HERE, "AsExpected", "True", "False", Phase.PENDING),
        (HERE, "PreflightCheckFailed", "False", "False", Phase.PENDING),
        (HERE, "UnsupportedTransition", "False", "False", Phase.UNSUPPORTED),
        (HERE, "TopologyTransitionInProgress", "False", "True", Phase.ADMITTING),
        (MOVED, "TopologyTransitionInProgress", "False", "True", Phase.CONVERGING),
        (MOVED, "TopologyTransitionComplete", "True", "False", Phase.COMPLETED),
        ({**MOVED, "native_desired": None}, "TopologyTransitionComplete", "True", "False", Phase.IDLE),
        (FULFILLED, "PreflightCheckFailed", "False", "False", Phase.IDLE),
        (QUIET, "UnsupportedTransition", "False", "False", Phase.IDLE),
        (HERE, "Surprise", "Unknown", "Unknown", Phase.PENDING),
    ],
)
def test_its_phase_is_read_from_its_conditions(
    *, changes: dict[str, Any], reason: str, upgradeable: str, progressing: str, phase: Phase, older: bool
) -> None:
    """Of both known versions; a reason that speaks of a request which is gone says nothing any more."""
    found = native(reason, upgradeable, "words", older=progressing if older else None)
    known = in_charge(worlds.with_infrastructure(worlds.healthy(), **changes), found)
    shown = worlds.decide(known)
    assert shown.phase is phase
    assert shown.observed is not None
    assert shown.observed.phase is phase
    assert shown.steps == (Step.REPORT,), "nothing is written to Infrastructure"
    assert row(shown) == WELL | {"Disabled": (T, Reason.NATIVE_CONTROLLER_ACTIVE)}
    text = message(shown, ConditionType.DISABLED)
    assert f"Its transition is {phase} (TopologyTransitionControllerUpgradeable={upgradeable}, {reason}: words)" in text


def test_a_progressing_that_it_forgot_is_not_believed() -> None:
    """The older version leaves the reason of a request that was cancelled in Progressing (reference 0.3, 6)."""
    items = (
        facts.Condition("TopologyTransitionControllerProgressing", "False", "PreflightCheckFailed"),
        facts.Condition("TopologyTransitionControllerUpgradeable", "True", "AsExpected"),
    )
    known = worlds.with_infrastructure(worlds.healthy(), **QUIET)
    found = worlds.decide(in_charge(known, facts.NativeController(present=True, conditions=facts.Conditions(items))))
    assert found.phase is Phase.IDLE
    assert "PreflightCheckFailed" not in message(found, ConditionType.DISABLED)


def test_only_progressing_is_better_than_nothing() -> None:
    item = facts.Condition("TopologyTransitionControllerProgressing", "True", "TopologyTransitionInProgress")
    known = worlds.with_infrastructure(worlds.healthy(), **MOVED)
    present = facts.NativeController(present=True, conditions=facts.Conditions((item,)))
    assert worlds.decide(in_charge(known, present)).phase is Phase.CONVERGING
    silent = worlds.decide(in_charge(known, facts.NativeController(present=True)))
    assert silent.phase is Phase.IDLE
    assert "Its transition is Idle" in message(silent, ConditionType.DISABLED)


def test_its_route_is_named_as_far_as_it_can_be_told() -> None:
    known = in_charge(worlds.with_infrastructure(worlds.healthy(), **HERE))
    assert isinstance(known.infrastructure, facts.Infrastructure)
    found = native_controller.transition(known, known.infrastructure, worlds.TRANSITIONS)
    assert (found.source, found.target) == (worlds.SNO, worlds.HA)
    known = in_charge(
        worlds.with_infrastructure(worlds.healthy(), **MOVED), native("TopologyTransitionInProgress", "False")
    )
    assert isinstance(known.infrastructure, facts.Infrastructure)
    found = native_controller.transition(known, known.infrastructure, worlds.TRANSITIONS)
    assert (found.source, found.target) == (None, worlds.HA)


def test_a_wordy_condition_is_cut() -> None:
    found = worlds.decide(in_charge(worlds.healthy(), native("PreflightCheckFailed", "False", "x" * 40_000)))
    assert len(message(found, ConditionType.DISABLED)) < 3000
    assert said(found, ConditionType.AVAILABLE)[0] is ConditionStatus.TRUE
