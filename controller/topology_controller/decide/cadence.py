"""When the record is written: each write of Infrastructure makes other operators work.

Dozens of operators watch Infrastructure, and the machine config operator renders everything again at each of its events
(machine-config-operator pkg/operator/sync.go; release-4.20 to 4.22). So the record is written when something in it has
happened: another phase, another attempt, a problem that begins or ends. Answers of checks come and go; they are kept in
memory (`LeaderState.latest`), shown in ClusterOperator `topology`, metrics and the page, and written at most once
a minute, with their newest state. While they keep changing the interval doubles, up to half an hour. When the
last check becomes Met they are written at once, and when one of them is taken back for ten seconds: in the settle time
the record is current. A check that is taken back again and again is written later each time.

ClusterOperator `topology` has watchers too: library-go's status controller, in a dozen processes, wakes for each write
of any ClusterOperator (pkg/operator/status/status_controller.go). A status, a reason, a phase or what happened to the
record is written at once; a text alone at most every ten seconds, and less often the more of them a phase has had. In
the settle time it is written with the record, so that the two never contradict each other.
"""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckStatus, Phase, Stage

from . import acceptance, discovery
from .decision import Step
from .state import Writes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from topology_api.types import Check, TopologyTransition

    from .decision import Decision
    from .state import LeaderState

INTERVAL = timedelta(minutes=1)
"""Between two writes of nothing but newer answers."""
LONGEST = timedelta(minutes=32)
"""What the interval grows to while they keep changing."""
TEXT = timedelta(seconds=10)
"""Between two writes of ClusterOperator `topology` in which nothing but a text is new."""
TEXT_LONGEST = timedelta(minutes=5)
"""What that grows to, so that an hour in which texts change all the time is less than thirty writes."""
_TEXT_GROWTH = 1.3
_LATER = frozenset({"message", "checks", "progress", "advisories", "available", "observed_generation"})
"""Fields of the record that may wait. `problem` is compared by its reason."""


def newest(stored: TopologyTransition | None, latest: TopologyTransition | None) -> TopologyTransition | None:
    """The stored record with the answers that this leader has seen since it wrote it; others' edits win."""
    if stored is None or latest is None or _head(stored) != _head(latest):
        return stored
    return stored.model_copy(update={"message": latest.message, "checks": latest.checks, "progress": latest.progress})


def due(decision: Decision, stored: TopologyTransition | None, leader: LeaderState, now: datetime) -> Decision:
    """The decision with the step that saves its record, or with the time when it may be saved."""
    record = decision.record
    if record is None or (stored is not None and _same(record, stored)):
        return decision
    at_once = stored is None or has_happened(record, stored) or (_all_met(record) and not _all_met(stored))
    wait = None if at_once else _until(leader, now)
    if wait is not None and contradicts(record, stored):
        correction = _correction_in(record, leader, now)
        wait = None if correction is None else min(wait, correction)
    if wait is None:
        return dataclasses.replace(decision, steps=(Step.SAVE, *decision.steps))
    sooner = wait if decision.look_again is None else min(wait, decision.look_again)
    return dataclasses.replace(decision, look_again=sooner)


def written(
    leader: LeaderState, record: TopologyTransition, before: TopologyTransition | None, now: datetime
) -> Writes:
    """The writes of a leader once this record stands on the server."""
    # After so long without a write the next answer is news again.
    rested = leader.writes.at is None or now - leader.writes.at >= 2 * _bounds(leader)[1]
    if before is None or has_happened(record, before) or rested:
        return Writes(now)
    corrections = leader.writes.corrections + contradicts(record, before)
    return Writes(now, leader.writes.in_a_row + 1, corrections)


def pause(leader: LeaderState) -> timedelta:
    """How long after an admission that went back to Pending the next one may begin: each is two writes."""
    return _bounds(leader)[0]


