"""One registry for everything, and what the rest of the operator reports to.

The queue, the client, the lease and the loop report what happens where it happens. The gauges of a decision are drawn
at the first scrape after it, not when it is made: decisions stand between a fact and the change, and drawing costs as
much as deciding. What lasts is computed at the scrape too: a gauge that is set when work ends shows nothing of work
that does not end.

A server or a proxy may answer with any status, so the pairs of code and method that get a series of their own are the
first so many that occur; each later one is counted for its method under the code `other`. In a cluster that is well
there are about ten.
"""

from __future__ import annotations

import sys
import time
import urllib.parse
from typing import TYPE_CHECKING

import prometheus_client as prometheus

from topology_api.vocabulary import CheckName

from ..._version import __version__
from ...kube import transport
from ...observe import facts
from . import counts, families, gauges
from .families import CONTROLLER, ERROR, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ...decide.decision import Decision
    from ...definitions import load
    from .families import Series

_USUAL = (("200", "GET"), ("201", "POST"), ("200", "PUT"), ("200", "PATCH"))
_MOST = 20


class Metrics:
    """The metrics of one operator process, and of the decisions that it makes while it leads.

    `lease` is the name of the lease, `server` the URL of the API server (label `host`); `clock` is monotonic, in
    seconds. `registry` is what is scraped.
    """

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
        self._drawn: Mapping[str, tuple[Series, ...]] = gauges.SILENT
        self._activity: Mapping[str, float] = {}
        self._ends: dict[str, Callable[[], float | None]] = {}
        self._since: float | None = None
        self._two_since: float | None = None
        self._waiting = 0
        collector = families.Collector(self._gauges)
        self.registry = prometheus.CollectorRegistry()
        self.registry.register(collector)
        prometheus.ProcessCollector(registry=self.registry)
        self._counts = counts.Counts(collector, transitions)
        self.changed = self._counts.changed
        self.observed = self._counts.observed
        counters, histograms = collector.counters, collector.histograms
        self._restored = counters["topology_store_restored_total"]
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
        self._adds = counters["workqueue_adds_total"].labels(CONTROLLER)
        self._retries = counters["workqueue_retries_total"].labels(CONTROLLER)
        self._queued = histograms["workqueue_queue_duration_seconds"].labels(CONTROLLER)
        self._worked = histograms["workqueue_work_duration_seconds"].labels(CONTROLLER)

    def leading(self, *, leads: bool) -> None:
        """Set whether this process leads. One that does not shows nothing of the cluster."""
        self.leads = leads
        if not leads:
            self._next, self._drawn = None, gauges.SILENT
            self._two_since = None

    def decided(self, decision: Decision, known: facts.Facts) -> None:
        """Show a decision and the facts behind it, as of the next scrape; count the time with two voters until now."""
        self._next = (decision, known)
        now, two = self._clock(), gauges.two_voters(decision, known)
        # A change of the voters wakes the loop: what the last look saw held until this one, unless it cannot know.
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

    def restored(self) -> None:
        """Count a store that was put back to an earlier state."""
        self._restored.inc()

    def expires(self, kubeconfig: str, read: Callable[[], float | None]) -> None:
        """Set how to learn when the token of a kubeconfig (TARGET or LEASE) ends: Unix time, None for not known."""
        self._ends[kubeconfig] = read

    def watches(self, activity: Mapping[str, float]) -> None:
        """Set when each open watch last showed a sign of life: Unix time by what it fills, 0 for never."""
        self._activity = activity

    def depth(self, waiting: int) -> None:
        """Set how many deliveries wait."""
        self._waiting = waiting

    def added(self) -> None:
        """Count an addition to the queue."""
        self._adds.inc()

    def delivered(self, waited: float) -> None:
        """Note that the worker begins with a delivery that has waited so many seconds."""
        self._since = self._clock()
        self._queued.observe(waited)

    def worked(self, seconds: float) -> None:
        """Note that the worker is free again after so many seconds."""
        self._since = None
        self._worked.observe(seconds)

    def retried(self) -> None:
        """Count a delivery that failed."""
        self._retries.inc()

    def reconciled(self, seconds: float, *, ok: bool) -> None:
        """Count a reconciliation that ended after so many seconds."""
        if ok:
            self._succeeded.inc()
        else:
            self._failed.inc()
            self._errors.inc()
        self._time.observe(seconds)

    def _gauges(self) -> Mapping[str, Iterable[Series]]:
        """Return the series of every gauge by its name, as of now."""
        if self._next is not None:
            (decision, known), self._next = self._next, None
            # Without Infrastructure the decision is Idle for want of a request: that says nothing of the transition.
            blind = isinstance(known.infrastructure, facts.Unobserved)
            going = gauges.SILENT if blind else gauges.of_transition(decision, self._counts.seen)
            self._drawn = {**going, **gauges.of_cluster(decision, known)}
        lasting = 0.0 if self._since is None else max(0.0, self._clock() - self._since)
        ends = ((kubeconfig, read()) for kubeconfig, read in self._ends.items())
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
            "topology_watch_last_activity_timestamp_seconds": [((of,), seen) for of, seen in self._activity.items()],
            "topology_credential_expiry_timestamp_seconds": [((of,), end) for of, end in ends if end is not None],
            "topology_operator_build_info": (((__version__, python), 1.0),),
            "leader_election_master_status": (((self._lease,), float(self.leads)),),
        }


def _results(counter: prometheus.Counter, *labels: str) -> tuple[prometheus.Counter, prometheus.Counter]:
    return counter.labels(*labels, families.SUCCESS), counter.labels(*labels, families.FAILURE)


def _code(code: str) -> str:
    return families.bounded(code, families.CODES) if code.isdecimal() else ERROR
