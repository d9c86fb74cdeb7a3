"""What is read now and then while only the idle objects are watched.

Three questions cannot be answered by the idle watches and are not worth a watch: what could be asked for now
(`decide.discovery`), what of a completed transition a person still has to do (`checks.advisories`), and, around an
upgrade, which of two versions runs, so that it is known whose gate counts (`decide.applicability`). Each is answered by
one read per kind, at start, when something changes that the answer depends on, hourly, and when a reader looks at what
was found (`wanted`), at most once a minute: far below the budget of an idle operator. `reconcile` asks, and keeps the
answers in its `LeaderState`; nothing here writes.
"""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topology_api.types import TopologyTransition
from topology_api.vocabulary import CheckName, Phase

from .checks import advisories, load_balancer
from .decide import applicability, discovery, records
from .observe import catalog, facts, live

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from topology_api.types import Advisory, AvailableTransition

    from .definitions import load
    from .kube import client as clients
    from .observe import members

PERIOD = 3600.0
RETRY = 30.0
SOONEST = 60.0
"""Seconds between two looks that are made for a reader."""
_VERSION = next(source for source in catalog.EVIDENCE if source.field == "cluster_version")


@dataclass(frozen=True, slots=True)
class Found:
    """What a look has found. `advisories` is None when nothing is left to be looked at, or it could not be read."""

    available: tuple[AvailableTransition, ...]
    advisories: tuple[Advisory, ...] | None = None


