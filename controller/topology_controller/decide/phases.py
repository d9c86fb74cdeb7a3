"""The life of a transition: from the facts to one decision.

    Idle → Unsupported | Pending → Admitting → Converging → Completed

`decide` first settles who is in charge, then whether it may speak at all (object there, API installed, topology not
overwritten), and then goes by the phase of the record: before the change everything is decided from the request and the
preflight checks (`admission`), afterwards from the record and the convergence checks only (`convergence`).
"""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta

from topology_api.types import Advisory, RecordCopy, TopologyTransition, fit, whole_seconds
from topology_api.vocabulary import NEVER_A_SOURCE, OPERATOR_NAME, AdvisoryName, Phase, ProblemReason, Reason

from ..checks import advisories, operators
from ..checks.result import LONGEST, every, listed, sentences, worded
from ..definitions import load, model
from ..observe import facts
from . import admission, applicability, assessment, cadence, convergence, problems, records
from .state import READING, STAGES, Cause, Context, Decision, LeaderState, Step

_UNDER_WAY = frozenset({Phase.ADMITTING, Phase.CONVERGING})
_CANCEL = records.request(None)


def decide(known: facts.Facts, transitions: load.Transitions, leader: LeaderState, now: datetime) -> Decision:
    """Decide what follows from the facts. The same arguments always give the same decision."""
    decision = _decide(known, transitions, leader, now)
    refused = decision.watch and not cadence.is_done(decision, records.stored(known.infrastructure))
    if leader.refused and refused and Step.CHANGE not in decision.steps:
        decision = dataclasses.replace(decision, note=f"{decision.note}. Nothing can be recorded: {leader.refused}")
    if not leader.misconfigured:
        return decision
    return dataclasses.replace(decision, misconfigured=Cause(Reason.CONFIGURATION_INVALID, leader.misconfigured))


def _decide(known: facts.Facts, transitions: load.Transitions, leader: LeaderState, now: datetime) -> Decision:
    infrastructure, own = known.infrastructure, known.own_operator
    if isinstance(own, facts.Unobserved) and not own.missing:
        # The copy of the record may be in it: without having read it nothing can be called a fresh start, and nothing
        # can be reported either. The watches stay as they are needed.
        record = records.stored(infrastructure)
        phase = Phase.IDLE if record is None else record.phase
        return Decision(phase, watch=phase in STAGES, note=str(own))
    copy = None if isinstance(own, facts.Unobserved) else own.copy
    if isinstance(infrastructure, facts.Unobserved):
        return _unread(known, infrastructure, copy, now - (leader.unread_since or now))
    cause = applicability.disabled(known, infrastructure)
    if isinstance(infrastructure.record, facts.Newer):
        newer = infrastructure.record
        if cause is None or newer.target == infrastructure.control_plane:
            return _too_new(newer)
        return Decision(Phase.IDLE, steps=(Step.REPORT,), disabled=cause)
    # The record as it stands, with the newest answers; where it was lost, what can be rebuilt of it.
    record = records.recover(infrastructure, own, leader.latest)
    if record is infrastructure.record:
        record = cadence.newest(record, leader.latest)
    record = None if record is None else records.believed(record, now)
    context = Context(known, infrastructure, record, transitions, leader, now)
    if cause is not None and not (cause.reason is Reason.NATIVE_CONTROLLER_ACTIVE and _follows(context, copy)):
        return _disabled(context, cause)
    if known.lacks:
        return _not_installed(context, known.lacks, copy)
    return _by_record(context)


def _follows(context: Context, copy: RecordCopy | None) -> bool:
    """Is what we have changed still on its way? Where the record cannot stand, its copy says which phase it was."""
    # Only we know what that is measured against: it is reported to its end, and topology is not written any more.
    record = context.record
    if record is None or record.phase is not Phase.CONVERGING or record.target != records.pair(context.infrastructure):
        return False
    return not record.by_native and (context.known.lacks is None or copy is None or copy.phase in _UNDER_WAY)


