"""The graph as a picture: one self-contained SVG, which needs no other program, font, script or address.

Three columns: where transitions start, a card for each transition, where they lead. Lines run between two columns
only, so none crosses a box. What colour says is said without it too: a transition that is possible has a thick line and
a tick, a blocked one dashes and a bar, one whose checks could not be read dashes with dots between and a question mark,
one that is not for this cluster dots and a cross; a word stands beside each.

Each group carries its look in attributes, because librsvg and its like know neither variables nor the viewer's
preference; the style only says what differs in the dark. The description says everything that is shown, so the picture
can be read aloud. In a monospaced font the width of a text is known without measuring it. Nothing has an id, so several
can stand in one page. Pure.
"""

from __future__ import annotations

import html
import itertools
import math
import statistics
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from topology_controller import terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from topology_api.types import TopologyPair

    from .edge import Edge

    _Places = Mapping[TopologyPair, "_Box"]

Text = tuple[str, str]
"""A line of text, and its style: a key of _SIZES."""
_MARGIN, _PADDING, _GAP, _CHANNEL, _HEAD, _LEAST = 24, 12, 22, 60, 9, 560
"""Pixels: around everything, in a box, between two boxes, between two columns, of an arrow; and the least width."""
_LETTERS = 34
"""Of a line of text, at most."""
_LETTER, _LINE = 0.62, 1.5
"""Width of a letter and height of a line, in font sizes."""
_SIZES: Final = {"heading": 14, "name": 13, "text": 12, "verdict": 12, "marked": 12, "small": 11}
_MARK = 18
"""Pixels before a text that has a mark."""
_FONT: Final = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_HERE: Final = ("the cluster is here", "verdict")


@dataclass(frozen=True, slots=True)
class _Look:
    """How transitions of one verdict are drawn: a word, a mark as a path, the lines, and whether the arrow is full."""

    kind: str
    word: str
    mark: str
    width: float
    dashes: str = ""
    full: bool = False


_RING: Final = "M0,6a6,6 0 1 0 12,0a6,6 0 1 0 -12,0Z"
_LOOKS: Final = {
    "Possible": _Look("possible", "possible", f"{_RING}M3,6.2l2.2,2.3l3.8,-4.6", 2.5, full=True),
    "Blocked": _Look("blocked", "blocked", f"{_RING}M3,6h6", 2, "9 5"),
    "CannotTell": _Look("unknown", "cannot tell", f"{_RING}M4,4.6a2,2 0 1 1 2.6,2L6,7.4m0,1.6v0.6", 2, "9 4 2 4"),
    "Unsupported": _Look("elsewhere", "not for this cluster", f"{_RING}M3.7,3.7l4.6,4.6m0,-4.6l-4.6,4.6", 2, "2 4"),
    "": _Look("distant", "starts elsewhere", "", 1),
}
VERDICTS: Final = tuple(_LOOKS)
_PLACE: Final = _Look("place", "", "", 1.5)
_IS_HERE: Final = _Look("here", "", "", 2.5)
LIGHT: Final = {
    "paper": "#ffffff", "ink": "#1b1f24", "muted": "#57606a",
    "here": "#0b4f99", "possible": "#116329", "blocked": "#a40e26",
    "unknown": "#7a4d00",
}  # fmt: skip
DARK: Final = {
    "paper": "#0d1117", "ink": "#e6edf3", "muted": "#9da7b3",
    "here": "#79b8ff", "possible": "#56d364", "blocked": "#ff938a",
    "unknown": "#e3b341",
}  # fmt: skip
TINT: Final = 0.08
"""How much of its colour a box has."""


@dataclass(slots=True)
class _Box:
    """Lines of text in a frame. `x` and `y` are its upper left corner."""

    lines: list[Text]
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0

    @property
    def height(self) -> float:
        return _height(self.lines) + 2 * _PADDING

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    def ports(self, count: int) -> Iterator[float]:
        """The heights at which so many lines meet its side."""
        return (self.y + self.height * number / (count + 1) for number in range(1, count + 1))


