"""Before the change: Pending, Admitting, and the decision to change the topology.

All preflight checks must be met by what is watched, then ClusterVersion must echo our upgrade block, then everything
must be met again by what was read live. Any doubt leads back to Pending. `phases` calls `preflight` when a definition
matches the request; `convergence` takes over once the topology has changed.
"""

from __future__ import annotations

import dataclasses
import math
from datetime import timedelta
from typing import TYPE_CHECKING

from topology_api.types import Baseline, TopologyTransition
from topology_api.vocabulary import CheckName, CheckStatus, Phase, Stage

from ..checks import catalog, load_balancer, operators
from ..checks.result import CheckResult, ConvergenceContext, listed, sentences
from ..observe import facts
from . import applicability, assessment, baseline, cadence, convergence, discovery, events, problems, records
from . import context as contexts
from .decision import EVIDENCE_SECONDS, Decision, Step

if TYPE_CHECKING:
    from datetime import datetime

    from ..definitions import model

ECHO_BOUND = timedelta(minutes=8)
"""How long an admission waits for ClusterVersion to echo our block before it goes back to Pending.

The version operator of 4.20 to 4.22 takes up to just under 6 minutes (cluster-version-operator
pkg/cvo/upgradeable.go)."""
ECHO_BACKOFF = timedelta(seconds=60)
"""How long after such a timeout the next admission may start, even if the echo appears at once."""
AWAITED = "Feature gate MutableTopology is on: waiting whether the native controller shows up"
SLOW = 3
"""After so many attempts in a row that took too long to read, Progressing says that the API server is slow."""


def preflight(context: contexts.Context, definition: model.Definition, desired: str) -> Decision:
    """A definition matches: Pending, or Admitting, or the change."""
    known, now = context.known, context.now
    block = operators.block_message(definition.name, desired)
    results = catalog.ask(Stage.PREFLIGHT, definition, known, now)
    echo = operators.upgrades_blocked(known.cluster_version, block)
    timed_out = _echo_timed_out(context, echo)
    if timed_out:
        results = (*results, echo if not echo.met else dataclasses.replace(echo, status=CheckStatus.UNMET))
    hold = _hold(context)
    failing = [result for result in results if result.status is not CheckStatus.MET]
    measured = None if failing else baseline.capture(known, definition, context.transitions.matrix)
    unproven = "" if measured is None else _unproven(context, measured)
    previous = context.record
    if not failing and _holding(context) and previous is not None and previous.phase is Phase.PENDING:
        # What the record says was read live a moment ago; what is watched here is older, and would take it back.
        checks = records.of_stage(previous, Stage.PREFLIGHT)
        kept = tuple(
            CheckResult(CheckName(check.name), check.status, check.message)
            for check in checks
            if check.name in set(CheckName)
        )
        unmet = [result for result in kept if not result.met]
        return Decision(
            Phase.PENDING,
            previous,
            steps=(Step.REPORT,),
            watch=True,
            definition=definition,
            results=kept,
            # The answers that it was written with had numbers, too.
            note=(previous.message or _failing(known, kept)) if unmet else hold,
            upgrade_block=block,
            degraded=contexts.unreadable(checks, now),
            look_again=_next_look(context, previous),
        )
    pausing = "" if failing else _pausing(context)
    ready = not (failing or hold or unproven or pausing)
    phase = Phase.ADMITTING if ready else Phase.PENDING
    target = definition.target.pair
    record = TopologyTransition(
        phase=phase,
        name=definition.name,
        source=records.pair(context.infrastructure),
        target=target,
        attempt=_attempt(context, definition) if ready else None,
        requested_time=contexts.requested(context, target),
        phase_transition_time=records.phase_time(context.record, phase, now),
        observed_generation=context.infrastructure.generation,
        checks=records.checks(context.record, Stage.PREFLIGHT, results, now),
        progress=records.progress(results),
        available=discovery.judged(contexts.available(context), definition, results, now, ready=ready),
        baseline=_kept_baseline(context, definition, measured) if ready and measured is not None else None,
        # What the attempt before went without is history from here on: a new one waits for everything.
        accepted=() if ready else records.accepted_before(context.record),
        last_transition=contexts.last(context),
    )
    note = hold or unproven or pausing or _failing(known, results)
    settling = _settling(context, definition) if ready else {}
    unobserved = baseline.unobserved(known, definition, context.transitions.matrix) if ready else ()
    if ready:
        note = _admitting(context, settling, unobserved, echoed=echo.met)
    drained = _drained(context, definition)
    note = assessment.within(note, drained, least=[drained])
    unreadable = contexts.unreadable(records.of_stage(record, Stage.PREFLIGHT), now)
    record = record.model_copy(
        update={
            "advisories": contexts.advised(context, record),
            "problem": problems.before_change(context, record, unreadable, note),
        }
    )
    decision = Decision(
        phase,
        record,
        watch=True,
        definition=definition,
        results=results,
        note=note,
        upgrade_block=block,
        degraded=unreadable,
        look_again=_next_look(context, record),
        held=hold or unproven or pausing,
    )
    if settling:
        ahead = contexts.until([*settling.values()], now) or 0.0
        decision = dataclasses.replace(decision, look_again=min(ahead, decision.look_again or ahead))
    decision = contexts.written(context, decision)
    if not ready or not echo.met or settling or unobserved or not isinstance(measured, Baseline):
        return decision
    if known.live and _is_ours(context, record):
        return _change(context, definition, decision, record, measured)
    return decision if known.live else dataclasses.replace(decision, steps=(*decision.steps, Step.GATHER))


