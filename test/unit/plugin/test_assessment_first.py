"""`status` begins with one line that says how far it is, since when, what is waited for, and what to do next."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from topology_api.types import TopologyTransition
from topology_api.vocabulary import Phase
from topology_controller.decide import discovery
from topology_controller.observe import facts
from topology_controller.plugin import assessment

from ..core import worlds
from . import replies

COMMAND = "oc -n openshift-ingress-operator patch ingresscontroller default --type merge"
ROUTER = {"name": "RouterReplicasPinned", "message": "spec.replicas is set to 1", "command": COMMAND}
BACKUP = {"name": "EtcdBackupOutdated", "message": "Take one", "command": "oc debug node/master-0"}
IDLE = {**replies.told(replies.WITHOUT_REQUEST), "phase": "Idle"}
PENDING = replies.told(replies.in_phase(Phase.PENDING))
CONVERGING = replies.told(replies.in_phase(Phase.CONVERGING))
LATER = timedelta(minutes=12)


def line(answer: dict[str, Any], after: timedelta = LATER) -> str:
    whole: Any = answer
    return assessment.line(whole, worlds.NOW + after)


def way(*blockers: str, seconds: int = 32) -> dict[str, Any]:
    return {
        "name": "sno-to-ha-compact", "summary": "", "available": not blockers, "command": "",
        "target": {"controlPlane": "HighlyAvailable", "infrastructure": "HighlyAvailable"},
        "evaluated": (worlds.NOW + LATER - timedelta(seconds=seconds)).isoformat(),
        "blockers": [{"name": name, "status": "Unmet", "message": ""} for name in blockers],
    }  # fmt: skip


def test_pending_counts_the_checks_and_names_what_is_waited_for() -> None:
    awaited = [
        {"name": "ControlPlaneNodes", "have": 2, "wanted": 3},
        {"name": "EtcdHealthy", "have": None, "wanted": None},
    ]
    answer = {**PENDING, "progress": {"met": 6, "total": 8}, "awaited": awaited}
    assert line(answer) == (
        "6 of 8 preflight checks met; waiting for ControlPlaneNodes (2 of 3), EtcdHealthy, 12 min so far"
    )


def test_converging_counts_components_time_and_actions_with_the_command_last() -> None:
    transition = {**CONVERGING["transition"], "typical": "typically 25-75 min"}
    operands = [{"status": "Met"}] * 19 + [{"status": "Unmet"}] * 3
    answer = {**CONVERGING, "operands": {"items": operands}, "transition": transition}
    answer |= {"advisories": [ROUTER], "required": [ROUTER["name"]]}
    assert line(answer) == (
        f"19 of 22 components updated, 12 min so far (typically 25-75 min), 1 action required: {COMMAND}"
    )


def test_the_command_is_of_the_action_that_a_check_waits_for() -> None:
    answer = {**CONVERGING, "advisories": [BACKUP, ROUTER], "required": [ROUTER["name"]]}
    assert line(answer).endswith(f", 1 action required: {COMMAND}")


def test_stuck_since_is_when_it_began_and_past_the_deadline_it_is_overdue() -> None:
    since = (worlds.NOW + timedelta(minutes=125)).isoformat()
    problem = {"reason": "Stuck", "message": "Nothing has progressed", "since": since}
    answer = {**CONVERGING, "stuck": True, "problem": problem}
    assert line(answer, timedelta(minutes=130)).startswith("Stuck for 5 min: ")
    assert "overdue for 10 min" in line(answer, timedelta(minutes=130))
    text = replies.printed({**answer, "evaluated": (worlds.NOW + timedelta(minutes=130)).isoformat()})
    assert f"Phase       Stuck since {since} (5 min ago)" in text


def test_when_all_checks_are_met_it_says_how_long_they_have_to_stay_so() -> None:
    answer = {**CONVERGING, "awaited": []}
    assert "waiting until all checks have stayed met for 60 s" in line(answer)


def test_idle_says_what_the_last_transition_was_and_what_can_be_requested() -> None:
    pair = {"controlPlane": "HighlyAvailable", "infrastructure": "HighlyAvailable"}
    last = {"name": "infra-to-ha", "source": pair, "target": pair, "requested": None,
            "admitted": worlds.NOW.isoformat(), "completed": (worlds.NOW + timedelta(minutes=9)).isoformat(),
            "accepted": ["RouterReplicas"]}  # fmt: skip
    text = line({**IDLE, "lastTransition": last, "available": [way()]})
    assert text == (
        f"Nothing is requested; last transition: infra-to-ha after 9 min, at {last['completed']}, without "
        "RouterReplicas; possible: HighlyAvailable (evaluated 32 s ago)"
    )
    blocked = line({**IDLE, "available": [way("ControlPlaneNodes", "EtcdVotingMembers")]})
    assert blocked == "Nothing is requested; sno-to-ha-compact is blocked by 2 checks (evaluated 32 s ago)"


@pytest.mark.parametrize("phase", list(Phase))
def test_it_is_the_first_line_and_in_the_answer(phase: Phase) -> None:
    answer = replies.told(replies.in_phase(phase))
    assert answer["assessment"]
    assert replies.printed(answer).splitlines()[0] == answer["assessment"]


@pytest.mark.parametrize(("voters", "warned"), [(1, False), (2, True), (3, False)])
def test_two_voters_are_named(voters: int, *, warned: bool) -> None:
    members = [
        {"id": str(number), "name": "", "address": "192.0.2.1", "role": "voter", "node": f"master-{number}"}
        for number in range(voters)
    ]
    text = replies.printed({**PENDING, "etcd": {"items": members, "said": ""}})
    assert ("etcd has two voting members, and the loss of either one stops the cluster" in text) is warned


# Evidence has an age


def recorded_at(seconds: int, **changes: Any) -> facts.Facts:
    """An idle cluster whose operator evaluated what can be requested that long ago, and found the scheduler wrong."""
    blocked = worlds.with_infrastructure(
        worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False)), desired=None
    )
    items = tuple(
        item.model_copy(update={"evaluated_time": worlds.NOW - timedelta(seconds=seconds)})
        for item in discovery.available(blocked, worlds.TRANSITIONS, worlds.NOW) or ()
    )
    return worlds.recorded(
        dataclasses.replace(replies.WITHOUT_REQUEST, **changes),
        TopologyTransition(phase=Phase.IDLE, available=items),
    )


def test_what_was_evaluated_long_ago_is_looked_at_again_and_its_age_is_shown() -> None:
    answer = replies.told(recorded_at(1800))
    assert {item["name"]: item["available"] for item in answer["available"]}["sno-to-ha-compact"]
    assert "evaluated 0 s ago" in replies.printed(answer)
    unread = replies.told(recorded_at(1800, control_plane_nodes=facts.NOT_READ))
    assert not any(item["available"] for item in unread["available"])
    assert "evaluated 30 min ago" in replies.printed(unread)
