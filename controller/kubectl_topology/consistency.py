"""Does what a cluster says of itself fit together? Status, scheduler and nodes, compared.

The topologies in Infrastructure's status were written once, by an installer or by a transition; Scheduler can be edited
by anybody, and nodes come and go. What is not known (None) is never taken for agreement: the questions that it leaves
open are listed by name. Nor is every disagreement a fault: a cluster that is being converted has them, and a shape
without a name (three masters and one worker, as the released installer makes them) is none.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final, NotRequired, TypeAlias, TypedDict

from topology_api.vocabulary import EXTERNAL, Topology
from topology_controller import bindata

from . import answers

if TYPE_CHECKING:
    from topology_api import shape
    from topology_api.shape import Shape
    from topology_api.vocabulary import Phase
    from topology_controller.report import state

_SINGLE, _HA = Topology.SINGLE_REPLICA, Topology.HIGHLY_AVAILABLE
_ARBITER, _DUAL = Topology.HIGHLY_AVAILABLE_ARBITER, Topology.DUAL_REPLICA
_CONTROL_PLANES: Final = (*Topology, EXTERNAL)
_INFRASTRUCTURES: Final = (_SINGLE, _HA)
_NODES: Final[dict[str, tuple[int, int]]] = {
    _SINGLE: (1, 1), _DUAL: (2, 2), _ARBITER: (2, 5), _HA: (3, 5), EXTERNAL: (0, 0),
}  # fmt: skip
"""Fewest and most control-plane nodes of a topology; the installer takes an arbiter beside two or more, and never more
than five."""


PARTS: Final = ("status", "scheduler", "nodes")
"""What is compared: status of Infrastructure `cluster`, spec of Scheduler `cluster`, and nodes with what is theirs."""


class Question(StrEnum):
    """What is asked of a cluster; each answer is yes, no, or open."""

    KNOWN_CONTROL_PLANE = "KnownControlPlaneTopology"
    """Is controlPlaneTopology a value that OpenShift has?"""
    KNOWN_INFRASTRUCTURE = "KnownInfrastructureTopology"
    """Is infrastructureTopology a value that OpenShift has?"""
    CONTROL_PLANE_NODES = "ControlPlaneNodes"
    """Are there as many control-plane nodes as controlPlaneTopology says?"""
    ARBITER_NODES = "ArbiterNodes"
    """Is there an arbiter if controlPlaneTopology says so, and none otherwise?"""
    FENCING = "Fencing"
    """Are there fencing credentials if controlPlaneTopology says so, and none otherwise?"""
    INFRASTRUCTURE_NODES = "InfrastructureNodes"
    """Can as many nodes carry infrastructure workloads as infrastructureTopology says?"""
    WORKER_LABELS = "WorkerLabels"
    """Do control-plane nodes have the worker label if mastersSchedulable is true, and none otherwise?"""


NAMES: Final = {
    "control_plane": "controlPlaneTopology",
    "infrastructure": "infrastructureTopology",
    "masters_schedulable": "mastersSchedulable",
    "control_plane_nodes": "controlPlaneNodes",
    "control_plane_workers": "controlPlaneWorkers",
    "arbiter_nodes": "arbiterNodes",
    "dedicated_workers": "dedicatedWorkers",
    "fencing": "fencing",
}
"""How the answer names what the questions go by."""

Disagreement = TypedDict(  # noqa: UP013 - as a class, the key `found` would be a variable of that name
    "Disagreement",
    {
        "question": Annotated[str, Question],
        "between": list[Annotated[str, PARTS]],
        "found": str,
        "wanted": str,
        "meaning": str,
    },
)
"""What does not fit together: between which parts, and what that means."""


class OpenQuestion(TypedDict):
    """A question without an answer: fields of the vector that are not known, or are none that OpenShift has."""

    question: Annotated[str, Question]
    missing: list[Annotated[str, tuple(NAMES.values())]]


class Vector(TypedDict):
    """What the shape of a cluster is derived from; None is "not known". `fencing` always is: no Secret is read.

    Nodes by label: control-plane or master, those of them with worker too, arbiter, and those that are neither.
    """

    controlPlaneTopology: str | None
    infrastructureTopology: str | None
    mastersSchedulable: bool | None
    controlPlaneNodes: int | None
    controlPlaneWorkers: int | None
    arbiterNodes: int | None
    dedicatedWorkers: int | None
    fencing: bool | None


class Audit(answers.Answer):
    """`audit`: which kind of cluster this is, and what in it does not fit together.

    `shape` is None while what is known leaves several; those are `candidates`. `advisories` and `next` are there only
    on a hosted cluster: what was fixed when it was made and no longer fits, and what the management cluster can change.
    `optionalOperators` are there where OLM is, on a single node or after a change.
    The exit code is 3 with any of `disagreements` or RouterReplicasPinned; CannotTell: neither scheduler nor nodes
    could be read, exit code 1.
    """

    verdict: answers.Consistency
    phase: Annotated[str, Phase] | None
    shape: Annotated[str, Shape] | None
    candidates: list[Annotated[str, Shape]]
    vector: Vector
    disagreements: list[Disagreement]
    open: list[OpenQuestion]
    unread: list[answers.Unread]
    optionalOperators: NotRequired[list[answers.OptionalOperator]]  # noqa: N815 - as in JSON
    advisories: NotRequired[list[state.Advisory]]
    required: NotRequired[list[str]]
    next: NotRequired[list[answers.Expected]]


@dataclass(frozen=True, slots=True)
class _No:
    """It does not fit: what was found, what it would have to be, and the case of bindata/commands/audit.toml."""

    actual: str
    wanted: str
    case: str = "any"


Answer: TypeAlias = _No | tuple[str, ...]
"""No; or, where it is open, the values that are not known or that OpenShift does not have; empty: it fits."""


def compared(
    vector: shape.Vector, control_plane_workers: int | None = None
) -> tuple[list[Disagreement], list[OpenQuestion]]:
    """Hold status, scheduler and nodes against each other: every question that is answered by no, and those left open.

    `control_plane_workers`: how many control-plane nodes have the worker label. None is "not known".
    Raises BindataMissingError.
    """
    every: dict[Question, tuple[str, Answer]] = {
        Question.KNOWN_CONTROL_PLANE: ("status", _known("control_plane", vector.control_plane, _CONTROL_PLANES)),
        Question.KNOWN_INFRASTRUCTURE: ("status", _known("infrastructure", vector.infrastructure, _INFRASTRUCTURES)),
        Question.CONTROL_PLANE_NODES: ("status nodes", _control_plane_nodes(vector)),
        Question.ARBITER_NODES: ("status nodes", _belonging(vector, "arbiter_nodes", _ARBITER)),
        Question.FENCING: ("status nodes", _belonging(vector, "fencing", _DUAL)),
        Question.INFRASTRUCTURE_NODES: ("status scheduler nodes", _infrastructure_nodes(vector)),
        Question.WORKER_LABELS: ("scheduler nodes", _worker_labels(vector, control_plane_workers)),
    }
    disagreements, unanswered = list[Disagreement](), list[OpenQuestion]()
    for question, (between, answer) in every.items():
        if isinstance(answer, _No):
            disagreements.append({
                "question": question.value, "between": between.split(), "found": answer.actual,
                "wanted": answer.wanted, "meaning": _meanings()[question][answer.case],
            })  # fmt: skip
        elif answer:
            unanswered.append({"question": question.value, "missing": [NAMES[name] for name in answer]})
    return disagreements, unanswered


@functools.cache
def _meanings() -> dict[str, dict[str, str]]:
    return tomllib.loads((bindata.root() / "commands" / "audit.toml").read_text(encoding="utf-8"))


def _known(name: str, value: str | None, values: tuple[str, ...]) -> Answer:
    if value is None:
        return (name,)
    return () if value in values else _No(f"{NAMES[name]} {value or 'empty'}", " or ".join(values))


def _control_plane_nodes(vector: shape.Vector) -> Answer:
    # A value that OpenShift does not have says nothing of nodes.
    if missing := _missing(vector, "control_plane", "control_plane_nodes"):
        return missing[:1]
    least, most = _NODES[vector.control_plane or ""]
    count = vector.control_plane_nodes or 0
    if least <= count <= most:
        return ()
    beyond = "elsewhere" if vector.control_plane == EXTERNAL else "beyond-five" if most == 5 else "more"
    wanted = f"{_span(least, most)} for controlPlaneTopology {vector.control_plane}"
    return _No(_nodes(count, "control-plane node"), wanted, "fewer" if count < least else beyond)


def _belonging(vector: shape.Vector, name: str, owner: Topology) -> Answer:
    """Is there something of what only one topology has if it is that topology, and nothing of it in all others?"""
    if missing := _missing(vector, "control_plane", name):
        return missing[:1]
    value, owns = getattr(vector, name), vector.control_plane == owner
    if bool(value) is owns:
        return ()
    if name == "fencing":
        actual, wanted = (f"{amount} fencing credentials" for amount in (("no", "some") if owns else ("some", "no")))
    else:
        actual, wanted = _nodes(value, "arbiter node"), "1 or more" if owns else "0"
    return _No(actual, f"{wanted} for controlPlaneTopology {vector.control_plane}", "lacks" if owns else "left-over")


def _infrastructure_nodes(vector: shape.Vector) -> Answer:
    if unknown := _missing(vector, "infrastructure"):
        return unknown
    nodes = ("control_plane_nodes",) if vector.masters_schedulable is not False else ()
    missing = _missing(vector, "dedicated_workers", "masters_schedulable", *nodes)
    # On a single control-plane node, and on a hosted one, SingleReplica says nothing about how many workers there are.
    if vector.infrastructure == _SINGLE and (not missing or vector.control_plane is None):
        missing += _missing(vector, "control_plane")
    if missing:
        return missing
    workers, masters = vector.dedicated_workers or 0, vector.control_plane_nodes or 0
    capable = workers + (masters if vector.masters_schedulable else 0)
    spread = vector.control_plane in (_HA, _ARBITER, _DUAL)
    least, most = (2, None) if vector.infrastructure == _HA else (1, 1 if spread else None)
    if capable >= least and (most is None or capable <= most):
        return ()
    case = "more-correctable" if vector.control_plane == _HA else "more"
    case = "none" if capable == 0 else "fewer" if capable < least else case
    homes = _nodes(masters if vector.masters_schedulable else 0, "control-plane node")
    actual = (
        f"{_nodes(capable, 'node')} that can carry infrastructure: {_nodes(workers, 'dedicated worker')} and {homes} "
        f"(mastersSchedulable {str(vector.masters_schedulable).lower()})"
    )
    wanted = f"{_span(least, most)} for infrastructureTopology {vector.infrastructure}"
    if most is not None:
        wanted += f" beside controlPlaneTopology {vector.control_plane}"
    return _No(actual, wanted, case)


def _worker_labels(vector: shape.Vector, labelled: int | None) -> Answer:
    nodes = ("control_plane_nodes",) if vector.masters_schedulable is not False else ()
    missing = _missing(vector, "masters_schedulable", *nodes)
    if labelled is None or missing:
        return (*missing, "control_plane_workers") if labelled is None else missing
    wanted = (vector.control_plane_nodes or 0) if vector.masters_schedulable else 0
    if labelled == wanted:
        return ()
    actual = f"{_nodes(labelled, 'control-plane node')} with the worker label"
    fits = f"{wanted} while mastersSchedulable is {str(vector.masters_schedulable).lower()}"
    return _No(actual, fits, "fewer" if labelled < wanted else "more")


def _missing(vector: shape.Vector, *names: str) -> tuple[str, ...]:
    """Which of these values are not known, or are none that OpenShift has."""
    values = {"control_plane": _CONTROL_PLANES, "infrastructure": _INFRASTRUCTURES}
    given = {name: getattr(vector, name) for name in names}
    return tuple(name for name, value in given.items() if value is None or value not in values.get(name, (value,)))


def _nodes(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _span(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} or more"
    return str(least) if least == most else f"{least} to {most}"
