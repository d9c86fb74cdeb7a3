"""Builds the record of a transition, `status.topologyTransition`, recovers it when it was lost, and has its events.

What the record holds survives a restart: bounds and durations are computed from its times. A check keeps its
lastTransitionTime while its status stays, so that "all Met and quiet since" can be read from the record alone. Events
are sent after the writes of the decision; `report.events` names each, so that after a crash it is the same event.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from topology_api import types, vocabulary
from topology_api.types import Check, LastTransition, RecordCopy, TopologyPair, TopologyTransition, fit, whole_seconds
from topology_api.vocabulary import CheckName, CheckStatus, EventReason, Phase, Stage

from .. import shell
from ..checks import advisories
from ..checks.result import CheckResult, listed
from ..definitions.registry import ACCEPTABLE_CHECKS
from ..observe import facts
from .state import Context, EventSpec

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
STANDING = timedelta(minutes=5)
"""How long the same checks must have been unmet, none changing, until that is an event: a flapping node is no news."""


def pair(infrastructure: facts.Infrastructure) -> TopologyPair:
    """The present topology. Only call it when both values are there (`applicability.disabled`)."""
    control_plane, value = infrastructure.control_plane or "", infrastructure.infrastructure or ""
    return TopologyPair(control_plane=control_plane, infrastructure=value)


def request(topology: str | None, field: str = vocabulary.DESIRED) -> str:
    """The command that makes this request, or takes it back."""
    body = json.dumps({"spec": {field: topology}}, separators=(",", ":"))
    return shell.command("oc patch infrastructure cluster --type merge -p {}", body)


def recover(
    infrastructure: facts.Infrastructure, own: facts.Fact[facts.OwnOperator], latest: TopologyTransition | None = None
) -> TopologyTransition | None:
    """The record, or what can be rebuilt of it: from `latest`, as this leader last decided it, or from its copy."""
    # When the topology is the target of what is left, the change has happened, whatever the phase there says. The copy,
    # in ClusterOperator `topology`, is written by more clients than the record: it is evidence of an attempt and never
    # of its end, so that everything is proven again, and nothing in it is accepted.
    if isinstance(infrastructure.record, TopologyTransition):
        return infrastructure.record
    # As they stand in Infrastructure, where they may be longer than a pair can hold.
    here = f"{infrastructure.control_plane}/{infrastructure.infrastructure}"
    if latest is not None and latest.phase.changed and str(latest.target) == here:
        return latest
    copy = None if isinstance(own, facts.Unobserved) else own.copy
    if copy is None or str(copy.target) != here or not (copy.phase.changed or copy.phase is Phase.ADMITTING):
        return None
    head = copy.model_dump(exclude={"checks", "progress", "problem", "accepted", "completed_time", "deadline_time"})
    admitted = copy.admitted_time or copy.phase_transition_time
    head |= {"phase": Phase.CONVERGING, "admitted_time": admitted}
    if copy.phase is not Phase.CONVERGING:
        head["phase_transition_time"] = admitted
    return TopologyTransition.model_validate(head)


def shown(infrastructure: facts.Infrastructure, own: facts.Fact[facts.OwnOperator]) -> TopologyTransition | None:
    """The record with the newest answers, for people: its copy has them when the record itself is not due yet."""
    record = recover(infrastructure, own)
    copy = None if isinstance(own, facts.Unobserved) else own.copy
    if record is None or copy is None:
        return record
    if (copy.phase, copy.attempt, copy.target) != (record.phase, record.attempt, record.target):
        return record
    return updated(record, checks=copy.checks or record.checks, progress=copy.progress or record.progress)


def stored(infrastructure: facts.Fact[facts.Infrastructure]) -> TopologyTransition | None:
    """The record as it was seen last, None when there is none or it cannot be read."""
    record = infrastructure.record if isinstance(infrastructure, facts.Infrastructure) else None
    return record if isinstance(record, TopologyTransition) else None


def updated(record: TopologyTransition, **fields: Any) -> TopologyTransition:
    """The record with these fields instead."""
    return record.model_copy(update=fields)


def entered(context: Context, phase: Phase, **fields: Any) -> TopologyTransition:
    """A record of this phase, entered now or, while it stays, when it was; with what a record has in any phase."""
    before = context.record
    since = before.phase_transition_time if before is not None and before.phase is phase else None
    common: dict[str, Any] = {
        "phase_transition_time": since or whole_seconds(context.now),
        "observed_generation": context.infrastructure.generation,
        "available": available(context),
        "last_transition": last(context),
    }
    return TopologyTransition(phase=phase, **common | fields)


def requested(context: Context, target: TopologyPair | None) -> datetime:
    """When this request was first seen: kept while the target stays."""
    record, own = context.record, context.known.own_operator
    # Where the record was lost it is the same request, and its events were sent under this time.
    copy = None if isinstance(own, facts.Unobserved) else own.copy
    before: TopologyTransition | RecordCopy | None = copy if record is None else record
    if before is not None and before.phase.asks and before.requested_time and before.target == target:
        return before.requested_time
    return whole_seconds(context.now)


def checks(
    previous: TopologyTransition | None, stage: Stage, results: Iterable[CheckResult], now: datetime
) -> tuple[Check, ...]:
    """The results of a stage as the record keeps them."""
    known = {check.name: check for check in of_stage(previous, stage)}
    kept = []
    for result in results:
        name, status, message = result.name, result.status, fit(result.message)
        before = known.get(name)
        stays = before is not None and before.status is status
        if before is None or not stays or before.message != message:
            since = before.last_transition_time if before is not None and stays else whole_seconds(now)
            before = Check(stage=stage, name=name, status=status, message=message, last_transition_time=since)
        kept.append(before)
    return tuple(kept)


def of_stage(record: TopologyTransition | None, stage: Stage) -> tuple[Check, ...]:
    """The checks of one stage."""
    return tuple([check for check in (record.checks if record else ()) if check.stage is stage])


def progress(results: tuple[CheckResult, ...]) -> types.Progress:
    """How many are Met."""
    met, total = sum([result.status is CheckStatus.MET for result in results]), len(results)
    return types.Progress(met=met, total=total, summary=f"{met}/{total}")


def available(context: Context) -> tuple[types.AvailableTransition, ...]:
    """What could be requested, each by its newest verdict, as far as it still leads away from here."""
    before = {item.name: item for item in (context.record.available if context.record else ())}
    discovered = context.leader.available
    if discovered is not None:
        # The verdict on what is under way may be newer than what was discovered. One from the future is the oldest.
        past = {name: item for name, item in before.items() if item.evaluated_time <= context.now}
        newest = [max(item, past.get(item.name, item), key=lambda each: each.evaluated_time) for item in discovered]
        before = {item.name: item for item in newest}
    here = {definition.name for definition in context.transitions.starting_at(pair(context.infrastructure))}
    return tuple(item for item in before.values() if item.name in here)


def advised(context: Context, record: TopologyTransition) -> tuple[types.Advisory, ...]:
    """What an administrator has to do on the way to the record's target, by what is watched."""
    target = record.target or pair(context.infrastructure)
    return advisories.advise(context.known, target, context.transitions.matrix, record, context.now)


