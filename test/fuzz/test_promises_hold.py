"""At least sixty examples of what can happen, shared among the workers, and none breaks a promise.

`FUZZ_EXAMPLES` (64) is the number of all examples together; each shard has its own seed, made from that
of the run: `FUZZ_SEED=7 pytest "test/fuzz/test_promises_hold.py::test_no_interleaving_breaks_a_promise[3]"` runs one
again. What the shards reached by themselves, before everything was made good at the end of each example, is added up,
printed and judged at the end of the run (`conftest`).
"""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase
from hypothesis.stateful import run_state_machine_as_test

from test import exploring

from . import machine

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "64"))
SEED = int(os.environ[exploring.VARIABLE])
SHARDS = 16
PROFILE = hypothesis.settings(
    machine.STORY,
    max_examples=-(-EXAMPLES // SHARDS),
    # An example is a story of up to forty steps in virtual time: long by nature.
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
    phases=(Phase.generate, Phase.shrink) if "FUZZ_SHRINK" in os.environ else (Phase.generate,),
)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_interleaving_breaks_a_promise(shard: int, record_property: Callable[[str, object], None]) -> None:
    class Shard(machine.Machine):
        reached = machine.Reached()

    hypothesis.seed(1000 * SEED + shard)(Shard)
    try:
        run_state_machine_as_test(Shard, settings=PROFILE)
    finally:
        record_property("fuzz", dataclasses.asdict(Shard.reached))
    reached = Shard.reached
    assert reached.examples >= PROFILE.max_examples