def svg(edges: Iterable[Edge], here: TopologyPair, caption: Iterable[str] = ()) -> str:
    """The graph as an SVG document. `caption`: lines above it, such as which cluster this is."""
    edges = sorted(edges, key=lambda edge: edge.source != here)
    sources, targets = [edge.source for edge in edges], [edge.target for edge in edges]
    alone = [] if here in {*sources, *targets} else [here]
    left = {pair: _Box(_place(pair, is_here=pair == here)) for pair in [*alone, *sources]}
    right = {pair: _Box(_place(pair, is_here=pair == here and pair not in left)) for pair in targets}
    edges.sort(key=lambda edge: list(left).index(edge.source))
    cards = [(edge, _Box(_card(edge))) for edge in edges]
    above = [line for text in caption for line in _wrapped(text, "text", 2 * _LETTERS)]
    above[:1] = [(text, "heading") for text, _ in above[:1]]
    top = _MARGIN + _height(above) + (_PADDING if above else 0)
    columns = _columns([left.values(), [card for _, card in cards], right.values()])
    width, height = max(columns, 2 * _MARGIN + _width(above), _LEAST), _rows(left, cards, right, top)
    leaving = {pair: box.ports(sources.count(pair)) for pair, box in left.items()}
    entering = {pair: box.ports(targets.count(pair)) for pair, box in right.items()}
    drawn = _texts(above, _MARGIN, _MARGIN)
    for edge, card in cards:
        source, tip, y = left[edge.source], right[edge.target].x, next(entering[edge.target])
        look = _LOOKS[edge.verdict]
        drawn += [
            _group(look),
            _line(source.x + source.width, next(leaving[edge.source]), card.x, card.middle),
            _line(card.x + card.width, card.middle, tip - (_HEAD if look.full else 1), y),
            _head(look, tip, y),
            *_framed(card, look),
            "</g>",
        ]
    for box in (*left.values(), *right.values()):
        look = _IS_HERE if box.lines[0] == _HERE else _PLACE
        drawn += [_group(look), *_framed(box, look), "</g>"]
    is_here = f"The cluster is here: control plane {here.control_plane}, infrastructure {here.infrastructure}"
    sentences = [*(text for text, _ in above), is_here, *map(_described, edges)]
    size = f'width="{width:.1f}" height="{height:.1f}"'
    view = f'viewBox="0 0 {width:.1f} {height:.1f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} class="topology" role="img" font-family="{_FONT}">',
        f"<title>{_escaped(f'Topology transitions of this cluster, which is at {here}')}</title>",
        f"<desc>{_escaped(' '.join(f'{sentence}.' for sentence in sentences))}</desc>",
        f"<style>\n{_in_the_dark()}</style>",
        f'<rect class="paper" {size} fill="{LIGHT["paper"]}"/>',
        *drawn,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def colour(kind: str, colours: Mapping[str, str] = LIGHT) -> str:
    """The colour of a box of this kind."""
    return colours.get(kind, colours["muted"])


def _in_the_dark() -> str:
    """What differs where the viewer prefers the dark."""
    kinds = [look.kind for look in (*_LOOKS.values(), _PLACE, _IS_HERE)]
    rules = [
        f".paper {{ fill: {DARK['paper']} }}",
        *(f".{kind} {{ fill: {colour(kind, DARK)}; stroke: {colour(kind, DARK)} }}" for kind in kinds),
        f"text {{ fill: {DARK['ink']} }}",
        f".small {{ fill: {DARK['muted']} }}",
        ".verdict, .topology .marked { fill: inherit }",
    ]
    dark = "".join(f"    .topology {rule}\n" for rule in rules)
    return f"  .topology {{ color-scheme: light dark }}\n  @media (prefers-color-scheme: dark) {{\n{dark}  }}\n"


def _columns(columns: Iterable[Iterable[_Box]]) -> float:
    """Set where the boxes of each column begin, and how wide they are. Returns the width of the whole."""
    x = float(_MARGIN)
    for column in map(list, columns):
        width = max((_width(box.lines) + 2 * _PADDING for box in column), default=-_CHANNEL)
        for box in column:
            box.x, box.width = x, width
        x += width + _CHANNEL
    return x - _CHANNEL + _MARGIN


def _rows(left: _Places, cards: Sequence[tuple[Edge, _Box]], right: _Places, top: float) -> float:
    """Set the height of each box: a place in the middle of its cards, and apart from the next. Returns the bottom."""
    y = top
    for pair, box in left.items():
        own = [card for edge, card in cards if edge.source == pair]
        tall = sum(card.height + _GAP for card in own) - _GAP
        band = max(box.height, tall)
        box.y, below = y + (band - box.height) / 2, y + (band - tall) / 2
        for card in own:
            card.y = below
            below += card.height + _GAP
        y += band + _GAP
    bottom, y = y, top
    middles = {pair: statistics.fmean(card.middle for edge, card in cards if edge.target == pair) for pair in right}
    for pair, box in sorted(right.items(), key=lambda entry: middles[entry[0]]):
        box.y = max(y, middles[pair] - box.height / 2)
        y = box.y + box.height + _GAP
    return max(bottom, y) - _GAP + _MARGIN


