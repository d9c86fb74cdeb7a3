"""What is printed: lines, tables, and colours only where somebody sees them."""

from __future__ import annotations

import io

import pytest

from topology_simulator import kinds, story, tables, terminal


class Screen(io.StringIO):
    def __init__(self, *, tty):
        super().__init__()
        self.tty = tty

    def isatty(self):
        return self.tty


@pytest.mark.parametrize(
    ("tty", "environment", "coloured"),
    [(True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False), (True, {"TERM": "dumb"}, False)],
)
def test_colours_are_for_terminals_and_for_those_who_want_them(monkeypatch, tty, environment, coloured):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    screen = Screen(tty=tty)
    terminal.Terminal(screen).say("phase", "Pending", "bold")
    assert ("\x1b[" in screen.getvalue()) is coloured


def test_a_sentence_stays_a_line_outside_a_terminal():
    screen = Screen(tty=False)
    terminal.Terminal(screen).say("check", "word " * 100 + "\nmore")
    assert screen.getvalue().count("\n") == 1


def test_a_table_is_laid_out_as_kubectl_does():
    columns = [{"name": "Name", "priority": 0}, {"name": "Phase", "priority": 0}, {"name": "Hidden", "priority": 1}]
    rows = [{"cells": ["cluster", None, "x"]}, {"cells": ["b", "Idle", "x"]}]
    assert tables.layout({"columnDefinitions": columns, "rows": rows}) == "NAME      PHASE\ncluster\nb         Idle"


async def test_the_story_tells_changes_once(living):
    screen = Screen(tty=False)
    teller = story.Story(living.api, terminal.Terminal(screen))
    node = await living.node("master-0")
    cast = teller._tellers
    cast[kinds.NODES](node)
    cast[kinds.NODES](node)
    check = {"stage": "Preflight", "name": "Etcd", "status": "Unmet"}
    for found in ("1", "1", "2"):
        message = f"Wanted: 3. Found: {found}. Look at it"
        transition = {"phase": "Pending", "checks": [{**check, "message": message}]}
        cast[kinds.INFRASTRUCTURES]({"status": {"topologyTransition": transition}})
    lines = [line[8:] for line in screen.getvalue().splitlines()]
    assert [line for line in lines if line.startswith("node")] == [
        "node         master-0 Ready (control-plane, worker)"
    ]
    assert [line.partition("Etcd ")[2] for line in lines if line.startswith("check")] == [
        "Unmet: Wanted: 3. Found: 1. Look at it",
        "Unmet: found 2",
    ]
