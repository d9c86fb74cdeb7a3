"""What `status --watch` draws: from an answer, the size of a terminal and the time to exactly so many lines. Pure.

It says what there is, in the order in which somebody looks for it, and how important each row is; `live_layout` makes
it fit. Everything that the cluster has said goes through `paper.plain` first: no message moves somebody's cursor.

Only this module, `live_layout` and `live_screen` import rich, and `main` imports them only when a live view is wanted.
"""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from . import answers, live_layout, paper

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from . import live

_STYLES: Final = {
    "Met": "green", "Completed": "green", "Idle": "green", "Possible": "green", "voter": "green",
    "Unmet": "red", "Blocked": "red", "Unsupported": "red", "Stuck": "red", "Disabled": "red",
    "Unknown": "yellow", "Pending": "yellow", "Admitting": "yellow", "learner": "yellow", "Converging": "cyan",
}  # fmt: skip
_STATUSES: Final = {"Unmet": 0, "Unknown": 1, "Met": 2}
_LEAST = 24
"""Columns that a message needs beside other cells; with less it stands below them."""
_FEW = 3


def picture(shown: live.Shown, frame: live_layout.Frame) -> list[live_layout.Line]:
    """All lines to be drawn: at most as many as the frame is high, none wider than it."""
    answer = cleaned(shown.answer)
    parts = [live_layout.Part("", tuple(_head(answer, shown, frame))), *_parts(answer, frame)]
    return live_layout.fit(parts, frame)


def cleaned(found: Any) -> Any:
    """The same structure without anything that a terminal would obey."""
    if isinstance(found, str):
        return paper.plain(found)
    if isinstance(found, dict):
        return {name: cleaned(value) for name, value in found.items()}
    return [cleaned(one) for one in found] if isinstance(found, list) else found


# -- what there is


def _head(answer: answers.Status, shown: live.Shown, frame: live_layout.Frame) -> Iterator[live_layout.Row]:
    cluster, transition, progress = answer["cluster"], answer["transition"], answer["progress"]
    topology = f"{cluster['topology']['controlPlane'] or 'none'}/{cluster['topology']['infrastructure'] or 'none'}"
    wish = f", wish {answer['wish']}" if answer["wish"] else ""
    yield _row(frame, 0, Text.assemble((cluster["name"] or "cluster without a name", "bold"), f"  {topology}{wish}"))
    yield _row(frame, 0, _phase(answer, frame))
    if progress is not None:
        bar = _bar(progress["met"], progress["total"], 10 if frame.narrow else 30, frame)
        yield _row(frame, 0, bar.append(f" {progress['met']}/{progress['total']} {answer['stage']} checks"))
    if transition is not None and transition["name"]:
        yield _row(frame, 2, Text(transition["name"] + _deadline(transition["deadline"], frame)))
    if shown.lost is not None:
        lasting = live_layout.elapsed((frame.now - shown.lost.since).total_seconds())
        said = f"not connected since {answers.stamp(shown.lost.since)} ({lasting}): {paper.plain(shown.lost.why)}"
        yield _row(frame, 0, Text(f"{said}. What was known is shown; trying again", "bold red"))
    if shown.stale:
        yield _row(frame, 1, Text(f"cannot be followed: {paper.plain(', '.join(shown.stale))}", "yellow"))
    yield from _warnings(answer, frame)
    if answer["headline"] and answer["disabled"] is None:
        yield _row(frame, 1, Text(f"{answer['headline']}."))


def _deadline(deadline: str | None, frame: live_layout.Frame) -> str:
    if deadline is None:
        return ""
    left = (datetime.fromisoformat(deadline) - frame.now).total_seconds()
    if left < 0:
        return f", deadline passed {live_layout.elapsed(-left)} ago"
    return f", deadline in {live_layout.elapsed(left)}"


