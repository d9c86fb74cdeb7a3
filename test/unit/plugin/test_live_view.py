"""What the live view draws: what matters at any size, nothing that does not fit, nothing that a terminal obeys."""

from __future__ import annotations

import ast
import errno
import io
import itertools
import pathlib
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rich import console

import topology_controller
from topology_api.vocabulary import Phase
from topology_controller.observe import facts
from topology_controller.plugin import assessment, live, live_screen

from ..core import worlds
from ..core.strategies import worlds_of_any_kind
from . import replies

if TYPE_CHECKING:
    from datetime import datetime

_TAKEN, _GIVEN_BACK, _HOME, _CLEARED = "\x1b[?1049h", "\x1b[?1049l", "\x1b[H", "\x1b[2J"
LATER = worlds.NOW + timedelta(seconds=75)
SIZES = [(40, 24), (80, 24), (80, 60), (200, 60)]
CONVERGING = replies.told(replies.in_phase(Phase.CONVERGING))
BLOCKED = replies.told(replies.in_phase(Phase.PENDING))


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


def test_a_check_that_is_not_met_is_shown_with_what_was_found() -> None:
    failing = [one for one in BLOCKED["checks"] if one["status"] != "Met"]
    assert failing
    told = " ".join(" ".join(part(drawn(BLOCKED, 60, 20), "Preflight checks")).split())
    assert all(f"{one['status']} {one['name']} {' '.join(one['message'].split())}" in told for one in failing)


def test_more_than_fits_hides_the_least_important_and_says_how_much() -> None:
    checks = [
        {**CONVERGING["checks"][0], "name": f"Check{number:03}", "status": "Unmet" if number < 100 else "Met"}
        for number in range(200)
    ]
    lines = drawn({**CONVERGING, "transition": None, "advisories": [], "checks": checks}, 80, 30)
    shown = part(lines, "Convergence checks")
    assert [line.split()[1] for line in shown] == [f"Check{number:03}" for number in range(len(shown))]
    assert re.fullmatch(r"Ctrl-C ends\. \d+ rows are hidden: oc topology status shows all", lines[-1])


def test_what_is_odd_of_nodes_and_members_outlasts_what_is_in_order() -> None:
    nodes = [{"name": f"m{at}", "ready": "True", "eligible": True, "why": ""} for at in range(3)]
    nodes[1] |= {"ready": "False", "eligible": False, "why": "Ready=False"}
    members: list[dict[str, Any]] = [
        {"id": f"a{at}", "name": "x", "address": f"192.0.2.{at}", "role": "voter", "node": f"m{at}"} for at in range(3)
    ]
    members.append({"id": "b2", "name": "y", "address": "192.0.2.9", "role": "learner", "node": None})
    answer: dict[str, Any] = {**CONVERGING, "checks": [], "advisories": [], "operands": {"items": [], "said": ""}}
    answer |= {"nodes": {"items": nodes, "said": ""}, "etcd": {"items": members, "said": ""}}
    odd, learner = "  m1  Ready=False  not eligible  Ready=False", "  learner  b2  192.0.2.9  on no control-plane node"
    whole, few = drawn(answer, 120, 200), drawn(answer, 80, 14)
    assert (len(part(whole, "Control-plane nodes")), len(part(whole, "etcd members"))) == (3, 4)
    assert {odd, learner} <= {*whole} & {*few}
    assert not [line for line in few if "  voter" in line or "Ready=True" in line]


def test_components_and_commands_are_shown_whole() -> None:
    common = {"check": "RouterReplicas", "kind": "Deployment", "unit": "replicas", "wanted": 2, "message": ""}
    operands = [
        {**common, "name": "ns/done", "have": 2, "status": "Met"},
        {**common, "name": "ns/router", "have": 1, "status": "Unmet"},
        {**common, "name": "ns/guard", "have": None, "wanted": None, "unit": "", "status": "Unmet"},
    ]
    command = "oc -n openshift-ingress-operator patch ingresscontroller default --type merge -p '{}'"
    answer = {**CONVERGING, "operands": {"items": operands, "said": ""}}
    answer["advisories"] = [{"name": "RouterReplicasPinned", "message": "asks for 1", "command": command}]
    lines = [line.split() for line in part(drawn(answer, 80, 200), "Components updated: 1 of 3")]
    assert lines == [
        ["Unmet", "1/2", "replicas", "RouterReplicas", "ns/router"],
        ["Unmet", "RouterReplicas", "ns/guard"],
    ]
    assert command in map(str.strip, drawn(answer, 40, 200)), "in one line, so that it can be copied"
    followed = {**CONVERGING, "operands": {"items": operands[:1], "said": ""}}
    assert "Components updated: 1 of 1" in drawn(followed, 120, 200)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (3, 2), (10, 5), (24, 3), (40, 0)])
def test_hardly_any_room_breaks_nothing(width: int, height: int) -> None:
    drawn(CONVERGING, width, height, lost=live.Lost(worlds.NOW, "gone"), stale=("nodes",))


def test_without_a_request_it_tells_what_could_be_requested() -> None:
    target = {"controlPlane": "HighlyAvailable", "infrastructure": "x"}
    evaluated = (LATER - timedelta(seconds=32)).isoformat()
    ways = [
        {"name": name, "summary": "", "available": not why, "target": target, "evaluated": evaluated,
         "blockers": [{"name": "EtcdHealthy", "status": status} for status in why]}
        for name, why in (("compact", ()), ("other", ("Unmet",)), ("dark", ("Unknown",)))
    ]  # fmt: skip
    lines = part(drawn({**replies.told(replies.WITHOUT_REQUEST), "available": ways}, 120), "Available transitions")
    assert [re.split("  +", line.strip())[:2] for line in lines] == [
        ["Possible", "compact"],
        ["Blocked", "other"],
        ["Cannot tell", "dark"],
    ]


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
        for one in ast.walk(ast.parse(file.read_text())):
            names = {alias.name for alias in one.names} if isinstance(one, (ast.Import, ast.ImportFrom)) else set()
            names |= {one.module or ""} if isinstance(one, ast.ImportFrom) else set()
            for name in names & {"live_screen"} | {name.partition(".")[0] for name in names} & {"rich"}:
                users[name].add(file.stem)
    assert users == {"rich": {"live_screen"}, "live_screen": {"status"}}
