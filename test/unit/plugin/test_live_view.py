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
from test import processes

import topology_controller
from topology_api.vocabulary import Phase
from topology_controller import terminal
from topology_controller.observe import facts
from topology_controller.plugin import assessment, document, live, live_screen, printing

from ..core import worlds
from ..core.strategies import worlds_of_any_kind
from . import replies

if TYPE_CHECKING:
    from datetime import datetime

    from rich.text import Text

_TAKEN, _GIVEN_BACK, _HOME, _CLEARED = "\x1b[?1049h", "\x1b[?1049l", "\x1b[H", "\x1b[2J"
_EMPTIED, _BELOW = "\x1b[2K", "\x1b[J"
_HIDDEN, _SHOWN = "\x1b[?25l", "\x1b[?25h"
LATER = worlds.NOW + timedelta(seconds=75)
SIZES = [(40, 24), (60, 20), (80, 24), (80, 60), (120, 45), (200, 60)]


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
        whole: bytes = buffer.getvalue()
        return whole.decode()


def picture(
    answer: dict[str, Any],
    width: int = 80,
    height: int = 60,
    *,
    encoding: str = "utf-8",
    now: datetime = LATER,
    **shown: Any,
) -> list[Text]:
    whole: Any = answer
    on = console.Console(file=Terminal(encoding), width=width, height=height)
    lines = live_screen.drawing(live.Update(whole, **shown), now, on)
    assert len(lines) <= height
    assert sum(live_screen.rows(line, on) for line in lines) <= height
    if width >= 40:
        # A command is left to the terminal, and so is a name that is wider than the room that it has.
        broken = [line.plain for line in lines if line.cell_len > width and "oc " not in line.plain]
        assert not [line for line in broken if max(map(len, line.split()), default=0) < width // 3], broken
    return lines


def drawn(answer: dict[str, Any], width: int = 80, height: int = 60, **shown: Any) -> list[str]:
    return [line.plain.rstrip() for line in picture(answer, width, height, **shown)]


def part(lines: list[str], title: str) -> list[str]:
    """The lines below a title, up to the next title or gap."""
    begin = next(number for number, line in enumerate(lines) if line.startswith(title))
    return list(itertools.takewhile(lambda line: line.startswith(" "), lines[begin + 1 :]))


CONVERGING = replies.told(replies.in_phase(Phase.CONVERGING))
BLOCKED = replies.told(replies.in_phase(Phase.PENDING))


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize(("name", "told"), [("edge-7f4kd", "edge-7f4kd, "), ("", "without a name, ")])
def test_the_head_tells_cluster_phase_and_progress_at_any_size(width: int, height: int, name: str, told: str) -> None:
    cluster = {**CONVERGING["cluster"], "name": name}
    lines = drawn({**CONVERGING, "cluster": cluster, "progress": {"met": 13, "total": 20}}, width, height)
    head = dict(re.split("  +", line, maxsplit=1) for line in lines[:16] if re.match(r"\w+  ", line))
    assert head["Cluster"].startswith(told)
    assert head["Topology"].startswith("HighlyAvailable/HighlyAvail")
    since = f"Converging since {worlds.NOW:%Y-%m-%dT%H:%M:%SZ} (75 s ago)"
    assert head["Phase"].startswith(since if width > 40 else since[:20])
    assert head["Progress"].startswith("13/20 [######----]" if width < 64 else "13/20 [#############-------] ")


@pytest.mark.parametrize(("minutes", "left"), [(0, "in 118 min"), (90, "in 28 min"), (121, "passed 2 min ago")])
def test_how_long_it_may_take_is_counted(minutes: int, left: str) -> None:
    now = LATER + timedelta(minutes=minutes)
    deadline = CONVERGING["transition"]["deadline"]
    assert f"Deadline    {deadline} ({left})" in [line.plain for line in picture(CONVERGING, now=now)]


@pytest.mark.parametrize(("height", "hidden"), [(24, True), (400, False)])
def test_the_last_line_tells_what_is_hidden_and_how_to_leave(height: int, *, hidden: bool) -> None:
    last = drawn(CONVERGING, 80, height)[-1]
    assert last.startswith("Ctrl-C ends")
    assert ("rows are hidden" in last) is hidden


@pytest.mark.parametrize(("width", "height"), [size for size in SIZES if size != (40, 24)])
def test_every_check_that_is_not_met_is_there_with_what_was_found(width: int, height: int) -> None:
    lines = drawn(BLOCKED, width, height)
    failing = [one for one in BLOCKED["checks"] if one["status"] != "Met"]
    assert failing
    told = " ".join(" ".join(part(lines, "Preflight checks")).split())
    for one in failing:
        assert f"{one['status']} {one['name']}" in told
        assert " ".join(one["message"].split()) in told


def test_in_one_line_a_check_tells_what_was_found() -> None:
    checks = [{**CONVERGING["checks"][0], "name": f"Check{number}", "status": "Unmet",
               "message": f"Wanted: {'many things ' * 8}. Found: {number} of them"}
              for number in range(12)]  # fmt: skip
    lines = part(drawn({**CONVERGING, "checks": checks}, 80, 24), "Convergence checks")
    assert [line.split()[:2] for line in lines] == [["Unmet", f"Check{number}"] for number in range(12)]
    assert all(f"Found: {number} of them" in line for number, line in enumerate(lines))


def test_operands_that_have_not_followed_are_counted_and_listed() -> None:
    operands = [
        {"check": "ConsoleReplicas", "kind": "Deployment", "name": "ns/done", "unit": "replicas", "have": 2,
         "wanted": 2, "status": "Met", "message": ""},
        {"check": "RouterReplicas", "kind": "IngressController", "name": "ns/router", "unit": "replicas", "have": 1,
         "wanted": 2, "status": "Unmet", "message": ""},
        {"check": "Guards", "kind": "PodDisruptionBudget", "name": "ns/guard", "unit": "", "have": None, "wanted": None,
         "status": "Unmet", "message": ""},
    ]  # fmt: skip
    lines = part(
        drawn({**CONVERGING, "checks": [], "operands": {"items": operands, "said": ""}}), "Components updated: 1 of 3"
    )
    assert [line.split() for line in lines] == [
        ["Unmet", "1/2", "replicas", "RouterReplicas", "ns/router"],
        ["Unmet", "Guards", "ns/guard"],
    ]
    followed = {"items": operands[:1], "said": ""}
    assert "Components updated: 1 of 1" in drawn({**CONVERGING, "operands": followed}, 120, 200)


def test_what_is_odd_of_nodes_and_members_outlasts_what_is_in_order() -> None:
    nodes = [{"name": "master-0", "ready": "True", "eligible": True, "why": ""},
             {"name": "m1", "ready": "False", "eligible": False, "why": "Ready=False"},
             {"name": "m2", "ready": "True", "eligible": True, "why": ""}]  # fmt: skip
    # Three voters: fewer are a danger, which would be told in lines of its own.
    members = [{"id": f"a{number}", "name": "x", "address": f"192.0.2.{number}", "role": "voter", "node": node["name"]}
               for number, node in enumerate(nodes, 1)]  # fmt: skip
    members.append({"id": "b2", "name": "y", "address": "192.0.2.9", "role": "learner", "node": None})
    answer = {**CONVERGING, "nodes": {"items": nodes, "said": ""}, "etcd": {"items": members, "said": ""}}
    lines = drawn(answer, 120, 200)
    good = ["  master-0  Ready=True   eligible", "  m2        Ready=True   eligible"]
    odd = "  m1        Ready=False  not eligible  Ready=False"
    assert part(lines, "Control-plane nodes") == [good[0], odd, good[1]]
    voters = ["  voter    a1  192.0.2.1  master-0", "  voter    a2  192.0.2.2  m1", "  voter    a3  192.0.2.3  m2"]
    learner = "  learner  b2  192.0.2.9  on no control-plane node"
    assert part(lines, "etcd members") == [*voters, learner]
    few: dict[str, Any] = {**answer, "checks": [], "advisories": [], "operands": {"items": [], "said": ""}}
    lines = drawn(few, 80, 14)
    assert odd in lines
    assert learner in lines
    assert not {*good, *voters} & {*lines}


def test_what_a_person_has_to_do_comes_with_the_whole_command() -> None:
    command = (
        'oc -n openshift-ingress-operator patch ingresscontroller default --type merge -p \'{"spec":{"replicas":2}}\''
    )
    advisory = {"name": "RouterReplicasPinned", "message": "asks for 1", "command": command}
    for width in (40, 80, 120, 200):
        lines = drawn({**CONVERGING, "advisories": [advisory]}, width)
        assert command in map(str.strip, lines), "in one line, so that it can be copied"


@pytest.mark.parametrize("seconds", [0, 45])
def test_a_lost_connection_is_told_above_what_was_known(seconds: int) -> None:
    lost = live.Lost(LATER - timedelta(seconds=seconds), "its way is gone")
    for width, height in SIZES:
        lines = drawn(CONVERGING, width, height, lost=lost)
        assert any(line.startswith("not connected since") for line in lines)
    text = " ".join(drawn(CONVERGING, 200, lost=lost))
    assert f"not connected since {lost.since:%Y-%m-%dT%H:%M:%SZ} ({seconds} s ago): its way is gone" in text


def test_however_much_cannot_be_followed_the_head_stays() -> None:
    lost = live.Lost(worlds.NOW, "its way is gone " * 50)
    lines = drawn(CONVERGING, 80, 24, lost=lost, stale=tuple(f"kind{number}: malformed" for number in range(60)))
    assert sum(line.startswith("cannot be followed: kind0: malformed, kind1") for line in lines) == 1
    for name in ("Cluster ", "Topology ", "Phase ", "Progress "):
        assert any(line.startswith(name) for line in lines), lines
    assert any(line.startswith("  Unmet  ") for line in lines)


def test_more_than_fits_hides_the_least_important_and_says_how_much() -> None:
    checks = [{**CONVERGING["checks"][0], "name": f"Check{number:03}", "status": "Unmet" if number < 100 else "Met"}
              for number in range(200)]  # fmt: skip
    nothing: dict[str, Any] = {"items": [], "said": ""}
    only: Any = {**dict.fromkeys(("operands", "nodes", "etcd"), nothing), "advisories": [], "unread": []}
    answer: Any = {**CONVERGING, **only, "transition": None, "checks": checks}
    lines = drawn(answer, 80, 30)
    assert len(lines) == 30
    shown = part(lines, "Convergence checks")
    assert [line.split()[1] for line in shown] == [f"Check{number:03}" for number in range(len(shown))]
    assert len(shown) > 15
    everything = document.Document()
    printing.status(everything, answer)
    # All lines but two are rows: there is one title, and the last line.
    hidden = sum(len(section.rows) for section in everything.sections) - (30 - 2)
    assert lines[-1] == f"Ctrl-C ends. {hidden} rows are hidden: oc topology status shows all"


@pytest.mark.parametrize(("width", "height"), [(1, 1), (3, 2), (10, 5), (24, 3), (40, 0)])
def test_hardly_any_room_breaks_nothing(width: int, height: int) -> None:
    for answer in (CONVERGING, BLOCKED, replies.told(replies.WITHOUT_REQUEST)):
        drawn(answer, width, height, lost=live.Lost(worlds.NOW, "gone"), stale=("nodes",))


def test_without_a_request_it_tells_what_could_be_asked_for() -> None:
    ways = [
        {"name": "sno-to-ha-compact", "summary": "It grows", "available": True, "blockers": []},
        {"name": "other", "summary": "", "available": False, "blockers": [{"name": "EtcdHealthy", "status": "Unmet"}]},
        {"name": "dark", "summary": "", "available": False, "blockers": [{"name": "EtcdHealthy", "status": "Unknown"}]},
    ]
    common = {"target": {"controlPlane": "HighlyAvailable", "infrastructure": "x"}}
    evaluated = (LATER - timedelta(seconds=32)).isoformat()
    answer = {
        **replies.told(replies.WITHOUT_REQUEST),
        "available": [{**way, **common, "evaluated": evaluated} for way in ways],
    }
    lines = part(drawn(answer, 120), "Available transitions")
    assert [re.split("  +", line.strip()) for line in lines] == [
        ["Possible", "sno-to-ha-compact", "evaluated 32 s ago", "It grows"],
        ["Blocked", "other", "evaluated 32 s ago", "EtcdHealthy"],
        ["Cannot tell", "dark", "evaluated 32 s ago", "EtcdHealthy"],
    ]


def test_no_message_moves_the_cursor_or_is_taken_for_markup() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b2J\n\r[bold]:smile:\u202e[/bold]"
    answer = replies.told(worlds.healthy(scheduler=facts.Unobserved("x", evil)))
    answer = {**answer, "headline": evil, "advisories": [{"name": evil, "message": evil, "command": evil}]}
    lines = drawn(answer, 120, lost=live.Lost(worlds.NOW, evil), stale=(evil,))
    text = "\n".join(lines)
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "[bold]:smile:" in text


def test_a_terminal_without_unicode_gets_none() -> None:
    lines = drawn(CONVERGING, 40, 20, encoding="ascii")
    assert all(line.isascii() for line in lines), lines


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, ""),
        (0, "0 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7199, "119 min"),
        (7200, "2 h"),
        (172800, "2 d"),
        (864000, "10 d"),
    ],
)
def test_lengths_of_time_are_read_at_a_glance(seconds: int, text: str) -> None:
    since = worlds.NOW - timedelta(seconds=seconds)
    assert assessment.length(since.isoformat(), worlds.NOW) == text


