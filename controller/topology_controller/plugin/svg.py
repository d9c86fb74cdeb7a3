"""The graph as a picture: one self-contained SVG, which needs no other program, font, script or address.

For a README, a ticket, a wiki: it can be read in light and in dark (the viewer's preference decides), printed, and read
aloud: the name and the description of the picture say everything that it shows, and what colour says is said by a word
and a dash too. `layout` says where things go; how wide a text is can only be guessed here, so it is guessed wide, and a
box is a little larger than it need be where the viewer's font is narrow. Nothing in it has an id, so several can stand
in one page. Pure.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from . import document, layout
from .graph import places

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from topology_api.types import TopologyPair

    from .graph import Edge

_MARGIN: Final = 24
_PADDING: Final = 12
_WIDEST: Final = 250
"""Pixels that a line of text in a box may have."""
_LEAST: Final = 560
_HEAD: Final = 9
_SIZES: Final = {"heading": 14, "name": 13, "text": 12, "small": 11}
_LINE: Final = 1.5
"""Height of a line, in font sizes."""
_NARROW: Final = frozenset("iljtfIr-.,:;'|!()[]/ ")
_WIDE: Final = frozenset("mwMWOQ@%&")
_KINDS: Final = {"Possible": "possible", "Blocked": "blocked", "Unsupported": "elsewhere", "": "distant"}
_SAYS: Final = {"Possible": "possible", "Blocked": "blocked", "Unsupported": "not for this cluster", "": ""}
LIGHT: Final = {
    "paper": "#ffffff", "ink": "#1b1f24", "muted": "#57606a", "line": "#6e7781", "box": "#f6f8fa",
    "here": "#0b4f99", "here-box": "#dbe9ff", "possible": "#116329", "possible-box": "#e6f6ea",
    "blocked": "#a40e26", "blocked-box": "#fdeceb",
}  # fmt: skip
DARK: Final = {
    "paper": "#0d1117", "ink": "#e6edf3", "muted": "#9da7b3", "line": "#8b949e", "box": "#161b22",
    "here": "#79b8ff", "here-box": "#0c2d4f", "possible": "#56d364", "possible-box": "#0f2417",
    "blocked": "#ff938a", "blocked-box": "#2f1315",
}  # fmt: skip
_RULES: Final = """\
  .topology { {light}; color-scheme: light dark; font-family: system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif }
  @media (prefers-color-scheme: dark) { .topology { {dark} } }
  .topology .paper { fill: var(--paper) }
  .topology text { fill: var(--ink); font-size: 12px; white-space: pre }
  .topology .heading { font-size: 14px; font-weight: 600 }
  .topology .name { font-size: 13px; font-weight: 600 }
  .topology .small { font-size: 11px; fill: var(--muted) }
  .topology .box { fill: var(--box); stroke: var(--line) }
  .topology .line { fill: none; stroke: var(--line); stroke-width: 1.5 }
  .topology .head { fill: var(--line) }
  .topology .here .box { fill: var(--here-box); stroke: var(--here); stroke-width: 2.5 }
  .topology .here .verdict { fill: var(--here); font-weight: 600 }
  .topology .possible .box { fill: var(--possible-box); stroke: var(--possible); stroke-width: 2 }
  .topology .possible .line { stroke: var(--possible); stroke-width: 2 }
  .topology .possible .head, .topology .possible .verdict { fill: var(--possible) }
  .topology .blocked .box { fill: var(--blocked-box); stroke: var(--blocked); stroke-width: 2 }
  .topology .blocked .line { stroke: var(--blocked); stroke-width: 2 }
  .topology .blocked .head, .topology .blocked .verdict { fill: var(--blocked) }
  .topology .verdict { font-weight: 600 }
  .topology .elsewhere .box, .topology .elsewhere .line { stroke-dasharray: 6 4 }
  .topology .distant .box { fill: var(--paper); stroke-dasharray: 2 4 }
  .topology .distant .line { stroke-dasharray: 2 4 }
  .topology .distant .name, .topology .elsewhere .name { fill: var(--muted) }
