"""What is read now and then while only the idle objects are watched.

Some questions cannot be answered by the idle watches and are not worth a watch: what could be asked for now
(`decide.admission`), what of a completed transition a person still has to do (`checks.advisories`), around an upgrade,
which of two versions runs, so that it is known whose gate counts, and, while that of the native controller is on,
whether its process lives and which request the API would take (`decide.applicability`). Each is answered by
one read per kind, at start, when something changes that the answer depends on, hourly, and when a reader looks at what
was found (`wanted`), at most once a minute: far below the budget of an idle operator. `reconcile` asks, and keeps the
answers in its `LeaderState`; nothing here writes. Settings for one node are read likewise while the cluster converges,
and Leases once its machines have restarted.
"""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topology_api.types import TopologyTransition
from topology_api.vocabulary import AdvisoryName, CheckName, Phase

from .checks import advisories, load_balancer
from .decide import admission, applicability, records
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
_UNANSWERED = 600.0
"""Seconds until settings are read again of which some were not answered: a webhook may be away for hours. Leases too,
while one is left."""
_SILENT = 180.0
"""Seconds between two looks for a native controller that shows no sign of life. Nothing but its Lease is read then."""


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
        self._native = _Native()
        self._settings: dict[str, facts.Fact[facts.Operand]] = {}
        self._settings_due: float | None = None
        self._leases: facts.Fact[tuple[facts.Fact[facts.LeaderLease], ...]] = facts.NOT_READ
        self._leases_due: float | None = None

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
        settings = catalog.single_node_settings(self._transitions.matrix)
        if left is not None:
            sources = (*sources, *_advised(self._transitions), *settings, catalog.Sources.leader_leases)
        evidence = await live.gather(self._client, known, sources, self._etcd)
        available = admission.available(evidence.facts, self._transitions, self._now())
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
        read = {source: source.of(known) for source in sources}
        unread = {source: fact for source, fact in read.items() if isinstance(fact, facts.Unobserved)}
        # What could not be read is not done for that. A setting that may not be read is no evidence.
        if record.target is None or any(_unanswered(source, fact) for source, fact in unread.items()):
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
            version = await live.read(self._client, catalog.Sources.cluster_version)
            self._version = (about, version)
            self._version_due = loop.time() + (RETRY if isinstance(version, facts.Unobserved) else PERIOD)
        return dataclasses.replace(known, cluster_version=self._version[1])

    async def with_native(self, known: facts.Facts) -> facts.Facts:
        """The same facts, with the Lease of the native controller and the served definition while its gate is on."""
        native = self._native
        if not applicability.gate(known):
            self._native = _Native()
            return known
        here = known.infrastructure
        request = () if isinstance(here, facts.Unobserved) else (here.desired, here.native_desired, here.control_plane)
        about = (known.native_controller, request)
        # A timer may fire a moment early.
        if about != native.about or asyncio.get_running_loop().time() >= native.due - 0.01:
            native.about = about
            lease = await live.read(self._client, catalog.Sources.native_lease)
            in_charge = applicability.native_in_charge(self.noted(dataclasses.replace(known, native_lease=lease)))
            # What could be requested of it matters only then.
            native.installed = facts.NOT_READ
            if in_charge:
                native.installed = await live.read(self._client, catalog.Sources.installed)
        installed = known.installed if isinstance(native.installed, facts.Unobserved) else native.installed
        return dataclasses.replace(known, native_lease=native.lease, installed=installed)

    async def with_settings(self, known: facts.Facts) -> facts.Facts:
        """The same facts, with the settings for one node while the cluster converges.

        Read when that begins and hourly; what was not answered, sooner, and until then it is what it was.
        """
        here = known.infrastructure
        record = None if isinstance(here, facts.Unobserved) else here.record
        if not isinstance(record, TopologyTransition) or record.phase is not Phase.CONVERGING:
            self._settings, self._settings_due = {}, None
            await self._look_for_leases(record)
            return known
        now = asyncio.get_running_loop().time()
        # A timer may fire a moment early.
        if self._settings_due is None or now >= self._settings_due - 0.01:
            sources = catalog.single_node_settings(self._transitions.matrix)
            evidence = await live.gather(self._client, known, sources, again=False)
            read = {source.key: source.of(evidence.facts) for source in sources}
            unanswered = [key for source in sources if _unanswered(source, read[key := source.key])]
            kept = {key: self._settings[key] for key in unanswered if key in self._settings}
            self._settings = {**read, **kept}
            self._settings_due = now + (_UNANSWERED if unanswered else PERIOD)
        known = dataclasses.replace(known, operands={**known.operands, **self._settings})
        return await self._with_leases(known, record)

    async def _look_for_leases(self, record: object) -> None:
        """List Leases while the record advises about some, and let all be looked at once none is left."""
        advised = record.advisories if isinstance(record, TopologyTransition) else ()
        if all(advisory.name != AdvisoryName.TOPOLOGY_READ_AT_START for advisory in advised):
            self._leases_due = None
            return
        now = asyncio.get_running_loop().time()
        if self._leases_due is None:
            self._leases_due = now + _UNANSWERED
        # A timer may fire a moment early.
        if now < self._leases_due - 0.01:
            return
        self._leases_due = now + _UNANSWERED
        leases = await live.read(self._client, catalog.Sources.leader_leases)
        if isinstance(leases, tuple) and not advisories.of_single_node(leases, self._now()):
            self._due = now

    async def _with_leases(self, known: facts.Facts, record: TopologyTransition) -> facts.Facts:
        """The same facts, with all Leases once the machines have restarted."""
        here = known.infrastructure
        if isinstance(here, facts.Unobserved):
            return known
        # The copy has newer checks than the record, which is written once a minute.
        if not advisories.asks_for_leases(records.shown(here, known.own_operator) or record, self._now()):
            return known
        now = asyncio.get_running_loop().time()
        if self._leases_due is None or now >= self._leases_due - 0.01:
            self._leases = await live.read(self._client, catalog.Sources.leader_leases)
            unanswered = _unanswered(catalog.Sources.leader_leases, self._leases)
            self._leases_due = now + (RETRY if unanswered else _UNANSWERED)
        return dataclasses.replace(known, leader_leases=self._leases)

    def noted(self, known: facts.Facts) -> facts.Facts:
        """The same facts, whose Lease of the native controller was read just now: what has been seen of its process?

        Counted from when this leader first looked: before that it may have been alive. A Lease that does not exist,
        or cannot be read, says nothing: another version may have another one.
        """
        lease, native, now = known.native_lease, self._native, asyncio.get_running_loop().time()
        grace = applicability.native_grace(known).total_seconds()
        if isinstance(lease, facts.Unobserved):
            native.due, native.lease = now + grace, lease
            return known
        controller = known.native_controller
        sign = lease.holder, lease.renew_time, controller if _there(controller) else native.sign[2]
        if native.seen is None or sign != native.sign:
            native.taken = native.taken if native.seen is None or lease.holder == native.sign[0] else now
            native.sign, native.seen = sign, now
        silent = now - native.seen >= grace
        taken = native.taken is not None and now - native.taken < grace
        native.due = now + _SILENT if silent else native.seen + grace + 0.05
        # What was read right before a change counts for the next look too.
        native.lease = dataclasses.replace(lease, silent=silent, taken=taken)
        return dataclasses.replace(known, native_lease=native.lease)

    @property
    def read_again_in(self) -> float | None:
        """Seconds until what no watch brings is read again: who is in charge, settings for one node. None: nothing."""
        due = [self._version_due] if self._version is not None else []
        due += [due for due in (self._settings_due, self._leases_due) if due is not None]
        due += [self._native.due] if self._native.about is not None else []
        return max(0.0, min(due) - asyncio.get_running_loop().time()) if due else None


