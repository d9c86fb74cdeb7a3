"""One registry for everything that Prometheus scrapes, and what the rest of the operator reports to.

The gauges of a decision (`families`) are drawn at the first scrape after it, not when it is made: decisions stand
between a fact and the change, and drawing costs as much as deciding. What lasts is computed at the scrape too: a gauge
that is set when work ends shows nothing of work that does not end.

A server or a proxy may answer with any status, so the pairs of code and method that get a series of their own are the
first so many that occur; each later one is counted for its method under the code `other`.
"""

from __future__ import annotations

import sys
import time
import urllib.parse
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

import prometheus_client as prometheus

from topology_api.types import TopologyTransition
from topology_api.vocabulary import CheckName, Phase

from .._version import __version__
from ..decide import records
from ..decide.state import STAGES, Decision
from ..definitions import load
from ..kube import transport
from ..observe import facts
from . import families
from .families import CONTROLLER, ERROR, FAMILIES, LEASE, OTHER, PAIRS, TARGET, TOPOLOGIES, Series

__all__ = ["FAMILIES", "LEASE", "TARGET", "Counts", "Metrics"]

_USUAL = (("200", "GET"), ("201", "POST"), ("200", "PUT"), ("200", "PATCH"))
_MOST = 20


class Metrics:
    """The metrics of one operator process, and of its decisions. `server`: URL of the API server (label `host`)."""

    def __init__(
        self,
        transitions: load.Transitions,
        *,
        lease: str,
        server: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.leads = False
        self._lease = lease
        self._host = urllib.parse.urlsplit(server).netloc.rpartition("@")[2]
        self._clock = clock
        self._next: tuple[Decision, facts.Facts] | None = None
        self._drawn: Mapping[str, tuple[Series, ...]] = families.SILENT
        self.activity: Mapping[str, float] = {}
        """When each open watch last showed a sign of life: Unix time by what it fills, 0 for never."""
        self.ends: dict[str, Callable[[], float | None]] = {}
        """How to learn when the token of a kubeconfig (TARGET or LEASE) ends: Unix time, None for not known."""
        self._since: float | None = None
        self._two_since: float | None = None
        self._waiting = 0
        collector = families.Collector(self._gauges)
        self.registry = prometheus.CollectorRegistry()
        self.registry.register(collector)
        prometheus.ProcessCollector(registry=self.registry)
        self._counts = Counts(collector, transitions)
        self.changed = self._counts.changed
        self.observed = self._counts.observed
        counters, histograms = collector.counters, collector.histograms
        self.restored = counters["topology_store_restored_total"].inc
        self._two_voters = counters["topology_etcd_two_voters_seconds_total"]
        self._opened, self._refused = _results(counters["topology_watch_requests_total"])
        self._requests = counters["rest_client_requests_total"]
        usual = (*_USUAL, *((ERROR, method) for _, method in _USUAL))
        self._pairs = {(code, method): self._requests.labels(code, method, self._host) for code, method in usual}
        self._etcd = counters["topology_etcd_requests_total"]
        for code in ("200", ERROR) if transitions.asks(CheckName.ETCD_MEMBERS_DIRECT) else ():
            self._etcd.labels(code)
        self._succeeded, self._failed = _results(counters["controller_runtime_reconcile_total"], CONTROLLER)
        self._errors = counters["controller_runtime_reconcile_errors_total"].labels(CONTROLLER)
        self._time = histograms["controller_runtime_reconcile_time_seconds"].labels(CONTROLLER)
        self.added = counters["workqueue_adds_total"].labels(CONTROLLER).inc
        self.retried = counters["workqueue_retries_total"].labels(CONTROLLER).inc
        self._queued = histograms["workqueue_queue_duration_seconds"].labels(CONTROLLER)
        self._worked = histograms["workqueue_work_duration_seconds"].labels(CONTROLLER)

    def leading(self, *, leads: bool) -> None:
        """Set whether this process leads. One that does not shows nothing of the cluster."""
        self.leads = leads
        if not leads:
            self._next, self._drawn, self._two_since = None, families.SILENT, None

    def decided(self, decision: Decision, known: facts.Facts) -> None:
        """Show a decision and the facts behind it, as of the next scrape; count the time with two voters until now."""
        self._next = (decision, known)
        # A change of the voters wakes the loop: what the last look saw held until this one, unless it cannot know.
        self._count(two=families.two_voters(decision, known))

    def _count(self, *, two: bool | None) -> None:
        now = self._clock()
        if two is not None and self._two_since is not None:
            self._two_voters.inc(now - self._two_since)
        self._two_since = now if two else None

    def request(self, verb: str, _plural: str, code: str, _seconds: float) -> None:
        """Count a request to the API server; `code` is its HTTP status, or not a number when no answer came."""
        if verb == "watch":
            (self._opened if code.startswith("2") else self._refused).inc()
        pair = (_code(code), transport.METHODS[verb])
        series = self._pairs.get(pair)
        if series is None:
            if len(self._pairs) >= _MOST:
                pair = (OTHER, pair[1])
            series = self._requests.labels(*pair, self._host)
            if pair[0] != OTHER:
                self._pairs[pair] = series
        series.inc()

    def etcd_request(self, code: str) -> None:
        """Count a request to a member of etcd, likewise."""
        self._etcd.labels(families.bounded(_code(code), families.ETCD_CODES)).inc()

    def depth(self, waiting: int) -> None:
        """Set how many deliveries wait."""
        self._waiting = waiting

    def delivered(self, waited: float) -> None:
        """Note that the worker begins with a delivery that has waited so many seconds."""
        self._since = self._clock()
        self._queued.observe(waited)

    def worked(self, seconds: float) -> None:
        """Note that the worker is free again after so many seconds."""
        self._since = None
        self._worked.observe(seconds)

    def reconciled(self, seconds: float, *, ok: bool) -> None:
        """Count a reconciliation that ended after so many seconds."""
        (self._succeeded if ok else self._failed).inc()
        if not ok:
            self._errors.inc()
        self._time.observe(seconds)

    def _gauges(self) -> Mapping[str, Iterable[Series]]:
        """Count the time with two voters until now, and return the series of every gauge by its name."""
        self._count(two=self._two_since is not None)
        if self._next is not None:
            (decision, known), self._next = self._next, None
            self._drawn = families.drawn(decision, known, self._counts.seen)
        lasting = 0.0 if self._since is None else max(0.0, self._clock() - self._since)
        ends = ((kubeconfig, read()) for kubeconfig, read in self.ends.items())
        python = ".".join(str(part) for part in sys.version_info[:3])
        alone = {
            "controller_runtime_active_workers": 0.0 if self._since is None else 1.0,
            "controller_runtime_max_concurrent_reconciles": 1.0,
            "workqueue_depth": float(self._waiting),
            "workqueue_unfinished_work_seconds": lasting,
            "workqueue_longest_running_processor_seconds": lasting,
        }
        return {
            **self._drawn,
            **{name: (((CONTROLLER,), value),) for name, value in alone.items()},
            "topology_watch_last_activity_timestamp_seconds": [((of,), seen) for of, seen in self.activity.items()],
            "topology_credential_expiry_timestamp_seconds": [((of,), end) for of, end in ends if end is not None],
            "topology_operator_build_info": (((__version__, python), 1.0),),
            "leader_election_master_status": (((self._lease,), float(self.leads)),),
        }


def _results(counter: prometheus.Counter, *labels: str) -> tuple[prometheus.Counter, prometheus.Counter]:
    return counter.labels(*labels, "success"), counter.labels(*labels, "error")


def _code(code: str) -> str:
    return families.bounded(code, families.CODES) if code.isdecimal() else ERROR


class Counts:
    """What has happened to transitions since this process began."""

    def __init__(self, collector: families.Collector, transitions: load.Transitions) -> None:
        self.seen: TopologyTransition | None = None  # the transition of another controller
        self.begun: str | bool = False  # was its start counted that this operator may have to follow?
        started, completed, cancelled, rejected = (
            collector.counters[f"topology_transition_{name}_total"]
            for name in ("started", "completed", "cancelled", "rejected")
        )
        self._durations = collector.histograms["topology_transition_phase_duration_seconds"]
        ways = [
            (f"{edge.source_control_plane}/{infrastructure}", edge.target)
            for edge in transitions.edges()
            for infrastructure in edge.source_infrastructures
        ]
        routes = {(source, str(target)) for source, target in ways}
        # A request for another control plane, or for what a definition leads to on other platforms.
        rejections = {(source, target.control_plane) for source, target in ways} | {
            (pair, topology) for pair in PAIRS for topology in TOPOLOGIES - {pair.partition("/")[0]}
        }
        self._entered = {
            Phase.CONVERGING: (started, routes),
            Phase.COMPLETED: (completed, routes),
            Phase.IDLE: (cancelled, routes | {(source, OTHER) for source, _ in ways}),
            Phase.UNSUPPORTED: (rejected, rejections),
        }
        """What is counted when a phase is entered, and the routes that have a series of their own."""
        for counter, known in self._entered.values():
            for route in sorted(known, key=lambda route: (route[1] == OTHER, route)):
                counter.labels(*route)
        for phase in STAGES:
            self._durations.labels(phase.value)

    def changed(
        self, before: TopologyTransition | None, after: TopologyTransition, desired: str | None, now: datetime
    ) -> None:
        """Count a change of phase that was written."""
        was = Phase.IDLE if before is None else before.phase
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
        """Count what another controller is seen to do; None while no other one is in charge."""
        # Only what changes while it is observed: what was there before may have been counted already.
        before = self.seen
        if before is None or seen is None:
            self.seen = seen
            return
        self.begun = seen.phase is Phase.CONVERGING and (before.source is not None or self.begun)
        if before.phase is seen.phase:
            return
        admitted = now if seen.phase is Phase.CONVERGING else None
        source = seen.source or before.source
        after = self.seen = records.updated(seen, source=source, phase_transition_time=now, admitted_time=admitted)
        self._ended(before, now)
        if after.source is not None:
            self._count(before, after, desired)

    def _ended(self, before: TopologyTransition | None, now: datetime) -> None:
        if before is None or before.phase not in STAGES or before.phase_transition_time is None:
            return
        lasted = (now - before.phase_transition_time).total_seconds()
        self._durations.labels(before.phase.value).observe(max(0.0, lasted))

    def _count(self, before: TopologyTransition | None, after: TopologyTransition, desired: str | None) -> None:
        source = str(after.source or (before.source if before else "") or "")
        target = str(after.target or (before.target if before else "") or "")
        asked = before is not None and before.phase.asks and records.cancelled(before, desired)
        if after.phase not in self._entered or (after.phase is Phase.IDLE and not asked):
            return
        counter, known = self._entered[after.phase]
        route = source, (desired or "") if after.phase is Phase.UNSUPPORTED else target
        if route not in known:
            route = (source, OTHER) if (source, OTHER) in known else (OTHER, OTHER)
        counter.labels(*route).inc()
