"""Puts the rooms together into one registry, and is what the rest of the operator talks to.

The queue, the client, the lease and the loop each tell what happens where it happens; none of them knows a metric. The
gauges of a decision are drawn at the first scrape after it, not when it is made: decisions stand between a fact and
the change, and drawing costs as much as deciding.
"""

from __future__ import annotations

import time
import urllib.parse
from typing import TYPE_CHECKING, Final

import prometheus_client as prometheus

from topology_api.vocabulary import CheckName

from ...observe import facts
from . import build, cluster, traffic, transition, work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from topology_api.types import TopologyTransition

    from ...decide.decision import Decision
    from ...definitions import load
    from . import family

FAMILIES: Final[tuple[family.Family, ...]] = (
    *transition.FAMILIES,
    *cluster.FAMILIES,
    *traffic.FAMILIES,
    *work.FAMILIES,
    *build.FAMILIES,
)
"""Every metric but the `process_*` of the library, in the order in which they are documented."""


class Metrics:
    """The metrics of one operator process.

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
        self._drawn: Mapping[str, tuple[family.Series, ...]] = transition.SILENT
        for gauge in (*transition.GAUGES, *cluster.FAMILIES):
            gauge.shown(registry, self._reader(gauge.name))
        self._counts = transition.Counts(registry, transitions)
        host = urllib.parse.urlsplit(server).netloc.rpartition("@")[2]
        etcd = transitions.asks(CheckName.ETCD_MEMBERS_DIRECT)
        self._traffic = traffic.Traffic(registry, host=host, etcd=etcd)
        self._work = work.Work(registry, clock)
        self._build = build.Build(registry, lease)
        # The observer of the work queue, which is called at every turn of the loop: no detour through this room.
        self.depth = self._work.depth
        self.added = self._work.added
        self.delivered = self._work.delivered
        self.worked = self._work.worked
        self.retried = self._work.retried
        self.reconciled = self._work.reconciled

    # What the client and the way to etcd's members observe.
    def request(self, verb: str, _plural: str, code: str, _seconds: float) -> None:
        """Count a request to the API server."""
        self._traffic.request(verb, code)

    def etcd_request(self, code: str) -> None:
        """Count a request to a member of etcd; `code` is its HTTP status, or not a number when no answer came."""
        self._traffic.etcd_request(code)

    def watches(self, activity: Mapping[str, float]) -> None:
        """Say when each open watch last showed a sign of life (Unix time, 0: never)."""
        self._traffic.watches(activity)

    def leading(self, *, leads: bool) -> None:
        """Say whether this process leads. One that does not has nothing to say about the cluster."""
        self._build.leads = leads
        if not leads:
            self._next, self._drawn = None, transition.SILENT

    def decided(self, decision: Decision, known: facts.Facts) -> None:
        """Show what was decided and what it was decided from, as of the next scrape."""
        self._next = (decision, known)

    def moved(
        self, before: TopologyTransition | None, after: TopologyTransition, desired: str | None, now: datetime
    ) -> None:
        """Count a change of phase that was written."""
        self._counts.moved(before, after, desired, now)

    def observed(self, found: TopologyTransition | None, desired: str | None, now: datetime) -> None:
        """Count what another controller is seen to do; None while nobody else is in charge."""
        self._counts.observed(found, desired, now)

    def _reader(self, name: str) -> Callable[[], Iterable[family.Series]]:
        def read() -> Iterable[family.Series]:
            self._draw()
            return self._drawn.get(name, ())

        return read

    def _draw(self) -> None:
        if self._next is None:
            return
        (decision, known), self._next = self._next, None
        # Who cannot see Infrastructure decides Idle for want of a request: that is no news about the transition.
        seen = not isinstance(known.infrastructure, facts.Unobserved)
        moving = transition.series(decision, self._counts.found) if seen else transition.SILENT
        self._drawn = {**moving, **cluster.series(decision, known)}
