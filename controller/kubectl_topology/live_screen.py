"""`status --watch` on a terminal: what `status` prints, drawn again and again, as much of it as there are lines.

It takes the terminal's second screen, hides the cursor and writes each drawing over the one before, without clearing
the screen; what was there before comes back at the end, followed by the last answer as `status` prints it. Size and
colour are looked up for each drawing. A line that is wider than the terminal is folded by the terminal itself, so that
a command can be copied whole; rich's own live display would break it.

`status` has the most important first, so what does not fit is cut off below; the last line says how much that is.
Only this module imports rich, and `main` imports it only when a live view is wanted.
"""

from __future__ import annotations

import contextlib
import os
import textwrap
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console
from rich.text import Text

from topology_controller import terminal

from . import answers, document, naming, progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from . import live


_TROUBLE_LINES: Final = 3
"""Of each of the sentences about the connection."""
_HOME, _EMPTIED, _EMPTY_BELOW = "\x1b[H", "\x1b[2K", "\x1b[J"


@contextlib.contextmanager
def screen(stream: TextIO, environ: Mapping[str, str] = os.environ) -> Iterator[live.Show]:
    """Take the terminal behind a stream, and draw on it. It is given back however this ends.

    To draw raises BrokenPipeError when the terminal has gone.
    """
    colours: Final = None if environ.get("NO_COLOR") else "auto"
    console = Console(
        file=stream, force_terminal=True, color_system=colours, highlight=False, markup=False, emoji=False
    )
    answer: answers.Status | None = None

    def show(update: live.Update, now: datetime) -> None:
        nonlocal answer
        answer = update.answer
        try:
            stream.write(written(drawing(update, now, console), console))
            stream.flush()
        except OSError as error:
            raise BrokenPipeError from error

    console.set_alt_screen(enable=True)
    console.show_cursor(show=False)
    try:
        yield show
    finally:
        with contextlib.suppress(OSError):
            console.show_cursor(show=True)
            console.set_alt_screen(enable=False)
            last = document.Document.for_stream(stream, environ)
            if answer is not None:
                progress.add_status(last, answer)
                stream.write(last.text())
                stream.flush()


def written(lines: Iterable[Text], console: Console) -> str:
    """What draws these lines from the top of the terminal.

    Each line of the terminal is emptied before it is written to: at the end of a full one that would take its last
    letter.
    """
    parts = []
    for line in lines:
        with console.capture() as capture:
            console.print(line, soft_wrap=True, end="")
        more = rows(line, console) - 1
        parts.append(_EMPTIED + f"\n{_EMPTIED}" * more + (f"\x1b[{more}A\r" if more else "") + capture.get())
    return _HOME + "\r\n".join(parts) + _EMPTY_BELOW


def rows(line: Text, console: Console) -> int:
    """How many lines of the terminal it takes."""
    return max(1, -(-line.cell_len // max(console.width, 1)))


def drawing(update: live.Update, now: datetime, console: Console) -> list[Text]:
    """Lines for a console, which folds those that are too wide; together at most as high. `now` is aware UTC."""
    width, height = console.size
    troubles = []
    if update.lost is not None:
        since = answers.stamp(update.lost.since)
        age = f"{since} ({progress.age(since, now)})"
        troubles.append(f"not connected since {age}: {update.lost.why}. What was known is shown; trying again")
    if update.stale:
        troubles.append(f"cannot be followed: {', '.join(update.stale)}")
    room = max(width, document.LEAST)
    folded = [textwrap.wrap(terminal.plain(text), room, max_lines=_TROUBLE_LINES) for text in troubles]
    lines = [Text(line, "bold red") for trouble in folded for line in (*trouble, "")]
    sheet = document.Document(room, colour=True, caller=naming.caller())
    progress.add_status(sheet, update.answer, now)
    lines += map(Text.from_ansi, sheet.text().splitlines())
    shown, left = [], height - 1
    for line in lines:
        left -= rows(line, console)
        if left < 0:
            break
        shown.append(line)
    hidden = len(lines) - len(shown)
    cut = f". {hidden} {'line is' if hidden == 1 else 'lines are'} hidden: {sheet.caller.program} status shows all"
    last = Text(f"Ctrl-C ends{cut if hidden else ''}", "dim")
    last.truncate(width, overflow="crop")
    return [*shown, last][: max(height, 0)]
