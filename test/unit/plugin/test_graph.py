"""The graph: every transition, where the cluster is, and what blocks the way on."""

from __future__ import annotations

import dataclasses
import re

from kubectl_topology import simulate
from kubectl_topology.commands import graph
from kubectl_topology.commands.graph import Edge
from topology_api.types import TopologyPair
from topology_controller.observe import facts

from ..core import worlds
from . import replies

BLOCKED = worlds.with_infrastructure(worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False)), desired=None)


def _edges(known: facts.Facts) -> tuple[Edge, ...]:
    ways, _ = simulate.ways(known, worlds.TRANSITIONS, worlds.NOW)
    return graph.edges(worlds.TRANSITIONS, worlds.SNO, ways)


def test_where_nothing_is_known_to_be_in_the_way_a_form_says_that_it_cannot_tell() -> None:
    """As `plan` does for the same facts. One check that is known to be unmet blocks, whatever else is unread."""
    unread = facts.Unobserved("nodes", "forbidden")
    known = dataclasses.replace(replies.WITHOUT_REQUEST, etcd=dataclasses.replace(worlds.etcd(), unsafe_scaling=unread))
    found = _edges(known)
    compact = next(edge for edge in found if edge.name == "sno-to-ha-compact" and edge.source == worlds.SNO)
    assert (compact.verdict, compact.notes) == ("CannotTell", ("cannot tell", "EtcdScalingSafe"))
    assert 'label="sno-to-ha-compact\\ncannot tell\\nEtcdScalingSafe"' in graph.dot(found, worlds.SNO)
    assert '-.-o|"sno-to-ha-compact<br/>cannot tell<br/>EtcdScalingSafe"|' in graph.mermaid(found, worlds.SNO)
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


def test_each_verdict_has_a_line_of_its_own_and_no_name_ends_its_label() -> None:
    verdicts = ("Possible", "Blocked", "CannotTell", "Unsupported", "")
    way = tuple(Edge(worlds.SNO, worlds.HA, f'a"b<c>{at}', verdict) for at, verdict in enumerate(verdicts))
    dot, mermaid = graph.dot(way, worlds.SNO), graph.mermaid(way, worlds.SNO)
    assert len(set(re.findall(r"style=([^\]]+)\];$", dot, re.MULTILINE)[-5:])) == len(verdicts)
    assert len(set(re.findall(r"^  p0 (\S+?)\|", mermaid, re.MULTILINE))) == len(verdicts)
    assert 'label="a\\"b<c>4"' in dot
    assert '|"a&quot;b&lt;c&gt;4"|' in mermaid


def test_a_place_without_a_way_is_drawn_and_another_platform_with_the_reason() -> None:
    hosted = TopologyPair(control_plane="External", infrastructure="HighlyAvailable")
    assert 'p0["External<br/>HighlyAvailable"]' in graph.mermaid((), hosted)
    elsewhere = _edges(worlds.with_infrastructure(BLOCKED, platform="AWS"))
    notes = ("not for this cluster", "on platform None or External only; this is AWS")
    assert {edge.notes for edge in elsewhere if edge.verdict} == {notes}
