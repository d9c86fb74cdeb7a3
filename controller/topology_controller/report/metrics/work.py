"""Reconciliations and the queue that wakes them, under the names that users of controller-runtime and client-go know.

There is one controller, one worker and one key, so each has one series, and few buckets say enough. What lasts while
somebody looks is computed at the scrape: a gauge that is set when work ends shows nothing of work that does not end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import family, labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prometheus_client import registry as registries

_CONTROLLER = {"controller": frozenset({labels.CONTROLLER})}
_NAME = {"name": frozenset({labels.CONTROLLER})}
_RESULTS = ("success", "error")

RECONCILES = family.Family(
    "controller_runtime_reconcile_total",
    "counter",
    "Reconciliations that ended, by result; one that failed is tried again.",
    {**_CONTROLLER, "result": frozenset(_RESULTS)},
)
ERRORS = family.Family(
    "controller_runtime_reconcile_errors_total", "counter", "Reconciliations that failed.", _CONTROLLER
)
TIME = family.Family(
    "controller_runtime_reconcile_time_seconds",
    "histogram",
    "How long reconciliations took, in seconds, live reads and writes included.",
    _CONTROLLER,
)
ACTIVE = family.Family(
    "controller_runtime_active_workers", "gauge", "Workers that reconcile at this moment: 0 or 1.", _CONTROLLER
)
CONCURRENT = family.Family(
    "controller_runtime_max_concurrent_reconciles",
    "gauge",
    "Workers that there can be: always 1, because there is one cluster to reconcile.",
    _CONTROLLER,
)
DEPTH = family.Family("workqueue_depth", "gauge", "Deliveries that wait for the worker: 0 or 1.", _NAME)
ADDS = family.Family(
    "workqueue_adds_total", "counter", "Additions to the queue; what waits already is not added again.", _NAME
)
RETRIES = family.Family("workqueue_retries_total", "counter", "Deliveries that failed and are to be repeated.", _NAME)
QUEUED = family.Family(
    "workqueue_queue_duration_seconds", "histogram", "How long deliveries waited for the worker, in seconds.", _NAME
)
WORKED = family.Family(
    "workqueue_work_duration_seconds", "histogram", "How long the worker was busy with a delivery, in seconds.", _NAME
)
UNFINISHED = family.Family(
    "workqueue_unfinished_work_seconds",
    "gauge",
    "Seconds since work began that has not ended, 0 when there is none; with one worker the same as "
    "workqueue_longest_running_processor_seconds.",
    _NAME,
)
LONGEST = family.Family(
    "workqueue_longest_running_processor_seconds",
    "gauge",
    "Seconds for which the worker has been busy with one delivery, 0 while it waits for one.",
    _NAME,
)
FAMILIES = (
    RECONCILES, ERRORS, TIME, ACTIVE, CONCURRENT, DEPTH, ADDS, RETRIES, QUEUED, WORKED, UNFINISHED, LONGEST,
)  # fmt: skip

_RECONCILE_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0)
_QUEUE_BUCKETS = (0.001, 0.01, 0.1, 1.0, 10.0)


class Work:
    """Hears what the queue and the loop tell. `clock` is monotonic, in seconds."""

    def __init__(self, registry: registries.CollectorRegistry, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since: float | None = None
        self._waiting = 0
        one = labels.CONTROLLER
        reconciles = RECONCILES.counter(registry)
        self._results = {result: reconciles.labels(one, result) for result in _RESULTS}
        self._errors = ERRORS.counter(registry).labels(one)
        self._time = TIME.histogram(registry, _RECONCILE_BUCKETS).labels(one)
        ACTIVE.shown(registry, lambda: (((one,), 0.0 if self._since is None else 1.0),))
        CONCURRENT.shown(registry, lambda: (((one,), 1.0),))
        DEPTH.shown(registry, lambda: (((one,), float(self._waiting)),))
        self._adds = ADDS.counter(registry).labels(one)
        self._retries = RETRIES.counter(registry).labels(one)
        self._queued = QUEUED.histogram(registry, _QUEUE_BUCKETS).labels(one)
        self._worked = WORKED.histogram(registry, _QUEUE_BUCKETS).labels(one)
        UNFINISHED.shown(registry, self._lasting)
        LONGEST.shown(registry, self._lasting)

    def depth(self, waiting: int) -> None:
        """So many deliveries wait."""
        self._waiting = waiting

    def added(self) -> None:
        """Something was added."""
        self._adds.inc()

    def delivered(self, waited: float) -> None:
        """The worker begins with a delivery that has waited so many seconds."""
        self._since = self._clock()
        self._queued.observe(waited)

    def worked(self, seconds: float) -> None:
        """The worker is free again after so many seconds."""
        self._since = None
        self._worked.observe(seconds)

    def retried(self) -> None:
        """A delivery failed."""
        self._retries.inc()

    def reconciled(self, seconds: float, *, ok: bool) -> None:
        """A reconciliation ended after so many seconds."""
        self._results["success" if ok else "error"].inc()
        if not ok:
            self._errors.inc()
        self._time.observe(seconds)

    def _lasting(self) -> Iterable[family.Series]:
        lasting = 0.0 if self._since is None else max(0.0, self._clock() - self._since)
        return (((labels.CONTROLLER,), lasting),)
