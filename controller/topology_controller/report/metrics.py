"""Everything that Prometheus scrapes (DESIGN section 8).

One registry, made by `Metrics`, so that a test can have its own. Gauges of facts are absent while the facts are not
observed; counters, and the gauge of the phase, start at 0, so that an alert never waits for a first series. No label
has a value that a cluster could make up. The names that users of controller-runtime know are kept for what every
controller has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import prometheus_client as prometheus
from prometheus_client import registry as registries

from topology_api.vocabulary import CheckName, CheckStatus, Phase, Reason, Stage, Topology

from ..checks import etcd, nodes
from ..decide import happenings
from ..observe import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from topology_api.types import TopologyTransition

    from ..decide.decision import Decision
    from ..transitions import load

# A series for the birth of every counter doubles what is scraped and tells nothing that `up` does not.
prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]  # the library left its annotation out

_PHASE_BUCKETS = (1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400)
_WORK_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class _Renewal(registries.Collector):
    """Comes first in the registry and has no metric: has the gauges of the last decision set when somebody asks."""

    def __init__(self, renew: Callable[[], None]) -> None:
        self._renew = renew

    def describe(self) -> Iterable[prometheus.Metric]:
        """Nothing: being registered is not being asked."""
        return ()

    def collect(self) -> Iterable[prometheus.Metric]:
        """Set the gauges that come after it."""
        self._renew()
        return ()


class Metrics:
    """The metrics of one operator process."""

    def __init__(self, transitions: load.Transitions, *, lease: str) -> None:
        self.registry = prometheus.CollectorRegistry()
        registry = self.registry
        self._shown: tuple[Decision, facts.Facts] | None = None
        self._observed: TopologyTransition | None = None
        registry.register(_Renewal(self._renew))
        prometheus.ProcessCollector(registry=registry)
        self._phase = prometheus.Gauge(
            "topology_transition_phase", "1 for the phase of the transition, 0 for the others.", ["phase"],
            registry=registry,
        )  # fmt: skip
        self._checks = prometheus.Gauge(
            "topology_transition_check_status", "1 for the status of a check of the current stage.",
            ["check", "stage", "status"], registry=registry,
        )  # fmt: skip
        self._progress = prometheus.Gauge(
            "topology_transition_progress_ratio", "Share of the checks of a stage that are met.", ["stage"],
            registry=registry,
        )  # fmt: skip
        route = ["source", "target"]
        self._started = prometheus.Counter(
            "topology_transition_started", "Transitions whose topology was moved.", route, registry=registry
        )
        self._completed = prometheus.Counter(
            "topology_transition_completed", "Transitions that converged.", route, registry=registry
        )
        self._cancelled = prometheus.Counter(
            "topology_transition_cancelled",
            "Wishes withdrawn before the topology moved.",
            route,
            registry=registry,
        )
        self._rejected = prometheus.Counter(
            "topology_transition_rejected", "Wishes that no definition leads to.", route, registry=registry
        )
        self._stuck = prometheus.Gauge(
            "topology_transition_stuck",
            "1 while a transition has not converged by its deadline.",
            registry=registry,
        )
        self._durations = prometheus.Histogram(
            "topology_transition_phase_duration_seconds", "How long phases lasted.", ["phase"],
            buckets=_PHASE_BUCKETS, registry=registry,
        )  # fmt: skip
        self._started_at = prometheus.Gauge(
            "topology_transition_started_timestamp_seconds",
            "Unix time at which the topology was moved; 0 when no transition is under way.",
            registry=registry,
        )
        self._nodes = prometheus.Gauge(
            "topology_control_plane_nodes", "Control-plane nodes by what they are fit for.", ["state"],
            registry=registry,
        )  # fmt: skip
        self._members = prometheus.Gauge(
            "topology_etcd_members",
            "etcd members as the etcd operator lists them.",
            ["role"],
            registry=registry,
        )
        self._info = prometheus.Gauge(
            "topology_info", "1, with the topology of the cluster and what is wanted.",
            ["desired", "control_plane", "infrastructure", "shape"], registry=registry,
        )  # fmt: skip
        self._activity = prometheus.Gauge(
            "topology_watch_last_activity_timestamp_seconds", "Unix time of the last sign of life of a watch.",
            ["resource"], registry=registry,
        )  # fmt: skip
        self._reconciles = prometheus.Counter(
            "controller_runtime_reconcile",
            "Reconciliations by result.",
            ["controller", "result"],
            registry=registry,
        )
        self._reconcile_errors = prometheus.Counter(
            "controller_runtime_reconcile_errors",
            "Reconciliations that failed.",
            ["controller"],
            registry=registry,
        )
        self._reconcile_time = prometheus.Histogram(
            "controller_runtime_reconcile_time_seconds", "How long reconciliations took.", ["controller"],
            buckets=_WORK_BUCKETS, registry=registry,
        )  # fmt: skip
        self._depth = prometheus.Gauge("workqueue_depth", "Deliveries that wait.", ["name"], registry=registry)
        self._adds = prometheus.Counter("workqueue_adds", "Additions.", ["name"], registry=registry)
        self._retries = prometheus.Counter("workqueue_retries", "Retries.", ["name"], registry=registry)
        self._queued = prometheus.Histogram(
            "workqueue_queue_duration_seconds", "How long deliveries waited.", ["name"], buckets=_WORK_BUCKETS,
            registry=registry,
        )  # fmt: skip
        self._worked = prometheus.Histogram(
            "workqueue_work_duration_seconds", "How long the work took.", ["name"], buckets=_WORK_BUCKETS,
            registry=registry,
        )  # fmt: skip
        self._requests = prometheus.Counter(
            "rest_client_requests",
            "Requests to the API server.",
            ["verb", "resource", "code"],
            registry=registry,
        )
        self._leader = prometheus.Gauge(
            "leader_election_master_status", "1 while this process leads.", ["name"], registry=registry
        )
        self._lease = lease
        self._leader.labels(lease).set(0)
        for phase in Phase:
            self._phase.labels(phase.value).set(0)
        self._stuck.set(0)
        for verdict in ("success", "error"):
            self._reconciles.labels("topology", verdict)
        self._reconcile_errors.labels("topology")
        for definition in transitions.definitions:
            target = str(definition.target.pair)
            for infrastructure in definition.source.infrastructure:
                source = f"{definition.source.control_plane}/{infrastructure}"
                for counter in (self._started, self._completed, self._cancelled):
                    counter.labels(source, target)
                for wish in Topology:
                    # What is rejected leads nowhere, so there is a wish and no pair.
                    self._rejected.labels(source, wish.value)

    # The work queue's observer.
    def depth(self, waiting: int) -> None:
        """Set how many deliveries wait."""
        self._depth.labels("topology").set(waiting)

    def added(self) -> None:
        """Count an addition."""
        self._adds.labels("topology").inc()

    def delivered(self, waited: float) -> None:
        """Observe how long a delivery waited, in seconds."""
        self._queued.labels("topology").observe(waited)

    def worked(self, seconds: float) -> None:
        """Observe how long the work took, in seconds."""
        self._worked.labels("topology").observe(seconds)

    def retried(self) -> None:
        """Count a retry."""
        self._retries.labels("topology").inc()

    # The client's observer.
    def request(self, verb: str, plural: str, code: str, _seconds: float) -> None:
        """Count a request."""
        self._requests.labels(verb, plural, code).inc()

    def leading(self, *, leads: bool) -> None:
        """Say whether this process leads."""
        self._leader.labels(self._lease).set(1 if leads else 0)

    def reconciled(self, seconds: float, *, ok: bool) -> None:
        """Count a reconciliation and its time."""
        self._reconciles.labels("topology", "success" if ok else "error").inc()
        if not ok:
            self._reconcile_errors.labels("topology").inc()
        self._reconcile_time.labels("topology").observe(seconds)

    def watches(self, activity: dict[str, float]) -> None:
        """Say when each open watch last showed a sign of life (Unix time, 0: never)."""
        self._activity.clear()
        for field, moment in activity.items():
            self._activity.labels(field).set(moment)

    def decided(self, decision: Decision, known: facts.Facts) -> None:
        """Show what was decided and what it was decided from, as of the next scrape.

        Not now: decisions stand between a fact and the flip, and setting some fifty gauges costs as much as deciding.
        """
        self._shown = (decision, known)

    def _renew(self) -> None:
        if self._shown is None:
            return
        (decision, known), self._shown = self._shown, None
        for phase in Phase:
            self._phase.labels(phase.value).set(1 if phase is decision.phase else 0)
        stage = Stage.CONVERGENCE if decision.phase is Phase.CONVERGING else Stage.PREFLIGHT
        self._checks.clear()
        self._progress.clear()
        for answer in decision.results:
            for status in CheckStatus:
                self._checks.labels(answer.name.value, stage.value, status.value).set(
                    1 if answer.status is status else 0
                )
        if decision.results:
            met = sum(answer.met for answer in decision.results)
            self._progress.labels(stage.value).set(met / len(decision.results))
        stuck = decision.degraded is not None and decision.degraded.reason is Reason.TRANSITION_STUCK
        self._stuck.set(1 if stuck else 0)
        under_way = decision.phase is Phase.CONVERGING and decision.record is not None
        admitted = decision.record.admitted_time if under_way and decision.record is not None else None
        if decision.observed is not None and self._observed is not None and decision.phase is Phase.CONVERGING:
            admitted = self._observed.admitted_time
        self._started_at.set(admitted.timestamp() if admitted is not None else 0)
        self._facts(decision, known)

    def moved(
        self, before: TopologyTransition | None, after: TopologyTransition, wish: str | None, now: datetime
    ) -> None:
        """Count a change of phase that was written."""
        was = before.phase if before is not None else Phase.IDLE
        if was is after.phase:
            return
        self._ended(before, now)
        # A record that goes from elsewhere to Converging was lost and rebuilt: it had been counted.
        if after.phase is not Phase.CONVERGING or was is Phase.ADMITTING:
            self._count(before, after, wish)

    def observed(self, found: TopologyTransition | None, wish: str | None, now: datetime) -> None:
        """Count what another controller is seen to do; None while nobody else is in charge.

        Only what changes before our eyes: what stood there when we came may have been counted already.
        """
        before = self._observed
        if before is None or found is None:
            self._observed = found
            return
        if before.phase is found.phase:
            return
        after = found.model_copy(
            update={
                "source": found.source or before.source,
                "phase_transition_time": now,
                "admitted_time": now if found.phase is Phase.CONVERGING else None,
            }
        )
        self._observed = after
        self._ended(before, now)
        if after.source is not None:
            self._count(before, after, wish)

    def _ended(self, before: TopologyTransition | None, now: datetime) -> None:
        if before is not None and before.phase_transition_time is not None:
            lasted = (now - before.phase_transition_time).total_seconds()
            self._durations.labels(before.phase.value).observe(max(0.0, lasted))

    def _count(self, before: TopologyTransition | None, after: TopologyTransition, wish: str | None) -> None:
        was = before.phase if before is not None else Phase.IDLE
        source = str(after.source or (before.source if before else "") or "")
        target = str(after.target or (before.target if before else "") or "")
        if after.phase is Phase.CONVERGING:
            self._started.labels(source, target).inc()
        elif after.phase is Phase.COMPLETED:
            self._completed.labels(source, target).inc()
        elif after.phase is Phase.UNSUPPORTED:
            self._rejected.labels(source, wish if wish in set(Topology) else "other").inc()
        elif (
            after.phase is Phase.IDLE
            and was in {Phase.PENDING, Phase.ADMITTING, Phase.UNSUPPORTED}
            and happenings.withdrawn(before, wish)
        ):
            self._cancelled.labels(source, target).inc()

    def _facts(self, decision: Decision, known: facts.Facts) -> None:
        self._info.clear()
        infrastructure = known.infrastructure
        if isinstance(infrastructure, facts.Infrastructure):
            self._info.labels(
                infrastructure.desired or "",
                infrastructure.control_plane or "",
                infrastructure.infrastructure or "",
                "",
            ).set(1)
        self._nodes.clear()
        found = known.control_plane_nodes
        if isinstance(found, tuple):
            whole = [node for node in found if isinstance(node, facts.Node)]
            self._nodes.labels("present").set(len(whole))
            self._nodes.labels("ready").set(sum(node.ready == "True" for node in whole))
            self._nodes.labels("schedulable").set(sum(not node.cordoned and not node.taints for node in whole))
            for spec in decision.definition.preflight if decision.definition else ():
                if spec.check is CheckName.CONTROL_PLANE_NODES and decision.definition:
                    fit = nodes.candidates(known, spec, decision.definition)
                    if isinstance(fit, dict):
                        self._nodes.labels("eligible").set(sum(why is None for why in fit.values()))
        self._members.clear()
        voters = etcd.members(known)
        if isinstance(voters, dict):
            self._members.labels("voter").set(len(voters))
