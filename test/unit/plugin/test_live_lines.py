"""`status --watch` into a pipe: a line for every change, a document for every change, and no control characters."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

import pytest
import yaml
from test import sentences

from topology_api.vocabulary import Phase
from topology_controller.plugin import live, live_lines

from ..core import worlds
from . import replies

NOW = worlds.NOW
PENDING = replies.told(replies.in_phase(Phase.PENDING))
CONVERGING = replies.told(replies.in_phase(Phase.CONVERGING))
COMPLETED = replies.told(replies.in_phase(Phase.COMPLETED))


class Pipe:
    """Where it is written to, and what it is shown."""

    def __init__(self, form: str = "text") -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.lines = live_lines.Lines(self.out, self.err, form)
        self.now = NOW

    def show(self, answer: dict[str, Any], **shown: Any) -> str:
        """Show it a second later; return what was printed."""
        whole: Any = answer
        self.now += timedelta(seconds=1)
        before = len(self.out.getvalue())
        self.lines.show(live.Update(whole, **shown), self.now)
        return self.out.getvalue()[before:]


def said(text: str) -> list[str]:
    """Lines without their times."""
    lines = text.splitlines()
    assert all(line[20:22] == "  " and line[:20].endswith("Z") for line in lines), lines
    return [line[22:] for line in lines]


def test_each_change_is_one_line_and_what_stays_is_not_repeated() -> None:
    pipe = Pipe()
    assert said(pipe.show(PENDING)) == ["Pending 9/10: waiting for MastersSchedulable"]
    assert pipe.show(PENDING) == ""
    assert pipe.show({**PENDING, "evaluated": "2030-01-01T00:00:00Z"}) == ""
    first, *advisories = said(pipe.show(CONVERGING))
    assert first.startswith("Converging ")
    assert "MachineConfigPoolsRolledOut (master 0/3)" in first
    assert [line.partition(":")[0] for line in advisories] == [one["name"] for one in CONVERGING["advisories"]]
    last = said(pipe.show({**COMPLETED, "advisories": []}))
    assert last[0] == sentences.COMPLETED
    assert all(line.endswith(": no longer required") for line in last[1:])


def test_what_goes_without_saying_is_said_when_it_was_not_so() -> None:
    pipe = Pipe()
    pipe.show(PENDING)
    lost = live.Lost(NOW, "its way is gone")
    assert said(pipe.show(PENDING, lost=lost)) == [
        f"not connected since {NOW:%Y-%m-%dT%H:%M:%SZ}: its way is gone; trying again"
    ]
    assert pipe.show(PENDING, lost=lost) == ""
    assert said(pipe.show(PENDING)) == ["connected again"]
    assert said(pipe.show(PENDING, stale=("nodes",))) == ["cannot be followed: nodes"]
    assert said(pipe.show(PENDING)) == ["everything can be followed"]
    stopped = {**PENDING, "operator": {"state": "NotRunning", "message": "it was stopped"}}
    assert said(pipe.show(stopped)) == ["operator NotRunning: it was stopped"]
    assert said(pipe.show(PENDING)) == ["operator Running"]


@pytest.mark.parametrize(("form", "load"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_documents_are_the_answer_of_status_one_for_each_change(form: str, load: Any) -> None:
    pipe = Pipe(form)
    lost = live.Lost(NOW, "its way is gone")
    printed = [
        pipe.show(PENDING),
        pipe.show({**PENDING, "evaluated": "2030-01-01T00:00:00Z"}),
        pipe.show(PENDING, lost=lost),
        pipe.show(CONVERGING),
    ]
    assert [bool(text) for text in printed] == [True, False, False, True]
    assert load(printed[0].removeprefix("---\n")) == PENDING
    assert load(printed[3].removeprefix("---\n")) == CONVERGING
    if form == "json":
        assert [text.count("\n") for text in printed] == [1, 0, 0, 1]
    else:
        assert len(list(yaml.safe_load_all(pipe.out.getvalue()))) == 2
    assert [line.partition(" since")[0] for line in said(pipe.err.getvalue())] == ["not connected", "connected again"]


@pytest.mark.parametrize("phase", list(Phase))
def test_every_phase_has_its_line(phase: Phase) -> None:
    (first, *_) = said(Pipe().show(replies.told(replies.in_phase(phase))))
    assert first.startswith("no record" if phase is Phase.IDLE else phase.value)


def test_why_it_is_stuck_is_in_the_line() -> None:
    degraded = {"reason": "TransitionStuck", "message": "RouterReplicas did not come"}
    (first, *_) = said(Pipe().show({**CONVERGING, "degraded": degraded}))
    assert first.endswith("RouterReplicas did not come (TransitionStuck)")


def test_no_message_breaks_a_line_or_moves_a_cursor() -> None:
    evil = "\x1b[2Jone\ntwo\x07"
    text = Pipe().show({**PENDING, "advisories": [{"name": evil, "message": evil, "command": evil}]})
    assert len(text.splitlines()) == 2
    assert all(letter.isprintable() or letter == "\n" for letter in text)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "draws"),
    [
        (io.StringIO(), {"TERM": "xterm"}, False),
        (Terminal(), {"TERM": "xterm-256color"}, True),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {}, False),
    ],
)
def test_where_it_draws(stream: io.StringIO, environ: dict[str, str], *, draws: bool) -> None:
    assert live_lines.can_draw(stream, environ) is draws
