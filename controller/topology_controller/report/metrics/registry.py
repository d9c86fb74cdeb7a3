"""One registry for everything, and what the rest of the operator reports to.

The queue, the client, the lease and the loop report what happens where it happens. The gauges of a decision are drawn
at the first scrape after it, not when it is made: decisions stand between a fact and the change, and drawing costs as
much as deciding.
"""

from __future__ import annotations

import functools
import time
import urllib.parse
from typing import TYPE_CHECKING, Final

import prometheus_client as prometheus

from topology_api.vocabulary import CheckName

from ...observe import facts
from . import cluster, process, transition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ...decide.decision import Decision
    from ...definitions import load
    from . import family

FAMILIES: Final[tuple[family.Family, ...]] = (*transition.FAMILIES, *cluster.FAMILIES, *process.FAMILIES)
"""Every metric but the `process_*` of the library, in the order in which they are documented."""


class Metrics(process.Process):
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
        registry = prometheus.CollectorRegistry()
        self._next: tuple[Decision, facts.Facts] | None = None
        self._drawn: Mapping[str, tuple[family.Series, ...]] = transition.SILENT
        for gauge in (*transition.GAUGES, *cluster.FAMILIES):
            gauge.shown(registry, functools.partial(self._series, gauge.name))
        self._counts = transition.Counts(registry, transitions)
        self.changed = self._counts.changed
        self.observed = self._counts.observed
        host = urllib.parse.urlsplit(server).netloc.rpartition("@")[2]
        etcd = transitions.asks(CheckName.ETCD_MEMBERS_DIRECT)
        super().__init__(registry, host=host, etcd=etcd, lease=lease, clock=clock)

    def leading(self, *, leads: bool) -> None:
        """Set whether this process leads. One that does not shows nothing of the cluster."""
        self.leads = leads
        if not leads:
            self._next, self._drawn = None, transition.SILENT

    def decided(self, decision: Decision, known: facts.Facts) -> None:
        """Show a decision and the facts behind it, as of the next scrape."""
        self._next = (decision, known)

    def _series(self, name: str) -> Iterable[family.Series]:
        if self._next is not None:
            (decision, known), self._next = self._next, None
            # Without Infrastructure the decision is Idle for want of a request: that says nothing of the transition.
            blind = isinstance(known.infrastructure, facts.Unobserved)
            going = transition.SILENT if blind else transition.series(decision, self._counts.seen)
            self._drawn = {**going, **cluster.series(decision, known)}
        return self._drawn.get(name, ())
