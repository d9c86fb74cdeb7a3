"""Status, scheduler and nodes held against each other: examples, the whole cross product, and what is not known."""

from __future__ import annotations

import dataclasses
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api import audit, install_config
from topology_api.audit import Question
from topology_api.install_config import Machines, Rule
from topology_api.shape import Shape, Vector

SINGLE, HA, DUAL, ARBITER, EXTERNAL = (
    "SingleReplica", "HighlyAvailable", "DualReplica", "HighlyAvailableArbiter", "External",
)  # fmt: skip
CARRY, SPARED = True, False
"""What mastersSchedulable means for the control-plane nodes."""
NOBODY = "0 dedicated workers and 0 control-plane nodes"


def cluster(  # noqa: PLR0917 - reads as a row of a table
    cp: str | None,
    infra: str | None,
    schedulable: bool | None,  # noqa: FBT001 - reads as a row of a table
    nodes: int | None,
    arbiters: int | None,
    workers: int | None,
    *,
    fencing: bool | None = False,
    labels: int | None = -1,
) -> audit.Audit:
    """Audit a row: topologies, mastersSchedulable, then control-plane nodes, arbiters and dedicated workers.

    As many labels as the scheduler asks for, unless told.
    """
    vector = Vector(cp, infra, schedulable, nodes, arbiters, workers, fencing)
    if labels == -1:
        labels = vector.control_plane_nodes if schedulable else 0
    return audit.audit(vector, labels)


def disagreeing(found: audit.Audit) -> list[Question]:
    return [one.question for one in found.disagreements]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (cluster(SINGLE, SINGLE, CARRY, 1, 0, 0), Shape.SINGLE_NODE),
        (cluster(SINGLE, SINGLE, CARRY, 1, 0, 7), Shape.SINGLE_NODE),
        (cluster(SINGLE, SINGLE, SPARED, 1, 0, 1), Shape.SINGLE_NODE),
        (cluster(SINGLE, HA, SPARED, 1, 0, 2), Shape.SINGLE_NODE),
        (cluster(HA, HA, CARRY, 3, 0, 0), Shape.COMPACT),
        (cluster(HA, HA, CARRY, 3, 0, 1), Shape.COMPACT),
        (cluster(HA, HA, SPARED, 5, 0, 2000), Shape.HA),
        (cluster(ARBITER, HA, CARRY, 2, 1, 0), Shape.TNA),
        (cluster(ARBITER, HA, SPARED, 2, 1, 2), Shape.TNA),
        (cluster(DUAL, HA, CARRY, 2, 0, 0, fencing=True), Shape.TNF),
        (cluster(HA, SINGLE, SPARED, 3, 0, 1), Shape.UNCLASSIFIED),
        (cluster(EXTERNAL, SINGLE, SPARED, 0, 0, 5), Shape.UNCLASSIFIED),
        (cluster(EXTERNAL, HA, SPARED, 0, 0, 2), Shape.UNCLASSIFIED),
    ],
)
def test_what_fits_together(found, expected):
    assert found.shape is expected
    assert found.disagreements == ()
    assert found.open == ()
    assert found.agrees
    assert found.unknown == ()


