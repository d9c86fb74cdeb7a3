"""What holds for every decision, whatever the objects, the facts, the record and the leader are.

Objects are those of the state machine (`test.fuzz.world`), wrong in up to three places, and read as the operator reads
them; what they lack is told by its oracle, which asks none of the checks. Facts are drawn besides: anything may be in
them, also what no object can say.
"""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from test.fuzz import oracle
from test.fuzz import server as servers
from test.fuzz import world as raw_worlds

from topology_api.types import TopologyTransition
from topology_api.vocabulary import Phase, ProblemReason
from topology_controller.checks import operators, result
from topology_controller.decide import phases, records, state
from topology_controller.observe import catalog, facts, fields
from topology_controller.report import clusteroperator

from . import worlds
from .strategies import terms, worlds_of_any_kind

if TYPE_CHECKING:
    from datetime import datetime

    from topology_controller.definitions import model

DEFINITIONS = worlds.TRANSITIONS.definitions
SOURCES = (*catalog.IDLE, *catalog.watched(worlds.TRANSITIONS))
MINE = worlds.term(attempt="mine", next_attempt="mine")


def read(server: servers.Server, *, live: bool = False) -> facts.Facts:
    """The facts that the operator makes of these objects."""
    read: dict[catalog.Source, Any] = {}
    for source in SOURCES:
        found: list[Any] = []
        for key, raw in server.objects.items():
            if servers.selects(source.selection, key, raw):
                try:
                    found.append(source.reduce(raw))
                except fields.Malformed as error:
                    found.append(facts.Unobserved(source.what, str(error), kind=facts.Kind.MALFORMED))
        missing = facts.Unobserved(source.what, "NotFound", kind=facts.Kind.MISSING)
        read[source] = tuple(found) if not source.single else found[0] if found else missing
    return catalog.filled(facts.Facts(installed=facts.Installed(), live=live), read)


class Stage:
    """Objects of a cluster that is ready for a definition, with the request; `record` writes what was decided."""

    def __init__(self, definition: model.Definition) -> None:
        self.definition = definition
        self.world = raw_worlds.World(definition)
        self.server = servers.Server(self.world.objects())
        desired = {"desiredTopology": definition.target.control_plane.value}
        self.server.change(servers.INFRASTRUCTURE, {"spec": desired})
        block = operators.block_message(definition.name, definition.target.control_plane)
        said = {"type": "Upgradeable", "status": "False", "reason": "R", "message": block}
        before = self.server.objects[servers.VERSION]["status"]["conditions"]
        self.server.change(servers.VERSION, {"status": {"conditions": [*before, said]}})

    def decide(self, now: datetime = worlds.NOW, *, live: bool = False) -> state.Decision:
        """Decide from what stands there."""
        return worlds.decide(read(self.server, live=live), MINE, now, worlds.TRANSITIONS)

    def record(self, found: state.Decision, **status: str) -> None:
        """Write the record."""
        assert found.record is not None
        body = {"topologyTransition": found.record.to_api(), **status}
        self.server.change(servers.INFRASTRUCTURE, {"status": body})

    def follow(self) -> servers.Objects:
        """Admit, change and follow, a while ago; return the objects at the change."""
        begun, quiet = worlds.NOW - timedelta(minutes=10), worlds.NOW - timedelta(minutes=5)
        self.renew(begun)
        self.record(self.decide(begun))
        before, target = dict(self.server.objects), self.definition.target.pair
        change = self.decide(begun, live=True)
        assert state.Step.CHANGE in change.steps, change.note
        for key in (key for key in before if key not in {servers.INFRASTRUCTURE, servers.VERSION}):
            raw = self.world.well(key, target, begun + timedelta(seconds=20), worlds.NOW, 2)
            assert raw is not None
            self.server.put(key, raw)
        for key, (group, _) in self.world.operands.items():
            if key not in before and group is not None:
                raw = self.world.well(key, target, begun, worlds.NOW, 2)
                assert raw is not None
                self.server.put(key, raw)
        pair = {"controlPlaneTopology": target.control_plane, "infrastructureTopology": target.infrastructure}
        self.record(change, **pair)
        self.renew(quiet)
        self.record(self.decide(quiet))
        self.renew(worlds.NOW)
        return before

    def renew(self, now: datetime) -> None:
        """The etcd operator renews its lease."""
        self.server.change(raw_worlds.LEASE, {"spec": {"renewTime": raw_worlds.micro(now)}})

    def harm(self, data: st.DataObject, keys: Any) -> None:
        """Let up to three things go wrong."""
        for key in data.draw(st.lists(st.sampled_from(keys), max_size=3, unique=True)):
            harms = raw_worlds.harms(key)
            what = data.draw(st.sampled_from(sorted(harms)))
            self.server.change(key, harms[what](self.server.objects[key]))


