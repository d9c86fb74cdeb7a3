"""`graph -o svg`: whatever the graph, nothing lies upon anything else, and what colour says is said in words too."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from topology_api.types import TopologyPair
from topology_controller.observe import facts
from topology_controller.plugin import simulate, svg
from topology_controller.plugin.commands import graph

from ..core import worlds

if TYPE_CHECKING:
    from collections.abc import Iterator

SVG = "{http://www.w3.org/2000/svg}"
BLOCKED = worlds.with_infrastructure(worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False)), desired=None)


@dataclasses.dataclass(frozen=True)
class Box:
    """Its sides, and what it says."""

    left: float
    top: float
    right: float
    bottom: float
    texts: tuple[str, ...]
    kind: str


def _curve(path: str) -> Iterator[tuple[float, float]]:
    """Points along a path of M, L and C."""
    at = (0.0, 0.0)
    for command, rest in re.findall(r"([MLC])([^MLC]+)", path):
        numbers = [float(one) for one in re.split(r"[ ,]", rest.strip())]
        points = [at, *zip(numbers[::2], numbers[1::2], strict=True)]
        first, *_, last = points if command == "C" else (at, at, points[-1], points[-1])
        middle = points[1:3] if command == "C" else [first, last]
        for t in (step / 40 for step in range(41 if command != "M" else 0)):
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            corners = (first, *middle, last)
            yield tuple(sum(w * c[axis] for w, c in zip(weights, corners, strict=True)) for axis in (0, 1))  # type: ignore[misc] # two
        at = last


def _drawn(edges: tuple[graph.Edge, ...], here: TopologyPair, *caption: str) -> tuple[ET.Element, list[Box]]:
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
    for path in root.findall(f".//{SVG}path[@class='line']"):
        for x, y in _curve(path.attrib["d"]):
            crossed = [box for box in boxes if box.left < x < box.right and box.top < y < box.bottom]
            assert not crossed, f"a line runs through {crossed}"
    return root, boxes


def _edges(known: facts.Facts, here: TopologyPair = worlds.SNO) -> tuple[graph.Edge, ...]:
    ways, _ = simulate.ways(known, worlds.TRANSITIONS, worlds.NOW)
    return graph.edges(worlds.TRANSITIONS, here, ways)


NAMES = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from(
    ("<script>alert(1)</script>", "&amp;", "]]>", "\x1b[2J\x00", "a\"b'c", "W" * 300, "\u202e", "東" * 40, "")
)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[tuple[graph.Edge, ...], TopologyPair]:
    """Graphs larger than ours: cycles, islands, several edges between two places, edges to the same place."""
    words = draw(st.lists(NAMES, min_size=1, max_size=9))
    pairs = [TopologyPair(control_plane=word[:64], infrastructure=f"number {at}") for at, word in enumerate(words)]
    place = st.sampled_from(pairs)
    ends = draw(st.lists(st.tuples(place, place), max_size=16))
    verdicts, notes = st.sampled_from(svg.VERDICTS), st.lists(NAMES, max_size=4)
    edges = tuple(graph.Edge(*end, draw(NAMES), draw(verdicts), tuple(draw(notes))) for end in ends)
    return edges, draw(place)


@given(drawn=graphs(), caption=NAMES)
def test_in_any_graph_each_edge_leads_from_its_source_to_its_target_and_nothing_overlaps(
    drawn: tuple[tuple[graph.Edge, ...], TopologyPair], caption: str
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


def test_a_verdict_has_a_word_a_line_a_mark_and_its_blockers_by_name() -> None:
    way = tuple(graph.Edge(worlds.SNO, worlds.HA, f"way-{at}", verdict) for at, verdict in enumerate(svg.VERDICTS))
    root, boxes = _drawn(way, worlds.SNO, "edge-7f4kd")
    words = [box.texts[1] for box in boxes if box.texts[0].startswith("way-")]
    assert words == ["possible", "blocked", "cannot tell", "not for this cluster", "starts elsewhere"]
    marks = {path.attrib["d"] for path in root.findall(f".//{SVG}path[@class='mark']")}
    assert len(marks) == len(svg.VERDICTS) - 1
    drawn = svg.svg(way, worlds.SNO)
    assert not re.search(r"var\(|currentColor|url\(|@import|href|<script|<image", drawn), "a viewer has only this"
    (_, boxes) = _drawn(_edges(BLOCKED), worlds.SNO)
    assert ("sno-to-ha-compact", "blocked", "MastersSchedulable") in [box.texts for box in boxes]
    assert [box.kind for box in boxes].count("here") == 1


def test_who_hears_the_picture_is_told_everything_also_where_nothing_begins() -> None:
    root, _ = _drawn(_edges(BLOCKED), worlds.SNO, "edge-7f4kd, platform None")
    description = root.findtext(f"{SVG}desc") or ""
    assert "edge-7f4kd, platform None" in description
    assert (
        "sno-to-ha-compact leads from SingleReplica/SingleReplica to HighlyAvailable/HighlyAvailable: blocked (Ma"
        in (description)
    )
    hosted = TopologyPair(control_plane="External", infrastructure="HighlyAvailable")
    root, boxes = _drawn((), hosted, "hosted", "The control plane is hosted elsewhere")
    assert [box.kind for box in boxes] == ["here"]
    assert "The control plane is hosted elsewhere" in [one.text for one in root.iter(f"{SVG}text")]


def test_another_platform_is_said_on_the_edge() -> None:
    found = _edges(worlds.with_infrastructure(BLOCKED, platform="AWS"))
    notes = ("not for this cluster", "on platform None or External only; this is AWS")
    assert {edge.notes for edge in found if edge.verdict} == {notes}
