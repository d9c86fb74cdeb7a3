"""Text fits the terminal, obeys nobody, and can be typed again: programs are named as this person has called them.

`-o json` is what docs/schemas says: no field more, none less, whatever the cluster.
"""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import assume, given

from kubectl_topology import document, errors, naming
from kubectl_topology.commands import cancel
from topology_api.vocabulary import Phase
from topology_controller.observe import facts

from ..core import worlds
from ..core.strategies import worlds_of_any_kind
from . import replies

OC, KUBECTL = naming.Caller(), naming.Caller("kubectl topology", "kubectl")
PATCH = """oc -n openshift-ingress-operator patch ingresscontroller default --type merge -p '{"spec":{"replicas":2}}'"""
BLOCKED = worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False))


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.CONVERGING, Phase.COMPLETED])
def test_lines_fit_but_for_commands_and_names_that_cannot_be_broken(width: int, phase: Phase) -> None:
    known = replies.in_phase(phase)
    for found in (replies.planned(known), replies.overview(known), replies.told(known)):
        too_long = [line for line in replies.printed(found, width).splitlines() if len(line) > width]
        broken = [line for line in too_long if "oc " not in line and max(map(len, line.split())) < width // 3]
        assert not broken, "\n".join(broken)


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
        pytest.param(replies.Terminal(), {"COLUMNS": "90"}, 90, True, id="terminal"),
        pytest.param(replies.Terminal(), {"COLUMNS": "90", "NO_COLOR": "1"}, 90, False, id="no-colour"),
        pytest.param(replies.Terminal(), {"TERM": "dumb"}, 0, False, id="dumb"),
        pytest.param(replies.Terminal(), {"COLUMNS": "7"}, 24, True, id="hardly-any-width"),
        pytest.param(replies.Terminal(), {"COLUMNS": "many"}, 0, True, id="nonsense"),
    ],
)
def test_a_document_suits_its_stream(stream: io.StringIO, environ: dict[str, str], width: int, *, colour: bool) -> None:
    made = document.Document.for_stream(stream, environ)
    assert (made.width, made.colour) == (width, colour)


def test_a_message_cannot_move_somebodys_cursor() -> None:
    evil = facts.Unobserved("x", "\x1b]0;owned\x07\x1b[2J\nMet  Everything")
    text = replies.printed(replies.planned(worlds.healthy(scheduler=evil)))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert not re.search(r"^Met  Everything", text, re.MULTILINE)


# As data


@given(known=worlds_of_any_kind())
def test_any_cluster_conforms_and_can_be_printed_at_any_width(known: facts.Facts) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    found = [replies.told(known), replies.overview(known), replies.audited(known)]
    try:
        found.append(replies.planned(known))
        cancelled, _ = cancel.judged(replies.seen(known), worlds.TRANSITIONS, "oc")
        # What could be cancelled is not an answer: it is cancelled.
        found.append({**cancelled, "result": cancelled["result"].replace("WouldWrite", "Written")})
    except errors.PluginError:
        assert isinstance(known.installed, facts.Installed)
    assert replies.printed(found[0]).splitlines()[0] == found[0]["assessment"]
    for one in found:
        replies.conforms(one)
        for width in (0, 40):
            assert replies.printed(one, width)


@pytest.mark.parametrize(
    ("field", "value"), [("kind", "TopologyPlan"), ("phase", "Done"), ("stuck", None), ("machines", [{}]), ("x", 1)]
)
def test_a_schema_refuses_other_words_types_and_fields(field: str, value: object) -> None:
    answer = replies.told(replies.in_phase(Phase.CONVERGING))
    replies.conforms(answer)
    assert not replies.VALID["TopologyStatus"].is_valid({**answer, field: value})
    for lacking in answer:
        assert not replies.VALID["TopologyStatus"].is_valid({name: answer[name] for name in answer if name != lacking})


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
        (PATCH, "kubectl" + PATCH.removeprefix("oc")),
        # Only oc can do the first half, so the second half stays with it.
        (
            "oc debug node/a -- true && oc annotate co topology x-",
            "oc debug node/a -- true && oc annotate co topology x-",
        ),
        ("the path /usr/bin/oc get, and dioc get", "the path /usr/bin/oc get, and dioc get"),
    ],
)
def test_commands_are_those_of_the_client_that_is_there(text: str, spoken: str) -> None:
    assert KUBECTL.spoken(text) == spoken
    assert OC.spoken(text) == text


def test_a_role_is_granted_by_the_client_that_is_there() -> None:
    assert OC.grant("cluster-reader", "joe") == "oc adm policy add-cluster-role-to-user cluster-reader joe"
    binding = "kubectl create clusterrolebinding cluster-reader-joe --clusterrole=cluster-reader --user=joe"
    assert KUBECTL.grant("cluster-reader", "joe") == binding