def _settling(context: contexts.Context, definition: model.Definition) -> dict[str, datetime]:
    """What the change has to wait for, however early the echo comes (`baseline.settling`)."""
    bound = baseline.revision_bound(context.leader.settle_seconds)
    return baseline.settling(context.known, definition, context.transitions.matrix, context.now, bound)


def _admitting(
    context: contexts.Context, settling: dict[str, datetime], unobserved: tuple[str, ...], *, echoed: bool
) -> str:
    """What Progressing says of an admission: one text, unless the API server is what keeps it.

    Another text once the echo is there would be a write between it and the change.
    """
    voids = context.leader.voids
    if unobserved:
        return (
            f"All preflight checks are met, but the operator of {listed(unobserved)} has not observed the current "
            "topology yet: the change waits for it. See whether that operator runs"
        )
    if settling:
        return (
            f"All preflight checks are met, but the configuration of {listed(sorted(settling))} has just changed: its "
            "newest revision is measured once it is made, in three minutes at most"
        )
    if not echoed or voids.count < SLOW:
        return "All preflight checks are met; once ClusterVersion blocks upgrades, everything is read again, live"
    return (
        "All preflight checks are met, but the API server answers too slowly to rely on what it says: reading the "
        f"evidence took up to {math.ceil(voids.seconds)} s, and it must be no older than {EVIDENCE_SECONDS:g} s. "
        "Look at the load of the API server and etcd"
    )


def _failing(known: facts.Facts, results: tuple[CheckResult, ...]) -> str:
    """What keeps the request from passing its preflight, and the danger of the state in which it waits."""
    return sentences(assessment.unmet(results, Stage.PREFLIGHT.lower()), problems.danger(known))


def _drained(context: contexts.Context, definition: model.Definition) -> str:
    """Say, while it can still be helped, that ingress will be gone for a while; not to who has accepted it."""
    alone = definition.changes_control_plane and load_balancer.router_alone(context.known)
    if not alone or load_balancer.drain_accepted(context.known):
        return ""
    return f"{load_balancer.ROUTER_ALONE_BRIEFLY}: {load_balancer.two_routers()}"


def _hold(context: contexts.Context) -> str:
    """Why no transition may begin although the checks may be met; empty when nothing keeps it."""
    own = context.known.own_operator
    if not isinstance(own, facts.Unobserved) and own.paused:
        return f"Paused: no transition begins. {problems.PAUSED}"
    if context.leader.misconfigured is not None and context.leader.misconfigured.holds:
        return "The configuration cannot be read: no transition begins. See condition Degraded"
    if unread := applicability.native_unreadable(context.known):
        return f"It is not known whether the native controller is in charge: {unread}"
    if applicability.native_awaited(context.known, context.leader, context.now) is not None:
        return AWAITED
    if _holding(context):
        return "What was read live differed from what was watched: waiting a moment"
    return ""


def _pausing(context: contexts.Context) -> str:
    """Why the next admission of a request whose checks are all met waits: each admission is two writes."""
    fell_back = context.leader.fell_back
    if fell_back is None or context.now >= fell_back + cadence.pause(context.leader):
        return ""
    return "All preflight checks are met, but an admission has just gone back to Pending: the next begins in a minute"


def _unproven(context: contexts.Context, measured: Baseline | baseline.Unmeasured) -> str:
    """What is not known, although every check is met, and would be missed after the change; empty when nothing is.

    Convergence is measured against how the cluster was at the change, so what cannot be measured keeps it back. What a
    watch in trouble said last may be old; the live reads cover only what preflight asks.
    """
    if not isinstance(measured, Baseline):
        return f"Convergence would be measured against what cannot be read now: {measured}"
    if context.known.disturbed:
        return f"What was seen last may be old: waiting for the watch of {listed(context.known.disturbed)}"
    return ""


