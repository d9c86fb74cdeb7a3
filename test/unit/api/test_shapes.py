"""Which of the six shapes a cluster has, and when that is not told.

The tables are those of the reference (truth table of topologies, B.3 and B.6): what the installer writes for so many
machines of each kind, and what people call it.
"""

from __future__ import annotations

import dataclasses

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
    (Shape.SINGLE_NODE, vector((SINGLE, SINGLE, True), 1, 0, 7)),
    (Shape.SINGLE_NODE, vector((SINGLE, HA, True), 1, 0, 2)),
    (Shape.COMPACT, vector((HA, HA, True), 3, 0, 0)),
    (Shape.COMPACT, vector((HA, HA, True), 3, 0, 4)),
    (Shape.COMPACT, vector((HA, HA, True), 5, 0, 0)),
    (Shape.STANDBY, vector((HA, HA, False), 3, 0, 0)),
    (Shape.HA, vector((HA, HA, False), 3, 0, 2)),
    (Shape.HA, vector((HA, HA, False), 5, 0, 2000)),
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
        (None, None, None),
        (None, SINGLE, Shape.SINGLE_NODE),
    ],
)
def test_from_the_topologies_alone(cp, infra, expected):
    """All that is known while nothing is wanted."""
    assert shape.classify(Vector(cp, infra)) is expected


TOPOLOGY = st.sampled_from((SINGLE, HA, DUAL, ARBITER, "External", "Mystery"))
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
