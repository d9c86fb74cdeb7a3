"""When the operator must not act: a cluster of another kind, and the native controller in each state of the hand-over.

The rows of the table in the reference (native-controller-and-handover, A3), and its transition as it is seen from here
while it is in charge.
"""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.vocabulary import CheckName, ConditionStatus, ConditionType, Phase, Reason
from topology_controller.checks import operators, result
from topology_controller.decide import applicability, leader, state
from topology_controller.decide.state import Step
from topology_controller.observe import facts
from topology_controller.report import clusteroperator

from . import worlds
from .worlds import WELL, F, T, failing, row, said

if TYPE_CHECKING:
    from topology_controller.decide.state import Decision

ON = facts.FeatureGates((("4.20.1", True),))
AFTER = worlds.NOW + timedelta(seconds=30)


def native(
    reason: str = "AsExpected", status: str = "True", message: str = "", *, older: str | None = None
) -> facts.NativeController:
    """Its conditions. `older`: the version that also writes Progressing, with this status and the same reason.

    As on a real cluster the message of its Upgradeable is one fixed sentence then, and the cause is in Progressing.
    """
    found = [facts.Condition("TopologyTransitionControllerUpgradeable", status, reason, message)]
    if older is not None:
        found[0] = facts.Condition("TopologyTransitionControllerUpgradeable", status, reason, "a fixed sentence")
        found.append(facts.Condition("TopologyTransitionControllerProgressing", older, reason, message))
    return facts.NativeController(present=True, conditions=facts.Conditions(tuple(found)))


def in_charge(known: facts.Facts, found: facts.NativeController | None = None) -> facts.Facts:
    return dataclasses.replace(known, feature_gates=ON, native_controller=found or native())


def message(found: Decision, type_: ConditionType) -> str:
    text = next(one.message for one in clusteroperator.conditions(found) if one.type is type_)
    assert len(text) <= result.LONGEST, text
    return text


def test_gate_on_and_nobody_there_we_wait_for_its_lease_a_retry_and_its_start_and_then_act() -> None:
    """On a single node it was away for 328.7 s (reference: real-native 6)."""
    term = worlds.term(gate_since=worlds.NOW)
    end = worlds.NOW + timedelta(seconds=360)
    known = worlds.healthy(end, feature_gates=ON)
    waiting = worlds.decide(known, term, end - timedelta(seconds=1))
    assert (waiting.phase, failing(waiting.record)) == (Phase.PENDING, [])
    assert worlds.decide(known, term, end).phase is Phase.ADMITTING
    idle = worlds.decide(worlds.with_infrastructure(known, desired=None), term, end)
    assert "the native controller has not shown up" in message(idle, ConditionType.PROGRESSING)
    assert idle.disabled is None


def test_the_wait_for_it_begins_when_it_was_last_there() -> None:
    for known, since in ((in_charge(worlds.healthy()), AFTER), (worlds.healthy(feature_gates=ON), worlds.NOW)):
        term = leader.looked(
            worlds.term(gate_since=worlds.NOW), known, state.Clocks(AFTER, 0.0), watching=True, missed=False
        )
        assert term.gate_since == since


@pytest.mark.parametrize("make", [worlds.admitting, lambda: worlds.decide(worlds.healthy(etcd=worlds.BROKEN)).record])
@pytest.mark.parametrize("live", [False, True])
def test_it_comes_before_the_change_our_record_goes_and_the_request_stays(*, make: Any, live: bool) -> None:
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
        ({**MOVED, "native_desired": None}, "TopologyTransitionComplete", "True", "False", Phase.COMPLETED),
        (FULFILLED, "TopologyTransitionComplete", "True", "False", Phase.IDLE),
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
    speaker = f"Progressing={progressing}" if older else f"Upgradeable={upgradeable}"
    assert f"Its transition is {phase} (TopologyTransitionController{speaker}, {reason}: words)" in text


LACKING = facts.Installed("infrastructures has no spec.desiredTopology", native=True)


def settled(found: Decision) -> None:
    assert row(found) == WELL | {"Disabled": (T, Reason.NATIVE_CONTROLLER_ACTIVE)}


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("make", [lambda: None, worlds.admitting, worlds.completed])
def test_a_definition_without_our_fields_is_no_trouble_where_it_is_in_charge(*, make: Any, live: bool) -> None:
    """Nor is anything written then: it would take out for good what is only not shown."""
    record = make()
    known = in_charge(worlds.healthy(installed=LACKING, live=live))
    known = worlds.recorded(known, record)
    if record is not None:
        known = dataclasses.replace(known, own_operator=worlds.copy_of(record))
    found = worlds.decide(known, worlds.term(attempt="mine"))
    settled(found)
    assert found.steps == (Step.REPORT,)