def _place(pair: TopologyPair, *, is_here: bool) -> list[Text]:
    control_plane, infrastructure = _wrapped(pair.control_plane, "name"), _wrapped(pair.infrastructure, "name")
    here = [_HERE] if is_here else []
    return [*here, ("control plane", "small"), *control_plane, ("infrastructure", "small"), *infrastructure]


def _card(edge: Edge) -> list[Text]:
    look = _LOOKS[edge.verdict]
    notes = [line for note in edge.notes if note != look.word for line in _wrapped(note, "text")]
    return [*_wrapped(edge.name, "name"), (look.word, "marked" if look.mark else "verdict"), *notes]


def _wrapped(text: str, style: str, letters: int = _LETTERS) -> list[Text]:
    return [(line, style) for line in textwrap.wrap(terminal.plain(text), letters, break_on_hyphens=False) or ["-"]]


def _height(lines: Iterable[Text]) -> float:
    return sum(_SIZES[style] * _LINE for _, style in lines)


def _width(lines: Iterable[Text]) -> int:
    """In pixels. A letter that is not ASCII may be as wide as two."""
    letters = ((2 * len(text) - len(text.encode("ascii", "ignore")), style) for text, style in lines)
    return math.ceil(max((count * _SIZES[style] * _LETTER + _indent(style) for count, style in letters), default=0.0))


def _indent(style: str) -> int:
    return _MARK if style == "marked" else 0


def _group(look: _Look) -> str:
    """The beginning of a group in which everything has the look of its kind."""
    drawn = colour(look.kind)
    dashes = f' stroke-dasharray="{look.dashes}"' if look.dashes else ""
    return f'<g class="{look.kind}" fill="{drawn}" stroke="{drawn}" stroke-width="{look.width:g}"{dashes}>'


def _framed(box: _Box, look: _Look) -> list[str]:
    """A box with its text, and with the mark of its verdict."""
    corner, size = f'x="{box.x:.1f}" y="{box.y:.1f}"', f'width="{box.width:.1f}" height="{box.height:.1f}"'
    x, y = box.x + _PADDING, box.y + _PADDING
    drawn = [f'<rect class="box" {corner} {size} rx="8" fill-opacity="{TINT:g}"/>', *_texts(box.lines, x, y)]
    if look.mark:
        above = itertools.takewhile(lambda line: line[1] != "marked", box.lines)
        place = f'transform="translate({x:.1f},{y + _height(above) + 2.5:.1f})"'
        plain = 'fill="none" stroke-width="1.6" stroke-dasharray="none" stroke-linecap="round"'
        drawn.append(f'<path class="mark" d="{look.mark}" {place} {plain}/>')
    return drawn


def _texts(lines: Iterable[Text], x: float, y: float) -> list[str]:
    drawn = []
    for text, style in lines:
        # The base line: what hangs below it takes about a third of what is left.
        base = y + _SIZES[style] * (_LINE / 2 + 0.35)
        place = f'x="{x + _indent(style):.1f}" y="{base:.1f}"'
        own = {"small": f' fill="{LIGHT["muted"]}"', "verdict": "", "marked": ""}.get(style, f' fill="{LIGHT["ink"]}"')
        weight = "" if style in {"text", "small"} else ' font-weight="600"'
        look = f'font-size="{_SIZES[style]}"{weight}{own} stroke="none"'
        drawn.append(f'<text class="{style}" {place} {look}>{_escaped(text)}</text>')
        y += _SIZES[style] * _LINE
    return drawn


def _head(look: _Look, x: float, y: float) -> str:
    """The arrow, with its tip at x and y."""
    half, solid = _HEAD / 2, 'stroke-dasharray="none"'
    if look.full:
        return f'<path class="head" d="M{x:.1f},{y:.1f}l-{_HEAD},-{half}v{_HEAD}Z" stroke="none"/>'
    return f'<path class="head" d="M{x:.1f},{y:.1f}l-{_HEAD},-{half}m0,{_HEAD}l{_HEAD},-{half}" fill="none" {solid}/>'


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    middle = (x + to_x) / 2
    points = f"M{x:.1f},{y:.1f}C{middle:.1f},{y:.1f} {middle:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f}"
    return f'<path class="line" d="{points}" fill="none"/>'


def _described(edge: Edge) -> str:
    way = f"{edge.name} leads from {edge.source} to {edge.target}"
    if not edge.verdict:
        return f"{way}; it does not start where the cluster is"
    word = _LOOKS[edge.verdict].word
    rest = "; ".join(edge.details or (note for note in edge.notes if note != word))
    return f"{way}: {word} ({rest})" if rest else f"{way}: {word}"


def _escaped(text: str) -> str:
    return html.escape(terminal.plain(text), quote=True)