def last(context: Context) -> LastTransition | None:
    """The last transition that completed here: the one that the record is about, else the one that it keeps."""
    return None if context.record is None else completed(context.record) or context.record.last_transition


def completed(record: TopologyTransition) -> LastTransition | None:
    """The transition of a record that is Completed, as it is kept; None before that."""
    if record.phase is not Phase.COMPLETED or record.target is None:
        return None
    return LastTransition.model_validate(record.model_dump(include=set(LastTransition.model_fields)))


def accepted(record: TopologyTransition) -> frozenset[CheckName]:
    """The checks that this attempt goes without. What is not acceptable does not count, whatever wrote it there."""
    return frozenset(CheckName(entry.name) for entry in record.accepted if entry.name in ACCEPTABLE_CHECKS)


def accepted_note(record: TopologyTransition, begin: str = ", accepted without: ") -> str:
    """The same, as they are shown behind that beginning; empty when there are none."""
    names = [entry.name for entry in record.accepted if entry.name in ACCEPTABLE_CHECKS]
    return f"{begin}{listed(names, most=len(ACCEPTABLE_CHECKS))}" if names else ""


def believed(record: TopologyTransition, now: datetime) -> TopologyTransition:
    """The record without times of the future that something is reckoned from."""
    # A clock that was put back would delay the deadline, or the wait for the echo, without end: so a time that has not
    # come yet is brought back to now, once, and written that way.
    entered, admitted, latest = record.phase_transition_time, record.admitted_time, whole_seconds(now)
    changes: dict[str, object] = {}
    if entered is not None and entered > now:
        changes["phase_transition_time"] = latest
    if admitted is not None and admitted > now:
        changes["admitted_time"] = latest
        if record.deadline_time is not None and record.deadline_time > admitted:
            changes["deadline_time"] = whole_seconds(record.deadline_time - (admitted - now))
    if record.checks and max([check.last_transition_time for check in record.checks]) > now:
        changes["checks"] = tuple(
            check.model_copy(update={"last_transition_time": min(check.last_transition_time, latest)})
            for check in record.checks
        )
    return record.model_copy(update=changes) if changes else record


