"""Does what a cluster says of itself fit together? Status, scheduler and nodes, compared.

The topologies in Infrastructure's status were written once, by an installer or by a transition; Scheduler can be edited
by anybody, and nodes come and go. Nothing keeps the three together. `compared` has every disagreement: what was found,
what it would have to be, and what it means as long as it is not. What is not known (None) is never taken for agreement:
the questions that it leaves open are listed by name.

A shape without a name is not a disagreement by itself: three masters and one worker, as the released installer makes
them, fit together and are unclassified. Nor is every disagreement a fault: a cluster that is being converted has them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, NotRequired, TypeAlias, TypedDict

from topology_api.vocabulary import EXTERNAL, Topology

from . import answers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from topology_api import shape
    from topology_api.shape import Shape
    from topology_api.vocabulary import Phase
    from topology_controller.report import state

_SINGLE, _HA = Topology.SINGLE_REPLICA, Topology.HIGHLY_AVAILABLE
_ARBITER, _DUAL = Topology.HIGHLY_AVAILABLE_ARBITER, Topology.DUAL_REPLICA
_CONTROL_PLANES: Final = (*Topology, EXTERNAL)
_INFRASTRUCTURES: Final = (_SINGLE, _HA)
_NODES: Final = {_SINGLE: (1, 1), _DUAL: (2, 2), _ARBITER: (2, 5), _HA: (3, 5)}
"""Fewest and most control-plane nodes of a topology; the installer takes an arbiter beside two or more, and never more
than five."""


class Part(StrEnum):
    """What is compared."""

    STATUS = "status"
    """Infrastructure `cluster`: controlPlaneTopology and infrastructureTopology."""
    SCHEDULER = "scheduler"
    """Scheduler `cluster`: mastersSchedulable."""
    NODES = "nodes"
    """The nodes, and what belongs to them."""


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
        "between": list[Annotated[str, Part]],
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
    next: NotRequired[list[answers.Expected]]


def compared(
    vector: shape.Vector, control_plane_workers: int | None = None
) -> tuple[list[Disagreement], list[OpenQuestion]]:
    """Hold status, scheduler and nodes against each other: every question that is answered by no, and those left open.

    `control_plane_workers`: how many of the control-plane nodes have the label node-role.kubernetes.io/worker. None,
    here and in the vector, is "not known". Counts are 0 or more. Has an answer for every vector, and never raises.
    """
    every: list[Any] = [
        _known(
            Question.KNOWN_CONTROL_PLANE, "control_plane", vector.control_plane, _CONTROL_PLANES,
            "Operators treat a control plane that they do not know each in their own way, and no transition starts "
            "there.",
        ),
        _known(
            Question.KNOWN_INFRASTRUCTURE, "infrastructure", vector.infrastructure, _INFRASTRUCTURES,
            "The API has two values for it; whatever else stands there was written past it, and operators guess.",
        ),
        _control_plane_nodes(vector),
        _arbiter_nodes(vector),
        _fencing(vector),
        _infrastructure_nodes(vector),
        _worker_labels(vector, control_plane_workers),
    ]  # fmt: skip
    return [item for item in every if item and "found" in item], [item for item in every if item and "missing" in item]


def _disagreement(
    question: Question, between: tuple[Part, ...], actual: str, wanted: str, meaning: str
) -> Disagreement:
    """No: between which parts, what was found, what it would have to be, and what that means."""
    parts = [part.value for part in between]
    return {"question": question.value, "between": parts, "found": actual, "wanted": wanted, "meaning": meaning}


def _open(question: Question, *missing: str) -> OpenQuestion:
    """No answer: these values are not known, or are none that OpenShift has."""
    return {"question": question.value, "missing": [NAMES[name] for name in missing]}


Answer: TypeAlias = Disagreement | OpenQuestion | None
"""None: it fits."""


def _known(question: Question, name: str, value: str | None, values: tuple[str, ...], meaning: str) -> Answer:
    if value is None:
        return _open(question, name)
    if value in values:
        return None
    return _disagreement(question, (Part.STATUS,), f"{NAMES[name]} {value or 'empty'}", " or ".join(values), meaning)


def _control_plane_nodes(vector: shape.Vector) -> Answer:
    question = Question.CONTROL_PLANE_NODES
    if vector.control_plane == EXTERNAL:
        least, most = 0, 0
    elif vector.control_plane is None or vector.control_plane not in _NODES:
        # A value that OpenShift does not have says nothing of nodes.
        return _open(question, "control_plane")
    else:
        least, most = _NODES[Topology(vector.control_plane)]
    count = vector.control_plane_nodes
    if count is None:
        return _open(question, "control_plane_nodes")
    if least <= count <= most:
        return None
    if count < least:
        meaning = (
            "The status promises more than there is: operators wait for replicas and voters that have no node, or "
            "nodes were lost."
        )
    elif vector.control_plane == EXTERNAL:
        meaning = "The status says that the control plane runs elsewhere, so no operator manages the one that is here."
    elif most == 5:
        meaning = "More than five is not supported: each voter of etcd beyond makes every write slower."
    else:
        meaning = (
            "The status has not followed the nodes: operators run as for fewer of them, and the loss of one node may "
            "still be the loss of the cluster. If it is meant to stay so, request a topology; see oc topology plan."
        )
    wanted = f"{_span(least, most)} for controlPlaneTopology {vector.control_plane}"
    return _disagreement(question, (Part.STATUS, Part.NODES), _nodes(count, "control-plane node"), wanted, meaning)


def _arbiter_nodes(vector: shape.Vector) -> Answer:
    question, count = Question.ARBITER_NODES, vector.arbiter_nodes
    if vector.control_plane not in _CONTROL_PLANES:
        return _open(question, "control_plane")
    if count is None:
        return _open(question, "arbiter_nodes")
    arbiter = vector.control_plane == _ARBITER
    if (count > 0) is arbiter:
        return None
    if arbiter:
        meaning = "Two voters are left in etcd without the arbiter: the loss of either node stops the cluster."
    else:
        meaning = (
            "Operators do not expect an arbiter: it votes in etcd, and nothing else is arranged for it. It was left "
            "over, or the installer overlooked it (the released rule does, with three control-plane nodes or more)."
        )
    wanted = f"{'1 or more' if arbiter else 0} for controlPlaneTopology {vector.control_plane}"
    return _disagreement(question, (Part.STATUS, Part.NODES), _nodes(count, "arbiter node"), wanted, meaning)


def _fencing(vector: shape.Vector) -> Answer:
    question = Question.FENCING
    if vector.control_plane not in _CONTROL_PLANES:
        return _open(question, "control_plane")
    if vector.fencing is None:
        return _open(question, "fencing")
    dual = vector.control_plane == _DUAL
    if vector.fencing is dual:
        return None
    if dual:
        meaning = "Without them neither node can stop the other one, so a lost connection stops both."
    else:
        meaning = "Fencing belongs to two nodes under pacemaker; the credentials are left over, or the status is wrong."
    actual, wanted = ("no", "some") if dual else ("some", "no")
    wanted = f"{wanted} fencing credentials for controlPlaneTopology {vector.control_plane}"
    return _disagreement(question, (Part.STATUS, Part.NODES), f"{actual} fencing credentials", wanted, meaning)


def _infrastructure_nodes(vector: shape.Vector) -> Answer:
    question = Question.INFRASTRUCTURE_NODES
    if vector.infrastructure not in _INFRASTRUCTURES:
        return _open(question, "infrastructure")
    needed = ["dedicated_workers", "masters_schedulable"]
    if vector.masters_schedulable is not False:
        needed.append("control_plane_nodes")
    # On a single control-plane node, and on a hosted one, SingleReplica says nothing about how many workers there are.
    if vector.infrastructure == _SINGLE:
        needed.append("control_plane")
    missing = _missing(vector, needed)
    if not missing and "control_plane" in needed and vector.control_plane not in _CONTROL_PLANES:
        missing = ("control_plane",)
    if missing:
        return _open(question, *missing)
    workers, masters = vector.dedicated_workers or 0, vector.control_plane_nodes or 0
    capable = workers + (masters if vector.masters_schedulable else 0)
    spread = vector.control_plane in (_HA, _ARBITER, _DUAL)
    least, most = (2, None) if vector.infrastructure == _HA else (1, 1 if spread else None)
    if capable >= least and (most is None or capable <= most):
        return None
    if capable == 0:
        meaning = (
            "No node carries workloads: the cluster waits for workers, and its routers, monitoring and registry wait "
            "with it. With mastersSchedulable true the control plane would carry them."
        )
    elif capable < least:
        meaning = (
            "Two of each of routers, monitoring and registry are wanted, and one node cannot carry both: the second "
            "stays Pending, and the loss of that node is the loss of all."
        )
    else:
        meaning = (
            "Routers, monitoring and registry run once although there are nodes for two: the loss of one node takes "
            "them away. The installer writes this where there is one worker, and nothing corrects it by itself"
        )
        meaning += "; the transition infra-to-ha does." if vector.control_plane == _HA else "."
    homes = _nodes(masters if vector.masters_schedulable else 0, "control-plane node")
    actual = (
        f"{_nodes(capable, 'node')} that can carry infrastructure: {_nodes(workers, 'dedicated worker')} and {homes} "
        f"(mastersSchedulable {str(vector.masters_schedulable).lower()})"
    )
    wanted = f"{_span(least, most)} for infrastructureTopology {vector.infrastructure}"
    if most is not None:
        wanted += f" beside controlPlaneTopology {vector.control_plane}"
    return _disagreement(question, (Part.STATUS, Part.SCHEDULER, Part.NODES), actual, wanted, meaning)


def _worker_labels(vector: shape.Vector, labelled: int | None) -> Answer:
    question = Question.WORKER_LABELS
    needed = ["masters_schedulable"]
    if vector.masters_schedulable is not False:
        needed.append("control_plane_nodes")
    missing = _missing(vector, needed) + (("control_plane_workers",) if labelled is None else ())
    if labelled is None or missing:
        return _open(question, *missing)
    wanted = (vector.control_plane_nodes or 0) if vector.masters_schedulable else 0
    if labelled == wanted:
        return None
    if labelled < wanted:
        meaning = (
            "Pods that ask for a worker are not scheduled to the nodes without that label. The machine config operator "
            "sets it; until it has, the change of mastersSchedulable is not complete."
        )
    else:
        meaning = (
            "These nodes look like workers although the scheduler is to keep workloads off them. The machine config "
            "operator takes the label away when mastersSchedulable becomes false, so it was set by hand, or the change "
            "is not complete."
        )
    return _disagreement(
        question, (Part.SCHEDULER, Part.NODES), f"{_nodes(labelled, 'control-plane node')} with the worker label",
        f"{wanted} while mastersSchedulable is {str(vector.masters_schedulable).lower()}", meaning,
    )  # fmt: skip


def _missing(vector: shape.Vector, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if getattr(vector, name) is None)


def _nodes(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _span(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} or more"
    return str(least) if least == most else f"{least} to {most}"
