"""Lines and tables on a terminal: relative seconds, a subject, a sentence; colours only where they are seen.

Colours are on when the stream is a terminal and NO_COLOR is not set (any value counts) and TERM is not `dumb`. On a
terminal long sentences are wrapped under themselves; in a file or pipe a line stays a line, for grep.
"""

import os
import shutil
import textwrap
import time
from typing import Any, TextIO

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_MARKS = {"Met": ("✓", "+", "green"), "Unmet": ("✗", "x", "red"), "Unknown": ("?", "?", "yellow")}
_INDENT = 21


class Terminal:
    """Writes the story. Times are counted from its creation."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._colours = self._is_terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began

    def paint(self, text: str, colour: str) -> str:
        """Return the text in a colour, or as it is."""
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self._colours else text

    def mark(self, status: str) -> str:
        """Return the sign of a check's status."""
        sign, plain, colour = _MARKS.get(status, _MARKS["Unknown"])
        encoding = (self._stream.encoding or "ascii").lower()
        return self.paint(sign if encoding.startswith("utf") else plain, colour)

    def say(self, subject: str, text: str, colour: str = "") -> None:
        """Print one line of the story."""
        when = self.paint(f"{self.seconds:6.1f}s", "dim")
        shown = self.paint(f"{subject:<12}", colour) if colour else f"{subject:<12}"
        body = " ".join(text.split())
        if self._is_terminal:
            width = max(40, shutil.get_terminal_size().columns - _INDENT - 1)
            lines = textwrap.wrap(body, width, break_long_words=False, break_on_hyphens=False)
            body = ("\n" + " " * _INDENT).join(lines)
        self.print(f"{when} {shown} {body}")

    def print(self, text: str = "") -> None:
        """Print as it is."""
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        self._stream.flush()


def layout(table: dict[str, Any]) -> str:
    """Lay a meta.k8s.io/v1 Table out as `kubectl get` does: columns that are always shown, three spaces between."""
    shown = [number for number, column in enumerate(table["columnDefinitions"]) if not column.get("priority")]
    lines = [[str(table["columnDefinitions"][number]["name"]).upper() for number in shown]]
    rows = [[row["cells"][number] for number in shown] for row in table.get("rows") or []]
    lines += [["" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("   ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
