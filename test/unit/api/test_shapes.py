"""Which of the six shapes a cluster has, and when that is not told.

The tables are those of the reference (truth table of topologies, B.3 and B.6): what the installer writes for so many
machines of each kind, and what people call it.
"""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api import shape
from topology_api.shape import Shape, Vector

SINGLE, HA, DUAL, ARBITER = "SingleReplica", "HighlyAvailable", "DualReplica", "HighlyAvailableArbiter"


def vector(written: tuple[str, str, bool | None], nodes: int, arbiters: int, workers: int) -> Vector:
    """Topologies and mastersSchedulable, then nodes: control plane, arbiters, dedicated workers."""
    return Vector(*written, nodes, arbiters, workers)


# The six, as the reference describes them (B.6), with every number of workers that it allows.
NAMED = [
    (Shape.SINGLE_NODE, vector((SINGLE, SINGLE, True), 1, 0, 0)),
    (Shape.SINGLE_NODE, vector((SINGLE, SINGLE, True), 1, 0, 1)),
    (Shape.SINGLE_NODE, vector((SINGLE, SINGLE, True), 1, 0, 7)),
    (Shape.SINGLE_NODE, vector((SINGLE, HA, True), 1, 0, 2)),
    (Shape.COMPACT, vector((HA, HA, True), 3, 0, 0)),
    (Shape.COMPACT, vector((HA, HA, True), 3, 0, 1)),
    (Shape.COMPACT, vector((HA, HA, True), 3, 0, 4)),
    (Shape.COMPACT, vector((HA, HA, True), 5, 0, 0)),
    (Shape.STANDBY, vector((HA, HA, False), 3, 0, 0)),
    (Shape.HA, vector((HA, HA, False), 3, 0, 2)),
    (Shape.HA, vector((HA, HA, False), 4, 0, 2)),
    (Shape.HA, vector((HA, HA, False), 5, 0, 2000)),
    (Shape.TNA, vector((ARBITER, HA, False), 2, 1, 2)),
    (Shape.TNA, vector((ARBITER, HA, True), 2, 1, 0)),
    (Shape.TNA, vector((ARBITER, HA, True), 2, 2, 0)),
    (Shape.TNF, vector((DUAL, HA, True), 2, 0, 0)),
]

# What the installer writes (B.3): machines cp/arbiter/workers -> topologies and mastersSchedulable, by the rule that is
# released and, where it differs, by the one that is proposed; and the shape, if it has a name.
INSTALLED = [
    ((1, 0, 0), (SINGLE, SINGLE, True), Shape.SINGLE_NODE),
    ((1, 0, 1), (SINGLE, SINGLE, False), Shape.SINGLE_NODE),
    ((1, 0, 1), (SINGLE, HA, False), Shape.SINGLE_NODE),
    ((1, 0, 2), (SINGLE, HA, False), Shape.SINGLE_NODE),
    ((2, 0, 0), (DUAL, HA, True), Shape.TNF),
    ((2, 0, 1), (DUAL, SINGLE, False), Shape.UNCLASSIFIED),
    ((2, 0, 1), (DUAL, HA, False), Shape.UNCLASSIFIED),
    ((2, 0, 2), (DUAL, HA, False), Shape.UNCLASSIFIED),
    ((2, 1, 0), (ARBITER, HA, True), Shape.TNA),
    ((2, 1, 1), (ARBITER, SINGLE, False), Shape.UNCLASSIFIED),
    ((2, 1, 1), (ARBITER, HA, False), Shape.UNCLASSIFIED),
    ((2, 1, 2), (ARBITER, HA, False), Shape.TNA),
    ((3, 0, 0), (HA, HA, True), Shape.COMPACT),
    ((3, 0, 1), (HA, SINGLE, False), Shape.UNCLASSIFIED),
    ((3, 0, 1), (HA, HA, False), Shape.UNCLASSIFIED),
    ((3, 0, 2), (HA, HA, False), Shape.HA),
    ((3, 1, 0), (HA, HA, True), Shape.UNCLASSIFIED),
    ((3, 1, 0), (ARBITER, HA, True), Shape.UNCLASSIFIED),
    ((3, 1, 1), (HA, SINGLE, False), Shape.UNCLASSIFIED),
    ((3, 1, 1), (ARBITER, HA, False), Shape.UNCLASSIFIED),
    ((3, 1, 2), (HA, HA, False), Shape.UNCLASSIFIED),
    ((3, 1, 2), (ARBITER, HA, False), Shape.UNCLASSIFIED),
    ((4, 0, 0), (HA, HA, True), Shape.COMPACT),
    ((5, 0, 0), (HA, HA, True), Shape.COMPACT),
    ((4, 0, 2), (HA, HA, False), Shape.HA),
    ((5, 0, 2), (HA, HA, False), Shape.HA),
]