@pytest.mark.parametrize(
    ("found", "shape", "questions"),
    [
        (cluster(HA, HA, SPARED, 3, 0, 0), Shape.STANDBY, [Question.INFRASTRUCTURE_NODES]),
        (cluster(HA, HA, SPARED, 3, 0, 1), Shape.UNCLASSIFIED, [Question.INFRASTRUCTURE_NODES]),
        (cluster(HA, SINGLE, CARRY, 3, 0, 1), Shape.UNCLASSIFIED, [Question.INFRASTRUCTURE_NODES]),
        (cluster(HA, SINGLE, SPARED, 3, 0, 2), Shape.UNCLASSIFIED, [Question.INFRASTRUCTURE_NODES]),
        (cluster(SINGLE, HA, SPARED, 1, 0, 1), Shape.SINGLE_NODE, [Question.INFRASTRUCTURE_NODES]),
        (cluster(SINGLE, SINGLE, SPARED, 1, 0, 0), Shape.UNCLASSIFIED, [Question.INFRASTRUCTURE_NODES]),
        (cluster(SINGLE, SINGLE, CARRY, 3, 0, 0), Shape.UNCLASSIFIED, [Question.CONTROL_PLANE_NODES]),
        (
            cluster(HA, HA, CARRY, 1, 0, 0),
            Shape.UNCLASSIFIED,
            [Question.CONTROL_PLANE_NODES, Question.INFRASTRUCTURE_NODES],
        ),
        (cluster(HA, HA, CARRY, 6, 0, 0), Shape.UNCLASSIFIED, [Question.CONTROL_PLANE_NODES]),
        (cluster(HA, HA, CARRY, 3, 1, 0), Shape.UNCLASSIFIED, [Question.ARBITER_NODES]),
        (cluster(ARBITER, HA, CARRY, 2, 0, 0), Shape.UNCLASSIFIED, [Question.ARBITER_NODES]),
        (cluster(DUAL, HA, CARRY, 2, 0, 0), Shape.UNCLASSIFIED, [Question.FENCING]),
        (cluster(HA, HA, CARRY, 3, 0, 0, fencing=True), Shape.UNCLASSIFIED, [Question.FENCING]),
        (cluster(HA, HA, CARRY, 3, 0, 0, labels=2), Shape.COMPACT, [Question.WORKER_LABELS]),
        (cluster(HA, HA, SPARED, 3, 0, 2, labels=1), Shape.HA, [Question.WORKER_LABELS]),
        (cluster(EXTERNAL, HA, SPARED, 3, 0, 2), Shape.UNCLASSIFIED, [Question.CONTROL_PLANE_NODES]),
        (cluster(HA, EXTERNAL, SPARED, 3, 0, 2), Shape.UNCLASSIFIED, [Question.KNOWN_INFRASTRUCTURE]),
        (cluster("Mystery", HA, SPARED, 3, 0, 2), Shape.UNCLASSIFIED, [Question.KNOWN_CONTROL_PLANE]),
    ],
)
def test_what_does_not(found, shape, questions):
    assert found.shape is shape
    assert disagreeing(found) == questions
    assert not found.agrees


def test_a_disagreement_says_what_was_found_what_it_would_have_to_be_and_what_it_means():
    """The bug that many clusters have: three masters that carry workloads, one worker, infrastructure SingleReplica."""
    (one,) = cluster(HA, SINGLE, CARRY, 3, 0, 1).disagreements
    assert one.actual == (
        "4 nodes that can carry infrastructure: 1 dedicated worker and 3 control-plane nodes (mastersSchedulable true)"
    )
    assert one.wanted == "1 for infrastructureTopology SingleReplica beside controlPlaneTopology HighlyAvailable"
    assert "the loss of one node" in one.meaning
    assert "infra-to-ha" in one.meaning
    assert one.between == (audit.Part.STATUS, audit.Part.SCHEDULER, audit.Part.NODES)


@pytest.mark.parametrize(
    ("found", "told", "wanted", "meaning"),
    [
        (
            cluster(SINGLE, SINGLE, CARRY, 3, 0, 0),
            "3 control-plane nodes", "1 for controlPlaneTopology SingleReplica",
            "request a topology; see oc topology plan",
        ),
        (
            cluster(HA, HA, CARRY, 2, 0, 0),
            "2 control-plane nodes", "3 to 5 for controlPlaneTopology HighlyAvailable", "promises more than there is",
        ),
        (
            cluster(HA, HA, CARRY, 7, 0, 0),
            "7 control-plane nodes", "3 to 5 for controlPlaneTopology HighlyAvailable", "More than five",
        ),
        (
            cluster(EXTERNAL, HA, SPARED, 1, 0, 2),
            "1 control-plane node", "0 for controlPlaneTopology External", "runs elsewhere",
        ),
        (
            cluster(ARBITER, HA, CARRY, 2, 0, 0),
            "0 arbiter nodes", "1 or more for controlPlaneTopology HighlyAvailableArbiter", "either node",
        ),
        (
            cluster(HA, HA, CARRY, 3, 1, 0),
            "1 arbiter node", "0 for controlPlaneTopology HighlyAvailable", "left over",
        ),
        (
            cluster(DUAL, HA, CARRY, 2, 0, 0),
            "no fencing credentials", "some fencing credentials for controlPlaneTopology DualReplica", "stops both",
        ),
        (
            cluster(HA, HA, SPARED, 3, 0, 0),
            f"0 nodes that can carry infrastructure: {NOBODY} (mastersSchedulable false)",
            "2 or more for infrastructureTopology HighlyAvailable", "waits for workers",
        ),
        (
            cluster(HA, HA, SPARED, 3, 0, 2, labels=3),
            "3 control-plane nodes with the worker label", "0 while mastersSchedulable is false", "by hand",
        ),
        (
            cluster(HA, HA, CARRY, 3, 0, 0, labels=0),
            "0 control-plane nodes with the worker label", "3 while mastersSchedulable is true", "not complete",
        ),
        (
            cluster("Mystery", HA, SPARED, 3, 0, 2),
            "controlPlaneTopology Mystery",
            "SingleReplica or HighlyAvailable or HighlyAvailableArbiter or DualReplica or External", "no transition",
        ),
        (
            cluster(HA, "", SPARED, 3, 0, 2),
            "infrastructureTopology empty", "SingleReplica or HighlyAvailable", "guess",
        ),
    ],
)  # fmt: skip
def test_the_words(found, told, wanted, meaning):
    one = found.disagreements[0]
    assert (one.actual, one.wanted) == (told, wanted)
    assert meaning in one.meaning


