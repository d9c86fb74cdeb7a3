"""The loop: wake up, look at the facts, decide, act, report, and say when to look again.

There is one thing to reconcile, so there is one worker. It is woken by a fact that changed, by the time that the last
decision asked for, or by a failure that is worth another try. Each pass is `observe` → `decide` → `act`; a conflict
means that somebody else wrote, and the pass begins again from a live read, at once. A write whose outcome is not known
is followed by a live read before anything else is written.

What this leader remembers between two passes is its `Term`; everything else is read back from the API.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from topology_api.types import TopologyTransition
from topology_api.vocabulary import Phase

from . import act, discover
from .decide import applicability, cadence, clock, convergence, phases
from .decide.decision import Misconfigured, Step, Term, Voids
from .kube import errors
from .observe import catalog, facts, live
from .report import clusteroperator, events, narration

if TYPE_CHECKING:
    from collections.abc import Callable

    from .configuration import current as configured
    from .decide.decision import Decision, Happening
    from .kube import client as clients
    from .kube import queue as queues
    from .observe import members
    from .observe import watches as watching
    from .report import board as boards
    from .report import metrics as measuring
    from .transitions import load, model

_LOG = logging.getLogger(__name__)
_CONFLICTS = 20
_BREATH = 1.0
_HOLD_FIRST = 1.0
_HOLD_CAP = 30.0
_JUMP = 1.0
_SLEW = 0.1
_UNSEEN = 1.0
"""Seconds. News that waited for longer were not looked at one by one: what lay between them nobody saw."""


def utcnow() -> datetime:
    """The time, aware of its zone."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says to the loop."""

    version: str
    namespace: str
    settle_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Rooms:
    """What the loop works with: the neighbours that it wires together."""

    client: clients.Client
    watches: watching.Watches
    queue: queues.WorkQueue
    act: act.Act
    teller: events.Teller
    metrics: measuring.Metrics
    board: boards.Board
    etcd: members.Members | None = None
    """The way to etcd itself, where the administrator has given one."""
    configuration: configured.Current | None = None
    """The configuration in force, where a file may say something else than the definitions."""


