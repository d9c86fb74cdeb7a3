"""Before the change: what could be requested, Pending, Admitting, and the decision to change the topology.

All preflight checks must be met by what is watched, then ClusterVersion must echo our upgrade block, then everything
must be met again by what was read live, while the live Infrastructure carries an attempt that this very leader has
recorded. Any doubt leads back to Pending. `phases` calls `preflight` when a definition matches the request;
`convergence` takes over once the topology has changed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from datetime import datetime, timedelta

from topology_api.types import AvailableTransition, Baseline, Blocker, TopologyTransition, fit, whole_seconds
from topology_api.vocabulary import CheckName, CheckStatus, Phase, Stage

from ..checks import catalog, load_balancer, operators
from ..checks.result import CheckResult, ConvergenceContext, listed, sentences, worded
from ..definitions import load, model
from ..observe import facts
from . import applicability, assessment, baseline, cadence, convergence, problems, records
from .state import EVIDENCE_SECONDS, SLOW, Context, Decision, Step

ECHO_BOUND = timedelta(minutes=8)
"""How long an admission waits for ClusterVersion to echo our block before it goes back to Pending: the version operator
of 4.20 to 4.22 takes up to just under 6 minutes (cluster-version-operator pkg/cvo/upgradeable.go)."""
ECHO_BACKOFF = timedelta(seconds=60)
"""How long after such a timeout the next admission may start, even if the echo appears at once."""
AWAITED = "Feature gate MutableTopology is on: waiting whether the native controller shows up"


def available(
    known: facts.Facts, transitions: load.Transitions, now: datetime
) -> tuple[AvailableTransition, ...] | None:
    """The verdict on every definition that starts here, None when this is not known. Facts should be live."""
    infrastructure = known.infrastructure
    if isinstance(infrastructure, facts.Unobserved):
        return None
    if applicability.disabled(known, infrastructure):
        return ()
    items = []
    for definition in transitions.starting_at(records.pair(infrastructure)):
        if infrastructure.platform in definition.platforms:
            results = catalog.ask(Stage.PREFLIGHT, definition, known, now)
            failing = [result for result in results if result.status is not CheckStatus.MET]
            items.append(_verdict(definition, failing, now, available=not failing))
    return tuple(items)


def _verdict(
    definition: model.Definition, failing: Iterable[CheckResult], now: datetime, *, available: bool
) -> AvailableTransition:
    return AvailableTransition(
        name=definition.name,
        target=definition.target.pair,
        available=available,
        blockers=tuple(Blocker(name=each.name, status=each.status, message=fit(each.message)) for each in failing),
        evaluated_time=whole_seconds(now),
    )


def preflight(context: Context, definition: model.Definition, desired: str) -> Decision:
    """A definition matches: Pending, or Admitting, or the change."""
    known, now, previous = context.known, context.now, context.record
    block = operators.block_message(definition.name, desired)
    results = catalog.ask(Stage.PREFLIGHT, definition, known, now)
    echo = operators.upgrades_blocked(known.cluster_version, block)
    if _echo_timed_out(context, echo):
        results = (*results, echo if not echo.met else dataclasses.replace(echo, status=CheckStatus.UNMET))
    failing = [result for result in results if result.status is not CheckStatus.MET]
    measured = None if failing else baseline.capture(context, definition)
    held = _held(context, measured)
    if not failing and _holding(context) and previous is not None and _stands(context, previous):
        return _as_read_live(context, previous, definition, held, block)
    ready = not failing and not held
    phase, target = Phase.ADMITTING if ready else Phase.PENDING, definition.target.pair
    attempt = _attempt(context, definition) if ready else None
    # It is there for its copy: were the record lost right after the change, before the copy says Converging, it would
    # not be known any more what convergence is measured against. The change measures anew.
    kept = measured if ready and isinstance(measured, Baseline) else None
    if kept is not None and previous is not None and previous.attempt == attempt:
        kept = previous.baseline or kept
    record = records.entered(
        context,
        phase,
        name=definition.name,
        source=records.pair(context.infrastructure),
        target=target,
        attempt=attempt,
        requested_time=records.requested(context, target),
        checks=records.checks(previous, Stage.PREFLIGHT, results, now),
        progress=records.progress(results),
        baseline=kept,
        # What the attempt before went without is history from here on: a new one waits for everything.
        accepted=() if ready or previous is None else previous.accepted,
    )
    settling = baseline.settling(context, definition) if ready else {}
    unobserved = baseline.unobserved(context, definition) if ready else ()
    note = _admitting(context, settling, unobserved, echoed=echo.met) if ready else held or _failing(known, results)
    # Said while it can still be helped: ingress will be gone for a while; not to who has accepted it.
    drains = definition.changes_control_plane and load_balancer.router_alone(known)
    drains = drains and not load_balancer.drain_accepted(known)
    drained = worded("RouterAloneBriefly", command=load_balancer.TWO_ROUTERS) if drains else ""
    note = assessment.within(note, drained, least=[drained])
    unreadable = problems.unreadable(records.of_stage(record, Stage.PREFLIGHT), now)
    advisories, problem = records.advised(context, record), problems.before_change(context, record, unreadable, note)
    verdict = _verdict(definition, failing, now, available=ready)
    verdicts = tuple([verdict if item.name == definition.name else item for item in record.available])
    record = records.updated(record, advisories=advisories, problem=problem, available=verdicts)
    decision = Decision(
        phase,
        record,
        watch=True,
        definition=definition,
        results=results,
        note=note,
        upgrade_block=block,
        degraded=unreadable,
        look_again=_next_look(context, record, settling.values()),
        held=held,
    )
    decision = cadence.written(context, decision)
    if not ready or not echo.met or settling or unobserved or not isinstance(measured, Baseline):
        return decision
    if known.live and _is_ours(context, record):
        return _change(context, definition, decision, record, measured)
    return decision if known.live else dataclasses.replace(decision, steps=(*decision.steps, Step.GATHER))


def _as_read_live(
    context: Context, previous: TopologyTransition, definition: model.Definition, held: str, block: str
) -> Decision:
    """What the record says was read live or written by another operator a moment ago: it is not taken back."""
    checks = records.of_stage(previous, Stage.PREFLIGHT)
    known = [(CheckName(check.name), check) for check in checks if check.name in set(CheckName)]
    kept = tuple(CheckResult(name, check.status, check.message) for name, check in known)
    waits = previous.phase is Phase.PENDING and all(result.met for result in kept)
    # The answers that it was written with had numbers, too.
    note = held if waits else previous.message or _failing(context.known, kept)
    return Decision(
        previous.phase,
        previous,
        steps=(Step.REPORT,),
        watch=True,
        definition=definition,
        results=kept,
        note=note,
        upgrade_block=block,
        degraded=problems.unreadable(checks, context.now),
        look_again=_next_look(context, previous),
    )


def _admitting(context: Context, settling: dict[str, datetime], unobserved: tuple[str, ...], *, echoed: bool) -> str:
    """What Progressing says of an admission: one text, since another one would be a write between echo and change."""
    voids = context.leader.voids
    if unobserved:
        return worded("AwaitsOperators", operands=listed(unobserved))
    if settling:
        return worded("AwaitsRevisions", operands=listed(sorted(settling)))
    if not echoed or len(voids) < SLOW:
        return "All preflight checks are met; once ClusterVersion blocks upgrades, everything is read again, live"
    return worded("ServerIsSlow", seconds=math.ceil(max(voids)), most=EVIDENCE_SECONDS)


def _failing(known: facts.Facts, results: tuple[CheckResult, ...]) -> str:
    """What keeps the request from passing its preflight, and the danger of the state in which it waits."""
    return sentences(assessment.unmet(results, Stage.PREFLIGHT.lower()), problems.danger(known))


def _held(context: Context, measured: Baseline | tuple[facts.Unobserved, ...] | None) -> str:
    """Why no transition begins although the checks may be met; empty when nothing keeps it. `measured`: they are."""
    # Convergence is measured against how the cluster was at the change, so what cannot be measured keeps it back. What
    # a watch in trouble said last may be old; the live reads cover only what preflight asks.
    fell_back, own = context.leader.fell_back, context.known.own_operator
    if not isinstance(own, facts.Unobserved) and own.paused:
        return f"Paused: no transition begins. {problems.PAUSED}"
    if context.leader.unconfigured:
        return "The configuration cannot be read: no transition begins. See condition Degraded"
    if unread := applicability.native_unreadable(context.known):
        return f"It is not known whether the native controller is in charge: {unread}"
    if applicability.native_awaited(context.known, context.leader, context.now) is not None:
        return AWAITED
    if _holding(context):
        return "What was read live differed from what was watched: waiting a moment"
    if measured is None:
        return ""
    if not isinstance(measured, Baseline):
        return f"Convergence would be measured against what cannot be read now: {listed(map(str, measured))}"
    if context.known.disturbed:
        return f"What was seen last may be old: waiting for the watch of {listed(context.known.disturbed)}"
    if fell_back is None or context.now >= fell_back + cadence.pause(context.leader):
        return ""
    return "All preflight checks are met, but an admission has just gone back to Pending: the next begins in a minute"


def _holding(context: Context) -> bool:
    """Did live evidence disagree with the watches so lately that these may still be behind?"""
    return context.leader.hold_until is not None and context.now < context.leader.hold_until


def _stands(context: Context, record: TopologyTransition) -> bool:
    """Is this record left alone while it is held? Unless it is our own admission, which goes back to Pending."""
    own = Phase.ADMITTING, context.leader.attempt
    return record.phase in {Phase.PENDING, Phase.ADMITTING} and (record.phase, record.attempt) != own


def _attempt(context: Context, definition: model.Definition) -> str:
    """The attempt to record: the one under way if this leader recorded it for this definition, else a new one."""
    record, mine = context.record, context.leader.attempt
    going = None if record is None else (record.phase, record.name, record.attempt)
    ours = going == (Phase.ADMITTING, definition.name, mine)
    return mine if ours and mine is not None else context.leader.next_attempt


def _is_ours(context: Context, record: TopologyTransition) -> bool:
    """Does the live Infrastructure itself carry the attempt that this leader recorded, for this very transition?"""
    stored = context.infrastructure.record
    return (
        isinstance(stored, TopologyTransition)
        and stored.phase is Phase.ADMITTING
        and stored.attempt is not None
        and stored.attempt == context.leader.attempt == record.attempt
        and (stored.name, stored.source, stored.target) == (record.name, record.source, record.target)
    )


def _echo_timed_out(context: Context, echo: CheckResult) -> bool:
    """Is this admission out of time, or did the last one run out and has not been allowed again yet?"""
    record, now = context.record, context.now
    if record is None or record.phase_transition_time is None:
        return False
    if record.phase is Phase.ADMITTING:
        return not echo.met and now - record.phase_transition_time >= ECHO_BOUND
    marked = record.phase is Phase.PENDING and CheckName.UPGRADES_BLOCKED in records.unmet(record)
    return marked and (not echo.met or now - record.phase_transition_time < ECHO_BACKOFF)


def _change(
    context: Context, definition: model.Definition, decision: Decision, record: TopologyTransition, measured: Baseline
) -> Decision:
    """Everything holds, live: change the topology and the record in one write."""
    now, measure = context.now, ConvergenceContext(measured, context.transitions.matrix)
    results = catalog.ask(Stage.CONVERGENCE, definition, context.known, now, measure)
    admitted = whole_seconds(now)
    after = records.updated(
        record,
        phase=Phase.CONVERGING,
        phase_transition_time=admitted,
        admitted_time=admitted,
        baseline=measured,
        problem=None,
        checks=(*record.checks, *records.checks(None, Stage.CONVERGENCE, results, now)),
        progress=records.progress(results),
        # They lead away from where the cluster no longer is (`records.available` keeps them out from now on).
        available=(),
    )
    # What has to be done after the change is known already: one write instead of two.
    deadline = convergence.deadline_of(after, definition, context.known, now)
    after = records.updated(after, advisories=records.advised(context, after), deadline_time=deadline)
    change = dataclasses.replace(
        decision,
        phase=Phase.CONVERGING,
        record=after,
        results=results,
        note=convergence.note(context, after, definition, results),
        degraded=None,
        upgrade_block=convergence.upgrade_block(after),
        steps=(Step.CHANGE, Step.REPORT),
    )
    return cadence.summarized(context, change)


def _next_look(context: Context, record: TopologyTransition, settling: Iterable[datetime] = ()) -> float | None:
    """When time alone could change this decision, in seconds."""
    moments = [*settling, *problems.moments(context), *problems.unreadable_moments(record.checks)]
    moments.append(problems.blocked_at(record, context.now))
    if record.phase is Phase.PENDING:
        moments.append(records.stands_at(record))
    if context.leader.hold_until is not None:
        moments.append(context.leader.hold_until)
    if context.leader.fell_back is not None:
        moments.append(context.leader.fell_back + cadence.pause(context.leader))
    if (awaited := applicability.native_awaited(context.known, context.leader, context.now)) is not None:
        moments.append(context.now + timedelta(seconds=awaited))
    bound = ECHO_BOUND if record.phase is Phase.ADMITTING else ECHO_BACKOFF
    moments.append((record.phase_transition_time or context.now) + bound)
    return cadence.until(moments, context.now)
