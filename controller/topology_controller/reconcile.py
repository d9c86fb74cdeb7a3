"""The loop: wake up, look at the facts, decide, act, report, and say when to look again.

One worker is woken by a fact that changed, by the time that the last decision asked for, or by a failure that is worth
another try. Each pass is `observe` → `decide` → `act`; a conflict means that another client wrote, and the pass begins
again from a live read, at once. A write whose outcome is not known is followed by a live read before anything else is
written. What this leader remembers between two passes is its `LeaderState`; all else is read back from the API.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from topology_api.types import TopologyTransition
from topology_api.vocabulary import Phase

from . import act, discover
from .decide import cadence, leader, phases, records
from .decide import state as states
from .decide.state import Decision, EventSpec, Step
from .definitions import settings as configured
from .kube import client as clients
from .kube import errors
from .kube import queue as queues
from .observe import catalog, facts, live
from .observe import watches as watching
from .report import clusteroperator, events, log, view
from .report import metrics as measuring

if TYPE_CHECKING:
    from .observe import members  # memory that most clusters need not spend

_LOG = logging.getLogger(__name__)
_CONFLICTS = 20
_MIN_RETRY = 1.0  # seconds. A change may cut the delay after a failure short, but not turn it into a hot loop
_UNSEEN = 1.0  # seconds. News that waited for longer were not looked at one by one: what lay between them was not seen


def utcnow() -> datetime:
    """The time that is decided by."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The parts of the process that the loop works with, and what the command line says to it."""

    client: clients.Client
    watches: watching.Watches
    queue: queues.WorkQueue
    act: act.Act
    events: events.EventRecorder
    metrics: measuring.Metrics
    latest: view.Latest
    version: str
    namespace: str
    configuration: configured.Current
    settle_seconds: int | None = None
    etcd: members.Members | None = None  # the way to etcd itself, where the administrator has given one
    on_topology: Callable[[str], None] = lambda _: None
    now: Callable[[], datetime] = utcnow


