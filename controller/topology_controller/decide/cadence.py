"""When the record is written, when the report, and when time alone could change a decision.

The machine config operator renders everything again at each event of Infrastructure (machine-config-operator
pkg/operator/sync.go; release-4.20 to 4.22). So the record is written at once when something has happened: another phase
or attempt, a problem that begins or ends, the last check that becomes Met. Newer answers are kept in memory
(`LeaderState.latest`), shown elsewhere, and written once a minute, at ever longer intervals while they keep changing;
that not all checks are Met any more is written after ten seconds, later each time it comes back. That a request turns
(`held`) is written at once the first times, then once a minute.

A dozen processes wake for each write of any ClusterOperator. A status, a reason or a phase is written there at once, a
text alone at most every ten seconds, and less often the more a phase has had. In the settle time it is written with the
record, so that the two never contradict each other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime, timedelta

from topology_api.types import Check, TopologyTransition, fit
from topology_api.vocabulary import CheckStatus, Phase, Stage

from ..checks import machine_config
from ..observe import facts
from . import records
from .state import Context, Decision, LeaderState, Step

INTERVAL, LONGEST = timedelta(minutes=1), timedelta(minutes=32)
"""Between two writes of nothing but newer answers, and what that grows to while they keep changing."""
TEXT, TEXT_LONGEST = timedelta(seconds=10), timedelta(minutes=5)
"""The same of ClusterOperator `topology` where nothing but a text is new: less than thirty in an hour full of them."""
_TEXT_GROWTH = 1.3
_LATER = frozenset({"message", "checks", "progress", "advisories", "available", "observed_generation"})
"""Fields of the record that may wait. `problem` is compared by its reason."""
_TURNS = 2  # how often in a row a request may turn, or its answers be written, until the next turn waits


def written(context: Context, decision: Decision) -> Decision:
    """Add the steps that a decision without a change needs: save the record when it is time for that, then report."""
    reported = dataclasses.replace(summarized(context, decision), steps=(Step.REPORT,))
    return due(reported, records.stored(context.infrastructure), context.leader, context.now)


def summarized(context: Context, decision: Decision) -> Decision:
    """The decision whose record says in one sentence what Progressing says, with the events of the way to it."""
    if decision.record is None:
        return decision
    record = records.updated(decision.record, message=fit(decision.sentence))
    happened = records.between(context.record, record, context.infrastructure.desired, decision.note, context.now)
    return dataclasses.replace(decision, record=record, happened=happened)


def newest(stored: TopologyTransition | None, latest: TopologyTransition | None) -> TopologyTransition | None:
    """The stored record with the answers that this leader has seen since it wrote it; others' edits win."""
    if stored is None or latest is None or _head(stored) != _head(latest):
        return stored
    return records.updated(stored, message=latest.message, checks=latest.checks, progress=latest.progress)


def due(decision: Decision, stored: TopologyTransition | None, leader: LeaderState, now: datetime) -> Decision:
    """The decision with the step that saves its record, or with the time when it may be saved."""
    record = decision.record
    if record is None or stands(record, stored):
        return decision
    if stored is None or _body(record) != _body(stored) or (_all_met(record) and not _all_met(stored)):
        wait = None
    else:
        first, longest = bounds(leader)
        moment = (leader.writes.at or leader.since) + min(first * 2 ** min(leader.writes.in_a_row, 10), longest)
        if contradicts(record, stored):
            first, longest = bounds(leader, TEXT, TEXT_LONGEST)
            unmet = min([check.last_transition_time for check in _unmet(record)])
            moment = min(moment, unmet + min(first * 3 ** min(leader.writes.corrections, 10), longest))
        wait = until([moment], now)
    if wait is None:
        return dataclasses.replace(decision, steps=(Step.SAVE, *decision.steps))
    sooner = wait if decision.look_again is None else min(wait, decision.look_again)
    return dataclasses.replace(decision, look_again=sooner)


def stands(record: TopologyTransition | None, stored: TopologyTransition | None) -> bool:
    """Is this what is stored already, but for times of answers?"""
    if record is None or stored is None:
        return False
    return record == stored or _untimed(record) == _untimed(stored)


def is_done(decision: Decision, stored: TopologyTransition | None) -> bool:
    """Is nothing left to write, now or once everything was read live?"""
    return stands(decision.record, stored) and Step.GATHER not in decision.steps


def pause(leader: LeaderState) -> timedelta:
    """How long after an admission that went back to Pending the next one may begin: each is two writes."""
    return bounds(leader)[0]


