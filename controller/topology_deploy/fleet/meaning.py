"""What Infrastructure `cluster` means to a roll-out: the one place that says when a cluster is done.

An engine sees one object and knows nothing of topologies. `rules` is a list of tests over that object, the first of
which that holds decides. `languages` prints the list for each engine, and all of them are held to one table of recorded
objects. Two things an engine gets wrong by itself are settled here: a cluster without a record is neither done nor
failed, and a record that answers an older request says nothing about the newest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from topology_api import vocabulary
from topology_api.vocabulary import EXTERNAL, Phase, ProblemReason

if TYPE_CHECKING:
    from topology_api.types import TopologyPair


class State(StrEnum):
    """Where a cluster is in a roll-out."""

    NOT_FOR_US = "NotForUs"
    """The topology of this cluster is decided elsewhere: a hosted control plane, or an image-based install."""
    SILENT = "Silent"
    """No request and no record: the operator or its fields are not installed, or it does not act on this cluster."""
    NOT_READY = "NotReady"
    """No request, and preflight checks are not met."""
    READY = "Ready"
    """No request, and all preflight checks are met: it can be asked."""
    UNDER_WAY = "UnderWay"
    """Requested, and not done yet; also when no operator has answered so far."""
    NEEDS_A_PERSON = "NeedsAPerson"
    """The operator reports a problem, or cannot fulfil the request. Nothing was rolled back."""
    DONE = "Done"
    """The cluster has the topology, and all of it has followed."""


@dataclass(frozen=True, slots=True)
class Field:
    """A value of the object. What is not there is the empty text, or 0 where numbers are compared."""

    path: tuple[str, ...]

    @property
    def name(self) -> str:
        """A name for a variable that holds it."""
        last = self.path[-1].rpartition("/")[2]
        return last if last.isidentifier() else last.replace("-", "_")


@dataclass(frozen=True, slots=True)
class Is:
    """Does a field hold this text, or the same as another field?"""

    field: Field
    value: str | Field


@dataclass(frozen=True, slots=True)
class Has:
    """Is there an object or a text at this path?"""

    field: Field


@dataclass(frozen=True, slots=True)
class Reaches:
    """Is a whole number at least another one?"""

    field: Field
    other: Field


@dataclass(frozen=True, slots=True)
class Listed:
    """Has a list an entry in which each of these paths holds this value?"""

    field: Field
    entry: tuple[tuple[tuple[str, ...], str | bool], ...]


@dataclass(frozen=True, slots=True)
class All:
    """Do all hold?"""

    terms: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """Does one of them hold?"""

    terms: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class No:
    """Does it not hold?"""

    term: Test


Test: TypeAlias = Is | Has | Reaches | Listed | All | Some | No


def every(*terms: Test) -> All:
    """All of these."""
    return All(tuple(inner for term in terms for inner in (term.terms if isinstance(term, All) else (term,))))


def either(*terms: Test) -> Some:
    """One of these."""
    return Some(tuple(inner for term in terms for inner in (term.terms if isinstance(term, Some) else (term,))))


def fields(test: Test | None) -> tuple[Field, ...]:
    """All fields that a test reads, each once."""
    match test:
        case All(terms) | Some(terms):
            read = [field for term in terms for field in fields(term)]
        case No(term):
            read = list(fields(term))
        case Is(field, Field() as other) | Reaches(field, other):
            read = [field, other]
        case Is(field) | Has(field) | Listed(field):
            read = [field]
        case _:
            read = []
    return tuple(dict.fromkeys(read))


@dataclass(frozen=True, slots=True)
class Rule:
    """The state of an object for which this is the first test that holds; the last rule has none."""

    state: State
    test: Test | None = None


def _record(*path: str) -> Field:
    return Field(("status", vocabulary.RECORD, *path))


DESIRED = Field(("spec", vocabulary.DESIRED))
CONTROL_PLANE = Field(("status", "controlPlaneTopology"))
INFRASTRUCTURE = Field(("status", "infrastructureTopology"))
RECORD, PHASE, PROBLEM, REASON = _record(), _record("phase"), _record("problem"), _record("problem", "reason")
AVAILABLE, CHECKS = _record("available"), _record("checks")
_LABEL = Field(("metadata", "labels", vocabulary.IMAGE_BASED_INSTALL_LABEL))
REQUESTED = Has(DESIRED)
PAUSED = Is(REASON, ProblemReason.PAUSED.value)
_ELSEWHERE = either(Is(CONTROL_PLANE, EXTERNAL), every(Has(_LABEL), No(Is(_LABEL, "false"))))
_ANSWERED = Reaches(_record("observedGeneration"), Field(("metadata", "generation")))
_AT_REST = every(either(Is(PHASE, Phase.IDLE.value), Is(PHASE, Phase.COMPLETED.value)), No(Has(PROBLEM)))
# Idle beside a request that it has seen: the operator does not act on this cluster, and says why.
_REFUSED = either(Has(PROBLEM), Is(PHASE, Phase.UNSUPPORTED.value), Is(PHASE, Phase.IDLE.value))


def rules(target: TopologyPair, transition: str | None = None) -> tuple[Rule, ...]:
    """What an object means to a roll-out of `target`; the first rule whose test holds decides.

    `transition` is the name of a definition; without it a cluster is ready for the roll-out when it is ready for any
    that leads to the target. A request that equals the topology of the control plane, and is not the target, wants
    nothing: the API knows no other way to cancel a request by writing it.
    """
    has_it = every(Is(CONTROL_PLANE, target.control_plane), Is(INFRASTRUCTURE, target.infrastructure))
    asked = Is(DESIRED, target.control_plane)
    quiet = every(either(No(REQUESTED), every(No(asked), Is(DESIRED, CONTROL_PLANE))), _AT_REST)
    if transition is None:
        leads_there: tuple[tuple[tuple[str, ...], str | bool], ...] = (
            (("target", "controlPlane"), target.control_plane),
            (("target", "infrastructure"), target.infrastructure),
        )
    else:
        leads_there = ((("name",), transition),)
    ready = Listed(AVAILABLE, (*leads_there, (("available",), True)))
    return (
        Rule(State.NOT_FOR_US, _ELSEWHERE),
        Rule(State.UNDER_WAY, every(No(Has(RECORD)), asked)),
        Rule(State.SILENT, No(Has(RECORD))),
        Rule(State.DONE, every(quiet, has_it)),
        Rule(State.READY, every(quiet, ready)),
        Rule(State.NOT_READY, quiet),
        Rule(State.UNDER_WAY, No(_ANSWERED)),
        Rule(State.DONE, every(_AT_REST, asked, has_it)),
        Rule(State.NEEDS_A_PERSON, _REFUSED),
        Rule(State.UNDER_WAY),
    )


def of_any_request() -> tuple[Rule, ...]:
    """The same for an engine that applies what stands in Git: the target is whatever the object requests."""
    return (
        Rule(State.NOT_FOR_US, _ELSEWHERE),
        Rule(State.UNDER_WAY, every(No(Has(RECORD)), REQUESTED)),
        Rule(State.SILENT, No(Has(RECORD))),
        Rule(State.READY, every(No(REQUESTED), _AT_REST)),
        Rule(State.UNDER_WAY, No(_ANSWERED)),
        Rule(State.DONE, every(_AT_REST, REQUESTED, Is(DESIRED, CONTROL_PLANE))),
        Rule(State.NEEDS_A_PERSON, _REFUSED),
        Rule(State.UNDER_WAY),
    )