def text_in(leader: LeaderState, now: datetime) -> float | None:
    """Seconds until a text alone may be written to ClusterOperator `topology`, None when it may be now."""
    if leader.texts.at is None:
        return None
    first, longest = _text_bounds(leader)
    return _left(leader.texts.at + min(first * _TEXT_GROWTH ** min(leader.texts.in_a_row, 64), longest), now)


def contradicts(record: TopologyTransition | None, stored: TopologyTransition | None) -> bool:
    """Does the stored record say that all checks are Met, and this one of the same attempt that they are not?"""
    if record is None or stored is None or _head(record) != _head(stored):
        return False
    return _all_met(stored) and not _all_met(record)


def _correction_in(record: TopologyTransition, leader: LeaderState, now: datetime) -> float | None:
    """Seconds until it may be written that not all checks are Met any more, None when it may be now."""
    first, longest = _text_bounds(leader)
    since = min(check.last_transition_time for check in _awaited(record) if check.status is not CheckStatus.MET)
    return _left(since + min(first * 3 ** min(leader.writes.corrections, 10), longest), now)


def _until(leader: LeaderState, now: datetime) -> float | None:
    """Seconds until newer answers may be written, None when they may be now."""
    first, longest = _bounds(leader)
    interval = min(first * 2 ** min(leader.writes.in_a_row, 10), longest)
    return _left((leader.writes.at or leader.since) + interval, now)


def _left(moment: datetime, now: datetime) -> float | None:
    """Seconds until then, a little more so that it has passed; None when it has."""
    left = moment - now
    return left.total_seconds() + 0.05 if left > timedelta() else None


def _bounds(leader: LeaderState) -> tuple[timedelta, timedelta]:
    """The shortest and the longest interval. Who shortens the settle time (tests, demos) shortens these with it."""
    if leader.settle_seconds is None:
        return INTERVAL, LONGEST
    short = min(timedelta(seconds=leader.settle_seconds), INTERVAL)
    return short, short


def _text_bounds(leader: LeaderState) -> tuple[timedelta, timedelta]:
    """The shortest and the longest time between two texts, shortened like the others."""
    if leader.settle_seconds is None:
        return TEXT, TEXT_LONGEST
    short = min(timedelta(seconds=leader.settle_seconds), TEXT)
    return short, short


def _awaited(record: TopologyTransition) -> list[Check]:
    """The convergence checks of a record that are not accepted."""
    accepted = acceptance.names(record)
    return [check for check in record.checks if check.stage is Stage.CONVERGENCE and check.name not in accepted]


def _all_met(record: TopologyTransition) -> bool:
    """Does nothing but the settle time keep this record from being completed?"""
    return record.phase is Phase.CONVERGING and all(check.status is CheckStatus.MET for check in _awaited(record))


def has_happened(record: TopologyTransition, stored: TopologyTransition) -> bool:
    """Does something in this record not wait, and may more follow from it once it is written?"""
    return _head(record) != _head(stored) or _body(record) != _body(stored)


def _head(record: TopologyTransition) -> tuple[object, ...]:
    return record.phase, record.name, record.attempt, record.source, record.target


def _body(record: TopologyTransition) -> Mapping[str, object]:
    body = {name: value for name, value in record if name not in _LATER}
    body["problem"] = None if record.problem is None else record.problem.reason
    return body


def _same(record: TopologyTransition, stored: TopologyTransition) -> bool:
    """Equal but for times: an answer that went and came back is the same answer; of what is available the verdicts."""
    return record == stored or (_untimed(record) == _untimed(stored) and _verdicts(record) == _verdicts(stored))


def _untimed(record: TopologyTransition) -> TopologyTransition:
    checks = tuple(check.model_copy(update={"last_transition_time": None}) for check in record.checks)
    return record.model_copy(update={"available": (), "checks": checks})


def _verdicts(record: TopologyTransition) -> list[tuple[object, ...]]:
    return [discovery.verdict(item) for item in record.available]
