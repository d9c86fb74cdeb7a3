"""`set`: from what was read to what would be written, or why not, and the exit code."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import assume, given

from topology_api.vocabulary import Phase
from topology_controller.observe import facts
from topology_controller.plugin import document, errors, printing
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