"""


@dataclass(frozen=True, slots=True)
class _Text:
    """A line of text. `size` is a key of _SIZES, `style` the classes that say how it looks."""

    text: str
    size: str = "text"
    style: str = ""

    @property
    def height(self) -> float:
        return _SIZES[self.size] * _LINE

    @property
    def width(self) -> float:
        return _width(self.text, self.size)


def svg(found: Sequence[Edge], here: TopologyPair, caption: Iterable[str] = ()) -> str:
    """The graph as an SVG document. `caption`: lines above it, such as which cluster this is."""
    pairs = places(tuple(found), here)
    numbers = {pair: number for number, pair in enumerate(pairs)}
    towns = [_place(pair, here) for pair in pairs]
    cards = [_card(edge) for edge in found]
    laid = layout.lay(
        [_size(town) for town in towns],
        [
            layout.Link(numbers[edge.source], numbers[edge.target], _size(card))
            for edge, card in zip(found, cards, strict=True)
        ],
    )
    width = max(laid.width + 2 * _MARGIN, _LEAST)
    above = [line for text in caption for line in _wrapped(_Text(document.plain(text)), width - 2 * _MARGIN)]
    if above:
        above[0] = _Text(above[0].text, "heading", "heading")
    top = _MARGIN + sum(line.height for line in above) + (_PADDING if above else 0)
    left = (width - laid.width) / 2
    height = top + laid.height + _MARGIN
    drawn = _texts(above, _MARGIN, _MARGIN)
    for number, (edge, card, box) in enumerate(zip(found, cards, laid.cards, strict=True)):
        drawn += _group(_KINDS[edge.verdict], _told(edge))
        drawn += [part for line in laid.lines if line.link == number for part in _line(line, left, top)]
        drawn += [*_boxed(card, box, left, top), "</g>"]
    for pair, town, box in zip(pairs, towns, laid.places, strict=True):
        drawn += _group("here" if pair == here else "place", _named(pair, here))
        drawn += [*_boxed(town, box, left, top), "</g>"]
    wide, high = _number(width), _number(height)
    size = f'width="{wide}" height="{high}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {wide} {high}" class="topology" role="img">',
        f"<title>{_escaped(f'Topology transitions of this cluster, which is at {here}')}</title>",
        f"<desc>{_escaped(' '.join(_description(found, here, above)))}</desc>",
        f"<style>\n{_style()}</style>",
        f'<rect class="paper" {size}/>',
        *drawn,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _style() -> str:
    light, dark = ("; ".join(f"--{name}: {value}" for name, value in one.items()) for one in (LIGHT, DARK))
    return _RULES.replace("{light}", light).replace("{dark}", dark)


def _place(pair: TopologyPair, here: TopologyPair) -> list[_Text]:
    mark = [_Text("the cluster is here", "text", "verdict")] if pair == here else []
    lines = [
        *mark,
        _Text("control plane", "small", "small"),
        _Text(pair.control_plane, "name", "name"),
        _Text("infrastructure", "small", "small"),
        _Text(pair.infrastructure, "name", "name"),
    ]
    return [part for line in lines for part in _wrapped(line)]


def _card(edge: Edge) -> list[_Text]:
    lines = [_Text(edge.name, "name", "name")]
    if edge.verdict:
        lines.append(_Text(_SAYS[edge.verdict], "text", "verdict"))
    lines += [_Text(note) for note in edge.notes if note != _SAYS[edge.verdict]]
    return [part for line in lines for part in _wrapped(line)]


def _size(lines: Sequence[_Text]) -> layout.Size:
    return layout.Size(
        width=round(max(line.width for line in lines) + 2 * _PADDING),
        height=round(sum(line.height for line in lines) + 2 * _PADDING),
    )


def _width(text: str, size: str) -> float:
    """How wide a text may get, in pixels: as in the widest of the common fonts, in bold."""
    return sum(map(_letter, text)) * _SIZES[size]


def _letter(one: str) -> float:
    if not one.isascii():
        return 1.3
    if one in _NARROW:
        return 0.5
    if one in _WIDE:
        return 1.12
    return 0.86 if one.isupper() else 0.72


def _wrapped(line: _Text, widest: float = _WIDEST) -> list[_Text]:
    """The same text in lines that are no wider than that; a word that is too long is cut."""
    lines: list[str] = []
    current = ""
    for word in document.plain(line.text).split():
        longer = f"{current} {word}" if current else word
        if _width(longer, line.size) <= widest:
            current = longer
            continue
        if current:
            lines.append(current)
        current = ""
        for one in word:
            if current and _width(current + one, line.size) > widest:
                lines.append(current)
                current = ""
            current += one
    lines += [current] if current else []
    return [_Text(text, line.size, line.style) for text in lines or ["-"]]


def _group(kind: str, told: str) -> list[str]:
    return [f'<g class="{kind}">', f"<title>{_escaped(told)}</title>"]


def _boxed(lines: Sequence[_Text], box: layout.Box, left: float, top: float) -> list[str]:
    x, y = box.x + left, box.y + top
    inside = sum(line.height for line in lines)
    rect = (
        f'<rect class="box" x="{_number(x)}" y="{_number(y)}" width="{_number(box.width)}" '
        f'height="{_number(box.height)}" rx="8"/>'
    )
    return [rect, *_texts(lines, x + _PADDING, y + (box.height - inside) / 2)]


def _texts(lines: Sequence[_Text], x: float, y: float) -> list[str]:
    drawn = []
    for line in lines:
        # The base line: what hangs below it takes about a third of what is left.
        base = y + line.height / 2 + _SIZES[line.size] * 0.35
        style = f' class="{line.style}"' if line.style else ""
        drawn.append(f'<text{style} x="{_number(x)}" y="{_number(base)}">{_escaped(line.text)}</text>')
        y += line.height
    return drawn


def _line(line: layout.Line, left: float, top: float) -> list[str]:
    points = [(x + left, y + top) for x, y in line.points]
    drawn = []
    if line.head != "none":
        at = 0 if line.head == "left" else -1
        tip = points[at]
        back = tip[0] + _HEAD if line.head == "left" else tip[0] - _HEAD
        points[at] = (back, tip[1])
        corners = (tip, (back, tip[1] - _HEAD / 2), (back, tip[1] + _HEAD / 2))
        drawn.append(f'<polygon class="head" points="{" ".join(_point(one) for one in corners)}"/>')
    path = f"M{_point(points[0])}"
    for number in range(0, len(points), 2):
        begin, end = points[number], points[number + 1]
        middle = (begin[0] + end[0]) / 2
        level = f"L{_point(begin)}" if number else ""
        path += f"{level}C{_point((middle, begin[1]))} {_point((middle, end[1]))} {_point(end)}"
    return [f'<path class="line" d="{path}"/>', *drawn]


def _description(found: Iterable[Edge], here: TopologyPair, above: Iterable[_Text]) -> Iterable[str]:
    caption = " ".join(line.text for line in above)
    if caption:
        yield f"{caption}."
    yield f"{_named(here, here)}."
    for edge in found:
        yield f"{_told(edge)}."


def _named(pair: TopologyPair, here: TopologyPair) -> str:
    place = f"control plane {pair.control_plane}, infrastructure {pair.infrastructure}"
    return f"The cluster is here: {place}" if pair == here else place[0].upper() + place[1:]


def _told(edge: Edge) -> str:
    way = f"{edge.name} leads from {edge.source} to {edge.target}"
    if not edge.verdict:
        return f"{way}; it does not start where the cluster is"
    rest = edge.details or tuple(note for note in edge.notes if note != _SAYS[edge.verdict])
    return f"{way}: {_SAYS[edge.verdict]}{' (' if rest else ''}{'; '.join(rest)}{')' if rest else ''}"


def _escaped(text: str) -> str:
    return html.escape(document.plain(text), quote=True)


def _point(one: layout.Point) -> str:
    return f"{_number(one[0])},{_number(one[1])}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