def judge(case: oracle.Case, found: state.Decision, specs: Any) -> list[str]:
    """What the objects lack; none of that may have been called Met."""
    lacking = {line.partition(":")[0] for line in oracle.lacking(case, specs)}
    asked = found.results if state.Step.CHANGE not in found.steps else ()  # these are of what comes next
    wrong = [one for one in asked if one.met and one.name.value in lacking]
    assert not wrong, (wrong, oracle.lacking(case, specs))
    return sorted(lacking)


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda one: one.name)
def test_a_world_that_is_well_is_admitted_changed_followed_and_completed(definition: model.Definition) -> None:
    stage = Stage(definition)
    admitted = stage.decide()
    assert admitted.phase is Phase.ADMITTING, admitted.note
    before = stage.follow()
    ended = stage.decide()
    assert ended.phase is Phase.COMPLETED, ended.note
    case = oracle.Case(stage.server.objects, definition, worlds.NOW, before)
    assert judge(case, ended, definition.convergence.checks) == []


@given(data=st.data(), definition=st.sampled_from(DEFINITIONS), echoes=st.booleans())
def test_topology_moves_only_where_the_objects_lack_nothing(
    *, data: st.DataObject, definition: model.Definition, echoes: bool
) -> None:
    stage = Stage(definition)
    stage.record(stage.decide())
    stage.harm(data, stage.world.evidence)
    if not echoes:
        stage.server.change(
            servers.VERSION, {"status": {"conditions": raw_worlds.conditions(worlds.NOW, Progressing="False")}}
        )
    found = stage.decide(live=True)
    chosen = found.definition or definition
    case = oracle.Case(stage.server.objects, chosen, worlds.NOW)
    lacking = judge(case, found, chosen.preflight) if found.definition else ["a definition"]
    event(f"{found.phase} {state.Step.CHANGE in found.steps}")
    if state.Step.CHANGE in found.steps:
        assert lacking == []
        assert oracle.echoed(case)
        assert_safe(read(stage.server, live=True), MINE, found, chosen)


@given(st.data(), st.sampled_from(DEFINITIONS))
def test_completed_is_only_what_has_followed_by_the_objects(data: st.DataObject, definition: model.Definition) -> None:
    stage = Stage(definition)
    before = stage.follow()
    stage.harm(data, [key for key in stage.world.followers if key in stage.server.objects])
    found = stage.decide()
    case = oracle.Case(stage.server.objects, definition, worlds.NOW, before)
    lacking = judge(case, found, definition.convergence.checks) if found.phase is not Phase.COMPLETED else []
    event(f"{found.phase} lacking {len(lacking)}")
    if found.phase is Phase.COMPLETED:
        assert oracle.lacking(case, definition.convergence.checks) == []


def assert_safe(
    known: facts.Facts, term: state.LeaderState, found: state.Decision, definition: model.Definition = worlds.COMPACT
) -> None:
    """What has to be true besides of the record and the leader where topology is moved, each of it looked up anew."""
    assert known.live
    infrastructure, record = known.infrastructure, found.record
    assert isinstance(infrastructure, facts.Infrastructure)
    live = infrastructure.record
    assert isinstance(live, TopologyTransition)
    assert live.phase is Phase.ADMITTING
    assert record is not None
    assert record.attempt == live.attempt == term.attempt is not None
    assert record.phase is Phase.CONVERGING
    assert record.source is not None
    here = (infrastructure.control_plane, infrastructure.infrastructure)
    assert (record.source.control_plane, record.source.infrastructure) == here
    assert definition.source.matches(record.source)
    assert (record.name, record.target) == (definition.name, definition.target.pair)
    assert infrastructure.desired == definition.target.control_plane
    assert infrastructure.platform in definition.platforms
    assert not infrastructure.image_based_install
    assert not (isinstance(known.own_operator, facts.OwnOperator) and known.own_operator.paused)
    assert not (isinstance(known.installed, facts.Installed) and known.installed.lacks)
    assert term.hold_until is None or term.hold_until <= worlds.NOW
    assert record.baseline is not None


def one_thing_from(known: facts.Facts) -> st.SearchStrategy[facts.Facts]:
    """These facts, of which one may be anything."""
    names = st.sampled_from([field.name for field in dataclasses.fields(facts.Facts) if field.init])
    return st.tuples(worlds_of_any_kind(), names).map(
        lambda drawn: dataclasses.replace(known, **{drawn[1]: getattr(drawn[0], drawn[1])})
    )


