"""What is printed: lines, tables, and colours only where somebody sees them."""

from __future__ import annotations

import io

import pytest

from topology_simulator import kinds, machines, story, terminal


class Screen(io.StringIO):
    encoding = "utf-8"

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
    assert terminal.layout({"columnDefinitions": columns, "rows": rows}) == "NAME      PHASE\ncluster\nb         Idle"


@pytest.fixture
def screen():
    return Screen(tty=False)


@pytest.fixture
def told(screen):
    """Return the lines since the last call, without their times."""

    def lines():
        found = [line[8:].rstrip() for line in screen.getvalue().splitlines()]
        screen.truncate(0)
        screen.seek(0)
        return found

    return lines


@pytest.fixture
def teller(api, screen):
    return story.Story(api, terminal.Terminal(screen))


def tells(lines, *wanted):
    """As many lines, and in each of them, in any order, these words."""
    assert len(lines) == len(wanted), lines
    for line, words in zip(lines, wanted, strict=True):
        assert set(words.split()) <= set(line.replace(",", " ").replace(":", " ").split()), line


def transition(phase, *checks, advisories=()):
    record = {"phase": phase, "checks": list(checks), "advisories": list(advisories)}
    return {"status": {"topologyTransition": record}}


def check(name, status="Unmet", found="1", stage="Convergence"):
    return {"stage": stage, "name": name, "status": status, "message": f"Wanted: 3. Found: {found}. Look at it"}


def test_the_story_tells_changes_once(teller, told):
    cast = teller._tellers
    node = machines.node("master-0", roles=("control-plane", "worker"), ready=True)
    for found in ("1", "1", "3", "2", "2"):
        cast[kinds.NODES](node)
        cast[kinds.INFRASTRUCTURES](transition("Pending", check("Etcd", found=found, stage="Preflight")))
        teller.beat()
    lines = told()
    tells([line for line in lines if line.startswith("node")], "master-0 Ready")
    tells([line for line in lines if line.startswith("check")], "Etcd Unmet Wanted 3. 1. it", "Etcd Unmet 2")


def test_what_is_seen_between_two_beats_is_told_as_it_is_at_the_end(teller, told):
    for ready in (True, False, True):
        teller._tellers[kinds.NODES](machines.node("master-0", roles=("control-plane",), ready=ready))
    teller.beat()
    tells(told(), "node master-0 Ready")
    teller._tellers[kinds.NODES](machines.node("master-0", roles=("control-plane",), ready=True))
    teller.beat()
    assert told() == []


def test_while_converging_checks_are_told_together(teller, told):
    look = teller._tellers[kinds.INFRASTRUCTURES]
    look(transition("Converging", check("A"), check("B"), check("C", "Met")))
    told()
    teller.beat()
    tells(told(), "check 1 3 met A B")
    look(transition("Converging", check("A", "Met"), check("B", found="2"), check("C", "Met")))
    teller.beat()
    tells(told(), "check A Met")


def test_the_check_that_is_waited_for_longest_is_told_with_its_message(teller, told, monkeypatch):
    moment = [100.0]
    monkeypatch.setattr(terminal.Terminal, "seconds", property(lambda _: moment[0]))
    look = teller._tellers[kinds.INFRASTRUCTURES]
    look(transition("Converging", check("A"), check("B", "Met")))
    teller.beat()
    tells(told()[-1:], "check 1 2 met A")
    moment[0] += 1.9
    teller.beat()
    assert told() == []
    moment[0] += 0.2
    teller.beat()
    tells(told(), "check A Unmet Wanted 3. Found 1. it")
    teller.beat()
    assert told() == []


def test_an_advisory_is_told_with_its_command_and_when_it_is_done(teller, told):
    look = teller._tellers[kinds.INFRASTRUCTURES]
    pinned = {"name": "RouterReplicasPinned", "message": "one for ever", "command": "oc patch it"}
    look(transition("Pending", advisories=[pinned]))
    tells(told()[-2:], "advisory RouterReplicasPinned ever", "oc patch it")
    look(transition("Pending", advisories=[pinned]))
    assert told() == []
    look(transition("Pending"))
    tells(told(), "advisory RouterReplicasPinned no longer")
    look(transition("Pending", advisories=[pinned]))
    assert len(told()) == 2


def test_a_condition_is_told_by_what_is_new_in_it(teller, told):
    def say(reason, message):
        said = {"type": "Progressing", "status": "True", "reason": reason, "message": message}
        teller._tellers[kinds.CLUSTER_OPERATORS]({"metadata": {"name": "topology"}, "status": {"conditions": [said]}})

    say("TransitionConverging", "1 of 3 components updated. 2 of 3 convergence checks not met: A, B")
    say("TransitionConverging", "2 of 3 components updated. 1 of 3 convergence checks not met: B")
    tells(told(), "topology Progressing=True TransitionConverging")
    say("TransitionConverging", "Nobody is missed. It is quiet")
    say("TransitionConverging", "Nobody is missed. It is over")
    assert [line.partition("TransitionConverging: ")[2] for line in told()] == [
        "Nobody is missed. It is quiet",
        "It is over",
    ]


def test_operators_that_move_together_are_told_together(teller, told):
    def say(name, status):
        said = {"type": "Progressing", "status": status}
        teller._tellers[kinds.CLUSTER_OPERATORS]({"metadata": {"name": name}, "status": {"conditions": [said]}})

    for status in ("False", "True", "False"):
        for name in ("dns", "etcd"):
            say(name, status)
        teller.beat()
    tells(told(), "operator dns etcd progressing", "operator dns etcd stable")
