"""A whole transition on a real kube-apiserver as Prometheus sees it: every series there, and nothing to alarm anybody.

The CA that the server publishes lets its Prometheus in, and whom nobody allowed stays out.
"""

from __future__ import annotations

import asyncio
import operator
import ssl
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from test.observability import asking, monitored_story, monitoring, panels
from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from topology_simulator import scenario

pytestmark = pytest.mark.asyncio(loop_scope="module")
FOUND = monitoring.load()
ROUTE = '{source="SingleReplica/SingleReplica",target="HighlyAvailable/HighlyAvailable"}'
MOST_SERIES = 300
_TLS_SECONDS, _METRICS_SECONDS = 5.0, 20.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def seen(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[monitored_story.MonitoredStory]:
    """The story, played to its end; operator and Prometheus go on."""
    async with monitored_story.opened(panels.HAPPY_PATH, tmp_path_factory.mktemp("happy"), apiserver="real") as made:

        async def cordon(*, cordoned: bool) -> None:
            await made.box.api.patch(kinds.NODES, "master-2", {"spec": {"unschedulable": cordoned or None}})

        async def before(step: scenario.Step) -> None:
            if step.request is not None:
                await made.until_seen('topology_transition_phase{phase="Idle"} == 1')
                # So that it is Pending for longer than a scrape.
                await cordon(cordoned=True)

        async def lift() -> None:
            await made.until_seen('topology_transition_phase{phase="Pending"} == 1')
            await cordon(cordoned=False)

        async with asyncio.TaskGroup() as group:
            group.create_task(lift())
            await made.play(before)
        await made.until_seen('topology_transition_phase{phase="Completed"} == 1')
        yield made


async def test_phases_are_seen_in_their_order(seen: monitored_story.MonitoredStory) -> None:
    order = await seen.phases()
    # Admitting lasts as long as the version operator's echo: often less than a scrape, and the histogram knows of it.
    assert [one for one in order if one != "Admitting"] == ["Idle", "Pending", "Converging", "Completed"], order
    for phase in ("Pending", "Admitting", "Converging"):
        ended = await seen.prometheus.value(f'topology_transition_phase_duration_seconds_count{{phase="{phase}"}}')
        assert ended == 1, phase


async def test_the_transition_is_counted_once(seen: monitored_story.MonitoredStory) -> None:
    found = {
        name: await seen.prometheus.value(f"topology_transition_{name}_total{ROUTE}")
        for name in ("started", "completed", "cancelled")
    }
    assert found == {"started": 1, "completed": 1, "cancelled": 0}
    assert await seen.prometheus.value("sum(topology_transition_rejected_total)") == 0


async def test_every_rule_is_evaluated_without_an_error(seen: monitored_story.MonitoredStory) -> None:
    rules = await seen.prometheus.rules()
    assert sorted(one.name for one in rules) == sorted([*FOUND.recorded, *FOUND.alerts])
    await seen.until("every rule is evaluated", seen.faults, holds=operator.not_)


@pytest.mark.parametrize("name", sorted(set(FOUND.recorded)))
async def test_what_is_recorded_has_data(seen: monitored_story.MonitoredStory, name: str) -> None:
    found = await seen.prometheus.query_range(name, seen.began, asking.now())
    assert found, f"{name} was never there\n{await seen.describe()}"


async def test_nothing_alarms_anybody(seen: monitored_story.MonitoredStory) -> None:
    assert await seen.fired() == set()


async def test_it_is_scraped_over_https_and_stays_within_its_series(seen: monitored_story.MonitoredStory) -> None:
    targets = {one.job: one for one in await seen.prometheus.targets()}
    ours = targets[monitoring.SERVICE]
    assert (ours.health, ours.error) == ("up", "")
    assert ours.url.startswith("https://127.0.0.1:"), ours
    most = await seen.prometheus.query_range(
        f'scrape_samples_scraped{{job="{monitoring.SERVICE}"}}', seen.began, asking.now()
    )
    largest = max(value for one in most for _, value in one.points)
    assert 0 < largest <= MOST_SERIES


@pytest.mark.parametrize("query", panels.queries(panels.HAPPY_PATH), ids=str)
async def test_a_query_of_the_dashboards_has_data(seen: monitored_story.MonitoredStory, query: panels.Query) -> None:
    assert not await panels.fault(seen, query)


async def test_a_new_serving_certificate_is_served_and_scraped_without_a_restart(
    seen: monitored_story.MonitoredStory,
) -> None:
    assert seen.box.serving is not None
    seen.box.serving.renew()
    wanted = (seen.box.serving.certificates / "tls.crt").read_text()
    host, _, port = seen.address.partition(":")
    await seen.until(
        "the new certificate is served",
        lambda: asyncio.to_thread(ssl.get_server_certificate, (host, int(port)), timeout=_TLS_SECONDS),
        holds=lambda found: found.strip() == wanted.strip(),
    )
    await seen.until_seen(f'up{{job="{monitoring.SERVICE}"}} == 1', since=asking.now())
    assert seen.operator.returncode is None
