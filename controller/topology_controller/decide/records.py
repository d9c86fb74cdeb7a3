"""Builds the record of a transition, `status.topologyTransition`, and recovers it when it was lost.

What the record holds survives a restart: bounds and durations are computed from its times. A check keeps its
lastTransitionTime while its status stays, so that "all Met and quiet since" can be read from the record alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.types import Check, Progress, RecordCopy, TopologyPair, TopologyTransition, fit, whole_seconds
from topology_api.vocabulary import CheckStatus, Phase

from ..observe import facts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from topology_api.types import Accepted
    from topology_api.vocabulary import Stage

    from ..checks.result import CheckResult


def pair(infrastructure: facts.Infrastructure) -> TopologyPair:
    """The present topology. Only call it when both values are there (`applicability.disabled`)."""
    return TopologyPair(
        control_plane=infrastructure.control_plane or "", infrastructure=infrastructure.infrastructure or ""
    )


def recover(
    infrastructure: facts.Infrastructure,
    own: facts.Fact[facts.OwnOperator],
    latest: TopologyTransition | None = None,
) -> TopologyTransition | None:
    """The record, or what can be rebuilt of it: from `latest`, as this leader last decided it, or from its copy.

    A payload that reverts the CRD, or a writer that does not know the field, drops the record. When the topology is the
    target of what is left, the change has happened, whatever the phase there says; otherwise nothing has, and the
    decision starts afresh. The copy, in ClusterOperator `topology`, is written by more clients than the record: it is
    evidence of an attempt and never of its end, so that everything is proven again, and nothing in it is accepted.
    """
    if isinstance(infrastructure.record, TopologyTransition):
        return infrastructure.record
    here = infrastructure.control_plane, infrastructure.infrastructure
    if latest is not None and latest.phase.changed and _values(latest.target) == here:
        return latest
    copy = None if isinstance(own, facts.Unobserved) else own.copy
    if not isinstance(copy, RecordCopy) or _values(copy.target) != here:
        return None
    if not copy.phase.changed and copy.phase is not Phase.ADMITTING:
        return None
    head = copy.model_dump(exclude={"checks", "progress", "problem", "accepted", "completed_time", "deadline_time"})
    admitted = copy.admitted_time or copy.phase_transition_time
    head |= {"phase": Phase.CONVERGING, "admitted_time": admitted}
    if copy.phase is not Phase.CONVERGING:
        head["phase_transition_time"] = admitted
    return TopologyTransition.model_validate(head)


def _values(target: TopologyPair | None) -> tuple[str, str] | None:
    """As they stand in Infrastructure, where they may be longer than a pair can hold."""
    return None if target is None else (target.control_plane, target.infrastructure)


def shown(infrastructure: facts.Infrastructure, own: facts.Fact[facts.OwnOperator]) -> TopologyTransition | None:
    """The record with the newest answers, for people: its copy has them when the record itself is not due yet."""
    record = recover(infrastructure, own)
    copy = None if isinstance(own, facts.Unobserved) else own.copy
    if record is None or copy is None:
        return record
    if (copy.phase, copy.attempt, copy.target) != (record.phase, record.attempt, record.target):
        return record
    answers = {"checks": copy.checks or record.checks, "progress": copy.progress or record.progress}
    return record.model_copy(update=answers)


def phase_time(previous: TopologyTransition | None, phase: Phase, now: datetime) -> datetime:
    """When the phase was entered: kept while it stays."""
    if previous is not None and previous.phase is phase and previous.phase_transition_time is not None:
        return previous.phase_transition_time
    return whole_seconds(now)


def checks(
    previous: TopologyTransition | None, stage: Stage, results: Iterable[CheckResult], now: datetime
) -> tuple[Check, ...]:
    """The results of a stage as the record keeps them."""
    known = {(check.stage, check.name): check for check in (previous.checks if previous else ())}
    kept = []
    for result in results:
        before, message = known.get((stage, result.name)), fit(result.message)
        if before is None or before.status is not result.status:
            since = whole_seconds(now)
        elif before.message == message:
            kept.append(before)
            continue
        else:
            since = before.last_transition_time
        kept.append(
            Check(stage=stage, name=result.name, status=result.status, message=message, last_transition_time=since)
        )
    return tuple(kept)


def accepted_before(previous: TopologyTransition | None) -> tuple[Accepted, ...]:
    """What the last attempt went without: shown until the next admission begins a new one."""
    return previous.accepted if previous is not None else ()


def of_stage(record: TopologyTransition | None, stage: Stage) -> tuple[Check, ...]:
    """The checks of one stage."""
    return tuple([check for check in (record.checks if record else ()) if check.stage is stage])


def progress(results: Iterable[CheckResult]) -> Progress:
    """How many are Met."""
    answers = [result.status is CheckStatus.MET for result in results]
    met, total = sum(answers), len(answers)
    return Progress(met=met, total=total, summary=f"{met}/{total}")


def believed(record: TopologyTransition, now: datetime) -> TopologyTransition:
    """The record without times of the future that something is reckoned from.

    What only reports or gives up for a while goes by the record: the deadline, facts that stay unreadable, the wait
    for the echo. A clock that was put forward brings these early by as much as it was set. One that was put back
    would delay them without end, so a time that has not come yet is brought back to now, once, and written that way.
    """
    entered, admitted = record.phase_transition_time, record.admitted_time
    changes: dict[str, object] = {}
    if entered is not None and entered > now:
        changes["phase_transition_time"] = whole_seconds(now)
    if admitted is not None and admitted > now:
        changes["admitted_time"] = whole_seconds(now)
        if record.deadline_time is not None:
            changes["deadline_time"] = whole_seconds(record.deadline_time - (admitted - now))
    if record.checks and max([check.last_transition_time for check in record.checks]) > now:
        latest = whole_seconds(now)
        changes["checks"] = tuple(
            check.model_copy(update={"last_transition_time": min(check.last_transition_time, latest)})
            for check in record.checks
        )
    return record.model_copy(update=changes) if changes else record
