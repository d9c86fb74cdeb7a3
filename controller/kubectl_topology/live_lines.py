"""`status --watch` where nothing can be drawn: a line for every change, as `kubectl get -w` has it, or a document.

For a pipe, a file, a log of a pipeline and a terminal that obeys nothing (TERM=dumb). With `-o json` each change is one
document on one line, with `-o yaml` one that begins with `---`; both are the answer of `status`. What is only about the
connection goes to standard error then, since it is no document.

`statements` is pure: from an update to the lines that are true of it, by subject. A line is printed when its subject
has another one than before.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

from topology_controller import terminal

from . import answers, naming

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from . import live

_DULL = frozenset({"", "dumb", "unknown"})
_COUNTING = frozenset({"evaluated", "assessment"})
"""What of an answer is another one a second later. That is no news."""
_ABOUT_WATCHING = {"connection": "connected again", "stale": "everything can be followed"}
_SILENT = {**_ABOUT_WATCHING, "operator": "operator Running"}
"""What is printed only after something else was."""


def can_draw(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Is there a terminal behind this stream that obeys cursor movements?"""
    return stream.isatty() and environ.get("TERM", "") not in _DULL


class Lines:
    """Prints updates as lines. `form` is text, json or yaml."""

    def __init__(self, stream: TextIO, complaints: TextIO, form: str) -> None:
        self._stream = stream
        self._complaints = complaints
        self._form = form
        self._printed: dict[str, str] = dict(_SILENT if form == "text" else _ABOUT_WATCHING)
        self._answer: dict[str, object] = {}

    def show(self, update: live.Update, now: datetime) -> None:
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
        content = {name: value for name, value in answer.items() if name not in _COUNTING}
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


def statements(update: live.Update) -> dict[str, str]:
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
    phase, progress, degraded = answer["phase"], answer["progress"], answer["degraded"]
    topology = answer["cluster"]["topology"]
    here = f"{topology['controlPlane'] or 'none'}/{topology['infrastructure'] or 'none'}"
    if phase is None:
        return f"no record: the operator has written nothing here. The cluster is {here}"
    if answer["disabled"] is not None:
        return f"Disabled: {answer['disabled']['message']}"
    text = f"{phase} {progress['met']}/{progress['total']}" if progress is not None and phase != "Completed" else phase
    waiting = [_awaited(answer, check["name"]) for check in answer["checks"] if check["status"] != "Met"]
    if phase in {"Idle", "Completed"}:
        text += f": the cluster is {here}"
    elif waiting:
        text += f": waiting for {', '.join(waiting)}"
    elif progress is not None:
        # The operator writes the headline a moment after the checks.
        text += ": all checks are met"
    elif answer["headline"]:
        text += f": {answer['headline']}"
    return text if degraded is None else f"{text}. {degraded['message']} ({degraded['reason']})"


def _awaited(answer: answers.Status, check: str) -> str:
    """A check that is not met, with how far its operands are."""
    operands = answer["operands"]["items"]
    short = [operand["name"].rpartition("/")[2] for operand in operands]
    behind = [
        f"{name if short.count(name) == 1 else operand['name']} {operand['have']}/{operand['wanted']}"
        for operand, name in zip(operands, short, strict=True)
        if operand["check"] == check and operand["status"] != "Met" and operand["have"] is not None
    ]
    return f"{check} ({', '.join(behind)})" if behind else check
