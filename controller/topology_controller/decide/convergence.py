"""After the change: watch the cluster follow, and say when it has.

Topology is never written again. Completed needs every convergence check Met without a break for the settle time; any
of them that is not, for whatever reason, begins it anew. It is read from the times that the record keeps, but counts
only while this leader has watched: what a predecessor did not see while it was gone is no quiet. Past the deadline the
transition is overdue, and stuck once nothing has progressed for a while: shown, taken back with the next progress, and
never rolled back. Progress is an answer that was not given before in this attempt, so what only comes and goes is none.
The checks name a node or a member of etcd that is lost, or an upgrade that begins; the topology stays.

Stuck is one event for each attempt, however often it comes back: the condition and the metric show each time.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from topology_api.types import fit, whole_seconds
from topology_api.vocabulary import CheckName, CheckStatus, EventReason, Phase, ProblemReason, Reason, Stage

from ..checks import catalog, machine_config, operators
from ..checks.result import LONGEST, ConvergenceContext, listed, sentences
from ..observe import facts
from . import acceptance, applicability, assessment, baseline, leader, problems, records
from . import context as contexts
from .decision import Cause, Decision, EventSpec, Step

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import Check, TopologyTransition

    from ..checks.result import CheckResult
    from ..definitions import model

_BY_NATIVE = (
    "The native controller began this transition and is switched off (feature gate MutableTopology): this operator "
    "follows it to its end"
)
_NOTE_BYTES = 1024
"""Of the note of an event (kubernetes pkg/apis/core/validation/events.go)."""
_LONGEST_ANSWER = 2048
"""Characters of what a check has found in a sentence that ends with a command."""


def converging(context: contexts.Context, record: TopologyTransition) -> Decision:
    """The topology has changed: watch the cluster follow. Topology is never written again."""
    now, known = context.now, context.known
    definition = context.transitions.named(record.name)
    target = record.target.control_plane if record.target else ""
    block = operators.block_message_after_change(record.name or "", target)
    if definition is None:
        message = (
            f"Transition {record.name} is under way, but this version has no definition of that name: "
            "it cannot tell when it is completed. Install the version that started it"
        )
        cause = Cause(Reason.TRANSITION_STUCK, message)
        return Decision(
            Phase.CONVERGING, steps=(Step.REPORT,), degraded=cause, note=message, upgrade_block=block, level=False
        )
    if known.awaited:
        return Decision(Phase.CONVERGING, watch=True, note=contexts.READING, upgrade_block=block)
    deadline = deadline_of(record, definition, known, now)
    before = record.accepted
    record, results, ignored = _asked(context, record, definition, late=now >= deadline)
    taken = record.accepted[len(before) :]
    converged = records.checks(record, Stage.CONVERGENCE, results, now)
    kept = record.model_copy(
        update={
            "checks": (*records.of_stage(record, Stage.PREFLIGHT), *converged),
            "progress": records.progress(results),
            "deadline_time": deadline,
            "observed_generation": context.infrastructure.generation,
            "available": contexts.available(context),
        }
    )
    # By the answers of this moment: what a roll-out that is under way will do by itself is no advisory.
    kept = kept.model_copy(update={"advisories": contexts.advised(context, kept)})
    accepted = acceptance.names(record)
    awaited = tuple([result for result in results if result.name not in accepted])
    pending = tuple([check for check in converged if check.name not in accepted])
    quiet_at = _quiet_at(context, pending or converged, definition)
    if record.by_native:
        # No operator waited for these to be measured at the change: what they answer now may be from before it.
        bound = baseline.revision_bound(context.leader.settle_seconds)
        matrix = context.transitions.matrix
        quiet_at = max((quiet_at, *baseline.settling(known, definition, matrix, now, bound).values()))
    all_met = all(result.met for result in awaited)
    if all_met and now >= quiet_at and not known.disturbed:
        completed = now.replace(microsecond=0)
        kept = kept.model_copy(
            update={
                "phase": Phase.COMPLETED,
                "phase_transition_time": completed,
                "completed_time": completed,
                "problem": None,
            }
        )
        kept = kept.model_copy(update={"last_transition": contexts.completed(kept)})
        done = Decision(
            Phase.COMPLETED,
            kept,
            definition=definition,
            results=results,
            note=contexts.completed_note(kept),
            taken=taken,
            ignored=ignored,
        )
        return contexts.written(context, done)
    waiting = not all_met or bool(known.disturbed)
    stuck_at = max(deadline, progressed(context, kept, definition) + _patience(definition))
    nothing_moves = _stuck(kept, pending, awaited, known.disturbed) if now >= stuck_at and waiting else None
    stuck = nothing_moves.cause if nothing_moves is not None else None
    unreadable = contexts.unreadable(pending, now)
    lost = problems.redundancy_lost(context)
    degraded = stuck or (unreadable if lost is None else Cause(Reason.REDUNDANCY_LOST, lost.message))
    kept = kept.model_copy(update={"problem": problems.after_change(context, kept, awaited, stuck or unreadable)})
    # An answer that time alone takes back is looked at then, while it settles too.
    moments = [deadline, stuck_at, *contexts.lease_moments(known), *_failing_moments(known)]
    moments += [quiet_at] if all_met else contexts.unreadable_moments(converged)
    moments += [*problems.two_voters_moments(context), *problems.redundancy_moments(context)]
    decision = Decision(
        Phase.CONVERGING,
        kept,
        watch=True,
        definition=definition,
        results=results,
        note=note(context, kept, definition, results, overdue=now >= deadline and waiting),
        upgrade_block=block,
        degraded=degraded,
        look_again=contexts.until(moments, now),
        taken=taken,
        ignored=ignored,
    )
    decision = contexts.written(context, decision)
    if nothing_moves is not None:
        event = EventSpec(EventReason.TRANSITION_STUCK, nothing_moves.note, warning=True)
        return dataclasses.replace(decision, happened=(*decision.happened, event))
    return decision


def note(
    context: contexts.Context,
    record: TopologyTransition,
    definition: model.Definition,
    results: tuple[CheckResult, ...],
    *,
    overdue: bool = False,
) -> str:
    """What Progressing says: how far it is, what is dangerous, what is waited for, and what has to be done."""
    known, accepted = context.known, acceptance.names(record)
    awaited = tuple([result for result in results if result.name not in accepted])
    missing = acceptance.missing(record)
    late = f"Overdue since {record.deadline_time:%Y-%m-%dT%H:%M:%SZ}" if overdue and record.deadline_time else ""
    components = assessment.converging(results, definition, record.admitted_time, record.last_transition)
    waiting, begun = _awaiting(context, awaited, definition), _begun(known, record)
    without = f"Accepted without: {missing}" if missing else ""
    native = _BY_NATIVE if record.by_native else ""
    danger, required = problems.danger(known), assessment.required(record.advisories, awaited)
    # The danger, and what an administrator has to do, are never left out.
    least = [native, components, without, waiting, begun]
    return assessment.within(late, components, danger, waiting, without, native, begun, required, least=least)


def _awaiting(context: contexts.Context, awaited: tuple[CheckResult, ...], definition: model.Definition) -> str:
    """Name what convergence waits for: checks, watches that can be believed, quiet."""
    disturbed = context.known.disturbed
    if any(not result.met for result in awaited):
        return assessment.unmet(awaited, Stage.CONVERGENCE.lower())
    if disturbed:
        return f"All convergence checks are met by what was last seen; waiting for the watch of {listed(disturbed)}"
    settle = _settle(context, definition)
    return f"All convergence checks are met; waiting {settle} s for all of them to stay met"


def deadline_of(
    record: TopologyTransition, definition: model.Definition, known: facts.Facts, now: datetime
) -> datetime:
    """When this transition is overdue: by the machines that there were at the change, as recorded.

    Where no machine adds to it, as in a configuration, it goes by what is in force now.
    """
    if record.deadline_time is not None and definition.convergence.machine_minutes:
        return record.deadline_time
    started = record.admitted_time or record.phase_transition_time or now
    return whole_seconds(started + minutes(definition, known))


def minutes(definition: model.Definition, known: facts.Facts) -> timedelta:
    """How long after the change a transition is overdue, by the platform and the machines that there are.

    Machines of a pool restart one after the other, pools beside each other: the largest counts.
    """
    infrastructure, pools = known.infrastructure, known.machine_config_pools
    platform = None if isinstance(infrastructure, facts.Unobserved) else infrastructure.platform
    counted = () if isinstance(pools, facts.Unobserved) else pools
    machines = max((pool.machines for pool in counted if isinstance(pool, facts.MachineConfigPool)), default=0)
    convergence = definition.convergence
    return timedelta(
        minutes=convergence.deadline_minutes + convergence.machine_minutes.get(platform or "", 0) * machines
    )


def progressed(context: contexts.Context, record: TopologyTransition, definition: model.Definition) -> datetime:
    """When there was last an answer that had not been given before in this attempt.

    A leader that has seen none goes by the record: by a problem that says Stuck, else by when it began to lead.
    """
    if leader.is_progress(context.leader, record):
        return context.now
    if context.leader.progress.at is not None:
        return context.leader.progress.at
    problem = context.record.problem if context.record is not None else None
    if problem is not None and problem.reason is ProblemReason.STUCK:
        return problem.since - _patience(definition)
    return context.leader.since


def _patience(definition: model.Definition) -> timedelta:
    """How long nothing may progress past the deadline: never longer than a deadline that is meant to be short."""
    convergence = definition.convergence
    return timedelta(minutes=min(convergence.stuck_minutes, convergence.deadline_minutes))


def _failing_moments(known: facts.Facts) -> list[datetime]:
    """When templates that fail have failed for too long."""
    config = known.controller_config
    if isinstance(config, facts.Unobserved) or config.failing_since is None:
        return []
    return [config.failing_since + machine_config.FAILING_BOUND]


def _asked(
    context: contexts.Context, record: TopologyTransition, definition: model.Definition, *, late: bool
) -> tuple[TopologyTransition, tuple[CheckResult, ...], tuple[str, ...]]:
    """Every answer, the record with what is accepted from now on, and why the rest of what was asked for is not."""

    def ask(going_without: TopologyTransition) -> tuple[CheckResult, ...]:
        measure = ConvergenceContext(record.baseline, context.transitions.matrix, acceptance.names(going_without))
        return catalog.ask(Stage.CONVERGENCE, definition, context.known, context.now, measure)

    results = ask(record)
    accepted, ignored = acceptance.taken(record, context.known.acceptances, results, context.now, late=late)
    if accepted == record.accepted:
        return record, results, ignored
    record = record.model_copy(update={"accepted": accepted})
    # Its operator need not be seen to react any more either.
    return record, ask(record), ignored


def _quiet_at(context: contexts.Context, converged: tuple[Check, ...], definition: model.Definition) -> datetime:
    """When it will have been quiet for long enough, if all checks are Met and stay so."""
    state = context.leader
    # Times are kept in whole seconds: one more makes up for the fraction that was cut off.
    changed = max([check.last_transition_time for check in converged]) + timedelta(seconds=1)
    begins = max(changed, state.since, state.steady_since or state.since)
    return begins + timedelta(seconds=_settle(context, definition))


def _settle(context: contexts.Context, definition: model.Definition) -> int:
    """Seconds for which all checks have to stay Met."""
    override = context.leader.settle_seconds
    return definition.convergence.settle_seconds if override is None else override


def _begun(known: facts.Facts, record: TopologyTransition) -> str:
    """What was begun in the meantime; empty when nothing was."""
    version, baseline = known.cluster_version, record.baseline
    begun = []
    if not isinstance(version, facts.Unobserved) and version.conditions.status("Progressing") == "True":
        before = f" from {baseline.version}" if baseline is not None and baseline.version else ""
        onward = f" to {version.newest}" if version.newest else ""
        begun.append(f"An upgrade{before}{onward} is under way")
    if applicability.native_in_charge(known):
        begun.append(
            "The native controller is in charge of what comes next: this operator reports how the cluster follows, "
            "then stands down"
        )
    return sentences(*begun)


def _stuck(
    record: TopologyTransition,
    converged: tuple[Check, ...],
    results: tuple[CheckResult, ...],
    disturbed: tuple[str, ...],
) -> Stuck:
    """Name what an administrator can repair, with the command; else what has been failing longest.

    Of several it is the first in the order of the definition, and ClusterOperatorsStable the last: it fails because of
    what another check can name. Where every check is Met by what was seen last, it is the watches that cannot be
    believed.
    """
    failing = [check for check in converged if check.status is not CheckStatus.MET]
    blocking = min(
        failing,
        key=lambda check: (
            assessment.mending(check.name, record.advisories) is None,
            check.last_transition_time,
            check.name == CheckName.CLUSTER_OPERATORS_STABLE,
        ),
        default=None,
    )
    overdue = "Overdue, and nothing progresses"
    if record.deadline_time is not None:
        overdue = f"Overdue since {record.deadline_time:%Y-%m-%dT%H:%M:%SZ}, and nothing progresses"
    if blocking is None:
        return Stuck(f"{overdue}. Waiting for the watch of {listed(disturbed)}")
    advisory = assessment.mending(blocking.name, record.advisories)
    command = "" if advisory is None else assessment.action(advisory)
    text = f"{overdue}. Blocked by {blocking.name}: "
    space = LONGEST - len(sentences(text, _required(command)))
    text += next(fit(result.found(space), _LONGEST_ANSWER) for result in results if result.name == blocking.name)
    return Stuck(text, command)


def _required(command: str) -> str:
    return f"Required: {command}" if command else ""


@dataclass(frozen=True, slots=True)
class Stuck:
    """Why nothing progresses, and the command of an administrator, which stands last and whole."""

    text: str
    command: str = ""

    @property
    def cause(self) -> Cause:
        """The same as a condition has it."""
        return Cause(Reason.TRANSITION_STUCK, sentences(self.text, _required(self.command)))

    @property
    def note(self) -> str:
        """For an event, whose note is cut: without the command where not all of it would be there."""
        message = self.cause.message
        return message if len(message.encode()) <= _NOTE_BYTES else self.text
