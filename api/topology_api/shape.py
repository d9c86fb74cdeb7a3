"""The shape of a cluster: which of the six kinds of cluster that people speak of is this?

`controlPlaneTopology` alone cannot tell them apart: three control-plane nodes are called compact, standby or HA by what
else there is. So a `Vector` goes in: the two topologies of Infrastructure's status, whether Scheduler lets masters
carry workloads, how many nodes there are of each role, and whether there are fencing credentials. Each shape says
which vectors it is made of (`_HOLDS`); no other vector gets its name, so a cluster on its way from one shape to
another, or one that is never installed on purpose, is `unclassified`, never a guess.

Not everything is always known: while nothing is wanted the operator reads no nodes, and it never reads Secrets. What
is not known is None and rules nothing out. Then the shape is the only one that is left, `unclassified` when none is
left, and not known (None) when several are. SingleReplica, DualReplica and HighlyAvailableArbiter have one shape each,
so there the two topologies are enough for a name; for HighlyAvailable they are not.

Source of the rules: what the installer writes and lets pass, and what the six are made of, as their users listed them
(enhancement "mutable topology"). Five control-plane nodes are as good as three here. Read by the operator for
`topology_info`, and by tools that take stock of many clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from .vocabulary import Topology

if TYPE_CHECKING:
    from collections.abc import Callable


class Shape(StrEnum):
    """What kind of cluster it is."""

    SINGLE_NODE = "single-node"
    """One node is the control plane; any number of workers."""
    COMPACT = "compact"
    """Three to five control-plane nodes, which carry workloads too."""
    STANDBY = "standby"
    """Three to five control-plane nodes that carry no workloads, and no worker yet: it waits for them."""
    HA = "HA"
    """Three to five control-plane nodes that carry no workloads, and two workers or more."""
    TNA = "TNA"
    """Two nodes with an arbiter."""
    TNF = "TNF"
    """Two nodes with fencing."""
    UNCLASSIFIED = "unclassified"
    """None of them."""


@dataclass(frozen=True, slots=True)
class Vector:
    """What a shape is recognised by; None is "not known".

    `control_plane`, `infrastructure`: status.controlPlaneTopology and status.infrastructureTopology of Infrastructure.
    `masters_schedulable`: spec.mastersSchedulable of Scheduler. Nodes by role, each counted once: control plane,
    arbiter, and dedicated workers, which are neither. `fencing`: are there Secrets fencing-credentials-*?
    """

    control_plane: str | None = None
    infrastructure: str | None = None
    masters_schedulable: bool | None = None
    control_plane_nodes: int | None = None
    arbiter_nodes: int | None = None
    dedicated_workers: int | None = None
    fencing: bool | None = None


def classify(vector: Vector) -> Shape | None:
    """The shape that fits, UNCLASSIFIED when none does, None when what is known leaves several."""
    left = candidates(vector)
    if not left:
        return Shape.UNCLASSIFIED
    return left[0] if len(left) == 1 else None


def candidates(vector: Vector) -> tuple[Shape, ...]:
    """Every shape that what is known does not rule out."""
    return tuple(shape for shape, holds in _HOLDS.items() if holds(vector))


def _is(value: str | int | None, *wanted: str | int) -> bool:
    """Can it be one of these? What is not known can."""
    return value is None or value in wanted


def _at_least(value: int | None, least: int) -> bool:
    return value is None or value >= least


def _single_node(vector: Vector) -> bool:
    # With workers from the first day the installer makes infrastructure HighlyAvailable (from two on), and takes
    # workloads off the one master; without any, the master has to carry them.
    homes = _at_least(vector.dedicated_workers, 1)
    return (
        _is(vector.control_plane, Topology.SINGLE_REPLICA)
        and (
            _is(vector.infrastructure, Topology.SINGLE_REPLICA)
            or (_is(vector.infrastructure, Topology.HIGHLY_AVAILABLE) and homes)
        )
        and (vector.masters_schedulable is not False or homes)
        and _is(vector.control_plane_nodes, 1)
        and _is(vector.arbiter_nodes, 0)
        and vector.fencing is not True
    )


def _three(vector: Vector, *, masters: bool) -> bool:
    """What compact, standby and HA have in common. `masters`: do control-plane nodes carry workloads?"""
    return (
        _is(vector.control_plane, Topology.HIGHLY_AVAILABLE)
        and _is(vector.infrastructure, Topology.HIGHLY_AVAILABLE)
        and _is(vector.masters_schedulable, masters)
        and _is(vector.control_plane_nodes, 3, 4, 5)
        and _is(vector.arbiter_nodes, 0)
        and vector.fencing is not True
    )


def _arbiter(vector: Vector) -> bool:
    # Without enough workers the two nodes have to carry what infrastructure runs.
    return (
        _is(vector.control_plane, Topology.HIGHLY_AVAILABLE_ARBITER)
        and _is(vector.infrastructure, Topology.HIGHLY_AVAILABLE)
        and (vector.masters_schedulable is not False or _at_least(vector.dedicated_workers, 2))
        and _is(vector.control_plane_nodes, 2)
        and _at_least(vector.arbiter_nodes, 1)
        and vector.fencing is not True
    )


def _fencing(vector: Vector) -> bool:
    return (
        _is(vector.control_plane, Topology.DUAL_REPLICA)
        and _is(vector.infrastructure, Topology.HIGHLY_AVAILABLE)
        and vector.masters_schedulable is not False
        and _is(vector.control_plane_nodes, 2)
        and _is(vector.arbiter_nodes, 0)
        and _is(vector.dedicated_workers, 0)
        and vector.fencing is not False
    )


_HOLDS: dict[Shape, Callable[[Vector], bool]] = {
    Shape.SINGLE_NODE: _single_node,
    Shape.COMPACT: lambda vector: _three(vector, masters=True),
    Shape.STANDBY: lambda vector: _three(vector, masters=False) and _is(vector.dedicated_workers, 0),
    Shape.HA: lambda vector: _three(vector, masters=False) and _at_least(vector.dedicated_workers, 2),
    Shape.TNA: _arbiter,
    Shape.TNF: _fencing,
}
