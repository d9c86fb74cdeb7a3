"""Where the transition is, and what has happened to transitions.

The gauges follow from the last decision alone (`series`), so what belonged to a former stage is gone with it. The
counters count every change of phase that was written (`Counts.changed`), or that another controller was seen to make
(`Counts.observed`), and begin at 0 for every way that a definition knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from topology_api.vocabulary import CheckName, CheckStatus, Phase, Reason, Stage

from ...decide import events
from .family import OTHER, PAIRS, TOPOLOGIES, Family

if TYPE_CHECKING:
    from collections.abc import Container
    from datetime import datetime

    import prometheus_client as prometheus
    from prometheus_client import registry as registries

    from topology_api.types import TopologyTransition

    from ...decide.decision import Decision
    from ...definitions import load
    from .family import Series

_STAGES = frozenset(stage.value for stage in Stage)
_STAGE = {Phase.PENDING: Stage.PREFLIGHT, Phase.ADMITTING: Stage.PREFLIGHT, Phase.CONVERGING: Stage.CONVERGENCE}
_TIMED = (Phase.PENDING, Phase.ADMITTING, Phase.CONVERGING)
"""Phases whose length says something: in the others nothing is under way."""
_ROUTE = {"source": PAIRS | {OTHER}, "target": PAIRS | {OTHER}}
_BUCKETS = (5, 30, 120, 300, 900, 1800, 3600, 14400)

PHASE = Family(
    "topology_transition_phase",
    "gauge",
    "1 for the phase in which the transition is, 0 for the others; all 0 while this process does not lead or cannot "
    "read Infrastructure.",
    {"phase": frozenset(phase.value for phase in Phase)},
)
CHECKS = Family(
    "topology_transition_check_status",
    "gauge",
    "1 for the status that a check of the current stage has, 0 for the others.",
    {
        "check": frozenset(check.value for check in CheckName),
        "stage": _STAGES,
        "status": frozenset(status.value for status in CheckStatus),
    },
)
PROGRESS = Family(
    "topology_transition_progress_ratio",
    "gauge",
    "Share of the checks of the current stage that are met, 0 to 1.",
    {"stage": _STAGES},
)
STUCK = Family(
    "topology_transition_stuck", "gauge", "1 while a transition has not converged by its deadline, otherwise 0."
)
STARTED_AT = Family(
    "topology_transition_started_timestamp_seconds",
    "gauge",
    "Unix time, in seconds, at which the topology was changed by the transition that converges; 0 when none does.",
)
STARTED = Family("topology_transition_started_total", "counter", "Transitions whose topology was changed.", _ROUTE)
COMPLETED = Family("topology_transition_completed_total", "counter", "Transitions that converged.", _ROUTE)
CANCELLED = Family(
    "topology_transition_cancelled_total",
    "counter",
    "Requests cancelled before the topology changed; target is other for a request that no definition leads to.",
    _ROUTE,
)
REJECTED = Family(
    "topology_transition_rejected_total",
    "counter",
    "Requests that no definition leads to from where the cluster is; target is the topology that was requested.",
    {"source": PAIRS | {OTHER}, "target": TOPOLOGIES | {OTHER}},
)
DURATION = Family(
    "topology_transition_phase_duration_seconds",
    "histogram",
    "How long phases lasted in which something is under way, in seconds, observed when they end.",
    {"phase": frozenset(phase.value for phase in _TIMED)},
)
GAUGES: Final = (PHASE, CHECKS, PROGRESS, STUCK, STARTED_AT)
FAMILIES: Final = (*GAUGES, STARTED, COMPLETED, CANCELLED, REJECTED, DURATION)

SILENT: Final[dict[str, tuple[Series, ...]]] = {
    PHASE.name: tuple(((phase.value,), 0.0) for phase in Phase),
    STUCK.name: (((), 0.0),),
    STARTED_AT.name: (((), 0.0),),
}
"""What the gauges show before the first decision, and while this process does not lead or is blind."""


def series(decision: Decision, observed: TopologyTransition | None) -> dict[str, tuple[Series, ...]]:
    """Series of every gauge by its name; `observed` is the transition of another controller that is in charge."""
    stage = _STAGE.get(decision.phase)
    # The decision that completes a transition still carries the answers that it rests on: they are of the stage before.
    answers = {} if stage is None else {answer.name: answer.status for answer in decision.results}
    met = sum(status is CheckStatus.MET for status in answers.values())
    stuck = decision.degraded is not None and decision.degraded.reason is Reason.TRANSITION_STUCK
    return {
        PHASE.name: tuple(((phase.value,), float(phase is decision.phase)) for phase in Phase),
        CHECKS.name: tuple(
            ((name.value, str(stage), possible.value), float(possible is status))
            for name, status in answers.items()
            for possible in CheckStatus
        ),
        PROGRESS.name: (((str(stage),), met / len(answers)),) if answers else (),
        STUCK.name: (((), float(stuck)),),
        STARTED_AT.name: (((), _started_at(decision, observed)),),
    }


def _started_at(decision: Decision, observed: TopologyTransition | None) -> float:
    record = decision.record if decision.observed is None else observed
    if decision.phase is not Phase.CONVERGING or record is None or record.admitted_time is None:
        return 0.0
    return record.admitted_time.timestamp()


class Counts:
    """What has happened to transitions since this process began.

    `seen` is where the transition of another controller was last seen.
    """

    def __init__(self, registry: registries.CollectorRegistry, transitions: load.Transitions) -> None:
        self.seen: TopologyTransition | None = None
        self._started = STARTED.counter(registry)
        self._completed = COMPLETED.counter(registry)
        self._cancelled = CANCELLED.counter(registry)
        self._rejected = REJECTED.counter(registry)
        self._durations = DURATION.histogram(registry, _BUCKETS)
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
        for phase in _TIMED:
            self._durations.labels(phase.value)

    def changed(
        self, before: TopologyTransition | None, after: TopologyTransition, desired: str | None, now: datetime
    ) -> None:
        """Count a change of phase that was written."""
        was = _phase(before)
        if was is after.phase:
            return
        self._ended(before, now)
        # A record that goes from elsewhere to Converging was lost and rebuilt: it had been counted.
        if after.phase is not Phase.CONVERGING or was is Phase.ADMITTING:
            self._count(before, after, desired)

    def observed(self, seen: TopologyTransition | None, desired: str | None, now: datetime) -> None:
        """Count what another controller is seen to do; None while no other one is in charge.

        Only what changes while it is observed: what was there before may have been counted already.
        """
        before = self.seen
        if before is None or seen is None:
            self.seen = seen
            return
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
        if before is None or before.phase not in _TIMED or before.phase_transition_time is None:
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
        elif (
            after.phase is Phase.IDLE
            and _phase(before) in {Phase.PENDING, Phase.ADMITTING, Phase.UNSUPPORTED}
            and events.cancelled(before, desired)
        ):
            if (source, target) not in self._routes and source in self._sources:
                self._cancelled.labels(source, OTHER).inc()
            else:
                _add(self._cancelled, (source, target), self._routes)


def _add(counter: prometheus.Counter, route: tuple[str, str], known: Container[tuple[str, str]]) -> None:
    counter.labels(*(route if route in known else (OTHER, OTHER))).inc()


def _phase(record: TopologyTransition | None) -> Phase:
    return Phase.IDLE if record is None else record.phase
