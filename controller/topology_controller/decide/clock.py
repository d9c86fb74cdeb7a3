"""What a wall clock that is moved may do to a transition, and what it may not.

The record survives its writer, so its times are wall clock times; and a wall clock is set now and then, by hand, or by
NTP a while after a machine has started. Two rules follow.

* What moves the topology or calls it completed never rests on the wall clock alone. The settle time counts only while
  the leader that ends it has watched without a break, by a clock that nobody moved meanwhile (`Term.since`,
  `Term.steady_since`); the other waits of a leader (`Term`) are moved along with the clock (`moved`). `reconcile` sees
  a jump by its monotonic clock. The evidence for the flip and the lease know only that one.
* What merely reports or gives up for a while goes by the record: the deadline, facts that stay unreadable, the wait for
  the echo. A clock that was put forward brings these early by as much as it was moved. One that was put back would
  delay them for ever: `believed` brings a time that has not come yet back to now, once, and it is written that way.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from topology_api.types import whole_seconds

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from topology_api.types import Check, TopologyTransition

    from .decision import Term


def believed(record: TopologyTransition, now: datetime) -> TopologyTransition:
    """The record without times of the future that something is reckoned from."""
    entered, admitted = record.phase_transition_time, record.admitted_time
    late = [check for check in record.checks if check.last_transition_time > now]
    changes: dict[str, object] = {}
    if entered is not None and entered > now:
        changes["phase_transition_time"] = whole_seconds(now)
    if admitted is not None and admitted > now:
        changes["admitted_time"] = whole_seconds(now)
        if record.deadline_time is not None:
            changes["deadline_time"] = whole_seconds(record.deadline_time - (admitted - now))
    if late:
        changes["checks"] = tuple(_not_after(check, now) for check in record.checks)
    return record.model_copy(update=changes) if changes else record


def _not_after(check: Check, now: datetime) -> Check:
    if check.last_transition_time <= now:
        return check
    return check.model_copy(update={"last_transition_time": whole_seconds(now)})


def moved(term: Term, by: timedelta, now: datetime) -> Term:
    """The same leader after its wall clock was moved by that much (negative: put back); `now` is the new time."""

    def shifted(moment: datetime | None) -> datetime | None:
        return None if moment is None else moment + by

    return dataclasses.replace(
        term,
        since=term.since + by,
        hold_until=shifted(term.hold_until),
        gate_since=shifted(term.gate_since),
        steady_since=now,
        writes=dataclasses.replace(term.writes, at=shifted(term.writes.at)),
        fell_back=shifted(term.fell_back),
        progress=dataclasses.replace(term.progress, at=shifted(term.progress.at)),
    )
