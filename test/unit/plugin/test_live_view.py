"""What the live view draws: what matters at any size, nothing that does not fit, nothing that a terminal obeys."""

from __future__ import annotations

import ast
import dataclasses
import pathlib
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rich.text import Text
from test import processes

import topology_controller
from topology_api.vocabulary import Phase
from topology_controller.observe import facts
from topology_controller.plugin import live, live_layout, live_view

from ..core import worlds
from ..core.strategies import worlds_of_any_kind
from . import replies

LATER = worlds.NOW + timedelta(seconds=75)
SIZES = [(40, 24), (80, 24), (80, 60), (120, 45), (200, 60)]


def frame(width: int = 80, height: int = 60, **changes: Any) -> live_layout.Frame:
    return live_layout.Frame(width, height, **{"now": LATER, **changes})


def drawn(answer: dict[str, Any], width: int = 80, height: int = 60, **shown: Any) -> list[str]:
    whole: Any = answer
    lines = live_view.picture(live.Shown(whole, **shown), frame(width, height))
    assert len(lines) <= height
    too_wide = [line.plain for line in lines if line.cell_len > width]
    assert not too_wide, too_wide
    return [line.plain.rstrip() for line in lines]


def part(lines: list[str], title: str) -> list[str]:
    """The lines below a title, up to the next title or gap."""
    begin = next(number for number, line in enumerate(lines) if line.startswith(title))
    found = []
    for line in lines[begin + 1 :]:
        if not line.startswith(" "):
            break
        found.append(line)
    return found


CONVERGING = replies.told(replies.in_phase(Phase.CONVERGING))
BLOCKED = replies.told(replies.in_phase(Phase.PENDING))


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize(("name", "told"), [("edge-7f4kd", "edge-7f4kd  "), ("", "cluster without a name  ")])
def test_the_head_tells_cluster_phase_and_progress_at_any_size(width: int, height: int, name: str, told: str) -> None:
    cluster = {**CONVERGING["cluster"], "name": name}
    lines = drawn({**CONVERGING, "cluster": cluster, "progress": {"met": 13, "total": 20}}, width, height)
    assert lines[0].startswith(told)
    assert lines[1].startswith("Converging for 1m 15s")
    bar = "██████░░░░" if width == 40 else "███████████████████░░░░░░░░░░░"
    assert lines[2].startswith(f"{bar} 13/20 Conv")


@pytest.mark.parametrize(("height", "hidden"), [(24, True), (200, False)])
def test_the_last_line_tells_what_is_hidden_and_how_to_leave(height: int, *, hidden: bool) -> None:
    last = drawn(CONVERGING, 80, height)[-1]
    assert last.endswith("Ctrl-C ends")
    assert ("rows are hidden" in last) is hidden


@pytest.mark.parametrize(("width", "height"), [size for size in SIZES if size != (40, 24)])
def test_every_check_that_is_not_met_is_there_with_what_was_found(width: int, height: int) -> None:
    lines = drawn(BLOCKED, width, height)
    failing = [one for one in BLOCKED["checks"] if one["status"] != "Met"]
    assert failing
    told = " ".join(" ".join(part(lines, "Preflight checks that are not met")).split())
    for one in failing:
        assert f"{one['status']} {one['name']}" in told
        assert " ".join(one["message"].split()) in told


def test_in_one_line_a_check_tells_what_was_found() -> None:
    checks = [{**CONVERGING["checks"][0], "name": f"Check{number}", "status": "Unmet",
               "message": f"Wanted: {'many things ' * 8}. Found: {number} of them"}
              for number in range(12)]  # fmt: skip
    lines = part(drawn({**CONVERGING, "checks": checks}, 80, 24), "Convergence checks that are not met")
    assert [line.split()[:2] for line in lines] == [["Unmet", f"Check{number}"] for number in range(12)]
    assert all(f"Found: {number} of them" in line for number, line in enumerate(lines))