class Discoverer:
    """Reads and answers; remembers only when the next look is due. Times are seconds of the loop's clock."""

    def __init__(
        self,
        client: clients.Client,
        transitions: load.Transitions,
        etcd: members.Members | None,
        now: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._transitions = transitions
        self._etcd = etcd
        self._now = now
        self._place: tuple[object, ...] | None = None
        self._due = 0.0
        self._tried: float | None = None
        self._empty = False
        self._version: tuple[tuple[object, ...], facts.Fact[facts.ClusterVersion]] | None = None
        self._version_due = 0.0

    def use(self, transitions: load.Transitions) -> None:
        """Ask by other definitions from now on: what was found by those before is due again."""
        self._transitions, self._place = transitions, None

    def due_in(self, known: facts.Facts) -> float:
        """Seconds until a look is due; 0 where the place has changed since the last one, or there was none."""
        if self._place != _place(known):
            return 0.0
        return max(0.0, self._due - asyncio.get_running_loop().time())

    def wanted(self) -> float:
        """Note that a reader looks at what was found: the next look is due once the last one is `SOONEST` old.

        Not where there is nothing to see: no transition leads away, and nothing is left to do. Return the seconds
        until the look.
        """
        now = asyncio.get_running_loop().time()
        soon = now if self._tried is None else max(now, self._tried + SOONEST)
        if not self._empty:
            self._due = min(self._due, soon)
        return max(soon, self._due) - now

    async def look(self, known: facts.Facts, infrastructure: facts.Infrastructure) -> Found | None:
        """Read everything and answer, None when Infrastructure could not be read."""
        self._tried = asyncio.get_running_loop().time()
        left = _left(infrastructure, again=self._place == _place(known))
        sources = catalog.offered(*self._transitions.starting_at(records.pair(infrastructure)))
        if left is not None:
            sources = (*sources, *_advised(self._transitions))
        evidence = await live.gather(self._client, known, sources, self._etcd)
        available = discovery.available(evidence.facts, self._transitions, self._now())
        if available is None:
            return None
        self._place = _place(known)
        self._due = asyncio.get_running_loop().time() + PERIOD
        self._empty = not available and left is None
        if left is not None:
            return Found(available, self._left(evidence.facts, left, sources))
        return Found(available, _told_again(evidence.facts, infrastructure))

    def _left(
        self, known: facts.Facts, record: TopologyTransition, sources: tuple[catalog.Source, ...]
    ) -> tuple[Advisory, ...] | None:
        if record.target is None or any(_unread(known, source) for source in sources):
            # What could not be read is not done for that.
            return None
        return advisories.advise(known, record.target, self._transitions.matrix, record, self._now())

    async def with_version(self, known: facts.Facts) -> facts.Facts:
        """The same facts, with ClusterVersion where only that tells whether the native controller is in charge."""
        if not applicability.gate_needs_version(known):
            self._version = None
            return known
        loop = asyncio.get_running_loop()
        about = (known.feature_gates, known.native_controller)
        if self._version is None or self._version[0] != about or loop.time() >= self._version_due:
            version = await live.read(self._client, _VERSION)
            self._version = (about, version)
            self._version_due = loop.time() + (RETRY if isinstance(version, facts.Unobserved) else PERIOD)
        return dataclasses.replace(known, cluster_version=self._version[1])

    @property
    def version_due_in(self) -> float | None:
        """Seconds until ClusterVersion is to be read again, None when it is not needed."""
        if self._version is None:
            return None
        return max(0.0, self._version_due - asyncio.get_running_loop().time())


def _left(infrastructure: facts.Infrastructure, *, again: bool) -> TopologyTransition | None:
    """The transition that may have left something to do, None where all is done, or where it led to is gone.

    A record that was rebuilt from its copy has no checks, and may have lost its advisories. So has one whose next
    request was cancelled: it is looked at once, and `again` only while something is left.
    """
    record = _arrived(infrastructure)
    if record is None or record.advisories:
        return record
    lost = record.phase is Phase.COMPLETED and not record.checks
    return record if lost or (record.phase is not Phase.COMPLETED and not again) else None


def _arrived(infrastructure: facts.Infrastructure) -> TopologyTransition | None:
    """The record of the transition that has led to where the cluster is, None where none has."""
    record = infrastructure.record
    if not isinstance(record, TopologyTransition):
        return None
    if record.phase is Phase.COMPLETED:
        return record
    last = record.last_transition
    if last is None or last.target != records.pair(infrastructure):
        return None
    head = {"source": last.source, "target": last.target, "admitted_time": last.admitted_time}
    return record.model_copy(update=head)


def _told_again(known: facts.Facts, infrastructure: facts.Infrastructure) -> tuple[Advisory, ...] | None:
    """What is to be done again although all was done, by what is read anyway: a node may have joined, or been replaced.

    None where no transition has led here, or where that cannot be seen.
    """
    record = _arrived(infrastructure)
    if record is None or record.target is None or isinstance(known.control_plane_nodes, facts.Unobserved):
        return None
    advisory = load_balancer.unconfirmed(known, record.target, record)
    return () if advisory is None else (advisory,)


def _place(known: facts.Facts) -> tuple[object, ...]:
    """What the answers depend on and the idle watches see."""
    infrastructure, own = known.infrastructure, known.own_operator
    if isinstance(infrastructure, facts.Unobserved):
        return ()
    return (
        infrastructure.generation,
        infrastructure.control_plane,
        infrastructure.infrastructure,
        infrastructure.platform,
        infrastructure.load_balancer,
        None if isinstance(own, facts.Unobserved) else own.backends,
    )


def _advised(transitions: load.Transitions) -> tuple[catalog.Source, ...]:
    """What advisories are made from after the change, besides the evidence."""
    matrix = transitions.matrix
    registry = matrix.group(CheckName.IMAGE_REGISTRY_REPLICAS)
    wanted = {"ingress_controller", "dnsmasq", *(reader.key for reader in matrix.startup_readers)}
    if registry is not None and registry.managed_by is not None:
        wanted.add(registry.managed_by.key)
    sources = (*catalog.OPERANDS, *catalog.operands(transitions))
    return tuple(source for source in sources if source.field in wanted)


def _unread(known: facts.Facts, source: catalog.Source) -> bool:
    fact = getattr(known, source.field) if source.operand is None else known.operand(source.operand)
    return isinstance(fact, facts.Unobserved) and not fact.missing