def _by_record(context: Context) -> Decision:
    infrastructure, record = context.infrastructure, context.record
    here = records.pair(infrastructure)
    if record is None or not record.phase.changed or record.target is None:
        return _request(context)
    requested = infrastructure.desired == record.target.control_plane
    if record.target != here:
        # Another client has set the topology back: what stands is either the same request, or another one. What the
        # native controller began needs none of ours: a spec that has changed since asks for it anew.
        anew = record.by_native and record.observed_generation != infrastructure.generation
        return _overwritten(context, record) if requested and not anew else _request(context)
    if record.phase is Phase.CONVERGING:
        return convergence.converging(context, record)
    requested |= record.by_native and infrastructure.native_desired == record.target.control_plane
    if not requested:
        return _request(context)
    kept = records.updated(
        record,
        observed_generation=infrastructure.generation,
        available=records.available(context),
        advisories=_left(context),
        last_transition=records.last(context),
        problem=None,
    )
    return cadence.written(context, Decision(Phase.COMPLETED, kept, note=convergence.completed_note(kept)))


def _unread(known: facts.Facts, why: facts.Unobserved, copy: RecordCopy | None, lasts: timedelta) -> Decision:
    """Infrastructure does not exist, or cannot be read, for so long. What was under way keeps upgrades blocked."""
    # Where it is malformed the watch is well, so readiness says nothing: the conditions must. What else is not read for
    # a while is no reason to change what was reported. A native controller in charge waits for operators that are ill.
    report, native = (Step.REPORT,), applicability.native_in_charge(known)
    if native and (copy is None or copy.phase not in _UNDER_WAY):
        if why.awaited:
            return Decision(Phase.IDLE, note=str(why))
        message = f"{applicability.NATIVE_ACTS}. Its request cannot be read: {why}"
        return Decision(Phase.IDLE, steps=report, disabled=Cause(Reason.NATIVE_CONTROLLER_ACTIVE, message))
    reason, blocking, until = Reason.EVIDENCE_UNREADABLE, frozenset(STAGES), "it can be read"
    if why.missing:
        reason, blocking, until = Reason.INFRASTRUCTURE_MISSING, _UNDER_WAY, "it is there: the installer creates it"
    elif why.kind is not facts.Kind.MALFORMED and lasts < problems.UNREADABLE_BOUND:
        return Decision(Phase.IDLE, note=str(why), look_again=(problems.UNREADABLE_BOUND - lasts).total_seconds())
    cause = Cause(reason, f"{why}. Nothing is decided until {until}")
    if copy is None or copy.phase not in blocking or copy.target is None:
        return Decision(Phase.IDLE, steps=report, degraded=cause)
    note, block = f"Waiting for {why.what}", convergence.upgrade_block(copy)
    return Decision(copy.phase, watch=True, steps=report, degraded=cause, note=note, upgrade_block=block)


def _not_installed(context: Context, lacks: str, copy: RecordCopy | None) -> Decision:
    """The served definition lacks our fields. What its loss has interrupted keeps blocking upgrades, by the copy."""
    cause = Cause(Reason.API_NOT_INSTALLED, worded("APINotInstalled", lacks=lacks))
    decision = Decision(context.phase, steps=(Step.REPORT,), look_again=60.0, degraded=cause, level=False)
    if copy is None or copy.phase not in _UNDER_WAY or copy.target is None:
        if applicability.native_awaited(context.known, context.leader, context.now) is None:
            return decision
        # A definition without our fields is what that controller brings, and it waits for operators that are not well.
        return dataclasses.replace(decision, phase=Phase.IDLE, degraded=None, look_again=10.0, note=admission.AWAITED)
    note = "Waiting for the definition of our fields"
    return dataclasses.replace(decision, phase=copy.phase, note=note, upgrade_block=convergence.upgrade_block(copy))


