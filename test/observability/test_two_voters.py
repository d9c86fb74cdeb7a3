"""etcd stays at two voters while a request is open: that is told, and no longer when the third one votes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from test.observability import asking, monitored_story

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from topology_simulator import scenario

pytestmark = pytest.mark.asyncio(loop_scope="module")
ALERT = "TopologyTransitionTwoVoters"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def seen(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[monitored_story.MonitoredStory]:
    """The story, held up until the alert fires and played on to its end."""
    async with monitored_story.opened("two-voters", tmp_path_factory.mktemp("two-voters")) as made:

        async def before(step: scenario.Step) -> None:
            if step.up == "master-2":
                await made.until_state(ALERT, "firing")

        await made.play(before)
        yield made


async def test_it_resolves_when_three_vote(seen: monitored_story.MonitoredStory) -> None:
    await seen.until_state(ALERT, None)


async def test_one_two_and_three_voters_were_seen(seen: monitored_story.MonitoredStory) -> None:
    found = await seen.prometheus.query_range('max(topology_etcd_members{role="voter"})', seen.began, asking.now())
    values = {value for one in found for _, value in one.points}
    # The second may vote before anybody looks: nodes and members are observed only once there is a request.
    assert {2.0, 3.0} <= values <= {1.0, 2.0, 3.0}


async def test_nothing_else_is_told(seen: monitored_story.MonitoredStory) -> None:
    assert await seen.fired() == {ALERT}


async def test_every_rule_is_healthy(seen: monitored_story.MonitoredStory) -> None:
    assert await seen.faults() == []
