"""Which of the six shapes a cluster has, and whether status, scheduler and nodes agree; and when that is not told.

The tables are those of the reference (truth table of topologies, B.3 and B.6): what the installer writes for so many
machines of each kind, and what people call it. The audit is asked the whole cross product.
"""

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_topology import consistency
from kubectl_topology.consistency import Question
from topology_api import shape
from topology_api.shape import Shape, Vector

SINGLE, HA, DUAL, ARBITER, EXTERNAL = (
    "SingleReplica", "HighlyAvailable", "DualReplica", "HighlyAvailableArbiter", "External",
)  # fmt: skip


def vector(written: tuple[str, str, bool | None], nodes: int, arbiters: int, workers: int) -> Vector:
    """Topologies and mastersSchedulable, then nodes: control plane, arbiters, dedicated workers."""
    return Vector(*written, nodes, arbiters, workers)


# The six, as the reference describes them (B.6), with every number of workers that it allows.
NAMED = [
    (Shape.SINGLE_NODE, vector((SINGLE, SINGLE, True), 1, 0, 0)),
    (Shape.SINGLE_NODE, vector((SINGLE, SINGLE, True), 1, 0, 7)),
    (Shape.SINGLE_NODE, vector((SINGLE, HA, True), 1, 0, 2)),
    (Shape.COMPACT, vector((HA, HA, True), 3, 0, 0)),
    (Shape.COMPACT, vector((HA, HA, True), 3, 0, 4)),
    (Shape.STANDBY, vector((HA, HA, False), 3, 0, 0)),
    (Shape.HA, vector((HA, HA, False), 3, 0, 2)),
    (Shape.TNA, vector((ARBITER, HA, False), 2, 1, 2)),
    (Shape.TNA, vector((ARBITER, HA, True), 2, 1, 0)),
    (Shape.TNA, vector((ARBITER, HA, True), 2, 2, 0)),
    (Shape.TNF, vector((DUAL, HA, True), 2, 0, 0)),
]


@pytest.mark.parametrize(("expected", "found"), NAMED)
def test_the_six_shapes(expected, found):
    assert shape.classify(found) is expected
    fencing = dataclasses.replace(found, fencing=expected is Shape.TNF)
    assert shape.classify(fencing) is expected, "what is known besides and fits changes nothing"
    wrong = dataclasses.replace(found, fencing=expected is not Shape.TNF)
    assert shape.classify(wrong) is Shape.UNCLASSIFIED, "fencing belongs to TNF, and to TNF alone"


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (vector((SINGLE, SINGLE, True), 3, 0, 0), "on its way to compact"),
        (vector((SINGLE, SINGLE, False), 1, 0, 0), "nothing could carry workloads"),
        (vector((SINGLE, HA, True), 1, 0, 0), "one machine carries infrastructure"),
        (vector((HA, HA, False), 3, 0, 1), "one worker is neither none nor enough"),
        (vector((HA, HA, True), 6, 0, 0), "more than the installer lets pass"),
        (vector((HA, HA, True), 3, 1, 0), "the arbiter is still there"),
        (vector((ARBITER, HA, True), 3, 1, 0), "on its way from TNA"),
        (vector((ARBITER, HA, True), 2, 0, 0), "no arbiter"),
        (vector((EXTERNAL, HA, None), 0, 0, 2), "hosted"),
        (vector(("Mystery", "Mystery", True), 3, 0, 0), "a value that nobody knows"),
    ],
)
def test_what_has_no_name_is_unclassified(found, why):
    assert shape.classify(found) is Shape.UNCLASSIFIED, why


@pytest.mark.parametrize(
    ("cp", "infra", "expected"),
    [
        (SINGLE, SINGLE, Shape.SINGLE_NODE),
        (SINGLE, HA, Shape.SINGLE_NODE),
        (DUAL, HA, Shape.TNF),
        (ARBITER, HA, Shape.TNA),
        (HA, HA, None),
        (HA, SINGLE, Shape.UNCLASSIFIED),
        (EXTERNAL, HA, Shape.UNCLASSIFIED),
        (None, None, None),
        (None, SINGLE, Shape.SINGLE_NODE),
    ],
)
def test_from_the_topologies_alone(cp, infra, expected):
    """All that is known while nothing is wanted."""
    assert shape.classify(Vector(cp, infra)) is expected


TOPOLOGY = st.sampled_from((SINGLE, HA, DUAL, ARBITER, EXTERNAL, "Mystery"))
COUNT = st.integers(0, 7)
WHOLE = st.builds(Vector, TOPOLOGY, TOPOLOGY, st.booleans(), COUNT, COUNT, COUNT, st.booleans())
FIELDS = tuple(field.name for field in dataclasses.fields(Vector))


