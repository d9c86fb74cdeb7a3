"""A line of the graph of transitions, for whatever draws it: Graphviz, Mermaid or `svg`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from topology_api.types import TopologyPair


@dataclass(frozen=True, slots=True)
class Edge:
    """One line of the graph. `verdict` is empty for what does not start here; `notes` are lines below its name.

    `details` says of each blocker what is wanted and what was found, where that fits.
    """

    source: TopologyPair
    target: TopologyPair
    name: str
    verdict: str = ""
    notes: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
