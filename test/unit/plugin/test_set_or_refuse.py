"""`set`: from what was read to what would be written, or why not, and the exit code."""

from __future__ import annotations

import dataclasses
import json
import shlex
from typing import Any

import pytest
from hypothesis import assume, given

from topology_api.vocabulary import Phase
from topology_controller.observe import facts
from topology_controller.plugin import cluster, document, errors, printing
from topology_controller.plugin.commands import plan
from topology_controller.plugin.commands import set as setting

from ..core import worlds
from ..core.strategies import worlds_of_any_kind
from . import replies

UNMET = dataclasses.replace(replies.WITHOUT_REQUEST, scheduler=facts.Scheduler(masters_schedulable=False))
UNKNOWN = dataclasses.replace(replies.WITHOUT_REQUEST, scheduler=worlds.BROKEN)
HOSTED = worlds.with_infrastructure(replies.WITHOUT_REQUEST, control_plane="External")


def judged(known: facts.Facts, target: str = "HighlyAvailable", **asked: Any) -> tuple[dict[str, Any], int]:
    found, code = setting.judged(replies.seen(known), worlds.TRANSITIONS, setting.Asked(target, **asked))
    return replies.through_json(found), code


def told(found: Any, width: int = 0) -> str:
    sheet = document.Document(width)
    printing.request(sheet, found)
    return sheet.text()


@pytest.mark.parametrize("confirm", [False, True])
@pytest.mark.parametrize(
    ("known", "target", "allowed", "result", "code"),
    [
        pytest.param(replies.WITHOUT_REQUEST, "HighlyAvailable", False, "WouldWrite", 0, id="everything-is-met"),
        pytest.param(UNMET, "HighlyAvailable", False, "Refused", 3, id="a-check-is-unmet"),
        pytest.param(UNKNOWN, "HighlyAvailable", False, "Refused", 1, id="a-check-is-unknown"),
        pytest.param(UNMET, "HighlyAvailable", True, "WouldWrite", 0, id="unmet-and-allowed-to-wait"),
        pytest.param(UNKNOWN, "HighlyAvailable", True, "WouldWrite", 0, id="unknown-and-allowed-to-wait"),
        pytest.param(replies.WITHOUT_REQUEST, "DualReplica", True, "Refused", 4, id="nothing-leads-there"),
        pytest.param(replies.WITHOUT_REQUEST, "SingleReplica", False, "Unchanged", 0, id="it-is-that-already"),
        pytest.param(HOSTED, "HighlyAvailable", True, "Refused", 4, id="hosted"),
        pytest.param(replies.in_phase(Phase.PENDING), "HighlyAvailable", False, "Unchanged", 0, id="requested-already"),
        pytest.param(replies.in_phase(Phase.ADMITTING), "HighlyAvailable", False, "Unchanged", 0, id="admitting"),
        pytest.param(replies.in_phase(Phase.CONVERGING), "HighlyAvailable", False, "Unchanged", 0, id="under-way"),
        pytest.param(replies.in_phase(Phase.COMPLETED), "HighlyAvailable", False, "Unchanged", 0, id="completed"),
        pytest.param(replies.in_phase(Phase.UNSUPPORTED), "DualReplica", False, "Refused", 4, id="requested-in-vain"),
        pytest.param(replies.in_phase(Phase.PENDING), "SingleReplica", False, "WouldWrite", 0, id="set-back"),
        pytest.param(replies.in_phase(Phase.UNSUPPORTED), "HighlyAvailable", True, "WouldWrite", 0, id="replaced"),
        pytest.param(replies.in_phase(Phase.CONVERGING), "SingleReplica", True, "Refused", 3, id="no-way-back"),
    ],
)
def test_what_would_be_written(
    known: facts.Facts, target: str, *, allowed: bool, result: str, code: int, confirm: bool
) -> None:
    found, ended = judged(known, target, allow_pending=allowed, confirm=confirm)
    assert (found["result"], ended, found["dryRun"]) == (result, code, not confirm)
    assert (found["patch"] is not None) == (result == "WouldWrite")


def test_the_patch_is_good_for_the_version_that_was_judged_and_no_other() -> None:
    found, _ = judged(worlds.with_infrastructure(replies.WITHOUT_REQUEST, resource_version="4711"))
    assert found["patch"] == {
        "type": "application/merge-patch+json",
        "body": {"metadata": {"resourceVersion": "4711"}, "spec": {"desiredTopology": "HighlyAvailable"}},
        "command": "oc patch infrastructure cluster --type merge -p "
        """'{"metadata":{"resourceVersion":"4711"},"spec":{"desiredTopology":"HighlyAvailable"}}'""",
    }
    assert found["patch"]["command"] in told(found, 80)


@pytest.mark.parametrize("version", ["4711'; touch /tmp/x; echo '", "$(id)", "`id`", "a b", "\\'", "\x1b[2J"])
def test_what_a_server_says_is_one_word_of_a_command(version: str) -> None:
    found, _ = judged(worlds.with_infrastructure(replies.WITHOUT_REQUEST, resource_version=version))
    assert found["patch"] is not None
    words = shlex.split(found["patch"]["command"])
    assert words[:-1] == ["oc", "patch", "infrastructure", "cluster", "--type", "merge", "-p"]
    assert json.loads(words[-1]) == found["patch"]["body"]


