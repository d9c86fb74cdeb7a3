"""Text fits the terminal, obeys nobody, and can be typed again: programs are named as this person has called them."""

from __future__ import annotations

import io
import re

import pytest

from topology_api.vocabulary import Phase
from topology_controller.observe import facts
from topology_controller.plugin import document, naming

from ..core import worlds
from . import replies

OC, KUBECTL = naming.Caller(), naming.Caller("kubectl topology", "kubectl")
PATCH = """oc -n openshift-ingress-operator patch ingresscontroller default --type merge -p '{"spec":{"replicas":2}}'"""
BLOCKED = worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.CONVERGING, Phase.COMPLETED])
def test_lines_fit_but_for_commands_and_names_that_cannot_be_broken(width: int, phase: Phase) -> None:
    known = replies.in_phase(phase)
    found = [replies.planned(known), replies.overview(known), replies.told(known)]
    for text in (replies.printed(one, width) for one in found):
        too_long = [
            line
            for line in text.splitlines()
            if len(line) > width and "oc " not in line and max(map(len, line.split())) < width // 3
        ]
        assert not too_long, "\n".join(too_long)


def test_colour_only_repeats_what_a_word_says() -> None:
    found = replies.planned(BLOCKED)
    coloured = replies.printed(found, colour=True)
    assert "\x1b[31mUnmet\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9]*m", "", coloured) == replies.printed(found)


@pytest.mark.parametrize(
    ("stream", "environ", "width", "colour"),
    [
        pytest.param(io.StringIO(), {}, 0, False, id="pipe"),
        pytest.param(io.StringIO(), {"COLUMNS": "90"}, 90, False, id="pipe-with-columns"),
        pytest.param(Terminal(), {"COLUMNS": "90"}, 90, True, id="terminal"),
        pytest.param(Terminal(), {"COLUMNS": "90", "NO_COLOR": "1"}, 90, False, id="no-colour"),
        pytest.param(Terminal(), {"TERM": "dumb"}, 0, False, id="dumb"),
        pytest.param(Terminal(), {"COLUMNS": "7"}, 24, True, id="hardly-any-width"),
        pytest.param(Terminal(), {"COLUMNS": "many"}, 0, True, id="nonsense"),
    ],
)
def test_a_document_suits_its_stream(stream: io.StringIO, environ: dict[str, str], width: int, *, colour: bool) -> None:
    made = document.Document.of(stream, environ)
    assert (made.width, made.colour) == (width, colour)


def test_a_message_cannot_move_somebodys_cursor() -> None:
    evil = facts.Unobserved("x", "\x1b]0;owned\x07\x1b[2J\nMet  Everything")
    text = replies.printed(replies.planned(worlds.healthy(scheduler=evil)))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert not re.search(r"^Met  Everything", text, re.MULTILINE)


# Names


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
