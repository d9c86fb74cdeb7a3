"""The graph: every transition, where the cluster is, and what blocks the way on.

In its picture nothing lies upon anything else, and what colour says is said in words too.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from kubectl_topology import simulate, svg
from kubectl_topology.commands import graph
from kubectl_topology.edge import Edge
from topology_api.types import TopologyPair
from topology_controller.observe import facts

from ..core import worlds
from . import replies

SVG = "{http://www.w3.org/2000/svg}"
BLOCKED = worlds.with_infrastructure(worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False)), desired=None)


def _edges(known: facts.Facts) -> tuple[Edge, ...]:
    ways, _ = simulate.ways(known, worlds.TRANSITIONS, worlds.NOW)
    return graph.edges(worlds.TRANSITIONS, worlds.SNO, ways)


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


# The picture


@dataclasses.dataclass(frozen=True)
class Box:
    """Its sides, and what it says."""

    left: float
    top: float
    right: float
    bottom: float
    texts: tuple[str, ...]
    kind: str


def _drawn(edges: tuple[Edge, ...], here: TopologyPair, *caption: str) -> tuple[ET.Element, list[Box]]:
    """The drawing, once it is clear that nothing in it lies upon anything else."""
    root = ET.fromstring(svg.svg(edges, here, caption))  # noqa: S314 - our own text; what it holds is under test
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    boxes = []
    for group in root.iter(f"{SVG}g"):
        for rect in group.findall(f"{SVG}rect"):
            x, y, wide, high = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
            lines = group.findall(f"{SVG}text")
            boxes.append(Box(x, y, x + wide, y + high, tuple(one.text or "" for one in lines), group.attrib["class"]))
            for line in lines:
                # No common monospaced font needs more for a letter than 0.61 of its size.
                size = {"heading": 14, "name": 13, "small": 11}.get(line.attrib["class"], 12)
                assert float(line.attrib["x"]) + len(line.text or "") * size * 0.61 <= x + wide, line.text
                assert y + 12 <= float(line.attrib["y"]) <= y + high - 4
    for one, other in itertools.combinations(boxes, 2):
        apart = one.right <= other.left or other.right <= one.left or one.bottom <= other.top or other.bottom <= one.top
        assert apart, f"{one} lies upon {other}"
    assert all(0 <= box.left <= box.right <= width and 0 <= box.top <= box.bottom <= height for box in boxes)
    return root, boxes


NAMES = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from(
    ("<script>alert(1)</script>", "&amp;", "]]>", "\x1b[2J\x00", "a\"b'c", "W" * 300, "\u202e", "東" * 40, "")
)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[tuple[Edge, ...], TopologyPair]:
    """Graphs larger than ours: cycles, islands, several edges between two places, edges to the same place."""
    words = draw(st.lists(NAMES, min_size=1, max_size=9))
    pairs = [TopologyPair(control_plane=word[:64], infrastructure=f"number {at}") for at, word in enumerate(words)]
    place = st.sampled_from(pairs)
    ends = draw(st.lists(st.tuples(place, place), max_size=16))
    verdicts, notes = st.sampled_from(svg.VERDICTS), st.lists(NAMES, max_size=4)
    edges = tuple(Edge(*end, draw(NAMES), draw(verdicts), tuple(draw(notes))) for end in ends)
    return edges, draw(place)


@given(drawn=graphs(), caption=NAMES)
def test_in_any_graph_each_edge_leads_from_its_source_to_its_target_and_nothing_overlaps(
    drawn: tuple[tuple[Edge, ...], TopologyPair], caption: str
) -> None:
    edges, here = drawn
    root, boxes = _drawn(edges, here, caption)

    def touched(kind: str, side: str, step: int = 1) -> collections.Counter[str]:
        paths = root.findall(f".//{SVG}path[@class='{kind}']")[::step]
        points = [[float(one) for one in re.findall(r"[\d.]+", path.attrib["d"])[:2]] for path in paths]
        return collections.Counter(
            box.texts[-1]
            for x, y in points
            for box in boxes
            if abs(getattr(box, side) - x) < 0.2 and box.top <= y <= box.bottom
        )

    # The first of two lines leaves the source, the second one the card.
    assert touched("line", "right", 2) == collections.Counter(edge.source.infrastructure for edge in edges)
    assert touched("head", "left") == collections.Counter(edge.target.infrastructure for edge in edges)


def test_a_verdict_has_a_word_a_line_and_a_mark_and_a_listener_is_told_all_of_it() -> None:
    way = tuple(Edge(worlds.SNO, worlds.HA, f"way-{at}", verdict) for at, verdict in enumerate(svg.VERDICTS))
    root, boxes = _drawn(way, worlds.SNO, "edge-7f4kd")
    words = [box.texts[1] for box in boxes if box.texts[0].startswith("way-")]
    assert words == ["possible", "blocked", "cannot tell", "not for this cluster", "starts elsewhere"]
    assert len({path.attrib["d"] for path in root.findall(f".//{SVG}path[@class='mark']")}) == len(svg.VERDICTS) - 1
    drawn = svg.svg(way, worlds.SNO)
    assert not re.search(r"var\(|currentColor|url\(|@import|href|<script|<image", drawn), "a viewer has only this"
    root, boxes = _drawn(_edges(BLOCKED), worlds.SNO, "edge-7f4kd, platform None")
    assert ("sno-to-ha-compact", "blocked", "MastersSchedulable") in [box.texts for box in boxes]
    description = root.findtext(f"{SVG}desc") or ""
    assert "edge-7f4kd, platform None" in description
    assert "sno-to-ha-compact leads from SingleReplica/SingleReplica" in description


def test_a_place_without_a_way_and_another_platform_are_drawn_with_the_reason() -> None:
    hosted = TopologyPair(control_plane="External", infrastructure="HighlyAvailable")
    root, boxes = _drawn((), hosted, "hosted", "The control plane is hosted elsewhere")
    assert [box.kind for box in boxes] == ["here"]
    assert "The control plane is hosted elsewhere" in [one.text for one in root.iter(f"{SVG}text")]
    elsewhere = _edges(worlds.with_infrastructure(BLOCKED, platform="AWS"))
    notes = ("not for this cluster", "on platform None or External only; this is AWS")
    assert {edge.notes for edge in elsewhere if edge.verdict} == {notes}
