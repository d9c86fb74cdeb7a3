"""An operator of this version starts in the middle of a transition that an earlier version has begun.

Every phase, and what a newer version may have left, is tested on a cluster in memory (test/unit/upgrading).
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from test.component import backend
from test.component import world as worlds
from test.unit.upgrading import stored
from topology_controller.report import clusteroperator
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib

    import pytest

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def brought_to_now(left: stored.Raw) -> stored.Raw:
    """The same, as if it had been left a minute ago."""
    text = json.dumps(left)
    times = [datetime.fromisoformat(found) for found in _TIME.findall(text)]
    by = datetime.now(UTC) - timedelta(minutes=1) - max(times)

    def moved(found: re.Match[str]) -> str:
        return (datetime.fromisoformat(found[0]) + by).strftime("%Y-%m-%dT%H:%M:%SZ")

    found: stored.Raw = json.loads(_TIME.sub(moved, text))
    return found


async def test_it_finishes_what_the_version_before_it_has_moved(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a payload's Deployment says it.
    monkeypatch.setenv("RELEASE_VERSION", "4.21.3")
    left = brought_to_now(stored.left("operands", "Converging"))
    async with worlds.opened(backend.Place(None), tmp_path) as world:
        await world.ask_for()
        # In this order: whoever sees the topology move finds the record with it.
        await world.api.create(kinds.CLUSTER_OPERATORS, clusteroperator.skeleton())
        before = left["clusterOperator"]["status"]
        await world.api.patch_status(kinds.CLUSTER_OPERATORS, "topology", before)
        await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", left["infrastructure"]["status"])
        await world.operator(settle=0)
        record = await world.until_phase("Completed", seconds=20)
        head = stored.record("operands", "Converging")
        assert record["attempt"] == head["attempt"]
        assert record["baseline"]["machineConfigPools"] == head["baseline"]["machineConfigPools"]
        assert await world.moves() == [worlds.MOVED], "nothing is moved again"
        await world.until_condition("Upgradeable", "True", "AsExpected")
        found = await world.api.get(kinds.CLUSTER_OPERATORS, "topology")
        assert found["status"]["versions"] == [{"name": "operator", "version": "4.21.3"}]
        assert before["versions"] != found["status"]["versions"]
        assert found["status"]["extension"]["phase"] == "Completed"
