"""A leak is found, noise is not taken for one; and what goes wrong in a soak can be repeated."""

from __future__ import annotations

import copy
import itertools
import random
from typing import TYPE_CHECKING

import pytest
from test.soak import cluster, disturb, run, verdict

from topology_simulator import machines
from topology_simulator.apiserver import faults

if TYPE_CHECKING:
    import pathlib

MINUTES_30 = range(300, 1800, 5)
MINUTES_3 = range(60, 180, 2)
MEMORY = verdict.Limits(growth=1.0)


def memory(times: range, per_hour: float, seed: int, scatter: float = 0.3) -> verdict.Series:
    """Resident memory as it looks: it wanders in steps, a few samples are far off, and it grows at a rate."""
    draw = random.Random(seed)  # noqa: S311 - made up, and to be repeated
    wandered, found = 0.0, []
    for time in times:
        wandered = 0.9 * wandered + draw.gauss(0.0, scatter / 2)
        outlier = 6.0 if draw.random() < 0.03 else 0.0
        found.append((float(time), 60.0 + wandered + outlier + per_hour * (time - times.start) / 3600))
    return tuple(found)


@pytest.mark.parametrize("seed", range(6))
def test_noise_is_no_leak(seed: int) -> None:
    for times in (MINUTES_3, MINUTES_30):
        found = verdict.judge("rss", "MiB", memory(times, 0.0, seed), MEMORY)
        assert not found.wrong, found.line()


@pytest.mark.parametrize("seed", range(6))
def test_a_leak_is_found(seed: int) -> None:
    """24 bytes for each of 500 heartbeats a second are 41 MiB an hour; in the long form a tenth of it shows."""
    for times, per_hour in ((MINUTES_3, 120.0), (MINUTES_30, 6.0)):
        found = verdict.judge("rss", "MiB", memory(times, per_hour, seed), MEMORY)
        assert "grows by" in found.wrong, found.line()
        assert found.per_hour == pytest.approx(per_hour, rel=0.5), found.line()


def test_growth_that_is_small_is_allowed() -> None:
    """A few hundred KiB more in half an hour are the allocator's."""
    found = verdict.judge("rss", "MiB", memory(MINUTES_30, 1.2, 1, scatter=0.01), MEMORY)
    assert not found.wrong, found.line()


def test_too_few_samples_are_no_proof() -> None:
    with pytest.raises(verdict.TooFewError, match="rss: 5 samples"):
        verdict.judge("rss", "MiB", memory(range(0, 50, 10), 0.0, 1), MEMORY)


@pytest.mark.parametrize(
    ("field", "value"), [("changes", ["infrastructures: {}"]), ("writes", ["patch"]), ("sent", 400.0), ("none", None)]
)
def test_one_change_one_write_or_too_few_heartbeats_are_wrong(
    field: str, value: object, tmp_path: pathlib.Path
) -> None:
    settings = run.Settings(180.0, 1, tmp_path)
    level = [(float(at), 2.0) for at in range(0, 180, 2)]
    found = run.Found(dict.fromkeys(run.SERIES, level), sent=run.RATE)
    if value is not None:
        setattr(found, field, value)
    assert len(run.judged(found, settings)[1]) == int(value is not None)


TARGETS = tuple(run.targets())


def test_what_goes_wrong_can_be_repeated() -> None:
    first = list(disturb.planned(7, 600.0, TARGETS))
    assert first == list(disturb.planned(7, 600.0, TARGETS))
    assert first != list(disturb.planned(8, 600.0, TARGETS))
    assert all(before.at <= after.at for before, after in itertools.pairwise(first))
    assert first[-1].at < 600.0
    assert 150 < len(first) < 400, len(first)


def test_the_server_understands_every_fault() -> None:
    made = [disturb.Disturbance(0.0, what, TARGETS[0]) for what in disturb.FAR_REACHING]
    for one in (*made, *disturb.planned(1, 1800.0, TARGETS)):
        for raw in one.faults:
            assert faults.Fault.model_validate(raw).user_agent == disturb.AGENT
    assert any(one.compact for one in made)


def test_a_heartbeat_changes_times_and_nothing_else() -> None:
    node = machines.node("worker-1", roles=("worker",), ready=True)
    node["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]
    kept = copy.deepcopy(node)
    after = cluster.beaten(node)
    (state,) = after["status"]["conditions"]
    assert state["lastHeartbeatTime"] > "2026-01-01T00:00:00Z"
    state["lastHeartbeatTime"] = "2026-01-01T00:00:00Z"
    assert after == kept
    after["metadata"]["resourceVersion"] = "2"
    assert node == kept, "what is stored is never changed in place"
