"""How `status --watch` shows an update: drawn on a terminal, or line by line anywhere else.

`screen` draws what `status` prints on the terminal's second screen, each drawing over the one before. A line that is
too wide is folded by the terminal, so that a command can be copied whole. What does not fit is cut off below, where the
least important stands. `Lines` is for a pipe, a file, a log and a terminal that obeys nothing (TERM=dumb): a line for
every change, or with `-o json` and `-o yaml` a document; what is about the connection goes to standard error then.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import textwrap
import unicodedata
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TextIO

from topology_controller import terminal

from . import answers, document, naming, progress, sections

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ABOUT_WATCHING = {"connection": "connected again", "stale": "everything can be followed"}
_SILENT = {**_ABOUT_WATCHING, "operator": "operator Running"}
"""What is printed only after something else was."""
_TAKEN, _GIVEN_BACK = "\x1b[?1049h\x1b[H\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _EMPTIED, _EMPTY_BELOW = "\x1b[H", "\x1b[2K", "\x1b[J"
_DIM, _BOLD_RED = "2", "1;31"


class Lost(NamedTuple):
    """The server cannot be followed. `since` is aware UTC, `why` one line."""

    since: datetime
    why: str


class Update(NamedTuple):
    """What is to be shown. `stale` names what cannot be followed although the server answers, and why."""

    answer: answers.Status
    lost: Lost | None = None
    stale: tuple[str, ...] = ()


Show = Callable[[Update, datetime], None]
"""Shows an update at a time, in aware UTC."""


def can_draw(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Is there a terminal behind this stream that obeys cursor movements?"""
    return stream.isatty() and environ.get("TERM", "") not in {"", "dumb", "unknown"}


class Lines:
    """Prints updates as lines. `form` is text, json or yaml."""

    def __init__(self, stream: TextIO, complaints: TextIO, form: str) -> None:
        self._stream, self._complaints, self._form = stream, complaints, form
        self._printed: dict[str, str] = dict(_SILENT if form == "text" else _ABOUT_WATCHING)
        self._answer: dict[str, object] = {}

    def show(self, update: Update, now: datetime) -> None:
        """Print what is new. Raises BrokenPipeError when the reader has gone."""
        current, stream = statements(update), self._stream
        if self._form != "text":
            self._document(naming.caller().answered(update.answer))
            current, stream = {subject: current[subject] for subject in _ABOUT_WATCHING}, self._complaints
        gone = {subject: f"{subject}: no longer required" for subject in self._printed if subject not in current}
        for subject, statement in {**current, **gone}.items():
            if self._printed.get(subject) != statement:
                text = naming.caller().spoken(terminal.plain(statement))
                stream.write(f"{answers.stamp(now)}  {text}\n")
        self._printed = current
        stream.flush()

    def _document(self, answer: answers.Status) -> None:
        # What is another one a second later is no news.
        content = {name: value for name, value in answer.items() if name not in {"evaluated", "assessment"}}
        content["available"] = [{**way, "evaluated": ""} for way in answer["available"]]
        if content == self._answer:
            return
        self._answer = content
        if self._form == "json":
            self._stream.write(json.dumps(answer, separators=(",", ":")) + "\n")
        else:
            import yaml  # noqa: PLC0415 - only who asks for it pays for it

            self._stream.write("---\n" + yaml.safe_dump(answer, sort_keys=False, width=120))
        self._stream.flush()


def statements(update: Update) -> dict[str, str]:
    """What is to be said now, by subject, the most important first."""
    answer, lost, operator = update.answer, update.lost, update.answer["operator"]
    current = {"phase": summary(answer), **_SILENT}
    if lost is not None:
        current["connection"] = f"not connected since {answers.stamp(lost.since)}: {lost.why}; trying again"
    if update.stale:
        current["stale"] = f"cannot be followed: {', '.join(update.stale)}"
    if operator["state"] != "Running":
        current["operator"] = f"operator {operator['state']}: {operator['message']}"
    for advisory in answer["advisories"]:
        name, todo = advisory["name"], advisory["command"] or advisory["message"]
        kind = "action required" if name in answer["required"] else "recommended"
        current[name] = f"{name}: {kind}: {todo}"
    return current


def summary(answer: answers.Status) -> str:
    """How far it has come, in one line."""
    phase, count, degraded = answer["phase"], answer["progress"], answer["degraded"]
    here = sections.pair(answer["cluster"]["topology"])
    if phase is None:
        return f"no record: the operator has written nothing here. The cluster is {here}"
    if answer["disabled"] is not None:
        return f"Disabled: {answer['disabled']['message']}"
    text = f"{phase} {count['met']}/{count['total']}" if count is not None and phase != "Completed" else phase
    waiting = [_awaited(answer, check["name"]) for check in answer["checks"] if check["status"] != "Met"]
    # The operator writes the headline a moment after the checks.
    more = "all checks are met" if count is not None else answer["headline"]
    if phase in {"Idle", "Completed"}:
        more = f"the cluster is {here}"
    elif waiting:
        more = f"waiting for {', '.join(waiting)}"
    text += f": {more}" if more else ""
    return text if degraded is None else f"{text}. {degraded['message']} ({degraded['reason']})"


def _awaited(answer: answers.Status, check: str) -> str:
    operands = answer["operands"]["items"]
    short = [operand["name"].rpartition("/")[2] for operand in operands]
    behind = [
        f"{name if short.count(name) == 1 else operand['name']} {operand['have']}/{operand['wanted']}"
        for operand, name in zip(operands, short, strict=True)
        if operand["check"] == check and operand["status"] != "Met" and operand["have"] is not None
    ]
    return f"{check} ({', '.join(behind)})" if behind else check


@contextlib.contextmanager
def screen(stream: TextIO, environ: Mapping[str, str] = os.environ, *, whole: bool = False) -> Iterator[Show]:
    """Draw on the terminal behind a stream, which is given back however this ends. To draw raises BrokenPipeError."""
    answer: answers.Status | None = None

    def write(text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except OSError as error:
            raise BrokenPipeError from error

    def show(update: Update, now: datetime) -> None:
        nonlocal answer
        answer = update.answer
        size = shutil.get_terminal_size()
        colour, parts = document.Document.for_stream(stream, environ).colour, []
        # Each line is emptied before it is written to: at the end of a full one that would take its last letter.
        for line in drawing(update, now, size, colour=colour, whole=whole):
            more = rows(line, size.columns) - 1
            parts.append(_EMPTIED + f"\n{_EMPTIED}" * more + (f"\x1b[{more}A\r" if more else "") + line)
        write(_HOME + "\r\n".join(parts) + _EMPTY_BELOW)

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


def rows(line: str, width: int) -> int:
    """How many lines of the terminal it takes: letters of East Asia are two columns wide, and marks none."""
    columns = sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in re.sub(r"\x1b\[[\d;]*m", "", line)
    )
    return max(1, -(-columns // max(width, 1)))


def drawing(update: Update, now: datetime, size: os.terminal_size, *, colour: bool, whole: bool = False) -> list[str]:
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
        folded = textwrap.wrap(terminal.plain(text), sheet.width, max_lines=3)
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
