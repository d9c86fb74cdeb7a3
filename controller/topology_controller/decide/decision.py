"""What a decision is, and what a leader remembers between two decisions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import Accepted, Advisory, AvailableTransition, TopologyTransition
    from topology_api.vocabulary import EventReason, Phase, Reason

    from ..checks.result import CheckResult
    from ..transitions import model


EVIDENCE_SECONDS = 2.0
"""Evidence older than this voids the attempt (DESIGN section 4)."""


class Step(Enum):
    """The writes of a decision, performed in the order in which they stand."""

    SAVE = auto()
    """Write the record to Infrastructure status; topology stays."""
    REPORT = auto()
    """Write ClusterOperator `topology`, if it would differ."""
    GATHER = auto()
    """Read the evidence live and decide again from it."""
    FLIP = auto()
    """The one write that moves topology, together with the record."""


@dataclass(frozen=True, slots=True)
class Said:
    """A reason and a message of a condition."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Happening:
    """Something worth an event about Infrastructure, told after the steps were performed."""

    reason: EventReason
    note: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Misconfigured:
    """The configuration file is bad; `message` says how. `holds`: what is in force may be less than was asked for."""

    message: str
    holds: bool = False


@dataclass(frozen=True, slots=True)
class Writes:
    """When this leader last wrote the record, and how many writes in a row were for nothing but newer answers."""

    at: datetime | None = None
    in_a_row: int = 0


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
class Term:
    """What this leader knows that stands in no object.

    `since` is when it began to lead. `attempt` is the admission that this leader has recorded itself, None when it
    has none; `next_attempt` is the value that a new admission would get. `available` and `advisories` are what the last
    discovery found, None before the first. `hold_until` keeps from admitting again at once after live evidence
    disagreed with the watches. `settle_seconds` overrides the definitions. `gate_since` is when the gate of the native
    controller was first seen on, `steady_since` when the wall clock was last moved or something that matters could last
    not be watched (None: never); all times go by the wall clock and are moved along with it (`clock`).
    `latest` is the record as it was last decided: it may be newer than what was written (`cadence`). `writes`,
    `progress` and `voids` are what `cadence`, `convergence` and `admission` count. `fell_back` is when an admission of
    this leader last went back to Pending. `refused` is what the API server says where it refuses what this leader
    writes to Infrastructure, empty once a write went through.
    """

    since: datetime
    next_attempt: str
    attempt: str | None = None
    available: tuple[AvailableTransition, ...] | None = None
    hold_until: datetime | None = None
    settle_seconds: int | None = None
    advisories: tuple[Advisory, ...] | None = None
    gate_since: datetime | None = None
    steady_since: datetime | None = None
    misconfigured: Misconfigured | None = None
    latest: TopologyTransition | None = None
    writes: Writes = Writes()
    progress: Progress = Progress()
    voids: Voids = Voids()
    fell_back: datetime | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows from the facts.

    `record` is what `status.topologyTransition` should be (None: leave it). `watch` says whether the watches of an
    open wish are needed. `look_again` is in seconds, None when only a change matters. `disabled` and `degraded` carry
    what their conditions say when they are True. `note` is said in Progressing. `upgrade_block` is the message of
    Upgradeable=False, None when upgrades are not held back. `observed` is, while another controller moves the topology,
    where its transition is: shown, and never written. `taken` are the checks that are
    accepted from now on, `ignored` says why others that somebody wants to accept are not.
    `misconfigured` is said besides everything else, and changes nothing of it. `level` is False while this version
    cannot do its work on what it finds: the ClusterOperator does not claim its number then.
    """

    phase: Phase
    record: TopologyTransition | None = None
    steps: tuple[Step, ...] = ()
    watch: bool = False
    look_again: float | None = None
    definition: model.Definition | None = None
    results: tuple[CheckResult, ...] = ()
    note: str = ""
    disabled: Said | None = None
    degraded: Said | None = None
    upgrade_block: str | None = None
    happened: tuple[Happening, ...] = ()
    observed: TopologyTransition | None = None
    taken: tuple[Accepted, ...] = ()
    ignored: tuple[str, ...] = ()
    misconfigured: Said | None = None
    level: bool = True