@given(WHOLE, st.sets(st.sampled_from(FIELDS)))
def test_knowing_less_never_names_another_shape(whole, forgotten):
    """What is not known can only leave more shapes."""
    less = dataclasses.replace(whole, **dict.fromkeys(forgotten))
    assert set(shape.candidates(whole)) <= set(shape.candidates(less))
    answer = shape.classify(whole)
    assert answer is Shape.UNCLASSIFIED or shape.classify(less) in {answer, None}


# -- the audit


CARRY, SPARED = True, False
"""What mastersSchedulable means for the control-plane nodes."""
NOBODY = "0 dedicated workers and 0 control-plane nodes"


@pytest.mark.parametrize(
    ("row", "told", "wanted"),
    [
        ((SINGLE, SINGLE, CARRY, 3, 0, 0), "3 control-plane nodes", "1 for controlPlaneTopology SingleReplica"),
        ((ARBITER, HA, CARRY, 2, 0, 0), "0 arbiter nodes", "1 or more for controlPlaneTopology HighlyAvailableArbiter"),
        ((DUAL, HA, CARRY, 2, 0, 0), "no fencing credentials", "some fencing credentials for controlPlaneTopology"),
        ((HA, HA, SPARED, 3, 0, 0), f"0 nodes that can carry infrastructure: {NOBODY}", "2 or more for infra"),
        ((HA, HA, CARRY, 3, 0, 0, 0), "0 control-plane nodes with the worker label", "3 while masters"),
        (("Mystery", HA, SPARED, 3, 0, 2), "controlPlaneTopology Mystery", "SingleReplica or HighlyAvailable or "),
    ],
)
def test_a_disagreement_names_what_was_found_and_what_is_wanted(row, told, wanted):
    """A row: topologies, mastersSchedulable, nodes (control plane, arbiters, workers), labels that are not as asked."""
    topologies, nodes = row[:3], row[3:6]
    vector = dataclasses.replace(Vector(*topologies, *nodes), fencing=False)
    asked = vector.control_plane_nodes if vector.masters_schedulable else 0
    first = consistency.compared(vector, row[6] if len(row) > 6 else asked)[0][0]
    assert first["found"].startswith(told)
    assert first["wanted"].startswith(wanted)
    assert first["meaning"]


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


def answers(vector: Vector, labels: int | None) -> dict[Question, bool | None]:
    disagreements, unanswered = consistency.compared(vector, labels)
    told: dict[Question, bool | None] = dict.fromkeys(Question, True)
    told |= {Question(one["question"]): False for one in disagreements}
    told |= {Question(one["question"]): None for one in unanswered}
    return told


def test_every_question_about_every_cluster():
    """All that two questions look at together is crossed; the rest goes round and round, so that all of it is met."""
    names = (None, SINGLE, HA, DUAL, ARBITER, EXTERNAL, "Mystery")
    crossed = itertools.product(
        names, (None, SINGLE, HA, "Mystery"), (None, True, False), (None, 0, 1, 2, 3, 5, 6), (None, 0, 1, 2)
    )
    rest = itertools.cycle(itertools.product((None, 0, 1), (None, True, False), (None, 0, 1, 3)))
    agreeing = 0
    for (cp, infra, sched, nodes, workers), (arbiters, fencing, labels) in zip(crossed, rest, strict=False):
        vector = Vector(cp, infra, sched, nodes, arbiters, workers, fencing)
        for asked in {labels, nodes if sched else 0}:
            told = answers(vector, asked)
            assert told == expected(vector, asked), (vector, asked)
            agreeing += all(told.values())
            if all(told.values()):
                assert None not in (*dataclasses.astuple(vector), asked), "what is not known is never agreement"
    assert agreeing, "nothing was tried that agrees"


@given(WHOLE, COUNT, st.sets(st.sampled_from((*FIELDS, "control_plane_workers")), min_size=1))
def test_knowing_less_opens_questions_and_answers_none(whole, labels, forgotten):
    less = dataclasses.replace(whole, **dict.fromkeys(forgotten - {"control_plane_workers"}))
    before = answers(whole, labels)
    assert before == expected(whole, labels)
    known_labels = None if "control_plane_workers" in forgotten else labels
    after = answers(less, known_labels)
    for question, answer in after.items():
        assert answer in {before[question], None}, question
    assert not all(after.values())
    plain = {json: name for name, json in consistency.NAMES.items()}
    named = {plain[name] for one in consistency.compared(less, known_labels)[1] for name in one["missing"]}
    known_by_status = {"control_plane"} if whole.control_plane == "Mystery" else set()
    known_by_status |= {"infrastructure"} if whole.infrastructure in {DUAL, ARBITER, EXTERNAL, "Mystery"} else set()
    assert named <= forgotten | known_by_status, "what is missing is named, and nothing else"
