"""What goes into a decision and what comes out: its context, what this leader remembers, and the decision itself.

What a leader remembers (`leader` says how that changes) is lost with its process. Everything else is read back from the
API, so that another leader can go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import NamedTuple

from topology_api.types import Accepted, Advisory, AvailableTransition, TopologyTransition
from topology_api.vocabulary import EventReason, Phase, Reason, Stage

from ..checks.result import CheckResult
from ..definitions import load, model
from ..observe import facts

EVIDENCE_SECONDS = 2.0  # evidence older than this voids the attempt
EXECUTED_SECONDS = 3.5
"""How old it may become until the API server has executed the change: half a second less than what is promised, since
the server counts from when the request arrives."""
SLOW = 3  # after so many attempts in a row that took too long to read, Progressing says that the API server is slow
READING = "Reading what the checks ask about"  # what Progressing says until all that is watched has been read once
STAGES = {Phase.PENDING: Stage.PREFLIGHT, Phase.ADMITTING: Stage.PREFLIGHT, Phase.CONVERGING: Stage.CONVERGENCE}
"""The phases in which something is under way, each with the stage whose checks it waits for."""


@dataclass(frozen=True, slots=True)
class Writes:
    """When this leader last wrote, and how many writes in a row were for nothing but newer answers or texts."""

    at: datetime | None = None
    in_a_row: int = 0
    corrections: int = 0  # those of them that took back that all checks are Met


class Clocks(NamedTuple):
    """The wall clock, and the monotonic one in seconds."""

    wall: datetime
    steady: float


@dataclass(frozen=True, slots=True)
class LeaderState:
    """What this leader knows that stands in no object. All times go by the wall clock."""

    since: datetime  # when it began to lead
    next_attempt: str  # the value that a new admission would get
    attempt: str | None = None  # the admission that this leader has recorded itself
    available: tuple[AvailableTransition, ...] | None = None
    """What the last discovery found, None before the first; so are `advisories`."""
    advisories: tuple[Advisory, ...] | None = None
    settle_seconds: int | None = None  # what overrides the definitions
    misconfigured: str = ""  # how the configuration file is bad
    unconfigured: bool = False  # so that what is in force may be less than was asked for
    refused: str = ""
    """Why the API server refuses what this leader writes to Infrastructure; empty once a write went through."""
    clocks: Clocks | None = None  # both clocks at the last look
    jumped: timedelta = timedelta()  # how far the wall clock was set between the last look and the one before it
    gate_since: datetime | None = None
    """When the native controller's feature gate was first seen on, or that controller last there; None: it is off."""
    unread_since: datetime | None = None  # when Infrastructure was last read, while it cannot be
    two_voters_since: datetime | None = None
    lost_at: datetime | None = None  # when nodes that the change rested on were last seen missing
    steady_since: datetime | None = None
    """When the wall clock was last set, or something that matters could last not be watched."""
    unquiet: bool = True
    """Was something not Met, or not seen, at the last look? It may never be recorded: the write can fail."""
    hold_until: datetime | None = None  # no admission before that: live evidence has just disagreed with the watches
    latest: TopologyTransition | None = None
    """The record as it was last decided: it may be newer than what was written (`cadence`)."""
    writes: Writes = Writes()
    texts: Writes = Writes()  # the writes of ClusterOperator `topology` in which nothing but a text was new
    answers: frozenset[int] = frozenset()  # every answer of this attempt so far, by hash
    progressed: datetime | None = None  # when there was last one that had not been given before
    voids: tuple[float, ...] = ()
    """Seconds that reading the evidence took when that was too long for a change to rest on it, in a row: the most."""
    fell_back: datetime | None = None  # when an admission of this leader last went back to Pending
    unsure: bool = False  # a write may or may not have happened: nothing is written before Infrastructure was read live
    misled: bool = False
    """Live evidence has just disagreed with the watches: nothing is decided before all idle sources were read live."""


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that one decision looks at, once it is clear that there is something to decide."""

    known: facts.Facts
    infrastructure: facts.Infrastructure
    record: TopologyTransition | None
    transitions: load.Transitions
    leader: LeaderState
    now: datetime

    @property
    def phase(self) -> Phase:
        """The phase of the record; without one nothing has been decided yet."""
        return Phase.IDLE if self.record is None else self.record.phase


class Step(Enum):
    """The writes of a decision, performed in the order in which they stand."""

    SAVE = auto()  # write the record to Infrastructure status; topology stays
    REPORT = auto()  # write ClusterOperator `topology`, if it would differ
    GATHER = auto()  # read the evidence live and decide again from it
    CHANGE = auto()  # the one write that changes the topology, together with the record


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a condition is True: its reason and message."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class EventSpec:
    """An event about Infrastructure, sent after the steps were performed."""

    reason: EventReason
    note: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows from the facts.

    `record` is what `status.topologyTransition` should be (None: leave it). `watch`: are the watches of an open request
    needed? `look_again` is in seconds, None when only a change matters. `note` is the message of Progressing,
    `upgrade_block` that of Upgradeable=False. `observed` is where the transition of another controller is: shown, and
    never written. `taken` are the checks that are accepted from now on, `ignored` says why other acceptances are not.
    `level` is False while this version cannot do its work on what it finds: the ClusterOperator does not claim its
    number then. `held` is what keeps a request besides its checks.
    """

    phase: Phase
    record: TopologyTransition | None = None
    steps: tuple[Step, ...] = ()
    watch: bool = False
    look_again: float | None = None
    definition: model.Definition | None = None
    results: tuple[CheckResult, ...] = ()
    note: str = ""
    disabled: Cause | None = None
    degraded: Cause | None = None
    upgrade_block: str | None = None
    happened: tuple[EventSpec, ...] = ()
    observed: TopologyTransition | None = None
    taken: tuple[Accepted, ...] = ()
    ignored: tuple[str, ...] = ()
    misconfigured: Cause | None = None
    level: bool = True
    held: str = ""

    @property
    def sentence(self) -> str:
        """What is happening and what is waited for: the message of Progressing, and of the record."""
        return self.note or str(self.phase)
