"""Definitions with the same source: the number of dedicated workers tells them apart."""

from __future__ import annotations

from typing import Any

import pytest

from topology_api.vocabulary import CheckName, Phase
from topology_controller.definitions import load, model
from topology_controller.observe import facts

from . import worlds
from .outcomes import failing


def siblings() -> load.Transitions:
    """The two shipped ones, with a gap between them."""
    large = worlds.named("sno-to-ha-with-workers").model_copy(
        update={"name": "sno-to-ha-large", "workers": model.Workers.model_validate({"min": 3})}
    )
    return load.Transitions((worlds.COMPACT, large), worlds.MATRIX)


def workers(count: int) -> tuple[facts.OtherNode, ...]:
    return tuple(facts.OtherNode(f"w-{index}", master=False, arbiter=False) for index in range(count))


@pytest.mark.parametrize(("count", "name"), [(0, "sno-to-ha-compact"), (3, "sno-to-ha-large"), (9, "sno-to-ha-large")])
def test_the_number_of_workers_chooses_between_siblings(count: int, name: str) -> None:
    found = worlds.decide(worlds.healthy(other_nodes=workers(count)), transitions=siblings())
    assert found.definition is not None
    assert found.definition.name == name


def test_a_number_of_workers_that_fits_no_sibling_keeps_watching() -> None:
    """Closing the watches would forget the number, open them again, and so on for ever."""
    found = worlds.decide(worlds.healthy(other_nodes=workers(1)), transitions=siblings())
    assert found.phase is Phase.UNSUPPORTED
    assert found.watch


@pytest.mark.parametrize("others", [worlds.BROKEN, (worlds.BROKEN,), (*workers(2), worlds.BROKEN)])
def test_workers_that_cannot_be_counted_choose_nothing_and_admit_nothing(others: Any) -> None:
    found = worlds.decide(worlds.healthy(other_nodes=others), transitions=siblings())
    assert found.phase is Phase.PENDING
    assert CheckName.DEDICATED_WORKERS in failing(found.record)
