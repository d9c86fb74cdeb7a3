"""Requests, counted as client-go counts them, and whether the watches are alive.

A server or a proxy may answer with any status, so the pairs of code and method that get a series of their own are the
first so many that occur; each later one is counted for its method under the code `other`. In a cluster that is well
there are about ten.
"""

from __future__ import annotations

import http
from typing import TYPE_CHECKING, Final

from ...kube import transport
from . import family, labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prometheus_client import registry as registries

ERROR: Final = "<error>"
"""The code that client-go gives to a request without an answer."""
_CODES = frozenset(str(status.value) for status in http.HTTPStatus) | {ERROR, labels.OTHER}
_USUAL = (("200", "GET"), ("201", "POST"), ("200", "PUT"), ("200", "PATCH"))
_MOST = 20
_ETCD_CODES = ("200", "401", "403", "503", ERROR, labels.OTHER)
_OPENINGS = ("success", "error")

REQUESTS = family.Family(
    "rest_client_requests_total",
    "counter",
    "Requests to the API server by HTTP status, method and host; <error> when no answer came.",
    {"code": _CODES, "method": frozenset(transport.METHODS.values()), "host": None},
)
WATCH_REQUESTS = family.Family(
    "topology_watch_requests_total",
    "counter",
    "Watches that were asked for, by whether they were opened; each lives for about an hour when all is well.",
    {"result": frozenset(_OPENINGS)},
)
ACTIVITY = family.Family(
    "topology_watch_last_activity_timestamp_seconds",
    "gauge",
    "Unix time, in seconds, of the last sign of life (list, event or bookmark) of each open watch; 0 before the first.",
    {"resource": None},
)
ETCD_REQUESTS = family.Family(
    "topology_etcd_requests_total",
    "counter",
    "Requests to members of etcd by HTTP status; <error> when no answer came in time.",
    {"code": frozenset(_ETCD_CODES)},
)
FAMILIES = (ACTIVITY, WATCH_REQUESTS, REQUESTS, ETCD_REQUESTS)


class Traffic:
    """Counts requests. `host` is the API server as it stands in a URL; `etcd` says that etcd is asked as well."""

    def __init__(self, registry: registries.CollectorRegistry, *, host: str, etcd: bool) -> None:
        self._host = host
        self._activity: Mapping[str, float] = {}
        ACTIVITY.shown(registry, self._signs)
        openings = WATCH_REQUESTS.counter(registry)
        self._openings = {result: openings.labels(result) for result in _OPENINGS}
        self._requests = REQUESTS.counter(registry)
        usual = (*_USUAL, *((ERROR, method) for _, method in _USUAL))
        self._pairs = {(code, method): self._requests.labels(code, method, host) for code, method in usual}
        self._etcd = ETCD_REQUESTS.counter(registry)
        for code in ("200", ERROR) if etcd else ():
            self._etcd.labels(code)

    def request(self, verb: str, code: str) -> None:
        """Count a request to the API server; `code` is its HTTP status, or not a number when no answer came."""
        if verb == "watch":
            self._openings["success" if code.startswith("2") else "error"].inc()
        pair = (_code(code), transport.METHODS[verb])
        known = self._pairs.get(pair)
        if known is None:
            if len(self._pairs) >= _MOST:
                pair = (labels.OTHER, pair[1])
            known = self._requests.labels(*pair, self._host)
            if pair[0] != labels.OTHER:
                self._pairs[pair] = known
        known.inc()

    def etcd_request(self, code: str) -> None:
        """Count a request to a member of etcd, likewise."""
        found = _code(code)
        self._etcd.labels(found if found in _ETCD_CODES else labels.OTHER).inc()

    def watches(self, activity: Mapping[str, float]) -> None:
        """When each open watch showed its last sign of life: Unix time by what it fills, 0 for never."""
        self._activity = activity

    def _signs(self) -> Iterable[family.Series]:
        return (((resource,), moment) for resource, moment in self._activity.items())


def _code(code: str) -> str:
    if not code.isdecimal():
        return ERROR
    return code if code in _CODES else labels.OTHER
