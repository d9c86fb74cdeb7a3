"""Reconciliations, requests, watches, build and leadership of one process.

Names are those that users of controller-runtime and client-go know. There is one controller, one worker and one key, so
each metric of the queue has one series. What lasts is computed at the scrape: a gauge that is set when work ends shows
nothing of work that does not end.

A server or a proxy may answer with any status, so the pairs of code and method that get a series of their own are the
first so many that occur; each later one is counted for its method under the code `other`. In a cluster that is well
there are about ten.
"""

from __future__ import annotations

import http
import sys
from typing import TYPE_CHECKING, Final

import prometheus_client as prometheus

from ..._version import __version__
from ...kube import transport
from . import family
from .family import Family

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prometheus_client import registry as registries

ERROR: Final = "<error>"
"""The code that client-go gives to a request without an answer."""
_CODES = frozenset(str(status.value) for status in http.HTTPStatus) | {ERROR, family.OTHER}
_USUAL = (("200", "GET"), ("201", "POST"), ("200", "PUT"), ("200", "PATCH"))
_MOST = 20
_ETCD_CODES = frozenset({"200", "401", "403", "503", ERROR, family.OTHER})
_NAME = "topology"
"""The one controller and its one queue."""
_CONTROLLER = {"controller": frozenset({_NAME})}
_QUEUE = {"name": frozenset({_NAME})}
_RESULTS = {True: "success", False: "error"}
_RECONCILE_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0)
_QUEUE_BUCKETS = (0.001, 0.01, 0.1, 1.0, 10.0)

ACTIVITY = Family(
    "topology_watch_last_activity_timestamp_seconds",
    "gauge",
    "Unix time, in seconds, of the last sign of life (list, event or bookmark) of each open watch; 0 before the first.",
    {"resource": None},
)
OPENINGS = Family(
    "topology_watch_requests_total",
    "counter",
    "Watches that were asked for, by whether they were opened; each lives for about an hour when all is well.",
    {"result": frozenset(_RESULTS.values())},
)
REQUESTS = Family(
    "rest_client_requests_total",
    "counter",
    "Requests to the API server by HTTP status, method and host; <error> when no answer came.",
    {"code": _CODES, "method": frozenset(transport.METHODS.values()), "host": None},
)
ETCD_REQUESTS = Family(
    "topology_etcd_requests_total",
    "counter",
    "Requests to members of etcd by HTTP status; <error> when no answer came in time.",
    {"code": _ETCD_CODES},
)
RECONCILES = Family(
    "controller_runtime_reconcile_total",
    "counter",
    "Reconciliations that ended, by result; one that failed is tried again.",
    {**_CONTROLLER, "result": frozenset(_RESULTS.values())},
)
ERRORS = Family("controller_runtime_reconcile_errors_total", "counter", "Reconciliations that failed.", _CONTROLLER)
TIME = Family(
    "controller_runtime_reconcile_time_seconds",
    "histogram",
    "How long reconciliations took, in seconds, live reads and writes included.",
    _CONTROLLER,
)
ACTIVE = Family(
    "controller_runtime_active_workers", "gauge", "Workers that reconcile at this moment: 0 or 1.", _CONTROLLER
)
CONCURRENT = Family(
    "controller_runtime_max_concurrent_reconciles",
    "gauge",
    "Workers that there can be: always 1, because there is one cluster to reconcile.",
    _CONTROLLER,
)
DEPTH = Family("workqueue_depth", "gauge", "Deliveries that wait for the worker: 0 or 1.", _QUEUE)
ADDS = Family(
    "workqueue_adds_total", "counter", "Additions to the queue; what waits already is not added again.", _QUEUE
)
RETRIES = Family("workqueue_retries_total", "counter", "Deliveries that failed and are to be repeated.", _QUEUE)
QUEUED = Family(
    "workqueue_queue_duration_seconds", "histogram", "How long deliveries waited for the worker, in seconds.", _QUEUE
)
WORKED = Family(
    "workqueue_work_duration_seconds", "histogram", "How long the worker was busy with a delivery, in seconds.", _QUEUE
)
UNFINISHED = Family(
    "workqueue_unfinished_work_seconds",
    "gauge",
    "Seconds since work began that has not ended, 0 when there is none; with one worker the same as "
    "workqueue_longest_running_processor_seconds.",
    _QUEUE,
)
LONGEST = Family(
    "workqueue_longest_running_processor_seconds",
    "gauge",
    "Seconds for which the worker has been busy with one delivery, 0 while it waits for one.",
    _QUEUE,
)
BUILD = Family(
    "topology_operator_build_info",
    "gauge",
    "Always 1; the labels tell the version of the operator and of the Python that runs it.",
    {"version": None, "python_version": None},
)
LEADER = Family(
    "leader_election_master_status",
    "gauge",
    "1 while this process holds the lease of that name and acts, or acts without an election; 0 while it stands by.",
    {"name": None},
)
FAMILIES: Final = (
    ACTIVITY, OPENINGS, REQUESTS, ETCD_REQUESTS,
    RECONCILES, ERRORS, TIME, ACTIVE, CONCURRENT,
    DEPTH, ADDS, RETRIES, QUEUED, WORKED, UNFINISHED, LONGEST,
    BUILD, LEADER,
)  # fmt: skip


