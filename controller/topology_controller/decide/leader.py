"""What a leader remembers between two decisions, and how looks, decisions and writes change it.

Everything else is read back from the API, so that another leader can go on from there. Pure: `reconcile` holds the one
`LeaderState` and hands in what it saw and when.

A wall clock is set now and then, by hand, or by NTP a while after a machine has started. What changes the topology or
calls it completed never rests on the wall clock alone: the settle time counts only while this leader has watched
without a break, by a clock that was not set meanwhile (`since`, `steady_since`), and its other waits are shifted along
with the clock. A jump shows against the monotonic clock. (What the record says of the future: `records.believed`.)
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from topology_api.vocabulary import Phase, Stage

from ..observe import facts
from . import acceptance, applicability, cadence, problems, records
from .cadence import Writes

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import Advisory, AvailableTransition, TopologyTransition

    from .decision import Decision

_JUMP = 1.0
"""Seconds by which a clock that is set differs from the monotonic one."""
_SLEW = 0.1
"""Share of the time that a clock may be off that is only corrected slowly: NTP slews by less."""
_SHORTEST_HOLD = timedelta(seconds=1)
"""Until an admission may begin again after live evidence disagreed, however short the settle time is."""
_MOST_ANSWERS = 2048
"""Answers that are remembered; a transition that has given more only comes and goes."""


@dataclass(frozen=True, slots=True)
class Misconfigured:
    """The configuration file is bad; `message` says how. `holds`: what is in force may be less than was asked for."""

    message: str
    holds: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """Every answer of this attempt so far, by hash, and when there was last one that had not been given before."""

    answers: frozenset[int] = frozenset()
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Voids:
    """How often in a row reading the evidence took too long for a change to rest on it, and how long at most."""

    count: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class LeaderState:
    """What this leader knows that stands in no object. All times go by the wall clock.

    `since` is when it began to lead. `attempt` is the admission that this leader has recorded itself, None when it
    has none; `next_attempt` is the value that a new admission would get. `available` and `advisories` are what the last
    discovery found, None before the first. `settle_seconds` overrides the definitions. `refused` is what the API server
    says where it refuses what this leader writes to Infrastructure, empty once a write went through.
    """

    since: datetime
    next_attempt: str
    attempt: str | None = None
    available: tuple[AvailableTransition, ...] | None = None
    advisories: tuple[Advisory, ...] | None = None
    settle_seconds: int | None = None
    misconfigured: Misconfigured | None = None
    refused: str = ""
    clocks: tuple[datetime, float] | None = None
    """The wall clock and the monotonic one at the last look."""
    gate_since: datetime | None = None
    """When the feature gate of the native controller was first seen on, or that controller last there; None while the
    gate is off."""
    two_voters_since: datetime | None = None
    """Since when etcd has been seen with two voters; None when it has not."""
    lost_at: datetime | None = None
    """When nodes that the change rested on were last seen missing; None when they were not."""
    steady_since: datetime | None = None
    """When the wall clock was last set, or something that matters could last not be watched; None: never."""
    unquiet: bool = True
    """Was something not Met, or not seen, at the last look? It may never be recorded: the write can fail."""
    hold_until: datetime | None = None
    """No admission before that: live evidence has just disagreed with the watches."""
    latest: TopologyTransition | None = None
    """The record as it was last decided: it may be newer than what was written (`cadence`)."""
    writes: Writes = Writes()  # noqa: RUF009 - frozen
    texts: Writes = Writes()  # noqa: RUF009 - frozen
    """The writes of ClusterOperator `topology` in which nothing but a text was new."""
    progress: Progress = Progress()
    voids: Voids = Voids()
    fell_back: datetime | None = None
    """When an admission of this leader last went back to Pending."""
    unsure: bool = False
    """A write may or may not have happened: nothing is written before Infrastructure was read live."""
    misled: bool = False
    """Live evidence has just disagreed with the watches: nothing is decided before all idle sources were read live."""


def jump(leader: LeaderState, now: datetime, steady: float) -> timedelta:
    """How far the wall clock was set since the last look; nothing where it was not."""
    if leader.clocks is None:
        return timedelta()
    before, then = leader.clocks
    by = now - before - timedelta(seconds=steady - then)
    return by if abs(by.total_seconds()) >= max(_JUMP, _SLEW * (steady - then)) else timedelta()


def looked(
    leader: LeaderState, known: facts.Facts, clocks: tuple[datetime, float], *, watching: bool, missed: bool
) -> LeaderState:
    """The leader who looks at these facts now.

    `clocks` are the wall clock and the monotonic one. Where what matters is not watched, or some of it was `missed`
    since the last look, what happened was not seen: the settle time begins when it is seen again.
    """
    now, steady = clocks
    if by := jump(leader, now, steady):
        leader = _shifted(leader, by, now)
    blind = not watching or bool(known.disturbed)
    blind = blind or any(isinstance(fact, facts.Unobserved) for fact in (known.infrastructure, known.own_operator))
    gate_since = leader.gate_since if applicability.gate(known) else None
    if gate_since is None or applicability.native_in_charge(known):
        gate_since = now if applicability.gate(known) else None
    return dataclasses.replace(
        leader,
        clocks=clocks,
        steady_since=now if blind or leader.unquiet or missed else leader.steady_since,
        gate_since=gate_since,
        two_voters_since=_two_voters_since(leader, known, now),
        lost_at=now if problems.lost_nodes(known) else leader.lost_at,
        unquiet=blind,
    )


def _two_voters_since(leader: LeaderState, known: facts.Facts, now: datetime) -> datetime | None:
    """What cannot be read for a moment is not over."""
    two = problems.two_voters(known)
    if two is None and known.etcd_endpoints is not facts.NOT_READ:
        return leader.two_voters_since
    return (leader.two_voters_since or now) if two else None


def _shifted(leader: LeaderState, by: timedelta, now: datetime) -> LeaderState:
    """The same leader after its wall clock was set by that much (negative: put back); `now` is the new time."""

    def shifted(moment: datetime | None) -> datetime | None:
        return None if moment is None else moment + by

    return dataclasses.replace(
        leader,
        since=leader.since + by,
        hold_until=shifted(leader.hold_until),
        gate_since=shifted(leader.gate_since),
        two_voters_since=shifted(leader.two_voters_since),
        lost_at=shifted(leader.lost_at),
        steady_since=now,
        writes=dataclasses.replace(leader.writes, at=shifted(leader.writes.at)),
        texts=dataclasses.replace(leader.texts, at=shifted(leader.texts.at)),
        fell_back=shifted(leader.fell_back),
        progress=dataclasses.replace(leader.progress, at=shifted(leader.progress.at)),
    )


def decided(leader: LeaderState, decision: Decision, now: datetime) -> LeaderState:
    """The leader after a decision: its record, whether it was progress, whether an admission ended."""
    unquiet = leader.unquiet or _waits(decision)
    # What is watched now speaks for itself; what was read before is of another time.
    advisories = None if decision.watch else leader.advisories
    leader = dataclasses.replace(leader, unquiet=unquiet, advisories=advisories)
    if decision.record is None:
        return leader
    progress = Progress()
    if decision.phase is Phase.CONVERGING:
        known = leader.progress.answers
        fresh = len(known) < _MOST_ANSWERS and bool(_answers(decision.record) - known)
        # What the first look finds is no progress: it may have been so for long.
        at = now if fresh and known else leader.progress.at
        progress = Progress(known | _answers(decision.record) if fresh else known, at)
    before = leader.latest.phase if leader.latest is not None else None
    fell_back = now if (before, decision.phase) == (Phase.ADMITTING, Phase.PENDING) else leader.fell_back
    if decision.phase not in {Phase.PENDING, Phase.ADMITTING}:
        fell_back = None
    # They are counted in a row: an admission that has ended says nothing of the next.
    voids = Voids() if decision.phase is Phase.PENDING else leader.voids
    return dataclasses.replace(leader, latest=decision.record, progress=progress, fell_back=fell_back, voids=voids)


def _waits(decision: Decision) -> bool:
    """Does this decision wait for a check of convergence that is neither Met nor accepted?"""
    if decision.phase is not Phase.CONVERGING or decision.record is None:
        return False
    accepted = acceptance.names(decision.record)
    return any(not result.met and result.name not in accepted for result in decision.results)


def is_progress(leader: LeaderState, record: TopologyTransition) -> bool:
    """Is there an answer in this record that had not been given before in its attempt?"""
    known = leader.progress.answers
    return bool(known) and len(known) < _MOST_ANSWERS and bool(_answers(record) - known)


def _answers(record: TopologyTransition) -> frozenset[int]:
    """The answers of convergence, by hash."""
    return frozenset(
        [
            hash((record.attempt, check.name, check.status, check.message))
            for check in records.of_stage(record, Stage.CONVERGENCE)
        ]
    )


def disagreed(leader: LeaderState, now: datetime) -> LeaderState:
    """The leader after the last reads led elsewhere than the watches: for a while they are believed, and no watch."""
    hold = max(cadence.pause(leader), _SHORTEST_HOLD)
    return dataclasses.replace(leader, hold_until=now + hold, misled=True)


def voided(leader: LeaderState, seconds: float) -> LeaderState:
    """The leader after evidence had become too old to rest a change on: reading it took that long."""
    voids = Voids(leader.voids.count + 1, max(leader.voids.seconds, seconds))
    return dataclasses.replace(leader, voids=voids)


def wrote(
    leader: LeaderState,
    record: TopologyTransition,
    stored: TopologyTransition | None,
    now: datetime,
    *,
    next_attempt: str,
) -> LeaderState:
    """The leader once a record stands on the server in place of `stored`."""
    leader = dataclasses.replace(leader, writes=cadence.written(leader, record, stored, now), refused="")
    if record.phase is Phase.CONVERGING:
        leader = dataclasses.replace(leader, voids=Voids())
    if record.phase is Phase.ADMITTING and record.attempt == leader.next_attempt:
        return dataclasses.replace(leader, attempt=record.attempt, next_attempt=next_attempt)
    return leader


def reported(leader: LeaderState, now: datetime, *, news: bool) -> LeaderState:
    """The leader once ClusterOperator `topology` is written; `news`: not for a text alone."""
    texts = Writes(leader.texts.at) if news else Writes(now, leader.texts.in_a_row + 1)
    return dataclasses.replace(leader, texts=texts)


def unsure(leader: LeaderState, *, next_attempt: str) -> LeaderState:
    """The leader whose write may or may not have happened.

    Whatever was on its way belongs to an attempt that is over; it may have carried the next one.
    """
    return dataclasses.replace(leader, unsure=True, attempt=None, next_attempt=next_attempt)