@given(
    known=worlds_of_any_kind(),
    width=st.integers(1, 220),
    height=st.integers(0, 80),
    lost=st.booleans(),
)
def test_any_cluster_fits_any_terminal(known: facts.Facts, width: int, height: int, *, lost: bool) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    drawn(replies.told(known), width, height, lost=live.Lost(worlds.NOW, "gone") if lost else None)


@given(text=st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=200), width=st.integers(4, 60))
def test_wrapping_loses_no_letter(text: str, width: int) -> None:
    whole: dict[str, Any] = {**CONVERGING, "checks": [], "advisories": [], "transition": None}
    whole["degraded"] = {"reason": "Some", "message": f"begin {text} end."}
    lines = drawn(whole, width, 2000)
    letters = "".join("".join(lines).split())
    assert "".join(f"begin{terminal.plain(text)}end.".split()) in letters


def test_the_same_moment_is_drawn_the_same_and_a_second_changes_what_counts_on() -> None:
    whole: Any = {**CONVERGING, "transition": {**CONVERGING["transition"], "deadline": None}}
    first, again = picture(whole), picture(whole)
    later = picture(whole, now=LATER + timedelta(seconds=1))
    assert first == again
    assert sum(one != other for one, other in zip(first, later, strict=True)) == 2, "the assessment and the phase"