@pytest.mark.parametrize("make", [worlds.admitting, worlds.converging])
def test_what_we_have_changed_is_followed_without_our_fields_too(make: Any) -> None:
    """The record cannot stand: by its copy, from which nobody knows that the change has happened."""
    known = worlds.moved(in_charge(worlds.healthy(installed=LACKING)), None)
    found = worlds.decide(dataclasses.replace(known, own_operator=worlds.copy_of(make())))
    assert said(found, ConditionType.DEGRADED) == (T, Reason.API_NOT_INSTALLED)
    assert said(found, ConditionType.UPGRADEABLE)[0] is ConditionStatus.FALSE
    before = dataclasses.replace(in_charge(worlds.healthy(installed=LACKING)), own_operator=worlds.copy_of(make()))
    settled(worlds.decide(before))


def test_until_it_shows_up_a_definition_without_our_fields_is_no_trouble_either() -> None:
    """Its payload brings that definition, and it counts ours among the operators that have to be at rest."""
    known = worlds.healthy(feature_gates=ON, installed=LACKING)
    term = worlds.term(gate_since=worlds.NOW)
    waiting = worlds.decide(known, term)
    assert row(waiting) == WELL
    assert "waiting whether the native controller shows up" in message(waiting, ConditionType.PROGRESSING)
    assert waiting.look_again is not None
    late = worlds.decide(known, term, worlds.NOW + timedelta(seconds=361))
    assert said(late, ConditionType.DEGRADED) == (T, Reason.API_NOT_INSTALLED)


@pytest.mark.parametrize(
    "infrastructure",
    [
        worlds.BROKEN,
        worlds.MISSING,
        facts.Unobserved("infrastructures.config.openshift.io/cluster", "malformed: x", kind=facts.Kind.MALFORMED),
    ],
)
def test_an_infrastructure_that_cannot_be_read_is_no_trouble(infrastructure: facts.Unobserved) -> None:
    known = in_charge(worlds.healthy(infrastructure=infrastructure))
    settled(worlds.decide(known))
    ours = dataclasses.replace(known, own_operator=worlds.copy_of(worlds.converging()))
    assert worlds.decide(ours).disabled is None, "what we have changed may be under way"


def test_a_record_of_a_newer_version_is_no_trouble_unless_it_may_be_under_way() -> None:
    newer = facts.Newer("status.topologyTransition", "newer", phase="Later", name="x", target="HighlyAvailable")
    known = in_charge(worlds.with_infrastructure(worlds.healthy(), record=newer))
    found = worlds.decide(known)
    settled(found)
    assert found.steps == (Step.REPORT,)
    assert said(worlds.decide(worlds.with_infrastructure(known, control_plane="HighlyAvailable")),
                ConditionType.DEGRADED) == (T, Reason.EVIDENCE_UNREADABLE)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "command"),
    [
        ({"desired": "HighlyAvailable"}, "HighlyAvailable"),
        ({"desired": "HighlyAvailable", "native_desired": "SingleReplica"}, "HighlyAvailable"),
        ({"desired": "HighlyAvailable", "native_desired": "HighlyAvailable"}, None),
        ({"desired": "SingleReplica"}, None),
        ({**MOVED, "desired": "HighlyAvailable", "native_desired": None}, None),
        ({"desired": "DualReplica", "native_desired": None}, None),
        # It refuses what was left over, and blocks upgrades until that is taken back.
        ({**MOVED, "desired": "HighlyAvailable", "native_desired": "SingleReplica"}, "HighlyAvailable"),
        ({**MOVED, "desired": None, "native_desired": "SingleReplica"}, "HighlyAvailable"),
    ],
)
def test_the_command_is_there_only_where_it_does_something(changes: dict[str, Any], command: str | None) -> None:
    found = worlds.decide(in_charge(worlds.with_infrastructure(worlds.healthy(), **changes)))
    text = message(found, ConditionType.DISABLED).partition("Its transition is")[0]
    if command is None:
        assert "oc patch" not in text
    else:
        assert f"""-p '{{"spec":{{"controlPlaneTopology":"{command}"}}}}'""" in text


