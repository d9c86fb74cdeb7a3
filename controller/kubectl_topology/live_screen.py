"""`status --watch` on a terminal: what `status` prints, drawn again and again, as much of it as there are lines.

It takes the terminal's second screen, hides the cursor and writes each drawing over the one before, without clearing
the screen; what was there before comes back at the end, followed by the last answer as `status` prints it. Size and
colour are looked up for each drawing. A line that is wider than the terminal is folded by the terminal itself, so that
a command can be copied whole.

`status` has the most important first, so what does not fit is cut off below; the last line says how much that is.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import textwrap
import unicodedata
from typing import TYPE_CHECKING, Final, TextIO

from topology_controller import terminal

from . import answers, document, naming, progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from . import live


_TROUBLE_LINES: Final = 3
"""Of each of the sentences about the connection."""
_TAKEN, _GIVEN_BACK = "\x1b[?1049h\x1b[H\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _EMPTIED, _EMPTY_BELOW = "\x1b[H", "\x1b[2K", "\x1b[J"
_COLOUR: Final = re.compile(r"\x1b\[[\d;]*m")
_DIM, _BOLD_RED = "2", "1;31"


@contextlib.contextmanager
def screen(stream: TextIO, environ: Mapping[str, str] = os.environ, *, whole: bool = False) -> Iterator[live.Show]:
    """Take the terminal behind a stream, and draw on it. It is given back however this ends.

    To draw raises BrokenPipeError when the terminal has gone.
    """
    answer: answers.Status | None = None

    def write(text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except OSError as error:
            raise BrokenPipeError from error

    def show(update: live.Update, now: datetime) -> None:
        nonlocal answer
        answer = update.answer
        size = shutil.get_terminal_size()
        colour = document.Document.for_stream(stream, environ).colour
        write(drawn_over(drawing(update, now, size, colour=colour, whole=whole), size.columns))

    write(_TAKEN)
    try:
        yield show
    finally:
        last = document.Document.for_stream(stream, environ)
        last.whole = whole
        if answer is not None:
            progress.add_status(last, answer)
        with contextlib.suppress(BrokenPipeError):
            write(_GIVEN_BACK + (last.text() if answer is not None else ""))


def drawn_over(lines: Iterable[str], width: int) -> str:
    """What draws these lines from the top of a terminal of that many columns.

    Each line of the terminal is emptied before it is written to: at the end of a full one that would take its last
    letter.
    """
    parts = []
    for line in lines:
        more = rows(line, width) - 1
        parts.append(_EMPTIED + f"\n{_EMPTIED}" * more + (f"\x1b[{more}A\r" if more else "") + line)
    return _HOME + "\r\n".join(parts) + _EMPTY_BELOW


def rows(line: str, width: int) -> int:
    """How many lines of the terminal it takes: letters of East Asia are two columns wide, and marks none."""
    columns = sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in _COLOUR.sub("", line)
    )
    return max(1, -(-columns // max(width, 1)))


def drawing(
    update: live.Update, now: datetime, size: os.terminal_size, *, colour: bool, whole: bool = False
) -> list[str]:
    """Lines, of which the terminal folds those that are too wide; together at most as high. `now` is aware UTC."""
    troubles = []
    if update.lost is not None:
        since = answers.stamp(update.lost.since)
        age = f"{since} ({progress.age(since, now)})"
        troubles.append(f"not connected since {age}: {update.lost.why}. What was known is shown; trying again")
    if update.stale:
        troubles.append(f"cannot be followed: {', '.join(update.stale)}")
    sheet = document.Document(max(size.columns, document.LEAST), colour, naming.caller(), whole=whole)
    lines = []
    for text in troubles:
        folded = textwrap.wrap(terminal.plain(text), sheet.width, max_lines=_TROUBLE_LINES)
        lines += [*(sheet.painted(line, _BOLD_RED) for line in folded), ""]
    progress.add_status(sheet, update.answer, now)
    lines += sheet.text().splitlines()
    shown, left = [], size.lines - 1
    for line in lines:
        left -= rows(line, size.columns)
        if left < 0:
            break
        shown.append(line)
    hidden = len(lines) - len(shown)
    cut = f". {hidden} {'line is' if hidden == 1 else 'lines are'} hidden: {sheet.caller.program} status shows all"
    last = f"Ctrl-C ends{cut if hidden else ''}"[: size.columns]
    return [*shown, sheet.painted(last, _DIM)][: max(size.lines, 0)]
