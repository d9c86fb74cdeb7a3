"""Against a real kube-apiserver: the CA that it publishes lets its Prometheus in, and whom nobody allowed stays out."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import aiohttp
import pytest
import pytest_asyncio

from test.observability import monitored_story

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")
_SECONDS = 20.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def seen(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[monitored_story.MonitoredStory]:
    """An installed operator that leads; nobody requests anything."""
    async with monitored_story.opened("happy-path", tmp_path_factory.mktemp("real"), apiserver="real") as made:
        yield made


async def answered(seen: monitored_story.MonitoredStory, tls: ssl.SSLContext) -> int:
    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.get(f"{seen.operator.url}/metrics", ssl=tls) as response,
    ):
        return response.status


async def test_prometheus_scrapes_with_a_certificate_of_the_cluster(seen: monitored_story.MonitoredStory) -> None:
    await seen.until_seen('topology_transition_phase{phase="Idle"} == 1')
    assert seen.operator.tls is not None
    assert await answered(seen, seen.operator.tls) == 200


async def test_somebody_else_of_the_cluster_is_known_and_not_allowed(seen: monitored_story.MonitoredStory) -> None:
    assert seen.box.serving is not None
    other = seen.box.serving.scraper("system:serviceaccount:default:somebody")
    assert await answered(seen, other.tls()) == 403


async def test_nobody_is_not_let_in(seen: monitored_story.MonitoredStory) -> None:
    assert seen.box.serving is not None
    stranger = ssl.create_default_context(cafile=str(seen.box.serving.scraper().authority))
    assert await answered(seen, stranger) == 401