@pytest.mark.parametrize(
    ("control_plane", "duration", "seconds"),
    [
        ("SingleReplica", 270, 360.0),
        ("HighlyAvailable", 137, 186.2),
        ("HighlyAvailable", None, 186.2),
        ("HighlyAvailable", 2**40, 360.0),
    ],
)
def test_the_grace_is_that_of_its_lease(control_plane: str, duration: int | None, seconds: float) -> None:
    """270 s, a retry of 60 s with its jitter and a start; a process from before the change keeps these figures."""
    known = worlds.with_infrastructure(worlds.healthy(), control_plane=control_plane)
    known = dataclasses.replace(known, native_lease=facts.Lease("it", worlds.NOW, duration))
    assert applicability.native_grace(known).total_seconds() == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("gate", "name", "reason", "stable"),
    [
        (False, "config-operator", "TopologyTransitionController_TopologyTransitionInProgress", True),
        (True, "config-operator", "TopologyTransitionController_TopologyTransitionInProgress", False),
        (None, "config-operator", "TopologyTransitionController_TopologyTransitionInProgress", False),
        (False, "config-operator", "Other_X::TopologyTransitionController_TopologyTransitionInProgress", False),
        (False, "config-operator", "", False),
        (False, "dns", "TopologyTransitionController_TopologyTransitionInProgress", False),
    ],
)
def test_progress_of_one_that_is_switched_off_keeps_nothing_waiting(
    *, gate: bool | None, name: str, reason: str, stable: bool
) -> None:
    said = (("Available", "True", ""), ("Degraded", "False", ""), ("Progressing", "True", reason))
    moving = facts.Conditions(tuple(facts.Condition(*one) for one in said))
    others = tuple(item for item in worlds.cluster_operators() if item.name != name)
    known = worlds.healthy(
        feature_gates=worlds.BROKEN if gate is None else facts.FeatureGates((("4.20.1", gate),)),
        cluster_operators=(*others, facts.ClusterOperator(name, moving)),
    )
    assert operators.stable(worlds.question(known, CheckName.CLUSTER_OPERATORS_STABLE)).met is stable


@pytest.mark.parametrize(
    ("changes", "reason", "text"),
    [
        ({"control_plane": "External"}, Reason.HOSTED_CONTROL_PLANE, "controllerAvailabilityPolicy"),
        ({"control_plane": "x" * 65, "record": None}, Reason.UNKNOWN_TOPOLOGY, "controlPlaneTopology xxx"),
        ({"control_plane": None}, Reason.UNKNOWN_TOPOLOGY, '-p \'{"status":{"controlPlaneTopology":"SingleReplica",'),
        ({"infrastructure": None}, Reason.UNKNOWN_TOPOLOGY, "infrastructureTopology no value"),
        ({"infrastructure": "External"}, Reason.UNKNOWN_TOPOLOGY, "infrastructureTopology External"),
        ({"image_based_install": True}, Reason.IMAGE_BASED_INSTALL, "image-based-install"),
    ],
)
def test_a_cluster_of_another_kind_is_left_alone(changes: dict[str, Any], reason: Reason, text: str) -> None:
    found = worlds.decide(worlds.with_infrastructure(worlds.healthy(live=True), **changes))
    assert found.steps == (Step.REPORT,)
    assert not found.watch
    assert row(found) == WELL | {"Disabled": (T, reason)}
    assert found.disabled is not None
    assert text in found.disabled.message


@pytest.mark.parametrize(
    ("gates", "present", "disabled"),
    [
        ((("4.20.1", True),), True, True),
        ((("4.20.1", True),), False, False),
        ((("4.20.1", False),), True, False),
        ((("4.20.1", False), ("4.21.0", True)), True, False),
        ((("4.20.1", True), ("4.21.0", False)), True, True),
        ((("4.19.0", True),), True, True),
        ((), True, False),
    ],
)
def test_both_the_gate_of_this_version_and_its_conditions_are_needed(
    *, gates: tuple[tuple[str, bool], ...], present: bool, disabled: bool
) -> None:
    known = worlds.healthy(feature_gates=facts.FeatureGates(gates), native_controller=facts.NativeController(present))
    assert (worlds.decide(known).disabled is not None) is disabled
