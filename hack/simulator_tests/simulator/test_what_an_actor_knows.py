"""An actor's mirror is never older than the last thing that it heard of."""

from __future__ import annotations

import pytest

from topology_simulator import kinds
from topology_simulator.actors import actor


def etcd(version: int, revision: int) -> dict[str, object]:
    return {"metadata": {"name": "cluster", "resourceVersion": str(version)}, "status": {"revision": revision}}


@pytest.mark.parametrize(
    ("known", "answer", "expected"),
    [(None, 7, 7), (6, 7, 7), (7, 7, 7), (8, 7, 8), (10, 9, 10)],
    ids=["nothing known", "ours is news", "heard of it already", "another wrote after us", "versions are numbers"],
)
def test_the_answer_to_a_write_does_not_undo_what_overtook_it(known: int | None, answer: int, expected: int) -> None:
    kept = actor.Mirror([kinds.ETCDS])
    if known is not None:
        kept.keep(kinds.ETCDS, etcd(known, known))
    kept.keep(kinds.ETCDS, etcd(answer, answer))
    found = kept.get(kinds.ETCDS, "cluster")
    assert found == etcd(expected, expected), f"{known} was known, the answer was {answer}"
