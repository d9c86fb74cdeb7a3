"""`status --watch` where nobody can draw: a line for every change, as `kubectl get -w` has it, or a document.

For a pipe, a file, a log of a pipeline and a terminal that obeys nothing (TERM=dumb). With `-o json` each change is one
document on one line, with `-o yaml` one that begins with `---`; both are the answer of `status`. What is only about the
connection goes to standard error then, since it is no document.

`sayings` is pure: from an answer to the lines that would be true of it, by subject. A line is printed when its subject
says something else than it did last.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Self, TextIO

from . import answers, paper

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping
    from datetime import datetime
    from types import TracebackType

    from . import live

_DULL = frozenset({"", "dumb", "unknown"})
_ABOUT_WATCHING = {"connection": "connected again", "stale": "everything can be followed"}
_SILENT = {**_ABOUT_WATCHING, "operator": "operator Running"}
"""What goes without saying as long as nothing else was said."""


def can_draw(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Is there a terminal behind this stream whose cursor can be moved?"""
    return stream.isatty() and environ.get("TERM", "") not in _DULL


class Lines:
    """A sheet of lines. `form` is text, json or yaml."""

    tick: float | None = None
    shortest = 0.0
    whole = True

    def __init__(self, stream: TextIO, complaints: TextIO, form: str) -> None:
        self._stream = stream
        self._complaints = complaints
        self._form = form
        self._said: dict[str, str] = dict(_SILENT if form == "text" else _ABOUT_WATCHING)
        self._answer: dict[str, object] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to be cleaned up."""

    def signals(self, _: asyncio.Event) -> contextlib.AbstractContextManager[None]:
        """A pipe does not change."""
        return contextlib.nullcontext()

    def show(self, shown: live.Shown, now: datetime) -> None:
        """Print what is new. Raises BrokenPipeError when nobody reads any more."""
        found = sayings(shown)
        stream = self._stream
        if self._form != "text":
            self._document(shown.answer)
            stream, found = self._complaints, {subject: found[subject] for subject in _ABOUT_WATCHING}
        gone = {subject: f"{subject}: no longer to be done" for subject in self._said if subject not in found}
        for subject, said in {**found, **gone}.items():
            if self._said.get(subject) != said:
                stream.write(f"{answers.stamp(now)}  {paper.plain(said)}\n")
        self._said = found
        stream.flush()

    def _document(self, answer: answers.Status) -> None:
        found = {name: value for name, value in answer.items() if name != "evaluated"}
        if found == self._answer:
            return
        self._answer = found
        if self._form == "json":
            self._stream.write(json.dumps(answer, separators=(",", ":")) + "\n")
        else:
            import yaml  # noqa: PLC0415 - only who asks for it pays for it

            self._stream.write("---\n" + yaml.safe_dump(answer, sort_keys=False, width=120))
        self._stream.flush()


def sayings(shown: live.Shown) -> dict[str, str]:
    """What is to be said now, by subject, the most important first."""
    answer, lost = shown.answer, shown.lost
    found = {"phase": standing(answer), **_SILENT}
    if lost is not None:
        found["connection"] = f"not connected since {answers.stamp(lost.since)}: {lost.why}; trying again"
    if shown.stale:
        found["stale"] = f"cannot be followed: {', '.join(shown.stale)}"
    operator = answer["operator"]
    if operator["state"] != "Running":
        found["operator"] = f"operator {operator['state']}: {operator['message']}"
    for one in answer["advisories"]:
        found[one["name"]] = f"{one['name']}: left for a person to do: {one['command'] or one['message']}"
    return found


def standing(answer: answers.Status) -> str:
    """Where it stands, in one line."""
    phase, progress = answer["phase"], answer["progress"]
    topology = answer["cluster"]["topology"]
    here = f"{topology['controlPlane'] or 'none'}/{topology['infrastructure'] or 'none'}"
    if phase is None:
        return f"no record: the operator has written nothing here. The cluster is {here}"
    if answer["disabled"] is not None:
        return f"Disabled: {answer['disabled']['message']}"
    text = f"{phase} {progress['met']}/{progress['total']}" if progress is not None and phase != "Completed" else phase
    waiting = [_awaited(answer, one["name"]) for one in answer["checks"] if one["status"] != "Met"]
    if phase in {"Idle", "Completed"}:
        text += f": the cluster is {here}"
    elif waiting:
        text += f": waiting for {', '.join(waiting)}"
    elif progress is not None:
        # The operator writes the headline a moment after the checks.
        text += ": all checks are met"
    elif answer["headline"]:
        text += f": {answer['headline']}"
    degraded = answer["degraded"]
    return text if degraded is None else f"{text}. {degraded['message']} ({degraded['reason']})"


def _awaited(answer: answers.Status, check: str) -> str:
    """A check that is not met, with how far its operands are."""
    behind = [
        f"{one['name'].rpartition('/')[2]} {one['have']}/{one['wanted']}"
        for one in answer["operands"]["items"]
        if one["check"] == check and one["status"] != "Met" and one["have"] is not None
    ]
    return f"{check} ({', '.join(behind)})" if behind else check