def test_operands_are_bars_and_those_that_have_not_followed_come_first() -> None:
    operands = [
        {"check": "ConsoleReplicas", "kind": "Deployment", "name": "ns/done", "unit": "replicas", "have": 2,
         "wanted": 2, "status": "Met", "message": ""},
        {"check": "RouterReplicas", "kind": "IngressController", "name": "ns/router", "unit": "replicas", "have": 1,
         "wanted": 2, "status": "Unmet", "message": ""},
        {"check": "Guards", "kind": "PodDisruptionBudget", "name": "ns/guard", "unit": "", "have": None, "wanted": None,
         "status": "Unmet", "message": ""},
    ]  # fmt: skip
    lines = part(
        drawn({**CONVERGING, "checks": [], "operands": {"items": operands, "said": ""}}), "Who has followed: 1 of 3"
    )
    assert [line.split() for line in lines] == [
        ["██████░░░░░░", "1/2", "replicas", "ns/router", "RouterReplicas"],
        ["Unmet", "ns/guard", "Guards"],
        ["████████████", "2/2", "replicas", "ns/done", "ConsoleReplicas"],
    ]


def test_nodes_and_members_are_counted_and_what_is_odd_is_told() -> None:
    nodes = [{"name": "master-0", "ready": "True", "eligible": True, "why": ""},
             {"name": "m1", "ready": "False", "eligible": False, "why": "Ready=False"}]  # fmt: skip
    members = [{"id": "a1", "name": "x", "address": "192.0.2.1", "role": "voter", "node": "master-0"},
               {"id": "b2", "name": "y", "address": "192.0.2.2", "role": "learner", "node": None}]  # fmt: skip
    lines = drawn({**CONVERGING, "nodes": {"items": nodes, "said": ""}, "etcd": {"items": members, "said": ""}})
    assert part(lines, "Control-plane nodes") == [
        "  master-0  Ready=True  eligible",
        "  m1        Ready=False  not eligible: Ready=False",
    ]
    assert part(lines, "Members of etcd: 1 voter, 1 learner") == [
        "  voter    master-0  192.0.2.1  a1",
        "  learner  on no control-plane node  192.0.2.2  b2",
    ]


def test_what_a_person_has_to_do_comes_with_the_whole_command() -> None:
    command = (
        'oc -n openshift-ingress-operator patch ingresscontroller default --type merge -p \'{"spec":{"replicas":2}}\''
    )
    advisory = {"name": "RouterReplicasPinned", "message": "asks for 1", "command": command}
    for width in (40, 80, 120, 200):
        lines = drawn({**CONVERGING, "advisories": [advisory]}, width)
        begin = next(number for number, line in enumerate(lines) if line.strip().startswith("oc -n"))
        told = "".join(line.replace(" ", "") for line in lines[begin:])
        assert told.startswith(command.replace(" ", ""))


@pytest.mark.parametrize("seconds", [0, 45])
def test_a_lost_connection_is_told_above_what_was_known(seconds: int) -> None:
    lost = live.Lost(LATER - timedelta(seconds=seconds), "its way is gone")
    for width, height in SIZES:
        lines = drawn(CONVERGING, width, height, lost=lost)
        assert any(line.startswith("not connected since") for line in lines)
    text = " ".join(drawn(CONVERGING, 200, lost=lost))
    assert f"not connected since {lost.since:%Y-%m-%dT%H:%M:%SZ} ({seconds}s): its way is gone" in text


def test_more_than_fits_hides_the_least_important_and_says_how_much() -> None:
    checks = [{**CONVERGING["checks"][0], "name": f"Check{number:03}", "status": "Unmet" if number < 100 else "Met"}
              for number in range(200)]  # fmt: skip
    nothing: dict[str, Any] = {"items": [], "said": ""}
    only: Any = {**dict.fromkeys(("operands", "nodes", "etcd"), nothing), "advisories": [], "unread": []}
    lines = drawn({**CONVERGING, **only, "transition": None, "checks": checks}, 80, 30)
    assert len(lines) == 30
    shown = part(lines, "Convergence checks that are not met")
    assert [line.split()[1] for line in shown] == [f"Check{number:03}" for number in range(len(shown))]
    assert len(shown) > 15
    # The rest of a hundred, and the one row that names those that are met.
    assert lines[-1].startswith(f"{100 - len(shown) + 1} rows are hidden: kubectl topology status shows all")