class Reconciler:
    """One leader's loop. `run()` until cancelled; make a new one for every term of leadership."""

    def __init__(
        self,
        rooms: Rooms,
        transitions: load.Transitions,
        settings: Settings,
        *,
        on_topology: Callable[[str], None] = lambda _: None,
        now: Callable[[], datetime] = utcnow,
    ) -> None:
        self._rooms = rooms
        self._transitions = transitions
        self._settings = settings
        self._on_topology = on_topology
        self._now = now
        self._term = Term(since=now(), next_attempt=_new_attempt(), settle_seconds=settings.settle_seconds)
        # Set when a write may or may not have happened: nothing is written before Infrastructure was read live.
        self._unsure = False
        self._conflicts = 0
        self._hold = 0.0
        self._discoverer = discover.Discoverer(rooms.client, transitions, rooms.etcd, now)
        self._clocks: tuple[datetime, float] | None = None
        self._unquiet = True
        self._missed = False
        self._told_after_restart = False
        self._news: list[tuple[facts.Infrastructure, TopologyTransition | None, Happening]] = []
        self._narrator = narration.Narrator()
        self.decisions = 0

    async def run(self) -> None:
        """Reconcile until cancelled. Raises only what is a bug."""
        queue = self._rooms.queue
        loop = asyncio.get_running_loop()
        while True:
            await queue.get()
            began = loop.time()
            try:
                try:
                    await self._pass()
                finally:
                    # Never before a flip, and not lost when something after the write of a record failed.
                    self._send_news()
            except (errors.KubeError, act.Voided) as error:
                delay = queue.failed(error.retry_after if isinstance(error, errors.KubeError) else None)
                self._rooms.metrics.reconciled(loop.time() - began, ok=False)
                self._narrator.failed(error, delay)
                # A change may cut the delay short, but not turn a failure into a hot loop: somebody may write always.
                asked = error.retry_after if isinstance(error, errors.KubeError) else None
                await asyncio.sleep(min(delay, max(_BREATH, asked or 0.0)))
            except BaseException:
                queue.done(ok=False)
                raise
            else:
                queue.done()
                self._rooms.metrics.reconciled(loop.time() - began, ok=True)

    async def _pass(self) -> None:
        """One look: decide and act until there is nothing more to do right now."""
        watches = self._rooms.watches
        watches.raise_failed()
        self._configure()
        while True:
            if self._unsure:
                await self._read_again()
            known = watches.known()
            # Somebody may have fallen back and recovered while a request waited for its answer.
            self._missed |= watches.looked() >= _UNSEEN
            if isinstance(known.installed, facts.Installed) and known.installed.lacks:
                watches.installed = await live.installed(self._rooms.client)
                known = watches.known()
            known = await self._discoverer.with_version(known)
            decision = self._decide(known)
            await self._switch_watches(decision)
            try:
                await self._perform(known, decision, None)
            except errors.Conflict as error:
                self._conflicts += 1
                self._unsure = True
                if self._conflicts >= _CONFLICTS:
                    self._conflicts = 0
                    raise
                _LOG.debug("%(error)s; deciding again from a live read", {"error": error})
                continue
            except errors.KubeError as error:
                await self._failed(known, error)
                raise
            except act.RecordDropped:
                watches.installed = await live.installed(self._rooms.client)
                self._unsure = True
                if isinstance(watches.installed, facts.Installed) and watches.installed.lacks:
                    continue
                why = (
                    f"whether the CRD has its fields cannot be told: {watches.installed}"
                    if isinstance(watches.installed, facts.Unobserved)
                    else "although the CRD has its fields"
                )
                raise act.Voided(f"the server dropped the record; {why}") from None
            self._conflicts = 0
            break
        await self._discover(known, decision)

    async def _failed(self, known: facts.Facts, error: errors.KubeError) -> None:
        """Remember that a write may have happened; report what Infrastructure's refusal says (rights, admission)."""
        if error.outcome_unknown:
            self._unsure = True
            # Whatever was on its way belongs to an attempt that is over; it may have carried the next one.
            self._term = dataclasses.replace(self._term, attempt=None, next_attempt=_new_attempt())
            # If it did happen, nobody has told of it: as after a restart.
            self._told_after_restart = False
        elif isinstance(error, errors.Forbidden | errors.Invalid) and error.resource == catalog.INFRASTRUCTURES:
            self._term = dataclasses.replace(self._term, refused=str(error))
            # The copy in our own report stays what it was: this record stands nowhere.
            await self._report(known, dataclasses.replace(self._decide(known), record=None))

    def _configure(self) -> None:
        """Take up what the configuration says now: between two passes, never within one."""
        found = self._rooms.configuration
        if found is None:
            return
        if found.transitions is not self._transitions:
            self._transitions = found.transitions
            self._discoverer.use(found.transitions)
        trouble = Misconfigured(found.trouble, found.unknown) if found.trouble else None
        self._term = dataclasses.replace(self._term, misconfigured=trouble)

    def _decide(self, known: facts.Facts) -> Decision:
        """Decide, with what this leader remembers brought up to date by the clocks and the facts."""
        now, steady = self._now(), asyncio.get_running_loop().time()
        if self._clocks is not None:
            before, then = self._clocks
            by = now - before - timedelta(seconds=steady - then)
            # A clock that is merely corrected slowly (NTP slews by less than a tenth) was not moved.
            if abs(by.total_seconds()) >= max(_JUMP, _SLEW * (steady - then)):
                _LOG.warning(
                    "the clock was moved by %(seconds).1f s: what is waited for by it is moved along",
                    {"seconds": by.total_seconds()},
                )
                self._term = clock.moved(self._term, by, now)
        self._clocks = (now, steady)
        blind = any(isinstance(fact, facts.Unobserved) for fact in (known.infrastructure, known.own_operator))
        blind = blind or bool(known.disturbed) or not self._rooms.watches.is_open
        if blind or self._unquiet or self._missed:
            # What happened since the last look nobody saw: the settle time begins when it is seen again.
            self._term = dataclasses.replace(self._term, steady_since=now)
        self._missed = False
        gate = applicability.gate(known)
        if gate is (self._term.gate_since is None):
            self._term = dataclasses.replace(self._term, gate_since=now if gate else None)
        decision = phases.decide(known, self._transitions, self._term, now)
        self._term = convergence.remembered(self._term, decision, now)
        # It may never be recorded that it was not quiet: the write can fail, and all be well again at the next look.
        self._unquiet = blind or convergence.awaits(decision)
        if decision.watch:
            # What is watched now speaks for itself; what was read before is of another time.
            self._term = dataclasses.replace(self._term, advisories=None)
        return decision

    async def _read_again(self) -> None:
        """Read Infrastructure and our own ClusterOperator live, and let the stores know."""
        watches, client = self._rooms.watches, self._rooms.client
        for source in (catalog.INFRASTRUCTURE, catalog.OWN_OPERATOR):
            try:
                raw = await client.get(source.selection.resource, source.selection.name or "")
            except errors.NotFound:
                continue
            watches.apply(source, raw)
        self._unsure = False

    async def _switch_watches(self, decision: Decision) -> None:
        watches = self._rooms.watches
        if decision.watch and not watches.is_open:
            watches.open()
        elif not decision.watch and watches.is_open:
            await watches.close()
        # Nobody can accept anything before the flip, so there is no request for it on the way there.
        await watches.ask_for_acceptances(wanted=decision.watch and decision.phase is Phase.CONVERGING)
        # After the flip nobody asks what etcd's members say.
        await watches.ask_etcd(wanted=decision.watch and decision.phase is not Phase.CONVERGING)

    async def _perform(self, known: facts.Facts, decision: Decision, evidence: live.Evidence | None) -> None:
        """Do the steps of a decision, in their order; a live decision may follow from the last of them."""
        rooms = self._rooms
        self.decisions += 1
        rooms.queue.look_again(decision.look_again)
        infrastructure = known.infrastructure
        if isinstance(infrastructure, facts.Infrastructure) and infrastructure.control_plane is not None:
            self._on_topology(infrastructure.control_plane)
        if Step.FLIP not in decision.steps:
            self._show(known, decision)
        told = False
        for step in decision.steps:
            if step is Step.REPORT:
                await self._report(known, decision)
            elif step is Step.GATHER:
                await self._gather(decision.definition)
            elif isinstance(infrastructure, facts.Infrastructure) and decision.record is not None:
                await self._write(step, infrastructure, decision, evidence)
                if step is Step.FLIP:
                    # Not before: until then it is only intended.
                    self._show(known, decision)
                # Now: when a report after it fails, nothing will differ next time.
                told = True
                self._tell(decision, infrastructure)
        if not told and isinstance(infrastructure, facts.Infrastructure):
            self._tell(decision, infrastructure)

    def _show(self, known: facts.Facts, decision: Decision) -> None:
        self._narrator.decided(decision)
        self._rooms.metrics.decided(decision, known)
        self._rooms.board.pin(decision, known, self._now())
        infrastructure = known.infrastructure
        wish = infrastructure.native_wish if isinstance(infrastructure, facts.Infrastructure) else None
        self._rooms.metrics.observed(decision.observed, wish, self._now())

    def _send_news(self) -> None:
        news, self._news = self._news, []
        for infrastructure, record, happening in news:
            self._rooms.teller.tell(infrastructure, record, happening)

    def _tell(self, decision: Decision, infrastructure: facts.Infrastructure) -> None:
        # A decision that leaves the record alone speaks of the one that is there: events are named after it.
        kept = infrastructure.record if not isinstance(infrastructure.record, facts.Unobserved) else None
        for happening in self._happened(decision, infrastructure):
            self._news.append((infrastructure, decision.record or kept, happening))

    async def _write(
        self,
        step: Step,
        infrastructure: facts.Infrastructure,
        decision: Decision,
        evidence: live.Evidence | None,
    ) -> None:
        record = decision.record
        if record is None:
            return
        if step is Step.FLIP:
            if evidence is None:
                raise act.Voided("a flip without evidence")
            try:
                raw = await self._rooms.act.flip(evidence, infrastructure, record)
            except act.Voided as error:
                self._count_void(error)
                raise
            self._term = dataclasses.replace(self._term, voids=Voids())
            _LOG.info(
                "topology moved from %(source)s to %(target)s by %(definition)s",
                {"source": record.source, "target": record.target, **narration.about(record)},
            )
        else:
            raw = await self._rooms.act.save(infrastructure, record)
            _LOG.debug("the record is written: phase %(phase)s", {"phase": record.phase, **narration.about(record)})
        self._rooms.watches.apply(catalog.INFRASTRUCTURE, raw)
        before = infrastructure.record if not isinstance(infrastructure.record, facts.Unobserved) else None
        stored = before if isinstance(before, TopologyTransition) else None
        self._term = dataclasses.replace(cadence.written(self._term, record, stored, self._now()), refused="")
        self._rooms.metrics.moved(before, record, infrastructure.desired, self._now())
        if record.phase is Phase.ADMITTING and record.attempt == self._term.next_attempt:
            self._term = dataclasses.replace(self._term, attempt=record.attempt, next_attempt=_new_attempt())

    def _count_void(self, error: act.Voided) -> None:
        if error.age is not None:
            before = self._term.voids
            voids = Voids(before.count + 1, max(before.seconds, error.age))
            self._term = dataclasses.replace(self._term, voids=voids)

    async def _report(self, known: facts.Facts, decision: Decision) -> None:
        # A flip may lie between the facts and this write; only our own object matters here.
        own = self._rooms.watches.known().own_operator
        if isinstance(own, facts.Unobserved) and not own.missing:
            own = known.own_operator
        wanted = clusteroperator.status(
            decision, own, now=self._now(), version=self._settings.version, namespace=self._settings.namespace
        )
        raw = await self._rooms.act.report(own, wanted)
        if raw is not None:
            self._rooms.watches.apply(catalog.OWN_OPERATOR, raw)

    async def _gather(self, definition: model.Definition | None) -> None:
        """Read the evidence live and decide again from it; what was watched only led here."""
        base = self._rooms.watches.known()
        sources = catalog.evidence() if definition is None else catalog.evidence(definition)
        evidence = await live.gather(self._rooms.client, base, (*sources, *catalog.GUARDS), self._rooms.etcd)
        if isinstance(evidence.facts.infrastructure, facts.Unobserved):
            # Nobody else would look again: what is watched has not changed.
            raise act.Voided(f"the last read before the flip failed: {evidence.facts.infrastructure}")
        decision = self._decide(evidence.facts)
        if decision.phase is Phase.PENDING:
            self._hold = min(max(_HOLD_FIRST, 2 * self._hold), _HOLD_CAP)
            # Until another admission may begin, what was read live is believed, and not the watches.
            hold = max(self._hold, cadence.pause(self._term).total_seconds())
            until = self._now() + timedelta(seconds=hold)
            self._term = dataclasses.replace(self._term, hold_until=until)
            _LOG.info(
                "live evidence differs from what was watched: %(message)s; looking again within %(seconds).0f s",
                {"message": decision.note, "seconds": hold},
            )
            decision = dataclasses.replace(decision, look_again=min(hold, decision.look_again or hold))
        elif decision.phase is Phase.CONVERGING:
            self._hold = 0.0
        await self._perform(evidence.facts, decision, evidence)

    def _happened(self, decision: Decision, infrastructure: facts.Infrastructure) -> tuple[Happening, ...]:
        kept = infrastructure.record
        # Somebody may have dropped it meanwhile: then it is the one that was rebuilt.
        record = decision.record if kept is None or isinstance(kept, facts.Unobserved) else kept
        if record is None:
            return decision.happened
        first, self._told_after_restart = not self._told_after_restart, True
        if first and not decision.happened:
            return events.after_restart(record, self._now())
        return decision.happened

    async def _discover(self, known: facts.Facts, decision: Decision) -> None:
        """Find out what could be asked for: at start, when the place changes, and hourly; not while a wish is open."""
        infrastructure = known.infrastructure
        if (due := self._discoverer.version_due_in) is not None:
            self._rooms.queue.add_after(due)
        if decision.watch or decision.disabled or decision.degraded or isinstance(infrastructure, facts.Unobserved):
            return
        if (due := self._discoverer.due_in(infrastructure)) > 0:
            self._rooms.queue.add_after(due)
            return
        found = await self._discoverer.look(known, infrastructure)
        if found is None:
            self._rooms.queue.add_after(_HOLD_CAP)
            return
        self._term = dataclasses.replace(self._term, available=found.available, advisories=found.advisories)
        self._rooms.queue.add()


def _new_attempt() -> str:
    return uuid.uuid4().hex
