"""How looks, decisions and writes change what a leader remembers (`state`).

A wall clock is set now and then, which shows against the monotonic one. What changes the topology or calls it completed
never rests on it alone: the settle time counts only while this leader has watched without a break, by a clock that was
not set meanwhile, and its other waits are shifted along. (What the record says of the future: `records.believed`.)
"""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from typing import Any, TypeVar

from topology_api.types import TopologyTransition
from topology_api.vocabulary import Phase, Stage

from ..observe import facts
from . import applicability, cadence, problems, records
from .state import SLOW, Clocks, Decision, LeaderState, Writes

T = TypeVar("T", bound=LeaderState | Writes)

_JUMP = 1.0  # seconds by which a clock that is set differs from the monotonic one
_SLEW = 0.1  # share of the time that a clock may be off that is only corrected slowly: NTP slews by less
_SHORTEST_HOLD = timedelta(seconds=1)
"""Until an admission may begin again after live evidence disagreed, however short the settle time is."""
_MOST_ANSWERS = 2048  # answers that are remembered; a transition that has given more only comes and goes


def jump(before: Clocks | None, now: Clocks) -> timedelta:
    """How far the wall clock was set since the last look; nothing where it was not."""
    if before is None:
        return timedelta()
    passed = now.steady - before.steady
    by = now.wall - before.wall - timedelta(seconds=passed)
    return by if abs(by.total_seconds()) >= max(_JUMP, _SLEW * passed) else timedelta()


def looked(leader: LeaderState, known: facts.Facts, clocks: Clocks, *, watching: bool, missed: bool) -> LeaderState:
    """The leader who looks at these facts now. What is not watched, or was `missed`, ends the settle time."""
    now = clocks.wall
    if by := jump(leader.clocks, clocks):
        leader = dataclasses.replace(_shifted(leader, by), steady_since=now)
    here = records.stored(known.infrastructure)
    if here is not None and here.phase is Phase.ADMITTING and leader.attempt not in {None, here.attempt}:
        # Another operator admits, by a Lease that was deleted or by its own. It would answer an answer at once, too.
        leader = dataclasses.replace(leader, attempt=None, hold_until=now + cadence.pause(leader))
    unread, unreported = [isinstance(fact, facts.Unobserved) for fact in (known.infrastructure, known.own_operator)]
    blind = not watching or bool(known.disturbed) or unread or unreported
    kept = None if applicability.native_in_charge(known) else leader.gate_since
    gate_since = (kept or now) if known.mutable_topology is True else None
    two, two_since = problems.few_voters(known), leader.two_voters_since
    # What cannot be read for a moment is not over.
    if two is not None or known.control_plane_nodes is facts.NOT_READ:
        two_since = (two_since or now) if two else None
    return dataclasses.replace(
        leader,
        clocks=clocks,
        jumped=by,
        steady_since=now if blind or leader.unquiet or missed else leader.steady_since,
        gate_since=gate_since,
        unread_since=(leader.unread_since or now) if unread else None,
        two_voters_since=two_since,
        lost_at=now if problems.lost_nodes(known) else leader.lost_at,
        unquiet=blind,
    )


def _shifted(kept: T, by: timedelta) -> T:
    """The same with all its times set by that much (negative: put back), those of its parts too."""
    changes: dict[str, Any] = {}
    for name in [field.name for field in dataclasses.fields(kept)]:
        value = getattr(kept, name)
        if isinstance(value, datetime):
            changes[name] = value + by
        elif isinstance(value, Writes):
            changes[name] = _shifted(value, by)
    return dataclasses.replace(kept, **changes)


