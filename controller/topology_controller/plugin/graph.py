"""The verb `graph`: the transitions that exist, where this cluster is, and what blocks the way on.

For Graphviz (`dot`) or Mermaid, both plain text; `svg` makes a picture of the same edges. A node is a pair of
topologies; an edge is a definition, and starts once for each infrastructure topology that it can start from. What leads
away from here carries its verdict. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from topology_api.types import TopologyPair

from . import document

if TYPE_CHECKING:
    from ..observe import facts
    from ..transitions import load
    from . import judging

_COLOURS = {"Possible": "#1b7f3b", "Blocked": "#b3261e", "Unsupported": "#8a8a8a", "": "#8a8a8a"}


@dataclass(frozen=True, slots=True)
class Edge:
    """One line of the graph. `verdict` is empty for what does not start here; `notes` are lines below its name.

    `details` says of each blocker what was wanted and found, where there is room for that.
    """

    source: TopologyPair
    target: TopologyPair
    name: str
    verdict: str = ""
    notes: tuple[str, ...] = ()
    details: tuple[str, ...] = ()


def edges(transitions: load.Transitions, here: TopologyPair, ways: tuple[judging.Way, ...]) -> tuple[Edge, ...]:
    """Every edge, in the order of the definitions."""
    found = {way.definition.name: way for way in ways}
    made: list[Edge] = []
    for definition in transitions.definitions:
        for infrastructure in definition.source.infrastructure:
            source = TopologyPair(control_plane=definition.source.control_plane.value, infrastructure=infrastructure)
            way = found.get(definition.name) if source == here else None
            told = () if way is None else (way.verdict.value, _notes(way), _details(way))
            made.append(Edge(source, definition.target.pair, definition.name, *told))
    return tuple(made)


def _notes(way: judging.Way) -> tuple[str, ...]:
    if way.found is None:
        return (way.elsewhere,)
    return (way.verdict.value.lower(), *(blocker.name for blocker in way.found.blockers))


def _details(way: judging.Way) -> tuple[str, ...]:
    return tuple(f"{one.name}: {one.message}" for one in way.found.blockers) if way.found is not None else ()


def places(found: tuple[Edge, ...], here: TopologyPair) -> list[TopologyPair]:
    """Every place of the graph once, where the cluster is first."""
    every = [here, *(pair for edge in found for pair in (edge.source, edge.target))]
    return list(dict.fromkeys(every))


def caption(infrastructure: facts.Infrastructure, none: str) -> tuple[str, ...]:
    """What stands above a picture: which cluster this is, what is wanted, and why nothing leads on (`none`)."""
    name, platform = infrastructure.cluster_name or "A cluster without a name", infrastructure.platform or "unknown"
    wish = f"{infrastructure.desired} is wanted" if infrastructure.desired else "nothing is wanted"
    return (f"{name}, platform {platform}: {wish}", *((none,) if none else ()))


def dot(found: tuple[Edge, ...], here: TopologyPair) -> str:
    """The graph for Graphviz."""
    lines = ["digraph topology {", "  rankdir=LR;", '  node [shape=box, style=rounded, fontname="sans-serif"];']
    lines.append('  edge [fontname="sans-serif", fontsize=10];')
    for place in places(found, here):
        mark = ', style="rounded,filled", fillcolor="#dbe9ff", penwidth=2' if place == here else ""
        label = f"{_dot(place.control_plane)}\\n{_dot(place.infrastructure)}"
        lines.append(f'  "{_dot(str(place))}" [label="{label}"{mark}];')
    for edge in found:
        label = "\\n".join(_dot(line) for line in (edge.name, *edge.notes))
        style = "" if edge.verdict in {"Possible", "Blocked"} else ", style=dashed"
        colour = _COLOURS[edge.verdict]
        lines.append(
            f'  "{_dot(str(edge.source))}" -> "{_dot(str(edge.target))}" '
            f'[label="{label}", color="{colour}", fontcolor="{colour}"{style}];'
        )
    return "\n".join([*lines, "}"]) + "\n"


def mermaid(found: tuple[Edge, ...], here: TopologyPair) -> str:
    """The graph for Mermaid."""
    every = places(found, here)
    names = {place: f"p{number}" for number, place in enumerate(every)}
    lines = ["flowchart LR"]
    lines += [
        f'  {names[place]}["{_quoted(place.control_plane)}<br/>{_quoted(place.infrastructure)}"]' for place in every
    ]
    for edge in found:
        label = "<br/>".join(_quoted(line) for line in (edge.name, *edge.notes))
        arrow = "-->" if edge.verdict in {"Possible", "Blocked"} else "-.->"
        lines.append(f'  {names[edge.source]} {arrow}|"{label}"| {names[edge.target]}')
    lines.append(f"  style {names[here]} fill:#dbe9ff,stroke-width:3px")
    lines += [
        f"  linkStyle {number} stroke:{_COLOURS[edge.verdict]}" for number, edge in enumerate(found) if edge.verdict
    ]
    return "\n".join(lines) + "\n"


def _dot(text: str) -> str:
    return document.plain(text).replace("\\", "\\\\").replace('"', '\\"')


def _quoted(text: str) -> str:
    return document.plain(text).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