def test_the_terminal_is_drawn_over_without_being_cleared_and_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "30")
    monkeypatch.setenv("TERM", "xterm-256color")
    whole: Any = CONVERGING
    terminal = Terminal()
    with live_screen.taken(terminal, {"COLUMNS": "100"}) as show:
        for seconds in range(3):
            show(live.Update(whole), LATER + timedelta(seconds=seconds))
    taken, hidden, *drawings = terminal.seen.partition(_GIVEN_BACK)[0].split(_HOME)
    assert (taken, hidden) == (_TAKEN, _HIDDEN)
    assert _CLEARED not in terminal.seen
    assert len(drawings) == 3
    for drawing in drawings:
        text = drawing.removesuffix(_SHOWN)
        assert text.endswith(_BELOW)
        # Each line of the terminal is emptied before it is written to, and at most all of them are.
        assert 20 < text.count(_EMPTIED) <= 30
        assert [line for line in text.split("\r\n") if not line.startswith(_EMPTIED)] == []
    assert terminal.seen.partition(_GIVEN_BACK)[2] == replies.printed(whole, 100, colour=True)


def test_a_terminal_that_has_gone_ends_it_without_another_word() -> None:
    whole: Any = CONVERGING
    terminal = Terminal()
    with live_screen.taken(terminal, {}) as show:
        show(live.Update(whole), LATER)
        terminal.gone = True
        with pytest.raises(BrokenPipeError):
            show(live.Update(whole), LATER)
    assert _GIVEN_BACK not in terminal.seen


