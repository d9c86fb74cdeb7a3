"""The queries of the dashboards, and whether they have data when they should.

They are read from the one source of both dashboards (hack/observability/dashboard.yaml), where each says in which
phases of which story it has data. Nothing is exempt: a query without a story that shows its data is a line that nobody
has ever seen.
"""

from __future__ import annotations

import collections
import pathlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from test.observability import asking, monitoring

if TYPE_CHECKING:
    from test.observability import monitored_story

SOURCE = pathlib.Path(__file__).parents[2] / "hack" / "observability" / "dashboard.yaml"
FLEET = SOURCE.with_name("fleet.yaml")
"""The source of the dashboard of a hub; `test_a_large_fleet` executes its queries."""
HAPPY_PATH, LEARNER_STUCK = "happy-path", "learner-stuck"
STORIES = (HAPPY_PATH, LEARNER_STUCK)
"""The stories whose tests ask for their queries."""
PHASES = ("Idle", "Pending", "Converging", "Completed")
"""The phases of a story that last for more than a scrape, and so what a query without `data` has to have data in."""
_PHASE = "max by (phase) (topology_transition_phase) == 1"


@dataclass(frozen=True, slots=True)
class Query:
    """One query of one panel."""

    panel: str
    kind: str
    number: int
    text: str
    story: str
    phases: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.panel}, {self.number}"


def source() -> dict[str, Any]:
    """Read what both dashboards are made from."""
    found: dict[str, Any] = yaml.safe_load(SOURCE.read_text())
    return found


def queries(story: str | None = None) -> list[Query]:
    """Return the queries of every panel, or those that a story has to show."""
    found = []
    for row in source()["rows"]:
        for panel in row["panels"]:
            for number, query in enumerate(panel["queries"], start=1):
                data = {**panel.get("data", {}), **query.get("data", {})}
                phases = tuple(data.get("phases", PHASES))
                told = data.get("story", HAPPY_PATH)
                found.append(Query(panel["title"], panel["kind"], number, query["expr"], told, phases))
    return [one for one in found if story in {None, one.story}]


async def fault(seen: monitored_story.MonitoredStory, query: Query) -> str:
    """Return what is wrong with a query after its story was played; empty when all is well. Raises QueryError."""
    start, end = seen.began, asking.now()
    text = monitoring.expression(query.text)
    phases = await seen.prometheus.query_range(_PHASE, start, end)
    shown = await seen.prometheus.query_range(text, start, end)
    times = {moment for one in shown for moment, _ in one.points}
    lasted = {one.labels["phase"]: {moment for moment, _ in one.points} for one in phases}
    missing = [phase for phase in query.phases if times.isdisjoint(lasted.get(phase, ()))]
    if missing:
        within = sorted(phase for phase, moments in lasted.items() if not times.isdisjoint(moments))
        return f"{query}: no data in {missing}, data in {within}\n{text}"
    return _clash(query, shown)


def _clash(query: Query, shown: list[asking.Series]) -> str:
    """Say where the console would show one row or number instead of two."""
    if query.kind not in {"table", "stat"}:
        return ""
    at: dict[float, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for one in shown:
        row = "" if query.kind == "stat" else next(iter(sorted(one.labels.items())), ("", ""))[1]
        for moment, _ in one.points:
            at[moment][row] += 1
    twice = sorted({row for counted in at.values() for row, times in counted.items() if times > 1})
    return f"{query}: more than one value at the same time for {twice}" if twice else ""
