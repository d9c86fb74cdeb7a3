"""`status --watch` into a pipe: a line for every change, a document for every change, and no control characters."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

import pytest
import yaml

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

    def show(self, answer: dict[str, Any], **shown: Any) -> list[str]:
        """Show it a second later; return the lines that were printed, without their times."""
        whole: Any = answer
        self.now += timedelta(seconds=1)
        before = len(self.out.getvalue())
        self.lines.show(live.Update(whole, **shown), self.now)
        lines = self.out.getvalue()[before:].splitlines()
        return [line[22:] if line[19:22] == "Z  " else line for line in lines]


def test_each_change_is_one_line_and_what_stays_is_not_repeated() -> None:
    pipe = Pipe()
    lost = live.Lost(NOW, "its way is gone")
    stopped = {**PENDING, "operator": {"state": "NotRunning", "message": "it was stopped"}}
    told = [
        pipe.show(PENDING),
        pipe.show({**PENDING, "evaluated": "2030-01-01T00:00:00Z"}),
        pipe.show(PENDING, lost=lost),
        pipe.show(PENDING, lost=lost),
        pipe.show(PENDING),
        pipe.show(PENDING, stale=("nodes",)),
        pipe.show(PENDING),
        pipe.show(stopped),
        pipe.show(PENDING),
    ]
    assert told == [
        ["Pending 9/10: waiting for MastersSchedulable"],
        [],
        [f"not connected since {NOW:%Y-%m-%dT%H:%M:%SZ}: its way is gone; trying again"],
        [],
        ["connected again"],
        ["cannot be followed: nodes"],
        ["everything can be followed"],
        ["operator NotRunning: it was stopped"],
        ["operator Running"],
    ]
    first, *advisories = pipe.show(CONVERGING)
    assert "MachineConfigPoolsRolledOut (master 0/3)" in first
    assert [line.partition(":")[0] for line in advisories] == [one["name"] for one in CONVERGING["advisories"]]
    degraded = {"reason": "TransitionStuck", "message": "RouterReplicas did not come"}
    assert pipe.show({**CONVERGING, "degraded": degraded})[0].endswith("RouterReplicas did not come (TransitionStuck)")
    _, *gone = pipe.show({**COMPLETED, "advisories": []})
    assert all(line.endswith(": no longer required") for line in gone)


@pytest.mark.parametrize("phase", list(Phase))
def test_every_phase_has_its_line(phase: Phase) -> None:
    first = Pipe().show(replies.told(replies.in_phase(phase)))[0]
    assert first.startswith("no record" if phase is Phase.IDLE else phase.value)


@pytest.mark.parametrize(("form", "load"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_documents_are_the_answer_of_status_one_for_each_change(form: str, load: Any) -> None:
    pipe = Pipe(form)
    lost = live.Lost(NOW, "its way is gone")
    later = {**PENDING, "evaluated": "2030-01-01T00:00:00Z"}
    printed = [pipe.show(PENDING), pipe.show(later), pipe.show(PENDING, lost=lost), pipe.show(CONVERGING)]
    assert [load("\n".join(lines).removeprefix("---\n")) for lines in printed if lines] == [PENDING, CONVERGING]
    assert [bool(lines) for lines in printed] == [True, False, False, True]
    assert [line[22:].partition(" since")[0] for line in pipe.err.getvalue().splitlines()] == [
        "not connected",
        "connected again",
    ]


def test_no_message_breaks_a_line_or_moves_a_cursor() -> None:
    evil = "\x1b[2Jone\ntwo\x07"
    lines = Pipe().show({**PENDING, "advisories": [{"name": evil, "message": evil, "command": evil}]})
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "draws"),
    [
        (io.StringIO(), {"TERM": "xterm"}, False),
        (Terminal(), {"TERM": "xterm-256color", "NO_COLOR": "1"}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {}, False),
    ],
)
def test_where_it_draws(stream: io.StringIO, environ: dict[str, str], *, draws: bool) -> None:
    assert live_lines.can_draw(stream, environ) is draws
