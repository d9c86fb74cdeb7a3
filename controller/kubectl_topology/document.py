"""What a verb prints: sections of rows, and their text for a terminal of any width or for a pipe.

Width and colour are decided here, once: a pipe gets whole lines and no colour; COLUMNS and NO_COLOR are respected.
Everything goes through `terminal.plain` when it is added: a message of another operator must not move a cursor.
Commands are named as this person can type them (`naming`), and are never broken: a line that is too long is folded by
the terminal, which knows that it is one line when it is copied.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TextIO

from topology_controller import terminal

from . import naming

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LEAST: Final = 24
"""Columns that the last cell needs beside others; with less it stands below them."""
_CUT: Final = " ..."
_TOGETHER: Final = "\N{NO-BREAK SPACE}"
"""Stands for a space that no line ends at. `terminal.plain` leaves none in a text."""
_RED, _GREEN, _YELLOW, _CYAN = "31", "32", "33", "36"
COLOURS: Final = {
    **dict.fromkeys(("Met", "Possible", "Fulfilled", "Completed", "Running", "Written", "Nothing"), _GREEN),
    **dict.fromkeys(("Unmet", "Blocked", "Unsupported", "Stuck", "Refused", "NotRunning", "NotInstalled"), _RED),
    **dict.fromkeys(("Unknown", "Pending", "Admitting", "Cannot"), _YELLOW),
    **dict.fromkeys(("UnderWay", "Under", "Converging"), _CYAN),
}


@dataclass(frozen=True, slots=True)
class Row:
    """Cells, of which the last is wrapped within itself. A command is never broken: it is there to be copied."""

    cells: tuple[str, ...]
    indent: int = 2
    command: bool = False
    lines: int | None = None
    """How many the last cell may take, beside the others or below them; None: as many as it needs."""


def command(text: str, indent: int = 2) -> Row:
    """A row that is there to be copied."""
    return Row((text,), indent, command=True)


@dataclass(slots=True)
class Document:
    """Titles with rows, in the order in which they are added. `width` is in columns; 0 means lines of any length."""

    width: int = 0
    colour: bool = False
    caller: naming.Caller = field(default_factory=naming.Caller)
    sections: list[tuple[str, tuple[Row, ...]]] = field(default_factory=list)
    whole: bool = False
    """`-o wide`: nothing is left out or cut."""

    @classmethod
    def for_stream(cls, stream: TextIO, environ: Mapping[str, str] = os.environ) -> Document:
        """A document that suits a stream."""
        is_terminal, columns, width = stream.isatty(), environ.get("COLUMNS", ""), 0
        with contextlib.suppress(OSError, ValueError):
            width = os.get_terminal_size(stream.fileno()).columns if is_terminal else 0
        width = int(columns) if columns.isascii() and columns.isdigit() else width
        dull = environ.get("NO_COLOR") or environ.get("TERM") == "dumb"
        return cls(max(width, LEAST) if width else 0, colour=is_terminal and not dull, caller=naming.caller())

    def add(self, title: str, rows: Iterable[Row | tuple[str, ...] | str]) -> None:
        """Add a section, unless it has no rows. Cells and sentences get an indent below a title."""
        indent = 2 if title else 0
        whole = (row if isinstance(row, Row) else Row((row,) if isinstance(row, str) else row, indent) for row in rows)
        clean = tuple(dataclasses.replace(row, cells=tuple(map(self._clean, row.cells))) for row in whole)
        if clean:
            self.sections.append((self._clean(title), clean))

    def _clean(self, text: str) -> str:
        plain = terminal.plain(text)
        return naming.COMMAND.sub(lambda match: self.caller.command(match[0]).replace(" ", _TOGETHER), plain)

    def text(self) -> str:
        """Everything, ending with a line break."""
        lines: list[str] = []
        for title, rows in self.sections:
            lines += [""] if lines else []
            lines += [self.painted(title, "1")] if title else []
            # Rows that follow each other and have as many cells share their columns; the last has no width.
            for _, group in itertools.groupby(rows, lambda row: (row.indent, row.command, len(row.cells))):
                table = list(group)
                columns = [max(map(len, column)) for column in zip(*(row.cells[:-1] for row in table), strict=True)]
                lines += [line for row in table for line in self._lines(row, columns)]
        return "\n".join(lines).replace(_TOGETHER, " ") + "\n"

    def _lines(self, row: Row, columns: Sequence[int]) -> list[str]:
        """A row in a table with columns of these widths; with too little space the last cell stands below them."""
        indent = " " * row.indent
        *first, last = row.cells
        if row.command:
            return [indent + last]
        if not first:
            return self._wrapped(last, indent, indent, row.lines)
        begin = indent + "".join(f"{cell:<{size}}  " for cell, size in zip(first, columns, strict=True))
        space = self.width - len(begin)
        cramped = space < LEAST or (self.width < 64 and space < self.width * 0.6)
        if row.lines and not cramped:
            # A name that does not fit beside the others fits below them.
            cramped = any(len(word + _CUT) > space for word in last.split(" ") if _TOGETHER not in word)
        if self.width and cramped and len(last) > space:
            margin = " " * (row.indent + 4)
            fits = len(begin.rstrip()) <= self.width
            names = [begin.rstrip()] if fits else self._wrapped("  ".join(filter(None, first)), indent, margin)
            names[0] = self._marked(names[0])
            return [*names, *self._wrapped(last, margin, margin, row.lines)] if last else names
        lines = self._wrapped(last, begin, " " * len(begin), row.lines) if last else [begin]
        return [self._marked(lines[0].rstrip()), *lines[1:]]

    def _wrapped(self, text: str, first: str, following: str, most: int | None = None) -> list[str]:
        if not self.width:
            return [first + text]
        lines = textwrap.wrap(
            text,
            max(self.width, len(following) + LEAST),
            initial_indent=first,
            subsequent_indent=following,
            break_long_words=False,
            break_on_hyphens=False,
            max_lines=None if self.whole else most,
            placeholder=_CUT,
        )
        return lines or [first.rstrip()]

    def _marked(self, line: str) -> str:
        for word in line.split():
            if word in COLOURS:
                begin, _, end = line.partition(word)
                return begin + self.painted(word, COLOURS[word]) + end
        return line

    def painted(self, text: str, code: str) -> str:
        """The text in a colour, where there are colours."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text
