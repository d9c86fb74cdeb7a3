"""The values that labels can have: closed sets, because each value is a series and somebody pays for it.

What a cluster, a server or a user can make up (a request that the API does not know, an HTTP status of a proxy, the
name of a node) never becomes a value. Where such a thing has to be counted it counts as OTHER. `None` in place of a set
means a value that is fixed for the life of the process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from topology_api.vocabulary import EXTERNAL, Topology

if TYPE_CHECKING:
    from collections.abc import Container

OTHER: Final = "other"
CONTROLLER: Final = "topology"
"""The one controller and its one queue."""

TOPOLOGIES: Final = frozenset(topology.value for topology in Topology)
CONTROL_PLANES: Final = TOPOLOGIES | {EXTERNAL}
INFRASTRUCTURES: Final = frozenset({Topology.SINGLE_REPLICA.value, Topology.HIGHLY_AVAILABLE.value})
PAIRS: Final = frozenset(f"{one}/{other}" for one in TOPOLOGIES for other in INFRASTRUCTURES)
"""Topology of the control plane and of infrastructure, as `TopologyPair` is written."""


def told(value: str | None, known: Container[str]) -> str:
    """The value if it is one of the known, empty when there is none, else OTHER."""
    if not value:
        return ""
    return value if value in known else OTHER
