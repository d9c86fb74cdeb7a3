"""Where the boxes and lines of a small directed graph go, so that nothing lies upon anything else.

Columns from left to right: places in every other one, and between them a card for each link, because a link of ours
has more to say than a line can carry. A link over several columns keeps a free lane in each of them. So lines bend in
the channels between two columns only, where there are no boxes, and no line ever runs through a box. A link that leads
back (a cycle) is laid out the other way round, and drawn with its head at the left.

Everything is in pixels, y downwards; equal input gives equal output. Quick enough for some hundred boxes, not meant
for more. Pure geometry: `svg` measures text and draws.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

CHANNEL: Final = 60
"""Width of the space between two columns, where lines bend."""
_GAP: Final = 22
_PORT: Final = 12
"""Least distance of two lines at the side of a box."""
_SWEEPS: Final = 8

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Size:
    """What a box needs at least."""

    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Link:
    """From one place to another, by their positions; `card` is the size of what it has to say."""

    source: int
    target: int
    card: Size


@dataclass(frozen=True, slots=True)
class Box:
    """Where a box lies, by its upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line between a place and a card: points two by two, from the edge of a column to the edge of the next.

    From left to right: between the two points of a pair it bends, between two pairs it runs level. `head` says at which
    end it has an arrow; the half of a link that does not reach its target has none.
    """

    link: int
    points: tuple[Point, ...]
    head: Literal["left", "right", "none"]


@dataclass(frozen=True, slots=True)
class Laid:
    """The whole drawing, whose upper left corner is 0, 0."""

    width: float
    height: float
    places: tuple[Box, ...]
    cards: tuple[Box, ...]
    lines: tuple[Line, ...]


@dataclass(slots=True, eq=False)
class _Slot:
    """A place, a card, or the lane that a link keeps free in a column (of height 0)."""

    size: Size
    rank: int
    lefts: list[_Slot] = field(default_factory=list)
    rights: list[_Slot] = field(default_factory=list)
    y: float = 0.0
    """Of its middle."""
    height: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """One bend of a link, from a slot to one in the next column."""

    left: _Slot
    right: _Slot


def lay(places: Sequence[Size], links: Sequence[Link]) -> Laid:
    """Lay out a graph. Has an answer for every graph: cycles, several links between two places, links to itself."""
    ranks, turned = _ranks(len(places), links)
    slots = [_Slot(size, rank) for size, rank in zip(places, ranks, strict=True)]
    cards: list[_Slot] = []
    lanes: list[_Slot] = []
    halves: list[tuple[Line, tuple[_Step, ...]]] = []
    for number, link in enumerate(links):
        left, right = slots[link.source], slots[link.target]
        back = number in turned
        if back:
            left, right = right, left
        card = _Slot(link.card, left.rank + 1)
        between = [_Slot(Size(0, 0), rank) for rank in range(card.rank + 1, right.rank)]
        cards.append(card)
        lanes += between
        halves.append((Line(number, (), "left" if back else "none"), (_Step(left, card),)))
        if left is right:
            halves.append((Line(number, (), "left"), (_Step(left, card),)))
            continue
        rest = tuple(_Step(one, other) for one, other in itertools.pairwise((card, *between, right)))
        halves.append((Line(number, (), "none" if back else "right"), rest))
    steps = [step for _, half in halves for step in half]
    for step in steps:
        step.left.rights.append(step.right)
        step.right.lefts.append(step.left)
    columns = _columns([*slots, *cards, *lanes])
    edges = _arrange(columns)
    ports = _ports(steps)
    lines = [dataclasses.replace(line, points=_points(half, ports, edges)) for line, half in halves]
    every = [*slots, *cards]
    return Laid(
        width=max((end for _, end in edges.values()), default=0.0),
        height=max((one.y + one.height / 2 for one in (*every, *lanes)), default=0.0),
        places=tuple(_box(one, edges) for one in slots),
        cards=tuple(_box(one, edges) for one in cards),
        lines=tuple(lines),
    )


def _ranks(count: int, links: Sequence[Link]) -> tuple[list[int], frozenset[int]]:
    """The column of each place, and the links that have to be turned round so that all others lead to the right."""
    order, turned = _walked(count, links)
    ahead: list[list[int]] = [[] for _ in range(count)]
    for number, link in enumerate(links):
        if link.source != link.target:
            left, right = (link.target, link.source) if number in turned else (link.source, link.target)
            ahead[left].append(right)
    ranks = [0] * count
    for place in order:
        for other in ahead[place]:
            ranks[other] = max(ranks[other], ranks[place] + 2)
    entered = {other for others in ahead for other in others}
    for place, others in enumerate(ahead):
        if others and place not in entered:
            ranks[place] = min(ranks[other] for other in others) - 2
    return ranks, turned


def _walked(count: int, links: Sequence[Link]) -> tuple[list[int], frozenset[int]]:
    """Places in an order in which each comes before those that it leads to, but for the links that are turned round.

    A walk in depth: a link to a place that the walk has entered and not yet left closes a cycle.
    """
    leaving: list[list[int]] = [[] for _ in range(count)]
    for number, link in enumerate(links):
        if link.source != link.target:
            leaving[link.source].append(number)
    turned: set[int] = set()
    left: list[int] = []
    entered: set[int] = set()
    for start in range(count):
        path = [] if start in entered else [(start, iter(leaving[start]))]
        entered.add(start)
        while path:
            place, rest = path[-1]
            found = next(rest, None)
            if found is None:
                left.append(place)
                path.pop()
                continue
            other = links[found].target
            if other not in entered:
                entered.add(other)
                path.append((other, iter(leaving[other])))
            elif any(other == one for one, _ in path):
                turned.add(found)
    return left[::-1], frozenset(turned)


def _columns(slots: Sequence[_Slot]) -> dict[int, list[_Slot]]:
    """The slots of each column from top to bottom, so that few lines cross."""
    columns: dict[int, list[_Slot]] = {rank: [] for rank in sorted({slot.rank for slot in slots})}
    for slot in slots:
        columns[slot.rank].append(slot)
        lines = max(len(slot.lefts), len(slot.rights))
        slot.height = max(slot.size.height, _PORT * (lines + 1)) if slot.size.width else 0.0
    for sweep in range(_SWEEPS):
        places = {slot: index for column in columns.values() for index, slot in enumerate(column)}
        ranks = list(columns) if sweep % 2 == 0 else list(reversed(columns))
        for rank in ranks:
            column = columns[rank]
            wanted = {slot: _mean([places[one] for one in _seen(slot, sweep)], places[slot]) for slot in column}
            column.sort(key=lambda slot: wanted[slot])
            places |= {slot: index for index, slot in enumerate(column)}
    return columns


def _seen(slot: _Slot, sweep: int) -> list[_Slot]:
    return slot.lefts if sweep % 2 == 0 else slot.rights


def _mean(found: Sequence[float], otherwise: float) -> float:
    return sum(found) / len(found) if found else otherwise


def _arrange(columns: dict[int, list[_Slot]]) -> dict[int, tuple[float, float]]:
    """Give every slot its middle; return where each column begins and ends."""
    edges: dict[int, tuple[float, float]] = {}
    begin = 0.0
    for rank, column in columns.items():
        end = begin + max(slot.size.width for slot in column)
        edges[rank] = (begin, end)
        begin = end + CHANNEL
        _stack(column, [0.0] * len(column))
    for sweep in range(_SWEEPS):
        ranks = list(columns) if sweep % 2 == 0 else list(reversed(columns))
        for rank in ranks:
            column = columns[rank]
            _stack(column, [_mean([one.y for one in (*slot.lefts, *slot.rights)], slot.y) for slot in column])
    every = [slot for column in columns.values() for slot in column]
    top = min((slot.y - slot.height / 2 for slot in every), default=0.0)
    for slot in every:
        slot.y = round(slot.y - top, 1)
    return edges


def _stack(column: Sequence[_Slot], wanted: Sequence[float]) -> None:
    """Put slots as near as possible to where they are wanted, in their order and apart from each other.

    Pushed down where they would touch, or pushed up: the mean of the two keeps them apart as well, and favours nobody.
    """
    down: list[float] = []
    for index, slot in enumerate(column):
        least = down[-1] + _apart(column[index - 1], slot) if down else wanted[index]
        down.append(max(wanted[index], least))
    up: list[float] = []
    for index in reversed(range(len(column))):
        most = up[-1] - _apart(column[index], column[index + 1]) if up else wanted[index]
        up.append(min(wanted[index], most))
    for slot, one, other in zip(column, down, reversed(up), strict=True):
        slot.y = (one + other) / 2


def _apart(one: _Slot, other: _Slot) -> float:
    return (one.height + other.height) / 2 + _GAP


def _ports(steps: Sequence[_Step]) -> dict[tuple[_Slot, _Step], float]:
    """At which height each bend meets the slots at its ends: spread over the side, in the order of the other ends."""
    sides: dict[tuple[_Slot, bool], list[_Step]] = {}
    for step in dict.fromkeys(steps):
        sides.setdefault((step.left, True), []).append(step)
        sides.setdefault((step.right, False), []).append(step)
    found: dict[tuple[_Slot, _Step], float] = {}
    for (slot, leaves), meeting in sides.items():
        meeting.sort(key=lambda step: (step.right if leaves else step.left).y)
        for index, step in enumerate(meeting, 1):
            found[slot, step] = slot.y + slot.height * (index / (len(meeting) + 1) - 0.5)
    return found


def _points(
    half: Sequence[_Step], ports: dict[tuple[_Slot, _Step], float], edges: dict[int, tuple[float, float]]
) -> tuple[Point, ...]:
    points: list[Point] = []
    for step in half:
        points.append((edges[step.left.rank][1], ports[step.left, step]))
        points.append((edges[step.right.rank][0], ports[step.right, step]))
    return tuple(points)


def _box(slot: _Slot, edges: dict[int, tuple[float, float]]) -> Box:
    begin, end = edges[slot.rank]
    return Box(begin, slot.y - slot.height / 2, end - begin, slot.height)
