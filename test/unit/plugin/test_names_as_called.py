"""What is printed can be typed again: the program and the cluster's client are named as this person has called them."""

from __future__ import annotations

import pytest
from rich import console
from rich.text import Text

from topology_controller.observe import facts
from topology_controller.plugin import document, live_screen, naming

from ..core import worlds
from . import replies

OC, KUBECTL = naming.Caller(), naming.Caller("kubectl topology", "kubectl")
PATCH = """oc -n openshift-ingress-operator patch ingresscontroller default --type merge -p '{"spec":{"replicas":2}}'"""


@pytest.mark.parametrize(
    ("typed", "parent", "has_oc", "caller"),
    [
        pytest.param("/usr/bin/oc", "bash", False, OC, id="oc-has-become-this-process"),
        pytest.param("/usr/bin/kubectl", "bash", False, KUBECTL, id="kubectl-has"),
        pytest.param("/usr/local/bin/kubectl-1.32.4", "zsh", False, KUBECTL, id="kubectl-with-a-version"),
        pytest.param("/usr/bin/kubectl", "bash", True, naming.Caller("kubectl topology", "oc"), id="oc-is-there-too"),
        pytest.param("", "kubectl", False, KUBECTL, id="kubectl-is-the-parent"),
        pytest.param(
            "/home/me/bin/kubectl-topology", "bash", False, naming.Caller("kubectl-topology", "kubectl"), id="itself"
        ),
        pytest.param("/usr/bin/make", "make", True, naming.Caller("kubectl-topology", "oc"), id="from-something-else"),
    ],
)
def test_names_follow_from_what_was_typed(typed: str, parent: str, has_oc: bool, caller: naming.Caller) -> None:  # noqa: FBT001 - a row of the table
    found = naming.fitting({"_": typed}, parent, lambda name: f"/usr/bin/{name}" if has_oc else None)
    assert found == caller


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("see oc topology status", "see kubectl topology status"),
        ("Look at oc get nodes", "Look at kubectl get nodes"),
        (PATCH, "kubectl" + PATCH.removeprefix("oc")),
        # Only oc can do the first half, so the second half stays with it.
        (
            "oc debug node/a -- true && oc annotate co topology x-",
            "oc debug node/a -- true && oc annotate co topology x-",
        ),
        (
            "oc adm policy add-cluster-role-to-user cluster-reader joe",
            "kubectl create clusterrolebinding cluster-reader-joe --clusterrole=cluster-reader --user=joe",
        ),
        ("the path /usr/bin/oc get, and dioc get", "the path /usr/bin/oc get, and dioc get"),
    ],
)
def test_commands_are_those_of_the_client_that_is_there(text: str, spoken: str) -> None:
    assert KUBECTL.spoken(text) == spoken
    assert OC.spoken(text) == text


def test_an_answer_for_a_script_keeps_the_messages_of_the_operator() -> None:
    answer = {
        "checks": [{"message": "Look at oc get nodes"}],
        "patch": {"command": PATCH},
        "message": "oc topology plan",
    }
    assert KUBECTL.answered(answer) == {
        "checks": [{"message": "Look at oc get nodes"}],
        "patch": {"command": "kubectl" + PATCH.removeprefix("oc")},
        "message": "kubectl topology plan",
    }


@pytest.mark.parametrize("width", [24, 40, 80, 120])
def test_no_command_is_broken_in_any_width(width: int) -> None:
    known = worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False))
    change = """oc patch scheduler cluster --type merge -p '{"spec":{"mastersSchedulable":true}}'"""
    text = replies.printed(replies.planned(known), width)
    assert any(change in line for line in text.splitlines()), "in a sentence"
    sheet = document.Document(width)
    sheet.add("Title", [("Name", f"Do this: {PATCH}. And then rest"), document.command(PATCH)])
    lines = sheet.text().splitlines()
    assert sum(PATCH in line for line in lines) == 2


def test_the_live_view_leaves_it_to_the_terminal_to_fold_a_line() -> None:
    on = console.Console(width=40, height=10, force_terminal=True, color_system=None)
    written = live_screen.written([Text("first"), Text(PATCH), Text("last")], on)
    assert PATCH in written, "in one piece: a line break in it would be copied too"
    before, after = written.split(PATCH)
    assert live_screen.rows(Text(PATCH), on) == 3
    # The three lines that it will take are emptied first, and writing begins in the first of them.
    assert before.endswith("\x1b[2K\n\x1b[2K\n\x1b[2K\x1b[2A\r")
    assert after.startswith("\r\n")