def between(
    before: TopologyTransition | None, after: TopologyTransition, desired: str | None, note: str, now: datetime
) -> tuple[EventSpec, ...]:
    """Events for the way from one record to the next; `note` is what Progressing says."""
    # What blocks a request is an event when the request is made, when a check takes its admission back, and whenever it
    # has stood for `STANDING`: the same checks have the same event (`report.events.name`), so only others are news.
    phase, was = after.phase, Phase.IDLE if before is None else before.phase
    blocked = EventSpec(EventReason.TRANSITION_BLOCKED, note, warning=True)
    if phase is Phase.PENDING and was.asks:
        return (blocked,) if now >= stands_at(after) or (was is Phase.ADMITTING and unmet(after)) else ()
    if was is phase:
        return ()
    route = f"from {after.source} to {after.target}" if after.source and after.target else ""
    changed, text = EventReason.TOPOLOGY_CHANGED, f"Topology changed {route}"
    specs: list[EventSpec] = []
    if phase.asks and not was.asks:
        current = f" (current: {after.source.control_plane})" if after.source is not None else ""
        specs.append(EventSpec(EventReason.TRANSITION_REQUESTED, f"{desired} topology requested{current}"))
    if phase in {Phase.UNSUPPORTED, Phase.PENDING}:
        specs.append(blocked)
    elif phase is Phase.CONVERGING and after.by_native:
        by = "by the native controller, which is switched off: it is followed from now on"
        specs.append(EventSpec(changed, f"{text} {by}"))
    elif phase is Phase.CONVERGING:
        admitted = f"Preflight passed; changing topology {route} ({after.name})"
        specs += [EventSpec(EventReason.TRANSITION_ADMITTED, admitted), EventSpec(changed, text)]
    elif phase is Phase.COMPLETED:
        done = f"Transition {after.name} {route} is completed{accepted_note(after)}"
        specs.append(EventSpec(EventReason.TRANSITION_COMPLETED, done))
    elif phase is Phase.IDLE and was.asks and cancelled(before, desired):
        specs.append(EventSpec(EventReason.TRANSITION_CANCELLED, "Request cancelled; the topology was not changed"))
    return tuple(specs)


def unmet(record: TopologyTransition) -> list[str]:
    """The preflight checks that block the request of this record, by name."""
    return sorted(check.name for check in of_stage(record, Stage.PREFLIGHT) if check.status is not CheckStatus.MET)


def stands_at(record: TopologyTransition) -> datetime:
    """From when on what blocks the request of this record counts as standing."""
    changed = [check.last_transition_time for check in of_stage(record, Stage.PREFLIGHT)]
    return max([record.phase_transition_time or _LONG_AGO, *changed]) + STANDING


def cancelled(before: TopologyTransition | None, desired: str | None) -> bool:
    """Was the request taken back (removed, set to the start), or does it stand while another client changed things?"""
    if desired is None or before is None or before.source is None:
        return True
    target = before.target.control_plane if before.target is not None else None
    return desired == before.source.control_plane != target
