"""For operators that react to a topology: what Infrastructure `cluster` says, and what follows for replicas.

`parse` makes a small frozen `View` of the object as the API server sends it (a GET, an item of a list, the object of a
watch event). Nothing here talks to a server, and nothing but the vocabulary is imported, so that an operator may use it
whatever its client is. docs/development/for-operator-authors.md says how; docs/examples/react_to_topology.py does it.

Two things are easy to get wrong, so they stand here once. `status` is the target, not an observation: it says what an
operator has to aim at, from the moment at which it changes. And a value that an operator does not know, or that is not
there yet, is no reason to do anything: `several` answers None then, never False.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from .vocabulary import RECORD, Phase, Topology

_SEVERAL: Final = frozenset({Topology.HIGHLY_AVAILABLE, Topology.HIGHLY_AVAILABLE_ARBITER, Topology.DUAL_REPLICA})


class NotInfrastructureError(ValueError):
    """The object is not Infrastructure `cluster`. `kind` and `name` are what it has instead, as they were found."""

    def __init__(self, kind: object, name: object) -> None:
        super().__init__(f"wanted Infrastructure cluster, found {kind or 'no kind'} {name or 'without a name'}")
        self.kind = kind
        self.name = name


@dataclass(frozen=True, slots=True)
class View:
    """What matters to an operator that reacts. Two views are equal when there is no reason to act again."""

    control_plane: str | None
    """`status.controlPlaneTopology`; None while it is not set. It may be a value that is not known here."""
    infrastructure: str | None
    """`status.infrastructureTopology`, likewise."""
    phase: Phase | None = None
    """Where the transition is; None without a record, or with a phase that this version does not know.

    For telling people only: what to aim at is in the two topologies, whatever the phase is.
    """

    @property
    def control_plane_several(self) -> bool | None:
        """Does the control plane have several nodes? For operands that run on it. None: keep what you have."""
        return several(self.control_plane)

    @property
    def infrastructure_several(self) -> bool | None:
        """Do infrastructure workloads have several nodes? For operands on workers. None: keep what you have."""
        return several(self.infrastructure)

    @property
    def converging(self) -> bool:
        """Has the topology changed, and does the cluster still follow?"""
        return self.phase is Phase.CONVERGING


def several(topology: str | None) -> bool | None:
    """Does a topology imply more than one replica of what is to survive the loss of a node?

    None for a value that is missing, `External` (only the cluster that hosts the control plane knows) or unknown: no
    reason to act.
    """
    if topology == Topology.SINGLE_REPLICA:
        return False
    return True if topology in _SEVERAL else None


def parse(obj: object) -> View:
    """Read Infrastructure `cluster` as it is now. Fields that are no strings count as missing.

    Items of a list carry no kind; an object without one is taken by its name.

    Raises NotInfrastructureError for any other object, such as the Status of a watch that has expired.
    """
    content = _mapping(obj)
    name = _mapping(content.get("metadata")).get("name")
    if content.get("kind", "Infrastructure") != "Infrastructure" or name != "cluster":
        raise NotInfrastructureError(content.get("kind"), name)
    status = _mapping(content.get("status"))
    phase = _mapping(status.get(RECORD)).get("phase")
    return View(
        _text(status.get("controlPlaneTopology")),
        _text(status.get("infrastructureTopology")),
        Phase(phase) if isinstance(phase, str) and phase in set(Phase) else None,
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
