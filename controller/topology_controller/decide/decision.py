"""What a decision is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from topology_api.types import Accepted, TopologyTransition
from topology_api.vocabulary import EventReason, Phase, Reason

from ..checks.result import CheckResult
from ..definitions import model

EVIDENCE_SECONDS = 2.0
"""Evidence older than this voids the attempt."""
EXECUTED_SECONDS = 3.5
"""How old it may become until the API server has executed the change: half a second less than what is promised, since
the server counts from when the request arrives."""
READING = "Reading what the checks ask about"
"""What Progressing says until all that is watched has been read once."""


class Step(Enum):
    """The writes of a decision, performed in the order in which they stand."""

    SAVE = auto()
    """Write the record to Infrastructure status; topology stays."""
    REPORT = auto()
    """Write ClusterOperator `topology`, if it would differ."""
    GATHER = auto()
    """Read the evidence live and decide again from it."""
    CHANGE = auto()
    """The one write that changes the topology, together with the record."""


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

    `record` is what `status.topologyTransition` should be (None: leave it). `watch` says whether the watches of an
    open request are needed. `look_again` is in seconds, None when only a change matters. `disabled`, `degraded` and
    `misconfigured` carry what makes their conditions True; the last changes nothing else. `note` is the message of
    Progressing, `upgrade_block` that of Upgradeable=False, None when upgrades are not blocked. `observed` is, while
    another controller changes the topology, where its transition is: shown, and never written. `taken` are the checks
    that are accepted from now on, `ignored` says why other acceptances are not. `level` is False while this version
    cannot do its work on what it finds: the ClusterOperator does not claim its number then. `held` is what keeps a
    request besides its checks.
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