def _too_new(newer: facts.Newer) -> Decision:
    """A newer version is in the middle of something: nothing is written over it, and minor upgrades stay blocked."""
    note = f"Infrastructure cluster has a record in phase {newer.phase}, which this version does not know"
    message = worded("RecordTooNew", note=note)
    block = operators.block_message(newer.name or "", newer.target) if newer.target else message
    cause, steps = Cause(Reason.EVIDENCE_UNREADABLE, message), (Step.REPORT,)
    return Decision(Phase.UNSUPPORTED, None, steps, degraded=cause, note=note, upgrade_block=block, level=False)


def _disabled(context: Context, cause: Cause) -> Decision:
    """Stand down, and show what the native controller does meanwhile."""
    # A record from before the change is cleared once; a hosted cluster's Infrastructure is never written, and neither
    # is one whose definition lacks our fields: that would take out for good what it only does not show.
    record, phase, observed = context.record, context.phase, None
    untouched = context.known.lacks or cause.reason is Reason.HOSTED_CONTROL_PLANE
    # What the native controller does goes on changing, and the record is not written for that.
    message = fit(cause.message)
    if cause.reason is Reason.NATIVE_CONTROLLER_ACTIVE:
        observed = applicability.native_transition(context)
        phase = observed.phase
        text = applicability.native_text(context.known, phase, LONGEST - len(cause.message) - len(". "))
        cause = dataclasses.replace(cause, message=sentences(cause.message, text))
    # Its own transition is followed by the native controller again.
    given_back = observed is not None and record is not None and record.by_native and record.phase is Phase.CONVERGING
    if untouched or record is None or not (given_back or record.phase.asks):
        return Decision(phase, steps=(Step.REPORT,), disabled=cause, observed=observed)
    phase = Phase.IDLE if observed is None else phase
    idle = records.updated(_idle_record(context), message=message)
    return Decision(phase, idle, (Step.SAVE, Step.REPORT), disabled=cause, observed=observed)


def _overwritten(context: Context, record: TopologyTransition) -> Decision:
    """Another client has set the topology back, and the request stands: only its removal says what is wanted now."""
    infrastructure, here = context.infrastructure, records.pair(context.infrastructure)
    writer, desired = infrastructure.topology_writer, infrastructure.desired
    # The times of managed fields have whole seconds: within one, it may seem to be us.
    by = f"field manager {writer}" if writer and writer != OPERATOR_NAME else "an unknown client"
    leads = any(
        definition.target.control_plane == desired and infrastructure.platform in definition.platforms
        for definition in context.transitions.starting_at(here)
    )
    way_out = "removed and made again" if leads else "removed"
    message = worded("TopologyOverwritten", was=record.target, here=here, by=by, way_out=way_out, cancel=_CANCEL)
    problem = problems.problem(context, ProblemReason.TOPOLOGY_OVERWRITTEN, message)
    decision = Decision(
        record.phase,
        # The record answers this request too: one that seemed to be older would be no problem to a health check.
        records.updated(record, problem=problem, observed_generation=infrastructure.generation),
        degraded=Cause(Reason.TOPOLOGY_OVERWRITTEN, message),
        note=f"Stopped: {message}",
        # The machines may be on their way to either topology.
        upgrade_block=convergence.upgrade_block(record) if record.phase is Phase.CONVERGING else None,
    )
    return cadence.written(context, decision)


def _request(context: Context) -> Decision:
    """The topology has not changed: decide from the request."""
    infrastructure = context.infrastructure
    here, desired = records.pair(infrastructure), infrastructure.desired
    if begun := applicability.abandoned(context):
        followed = applicability.inherited(context, _choose(context.known, begun) or begun[0])
        return convergence.converging(context, followed)
    if desired is None:
        return _idle(context)
    starting = context.transitions.starting_at(here)
    leading = [definition for definition in starting if definition.target.control_plane == desired]
    if not leading and desired == here.control_plane:
        return _idle(context)
    on_platform = [definition for definition in leading if infrastructure.platform in definition.platforms]
    if on_platform and context.known.awaited:
        # Deciding now would publish "not read yet" as news.
        return Decision(context.phase, watch=True, note=READING)
    definition = _choose(context.known, on_platform) if on_platform else None
    if definition is None:
        # Where the number of workers decided the watches stay open: it may change.
        return cadence.held(context, dataclasses.replace(_unsupported(context, desired), watch=bool(on_platform)))
    return cadence.held(context, admission.preflight(context, definition, desired))


