"""`graph -o svg`: whatever the graph, nothing lies upon anything else, and what colour says is said in words too."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api.types import TopologyPair
from topology_controller.observe import facts
from topology_controller.plugin import simulate, svg
from topology_controller.plugin.commands import graph

from ..core import worlds
from . import replies

if TYPE_CHECKING:
    from collections.abc import Iterator

SVG = "{http://www.w3.org/2000/svg}"
BLOCKED = worlds.with_infrastructure(worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False)), desired=None)
ELSEWHERE = "on platform None or External only; this is AWS"
STEPS = 40


@dataclasses.dataclass(frozen=True)
class Rect:
    """A box: its sides, and what it says."""

    left: float
    top: float
    right: float
    bottom: float
    texts: tuple[str, ...]
    kind: str

    def holds(self, x: float, y: float) -> bool:
        return self.left < x < self.right and self.top < y < self.bottom


@dataclasses.dataclass(frozen=True)
class Picture:
    """A drawing taken apart."""

    width: float
    height: float
    boxes: tuple[Rect, ...]
    root: ET.Element

    @property
    def description(self) -> str:
        return self.root.findtext(f"{SVG}desc") or ""

    @property
    def words(self) -> list[str]:
        return [one.text or "" for one in self.root.iter(f"{SVG}text")]

    @property
    def lines(self) -> list[ET.Element]:
        return self.root.findall(f".//{SVG}path[@class='line']")

    @property
    def heads(self) -> list[ET.Element]:
        return self.root.findall(f".//{SVG}path[@class='head']")


def _drawn(edges: tuple[graph.Edge, ...], here: TopologyPair, *caption: str) -> Picture:
    root = ET.fromstring(svg.svg(edges, here, caption))  # noqa: S314 - our own text; what it holds is under test
    assert root.tag == f"{SVG}svg"
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    assert (left, top) == (0, 0)
    assert (float(root.attrib["width"]), float(root.attrib["height"])) == (width, height)
    return Picture(width, height, tuple(_boxes(root)), root)


def _boxes(root: ET.Element) -> Iterator[Rect]:
    for group in root.iter(f"{SVG}g"):
        for rect in group.findall(f"{SVG}rect"):
            x, y, width, height = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
            texts = tuple(one.text or "" for one in group.findall(f"{SVG}text"))
            yield Rect(x, y, x + width, y + height, texts, group.attrib["class"])


def _curve(path: str) -> Iterator[tuple[float, float]]:
    """Points along a path of M, L and C."""
    at = (0.0, 0.0)
    for command, rest in re.findall(r"([MLC])([^MLC]+)", path):
        numbers = [float(one) for one in re.split(r"[ ,]", rest.strip())]
        points = list(zip(numbers[::2], numbers[1::2], strict=True))
        if command == "C":
            (x1, y1), (x2, y2), (x3, y3) = points
            for step in range(STEPS + 1):
                t = step / STEPS
                a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
                yield a * at[0] + b * x1 + c * x2 + d * x3, a * at[1] + b * y1 + c * y2 + d * y3
        elif command == "L":
            for step in range(STEPS + 1):
                t = step / STEPS
                yield at[0] + t * (points[0][0] - at[0]), at[1] + t * (points[0][1] - at[1])
        at = points[-1]


def _right(text: ET.Element) -> float:
    """Where a text ends at the latest: no common monospaced font needs more for a letter than 0.61 of its size."""
    size = {"heading": 14, "name": 13, "small": 11}.get(text.attrib["class"], 12)
    return float(text.attrib["x"]) + len(text.text or "") * size * 0.61


def _nothing_lies_upon_anything(found: Picture) -> None:
    for one, other in itertools.combinations(found.boxes, 2):
        apart = one.right <= other.left or other.right <= one.left or one.bottom <= other.top or other.bottom <= one.top
        assert apart, f"{one} lies upon {other}"
    for box in found.boxes:
        assert box.left >= 0, box
        assert box.top >= 0, box
        assert box.right <= found.width, box
        assert box.bottom <= found.height, box
    for group in found.root.iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        assert rect is not None
        x, y, width, height = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        lines = [float(one.attrib["y"]) for one in group.findall(f"{SVG}text")]
        assert all(after - before >= 14 for before, after in itertools.pairwise(lines)), "lines of text touch"
        assert all(y + 12 <= line <= y + height - 4 for line in lines), "text leaves its box"
        for text in group.findall(f"{SVG}text"):
            assert _right(text) <= x + width, text.text
    for text in found.root.iter(f"{SVG}text"):
        assert _right(text) <= found.width, text.text
        assert 10 <= float(text.attrib["y"]) <= found.height - 4, text.text
    for path in found.lines:
        for x, y in _curve(path.attrib["d"]):
            assert not any(box.holds(x, y) for box in found.boxes), f"a line runs through a box at {x}, {y}"
            assert 0 <= x <= found.width
            assert 0 <= y <= found.height


def _edges(known: facts.Facts, here: TopologyPair = worlds.SNO) -> tuple[graph.Edge, ...]:
    ways, _ = simulate.ways(known, worlds.TRANSITIONS, worlds.NOW)
    return graph.edges(worlds.TRANSITIONS, here, ways)


def _count(edges: tuple[graph.Edge, ...], here: TopologyPair) -> int:
    """How many boxes places have: one from which and to which transitions lead has one on either side."""
    sources, targets = {edge.source for edge in edges}, {edge.target for edge in edges}
    return len(sources) + len(targets) + (here not in sources | targets)


@pytest.mark.parametrize(
    "known", [replies.WITHOUT_REQUEST, BLOCKED, worlds.with_infrastructure(BLOCKED, platform="AWS")]
)
def test_all_our_definitions_are_drawn_apart(known: facts.Facts) -> None:
    edges = _edges(known)
    found = _drawn(edges, worlds.SNO, "edge-7f4kd")
    _nothing_lies_upon_anything(found)
    assert len(found.boxes) == len(edges) + _count(edges, worlds.SNO)
    assert [box.kind for box in found.boxes].count("here") == 1


@pytest.mark.parametrize("pair", sorted({edge.target for edge in _edges(BLOCKED)}, key=str))
def test_a_place_in_the_middle_of_the_graph_can_be_where_the_cluster_is(pair: TopologyPair) -> None:
    found = _drawn(_edges(BLOCKED, pair), pair)
    (here,) = [box for box in found.boxes if box.kind == "here"]
    assert here.texts[0] == "the cluster is here"
    assert pair.control_plane in here.texts


def test_every_verdict_is_told_in_a_word_and_blockers_by_name() -> None:
    possible = _drawn(_edges(replies.WITHOUT_REQUEST), worlds.SNO)
    blocked = _drawn(_edges(BLOCKED), worlds.SNO)
    elsewhere = _drawn(_edges(worlds.with_infrastructure(BLOCKED, platform="AWS")), worlds.SNO)

    def card(found: Picture) -> tuple[str, ...]:
        return next(box.texts for box in found.boxes if box.texts[0] == "sno-to-ha-compact")

    assert card(possible) == ("sno-to-ha-compact", "possible")
    assert card(blocked) == ("sno-to-ha-compact", "blocked", "MastersSchedulable")
    assert card(elsewhere)[:2] == ("sno-to-ha-compact", "not for this cluster")
    assert " ".join(card(elsewhere)[2:]) == ELSEWHERE


def test_whoever_hears_the_picture_is_told_everything() -> None:
    found = _drawn(_edges(BLOCKED), worlds.SNO, "edge-7f4kd, platform None: nothing is wanted")
    assert found.root.attrib["role"] == "img"
    assert found.root.findtext(f"{SVG}title") == (
        "Topology transitions of this cluster, which is at SingleReplica/SingleReplica"
    )
    assert "edge-7f4kd, platform None: nothing is wanted." in found.description
    assert "The cluster is here: control plane SingleReplica, infrastructure SingleReplica." in found.description
    way = "sno-to-ha-compact leads from SingleReplica/SingleReplica to HighlyAvailable/HighlyAvailable: blocked "
    assert f"{way}(MastersSchedulable: Wanted: " in found.description
    assert "infra-to-ha leads from HighlyAvailable/SingleReplica" in found.description


def test_a_picture_needs_nothing_but_itself() -> None:
    drawn = svg.svg(_edges(BLOCKED), worlds.SNO)
    assert re.findall(r"https?://[^\"']+", drawn) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"url\(|@import|href|<script|<image|<foreignObject|\sid=", drawn)


@pytest.mark.parametrize("colours", [svg.LIGHT, svg.DARK], ids=["light", "dark"])
def test_text_can_be_read_on_its_ground_in_light_and_in_dark(colours: dict[str, str]) -> None:
    def parts(colour: str) -> list[int]:
        return [int(colour[index : index + 2], 16) for index in (1, 3, 5)]

    def ground(name: str) -> str:
        """The colour of a box: a tint of its own colour on the paper."""
        both = zip(parts(colours[name]), parts(colours["paper"]), strict=True)
        return "#" + "".join(f"{round(svg.TINT * one + (1 - svg.TINT) * other):02x}" for one, other in both)

    def lightness(colour: str) -> float:
        red, green, blue = (part / 255 for part in parts(colour))
        red, green, blue = (
            one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in (red, green, blue)
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    def contrast(one: str, other: str) -> float:
        dark, light = sorted((lightness(one), lightness(other)))
        return (light + 0.05) / (dark + 0.05)

    for colour in (name for name in colours if name not in {"paper", "ink"}):
        for text in ("ink", "muted", colour):
            assert contrast(ground(colour), colours[text]) >= 4.5, f"{text} in a box of {colour}"


def test_the_style_says_only_what_differs_in_the_dark() -> None:
    style = ET.fromstring(svg.svg((), worlds.SNO)).findtext(f"{SVG}style") or ""  # noqa: S314 - our own text
    before, dark = style.split("@media (prefers-color-scheme: dark)")
    assert svg.DARK["paper"] in dark
    assert svg.LIGHT["paper"] not in style
    assert "{" not in before.replace("{ color-scheme: light dark }", "")


def _all_verdicts() -> Picture:
    edges = tuple(
        graph.Edge(worlds.SNO, worlds.HA, f"way-{number}", verdict) for number, verdict in enumerate(svg.VERDICTS)
    )
    return _drawn(edges, worlds.SNO, "edge-7f4kd")


def _attributes(found: Picture, *names: str) -> Iterator[tuple[ET.Element, dict[str, str]]]:
    """Every drawn element with the attributes that hold for it, its own or inherited: what a viewer without CSS has."""

    def walk(element: ET.Element, inherited: dict[str, str]) -> Iterator[tuple[ET.Element, dict[str, str]]]:
        here = inherited | {name: element.attrib[name] for name in names if name in element.attrib}
        if element.tag.removeprefix(SVG) in {"rect", "path", "text"}:
            yield element, here
        for child in element:
            yield from walk(child, here)

    yield from walk(found.root, {})


def test_a_viewer_that_knows_no_style_sees_everything_in_colours_that_can_be_read() -> None:
    """librsvg drew a black rectangle of a picture whose colours were variables."""
    found = _all_verdicts()
    drawn = svg.svg((), worlds.SNO)
    assert "var(" not in drawn
    assert "currentColor" not in drawn
    for element, look in _attributes(found, "fill", "stroke", "fill-opacity", "font-size", "font-family"):
        assert re.fullmatch(r"#[0-9a-f]{6}|none", look["fill"]), element.attrib
        if element.tag == f"{SVG}text":
            assert look["fill"] in {*svg.LIGHT.values()} - {svg.LIGHT["paper"]}, element.attrib
            assert float(look["font-size"]) >= 11
            assert "monospace" in look["font-family"]
        elif element.attrib["class"] == "box":
            assert float(look["fill-opacity"]) == svg.TINT
        elif element.attrib["class"] in {"line", "mark"}:
            assert look["fill"] == "none"
            assert look["stroke"] != "none"


def test_verdicts_can_be_told_apart_without_colour() -> None:
    found = _all_verdicts()
    lines = [
        (look["stroke-width"], look.get("stroke-dasharray", ""))
        for element, look in _attributes(found, "stroke-width", "stroke-dasharray")
        if element.attrib["class"] == "line"
    ]
    # Two lines to each transition, before its card and after it.
    assert lines[::2] == lines[1::2]
    assert len(set(lines)) == len(svg.VERDICTS)
    marks = [path.attrib["d"] for path in found.root.findall(f".//{SVG}path[@class='mark']")]
    assert len(set(marks)) == len(marks) == len(svg.VERDICTS) - 1
    words = [box.texts[1] for box in found.boxes if box.texts[0].startswith("way-")]
    assert words == ["possible", "blocked", "cannot tell", "not for this cluster", "starts elsewhere"]


def test_a_mark_stands_before_its_word_and_in_its_box() -> None:
    found = _all_verdicts()
    for group in found.root.iter(f"{SVG}g"):
        for mark in group.findall(f"{SVG}path[@class='mark']"):
            x, y = map(float, re.findall(r"[\d.]+", mark.attrib["transform"]))
            (word,) = group.findall(f"{SVG}text[@class='marked']")
            assert x + 12 + 2 <= float(word.attrib["x"])
            assert y < float(word.attrib["y"]) < y + 14


def test_a_cluster_where_nothing_begins_is_drawn_alone_with_the_reason() -> None:
    hosted = TopologyPair(control_plane="External", infrastructure="HighlyAvailable")
    found = _drawn((), hosted, "hosted, platform AWS: nothing is wanted", "The control plane is hosted elsewhere")
    assert [box.kind for box in found.boxes] == ["here"]
    assert "The control plane is hosted elsewhere" in found.words


NAMES = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from(
    ("<script>alert(1)</script>", "&amp;", "]]>", "\x1b[2J\x00", "a\"b'c", "W" * 300, "\u202e", "東" * 40, "")
)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[tuple[graph.Edge, ...], TopologyPair]:
    """Graphs larger than ours: cycles, islands, several edges between two places, edges to the same place."""
    count = draw(st.integers(1, 9))
    words = draw(st.lists(NAMES, min_size=count, max_size=count))
    pairs = [
        TopologyPair(control_plane=word[:64], infrastructure=f"number {index}") for index, word in enumerate(words)
    ]
    ends = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=16))
    verdicts = st.sampled_from(svg.VERDICTS)
    edges = tuple(
        graph.Edge(pairs[source], pairs[target], draw(NAMES), draw(verdicts), tuple(draw(st.lists(NAMES, max_size=4))))
        for source, target in ends
    )
    return edges, pairs[draw(st.integers(0, count - 1))]


@given(drawn=graphs(), caption=NAMES)
def test_any_graph_is_drawn_apart(drawn: tuple[tuple[graph.Edge, ...], TopologyPair], caption: str) -> None:
    edges, here = drawn
    found = _drawn(edges, here, caption)
    _nothing_lies_upon_anything(found)
    assert len(found.boxes) == len(edges) + _count(edges, here)
    assert len(found.heads) == len(edges), "each edge has one arrow"


@given(drawn=graphs())
def test_each_transition_leads_from_its_source_to_its_target(
    drawn: tuple[tuple[graph.Edge, ...], TopologyPair],
) -> None:
    edges, here = drawn
    found = _drawn(edges, here)

    def touched(paths: list[ET.Element], side: str) -> collections.Counter[str]:
        points = [[float(one) for one in re.findall(r"[\d.]+", path.attrib["d"])[:2]] for path in paths]
        return collections.Counter(
            box.texts[-1]
            for x, y in points
            for box in found.boxes
            if abs(getattr(box, side) - x) < 0.2 and box.top <= y <= box.bottom
        )

    # The first of two lines leaves the source, the second one the card.
    assert touched(found.lines[::2], "right") == collections.Counter(edge.source.infrastructure for edge in edges)
    assert touched(found.heads, "left") == collections.Counter(edge.target.infrastructure for edge in edges)


def test_what_a_cluster_says_cannot_leave_its_place() -> None:
    mine = TopologyPair(control_plane="</text><script>x</script>", infrastructure='"&\x1b[2J')
    drawn = svg.svg((graph.Edge(mine, mine, "a-->b", "Blocked", ("]]>", "<b>")),), mine, ["</svg>"])
    assert "<script" not in drawn
    assert "\x1b" not in drawn
    assert drawn.count("</svg>") == 1
