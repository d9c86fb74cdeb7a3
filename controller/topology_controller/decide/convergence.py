"""After the change: watch the cluster follow, and say when it has.

Completed needs every convergence check Met without a break for the settle time, by the times of the record, while this
leader has watched: what a predecessor did not see is no quiet. Then all is read live once, since a watch may be silent
without having ended. Past the deadline the transition is overdue, and stuck
once nothing has progressed for a while: shown, taken back with the next progress, and never rolled back. Then an
administrator may accept the check of a workload as it is (ConfigMap `facts.acceptances`): it keeps its true answer, and
is not waited for in this attempt any more.
"""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta

from topology_api import types, vocabulary
from topology_api.types import Accepted, Check, TopologyTransition, fit, stamp, whole_seconds
from topology_api.vocabulary import CheckName, CheckStatus, Phase, ProblemReason, Reason, Stage

from ..checks import catalog, operators
from ..checks.result import LONGEST, CheckResult, ConvergenceContext, first_reason, listed, sentences, worded
from ..definitions import model
from ..definitions.registry import ACCEPTABLE_CHECKS
from ..observe import facts
from . import applicability, assessment, baseline, cadence, leader, problems, records
from .state import READING, Cause, Context, Decision, EventSpec, Step

_LONGEST_NAME = 64
_SHORTEST_ANSWER = 100  # characters of what a check has found that are shown however long the command is that follows


def converging(context: Context, record: TopologyTransition) -> Decision:
    """The topology has changed: watch the cluster follow. Topology is never written again."""
    now, known = context.now, context.known
    definition = context.transitions.named(record.name)
    block = upgrade_block(record)
    if definition is None:
        message = worded("DefinitionMissing", name=record.name)
        cause, steps = Cause(Reason.TRANSITION_STUCK, message), (Step.REPORT,)
        return Decision(Phase.CONVERGING, None, steps, degraded=cause, note=message, upgrade_block=block, level=False)
    if known.awaited:
        return Decision(Phase.CONVERGING, watch=True, note=READING, upgrade_block=block)
    deadline, before = deadline_of(record, definition, known, now), record.accepted
    record, results, ignored = _asked(context, record, definition, late=now >= deadline)
    converged = records.checks(record, Stage.CONVERGENCE, results, now)
    kept = records.updated(
        record,
        checks=(*records.of_stage(record, Stage.PREFLIGHT), *converged),
        progress=records.progress(results),
        deadline_time=deadline,
        observed_generation=context.infrastructure.generation,
        available=records.available(context),
    )
    # By the answers of this moment: what a roll-out that is under way will do by itself is no advisory.
    kept = records.updated(kept, advisories=records.advised(context, kept))
    accepted = records.accepted(record)
    awaited = tuple([result for result in results if result.name not in accepted])
    pending = tuple([check for check in converged if check.name not in accepted])
    quiet_at = _quiet_at(context, pending or converged, definition)
    if record.by_native:
        # No operator waited for these to be measured at the change: what they answer now may be from before it.
        quiet_at = max((quiet_at, *baseline.settling(context, definition).values()))
    all_met = all(result.met for result in awaited)
    decision = Decision(
        Phase.CONVERGING,
        kept,
        watch=True,
        definition=definition,
        results=results,
        upgrade_block=block,
        taken=record.accepted[len(before) :],
        ignored=ignored,
    )
    quiet = all_met and now >= quiet_at and not known.disturbed
    if quiet and known.live:
        phase, done = Phase.COMPLETED, whole_seconds(now)
        kept = records.updated(kept, phase=phase, problem=None, phase_transition_time=done, completed_time=done)
        kept = records.updated(kept, last_transition=records.completed(kept))
        text = completed_note(kept)
        decision = dataclasses.replace(decision, phase=phase, record=kept, note=text, watch=False, upgrade_block=None)
        return cadence.written(context, decision)
    waiting = not all_met or bool(known.disturbed)
    stuck_at = max(deadline, _progressed(context, kept, definition) + _patience(definition))
    stuck = _stuck(kept, pending, awaited, known.disturbed) if now >= stuck_at and waiting else None
    unreadable, lost = problems.unreadable(pending, now), problems.redundancy_lost(context)
    problem = problems.after_change(context, kept, awaited, stuck or unreadable)
    # An answer that time alone takes back is looked at then, while it settles too.
    moments = [deadline, stuck_at, *problems.moments(context)]
    moments += [quiet_at] if all_met else problems.unreadable_moments(converged)
    decision = dataclasses.replace(
        decision,
        record=records.updated(kept, problem=problem),
        note=note(context, kept, definition, results, overdue=now >= deadline and waiting),
        degraded=stuck or (unreadable if lost is None else Cause(Reason.REDUNDANCY_LOST, lost.message)),
        look_again=cadence.until(moments, now),
    )
    decision = cadence.written(context, decision)
    if quiet:
        return dataclasses.replace(decision, steps=(*decision.steps, Step.GATHER))
    if stuck is not None:
        # One event for each attempt, however often it comes back: the condition and the metric show each time.
        event = EventSpec(vocabulary.EventReason.TRANSITION_STUCK, stuck.message, warning=True)
        decision = dataclasses.replace(decision, happened=(*decision.happened, event))
    return decision