READY = worlds.recorded(worlds.healthy(live=True), worlds.admitting())


@given(worlds_of_any_kind() | one_thing_from(READY), terms())
def test_nothing_ever_raises_and_the_record_says_what_is_so(known: facts.Facts, term: state.LeaderState) -> None:
    found = phases.decide(known, worlds.ONLY_COMPACT, term, worlds.NOW)
    event(f"{found.phase} {state.Step.CHANGE in found.steps}")
    if state.Step.CHANGE in found.steps:
        assert_safe(known, term, found)
    elif state.Step.SAVE in found.steps and found.phase is Phase.CONVERGING:
        # Without a change the record may only say what is so already.
        assert isinstance(known.infrastructure, facts.Infrastructure)
        record = worlds.record_of(found)
        overwritten = record.problem is not None and record.problem.reason is ProblemReason.TOPOLOGY_OVERWRITTEN
        assert overwritten is (record.target != records.pair(known.infrastructure))
    if state.Step.SAVE in found.steps or state.Step.CHANGE in found.steps:
        assert found.record is not None
        assert TopologyTransition.from_api(found.record.to_api()) == found.record
    if isinstance(known.infrastructure, facts.Infrastructure) and isinstance(known.infrastructure.record, facts.Newer):
        assert not {state.Step.SAVE, state.Step.CHANGE} & {*found.steps}, "what is not known is left as it is"
    assert found.look_again is None or found.look_again > 0
    clusteroperator.status(found, known.own_operator, now=worlds.NOW, version="1", namespace="n")
    assert_readable(found)


def assert_readable(found: state.Decision) -> None:
    """A message has at most 300 characters, and the first object that is wrong, with the reason, stands in it."""
    for answer in found.results:
        assert len(answer.message) <= result.LONGEST, answer
        wrong = [one for one in answer.findings if one.status is answer.status and not answer.met]
        assert not wrong or wrong[0].text[:100] in answer.message or wrong[0].name in answer.message, answer
    for text in (found.sentence, *(cause.message for cause in (found.degraded, found.disabled) if cause is not None)):
        assert len(text) <= result.LONGEST, text


@given(
    st.integers(3, 100),
    st.text("abcdefghijklmnop-.", min_size=1, max_size=60),
    st.booleans(),
    st.sampled_from(("True", "False")),
)
def test_a_large_cluster_is_told_of_in_few_words(count: int, name: str, changed: bool, ready: str) -> None:  # noqa: FBT001 - drawn
    many = tuple(worlds.node(0, name=f"{name}{number}", ready=ready) for number in range(count))
    degraded = worlds.conditions(Available="True", Progressing="False", Degraded="True")
    ill = tuple(facts.ClusterOperator(f"{name}{number}", degraded, settled_time=worlds.NOW) for number in range(count))
    known = worlds.healthy(control_plane_nodes=many, workers=many, cluster_operators=ill)
    known = worlds.moved(known, worlds.converging()) if changed else known
    found = phases.decide(known, worlds.TRANSITIONS, MINE, worlds.NOW + timedelta(hours=3))
    assert len([answer for answer in found.results if not answer.met]) > 1
    assert_readable(found)


@given(worlds_of_any_kind(), terms(), st.floats(0, 0.9))
def test_what_was_written_is_not_written_again(known: facts.Facts, term: state.LeaderState, passed: float) -> None:
    """Decide, let the server keep the record, decide again: nothing to save, the same conditions, no event."""
    first = phases.decide(known, worlds.ONLY_COMPACT, term, worlds.NOW)
    if first.record is None or state.Step.CHANGE in first.steps:
        return
    if first.record.attempt == term.next_attempt:
        term = dataclasses.replace(term, attempt=term.next_attempt, next_attempt="after")
    written = dataclasses.replace(worlds.recorded(known, first.record), live=False)
    again = phases.decide(written, worlds.ONLY_COMPACT, term, worlds.NOW + timedelta(seconds=passed))
    if again.phase is not first.phase or again.results != first.results or again.note != first.note:
        # A lease, a hold or a bound ran out in between, or another branch took over; then it must settle there.
        written = worlds.recorded(written, again.record or first.record)
        first, again = again, phases.decide(written, worlds.ONLY_COMPACT, term, worlds.NOW + timedelta(seconds=passed))
    assert state.Step.SAVE not in again.steps, (first.record, again.record)
    assert clusteroperator.conditions(again) == clusteroperator.conditions(first)
