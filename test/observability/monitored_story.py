"""A story with somebody who watches it: a cluster in a box, its operator over HTTPS, and a Prometheus.

The story is the simulator's own (`topology_simulator.scenarios`). A test can hold it up before a step until Prometheus
has seen what it is to see (`holding`): an alert takes as long as it takes, and no figure in a scenario guesses it.
"""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from aiohttp import web

from test import polling
from test.observability import asking, prometheus
from topology_simulator import box, kinds, operator_process, pace, play, scenario

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Awaitable, Callable

    from topology_simulator import client

T = TypeVar("T")
PACE = dataclasses.replace(pace.DEMO.scaled(0.4), heartbeat=5.0, retry=0.2)
"""Slow enough that a scrape a second sees each phase that lasts."""
PATIENCE = 90.0
"""Seconds that anything may take to show, besides what it must take. Generous: the machine may be busy."""


@dataclass(slots=True)
class MonitoredStory:
    """What is open. `began` is when Prometheus started to look, `told` what the story said."""

    story: scenario.Scenario
    box: box.Box
    operator: operator_process.Operator
    prometheus: prometheus.Prometheus
    began: float
    told: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        """HOST:PORT of the operator."""
        return self.operator.url.partition("://")[2]

    async def play(self, before: Callable[[scenario.Step], Awaitable[None]] | None = None) -> None:
        """Play the story to its end, with an eye on the operator. Raises ScenarioFailedError, OperatorDiedError."""
        player = play.Player(self.box.api, self.box.actors, PACE, self.told.append, operator=self.operator)
        await self.box.beside(player.play(self.story, before))

    async def scraped(self) -> None:
        """Wait until Prometheus has scraped the operator; fails at once when the operator has ended."""

        async def look() -> bool:
            assert self.operator.returncode is None, "the operator has ended"
            return bool(await self.prometheus.query('up{job="cluster-topology-operator"} == 1'))

        await self.until("the operator is scraped", look)

    async def until(
        self,
        what: str,
        ask: Callable[[], Awaitable[T]],
        seconds: float = PATIENCE,
        *,
        holds: Callable[[T], object] = bool,
    ) -> None:
        """Wait for something; a failure tells the alerts, the targets and both logs."""
        try:
            await polling.until(what, ask, seconds, holds=holds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{await self.describe()}") from None

    async def until_state(self, alert: str, state: str | None, seconds: float = PATIENCE) -> None:
        """Wait until an alert is pending or firing; None is neither."""
        what = f"alert {alert} is {state or 'resolved'}"
        await self.until(what, lambda: self.state(alert), seconds, holds=lambda found: found == state)

    async def state(self, alert: str) -> str | None:
        """Return the state of an alert: pending, firing or None."""
        states = {one.state for one in await self.prometheus.alerts() if one.name == alert}
        return "firing" if "firing" in states else next(iter(states), None)

    async def fired(self) -> set[str]:
        """Return the alerts that have fired since the beginning."""
        found = await self.prometheus.query_range('ALERTS{alertstate="firing"}', self.began, asking.now())
        return {one.labels["alertname"] for one in found}

    async def until_seen(self, query: str, times: int = 3, seconds: float = PATIENCE, *, since: float = 0.0) -> None:
        """Wait until Prometheus has seen a query with data for that many seconds."""
        await self.until(
            f"{query} has data {times} times",
            lambda: self.prometheus.query_range(query, since or self.began, asking.now()),
            seconds,
            holds=lambda found: sum(len(one.points) for one in found) >= times,
        )

    async def phases(self) -> list[str]:
        """Return the phases in the order in which Prometheus saw them, without repetitions."""
        found = await self.prometheus.query_range(
            "max by (phase) (topology_transition_phase) == 1", self.began, asking.now()
        )
        seen = sorted((moment, one.labels["phase"]) for one in found for moment, _ in one.points)
        order: list[str] = []
        for _, phase in seen:
            if order[-1:] != [phase]:
                order.append(phase)
        return order

    async def faults(self) -> list[str]:
        """Return what is wrong with the rules: not evaluated yet, not healthy, with an error."""
        return [
            f"{one.kind} {one.name}: {one.health}, {'evaluated' if one.evaluated else 'not evaluated'} {one.error}"
            for one in await self.prometheus.rules()
            if one.error or one.health != "ok" or not one.evaluated
        ]

    async def describe(self) -> str:
        """Return what a failing test prints."""
        parts = [*(f"step: {line}" for line in self.told)]
        with contextlib.suppress(asking.QueryError):
            parts += [f"alert: {one.name} {one.state}" for one in await self.prometheus.alerts()]
            parts += [f"target: {one.job} {one.health} {one.error}" for one in await self.prometheus.targets()]
            parts += [f"phases: {await self.phases()}"]
        return "\n".join(
            [*parts, self.prometheus.last_words(), f"--- operator\n{operator_process.last_words(self.box.log)}"]
        )


@contextlib.asynccontextmanager
async def version_operator(api: client.Client) -> AsyncIterator[str]:
    """Serve what the version operator says of ClusterOperator `topology`, with its labels, and yield HOST:PORT.

    Our rules must find our operator by these series even when it says nothing itself.
    """

    async def scrape(_: web.Request) -> web.Response:
        found = await api.find(kinds.CLUSTER_OPERATORS, "topology")
        lines = [] if found is None else list(_lines(found))
        return web.Response(text="".join(f"{line}\n" for line in lines))

    app = web.Application()
    app.router.add_get("/metrics", scrape)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"{host}:{port}"
    finally:
        await runner.cleanup()


def _lines(operator: dict[str, object]) -> list[str]:
    status = operator.get("status")
    conditions = status.get("conditions") or [] if isinstance(status, dict) else []
    lines = [
        f'cluster_operator_conditions{{name="topology",condition="{one["type"]}",reason="{one.get("reason", "")}"}} '
        f"{int(one['status'] == 'True')}"
        for one in conditions
    ]
    available = any(one["type"] == "Available" and one["status"] == "True" for one in conditions)
    return [*lines, f'cluster_operator_up{{name="topology"}} {int(available)}']


@contextlib.asynccontextmanager
async def opened(
    name: str, folder: pathlib.Path, *, apiserver: str = "embedded", etcd: str = "pretended"
) -> AsyncIterator[MonitoredStory]:
    """Open a box for a story, and a Prometheus that has scraped the operator once; nothing is played yet.

    `apiserver` is one of box.API_SERVERS, `etcd` of box.ETCDS.
    """
    prometheus.binary()
    story = scenario.load(name)
    async with contextlib.AsyncExitStack() as stack:
        made = await stack.enter_async_context(
            box.opened(story, PACE, folder, apiserver=apiserver, etcd=etcd, https=True)
        )
        assert made.operator is not None
        assert made.serving is not None
        other = await stack.enter_async_context(version_operator(made.api))
        address = made.operator.url.partition("://")[2]
        running = prometheus.running(folder, made.serving.scraper(), address, other)
        watching = await stack.enter_async_context(running)
        stage = MonitoredStory(story, made, made.operator, watching, asking.now())
        await stage.scraped()
        yield stage
