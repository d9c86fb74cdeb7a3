"""Text for a terminal of any width, or for a pipe: titles, fields, tables.

Whoever prints says what is what; how wide it may be and whether colour is welcome is decided here, once. A pipe gets
whole lines and no colour; COLUMNS and NO_COLOR are respected as everywhere. Colour only repeats what a word says.
Everything that a cluster has said goes through `plain`: a message of another operator must not move somebody's cursor.
"""

from __future__ import annotations

import os
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_NARROW = 64
_LEAST = 24
_BOLD: Final = "1"
_COLOURS: Final = {
    "Met": "32", "Possible": "32", "Fulfilled": "32", "Completed": "32", "Running": "32", "Written": "32",
    "Unmet": "31", "Blocked": "31", "Unsupported": "31", "Stuck": "31", "Refused": "31",
    "NotRunning": "31", "NotInstalled": "31",
    "Unknown": "33", "Pending": "33", "Admitting": "33", "UnderWay": "36", "Converging": "36",
}  # fmt: skip


def plain(text: str) -> str:
    """One line without anything that a terminal would obey."""
    return "".join(one if one.isprintable() else " " for one in text)


@dataclass(slots=True)
class Paper:
    """Collects lines. `width` is in columns, 0 means that lines may be as long as they like."""

    width: int = 0
    colour: bool = False
    _lines: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str] = os.environ) -> Paper:
        """Paper that suits a stream."""
        terminal = stream.isatty()
        columns = environ.get("COLUMNS", "")
        width = int(columns) if columns.isascii() and columns.isdigit() else _columns(stream) if terminal else 0
        dull = environ.get("NO_COLOR") or environ.get("TERM") == "dumb"
        return cls(max(width, _LEAST) if width else 0, colour=terminal and not dull)

    def gap(self) -> None:
        """Leave a line, but never two."""
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def title(self, text: str) -> None:
        """Begin a part."""
        self.gap()
        self._lines.append(self._painted(plain(text), _BOLD))

    def say(self, text: str, indent: int = 0) -> None:
        """Write a sentence."""
        self._lines += self._wrapped(plain(text), " " * indent, " " * indent)

    def command(self, text: str, indent: int = 2) -> None:
        """Write a command: never broken, since it is there to be copied."""
        self._lines.append(" " * indent + plain(text))

    def fields(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Write names and values, the values aligned."""
        self.table([(name, value) for name, value in pairs if value], indent=0)

    def table(self, rows: Sequence[tuple[str, ...]], indent: int = 2) -> None:
        """Write rows. The last column is wrapped within itself; on a narrow terminal it gets lines of its own."""
        cleaned = [tuple(map(plain, row)) for row in rows]
        if not cleaned:
            return
        wide = [max(len(row[index]) for row in cleaned) for index in range(len(cleaned[0]) - 1)]
        room = self.width - indent - sum(wide) - 2 * len(wide)
        cramped = room < _LEAST or (self.width < _NARROW and room < self.width * 0.6)
        for row in cleaned:
            *first, last = row
            begin = " " * indent + "".join(f"{cell:<{size}}  " for cell, size in zip(first, wide, strict=True))
            if self.width and cramped and len(begin) + len(last) > self.width:
                self._lines.append(self._marked(" " * indent + "  ".join(cell for cell in first if cell)))
                self._lines += self._wrapped(last, " " * (indent + 4), " " * (indent + 4))
                continue
            wrapped = self._wrapped(last, begin, " " * len(begin)) if last else [begin]
            self._lines += [self._marked(line.rstrip()) for line in wrapped[:1]] + wrapped[1:]

    def bar(self, have: int, total: int) -> str:
        """A progress bar of ten or twenty characters."""
        size = 10 if self.width and self.width < _NARROW else 20
        done = size * have // total if total else 0
        return f"[{'#' * done}{'-' * (size - done)}]"

    def text(self) -> str:
        """Everything, ending with a line break."""
        return "\n".join(self._lines).rstrip("\n") + "\n"

    def _wrapped(self, text: str, first: str, following: str) -> list[str]:
        if not self.width:
            return [first + text]
        return textwrap.wrap(
            text,
            max(self.width, len(following) + _LEAST),
            initial_indent=first,
            subsequent_indent=following,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [first.rstrip()]

    def _marked(self, line: str) -> str:
        """Paint the first word of a line that has a colour."""
        if not self.colour:
            return line
        for word in line.split():
            if word in _COLOURS:
                begin, _, end = line.partition(word)
                return begin + self._painted(word, _COLOURS[word]) + end
        return line

    def _painted(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return 0
