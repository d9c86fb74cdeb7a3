"""Admitting: the echo, the attempt, what holds it back, and the change."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.vocabulary import CheckName, ConditionType, EventReason, Phase, Reason
from topology_controller.decide import leader
from topology_controller.decide.decision import Step
from topology_controller.observe import facts

from . import operand_worlds, worlds
from .outcomes import WELL, F, failing, reasons, row, said

if TYPE_CHECKING:
    from topology_controller.decide.decision import Decision


def test_an_echo_that_does_not_come_in_eight_minutes_ends_the_admission_and_is_named() -> None:
    before = worlds.admitting()
    silent = worlds.version(None)

    def at(seconds: float) -> Decision:
        now = worlds.NOW + timedelta(seconds=seconds)
        known = dataclasses.replace(worlds.healthy(now), cluster_version=silent)
        return worlds.decide(worlds.recorded(known, before), worlds.term(attempt="mine"), now)

    assert at(479).phase is Phase.ADMITTING
    found = at(480)
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
    now = worlds.NOW + timedelta(minutes=8)
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
        assert Step.CHANGE not in found.steps
        assert found.record is not None
        assert found.record.attempt == "next"


@pytest.mark.parametrize(
    "changes",
    [
        {"live": False},
        {"live": True, "own_operator": worlds.own(paused=True)},
        {"live": True, "cluster_version": worlds.version(None)},
    ],
)
def test_no_change_without_live_facts_while_paused_or_without_the_echo(changes: dict[str, Any]) -> None:
    known = dataclasses.replace(worlds.recorded(worlds.healthy(), worlds.admitting()), **changes)
    assert Step.CHANGE not in worlds.decide(known, worlds.term(attempt="mine")).steps


LONG_NAMED = worlds.pool(configuration="x" * 254, wanted_configuration="x" * 254)


@pytest.mark.parametrize(
    ("known", "term", "text"),
    [
        (
            worlds.healthy(own_operator=worlds.own(paused=True)),
            worlds.term(),
            "Paused: no transition begins. ",
        ),
        (worlds.healthy(), worlds.term(hold_until=worlds.NOW + timedelta(seconds=5)), "waiting a moment"),
        (worlds.healthy(feature_gates=worlds.BROKEN), worlds.term(), "native controller"),
        (worlds.healthy(native_controller=worlds.BROKEN), worlds.term(), "native controller"),
        (worlds.healthy(machine_config_pools=(LONG_NAMED,)), worlds.term(), "cannot be read"),
        (worlds.healthy(controller_config=worlds.BROKEN), worlds.term(), f"cannot be read now: {worlds.BROKEN}"),
        (worlds.healthy(disturbed=("nodes",)), worlds.term(), "may be old: waiting for the watch of nodes"),
        (worlds.healthy(disturbed=("nodes",), live=True), worlds.term(), "may be old: waiting for the watch of nodes"),
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


@pytest.mark.parametrize("key", sorted(worlds.healthy().operands))
def test_whatever_convergence_would_be_measured_against_has_to_be_read_first(key: str) -> None:
    """Each operand on its own, watched and live; what is asked of it only afterwards needs no figure from before."""
    unread = {**worlds.healthy().operands, key: dataclasses.replace(worlds.BROKEN, what=key)}
    known = worlds.healthy(operands=unread)
    found = worlds.decide(known)
    if key.startswith("pods/"):
        # Only an advisory asks about those.
        assert found.phase is Phase.ADMITTING
        return
    assert found.phase is Phase.PENDING
    assert key in found.note
    assert row(found) == WELL | {
        "Progressing": (F, Reason.PREFLIGHT_UNMET),
        "Upgradeable": (F, Reason.TRANSITION_PENDING),
    }
    live = dataclasses.replace(worlds.recorded(known, worlds.admitting()), live=True)
    late = worlds.decide(live, worlds.term(attempt="mine"))
    assert (late.phase, Step.CHANGE in late.steps) == (Phase.PENDING, False)
    assert worlds.decide(worlds.recorded(worlds.healthy(), found.record)).phase is Phase.ADMITTING


@pytest.mark.parametrize(("settle", "seconds"), [(None, 60), (600, 60), (5, 5), (0, 1)])
def test_what_the_last_reads_showed_is_believed_for_a_minute(settle: int | None, seconds: float) -> None:
    """Each time anew, and as long each time; shorter only where the settle time is, but never nothing."""
    first = leader.disagreed(worlds.term(settle_seconds=settle), worlds.NOW)
    assert first.hold_until == worlds.NOW + timedelta(seconds=seconds)
    assert first.misled
    later = worlds.NOW + timedelta(minutes=2)
    again = leader.disagreed(first, later)
    assert again.hold_until == later + timedelta(seconds=seconds)


# There and back: a revision that is in the making belongs to what was observed before
KUBE_API_SERVER = "kubeapiservers.operator.openshift.io/cluster"


def observed(seconds: float, key: str = KUBE_API_SERVER) -> facts.Facts:
    """Everything holds, was read live and is admitted; that operator observed another configuration so long ago."""
    healthy = worlds.healthy()
    pods = dataclasses.replace(
        operand_worlds.static_pods(operand_worlds.REVISION), observed_time=worlds.NOW - timedelta(seconds=seconds)
    )
    known = dataclasses.replace(healthy, operands={**healthy.operands, key: pods}, live=True)
    return worlds.recorded(known, worlds.admitting())


@pytest.mark.parametrize("seconds", [-100, 0, 30, 179])
def test_a_configuration_that_has_just_been_observed_is_waited_for_while_admitting(seconds: float) -> None:
    found = worlds.decide(observed(seconds), worlds.term(attempt="mine"))
    assert found.phase is Phase.ADMITTING
    assert Step.CHANGE not in found.steps
    assert Step.GATHER not in found.steps
    assert f"the configuration of {KUBE_API_SERVER} has just changed" in found.note
    assert found.look_again is not None
    assert found.look_again <= 180 - seconds + 0.05


def test_who_shortens_the_settle_time_waits_no_longer_for_a_revision() -> None:
    for seconds, waits in ((1, True), (2, False)):
        found = worlds.decide(observed(seconds), worlds.term(attempt="mine", settle_seconds=2))
        assert (Step.CHANGE not in found.steps) is waits


def test_an_operator_that_has_not_observed_where_the_change_starts_is_waited_for() -> None:
    """It was stopped while the topology went back: a change now would leave it nothing to do, and no newer revision."""
    known = observed(10_000)
    pods = known.operands[KUBE_API_SERVER]
    assert isinstance(pods, facts.StaticPods)

    def decided(*, single: bool | None) -> Decision:
        changed = dataclasses.replace(pods, observed_single=single)
        operands = {**known.operands, KUBE_API_SERVER: changed}
        return worlds.decide(dataclasses.replace(known, operands=operands), worlds.term(attempt="mine"))

    found = decided(single=False)
    assert found.phase is Phase.ADMITTING
    assert Step.CHANGE not in found.steps
    assert Step.GATHER not in found.steps
    assert f"the operator of {KUBE_API_SERVER} has not observed the current topology yet" in found.note
    assert Step.CHANGE in decided(single=True).steps
    assert Step.CHANGE in decided(single=None).steps, "who says nothing of it is not waited for"
