"""The audit log: one small record for every request, for tests that count.

Bounded; the oldest records are forgotten first. A watch is recorded when it opens, everything else when it
was answered (with code 0 when it never was: the client went away, or a fault kept the answer back).
"""

from __future__ import annotations

import collections
from dataclasses import dataclass

from . import requests


@dataclass(frozen=True, slots=True)
class Record:
    """One request. `time` is its arrival in UNIX seconds; `path` includes the query."""

    verb: str
    resource: str
    namespace: str
    name: str
    subresource: str
    user_agent: str
    code: int
    time: float
    watch: bool
    group: str
    path: str


def record(request: requests.Request, path: str, code: int, time: float) -> Record:
    """Return the record of a request."""
    target = request.target
    what = (target.plural, target.namespace, target.name, target.subresource)
    return Record(request.verb, *what, request.user_agent, code, time, request.watch, target.group, path)


Log = collections.deque[Record]
"""The latest records, oldest first."""
