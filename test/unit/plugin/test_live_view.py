"""`status --watch` draws what matters at any size of a terminal; into a pipe it writes a line or document for a change.

Neither holds what does not fit, or what a terminal obeys.
"""

from __future__ import annotations

import errno
import io
import itertools
import json
import pathlib
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st
from rich import console

import topology_controller
from topology_api.vocabulary import Phase
from topology_controller.observe import facts
from topology_controller.plugin import assessment, live, live_lines, live_screen

from ..core import worlds
from ..core.strategies import worlds_of_any_kind
from . import replies

if TYPE_CHECKING:
    from datetime import datetime

_TAKEN, _GIVEN_BACK, _HOME, _CLEARED = "\x1b[?1049h", "\x1b[?1049l", "\x1b[H", "\x1b[2J"
LATER = worlds.NOW + timedelta(seconds=75)
SIZES = [(40, 24), (80, 24), (200, 60)]
CONVERGING = replies.told(replies.in_phase(Phase.CONVERGING))
PENDING = replies.told(replies.in_phase(Phase.PENDING))
COMPLETED = replies.told(replies.in_phase(Phase.COMPLETED))


class Terminal(io.TextIOWrapper):
    """A terminal that keeps what is written to it. Once it has `gone`, it refuses that."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding, errors="backslashreplace", write_through=True)
        self.gone = False

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.gone:
            raise OSError(errno.EIO, "Input/output error")
        return super().write(text)

    @property
    def seen(self) -> str:
        """Everything that was written."""
        buffer: Any = self.buffer
        return str(buffer.getvalue(), "utf-8")


def drawn(
    answer: dict[str, Any],
    width: int = 80,
    height: int = 60,
    *,
    encoding: str = "utf-8",
    now: datetime = LATER,
    **shown: Any,
) -> list[str]:
    whole: Any = answer
    on = console.Console(file=Terminal(encoding), width=width, height=height)
    lines = live_screen.drawing(live.Update(whole, **shown), now, on)
    assert sum(live_screen.rows(line, on) for line in lines) <= height
    if width >= 40:
        # A command is left to the terminal, and so is a name that is wider than the room that it has.
        broken = [line.plain for line in lines if line.cell_len > width and "oc " not in line.plain]
        assert not [line for line in broken if max(map(len, line.split()), default=0) < width // 3], broken
    return [line.plain.rstrip() for line in lines]


def part(lines: list[str], title: str) -> list[str]:
    """The lines below a title, up to the next title or gap."""
    begin = next(number for number, line in enumerate(lines) if line.startswith(title))
    return list(itertools.takewhile(lambda line: line.startswith(" "), lines[begin + 1 :]))


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("lost", [None, live.Lost(worlds.NOW, "its way is gone " * 50)])
def test_the_head_stays_at_any_size_whatever_is_lost(width: int, height: int, lost: live.Lost | None) -> None:
    stale = tuple(f"kind{number}: malformed" for number in range(60 if lost else 0))
    answer = {**CONVERGING, "progress": {"met": 13, "total": 20}}
    lines = drawn(answer, width, height, lost=lost, stale=stale)
    head = dict(
        re.split("  +", line, maxsplit=1) for line in lines if re.match(r"(Cluster|Topology|Phase|Prog\w+)  ", line)
    )
    assert set(head) == {"Cluster", "Topology", "Phase", "Progress"}
    assert head["Progress"].startswith("13/20 [###")
    assert any(line.startswith("not connected since") for line in lines) is (lost is not None)


def test_more_than_fits_hides_the_least_important_and_says_how_much() -> None:
    checks = [
        {**CONVERGING["checks"][0], "name": f"Check{number:03}", "status": "Unmet" if number < 100 else "Met"}
        for number in range(200)
    ]
    lines = drawn({**CONVERGING, "transition": None, "advisories": [], "checks": checks}, 80, 30)
    shown = part(lines, "Convergence checks")
    assert [line.split()[1] for line in shown] == [f"Check{number:03}" for number in range(len(shown))]
    assert re.fullmatch(r"Ctrl-C ends\. \d+ rows are hidden: oc topology status shows all", lines[-1])


def test_a_command_is_in_one_line_so_that_it_can_be_copied() -> None:
    command = "oc -n openshift-ingress-operator patch ingresscontroller default --type merge -p '{}'"
    advisory = {"name": "RouterReplicasPinned", "message": "asks for 1", "command": command}
    assert command in map(str.strip, drawn({**CONVERGING, "advisories": [advisory]}, 40, 200))


def test_no_message_moves_the_cursor_or_is_taken_for_markup() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b2J\n\r[bold]:smile:\u202e[/bold]"
    answer = replies.told(worlds.healthy(scheduler=facts.Unobserved("x", evil)))
    answer = {**answer, "headline": evil, "advisories": [{"name": evil, "message": evil, "command": evil}]}
    text = "\n".join(drawn(answer, 120, lost=live.Lost(worlds.NOW, evil), stale=(evil,)))
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "[bold]:smile:" in text
    assert all(line.isascii() for line in drawn(CONVERGING, 40, 20, encoding="ascii"))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, ""), (0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (172800, "2 d")],
)
def test_lengths_of_time_are_read_at_a_glance(seconds: int, text: str) -> None:
    since = worlds.NOW - timedelta(seconds=seconds)
    assert assessment.length(since.isoformat(), worlds.NOW) == text


@pytest.mark.parametrize(("minutes", "left"), [(0, "in 118 min"), (121, "passed 2 min ago")])
def test_the_time_to_the_deadline_is_counted(minutes: int, left: str) -> None:
    deadline = CONVERGING["transition"]["deadline"]
    assert f"Deadline    {deadline} ({left})" in drawn(CONVERGING, now=LATER + timedelta(minutes=minutes))


@given(known=worlds_of_any_kind(), width=st.integers(1, 220), height=st.integers(0, 80), lost=st.booleans())
def test_any_cluster_fits_any_terminal(known: facts.Facts, width: int, height: int, *, lost: bool) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    drawn(replies.told(known), width, height, lost=live.Lost(worlds.NOW, "gone") if lost else None)


def test_the_terminal_is_drawn_over_without_being_cleared_and_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "30")
    monkeypatch.setenv("TERM", "xterm-256color")
    whole: Any = CONVERGING
    terminal = Terminal()
    with live_screen.taken(terminal, {"COLUMNS": "100"}) as show:
        for seconds in range(3):
            show(live.Update(whole), LATER + timedelta(seconds=seconds))
    before, _, after = terminal.seen.partition(_GIVEN_BACK)
    taken, _, *drawings = before.split(_HOME)
    assert (taken, len(drawings), _CLEARED in terminal.seen) == (_TAKEN, 3, False)
    # Each line of the terminal is emptied before it is written to, and at most all of them are.
    assert all(20 < drawing.count("\x1b[2K") <= 30 for drawing in drawings)
    assert after == replies.printed(whole, 100, colour=True)


def test_a_terminal_that_has_gone_ends_it_without_another_word() -> None:
    whole: Any = CONVERGING
    terminal = Terminal()
    with live_screen.taken(terminal, {}) as show:
        show(live.Update(whole), LATER)
        terminal.gone = True
        with pytest.raises(BrokenPipeError):
            show(live.Update(whole), LATER)
    assert _GIVEN_BACK not in terminal.seen


def test_only_the_live_view_imports_rich_and_only_status_imports_that() -> None:
    users: dict[str, set[str]] = {"rich": set(), "live_screen": set()}
    for file in pathlib.Path(topology_controller.__path__[0]).rglob("*.py"):
        for line in re.findall(r"^ *(?:import|from) .*", file.read_text(), re.MULTILINE):
            for name in users.keys() & set(re.findall(r"\w+", line)):
                users[name].add(file.stem)
    assert users == {"rich": {"live_screen"}, "live_screen": {"status"}}


# Into a pipe


class Pipe:
    """Where it is written to, and what it is shown."""

    def __init__(self, form: str = "text") -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.lines = live_lines.Lines(self.out, self.err, form)
        self.now = worlds.NOW

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
    lost = live.Lost(worlds.NOW, "its way is gone")
    stopped = {**PENDING, "operator": {"state": "NotRunning", "message": "it was stopped"}}
    assert pipe.show(PENDING) == ["Pending 9/10: waiting for MastersSchedulable"]
    assert pipe.show({**PENDING, "evaluated": "2030-01-01T00:00:00Z"}) == []
    (line,) = pipe.show(PENDING, lost=lost)
    assert line.startswith(f"not connected since {worlds.NOW:%Y-%m-%dT%H:%M:%SZ}: its way is gone")
    assert pipe.show(PENDING, lost=lost) == []
    assert pipe.show(PENDING) == ["connected again"]
    assert pipe.show(PENDING, stale=("nodes",)) == ["cannot be followed: nodes"]
    assert pipe.show(stopped) == ["everything can be followed", "operator NotRunning: it was stopped"]
    assert pipe.show(PENDING) == ["operator Running"]
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
    lost = live.Lost(worlds.NOW, "its way is gone")
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


@pytest.mark.parametrize(
    ("stream", "term", "draws"),
    [
        (io.StringIO(), "xterm", False),
        (Terminal(), "xterm", True),
        (Terminal(), "dumb", False),
        (Terminal(), "", False),
    ],
)
def test_where_it_draws(stream: Any, term: str, *, draws: bool) -> None:
    assert live_lines.can_draw(stream, {"TERM": term} if term else {}) is draws