def test_the_command_says_in_whose_name_it_was_judged() -> None:
    acting = cluster.Acting("jane doe", ("ops", "all users"), "7")
    found, _ = setting.judged(
        replies.seen(replies.WITHOUT_REQUEST), worlds.TRANSITIONS, setting.Asked("HighlyAvailable"), acting
    )
    assert found["patch"] is not None
    assert "'--as=jane doe' --as-group=ops '--as-group=all users' --as-uid=7 -p '{" in found["patch"]["command"]


def test_the_checks_are_those_of_plan() -> None:
    assert judged(UNMET)[0]["plan"] == replies.planned(UNMET)


def test_a_topology_that_was_overwritten_is_not_requested_for_again_over_the_request_that_stands() -> None:
    known = worlds.with_infrastructure(
        replies.in_phase(Phase.COMPLETED), control_plane="SingleReplica", infrastructure="SingleReplica"
    )
    found, code = judged(known, allow_pending=True, confirm=True)
    assert (found["result"], code) == ("Refused", 3)
    assert "until the request is removed and made again" in found["message"]


STOPPED = facts.EtcdLease("", worlds.NOW, 137)


@pytest.mark.parametrize("operator", [STOPPED, worlds.MISSING])
def test_where_no_operator_runs_nothing_is_written_unless_it_may_be_pending(operator: Any) -> None:
    seen = replies.seen(replies.WITHOUT_REQUEST, operator=operator)
    found, code = setting.judged(seen, worlds.TRANSITIONS, setting.Asked("HighlyAvailable", confirm=True))
    assert (found["result"], found["patch"], code) == ("Refused", None, 3)
    assert found["message"].endswith("but no operator runs that would act on the request")
    text = told(found)
    assert "oc topology set HighlyAvailable --confirm --allow-pending" in text
    planned, _ = plan.target(seen, worlds.TRANSITIONS, "HighlyAvailable")
    assert replies.printed(planned).endswith("oc topology set HighlyAvailable --confirm --allow-pending\n")


def test_an_operator_that_does_not_run_is_warned_about() -> None:
    seen = replies.seen(replies.WITHOUT_REQUEST, operator=STOPPED)
    asked = setting.Asked("HighlyAvailable", confirm=True, allow_pending=True)
    found, code = setting.judged(seen, worlds.TRANSITIONS, asked)
    assert code == 0
    assert found["warnings"] == ["The operator was stopped: no request is acted on until it runs"]
    assert "The operator goes on as soon as it runs" in told({**found, "result": "Written"})


def test_without_confirm_it_is_the_plan_and_what_would_be_sent() -> None:
    text = told(judged(replies.WITHOUT_REQUEST)[0], 100)
    assert "What to expect" in text
    assert "Nothing was written, because --confirm was not given." in text
    assert text.endswith("  Make the request:\n    oc topology set HighlyAvailable --confirm\n")
    assert "Request it with" not in text


def test_a_refusal_says_why_and_how_to_wait_instead_and_nothing_else() -> None:
    text = told(judged(UNMET, confirm=True)[0], 100)
    assert "Unmet  MastersSchedulable" in text
    assert "Refused  Nothing was written." in text
    assert "oc topology set HighlyAvailable --confirm --allow-pending" in text
    assert "What to expect" not in text
    assert max(len(line) for line in text.splitlines() if "oc " not in line) <= 100


def test_who_may_wait_is_told_that_it_goes_on_by_itself() -> None:
    found, _ = judged(UNMET, confirm=True, allow_pending=True)
    text = told({**found, "result": "Written", "message": "The request HighlyAvailable is made"})
    assert "goes on by itself, whenever that is" in text
    assert "oc topology cancel" in text


@given(known=worlds_of_any_kind())
def test_in_any_cluster_it_is_written_only_where_the_operator_would_take_it_up(known: facts.Facts) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    try:
        strict, code = judged(known, confirm=True)
        patient, _ = judged(known, confirm=True, allow_pending=True)
    except errors.PluginError:
        assert isinstance(known.installed, facts.Installed)
        return
    verdict = strict["plan"]["verdict"]
    assert code == {"Unsupported": 4, "Blocked": 3, "CannotTell": 1}.get(verdict, 0) or (strict["result"], code) == (
        "Unchanged",
        0,
    )
    if strict["result"] == "WouldWrite":
        assert verdict in {"Possible", "Fulfilled", "UnderWay"}
        assert {one["status"] for one in strict["plan"]["checks"]} <= {"Met"}
    assert patient["result"] == strict["result"] or (
        verdict in {"Blocked", "CannotTell"} and patient["result"] == "WouldWrite"
    )
    for found in (strict, patient):
        for width in (0, 40, 80):
            assert told(found, width)