def upgrade_block(record: types.RecordCopy | TopologyTransition) -> str:
    """The message of Upgradeable=False for a record that has a target."""
    target = record.target.control_plane if record.target is not None else ""
    return operators.block_message(record.name or "", target, changed=record.phase is Phase.CONVERGING)


def completed_note(record: TopologyTransition) -> str:
    """What Progressing says of a transition that is completed: what it went without, and what is left to do."""
    done = f"The transition to {record.target} is completed{records.accepted_note(record)}"
    return sentences(done, assessment.left(record.advisories))


def note(
    context: Context,
    record: TopologyTransition,
    definition: model.Definition,
    results: tuple[CheckResult, ...],
    *,
    overdue: bool = False,
) -> str:
    """What Progressing says: how far it is, what is dangerous, what is waited for, and what has to be done."""
    known, accepted, disturbed = context.known, records.accepted(record), context.known.disturbed
    awaited = tuple([result for result in results if result.name not in accepted])
    if any(not result.met for result in awaited):
        waiting = assessment.unmet(awaited, Stage.CONVERGENCE.lower())
    elif disturbed:
        waiting = f"All convergence checks are met by what was last seen; waiting for the watch of {listed(disturbed)}"
    else:
        settle = _settle(context, definition)
        waiting = f"All convergence checks are met; waiting {settle} s for all of them to stay met"
    late = f"Overdue since {stamp(record.deadline_time)}" if overdue and record.deadline_time else ""
    components = assessment.converging(results, definition, record.admitted_time, record.last_transition)
    without, begun = records.accepted_note(record, "Accepted without: "), _begun(known, record)
    native = worded("BegunByNative") if record.by_native else ""
    danger, required = problems.danger(known), assessment.required(record.advisories, awaited)
    # The danger, and what an administrator has to do, are never left out.
    least = [native, components, without, waiting, begun]
    return assessment.within(late, components, danger, waiting, without, native, begun, required, least=least)


def deadline_of(
    record: TopologyTransition, definition: model.Definition, known: facts.Facts, now: datetime
) -> datetime:
    """When this transition is overdue: as recorded at the change where machines add to it, else by what is in force."""
    if record.deadline_time is not None and definition.convergence.machine_minutes:
        return record.deadline_time
    started = record.admitted_time or record.phase_transition_time or now
    return whole_seconds(started + minutes(definition, known))


def minutes(definition: model.Definition, known: facts.Facts) -> timedelta:
    """How long after the change a transition is overdue: by platform and machines, one after the other in a pool."""
    infrastructure, convergence = known.infrastructure, definition.convergence
    platform = None if isinstance(infrastructure, facts.Unobserved) else infrastructure.platform
    machines = max((pool.machines for pool in facts.readable(known.machine_config_pools)), default=0)
    each = convergence.machine_minutes.get(platform or "", 0)
    return timedelta(minutes=convergence.deadline_minutes + each * machines)


def _progressed(context: Context, record: TopologyTransition, definition: model.Definition) -> datetime:
    """When there was last an answer that is new in this attempt; a leader that has seen none goes by problem Stuck."""
    if leader.is_progress(context.leader, record):
        return context.now
    if context.leader.progressed is not None:
        return context.leader.progressed
    problem = context.record.problem if context.record is not None else None
    if problem is not None and problem.reason is ProblemReason.STUCK:
        return problem.since - _patience(definition)
    return context.leader.since


def _patience(definition: model.Definition) -> timedelta:
    """How long nothing may progress past the deadline: never longer than a deadline that is meant to be short."""
    convergence = definition.convergence
    return timedelta(minutes=min(convergence.stuck_minutes, convergence.deadline_minutes))


