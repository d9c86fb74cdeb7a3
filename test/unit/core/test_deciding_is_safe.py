"""What holds for every decision, whatever the facts, the record and the leader are."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from topology_api.types import TopologyTransition
from topology_api.vocabulary import Phase, ProblemReason, Stage
from topology_controller.decide import decision, phases, records
from topology_controller.observe import facts
from topology_controller.report import clusteroperator, conditions

from . import meaning, strategies, worlds
from .strategies import terms, worlds_of_any_kind

if TYPE_CHECKING:
    from topology_controller.decide import leader
    from topology_controller.definitions import load


def assert_safe(
    known: facts.Facts,
    term: leader.LeaderState,
    found: decision.Decision,
    transitions: load.Transitions = worlds.ONLY_COMPACT,
) -> None:
    """Everything that has to be true where topology is moved, each of it looked up anew."""
    assert known.live
    infrastructure, record = known.infrastructure, found.record
    assert isinstance(infrastructure, facts.Infrastructure)
    assert infrastructure.control_plane in {"SingleReplica", "HighlyAvailable"}
    live = infrastructure.record
    assert isinstance(live, TopologyTransition)
    assert live.phase is Phase.ADMITTING
    assert live.attempt is not None
    assert live.attempt == term.attempt
    assert record is not None
    assert record.attempt == live.attempt
    assert record.phase is Phase.CONVERGING
    definition = transitions.named(record.name)
    assert definition is not None
    assert record.source is not None
    assert (record.source.control_plane, record.source.infrastructure) == (
        infrastructure.control_plane,
        infrastructure.infrastructure,
    )
    assert definition.source.matches(record.source)
    assert record.target == definition.target.pair
    assert infrastructure.desired == definition.target.control_plane
    assert infrastructure.platform in definition.platforms
    assert not infrastructure.image_based_install
    assert meaning.lacking(meaning.Case(known, definition, worlds.NOW), definition.preflight) == []
    assert meaning.upgrades_are_held_back(known, definition)
    assert not (isinstance(known.own_operator, facts.OwnOperator) and known.own_operator.paused)
    assert not (isinstance(known.installed, facts.Installed) and known.installed.lacks)
    assert term.hold_until is None or term.hold_until <= worlds.NOW
    assert record.baseline is not None


def assert_proven(known: facts.Facts, term: leader.LeaderState, found: decision.Decision) -> None:
    """Everything that has to be true where a transition is called completed."""
    record = found.record
    assert record is not None
    definition = worlds.ONLY_COMPACT.named(record.name)
    assert definition is not None
    assert not known.disturbed
    assert isinstance(known.infrastructure, facts.Infrastructure)
    assert isinstance(known.infrastructure.record, TopologyTransition)
    before = known.infrastructure.record.baseline
    case = meaning.Case(known, definition, worlds.NOW, before, converging=True)
    assert meaning.lacking(case, definition.convergence.checks) == []
    settle = definition.convergence.settle_seconds if term.settle_seconds is None else term.settle_seconds
    assert worlds.NOW - term.since >= timedelta(seconds=settle)
    assert term.steady_since is None or worlds.NOW - term.steady_since >= timedelta(seconds=settle)
    quiet = [one.last_transition_time for one in record.checks if one.stage is Stage.CONVERGENCE]
    assert worlds.NOW - max(quiet) >= timedelta(seconds=settle)


def done() -> facts.Facts:
    """Everybody has followed, a while ago."""
    seen = worlds.NOW - timedelta(minutes=5)
    begun = worlds.converging(worlds.NOW - timedelta(minutes=10))
    quiet = worlds.decide(worlds.moved(worlds.converged(worlds.healthy(seen)), begun), now=seen).record
    return worlds.moved(worlds.converged(worlds.healthy()), quiet)


def nearly_done() -> st.SearchStrategy[facts.Facts]:
    """The same, but for one thing that may be anything."""
    whole = done()
    return worlds_of_any_kind().flatmap(
        lambda known: st.sampled_from([field.name for field in dataclasses.fields(facts.Facts)]).map(
            lambda name: dataclasses.replace(whole, **{name: getattr(known, name)})
        )
    )


def test_the_strategies_reach_the_end() -> None:
    """Otherwise the property about it would say nothing."""
    known = done()
    found = worlds.decide(known)
    assert found.phase is Phase.COMPLETED
    assert_proven(known, worlds.term(), found)


def nearly_ready() -> st.SearchStrategy[facts.Facts]:
    """An admission under way, with usually at most a few things wrong."""
    return worlds_of_any_kind().flatmap(
        lambda known: st.sampled_from([field.name for field in dataclasses.fields(facts.Facts)]).map(
            lambda name: dataclasses.replace(
                worlds.recorded(worlds.healthy(live=True), worlds.admitting()), **{name: getattr(known, name)}
            )
        )
    )


@settings(max_examples=250)
@given(worlds_of_any_kind() | nearly_ready() | nearly_done(), terms())
def test_topology_moves_only_when_everything_holds_and_nothing_ever_raises(
    known: facts.Facts, term: leader.LeaderState
) -> None:
    found = phases.decide(known, worlds.ONLY_COMPACT, term, worlds.NOW)
    event(f"{found.phase} {decision.Step.CHANGE in found.steps}")
    if decision.Step.CHANGE in found.steps:
        assert_safe(known, term, found)
    else:
        live = known.infrastructure.record if isinstance(known.infrastructure, facts.Infrastructure) else None
        was = live.phase if isinstance(live, TopologyTransition) else None
        if found.phase is Phase.COMPLETED and was is Phase.CONVERGING:
            assert_proven(known, term, found)
        if decision.Step.SAVE in found.steps and found.phase is Phase.CONVERGING:
            # Without a change the record may only say what is so already.
            assert isinstance(known.infrastructure, facts.Infrastructure)
            assert found.record is not None
            assert found.record.target is not None
            problem = found.record.problem
            overwritten = problem is not None and problem.reason is ProblemReason.TOPOLOGY_OVERWRITTEN
            assert overwritten is (found.record.target != records.pair(known.infrastructure))
            assert was is not Phase.ADMITTING
    if decision.Step.SAVE in found.steps or decision.Step.CHANGE in found.steps:
        assert found.record is not None
        assert TopologyTransition.from_api(found.record.to_api()) == found.record
    assert found.look_again is None or found.look_again > 0
    clusteroperator.status(found, known.own_operator, now=worlds.NOW, version="1", namespace="n")


@settings(max_examples=200)
@given(st.integers(0, 2), strategies.ONE_CHANGE)
def test_one_node_that_does_not_fit_keeps_topology_where_it_is(index: int, change: tuple[str, Any]) -> None:
    """All else is ready: whatever is wrong with one of three nodes is wrong enough."""
    nodes = tuple(worlds.node(one, **({change[0]: change[1]} if one == index else {})) for one in range(3))
    known = worlds.recorded(worlds.healthy(live=True, control_plane_nodes=nodes), worlds.admitting())
    term = worlds.term(attempt="mine")
    found = phases.decide(known, worlds.ONLY_COMPACT, term, worlds.NOW)
    event(f"{decision.Step.CHANGE in found.steps}")
    if decision.Step.CHANGE in found.steps:
        assert_safe(known, term, found)


def ready_but_for_etcd() -> st.SearchStrategy[facts.Facts]:
    """An admission under way, where only what etcd's members say is left to chance."""
    ready = worlds.recorded(worlds.healthy(live=True), worlds.admitting())
    return strategies.UNREAD.map(lambda unread: dataclasses.replace(ready, etcd_members=unread)) | strategies.SAID.map(
        lambda said: dataclasses.replace(ready, etcd_members=said)
    )


