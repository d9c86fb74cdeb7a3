"""`status.topologyTransition.message`: one sentence for each phase, the same that Progressing says."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.types import LastTransition
from topology_api.vocabulary import AdvisoryName, CheckName, CheckStatus, ConditionType, EventReason
from topology_controller.checks.result import CheckResult, Count, Finding
from topology_controller.decide import assessment
from topology_controller.decide.decision import Step
from topology_controller.observe import facts
from topology_controller.report import conditions

from . import worlds

if TYPE_CHECKING:
    from topology_controller.decide.decision import Decision

AFTER = worlds.NOW + timedelta(minutes=2)
TWO = facts.EtcdEndpoints(tuple(zip(worlds.MEMBERS[:2], worlds.ADDRESSES[:2], strict=True)))
PINNED = facts.IngressController(1, 1)
DRAINED = (worlds.node(0), worlds.node(1), worlds.node(2, cordoned=True))


def sentence(decision: Decision) -> str:
    """The message of the record, which Progressing says, too."""
    assert decision.record is not None
    assert decision.record.message is not None
    progressing = next(item for item in conditions.of(decision) if item.type is ConditionType.PROGRESSING)
    assert progressing.message == decision.record.message
    return decision.record.message


def following(**changes: Any) -> facts.Facts:
    known = worlds.moved(worlds.converged(worlds.healthy(AFTER)), worlds.converging())
    return dataclasses.replace(known, **changes)


# In each phase


def test_pending_names_each_check_with_how_far_it_is_and_what_is_not_known() -> None:
    found = worlds.decide(worlds.healthy(control_plane_nodes=DRAINED, scheduler=worlds.BROKEN))
    expected = "2 of 10 preflight checks not met: ControlPlaneNodes (2 of 3), MastersSchedulable (unknown)"
    assert sentence(found) == expected
    event = next(item for item in found.happened if item.reason is EventReason.TRANSITION_BLOCKED)
    assert event.note == expected, "the event says how far each check is, too"


def test_converging_begins_with_the_components_and_how_long_it_usually_takes() -> None:
    found = worlds.decide(following(ingress_controller=facts.IngressController(None, 1)), now=AFTER)
    assert sentence(found) == (
        "23 of 24 components updated (since 2026-03-01T12:00:00Z, typically 25-75 min). "
        "1 of 20 convergence checks not met: RouterReplicas (1 of 2)"
    )
    changed = worlds.converging()
    assert changed.message is not None
    assert changed.message.startswith("7 of 24 components updated (since 2026-03-01T12:00:00Z, typically 25-75 min). ")
    assert " convergence checks not met: " in changed.message


def test_a_topology_that_was_set_back_says_what_happened_who_did_it_and_what_to_do() -> None:
    known = worlds.recorded(worlds.healthy(), worlds.converging(), topology_writer="kubectl-edit")
    assert sentence(worlds.decide(known)) == (
        "Stopped: Status topology was HighlyAvailable/HighlyAvailable and is SingleReplica/SingleReplica now; it was "
        "written by field manager kubectl-edit. Find out why. Nothing is written until the request is removed and made "
        'again. Remove it with: oc patch infrastructure cluster --type merge -p \'{"spec":{"desiredTopology":null}}\''
    )


# Danger, and what has to be done


def test_the_command_that_a_check_waits_for_stands_last_and_whole() -> None:
    """Also where an upgrade has begun: who copies the rest of the line has the command and nothing else."""
    version = worlds.version(progressing="True")
    found = worlds.decide(following(ingress_controller=PINNED, cluster_version=version, etcd_endpoints=TWO), now=AFTER)
    assert found.record is not None
    pinned = next(item for item in found.record.advisories if item.name == AdvisoryName.ROUTER_REPLICAS_PINNED)
    assert "An upgrade from 4.20.1 to 4.20.1 is under way. 1 action required: " in sentence(found)
    assert sentence(found).endswith(f": {pinned.command}")


# How far a check is


def finding(name: str, have: int, wanted: int, status: CheckStatus = CheckStatus.UNMET) -> Finding:
    return Finding("Deployment", name, status, "text", count=Count(have, wanted, "replicas"))


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ((finding("a", 1, 2), finding("b", 5, 2, CheckStatus.MET)), " (3 of 4)"),
        ((finding("a", 2, 2),), ""),
        ((finding("a", 1, 2), Finding("PodDisruptionBudget", "b", CheckStatus.UNMET, "text")), ""),
        ((finding("empty", 0, 0, CheckStatus.MET), finding("a", 0, 3)), " (0 of 3)"),
        ((), ""),
    ],
    ids=["too many make up for nothing", "all there and still not met", "no number", "nothing to count", "no objects"],
)
def test_a_check_is_as_far_as_its_objects_are_together(findings: tuple[Finding, ...], expected: str) -> None:
    answer = CheckResult(CheckName.CONSOLE_REPLICAS, CheckStatus.UNMET, "m", findings)
    assert assessment.unmet([answer], "convergence") == f"1 of 1 convergence checks not met: ConsoleReplicas{expected}"


# How often it is written


def test_a_newer_sentence_waits_for_its_minute_and_is_shown_at_once() -> None:
    known = following(ingress_controller=PINNED)
    first = worlds.decide(known, now=AFTER)
    assert first.record is not None
    moved = worlds.recorded(following(ingress_controller=facts.IngressController(None, 1)), first.record)
    term = worlds.term(writes=dataclasses.replace(worlds.term().writes, at=AFTER), latest=first.record)
    soon = AFTER + timedelta(seconds=10)
    found = worlds.decide(moved, term, soon)
    assert sentence(found) != sentence(first)
    assert found.steps == (Step.REPORT,)
    assert found.look_again == pytest.approx(50.05)
    due = worlds.decide(moved, term, AFTER + timedelta(seconds=61))
    assert due.steps == (Step.SAVE, Step.REPORT)


# How long it usually takes


def test_this_cluster_s_own_last_time_wins_over_the_estimate() -> None:
    compact = worlds.COMPACT
    last = LastTransition(
        name=compact.name, admitted_time=worlds.NOW, completed_time=worlds.NOW + timedelta(minutes=41, seconds=20)
    )
    assert assessment.typical(compact, last) == "41 min the last time"
    assert assessment.typical(compact, last.model_copy(update={"name": "other"})) == "typically 25-75 min"
    unknown = compact.convergence.model_copy(update={"typical_minutes": None})
    assert assessment.typical(compact.model_copy(update={"convergence": unknown}), None) == ""
    assert assessment.typical(None, last) == ""