class Reconciler:
    """One leader's loop. `run()` until cancelled; make a new one for every term of leadership."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._transitions = deps.configuration.transitions
        self._now = deps.now
        # Unsure: a watch that was cut while another operator led has not brought what that one wrote last, and by an
        # older record or an older copy of it what is under way would be forgotten.
        self._state = states.LeaderState(
            since=self._now(), next_attempt=_new_attempt(), settle_seconds=deps.settle_seconds, unsure=True
        )
        self._conflicts = 0
        self._dropped = False  # did the server answer the last write of the record without the record?
        self._fresh = False  # was this decision made from a live read of what is written?
        self._wanted_at = 0.0
        self._discoverer = discover.Discoverer(deps.client, self._transitions, deps.etcd, deps.now)
        self._recorded_since_start = False
        self._tried: tuple[facts.Infrastructure, Decision] | None = None  # a write of the record, until it is answered
        self._queued: list[tuple[facts.Infrastructure, TopologyTransition | None, EventSpec]] = []
        self._log = log.DecisionLog()

    async def run(self) -> None:
        """Reconcile until cancelled. Raises only what is a bug."""
        queue, metrics, loop = self._deps.queue, self._deps.metrics, asyncio.get_running_loop()
        self._deps.latest.wanted = self.look_again_soon
        while True:
            await queue.get()
            began = loop.time()
            try:
                try:
                    await self._pass()
                finally:
                    # Never before a change, and not lost when something after the write of a record failed.
                    news, self._queued = self._queued, []
                    for infrastructure, record, spec in news:
                        self._deps.events.record(infrastructure, record, spec)
            except (errors.KubeError, act.Voided) as error:
                asked = error.retry_after if isinstance(error, errors.KubeError) else None
                delay = queue.failed(asked)
                metrics.reconciled(loop.time() - began, ok=False)
                self._log.failed(error, delay)
                await asyncio.sleep(min(delay, max(_MIN_RETRY, asked or 0.0)))
            except BaseException:
                queue.done(ok=False)
                raise
            else:
                queue.done()
                metrics.reconciled(loop.time() - began, ok=True)

    def look_again_soon(self) -> None:
        """Read again what is available and left to do, for a reader: once a minute at most, and not what is watched."""
        if not self._deps.watches.is_open:
            self._deps.queue.add_after(self._discoverer.wanted())

    async def _pass(self) -> None:
        """One look: decide and act until there is nothing more to do right now."""
        watches = self._deps.watches
        watches.raise_failed()
        self._configure()
        missed = False
        while True:
            await self._read_again()
            if watches.restored.is_set():
                # All is about to be read anew, and this term ends: what is known may never have happened.
                return
            missed |= watches.looked() >= _UNSEEN
            known = await self._discoverer.with_version(await self._with_definition())
            known = await self._discoverer.with_settings(await self._discoverer.with_native(known))
            self._learn_of_write(known)
            decision = self._decide(known, missed=missed)
            missed = False
            await self._switch_watches(known, decision)
            try:
                await self._perform(known, decision)
            except errors.Conflict as error:
                self._conflicts += 1
                self._state = dataclasses.replace(self._state, unsure=True)
                if self._conflicts >= _CONFLICTS:
                    self._conflicts = 0
                    raise
                _LOG.debug("%(error)s; deciding again from a live read", {"error": error})
            except errors.KubeError as error:
                await self._failed(known, error)
                raise
            except (act.RecordDropped, act.Unread) as error:
                self._dropped |= isinstance(error, act.RecordDropped)
                self._state = dataclasses.replace(self._state, unsure=True)
            else:
                self._conflicts = 0
                break
        if watches.is_open and not decision.watch:
            self._deps.queue.add_after(self._lingers())
        await self._discover(known, decision)

    async def _with_definition(self) -> facts.Facts:
        """What is watched; the definition is read where it lacks our fields, or may. Raises Voided."""
        watches, dropped = self._deps.watches, self._dropped
        known = watches.known()
        vanished, lacked = self._vanished(known), known.lacks is not None
        if not vanished and not lacked and not dropped:
            return known
        watches.installed, self._dropped = await live.read(self._deps.client, catalog.Sources.installed), False
        if lacked and isinstance(watches.installed, facts.Installed) and watches.installed.lacks is None:
            # What was hidden is shown again, and no watch brings that: the object has not changed.
            self._state = dataclasses.replace(self._state, unsure=True)
            await self._read_again()
        known = watches.known()
        gone = "the server dropped the record" if dropped else "the record is gone"
        if isinstance(known.installed, facts.Unobserved) and (dropped or self._vanished(known)):
            raise act.Voided(f"{gone}; whether the CRD has its fields is unknown: {known.installed}")
        if dropped and known.lacks is None:
            raise act.Voided(f"{gone}; although the CRD has its fields")
        return known

    def _vanished(self, known: facts.Facts) -> bool:
        """Is there no record any more, although there was one? A definition that lacks our fields hides it."""
        infrastructure, own = known.infrastructure, known.own_operator
        was = self._state.writes.at is not None or (isinstance(own, facts.OwnOperator) and own.copy is not None)
        return was and isinstance(infrastructure, facts.Infrastructure) and infrastructure.record is None

    async def _failed(self, known: facts.Facts, error: errors.KubeError) -> None:
        """Remember that a write may have happened; report what Infrastructure's refusal says (rights, admission)."""
        if error.outcome_unknown:
            self._state = leader.unsure(self._state, next_attempt=_new_attempt())
        elif isinstance(error, errors.Forbidden | errors.Invalid) and error.resource == catalog.INFRASTRUCTURES:
            self._state = dataclasses.replace(self._state, refused=str(error))
            # The copy in our own report stays what it was: this record stands nowhere.
            await self._report(known, dataclasses.replace(self._decide(known), record=None))

    def _configure(self) -> None:
        """Take up what the configuration says now: between two passes, never within one."""
        current = self._deps.configuration
        if current.transitions is not self._transitions:
            self._transitions = current.transitions
            self._discoverer.use(current.transitions)
        self._state = dataclasses.replace(self._state, misconfigured=current.trouble, unconfigured=current.unknown)

    def _decide(self, known: facts.Facts, *, missed: bool = False) -> Decision:
        """Decide, with what this leader remembers brought up to date."""
        now = self._now()
        clocks, watching = states.Clocks(now, asyncio.get_running_loop().time()), self._deps.watches.is_open
        state = leader.looked(self._state, known, clocks, watching=watching, missed=missed)
        if by := state.jumped.total_seconds():
            _LOG.warning("the clock was set by %(seconds).1f s: what is waited for by it is set along", {"seconds": by})
        decision = phases.decide(known, self._transitions, state, now)
        self._state = leader.decided(state, decision, now, records.stored(known.infrastructure))
        return decision

    async def _read_again(self) -> None:
        """Read Infrastructure and our own ClusterOperator live, if unsure; all that forbids, if misled.

        Raises KubeError where the state of one of the two that the store has may be old. Where the right to read
        Infrastructure is missing the decision says so. What else cannot be read is read before a change.
        """
        self._fresh = self._state.unsure or self._state.misled
        if not self._fresh:
            return
        watches, sources = self._deps.watches, (catalog.Sources.infrastructure, catalog.Sources.own_operator)
        kept = {source: watches.fact(source) for source in sources}
        for source in catalog.IDLE if self._state.misled else kept:
            try:
                await watches.read_again(source)
            except errors.KubeError as error:
                reported = isinstance(error, errors.Forbidden) and source is catalog.Sources.infrastructure
                if not reported and not isinstance(kept.get(source, facts.NOT_READ), facts.Unobserved):
                    raise
        self._state = dataclasses.replace(self._state, unsure=False, misled=False)

    async def _switch_watches(self, known: facts.Facts, decision: Decision) -> None:
        """Open what the decision needs. What is needed no more stays open for a while: the next request may follow."""
        watches = self._deps.watches
        # Machines join a single node before anything is requested: how long it has two voters is counted.
        await watches.ask_for_voters(wanted=known.single_node and decision.disabled is None)
        if decision.watch:
            self._wanted_at = asyncio.get_running_loop().time()
            watches.open()
            # After the change no check asks what etcd's members say.
            await watches.ask_etcd(wanted=decision.phase is not Phase.CONVERGING)
        elif watches.is_open and self._lingers() <= 0:
            await watches.close()
            # What only they knew is no longer known, nor shown.
            self._deps.queue.add()
        # Nothing can be accepted before the change, so there is no request for it on the way there.
        await watches.ask_for_acceptances(wanted=decision.watch and decision.phase is Phase.CONVERGING)

    def _lingers(self) -> float:
        """Seconds until watches that no decision needs are closed: the next request finds them open."""
        return self._wanted_at + cadence.pause(self._state).total_seconds() - asyncio.get_running_loop().time()

    async def _perform(self, known: facts.Facts, decision: Decision) -> None:
        """Do the steps of a decision, in their order; where evidence is gathered, those that follow from it too."""
        evidence: live.Evidence | None = None
        while True:
            await self._steps(known, decision, evidence)
            if Step.GATHER not in decision.steps:
                return
            evidence = await self._gather(known, decision)
            known, decision = evidence.facts, self._decide_live(evidence, decision)

    async def _steps(self, known: facts.Facts, decision: Decision, evidence: live.Evidence | None) -> None:
        """Write what is to be written, show it, and keep the events for later."""
        self._deps.queue.look_again(decision.look_again)
        seen = None if isinstance(known.infrastructure, facts.Unobserved) else known.infrastructure
        if seen is not None and seen.control_plane is not None:
            self._deps.on_topology(seen.control_plane)
        if Step.CHANGE not in decision.steps:
            self._show(known, decision)
        queued = False
        for step in decision.steps:
            if step is Step.REPORT:
                await self._report(known, decision)
            elif step is not Step.GATHER and seen is not None and decision.record is not None:
                self._tried = seen, decision
                try:
                    await self._write(step, seen, decision.record, evidence)
                except errors.Conflict:
                    if self._conflicts and step is Step.SAVE:
                        # Decided from what was read live, and others write faster: they keep no report back.
                        await self._report(known, dataclasses.replace(decision, record=None))
                    raise
                if step is Step.CHANGE:
                    # Not before: until then it is only intended.
                    self._show(known, decision)
                # Now: when a report after it fails, nothing will differ next time.
                queued = True
                self._wrote(seen, decision)
        if not queued and seen is not None:
            self._queue_events(decision, seen)

    def _show(self, known: facts.Facts, decision: Decision) -> None:
        self._log.decided(decision)
        self._deps.metrics.decided(decision, known)
        self._deps.latest.set(decision, known)
        infrastructure = known.infrastructure
        desired = infrastructure.native_desired if isinstance(infrastructure, facts.Infrastructure) else None
        self._deps.metrics.observed(decision.observed, desired, self._now())

    def _learn_of_write(self, known: facts.Facts) -> None:
        """A write of the record whose answer was lost has happened where that record is read now."""
        tried, self._tried = self._tried, None
        if tried is not None and cadence.stands(tried[1].record, records.stored(known.infrastructure)):
            self._wrote(*tried)

    def _wrote(self, before: facts.Infrastructure, decision: Decision) -> None:
        """A record was written: it counts, and its events are kept."""
        self._tried = None
        if decision.record is not None:
            self._deps.metrics.changed(records.stored(before), decision.record, before.desired, self._now())
        self._queue_events(decision, before)

    def _queue_events(self, decision: Decision, infrastructure: facts.Infrastructure) -> None:
        """Keep the events of a decision: named after its record, or after the one that it leaves alone."""
        kept, happened = records.stored(infrastructure), decision.happened
        # It may have been dropped meanwhile: then it is the one that was rebuilt.
        standing = kept or decision.record
        if standing is not None:
            first, self._recorded_since_start = not self._recorded_since_start, True
            if first and not happened:
                happened = events.after_restart(standing, self._now())
        self._queued += [(infrastructure, decision.record or kept, spec) for spec in happened]

    async def _write(
        self,
        step: Step,
        infrastructure: facts.Infrastructure,
        record: TopologyTransition,
        evidence: live.Evidence | None,
    ) -> None:
        if step is Step.CHANGE:
            try:
                raw = await self._deps.act.change(evidence, infrastructure, record)
            except act.Voided as error:
                if error.age is not None:
                    self._state = leader.voided(self._state, error.age)
                raise
            _LOG.info(
                "topology changed from %(source)s to %(target)s by %(definition)s",
                {"source": record.source, "target": record.target, **log.about(record)},
            )
        else:
            self._hold_history()
            raw = await self._deps.act.save(infrastructure, record)
            _LOG.debug("the record is written: phase %(phase)s", {"phase": record.phase, **log.about(record)})
        self._deps.watches.apply(catalog.Sources.infrastructure, raw)
        stored, now = records.stored(infrastructure), self._now()
        # After newer answers and texts alone, the same would be decided from what was written.
        if stored is None or cadence.has_happened(record, stored):
            self._deps.queue.add()
        self._state = leader.wrote(self._state, record, stored, now, next_attempt=_new_attempt())

    async def _report(self, known: facts.Facts, decision: Decision) -> None:
        # A change may lie between the facts and this write; only our own object matters here.
        deps, own = self._deps, self._deps.watches.fact(catalog.Sources.own_operator)
        if isinstance(own, facts.Unobserved) and not own.missing:
            own = known.own_operator
        wanted = clusteroperator.status(decision, own, now=self._now(), version=deps.version, namespace=deps.namespace)
        if not clusteroperator.differs(wanted, own):
            return
        news = clusteroperator.news(wanted, own)
        # Readers compare the record with what stands here: with the one the other is written, at once.
        if not (news or Step.SAVE in decision.steps):
            if cadence.contradicts(decision.record, records.stored(known.infrastructure)):
                return
            if (wait := cadence.text_in(self._state, self._now())) is not None:
                self._deps.queue.add_after(wait)
                return
        self._hold_history()
        raw = await deps.act.report(own, wanted)
        deps.watches.apply(catalog.Sources.own_operator, raw)
        deps.latest.written()
        self._state = leader.reported(self._state, self._now(), news=news)

    def _hold_history(self) -> None:
        """Raises Unread where the server was away, and what is known was not read since."""
        # A plain restore gives versions out a second time: the one that guards a write may be that of another state.
        if not self._fresh and self._deps.watches.unsure():
            raise act.Unread("the API server was away, and nothing was read live since")

    async def _gather(self, known: facts.Facts, led: Decision) -> live.Evidence:
        """Read the evidence of the change, or of the end, live; what was watched only led here."""
        converging = led.phase is Phase.CONVERGING
        base = known if converging else self._deps.watches.known()
        sources = catalog.last(led.definition, base, catalog.watched(self._transitions) if converging else ())
        etcd = None if converging else self._deps.etcd
        evidence = await live.gather(self._deps.client, base, sources, etcd, as_watched=converging)
        if catalog.Sources.native_lease in sources:
            evidence = dataclasses.replace(evidence, facts=self._discoverer.noted(evidence.facts))
        infrastructure, own = evidence.facts.infrastructure, evidence.facts.own_operator
        # Nothing is decided without these two, and nothing else would wake the loop: what is watched has not changed.
        if isinstance(infrastructure, facts.Unobserved):
            self._state = dataclasses.replace(self._state, unsure=True)
            raise act.Voided(f"the last live read failed: {infrastructure}")
        if isinstance(own, facts.Unobserved) and not own.missing:
            raise act.Voided(f"the last live read failed: {own}")
        return evidence

    def _decide_live(self, evidence: live.Evidence, led: Decision) -> Decision:
        """Decide from the last reads, to which `led` has led."""
        # Where they lead neither to the change nor back to the same admission, the watches are behind: from these alone
        # the next decision would be `led` again.
        decision, now = self._decide(evidence.facts), self._now()
        if Step.CHANGE in decision.steps or decision.phase is Phase.COMPLETED:
            return decision
        self._deps.watches.learn(evidence.answers)
        if decision.phase is Phase.ADMITTING and decision.definition is led.definition:
            return decision
        self._state = leader.disagreed(self._state, now)
        if decision.phase is Phase.ADMITTING:
            # Another definition fits: what holds this one holds it, too.
            decision = self._decide(evidence.facts)
        hold = (self._state.hold_until - now).total_seconds() if self._state.hold_until is not None else 0.0
        _LOG.info(
            "live evidence differs from what was watched: %(message)s; looking again within %(seconds).0f s",
            {"message": decision.sentence, "seconds": hold},
        )
        return dataclasses.replace(decision, look_again=min(hold, decision.look_again or hold))

    async def _discover(self, known: facts.Facts, decision: Decision) -> None:
        """Find out which transitions are available: at start, when the place changes, hourly; not during a request."""
        # As they are after this pass: it may have written both.
        watches = self._deps.watches
        infrastructure = watches.fact(catalog.Sources.infrastructure)
        if (due := self._discoverer.read_again_in) is not None:
            self._deps.queue.add_after(due)
        if decision.watch or decision.disabled or decision.degraded or isinstance(infrastructure, facts.Unobserved):
            return
        own = watches.fact(catalog.Sources.own_operator)
        known = dataclasses.replace(known, infrastructure=infrastructure, own_operator=own)
        if (due := self._discoverer.due_in(known)) > 0:
            self._deps.queue.add_after(due)
            return
        answer = await self._discoverer.look(known, infrastructure)
        if answer is None:
            self._deps.queue.add_after(discover.RETRY)
            return
        self._state = dataclasses.replace(self._state, available=answer.available, advisories=answer.advisories)
        self._deps.queue.add()


def _new_attempt() -> str:
    return uuid.uuid4().hex