def _kept_baseline(
    context: contexts.Context, definition: model.Definition, measured: Baseline | baseline.Unmeasured
) -> Baseline | None:
    """What the record of an admission carries; the change measures anew.

    It is there for its copy: were the record lost right after the change, before the copy says Converging, it would not
    be known any more what convergence is measured against.
    """
    record = context.record
    if record is not None and record.baseline is not None and record.attempt == _attempt(context, definition):
        return record.baseline
    return measured if isinstance(measured, Baseline) else None


def _holding(context: contexts.Context) -> bool:
    """Did live evidence disagree with the watches so lately that these may still be behind?"""
    return context.leader.hold_until is not None and context.now < context.leader.hold_until


def _attempt(context: contexts.Context, definition: model.Definition) -> str:
    """The attempt to record: the one under way if this leader recorded it for this definition, else a new one."""
    record = context.record
    if record is None or record.phase is not Phase.ADMITTING or record.name != definition.name:
        return context.leader.next_attempt
    if record.attempt is not None and record.attempt == context.leader.attempt:
        return record.attempt
    return context.leader.next_attempt


def _is_ours(context: contexts.Context, record: TopologyTransition) -> bool:
    """Does the live Infrastructure itself carry the attempt that this leader recorded, for this very transition?"""
    stored = context.infrastructure.record
    return (
        isinstance(stored, TopologyTransition)
        and stored.phase is Phase.ADMITTING
        and stored.attempt is not None
        and stored.attempt == context.leader.attempt == record.attempt
        and (stored.name, stored.source, stored.target) == (record.name, record.source, record.target)
    )


def _echo_timed_out(context: contexts.Context, echo: CheckResult) -> bool:
    """Is this admission out of time, or did the last one run out and has not been allowed again yet?"""
    record, now = context.record, context.now
    if record is None or record.phase_transition_time is None:
        return False
    if record.phase is Phase.ADMITTING:
        return not echo.met and now - record.phase_transition_time >= ECHO_BOUND
    marked = record.phase is Phase.PENDING and any(
        check.name == CheckName.UPGRADES_BLOCKED and check.status is not CheckStatus.MET for check in record.checks
    )
    return marked and (not echo.met or now - record.phase_transition_time < ECHO_BACKOFF)


def _change(
    context: contexts.Context,
    definition: model.Definition,
    decision: Decision,
    record: TopologyTransition,
    measured: Baseline,
) -> Decision:
    """Everything holds, live: change the topology and the record in one write."""
    now = context.now
    measure = ConvergenceContext(measured, context.transitions.matrix)
    results = catalog.ask(Stage.CONVERGENCE, definition, context.known, now, measure)
    admitted = now.replace(microsecond=0)
    after = record.model_copy(
        update={
            "phase": Phase.CONVERGING,
            "phase_transition_time": admitted,
            "admitted_time": admitted,
            "baseline": measured,
            "problem": None,
            "checks": (*record.checks, *records.checks(None, Stage.CONVERGENCE, results, now)),
            "progress": records.progress(results),
            # They lead away from where the cluster no longer is (`context.available` keeps them out from now on).
            "available": (),
        }
    )
    # What has to be done after the change is known already: one write instead of two.
    after = after.model_copy(
        update={
            "advisories": contexts.advised(context, after),
            "deadline_time": convergence.deadline_of(after, definition, context.known, now),
        }
    )
    change = dataclasses.replace(
        decision,
        phase=Phase.CONVERGING,
        record=after,
        results=results,
        note=convergence.note(context, after, definition, results),
        degraded=None,
        upgrade_block=operators.block_message_after_change(definition.name, definition.target.control_plane.value),
        steps=(Step.CHANGE, Step.REPORT),
    )
    return contexts.with_events(context, contexts.summarized(change))


def _next_look(context: contexts.Context, record: TopologyTransition) -> float | None:
    """When time alone could change this decision, in seconds."""
    moments = [*contexts.lease_moments(context.known), *contexts.unreadable_moments(record.checks)]
    if record.phase is Phase.PENDING:
        moments += [events.stands_at(record), problems.blocked_at(record, context.now)]
    moments += problems.two_voters_moments(context)
    if context.leader.hold_until is not None:
        moments.append(context.leader.hold_until)
    if context.leader.fell_back is not None:
        moments.append(context.leader.fell_back + cadence.pause(context.leader))
    awaited = applicability.native_awaited(context.known, context.leader, context.now)
    if awaited is not None:
        moments.append(context.now + timedelta(seconds=awaited))
    bound = ECHO_BOUND if record.phase is Phase.ADMITTING else ECHO_BACKOFF
    moments.append((record.phase_transition_time or context.now) + bound)
    return contexts.until(moments, context.now)