# What an installer writes, and where that does not fit together from the first day on: two routers are asked for and
# one node could carry them; or there is an arbiter that the status does not know.
INSTALLED = {
    ((1, 0, 1), Rule.PROPOSED): [Question.INFRASTRUCTURE_NODES],
    ((2, 0, 1), Rule.PROPOSED): [Question.INFRASTRUCTURE_NODES],
    ((2, 1, 1), Rule.PROPOSED): [Question.INFRASTRUCTURE_NODES],
    **{((three, 0, 1), Rule.PROPOSED): [Question.INFRASTRUCTURE_NODES] for three in (3, 4, 5)},
    **{((three, 1, 1), Rule.PROPOSED): [Question.INFRASTRUCTURE_NODES] for three in (3, 4, 5)},
    **{((three, 1, w), Rule.RELEASED): [Question.ARBITER_NODES] for three in (3, 4, 5) for w in (0, 1, 2, 9)},
}


@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize(
    "row",
    [row for row in itertools.product((1, 2, 3, 4, 5), (0, 1), (0, 1, 2, 9)) if row[:2] != (1, 1)],
    ids=lambda row: "/".join(map(str, row)),
)
def test_what_the_installer_makes(row, rule):
    cp, arbiters, workers = row
    made = install_config.outcome(Machines(cp, arbiters, workers, fencing=cp == 2 and not arbiters), rule)
    found = cluster(
        made.control_plane, made.infrastructure, made.masters_schedulable, *row, fencing=cp == 2 and not arbiters
    )
    assert disagreeing(found) == INSTALLED.get((row, rule), [])
    assert found.open == ()
    assert found.shape is made.shape


def expected(vector: Vector, labels: int | None) -> dict[Question, bool | None]:
    """The same questions, answered from tables: True, False, or None for open."""
    cp, infra, sched = vector.control_plane, vector.infrastructure, vector.masters_schedulable
    nodes, arbiters, workers = vector.control_plane_nodes, vector.arbiter_nodes, vector.dedicated_workers
    legal = {SINGLE: {1}, DUAL: {2}, ARBITER: {2, 3, 4, 5}, HA: {3, 4, 5}, EXTERNAL: {0}}.get(cp or "")
    everybody = None if workers is None or nodes is None else workers + nodes
    carriers = {False: workers, True: everybody, None: None}[sched]
    fits: bool | None = None
    if carriers is not None and infra == HA:
        fits = carriers >= 2
    elif carriers is not None and infra == SINGLE and legal is not None:
        fits = carriers == 1 if cp in {HA, ARBITER, DUAL} else carriers >= 1
    labelled = {False: 0, True: nodes, None: None}[sched]
    return {
        Question.KNOWN_CONTROL_PLANE: None if cp is None else legal is not None,
        Question.KNOWN_INFRASTRUCTURE: None if infra is None else infra in {SINGLE, HA},
        Question.CONTROL_PLANE_NODES: None if legal is None or nodes is None else nodes in legal,
        Question.ARBITER_NODES: None if legal is None or arbiters is None else (arbiters >= 1) == (cp == ARBITER),
        Question.FENCING: None if legal is None or vector.fencing is None else vector.fencing == (cp == DUAL),
        Question.INFRASTRUCTURE_NODES: fits,
        Question.WORKER_LABELS: None if labels is None or labelled is None else labels == labelled,
    }


def answers(found: audit.Audit) -> dict[Question, bool | None]:
    told: dict[Question, bool | None] = dict.fromkeys(Question, True)
    told |= {one.question: False for one in found.disagreements}
    told |= {one.question: None for one in found.open}
    return told


KNOWN_OR_NOT = (None, SINGLE, HA, DUAL, ARBITER, EXTERNAL, "Mystery")
TRUTHS = (None, True, False)


@pytest.mark.parametrize("cp", KNOWN_OR_NOT)
def test_the_whole_cross_product(cp):
    rows = itertools.product(
        (None, SINGLE, HA, "Mystery"), TRUTHS, (None, 0, 1, 2, 3, 5, 6), (None, 0, 1), (None, 0, 1, 2), TRUTHS,
        (None, 0, 1, 3),
    )  # fmt: skip
    for infra, sched, nodes, arbiters, workers, fencing, labels in rows:
        vector = Vector(cp, infra, sched, nodes, arbiters, workers, fencing)
        found = audit.audit(vector, labels)
        told = answers(found)
        assert told == expected(vector, labels), (vector, labels)
        assert found.agrees is all(told.values())
        if found.agrees:
            assert None not in (*dataclasses.astuple(vector), labels), "what is not known is never taken for agreement"


