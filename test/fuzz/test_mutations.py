"""Every operator that is broken on purpose is noticed by the machine, by the promise that it breaks."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase
from hypothesis.stateful import rule, run_state_machine_as_test

from . import judge, machine, mutations

_HUNT = hypothesis.settings(
    machine.STORY, max_examples=150, suppress_health_check=tuple(HealthCheck), phases=(Phase.generate,)
)


def _happening(what: str) -> dict[str, Any]:
    def happens(self: machine.Machine) -> None:
        self.on.interject(what)

    return {"it_happens": rule()(happens)} if what else {}


@pytest.mark.nightly(*mutations.LONG)
@pytest.mark.parametrize("mutation", mutations.MUTATIONS, ids=lambda mutation: mutation.name.replace(" ", "-"))
def test_a_broken_operator_is_noticed(mutation: mutations.Mutation) -> None:
    left_out = machine.RULES - set(mutation.story) if mutation.story else set()
    # A rule that is no function any more is none.
    rules = {**dict.fromkeys(left_out), **_happening(mutation.happening)}
    Hunt = type("Hunt", (machine.Machine,), {"reached": machine.Reached(), **rules})  # noqa: N806
    hypothesis.seed(mutation.seed)(Hunt)
    with mutation.replaced(), pytest.raises(judge.BrokenError) as caught:
        run_state_machine_as_test(Hunt, settings=_HUNT)
    assert caught.value.promise in mutation.broken, caught.value