@dataclass(slots=True)
class _Native:
    """What was read last of the native controller's process, and when it last gave a sign of life (loop time)."""

    about: tuple[object, ...] | None = None
    lease: facts.Fact[facts.Lease] = facts.NOT_READ
    installed: facts.Fact[facts.Installed] = facts.NOT_READ
    due: float = 0.0
    sign: tuple[object, object, object] = ("", None, None)
    """Holder and time of the Lease, and its conditions: that these are removed is not a sign of it."""
    seen: float | None = None
    taken: float | None = None


def _there(controller: facts.Fact[facts.NativeController]) -> bool:
    return not isinstance(controller, facts.Unobserved) and controller.present


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


def _unanswered(source: catalog.Source, fact: object) -> bool:
    """Is it not known what was asked? A setting for one node that may not be read is no evidence: that is an answer."""
    if not isinstance(fact, facts.Unobserved) or fact.missing:
        return False
    return source.watched is not catalog.Watched.NEVER or fact.kind is facts.Kind.UNANSWERED


def _advised(transitions: load.Transitions) -> tuple[catalog.Source, ...]:
    """What advisories are made from after the change, besides the evidence."""
    matrix = transitions.matrix
    registry = matrix.group(CheckName.IMAGE_REGISTRY_REPLICAS)
    wanted = set()
    if registry is not None and registry.managed_by is not None:
        wanted.add(registry.managed_by.key)
    operands = [source for source in catalog.operands(transitions) if source.key in wanted]
    return (catalog.Sources.ingress_controller, catalog.Sources.dnsmasq, *operands)