def _choose(known: facts.Facts, candidates: list[model.Definition]) -> model.Definition | None:
    """Tell definitions with the same source apart by the number of dedicated workers."""
    # With an unreadable number the first one is shown: DedicatedWorkers answers Unknown for each of them.
    others = every(known.other_nodes)
    if len(candidates) == 1 or isinstance(others, facts.Unobserved):
        return candidates[0]
    count = sum(node.dedicated_worker for node in others)
    return next((definition for definition in candidates if definition.workers.fits(count)), None)


def _idle_record(context: Context) -> TopologyTransition:
    accepted = () if context.record is None else context.record.accepted
    return records.entered(context, Phase.IDLE, accepted=accepted, advisories=_left(context))


def _left(context: Context) -> tuple[Advisory, ...]:
    """What the last transition has left to do, and what the native controller has."""
    # Nothing of a request that was cancelled, or where the transition led to is gone. Nothing is watched: it is looked
    # at again when discovery reads.
    record, last, left = context.record, records.last(context), context.leader.advisories or ()
    if record is None or last is None or last.target != records.pair(context.infrastructure):
        left = ()
    elif context.leader.advisories is None and record.phase not in STAGES:
        left = record.advisories
    native = advisories.native_left(context.known, record)
    kept = tuple(item for item in left if item.name != AdvisoryName.NATIVE_CONDITIONS_LEFT)
    return kept if native is None else (*kept, native)


def _idle(context: Context) -> Decision:
    record, desired = _idle_record(context), context.infrastructure.desired
    begin = "No topology is requested" if desired is None else f"The cluster has the desired topology {desired}"
    native = applicability.idle_note(context.known, context.infrastructure)
    note = sentences(begin, native, assessment.left(record.advisories))
    if context.infrastructure.record is None and context.record is None and context.leader.available is None:
        # The first record waits for what discovery finds: one write instead of two.
        return Decision(Phase.IDLE, steps=(Step.REPORT,), note=note)
    return cadence.written(context, Decision(Phase.IDLE, record, note=note))


def _unsupported(context: Context, desired: str) -> Decision:
    """No definition leads from here to the request: say why, and what would be legal."""
    infrastructure = context.infrastructure
    here = records.pair(infrastructure)
    legal: dict[str, list[str]] = {}
    for definition in context.transitions.starting_at(here):
        target = f"{definition.target.control_plane} on platform {' or '.join(definition.platforms)}"
        legal.setdefault(target, []).append(definition.name)
    targets = [f"{target} ({listed(names)})" for target, names in legal.items()]
    why = NEVER_A_SOURCE.get(here.control_plane)
    leads = listed(targets) or (f"none, because {why}" if why else "none")
    platform = infrastructure.platform or "unknown"
    message = worded("NoTransition", here=here, desired=desired, platform=platform, leads=leads)
    requested, kept = records.requested(context, None), context.record
    if kept is not None and kept.observed_generation != infrastructure.generation and kept.message != fit(message):
        # No target says which request this was: a change of the spec that leads to another answer is another one.
        requested = whole_seconds(context.now)
    fields = {"source": here, "requested_time": requested, "advisories": _left(context)}
    record = records.entered(context, Phase.UNSUPPORTED, **fields)
    block = f"{message}. Cancel the request to allow minor upgrades again: {_CANCEL}"
    return cadence.written(context, Decision(Phase.UNSUPPORTED, record, note=message, upgrade_block=block))