@pytest.mark.parametrize(("expected", "found"), NAMED)
def test_the_six_shapes(expected, found):
    assert shape.classify(found) is expected
    fencing = dataclasses.replace(found, fencing=expected is Shape.TNF)
    assert shape.classify(fencing) is expected, "what is known besides and fits changes nothing"
    wrong = dataclasses.replace(found, fencing=expected is not Shape.TNF)
    assert shape.classify(wrong) is Shape.UNCLASSIFIED, "fencing belongs to TNF, and to TNF alone"


@pytest.mark.parametrize(("machines", "written", "expected"), INSTALLED)
def test_what_the_installer_makes(machines, written, expected):
    assert shape.classify(vector(written, *machines)) is expected


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (vector((SINGLE, SINGLE, True), 3, 0, 0), "on its way to compact"),
        (vector((SINGLE, SINGLE, False), 1, 0, 0), "nothing could carry workloads"),
        (vector((SINGLE, HA, True), 1, 0, 0), "one machine carries infrastructure"),
        (vector((HA, HA, True), 1, 0, 0), "moved before the machines were there"),
        (vector((HA, HA, False), 3, 0, 1), "one worker is neither none nor enough"),
        (vector((HA, HA, True), 6, 0, 0), "more than the installer lets pass"),
        (vector((HA, HA, True), 3, 1, 0), "the arbiter is still there"),
        (vector((ARBITER, HA, True), 3, 1, 0), "on its way from TNA"),
        (vector((ARBITER, HA, True), 2, 0, 0), "no arbiter"),
        (vector((DUAL, HA, True), 2, 0, 1), "a worker"),
        (vector(("External", HA, None), 0, 0, 2), "hosted"),
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
        ("External", HA, Shape.UNCLASSIFIED),
        ("External", None, Shape.UNCLASSIFIED),
        (HA, None, None),
        (None, None, None),
        (None, SINGLE, Shape.SINGLE_NODE),
    ],
)
def test_from_the_topologies_alone(cp, infra, expected):
    """All that is known while nothing is wanted."""
    assert shape.classify(Vector(cp, infra)) is expected


def test_what_is_learnt_tells_the_three_apart():
    three = Vector(HA, HA)
    assert shape.candidates(three) == (Shape.COMPACT, Shape.STANDBY, Shape.HA)
    assert shape.classify(dataclasses.replace(three, masters_schedulable=True)) is Shape.COMPACT
    closed = dataclasses.replace(three, masters_schedulable=False)
    assert shape.candidates(closed) == (Shape.STANDBY, Shape.HA)
    assert shape.classify(dataclasses.replace(closed, dedicated_workers=3)) is Shape.HA
    assert shape.classify(dataclasses.replace(closed, dedicated_workers=0)) is Shape.STANDBY


TOPOLOGY = st.sampled_from((SINGLE, HA, DUAL, ARBITER, "External", "Mystery"))
COUNT = st.integers(0, 7)
WHOLE = st.builds(Vector, TOPOLOGY, TOPOLOGY, st.booleans(), COUNT, COUNT, COUNT, st.booleans())
FIELDS = tuple(field.name for field in dataclasses.fields(Vector))


@given(WHOLE)
def test_a_whole_vector_has_one_answer(whole):
    assert len(shape.candidates(whole)) <= 1
    assert shape.classify(whole) is not None


@given(WHOLE, st.sets(st.sampled_from(FIELDS)))
def test_knowing_less_never_names_another_shape(whole, forgotten):
    """What is not known can only leave more shapes."""
    less = dataclasses.replace(whole, **dict.fromkeys(forgotten))
    assert set(shape.candidates(whole)) <= set(shape.candidates(less))
    answer = shape.classify(whole)
    assert answer is Shape.UNCLASSIFIED or shape.classify(less) in {answer, None}


def test_every_shape_can_be_told_and_every_vector_of_the_tables_is_whole_but_for_fencing():
    told = {expected for expected, _ in NAMED} | {expected for _, _, expected in INSTALLED}
    assert told == set(Shape)
    vectors = [found for _, found in NAMED] + [vector(written, *machines) for machines, written, _ in INSTALLED]
    known = [getattr(one, name) for one, name in itertools.product(vectors, FIELDS) if name != "fencing"]
    assert None not in known