def decided(
    leader: LeaderState, decision: Decision, now: datetime, stored: TopologyTransition | None = None
) -> LeaderState:
    """The leader after a decision: its record, whether it was progress, whether an admission ended."""
    record, unquiet = decision.record, leader.unquiet
    if record is not None and decision.phase is Phase.CONVERGING:
        accepted = records.accepted(record)
        unquiet |= any(not result.met and result.name not in accepted for result in decision.results)
    # What is watched now speaks for itself; what was read before is of another time.
    advisories = None if decision.watch else leader.advisories
    leader = dataclasses.replace(leader, unquiet=unquiet, advisories=advisories)
    if record is None:
        return leader
    answers, progressed = frozenset[int](), None
    if decision.phase is Phase.CONVERGING:
        # What the first look finds is no progress: it may have been so for long.
        progressed = now if is_progress(leader, record) else leader.progressed
        answers = leader.answers if len(leader.answers) >= _MOST_ANSWERS else leader.answers | _answers(record)
    before = leader.latest.phase if leader.latest is not None else None
    fell_back = now if (before, decision.phase) == (Phase.ADMITTING, Phase.PENDING) else leader.fell_back
    if decision.phase not in {Phase.PENDING, Phase.ADMITTING}:
        fell_back = None
    # They are counted in a row: an admission that has ended says nothing of the next.
    voids = () if decision.phase is Phase.PENDING else leader.voids
    refused = "" if cadence.is_done(decision, stored) else leader.refused
    leader = dataclasses.replace(leader, latest=record, answers=answers, progressed=progressed, refused=refused)
    return dataclasses.replace(leader, fell_back=fell_back, voids=voids)


def is_progress(leader: LeaderState, record: TopologyTransition) -> bool:
    """Is there an answer in this record that had not been given before in its attempt?"""
    known = leader.answers
    return bool(known) and len(known) < _MOST_ANSWERS and bool(_answers(record) - known)


def _answers(record: TopologyTransition) -> frozenset[int]:
    """The answers of convergence, by hash."""
    checks = records.of_stage(record, Stage.CONVERGENCE)
    return frozenset([hash((record.attempt, check.name, check.status, check.message)) for check in checks])


def disagreed(leader: LeaderState, now: datetime) -> LeaderState:
    """The leader after the last reads led elsewhere than the watches: for a while they are believed, and no watch."""
    hold = max(cadence.pause(leader), _SHORTEST_HOLD)
    return dataclasses.replace(leader, hold_until=now + hold, misled=True)


def voided(leader: LeaderState, seconds: float) -> LeaderState:
    """The leader after evidence had become too old to rest a change on: reading it took that long."""
    return dataclasses.replace(leader, voids=tuple(sorted((*leader.voids, seconds))[-SLOW:]))


def wrote(
    leader: LeaderState,
    record: TopologyTransition,
    stored: TopologyTransition | None,
    now: datetime,
    *,
    next_attempt: str,
) -> LeaderState:
    """The leader once a record stands on the server in place of `stored`."""
    # After so long without a write the next answer is news again.
    rested = leader.writes.at is None or now - leader.writes.at >= 2 * cadence.bounds(leader)[1]
    writes = Writes(now)
    if stored is not None and not cadence.has_happened(record, stored) and not rested:
        corrections = leader.writes.corrections + cadence.contradicts(record, stored)
        writes = Writes(now, leader.writes.in_a_row + 1, corrections)
    voids = () if record.phase is Phase.CONVERGING else leader.voids
    leader = dataclasses.replace(leader, writes=writes, refused="", voids=voids)
    if record.phase is Phase.ADMITTING and record.attempt == leader.next_attempt:
        return dataclasses.replace(leader, attempt=record.attempt, next_attempt=next_attempt)
    return leader


def reported(leader: LeaderState, now: datetime, *, news: bool) -> LeaderState:
    """The leader once ClusterOperator `topology` is written; `news`: not for a text alone."""
    texts = Writes(leader.texts.at) if news else Writes(now, leader.texts.in_a_row + 1)
    return dataclasses.replace(leader, texts=texts)


def unsure(leader: LeaderState, *, next_attempt: str) -> LeaderState:
    """The leader whose write may or may not have happened: its attempt is over, and so may be the next one."""
    return dataclasses.replace(leader, unsure=True, attempt=None, next_attempt=next_attempt)