def _warnings(answer: answers.Status, frame: live_layout.Frame) -> Iterator[live_layout.Row]:
    for name, found in (("Disabled", answer["disabled"]), ("Degraded", answer["degraded"])):
        if found is not None:
            yield _row(frame, 1, Text.assemble((f"{name} ({found['reason']}) ", "bold red"), found["message"]))
    if answer["paused"]:
        yield _row(frame, 1, Text("Paused: nothing new is admitted", "yellow"))
    operator = answer["operator"]
    if operator["state"] != "Running":
        yield _row(frame, 1, Text(f"Operator {operator['state']}: {operator['message']}", "yellow"))
    if answer["accepted"]:
        yield _row(
            frame, 1, Text(f"Accepted without: {', '.join(one['name'] for one in answer['accepted'])}", "yellow")
        )


def _phase(answer: answers.Status, frame: live_layout.Frame) -> Text:
    if answer["phase"] is None:
        return Text("no record: the operator has written nothing here", "yellow")
    phase = "Disabled" if answer["disabled"] else "Stuck" if answer["stuck"] else answer["phase"]
    text = Text(phase, f"bold {_STYLES.get(phase, 'default')}")
    if answer["since"]:
        since = datetime.fromisoformat(answer["since"])
        text.append(f" for {live_layout.elapsed((frame.now - since).total_seconds())}, since {answer['since']}")
    return text


def _parts(answer: answers.Status, frame: live_layout.Frame) -> Iterator[live_layout.Part]:
    checks = sorted(answer["checks"], key=lambda one: _STATUSES.get(one["status"], 1))
    failing = [one for one in checks if one["status"] != "Met"]
    # While everything moves, names are enough; what is left in the end is what somebody wants to read.
    later = 1 if len(failing) <= _FEW else 3
    yield live_layout.Part(
        f"{answer['stage']} checks that are not met",
        tuple(
            dataclasses.replace(
                _columns(
                    frame,
                    _STATUSES.get(one["status"], 1) + 1,
                    (one["status"], one["name"]),
                    one["message"],
                    failing,
                ),
                later=later,
            )
            for one in failing
        ),
    )
    yield live_layout.Part("Left for a person to do", tuple(_advisories(answer, frame)))
    operands = sorted(answer["operands"]["items"], key=lambda one: one["status"] == "Met")
    done = sum(one["status"] == "Met" for one in operands)
    yield live_layout.Part(
        f"Who has followed: {done} of {len(operands)}",
        tuple(_row(frame, 5 if one["status"] == "Met" else 2, _operand(one, frame)) for one in operands),
    )
    yield live_layout.Part("Control-plane nodes", tuple(_nodes(answer, frame)))
    members = answer["etcd"]["items"]
    learners = sum(one["role"] == "learner" for one in members)
    counted = _counted(len(members) - learners, "voter") + (f", {_counted(learners, 'learner')}" if learners else "")
    yield live_layout.Part(f"Members of etcd: {counted}", tuple(_members(answer, frame)))
    if answer["wish"] is None:
        yield live_layout.Part("What could be asked for, as it was found last", tuple(_available(answer, frame)))
    rights = list(dict.fromkeys(one["right"] or f"{one['what']}: {one['why']}" for one in answer["unread"]))
    yield live_layout.Part(
        "Not to be read, so that something is Unknown", tuple(_row(frame, 4, Text(f"  {one}")) for one in rights)
    )
    met = ", ".join(one["name"] for one in checks if one["status"] == "Met")
    yield live_layout.Part(
        f"{answer['stage']} checks that are met", (_row(frame, 6, Text(f"  {met}"), 2),) if met else ()
    )


def _members(answer: answers.Status, frame: live_layout.Frame) -> Iterator[live_layout.Row]:
    for one in answer["etcd"]["items"]:
        role = (f"{one['role']:<7}", _STYLES.get(one["role"], "default"))
        where = f"  {one['node'] or 'on no control-plane node'}  {one['address']}  {one['id']}"
        good = one["role"] == "voter" and one["node"] is not None
        yield _row(frame, 3 if good else 2, Text.assemble("  ", role, where))


