"""What is read now and then while only the idle objects are watched.

What could be asked for now (`decide.admission`), what of a completed transition a person still has to do
(`checks.advisories`), around an upgrade, which of two versions runs, and, while the gate of the native controller is
on, whether its process lives and which request the API would take (`decide.applicability`). Each is answered by one
read per kind, at start, when something changes that the answer depends on, hourly, sooner where something was not
known, and when a reader looks (`wanted`), at most once a minute. Settings for one node are read likewise while the
cluster converges, and Leases once its machines have restarted. `reconcile` keeps the answers; nothing here writes.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from topology_api.types import Advisory, AvailableTransition, TopologyTransition
from topology_api.vocabulary import AdvisoryName, CheckName, CheckStatus, Phase

from .checks import advisories, load_balancer
from .decide import admission, applicability, records
from .definitions import load
from .kube import client as clients
from .observe import catalog, facts, live

if TYPE_CHECKING:
    from .observe import members  # memory that most clusters need not spend

PERIOD = 3600.0
RETRY = 30.0
SOONEST = 60.0  # seconds between two looks that are made for a reader
_UNANSWERED = 600.0
"""Seconds until settings are read again of which some were not answered, and Leases while one is left."""
_SILENT = 180.0  # seconds between two looks for a native controller that shows no sign of life


class Found(NamedTuple):
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
        self._due, self._pause = 0.0, SOONEST
        self._tried: float | None = None
        self._version: tuple[tuple[object, ...], facts.Fact[facts.ClusterVersion]] | None = None
        self._version_due = 0.0
        self._native = _Native()
        self._settings: dict[str, facts.Fact[facts.Operand]] = {}
        self._settings_due: float | None = None
        self._leases: facts.Fact[tuple[facts.Fact[facts.Lease], ...]] = facts.NOT_READ
        self._leases_due: float | None = None

    def use(self, transitions: load.Transitions) -> None:
        """Ask by other definitions from now on: what was found by those before is due again."""
        self._transitions, self._place = transitions, None

    def due_in(self, known: facts.Facts) -> float:
        """Seconds until a look is due; 0 where the place has changed since the last one, or there was none."""
        return max(0.0, self._due - _now()) if self._place == _place(known) else 0.0

    def wanted(self) -> float:
        """Note that a reader looks: the next look is due once the last one is `SOONEST` old, in so many seconds."""
        now = _now()
        soon = now if self._tried is None else max(now, self._tried + SOONEST)
        self._due = min(self._due, soon)
        return soon - now

    async def look(self, known: facts.Facts, infrastructure: facts.Infrastructure) -> Found | None:
        """Read everything and answer, None when Infrastructure could not be read."""
        self._tried = _now()
        left = _left(infrastructure, again=self._place == _place(known))
        sources = catalog.offered(*self._transitions.starting_at(records.pair(infrastructure)))
        if left is not None:
            remaining = catalog.remaining(self._transitions.matrix)
            sources = (*sources, *_advised(self._transitions), *remaining, catalog.Sources.leader_leases)
        evidence = await live.gather(self._client, known, sources, self._etcd)
        available = admission.available(evidence.facts, self._transitions, self._now())
        if available is None:
            return None
        self._place = _place(known)
        unanswered = any(_unanswered(source, source.of(evidence.facts)) for source in sources)
        unknown = [blocker for item in available for blocker in item.blockers if blocker.status is CheckStatus.UNKNOWN]
        # In a minute, then after ten, then hourly: two looks are all that fits into an idle hour.
        again, pause = (self._pause, min(PERIOD, 10 * self._pause)) if unanswered or unknown else (PERIOD, SOONEST)
        self._due, self._pause = _now() + again, pause
        if left is None:
            # What is to be done again, by what is read anyway: a node may have joined, or been replaced.
            record, nodes = _arrived(infrastructure), evidence.facts.control_plane_nodes
            if record is None or record.target is None or isinstance(nodes, facts.Unobserved):
                return Found(available)
            advisory = load_balancer.unconfirmed(evidence.facts, record.target, record)
            return Found(available, () if advisory is None else (advisory,))
        # What could not be read is not done for that.
        if left.target is None or unanswered:
            return Found(available)
        matrix = self._transitions.matrix
        return Found(available, advisories.advise(evidence.facts, left.target, matrix, left, self._now()))

    async def with_version(self, known: facts.Facts) -> facts.Facts:
        """The same facts, with ClusterVersion where only that tells whether the native controller is in charge."""
        if not applicability.gate_needs_version(known):
            self._version = None
            return known
        about = (known.feature_gates, known.native_controller)
        if self._version is None or self._version[0] != about or _now() >= self._version_due:
            version = await live.read(self._client, catalog.Sources.cluster_version)
            self._version = (about, version)
            self._version_due = _now() + (RETRY if isinstance(version, facts.Unobserved) else PERIOD)
        return dataclasses.replace(known, cluster_version=self._version[1])

    async def with_native(self, known: facts.Facts) -> facts.Facts:
        """The same facts, with the Lease of the native controller and the served definition while its gate is on."""
        native, here = self._native, known.infrastructure
        if known.mutable_topology is not True:
            self._native = _Native()
            return known
        request = () if isinstance(here, facts.Unobserved) else (here.desired, here.native_desired, here.control_plane)
        about = (known.native_controller, request)
        if about != native.about or _is_due(native.due):
            native.about = about
            lease = await live.read(self._client, catalog.Sources.native_lease)
            native.installed = facts.NOT_READ
            # What could be requested of it matters only while it is in charge.
            if applicability.native_in_charge(self.noted(dataclasses.replace(known, native_lease=lease))):
                native.installed = await live.read(self._client, catalog.Sources.installed)
        installed = known.installed if isinstance(native.installed, facts.Unobserved) else native.installed
        return dataclasses.replace(known, native_lease=native.lease, installed=installed)

    async def with_settings(self, known: facts.Facts) -> facts.Facts:
        """The same facts, with the settings for one node while the cluster converges. What is not answered stays."""
        record = records.stored(known.infrastructure)
        if record is None or record.phase is not Phase.CONVERGING:
            self._settings, self._settings_due = {}, None
            await self._look_for_leases(record)
            return known
        if _is_due(self._settings_due):
            sources = catalog.remaining(self._transitions.matrix)
            evidence = await live.gather(self._client, known, sources, again=False)
            read = {source.key: source.of(evidence.facts) for source in sources}
            unanswered = [source.key for source in sources if _unanswered(source, read[source.key])]
            self._settings = read | {key: self._settings[key] for key in unanswered if key in self._settings}
            self._settings_due = _now() + (_UNANSWERED if unanswered else PERIOD)
        known = dataclasses.replace(known, operands={**known.operands, **self._settings})
        return await self._with_leases(known, record)

    async def _look_for_leases(self, record: TopologyTransition | None) -> None:
        """List Leases while the record advises about some, and let all be looked at once none is left."""
        advised = () if record is None else record.advisories
        if all(advisory.name != AdvisoryName.TOPOLOGY_READ_AT_START for advisory in advised):
            self._leases_due = None
            return
        now, due = _now(), self._leases_due
        if due is None or _is_due(due):
            self._leases_due = now + _UNANSWERED
        if due is None or not _is_due(due):
            return
        leases = await live.read(self._client, catalog.Sources.leader_leases)
        if isinstance(leases, tuple) and not advisories.of_single_node(leases, self._now()):
            # What is left then is no Lease, and looked at hourly.
            self._due, self._leases_due = now, now + PERIOD

    async def _with_leases(self, known: facts.Facts, record: TopologyTransition) -> facts.Facts:
        here = known.infrastructure
        # The copy has newer checks than the record, which is written once a minute.
        shown = None if isinstance(here, facts.Unobserved) else records.shown(here, known.own_operator)
        if not advisories.asks_for_leases(shown or record, self._now()):
            # A pool fell back: what is not read is not due, and would be without end once its time has passed.
            self._leases_due = None if _is_due(self._leases_due) else self._leases_due
            return known
        if _is_due(self._leases_due):
            self._leases = await live.read(self._client, catalog.Sources.leader_leases)
            unanswered = _unanswered(catalog.Sources.leader_leases, self._leases)
            self._leases_due = _now() + (RETRY if unanswered else _UNANSWERED)
        return dataclasses.replace(known, leader_leases=self._leases)

    def noted(self, known: facts.Facts) -> facts.Facts:
        """The same facts, whose Lease of the native controller was read just now, with what was seen of its process."""
        # Counted from when this leader first looked. A Lease that does not exist, or cannot be read, says nothing.
        lease, native, now = known.native_lease, self._native, _now()
        grace = applicability.native_grace(known).total_seconds()
        if isinstance(lease, facts.Unobserved):
            native.due, native.lease = now + grace, lease
            return known
        controller = known.native_controller
        present = not isinstance(controller, facts.Unobserved) and controller.present
        sign = lease.holder, lease.renew_time, controller if present else native.sign[2]
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
        version = None if self._version is None else self._version_due
        native = None if self._native.about is None else self._native.due
        due = [due for due in (version, native, self._settings_due, self._leases_due) if due is not None]
        return max(0.0, min(due) - _now()) if due else None


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


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_due(due: float | None) -> bool:
    """Is it time? A timer may fire a moment early."""
    return due is None or _now() >= due - 0.01


def _left(infrastructure: facts.Infrastructure, *, again: bool) -> TopologyTransition | None:
    """The transition that may have left something to do, None where all is done, or where it led to is gone."""
    # A record that was rebuilt from its copy, or whose next request was cancelled, may have lost its advisories: it is
    # looked at once, and `again` only while something is left.
    record = _arrived(infrastructure)
    if record is None or record.advisories:
        return record
    lost = record.phase is Phase.COMPLETED and not record.checks
    return record if lost or (record.phase is not Phase.COMPLETED and not again) else None


def _arrived(infrastructure: facts.Infrastructure) -> TopologyTransition | None:
    """The record of the transition that has led to where the cluster is, None where none has."""
    record = records.stored(infrastructure)
    if record is None or record.phase is Phase.COMPLETED:
        return record
    last = record.last_transition
    if last is None or last.target != records.pair(infrastructure):
        return None
    return records.updated(record, source=last.source, target=last.target, admitted_time=last.admitted_time)


def _place(known: facts.Facts) -> tuple[object, ...]:
    here, own = known.infrastructure, known.own_operator
    if isinstance(here, facts.Unobserved):
        return ()
    backends = None if isinstance(own, facts.Unobserved) else own.backends
    return here.generation, here.control_plane, here.infrastructure, here.platform, here.load_balancer, backends


def _unanswered(source: catalog.Source, fact: object) -> bool:
    """Is it not known what was asked? A setting for one node that may not be read is no evidence: that is an answer."""
    if not isinstance(fact, facts.Unobserved) or fact.missing:
        return False
    return source.watched is not catalog.Watched.NEVER or fact.kind is facts.Kind.UNANSWERED


def _advised(transitions: load.Transitions) -> tuple[catalog.Source, ...]:
    registry = transitions.matrix.group(CheckName.IMAGE_REGISTRY_REPLICAS)
    manager = None if registry is None or registry.managed_by is None else registry.managed_by.key
    operands = [source for source in catalog.operands(transitions) if source.key == manager]
    return (catalog.Sources.ingress_controller, catalog.Sources.dnsmasq, *operands)
