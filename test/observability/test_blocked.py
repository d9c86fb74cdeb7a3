"""A request waits for an hour, because a member of etcd stays a learner: that is told, until the topology has moved.

Here etcd is real, and the operator asks its members: who is a learner is known nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from test.observability import monitored_story, panels

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from topology_simulator import scenario

pytestmark = pytest.mark.asyncio(loop_scope="module")
ALERT = "TopologyTransitionBlocked"
HOUR = 60.0
"""Seconds, here."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def seen(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[monitored_story.MonitoredStory]:
    """The story, held up until the alert fires and played on to its end."""
    async with monitored_story.opened(panels.LEARNER_STUCK, tmp_path_factory.mktemp("blocked"), etcd="real") as made:

        async def before(step: scenario.Step) -> None:
            if step.heal_learner == "master-2":
                await made.until_state(ALERT, "pending")
                await made.until_state(ALERT, "firing", HOUR + monitored_story.PATIENCE)
                alerts = [one for one in await made.prometheus.alerts() if one.name == ALERT]
                made.told += [f"{ALERT}: {one.annotations['description']}" for one in alerts]

        await made.play(before)
        yield made


async def test_it_resolves_when_the_topology_moves(seen: monitored_story.MonitoredStory) -> None:
    await seen.until_state(ALERT, None)


async def test_that_two_vote_is_told_too_and_nothing_else(seen: monitored_story.MonitoredStory) -> None:
    assert await seen.fired() == {ALERT, "TopologyTransitionTwoVoters"}


async def test_its_description_names_the_check_that_is_not_met(seen: monitored_story.MonitoredStory) -> None:
    (description,) = [line for line in seen.told if line.startswith(f"{ALERT}: ")]
    assert "Checks that are not met: " in description
    assert "EtcdVotingMembers" in description.partition("Checks that are not met: ")[2].partition(". ")[0]


async def test_every_rule_is_healthy(seen: monitored_story.MonitoredStory) -> None:
    assert await seen.faults() == []


@pytest.mark.parametrize("query", panels.queries(panels.LEARNER_STUCK), ids=str)
async def test_a_query_of_the_dashboards_has_data(seen: monitored_story.MonitoredStory, query: panels.Query) -> None:
    assert not await panels.fault(seen, query)
