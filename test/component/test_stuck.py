"""Past its deadline a transition is stuck: who waits longest is named, one event is told, and it ends by itself.

The deadline counts from when the topology was moved, which the record says. A definition of the test's own has the
shortest one there is, a minute, and the record is set back while nobody runs: as if the operator had been away.
"""

from __future__ import annotations

import datetime as dt
import pathlib
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling
from test.component import world as worlds
from test.component.broken_facts import node, until_failing
from topology_simulator import follow, kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from test.component.process import Operator
    from test.component.world import World

_DEFINITIONS = pathlib.Path(__file__).parents[2] / "bindata" / "transitions"
_THANOS = "openshift-monitoring/thanos-querier"
_LEFT = 3.0
"""Seconds of the minute that are left when it starts again."""


@pytest.fixture
def impatient(tmp_path: pathlib.Path) -> pathlib.Path:
    """The definition with a deadline of one minute, in a folder of its own."""
    definition: dict[str, Any] = yaml.safe_load((_DEFINITIONS / f"{worlds.NAME}.yaml").read_text())
    definition["convergence"] |= {"deadlineMinutes": 1, "stuckMinutes": 0}
    del definition["convergence"]["machineMinutes"]
    folder = tmp_path / "transitions"
    folder.mkdir()
    (folder / f"{worlds.NAME}.yaml").write_text(yaml.safe_dump(definition))
    return folder


def _ago(seconds: float) -> str:
    moment = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


async def stuck_metric(operator: Operator, value: float) -> None:
    async def look() -> bool:
        return await operator.metric("topology_transition_stuck") == value

    await polling.until(f"topology_transition_stuck is {value:g}", look)


async def away_for_almost_a_minute(world: World, folder: pathlib.Path) -> Operator:
    """Stop the operator, let the time pass in what it has written, and start it again."""
    assert await world.operators[-1].stop() == 0
    moved = {"admittedTime": _ago(60.0 - _LEFT), "phaseTransitionTime": _ago(60.0 - _LEFT)}
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": moved})
    return await world.operator("operator-b", "--transitions-dir", str(folder))


async def test_it_names_who_waits_longest_until_it_ends_by_itself(
    world: World, impatient: pathlib.Path, figure: Callable[[str], None]
) -> None:
    flags = ("--transitions-dir", str(impatient))
    first = await world.operator("operator-a", *flags)
    world.operands.behind.add(_THANOS)
    await world.ask_for()
    await until_failing(world, "one workload behind", "MonitoringReplicas")
    await stuck_metric(first, 0.0)
    assert (await world.condition("Degraded"))["status"] == "False"
    # What goes wrong later waits less long, although it comes first in the definition; times are whole seconds.
    since = (await world.check("MonitoringReplicas", "Convergence"))["lastTransitionTime"]

    async def later() -> bool:
        return bool(_ago(0.0) > since)

    await polling.until("the next second", later)
    await node("master-2", spec={"unschedulable": True})(world.api)
    await until_failing(world, "and a node is cordoned", "MonitoringReplicas", "ControlPlaneNodes")
    operator = await away_for_almost_a_minute(world, impatient)

    said = await world.until_condition("Degraded", "True", "TransitionStuck", seconds=_LEFT + 10.0)
    figure(f"stuck: {said['message']}")
    assert "Blocked by MonitoringReplicas" in said["message"]
    await world.until_told("TransitionStuck")
    await stuck_metric(operator, 1.0)
    await world.until_reasons(
        Degraded="TransitionStuck", Progressing="TransitionConverging", Upgradeable="TransitionInProgress"
    )

    # Somebody else waits longest now: the condition says so, and the event is not told again.
    await follow.follow(world.api, only=[_THANOS])

    async def named() -> bool:
        return "Blocked by ControlPlaneNodes" in (await world.condition("Degraded"))["message"]

    await polling.until("the node is named", named)

    await node("master-2", spec={"unschedulable": None})(world.api)
    await world.until_condition("Degraded", "False", "AsExpected")
    await world.completed_once()
    await stuck_metric(operator, 0.0)
    assert (await world.reasons()).count("TransitionStuck") == 1
    assert len(world.server.topology_changes) == 1
