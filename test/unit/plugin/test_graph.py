"""The graph: every transition, where the cluster is, and what blocks the way on."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from topology_controller.observe import facts
from topology_controller.plugin import simulate, svg
from topology_controller.plugin.commands import graph

from ..core import worlds
from . import replies

if TYPE_CHECKING:
    from topology_api.types import TopologyPair
    from topology_controller.plugin.commands.graph import Edge

BLOCKED = worlds.with_infrastructure(worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False)), desired=None)


def _edges(known: facts.Facts, here: TopologyPair = worlds.SNO) -> tuple[Edge, ...]:
    ways, _ = simulate.ways(known, worlds.TRANSITIONS, worlds.NOW)
    return graph.edges(worlds.TRANSITIONS, here, ways)


def test_every_definition_is_an_edge_from_each_of_its_sources() -> None:
    found = [(edge.name, edge.source, edge.target) for edge in _edges(BLOCKED)]
    assert len(found) == len(set(found))
    assert {(name, str(source), str(target)) for name, source, target in found} == {
        (edge.name, f"{edge.source_control_plane}/{infrastructure}", str(edge.target))
        for edge in worlds.TRANSITIONS.edges()
        for infrastructure in edge.source_infrastructures
    }


def test_where_nothing_is_known_to_be_in_the_way_a_form_says_that_it_cannot_tell() -> None:
    """As `plan` does for the same facts. One check that is known to be unmet blocks, whatever else is unread."""
    unread = facts.Unobserved("nodes", "forbidden")
    known = dataclasses.replace(replies.WITHOUT_REQUEST, etcd=unread)
    found = _edges(known)
    compact = next(edge for edge in found if edge.name == "sno-to-ha-compact" and edge.source == worlds.SNO)
    assert (compact.verdict, compact.notes) == ("CannotTell", ("cannot tell", "EtcdHealthy"))
    assert 'label="sno-to-ha-compact\\ncannot tell\\nEtcdHealthy"' in graph.dot(found, worlds.SNO)
    assert '-.-o|"sno-to-ha-compact<br/>cannot tell<br/>EtcdHealthy"|' in graph.mermaid(found, worlds.SNO)
    drawn = svg.svg(found, worlds.SNO)
    assert '<g class="unknown"' in drawn
    assert "HighlyAvailable/HighlyAvailable: cannot tell (EtcdHealthy: " in drawn
    blocked = {edge.notes[0] for edge in _edges(dataclasses.replace(BLOCKED, etcd=unread)) if edge.verdict}
    assert blocked == {"blocked"}


def test_both_forms_draw_every_place_and_every_edge_once() -> None:
    found = _edges(replies.WITHOUT_REQUEST)
    places = {pair for edge in found for pair in (edge.source, edge.target)}
    dot, mermaid = graph.dot(found, worlds.SNO), graph.mermaid(found, worlds.SNO)
    assert len(re.findall(r"^  \"[^\"]+\" \[label=", dot, re.MULTILINE)) == len(places)
    assert dot.count(" -> ") == len(found)
    assert dot.count("fillcolor") == 1
    assert "sno-to-ha-compact\\npossible" in dot
    assert len(re.findall(r"^  p\d+\[", mermaid, re.MULTILINE)) == len(places)
    assert len(re.findall(r"(?:-->|==>|-\.->|-\.-o|--x)\|", mermaid)) == len(found)
    assert "sno-to-ha-compact<br/>possible" in mermaid
    numbers = [int(one) for one in re.findall(r"linkStyle (\d+)", mermaid)]
    assert numbers == [number for number, edge in enumerate(found) if edge.verdict]
