"""What has happened to transitions, counted.

Every change of phase that was written is counted (`changed`), and every one that another controller was seen to make
(`observed`). Counters begin at 0 for every way that a definition knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import Phase

from ...decide import events
from . import families
from .families import OTHER, PAIRS, TOPOLOGIES

if TYPE_CHECKING:
    from collections.abc import Container
    from datetime import datetime

    import prometheus_client as prometheus

    from topology_api.types import TopologyTransition

    from ...definitions import load


class Counts:
    """What has happened to transitions since this process began.

    `seen` is where the transition of another controller was last seen, `begun` whether its start was counted that this
    operator may have to follow.
    """

    def __init__(self, collector: families.Collector, transitions: load.Transitions) -> None:
        self.seen: TopologyTransition | None = None
        self.begun: str | bool = False
        self._started = collector.counters["topology_transition_started_total"]
        self._completed = collector.counters["topology_transition_completed_total"]
        self._cancelled = collector.counters["topology_transition_cancelled_total"]
        self._rejected = collector.counters["topology_transition_rejected_total"]
        self._durations = collector.histograms["topology_transition_phase_duration_seconds"]
        ways = [
            (f"{edge.source_control_plane}/{infrastructure}", edge.target)
            for edge in transitions.edges()
            for infrastructure in edge.source_infrastructures
        ]
        self._routes = {(source, str(target)) for source, target in ways}
        self._sources = {source for source, _ in ways}
        # A request for another control plane, or for what a definition leads to on other platforms.
        self._rejections = {(source, target.control_plane) for source, target in ways} | {
            (pair, topology) for pair in PAIRS for topology in TOPOLOGIES - {pair.partition("/")[0]}
        }
        for route in sorted(self._routes):
            for counter in (self._started, self._completed, self._cancelled):
                counter.labels(*route)
        for source in sorted(self._sources):
            self._cancelled.labels(source, OTHER)
        for rejection in sorted(self._rejections):
            self._rejected.labels(*rejection)
        for phase in families.TIMED:
            self._durations.labels(phase.value)

    def changed(
        self, before: TopologyTransition | None, after: TopologyTransition, desired: str | None, now: datetime
    ) -> None:
        """Count a change of phase that was written."""
        was = _phase(before)
        if was is after.phase:
            return
        self._ended(before, now)
        # A record that goes from elsewhere to Converging was lost and rebuilt: it had been counted. Or the native
        # controller had made the change, and it may have been seen to.
        counted = self.begun in {True, after.attempt} if after.by_native else was is not Phase.ADMITTING
        if after.phase is not Phase.CONVERGING or not counted:
            self._count(before, after, desired)
        if after.phase is Phase.CONVERGING:
            self.begun = after.attempt or False

    def observed(self, seen: TopologyTransition | None, desired: str | None, now: datetime) -> None:
        """Count what another controller is seen to do; None while no other one is in charge.

        Only what changes while it is observed: what was there before may have been counted already.
        """
        before = self.seen
        if before is None or seen is None:
            self.seen = seen
            return
        self.begun = seen.phase is Phase.CONVERGING and (before.source is not None or self.begun)
        if before.phase is seen.phase:
            return
        after = self.seen = seen.model_copy(
            update={
                "source": seen.source or before.source,
                "phase_transition_time": now,
                "admitted_time": now if seen.phase is Phase.CONVERGING else None,
            }
        )
        self._ended(before, now)
        if after.source is not None:
            self._count(before, after, desired)

    def _ended(self, before: TopologyTransition | None, now: datetime) -> None:
        if before is None or before.phase not in families.TIMED or before.phase_transition_time is None:
            return
        lasted = (now - before.phase_transition_time).total_seconds()
        self._durations.labels(before.phase.value).observe(max(0.0, lasted))

    def _count(self, before: TopologyTransition | None, after: TopologyTransition, desired: str | None) -> None:
        source = str(after.source or (before.source if before else "") or "")
        target = str(after.target or (before.target if before else "") or "")
        if after.phase is Phase.CONVERGING:
            _add(self._started, (source, target), self._routes)
        elif after.phase is Phase.COMPLETED:
            _add(self._completed, (source, target), self._routes)
        elif after.phase is Phase.UNSUPPORTED:
            _add(self._rejected, (source, desired or ""), self._rejections)
        elif after.phase is Phase.IDLE and _phase(before).asks and events.cancelled(before, desired):
            if (source, target) not in self._routes and source in self._sources:
                self._cancelled.labels(source, OTHER).inc()
            else:
                _add(self._cancelled, (source, target), self._routes)


def _add(counter: prometheus.Counter, route: tuple[str, str], known: Container[tuple[str, str]]) -> None:
    counter.labels(*(route if route in known else (OTHER, OTHER))).inc()


def _phase(record: TopologyTransition | None) -> Phase:
    return Phase.IDLE if record is None else record.phase
