"""`graph`: the transitions that exist, where this cluster is, and what blocks the way on.

A node of the graph is a pair of topologies; an edge is a definition, and starts once for each infrastructure topology
that it can start from. What leads away from here carries its verdict. All but `run` is pure.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from topology_api.types import TopologyPair
from topology_controller import terminal
from topology_controller.decide import records

from .. import answers, cluster, errors, simulate

if TYPE_CHECKING:
    import argparse

    from topology_controller.definitions import load


class Edge(NamedTuple):
    """One line of the graph. `verdict` is empty for what does not start here; `notes` are lines below its name."""

    source: TopologyPair
    target: TopologyPair
    name: str
    verdict: str = ""
    notes: tuple[str, ...] = ()


_LINES = {
    "Possible": ("#1b7f3b", "bold", "==>"),
    "Blocked": ("#b3261e", "dashed", "-.->"),
    "CannotTell": ("#7a4d00", "dashed, arrowhead=odot", "-.-o"),
    "Unsupported": ("#6b6b6b", "dotted", "--x"),
    "": ("#6b6b6b", "solid", "-->"),
}
"""By verdict: the colour, and the line in Graphviz and in Mermaid, which shows the verdict without its colour too."""


async def run(connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    """Print the graph in the form that is asked for."""
    snapshot = await cluster.overview(connection, transitions)
    here = records.pair(snapshot.infrastructure)
    ways, _ = simulate.ways(snapshot.known, transitions, snapshot.now, snapshot.instead)
    form = mermaid if options.output == "mermaid" else dot
    sys.stdout.write(form(edges(transitions, here, ways), here))
    return errors.ExitCode.DONE


def edges(transitions: load.Transitions, here: TopologyPair, ways: list[answers.Way]) -> tuple[Edge, ...]:
    """Every edge, in the order of the definitions."""
    by_name = {way["name"]: way for way in ways}
    every: list[Edge] = []
    for definition in transitions.definitions:
        for infrastructure in definition.source.infrastructure:
            source = TopologyPair(control_plane=definition.source.control_plane.value, infrastructure=infrastructure)
            way, verdict, notes = by_name.get(definition.name), "", list[str]()
            if way is not None and source == here:
                verdict, elsewhere = way["verdict"], ["not for this cluster", way["elsewhere"]]
                notes = [answers.words(verdict).lower(), *(blocker["name"] for blocker in way["blockers"])]
                notes = elsewhere if way["elsewhere"] else notes
            every.append(Edge(source, definition.target.pair, definition.name, verdict, tuple(notes)))
    return tuple(every)


def _places(every: tuple[Edge, ...], here: TopologyPair) -> list[TopologyPair]:
    return list(dict.fromkeys([here, *(pair for edge in every for pair in (edge.source, edge.target))]))


def dot(every: tuple[Edge, ...], here: TopologyPair) -> str:
    """The graph for Graphviz."""
    lines = ["digraph topology {", "  rankdir=LR;", '  node [shape=box, style=rounded, fontname="sans-serif"];',
             '  edge [fontname="sans-serif", fontsize=10];']  # fmt: skip
    for place in _places(every, here):
        mark = ', style="rounded,filled", fillcolor="#dbe9ff", penwidth=2' if place == here else ""
        label = f"{_dot(place.control_plane)}\\n{_dot(place.infrastructure)}"
        lines.append(f'  "{_dot(str(place))}" [label="{label}"{mark}];')
    for edge in every:
        label = "\\n".join(_dot(line) for line in (edge.name, *edge.notes))
        colour, style, _ = _LINES[edge.verdict]
        look = f'[label="{label}", color="{colour}", fontcolor="{colour}", style={style}]'
        lines.append(f'  "{_dot(str(edge.source))}" -> "{_dot(str(edge.target))}" {look};')
    return "\n".join([*lines, "}"]) + "\n"


def mermaid(every: tuple[Edge, ...], here: TopologyPair) -> str:
    """The graph for Mermaid."""
    names = {place: f"p{number}" for number, place in enumerate(_places(every, here))}
    lines = ["flowchart LR"]
    for place, name in names.items():
        lines.append(f'  {name}["{_quoted(place.control_plane)}<br/>{_quoted(place.infrastructure)}"]')
    for edge in every:
        label = "<br/>".join(_quoted(line) for line in (edge.name, *edge.notes))
        lines.append(f'  {names[edge.source]} {_LINES[edge.verdict][2]}|"{label}"| {names[edge.target]}')
    lines.append(f"  style {names[here]} fill:#dbe9ff,stroke-width:3px")
    for number, edge in enumerate(every):
        lines += [f"  linkStyle {number} stroke:{_LINES[edge.verdict][0]}"] if edge.verdict else []
    return "\n".join(lines) + "\n"


def _dot(text: str) -> str:
    return terminal.plain(text).replace("\\", "\\\\").replace('"', '\\"')


def _quoted(text: str) -> str:
    return terminal.plain(text).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