def text_in(leader: LeaderState, now: datetime) -> float | None:
    """Seconds until a text alone may be written to ClusterOperator `topology`, None when it may be now."""
    if leader.texts.at is None:
        return None
    first, longest = bounds(leader, TEXT, TEXT_LONGEST)
    wait = min(first * _TEXT_GROWTH ** min(leader.texts.in_a_row, 64), longest)
    return until([leader.texts.at + wait], now)


def contradicts(record: TopologyTransition | None, stored: TopologyTransition | None) -> bool:
    """Does the stored record say that all checks are Met, and this one of the same attempt that they are not?"""
    if record is None or stored is None or _head(record) != _head(stored):
        return False
    return _all_met(stored) and not _all_met(record)


def has_happened(record: TopologyTransition, stored: TopologyTransition) -> bool:
    """Does something in this record not wait, and may more follow from it once it is written? No turn is counted so."""
    return _body(record) != _body(stored) and not _turned(record, stored)


def held(context: Context, decision: Decision) -> Decision:
    """The decision; where a request turns too often, what the record says, until a minute after the last write."""
    record, before, writes = decision.record, context.record, context.leader.writes
    wait = until([(writes.at or context.leader.since) + pause(context.leader)], context.now)
    if wait is None or record is None or before is None or writes.in_a_row < _TURNS or not _turned(record, before):
        return decision
    kept = dataclasses.replace(decision, phase=before.phase, record=before, definition=None, note=before.message or "")
    return dataclasses.replace(kept, steps=(), happened=(), look_again=wait)


def bounds(
    leader: LeaderState, first: timedelta = INTERVAL, longest: timedelta = LONGEST
) -> tuple[timedelta, timedelta]:
    """The shortest and the longest interval. Who shortens the settle time (tests, demos) shortens these with it."""
    if leader.settle_seconds is None:
        return first, longest
    short = min(timedelta(seconds=leader.settle_seconds), first)
    return short, short


def moments(known: facts.Facts) -> list[datetime]:
    """When time alone changes an answer: etcd's lease expires, or counts, or templates fail for too long."""
    lease, config, ahead = known.etcd_lease, known.controller_config, []
    if isinstance(lease, facts.Lease) and lease.renew_time is not None:
        ahead += [lease.renew_time - facts.LEASE_GRACE, lease.renew_time + lease.lasting]
    if isinstance(config, facts.ControllerConfig) and config.failing_since is not None:
        ahead.append(config.failing_since + machine_config.FAILING_BOUND)
    return ahead


def until(moments: list[datetime], now: datetime) -> float | None:
    """Seconds until the first of these that is still to come, a little more so that it has passed; None: none is."""
    ahead = [moment for moment in moments if moment > now]
    return (min(ahead) - now).total_seconds() + 0.05 if ahead else None


def _unmet(record: TopologyTransition) -> list[Check]:
    """The convergence checks of a record that are neither Met nor accepted."""
    accepted, checks = records.accepted(record), records.of_stage(record, Stage.CONVERGENCE)
    return [check for check in checks if check.status is not CheckStatus.MET and check.name not in accepted]


def _all_met(record: TopologyTransition) -> bool:
    """Does nothing but the settle time keep this record from being completed?"""
    return record.phase is Phase.CONVERGING and not _unmet(record)


def _turned(record: TopologyTransition, stored: TopologyTransition) -> bool:
    """Has a request turned to another definition, or to none, or into another request?"""
    before, now = ((each.name, each.source, each.target, each.requested_time) for each in (stored, record))
    return before != now and record.phase.asks and stored.phase.asks


def _head(record: TopologyTransition) -> tuple[object, ...]:
    return record.phase, record.name, record.attempt, record.source, record.target


def _body(record: TopologyTransition) -> Mapping[str, object]:
    body = {name: value for name, value in record if name not in _LATER}
    body["problem"] = None if record.problem is None else record.problem.reason
    return body


def _untimed(record: TopologyTransition) -> tuple[object, ...]:
    """An answer that went and came back is the same answer; of what is available the verdicts count."""
    checks = tuple([check.model_copy(update={"last_transition_time": None}) for check in record.checks])
    verdicts = [
        (item.name, item.target, item.available, [(blocker.name, blocker.status) for blocker in item.blockers])
        for item in record.available
    ]
    return record.model_copy(update={"available": (), "checks": checks}), verdicts
