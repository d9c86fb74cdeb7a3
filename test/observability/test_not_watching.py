"""An operator that nobody hears of is told, whether it does not answer or is not there, until it is back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from test import leftovers
from test.observability import monitored_story

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")
ALERT = "TopologyOperatorNotWatching"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def seen(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[monitored_story.MonitoredStory]:
    """An installed operator that leads; nobody requests anything."""
    async with monitored_story.opened("happy-path", tmp_path_factory.mktemp("not-watching")) as made:
        await made.until_seen('topology_transition_phase{phase="Idle"} == 1')
        yield made


async def test_it_fires_when_the_operator_does_not_answer_and_resolves_when_it_does(
    seen: monitored_story.MonitoredStory,
) -> None:
    assert await seen.state(ALERT) is None
    await seen.operator.stop()
    await seen.until_state(ALERT, "firing")
    # It is the story's own again, for the tests that follow.
    with leftovers.kept():
        await seen.operator.start()
    await seen.until_state(ALERT, None)


async def test_it_fires_when_there_is_nobody_to_ask_and_resolves_when_there_is(
    seen: monitored_story.MonitoredStory,
) -> None:
    seen.prometheus.scrape()
    await seen.until_state(ALERT, "firing")
    seen.prometheus.scrape(seen.address)
    await seen.until_state(ALERT, None)


async def test_nothing_else_is_told(seen: monitored_story.MonitoredStory) -> None:
    assert await seen.fired() == {ALERT}


async def test_every_rule_is_healthy(seen: monitored_story.MonitoredStory) -> None:
    assert await seen.faults() == []