class Process:
    """Observes the client, the watches, the queue and the loop of one process.

    `host` is the API server as it stands in a URL, `etcd` whether etcd is asked as well, `lease` the name of the lease;
    `clock` is monotonic, in seconds.
    """

    def __init__(
        self, registry: registries.CollectorRegistry, *, host: str, etcd: bool, lease: str, clock: Callable[[], float]
    ) -> None:
        self.registry = registry
        self.leads = False
        self._host = host
        self._clock = clock
        self._activity: Mapping[str, float] = {}
        self._since: float | None = None
        self._waiting = 0
        ACTIVITY.shown(registry, lambda: (((resource,), moment) for resource, moment in self._activity.items()))
        openings = OPENINGS.counter(registry)
        self._openings = {ok: openings.labels(result) for ok, result in _RESULTS.items()}
        self._requests = REQUESTS.counter(registry)
        usual = (*_USUAL, *((ERROR, method) for _, method in _USUAL))
        self._pairs = {(code, method): self._requests.labels(code, method, host) for code, method in usual}
        self._etcd = ETCD_REQUESTS.counter(registry)
        for code in ("200", ERROR) if etcd else ():
            self._etcd.labels(code)
        reconciles = RECONCILES.counter(registry)
        self._results = {ok: reconciles.labels(_NAME, result) for ok, result in _RESULTS.items()}
        self._errors = ERRORS.counter(registry).labels(_NAME)
        self._time = TIME.histogram(registry, _RECONCILE_BUCKETS).labels(_NAME)
        ACTIVE.shown(registry, lambda: (((_NAME,), 0.0 if self._since is None else 1.0),))
        CONCURRENT.shown(registry, lambda: (((_NAME,), 1.0),))
        DEPTH.shown(registry, lambda: (((_NAME,), float(self._waiting)),))
        self._adds = ADDS.counter(registry).labels(_NAME)
        self._retries = RETRIES.counter(registry).labels(_NAME)
        self._queued = QUEUED.histogram(registry, _QUEUE_BUCKETS).labels(_NAME)
        self._worked = WORKED.histogram(registry, _QUEUE_BUCKETS).labels(_NAME)
        UNFINISHED.shown(registry, self._lasting)
        LONGEST.shown(registry, self._lasting)
        version = (__version__, ".".join(str(part) for part in sys.version_info[:3]))
        BUILD.shown(registry, lambda: ((version, 1.0),))
        LEADER.shown(registry, lambda: (((lease,), float(self.leads)),))
        prometheus.ProcessCollector(registry=registry)

    def request(self, verb: str, _plural: str, code: str, _seconds: float) -> None:
        """Count a request to the API server; `code` is its HTTP status, or not a number when no answer came."""
        if verb == "watch":
            self._openings[code.startswith("2")].inc()
        pair = (_code(code), transport.METHODS[verb])
        series = self._pairs.get(pair)
        if series is None:
            if len(self._pairs) >= _MOST:
                pair = (family.OTHER, pair[1])
            series = self._requests.labels(*pair, self._host)
            if pair[0] != family.OTHER:
                self._pairs[pair] = series
        series.inc()

    def etcd_request(self, code: str) -> None:
        """Count a request to a member of etcd, likewise."""
        self._etcd.labels(family.bounded(_code(code), _ETCD_CODES)).inc()

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

    def _lasting(self) -> Iterable[family.Series]:
        lasting = 0.0 if self._since is None else max(0.0, self._clock() - self._since)
        return (((_NAME,), lasting),)


def _code(code: str) -> str:
    return family.bounded(code, _CODES) if code.isdecimal() else ERROR
