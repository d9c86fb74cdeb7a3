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

import functools
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
_RECONCILE_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0)
_QUEUE_BUCKETS = (0.001, 0.01, 0.1, 1.0, 10.0)


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
        self.registry = registry = prometheus.CollectorRegistry()
        self._next: tuple[Decision, facts.Facts] | None = None
        self._drawn: Mapping[str, tuple[Series, ...]] = gauges.SILENT
        for gauge in (*families.OF_TRANSITION, *families.OF_CLUSTER):
            gauge.shown(registry, functools.partial(self._series, gauge.name))
        self._counts = counts.Counts(registry, transitions)
        self.changed = self._counts.changed
        self.observed = self._counts.observed
        host = urllib.parse.urlsplit(server).netloc.rpartition("@")[2]
        etcd = transitions.asks(CheckName.ETCD_MEMBERS_DIRECT)
        self.leads = False
        self._host = host
        self._clock = clock
        self._activity: Mapping[str, float] = {}
        self._since: float | None = None
        self._waiting = 0
        families.ACTIVITY.shown(
            registry, lambda: (((resource,), moment) for resource, moment in self._activity.items())
        )
        self._ends: dict[str, Callable[[], float | None]] = {}
        families.CREDENTIAL.shown(registry, self._expiries)
        openings = families.OPENINGS.counter(registry)
        self._openings = {ok: openings.labels(result) for ok, result in families.RESULTS.items()}
        self._restored = families.RESTORED.counter(registry)
        self._requests = families.REQUESTS.counter(registry)
        usual = (*_USUAL, *((ERROR, method) for _, method in _USUAL))
        self._pairs = {(code, method): self._requests.labels(code, method, host) for code, method in usual}
        self._etcd = families.ETCD_REQUESTS.counter(registry)
        for code in ("200", ERROR) if etcd else ():
            self._etcd.labels(code)
        reconciles = families.RECONCILES.counter(registry)
        self._results = {ok: reconciles.labels(CONTROLLER, result) for ok, result in families.RESULTS.items()}
        self._errors = families.ERRORS.counter(registry).labels(CONTROLLER)
        self._time = families.TIME.histogram(registry, _RECONCILE_BUCKETS).labels(CONTROLLER)
        families.ACTIVE.shown(registry, lambda: (((CONTROLLER,), 0.0 if self._since is None else 1.0),))
        families.CONCURRENT.shown(registry, lambda: (((CONTROLLER,), 1.0),))
        families.DEPTH.shown(registry, lambda: (((CONTROLLER,), float(self._waiting)),))
        self._adds = families.ADDS.counter(registry).labels(CONTROLLER)
        self._retries = families.RETRIES.counter(registry).labels(CONTROLLER)
        self._queued = families.QUEUED.histogram(registry, _QUEUE_BUCKETS).labels(CONTROLLER)
        self._worked = families.WORKED.histogram(registry, _QUEUE_BUCKETS).labels(CONTROLLER)
        families.UNFINISHED.shown(registry, self._lasting)
        families.LONGEST.shown(registry, self._lasting)
        version = (__version__, ".".join(str(part) for part in sys.version_info[:3]))
        families.BUILD.shown(registry, lambda: ((version, 1.0),))
        families.LEADER.shown(registry, lambda: (((lease,), float(self.leads)),))
        prometheus.ProcessCollector(registry=registry)

    def leading(self, *, leads: bool) -> None:
        """Set whether this process leads. One that does not shows nothing of the cluster."""
        self.leads = leads
        if not leads:
            self._next, self._drawn = None, gauges.SILENT

    def decided(self, decision: Decision, known: facts.Facts) -> None:
        """Show a decision and the facts behind it, as of the next scrape."""
        self._next = (decision, known)

    def request(self, verb: str, _plural: str, code: str, _seconds: float) -> None:
        """Count a request to the API server; `code` is its HTTP status, or not a number when no answer came."""
        if verb == "watch":
            self._openings[code.startswith("2")].inc()
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
        self._results[ok].inc()
        if not ok:
            self._errors.inc()
        self._time.observe(seconds)

    def _expiries(self) -> Iterable[Series]:
        ends = ((kubeconfig, read()) for kubeconfig, read in self._ends.items())
        return [((kubeconfig,), end) for kubeconfig, end in ends if end is not None]

    def _series(self, name: str) -> Iterable[Series]:
        if self._next is not None:
            (decision, known), self._next = self._next, None
            # Without Infrastructure the decision is Idle for want of a request: that says nothing of the transition.
            blind = isinstance(known.infrastructure, facts.Unobserved)
            going = gauges.SILENT if blind else gauges.of_transition(decision, self._counts.seen)
            self._drawn = {**going, **gauges.of_cluster(decision, known)}
        return self._drawn.get(name, ())

    def _lasting(self) -> Iterable[Series]:
        lasting = 0.0 if self._since is None else max(0.0, self._clock() - self._since)
        return (((CONTROLLER,), lasting),)


def _code(code: str) -> str:
    return families.bounded(code, families.CODES) if code.isdecimal() else ERROR
