"""`status --watch` on a terminal: what `status` prints, drawn again and again in as many lines as there are.

It takes the terminal's second screen, hides the cursor and writes each drawing over the one before, without clearing
the screen; what was there before comes back at the end, followed by the last answer as `status` prints it. Size and
colour are looked up for each drawing. A line that is wider than the terminal is folded by the terminal itself, so that
a command can be copied whole; rich's own live display would break it.

What is cut first follows from the ranks that `printing` gives. Every row that is not in order gets one line; then the
head and commands fit, and commands are never cut; then whole messages, the shortest of each rank first. What is
in order gets the rows that are left. The last line says how much is hidden.
Only this module imports rich, and `main` imports it only when a live view is wanted.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console
from rich.text import Text

from topology_controller import terminal

from . import answers, assessment, document, naming, printing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from rich.console import OverflowMethod

    from . import live


_LOST_LINES: Final = 3
_HOME, _EMPTIED, _EMPTY_BELOW = "\x1b[H", "\x1b[2K", "\x1b[J"


@contextlib.contextmanager
def taken(stream: TextIO, environ: Mapping[str, str] = os.environ) -> Iterator[live.Show]:
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
            last = document.Document.of(stream, environ)
            if answer is not None:
                printing.status(last, answer)
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


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """A row in one line, or in none where a part of it makes no sense; and in all its lines."""

    section: int
    rank: document.Rank
    short: tuple[Text, ...]
    whole: tuple[Text, ...]


def drawing(update: live.Update, now: datetime, console: Console) -> list[Text]:
    """Lines for a console, which folds those that are too wide; together at most as high. `now` is aware UTC."""
    width, height = console.size
    cut: OverflowMethod = "crop" if console.options.ascii_only else "ellipsis"
    sheet = document.Document(width, caller=naming.caller())
    if update.stale:
        sheet.add("", [f"cannot be followed: {', '.join(update.stale)}"], document.Rank.UNMET)
    printing.status(sheet, update.answer, now)
    lost = [*_folded(_lost(update.lost, now), console)][:_LOST_LINES] if update.lost is not None else []
    titles = [section.title for section in sheet.sections]
    table = [
        _row(number, row, columns, console, cut)
        for number, section in enumerate(sheet.sections)
        for group, columns in section.tables()
        for row in group
    ]
    shown, room = _chosen(table, titles, height - 1 - len(lost), console)
    parts = [lost] if lost else []
    for number, of_section in itertools.groupby(shown, key=lambda row: row.section):
        title = [Text(titles[number], "bold")] if titles[number] else []
        for line in title:
            line.truncate(width, overflow=cut)
        parts.append([*title, *(line for row in of_section for line in shown[row])])
    gap = [Text()] if room >= len(parts) else []
    hidden = len(table) - len(shown)
    counted = f". {hidden} {'row is' if hidden == 1 else 'rows are'} hidden: {sheet.caller.program} status shows all"
    last = Text(f"Ctrl-C ends{counted if hidden else ''}", "dim")
    last.truncate(width, overflow=cut)
    lines: list[Text] = []
    for line in (line for part in parts for line in (*part, *gap)):
        if rows(line, console) > height - 1 - sum(rows(other, console) for other in lines):
            break
        lines.append(line)
    return [*lines, last][: max(height, 0)]


def _lost(lost: live.Lost, now: datetime) -> Text:
    since, why = answers.stamp(lost.since), terminal.plain(lost.why)
    age = assessment.age(since, now)
    text = f"not connected since {since} ({age}): {why}. What was known is shown; trying again"
    return Text(text, "bold red")


def _row(section: int, row: document.Row, columns: Sequence[int], console: Console, cut: OverflowMethod) -> _Row:
    width, sheet = console.width, document.Document(console.width, colour=True)
    *first, last = row.cells
    longest = max(map(len, last.split()), default=0)
    below = document.cramped(width, row, columns, max(longest, document.LEAST))
    lines = sheet.lines(row, columns, below=below)
    whole = tuple(map(Text.from_ansi, lines))
    if row.command:
        return _Row(section, row.rank, (), whole)
    # Of "Wanted: ... Found: ..." one line can hold what was found.
    brief = document.Row((*first, last[max(last.find("Found: "), 0) :]), row.rank, row.indent)
    narrow = document.cramped(width, row, columns)
    (line,) = document.Document(colour=True).lines(brief, [0] * len(columns) if narrow else columns, below=False)
    short = Text.from_ansi(line)
    short.truncate(width, overflow=cut)
    return _Row(section, row.rank, (short,), whole)


def _folded(line: Text, console: Console) -> Iterable[Text]:
    """Lines that are no wider than the console: a word may be longer, and a character wider than another."""
    return line.wrap(console, max(console.width, 1), overflow="fold")


def _chosen(
    table: Sequence[_Row], titles: Sequence[str], room: int, console: Console
) -> tuple[dict[_Row, tuple[Text, ...]], int]:
    """The lines of each row that is shown, from the top, and how many lines are left."""

    def high(lines: Iterable[Text]) -> int:
        return sum(rows(line, console) for line in lines)

    urgent = sorted((row for row in table if row.rank < document.Rank.IN_ORDER), key=lambda row: row.rank)
    in_order = [row for row in table if row.rank == document.Rank.IN_ORDER]
    shown: dict[_Row, tuple[Text, ...]] = {}
    titled: set[int] = set()
    for group in (urgent, in_order):
        whole = sorted(group, key=lambda row: (bool(row.short) and row.rank > 0, row.rank, high(row.whole)))
        for row, lines in [*((row, row.short) for row in group), *((row, row.whole) for row in whole)]:
            title = bool(titles[row.section]) and row.section not in titled
            more = high(lines) - high(shown.get(row, ())) + title
            if lines and more <= room:
                shown[row] = lines
                titled.add(row.section)
                room -= more
    return {row: shown[row] for row in table if row in shown}, room