def _asked(
    context: Context, record: TopologyTransition, definition: model.Definition, *, late: bool
) -> tuple[TopologyTransition, tuple[CheckResult, ...], tuple[str, ...]]:
    """Every answer, the record with what is accepted from now on, and why the rest of what was asked for is not."""

    def ask(accepted: frozenset[CheckName]) -> tuple[CheckResult, ...]:
        measure = ConvergenceContext(record.baseline, context.transitions.matrix, accepted)
        return catalog.ask(Stage.CONVERGENCE, definition, context.known, context.now, measure)

    acceptances, results = context.known.acceptances, ask(records.accepted(record))
    answers, before = {result.name: result for result in results}, {entry.name for entry in record.accepted}
    taken: list[Accepted] = []
    ignored: list[str] = []
    for entry in acceptances if isinstance(acceptances, tuple) else ():
        if entry.check in before and not entry.wrong and entry.attempt == record.attempt:
            continue
        if why := _ignored(entry, record, answers, late=late):
            name = entry.check[:_LONGEST_NAME]
            ignored.append(f"{name} in ConfigMap {vocabulary.ACCEPTED_CHECKS} is ignored: {why}")
            continue
        message = fit(answers[CheckName(entry.check)].message, types.ACCEPTED_MESSAGE_LIMIT)
        since = whole_seconds(context.now)
        taken.append(Accepted(name=entry.check, message=message, reason=entry.reason, accepted_time=since))
    if not taken:
        return record, results, tuple(ignored)
    accepting = records.updated(record, accepted=(*record.accepted, *taken))
    # Its operator need not be seen to react any more either.
    return accepting, ask(records.accepted(accepting)), tuple(ignored)


def _ignored(
    entry: facts.Acceptance, record: TopologyTransition, answers: dict[CheckName, CheckResult], *, late: bool
) -> str | None:
    if entry.check not in ACCEPTABLE_CHECKS:
        return f"only {listed(ACCEPTABLE_CHECKS, most=len(ACCEPTABLE_CHECKS))} can be accepted"
    answer = answers.get(CheckName(entry.check))
    return first_reason(
        (bool(entry.wrong), entry.wrong),
        (entry.attempt != record.attempt, f"it is for attempt {entry.attempt}, and {record.attempt} is under way"),
        (answer is None, f"transition {record.name} does not wait for it"),
        (answer is not None and answer.met, "it is Met"),
        (not late, "the deadline has not passed"),
    )


def _quiet_at(context: Context, converged: tuple[Check, ...], definition: model.Definition) -> datetime:
    """When it will have been quiet for long enough, if all checks are Met and stay so."""
    state = context.leader
    # Times are kept in whole seconds: one more makes up for the fraction that was cut off.
    changed = max([check.last_transition_time for check in converged]) + timedelta(seconds=1)
    begins = max(changed, state.since, state.steady_since or state.since)
    return begins + timedelta(seconds=_settle(context, definition))


def _settle(context: Context, definition: model.Definition) -> int:
    """Seconds for which all checks have to stay Met."""
    override = context.leader.settle_seconds
    return definition.convergence.settle_seconds if override is None else override


def _begun(known: facts.Facts, record: TopologyTransition) -> str:
    """What was begun in the meantime; empty when nothing was."""
    version, baseline, upgrade, native = known.cluster_version, record.baseline, "", ""
    if not isinstance(version, facts.Unobserved) and version.conditions.status("Progressing") == "True":
        before = f" from {baseline.version}" if baseline is not None and baseline.version else ""
        onward = f" to {version.newest}" if version.newest else ""
        upgrade = f"An upgrade{before}{onward} is under way"
    if applicability.native_in_charge(known):
        native = worded("NativeComesNext")
    return sentences(upgrade, native)


def _stuck(
    record: TopologyTransition,
    converged: tuple[Check, ...],
    results: tuple[CheckResult, ...],
    disturbed: tuple[str, ...],
) -> Cause:
    """Name what an administrator can repair, with the command; else what has been failing longest."""
    since = "" if record.deadline_time is None else f" since {stamp(record.deadline_time)}"
    overdue = f"Overdue{since}, and nothing progresses"
    failing = [check for check in converged if check.status is not CheckStatus.MET]
    if not failing:
        return Cause(Reason.TRANSITION_STUCK, f"{overdue}. Waiting for the watch of {listed(disturbed)}")

    def rank(check: Check) -> tuple[bool, datetime, bool]:
        # ClusterOperatorsStable is the last: it fails because of what another check can name.
        last = check.name == CheckName.CLUSTER_OPERATORS_STABLE
        return not assessment.awaited(record.advisories, [check]), check.last_transition_time, last

    blocking = min(failing, key=rank)
    advisory = next(iter(assessment.awaited(record.advisories, [blocking])), None)
    required = "" if advisory is None else f"Required: {assessment.action(advisory)}"
    text = f"{overdue}. Blocked by {blocking.name}: "
    space = LONGEST - len(sentences(text, required))
    answer = next(result.found(space) for result in results if result.name == blocking.name)
    text += fit(answer, max(space, _SHORTEST_ANSWER))
    return Cause(Reason.TRANSITION_STUCK, sentences(text, required))
