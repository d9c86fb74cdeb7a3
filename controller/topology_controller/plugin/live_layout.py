"""Making things fit a terminal of any size: rows of different importance, into exactly so many lines. Pure.

Each row knows how it looks in full and in one line, and how important it is. `fit` gives the lines that there are to
what matters most, and says at the bottom how many rows are hidden. It knows nothing of what stands in them: that is
`live_view`.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

Line = Text

_NARROW = 64
_LINES = Console(file=io.StringIO(), width=80)
"""Wrapping asks for a console, and asks nothing of it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What is drawn into: columns, lines, the time (aware UTC), and whether only ASCII can be shown."""

    width: int
    height: int
    now: datetime
    ascii_only: bool = False

    @property
    def dots(self) -> str:
        """What stands for what was cut off."""
        return "..." if self.ascii_only else "…"

    @property
    def narrow(self) -> bool:
        """Too narrow for columns beside one another."""
        return self.width < _NARROW

    def cut(self, line: Line) -> Line:
        """A line that is no wider than this."""
        if line.cell_len <= self.width:
            return line
        found = line.copy()
        found.truncate(max(self.width - len(self.dots), 0), overflow="crop")
        found.append(self.dots[: self.width])
        return found

    def wrapped(self, line: Line, indent: int = 0) -> tuple[Line, ...]:
        """The same in lines that are no wider, those after the first indented."""
        if line.cell_len <= self.width:
            return (line,)
        indent = min(indent, self.width // 2)
        first, *_ = line.wrap(_LINES, self.width, overflow="fold")
        rest = line[len(first.plain) :]
        rest = rest[len(rest.plain) - len(rest.plain.lstrip()) :]
        more: list[Text] = list(rest.wrap(_LINES, max(self.width - indent, 1), overflow="fold")) if rest.plain else []
        return (first, *(Text(" " * indent) + one for one in more))


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that is shown: in full, or in one line when there is no room. The lower the rank, the longer it stays.

    Rank 0 stays whatever happens. What makes no sense when it is cut has no `short`: it is shown in full or not at all.
    `later` is what its other lines are less important by than the first.
    """

    rank: int
    full: tuple[Line, ...]
    short: Line | None
    later: int = 3


@dataclass(frozen=True, slots=True)
class Part:
    """Rows under a title; a title without rows is not shown. The first part has no title."""

    title: str
    rows: tuple[Row, ...]


def elapsed(seconds: float) -> str:
    """A length of time: 45s, 12m 03s, 3h 05m, 2d 4h."""
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02}m"
    return f"{whole // 86400}d {whole % 86400 // 3600}h"


def fit(parts: Sequence[Part], frame: Frame) -> list[Line]:
    """The lines of these parts that fit, with a last line that says how many rows do not."""
    if frame.height < 1:
        return []
    room = frame.height - 1
    rows = [row for part in parts for row in part.rows]
    kept, whole, left = _chosen(parts, room)
    gaps = left >= sum(any(id(row) in kept for row in part.rows) for part in parts) - 1
    lines = _lines(parts, kept, whole, frame, gaps=gaps)[:room]
    if gaps and len(lines) < room:
        lines.append(Text())
    return [*lines, _foot(len(rows) - len(kept), frame)]


def _chosen(parts: Sequence[Part], room: int) -> tuple[set[int], set[int], int]:
    """Rows that are shown, those of them that are shown in full, and the lines that are left then; rows by identity.

    Each row competes twice: with one line by its rank, and with its other lines a little later. So what is wrong is
    told in full before what is right is told at all.
    """
    offers = [(row.rank, number, part, row) for number, part in enumerate(parts) for row in part.rows]
    offers += [
        (rank + row.later, number, part, row)
        for rank, number, part, row in offers
        if len(row.full) > 1 and row.short is not None
    ]
    kept: set[int] = set()
    whole: set[int] = set()
    titled: set[int] = set()
    for rank, number, part, row in sorted(offers, key=lambda offer: offer[:2]):
        again = id(row) in kept
        title = bool(part.title) and number not in titled
        size = len(row.full) - 1 if again else title + (len(row.full) if row.short is None else 1)
        if (size > room and rank) or (rank != row.rank and not again):
            continue
        room -= size
        (whole if again else kept).add(id(row))
        titled.add(number)
    return kept, whole, room


def _lines(parts: Sequence[Part], kept: set[int], whole: set[int], frame: Frame, *, gaps: bool) -> list[Line]:
    lines: list[Line] = []
    for part in parts:
        rows = [row for row in part.rows if id(row) in kept]
        if not rows:
            continue
        if gaps and lines:
            lines.append(Text())
        if part.title:
            lines.append(frame.cut(Text(part.title, "bold")))
        for row in rows:
            lines += row.full if row.short is None or id(row) in whole else (row.short,)
    return lines


def _foot(hidden: int, frame: Frame) -> Line:
    rows = "1 row is hidden" if hidden == 1 else f"{hidden} rows are hidden"
    text = f"{rows}: kubectl topology status shows all. Ctrl-C ends" if hidden else "Ctrl-C ends"
    return frame.cut(Text(text, "dim"))