@settings(max_examples=250)
@given(worlds_of_any_kind() | nearly_ready() | ready_but_for_etcd(), terms())
def test_where_the_members_are_asked_topology_moves_only_when_all_of_them_say_so(
    known: facts.Facts, term: leader.LeaderState
) -> None:
    found = phases.decide(known, worlds.DIRECTLY, term, worlds.NOW)
    event(f"{found.phase} {decision.Step.CHANGE in found.steps}")
    if decision.Step.CHANGE in found.steps:
        assert_safe(known, term, found, worlds.DIRECTLY)
        assert isinstance(known.etcd_members, facts.EtcdMembers)
        assert not known.etcd_members.silences
        assert {voice.member for voice in known.etcd_members.voices} == set(worlds.MEMBERS)
        for voice in known.etcd_members.voices:
            assert voice.confirmed
            assert voice.healthy is True
            assert not voice.errors


def test_the_strategies_reach_the_change_where_the_members_are_asked() -> None:
    """The same for the property before this one."""
    known = worlds.recorded(worlds.healthy(live=True), worlds.admitting())
    known = dataclasses.replace(known, etcd_members=facts.EtcdMembers(worlds.voices()))
    found = phases.decide(known, worlds.DIRECTLY, worlds.term(attempt="mine"), worlds.NOW)
    assert decision.Step.CHANGE in found.steps


def test_the_strategies_reach_the_change() -> None:
    """Otherwise the property above would say nothing."""
    known = worlds.recorded(worlds.healthy(live=True), worlds.admitting())
    term = worlds.term(attempt="mine")
    found = phases.decide(known, worlds.ONLY_COMPACT, term, worlds.NOW)
    assert decision.Step.CHANGE in found.steps
    assert_safe(known, term, found)


@settings(max_examples=120)
@given(worlds_of_any_kind(), terms(), st.floats(0, 0.9))
def test_what_was_written_is_not_written_again(known: facts.Facts, term: leader.LeaderState, passed: float) -> None:
    """Decide, let the server keep the record, decide again: nothing to save, the same conditions, no event."""
    first = phases.decide(known, worlds.ONLY_COMPACT, term, worlds.NOW)
    if first.record is None or decision.Step.CHANGE in first.steps:
        return
    if first.record.attempt == term.next_attempt:
        term = dataclasses.replace(term, attempt=term.next_attempt, next_attempt="after")
    written = dataclasses.replace(worlds.recorded(known, first.record), live=False)
    again = phases.decide(written, worlds.ONLY_COMPACT, term, worlds.NOW + timedelta(seconds=passed))
    if again.phase is not first.phase or again.results != first.results or again.note != first.note:
        # A lease, a hold or a bound ran out in between, or another branch took over; then it must settle there.
        written = worlds.recorded(written, again.record or first.record)
        first, again = again, phases.decide(written, worlds.ONLY_COMPACT, term, worlds.NOW + timedelta(seconds=passed))
    assert decision.Step.SAVE not in again.steps, (first.record, again.record)
    assert conditions.of(again) == conditions.of(first)