@pytest.mark.parametrize(("width", "height"), [(1, 1), (3, 2), (10, 5), (24, 3), (40, 0)])
def test_hardly_any_room_breaks_nothing(width: int, height: int) -> None:
    for answer in (CONVERGING, BLOCKED, replies.told(replies.UNWISHED)):
        drawn(answer, width, height, lost=live.Lost(worlds.NOW, "gone"), stale=("nodes",))


def test_without_a_wish_it_tells_what_could_be_asked_for() -> None:
    ways = [
        {"name": "sno-to-ha-compact", "summary": "It grows", "available": True, "blockers": []},
        {"name": "other", "summary": "", "available": False, "blockers": [{"name": "EtcdHealthy", "message": "no"}]},
    ]
    lines = part(drawn({**replies.told(replies.UNWISHED), "available": ways}, 120), "What could be asked for")
    assert [line.split() for line in lines] == [
        ["Possible", "sno-to-ha-compact", "It", "grows"],
        ["Blocked", "other", "EtcdHealthy"],
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
    whole: Any = CONVERGING
    lines = live_view.picture(live.Shown(whole), frame(40, 20, ascii_only=True))
    assert all(line.plain.isascii() for line in lines), [line.plain for line in lines]
    assert any(line.plain.startswith("#") for line in lines)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0s"), (0, "0s"), (59.9, "59s"), (60, "1m 00s"), (3599, "59m 59s"), (3600, "1h 00m"), (90000, "1d 1h")],
)
def test_lengths_of_time_are_read_at_a_glance(seconds: float, text: str) -> None:
    assert live_layout.elapsed(seconds) == text


@given(
    known=worlds_of_any_kind(),
    width=st.integers(1, 220),
    height=st.integers(0, 80),
    lost=st.booleans(),
)
def test_any_cluster_fits_any_terminal(known: facts.Facts, width: int, height: int, *, lost: bool) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    drawn(replies.told(known), width, height, lost=live.Lost(worlds.NOW, "gone") if lost else None)


@given(text=st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=200), width=st.integers(1, 60))
def test_wrapping_loses_no_letter(text: str, width: int) -> None:
    assume(width > 3)
    lines = frame(width).wrapped(Text(text), 2)
    assert "".join("".join(line.plain.split()) for line in lines) == "".join(text.split())
    assert all(line.cell_len <= width for line in lines)


def test_the_same_moment_is_drawn_the_same_and_a_second_changes_one_line() -> None:
    whole: Any = {**CONVERGING, "transition": {**CONVERGING["transition"], "deadline": None}}
    first = live_view.picture(live.Shown(whole), frame())
    again = live_view.picture(live.Shown(whole), frame())
    later = live_view.picture(live.Shown(whole), dataclasses.replace(frame(), now=LATER + timedelta(seconds=1)))
    assert first == again
    assert sum(one != other for one, other in zip(first, later, strict=True)) == 1


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
    drawing = {"live_layout", "live_screen", "live_view"}
    assert {file.stem for file in files if "rich" in _imports(file)} <= drawing
    assert {file.stem for file in files if _imports(file) & drawing} <= {*drawing, "status"}


def test_every_other_module_of_the_plugin_does_without_rich() -> None:
    script = (
        "import importlib, pkgutil, sys; from topology_controller import plugin;"
        "names = [one.name for one in pkgutil.walk_packages(plugin.__path__, 'topology_controller.plugin.')];"
        "others = [name for name in names if not name.endswith(('__main__', '_layout', '_screen', '_view'))];"
        "[importlib.import_module(name) for name in others];"
        "assert {'main', 'status'} <= {name.rpartition('.')[2] for name in others};"
        "assert not [name for name in sys.modules if name.partition('.')[0] == 'rich']"
    )
    ran = processes.python("-c", script)
    assert ran.code == 0, ran.complaint
