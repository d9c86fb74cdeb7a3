"""Status, scheduler and nodes held against each other: examples, the whole cross product, and what is not known."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api import audit
from topology_api.audit import Question
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