TOPOLOGY = st.sampled_from((SINGLE, HA, DUAL, ARBITER, EXTERNAL, "Mystery"))
NODES = st.integers(0, 7)
WHOLE = st.builds(Vector, TOPOLOGY, TOPOLOGY, st.booleans(), NODES, NODES, NODES, st.booleans())
FIELDS = tuple(field.name for field in dataclasses.fields(Vector))
ANYTHING = st.builds(
    Vector,
    st.text(max_size=9) | TOPOLOGY | st.none(),
    st.text(max_size=9) | TOPOLOGY | st.none(),
    st.booleans() | st.none(),
    *[st.integers(0, 2**70) | NODES | st.none()] * 3,
    st.booleans() | st.none(),
)


@given(WHOLE, NODES, st.sets(st.sampled_from((*FIELDS, "control_plane_workers")), min_size=1))
def test_knowing_less_opens_questions_and_answers_none(whole, labels, forgotten):
    less = dataclasses.replace(whole, **dict.fromkeys(forgotten - {"control_plane_workers"}))
    before = answers(audit.audit(whole, labels))
    after = audit.audit(less, None if "control_plane_workers" in forgotten else labels)
    for question, answer in answers(after).items():
        assert answer in {before[question], None}, question
    assert not after.agrees
    named = {name for one in after.open for name in one.missing}
    assert set(after.unknown) == forgotten - {"control_plane_workers"}
    known_by_status = {"control_plane"} if whole.control_plane == "Mystery" else set()
    known_by_status |= {"infrastructure"} if whole.infrastructure in {DUAL, ARBITER, EXTERNAL, "Mystery"} else set()
    assert named <= forgotten | known_by_status, "what is missing is named, and nothing else"


@given(ANYTHING, st.integers(0, 2**70) | st.none())
def test_there_is_always_an_answer(vector, labels):
    found = audit.audit(vector, labels)
    questions = [*(one.question for one in found.disagreements), *(one.question for one in found.open)]
    assert len(set(questions)) == len(questions), "a question has one answer"
    for one in found.disagreements:
        assert one.actual
        assert one.wanted
        assert one.actual != one.wanted
        assert one.meaning.endswith(".")
        assert one.between
    assert all(one.missing for one in found.open)
    assert found.vector is vector


@given(WHOLE, NODES)
def test_a_shape_with_a_name_has_the_nodes_that_its_status_says(whole, labels):
    """What remains is where its workloads run, which a shape leaves room for."""
    found = audit.audit(whole, labels)
    if found.shape is not Shape.UNCLASSIFIED:
        assert set(disagreeing(found)) <= {Question.INFRASTRUCTURE_NODES, Question.WORKER_LABELS}


def test_nothing_known_is_nothing_agreed():
    found = audit.audit(Vector())
    assert found.shape is None
    assert len(found.candidates) == 6
    assert {one.question for one in found.open} == set(Question)
    assert set(found.unknown) == set(FIELDS)
    assert not found.agrees


def test_what_the_operator_itself_knows_while_idle_leaves_questions():
    """Topologies alone name a single node, but prove nothing about its nodes."""
    found = audit.audit(Vector(SINGLE, SINGLE))
    assert found.shape is Shape.SINGLE_NODE
    assert not found.agrees
    missing = {one.question: one.missing for one in found.open}
    assert missing[Question.CONTROL_PLANE_NODES] == ("control_plane_nodes",)
    assert missing[Question.INFRASTRUCTURE_NODES] == ("dedicated_workers", "masters_schedulable", "control_plane_nodes")
    assert missing[Question.WORKER_LABELS] == ("masters_schedulable", "control_plane_nodes", "control_plane_workers")


def test_an_audit_can_be_written_as_json():
    """Words, not enums, as a command prints them with -o json."""
    found = json.loads(json.dumps(dataclasses.asdict(cluster(HA, SINGLE, CARRY, 3, 0, 1, fencing=None))))
    assert found["shape"] == "unclassified"
    assert found["vector"]["control_plane"] == HA
    assert [one["question"] for one in found["disagreements"]] == ["InfrastructureNodes"]
    assert found["disagreements"][0]["between"] == ["status", "scheduler", "nodes"]
    assert found["open"] == [{"question": "Fencing", "missing": ["fencing"]}]
    assert found["unknown"] == ["fencing"]