def _imports(file: pathlib.Path) -> set[str]:
    """What a module imports, wherever in it: the last part of each name, and rich as a whole."""
    found = set()
    for one in ast.walk(ast.parse(file.read_text())):
        if isinstance(one, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in one.names}
        elif isinstance(one, ast.ImportFrom):
            found |= {(one.module or "").partition(".")[0], *(alias.name for alias in one.names)}
    return found


def test_only_the_live_view_imports_rich_and_only_status_imports_that() -> None:
    files = list(pathlib.Path(topology_controller.__path__[0]).rglob("*.py"))
    assert {file.stem for file in files if "rich" in _imports(file)} == {"live_screen"}
    assert {file.stem for file in files if "live_screen" in _imports(file)} == {"status"}


def test_every_other_module_of_the_plugin_does_without_rich() -> None:
    script = (
        "import importlib, pkgutil, sys; from topology_controller import plugin;"
        "names = [one.name for one in pkgutil.walk_packages(plugin.__path__, 'topology_controller.plugin.')];"
        "others = [name for name in names if not name.endswith(('__main__', '_screen'))];"
        "[importlib.import_module(name) for name in others];"
        "assert {'main', 'status'} <= {name.rpartition('.')[2] for name in others};"
        "assert not [name for name in sys.modules if name.partition('.')[0] == 'rich']"
    )
    ran = processes.python("-c", script)
    assert ran.code == 0, ran.complaint