def _available(answer: answers.Status, frame: live_layout.Frame) -> Iterator[live_layout.Row]:
    for one in answer["available"]:
        said = ", ".join(blocker["name"] for blocker in one["blockers"]) or one["summary"]
        verdict = "Possible" if one["available"] else "Blocked"
        yield _columns(frame, 3, (verdict, one["name"]), said, answer["available"])


def _advisories(answer: answers.Status, frame: live_layout.Frame) -> Iterator[live_layout.Row]:
    """What it is about may be cut; the command is not: it is there to be copied."""
    for one in answer["advisories"]:
        yield _columns(frame, 2, (one["name"],), one["message"], ())
        if one["command"]:
            yield live_layout.Row(3, frame.wrapped(Text(f"    {one['command']}", "cyan")), None)


def _operand(one: Any, frame: live_layout.Frame) -> Text:
    size = 6 if frame.narrow else 12
    text = Text("  ")
    if one["have"] is None:
        text.append(f"{one['status']:<{size}}", _STYLES.get(one["status"], "default")).append("  ")
        count = ""
    else:
        text.append_text(_bar(one["have"], one["wanted"], size, frame, done=one["status"] == "Met")).append("  ")
        count = f"{one['have']}/{one['wanted']} {one['unit']}"
    return text.append(f"{count:<12}  {one['name'].rpartition('/')[2] if frame.narrow else one['name']}  ").append(
        one["check"], "dim"
    )


def _nodes(answer: answers.Status, frame: live_layout.Frame) -> Iterator[live_layout.Row]:
    words = {True: "eligible", False: "not eligible", None: "cannot tell"}
    items = answer["nodes"]["items"]
    for one in items:
        good = one["eligible"] is True and one["ready"] == "True"
        said = words[one["eligible"]] + (f": {one['why']}" if one["why"] else "")
        style = "green" if good else "yellow"
        wide = max(len(other["name"]) for other in items)
        text = Text.assemble(f"  {one['name']:<{wide}}  Ready={one['ready']}  ", (said, style))
        yield _row(frame, 3 if good else 2, text, 4)


# -- how a row looks


def _row(frame: live_layout.Frame, rank: int, line: Text, indent: int = 2) -> live_layout.Row:
    return live_layout.Row(rank, frame.wrapped(line, indent), frame.cut(line))


def _columns(
    frame: live_layout.Frame, rank: int, first: tuple[str, ...], last: str, others: Sequence[Any]
) -> live_layout.Row:
    """Cells and a message beside them; below them on a narrow terminal. `others` are all rows of the same columns."""
    begin = Text("  ")
    wide = max((len(one["name"]) for one in others), default=0)
    for index, cell in enumerate(first):
        size = (
            8
            if cell in {"Possible", "Blocked"}
            else 7
            if cell in _STATUSES
            else wide
            if index == len(first) - 1 and not frame.narrow
            else 0
        )
        begin.append(f"{cell:<{size}}", _STYLES.get(cell, "bold")).append("  ")
    whole = begin + Text(last)
    # "Wanted: ... Found: ...": in one line only what was found has room.
    short = frame.cut(begin + Text(last[max(last.find("Found: "), 0) :]))
    longest = max(map(len, last.split()), default=0)
    if frame.narrow or begin.cell_len + max(longest, _LEAST) > frame.width:
        begin.rstrip()
        message = Text("    ") + Text(last)
        return live_layout.Row(rank, (*frame.wrapped(begin, 4), *(frame.wrapped(message, 4) if last else ())), short)
    return live_layout.Row(rank, frame.wrapped(whole, begin.cell_len), short)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _bar(have: int, total: int, size: int, frame: live_layout.Frame, *, done: bool = True) -> Text:
    full = min(size, size * have // total) if total else 0
    on, off = ("#", "-") if frame.ascii_only else ("█", "░")
    style = "green" if done and have >= total else "cyan"
    return Text.assemble((on * full, style), (off * (size - full), "dim"))
