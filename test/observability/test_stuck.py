"""Past the deadline of a transition somebody is told, and no longer when what was late has come after all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from test.observability import asking, monitored_story

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from topology_simulator import scenario

pytestmark = pytest.mark.asyncio(loop_scope="module")
ALERT = "TopologyTransitionStuck"
STUCK = "max(topology_transition_stuck)"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def seen(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[monitored_story.MonitoredStory]:
    """The story, held up until the alert fires and played on to its end."""
    async with monitored_story.opened("stuck", tmp_path_factory.mktemp("stuck")) as made:

        async def before(step: scenario.Step) -> None:
            if step.release == "console":
                await made.until_state(ALERT, "firing")

        await made.play(before)
        yield made


async def test_it_resolves_when_the_transition_ends(seen: monitored_story.MonitoredStory) -> None:
    await seen.until_state(ALERT, None)


async def test_it_fired_past_the_deadline_and_not_before(seen: monitored_story.MonitoredStory) -> None:
    stuck = await seen.prometheus.query_range(f"{STUCK} == 1", seen.began, asking.now())
    alerts = f'ALERTS{{alertname="{ALERT}"}}'
    told = await seen.prometheus.query_range(alerts, seen.began, asking.now())
    late = min(moment for one in stuck for moment, _ in one.points)
    by_state = {one.labels["alertstate"]: one.points[0][0] for one in told}
    assert late <= by_state["pending"] < by_state["firing"], (late, by_state)


async def test_nothing_else_is_told(seen: monitored_story.MonitoredStory) -> None:
    assert await seen.fired() == {ALERT}


async def test_every_rule_is_healthy(seen: monitored_story.MonitoredStory) -> None:
    assert await seen.faults() == []
