"""`status` and `wait`: what the operator has recorded, whether it is still there, how far it is, and when it is over.

What counts is a record that speaks of the request as it is now. The first line of `status` says how far it is, since
when, what is waited for, and what to do next.
"""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from test import sentences

from kubectl_topology import errors, progress
from kubectl_topology.commands import wait
from topology_api.types import TopologyTransition
from topology_api.vocabulary import Phase
from topology_controller.decide import admission
from topology_controller.observe import facts, parse

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
    return progress.line(whole, worlds.NOW + after)


def way(*blockers: str) -> dict[str, Any]:
    return {
        "name": "sno-to-ha-compact", "summary": "", "available": not blockers, "command": "",
        "target": {"controlPlane": "HighlyAvailable", "infrastructure": "HighlyAvailable"},
        "evaluated": (worlds.NOW + LATER - timedelta(seconds=32)).isoformat(),
        "blockers": [{"name": name, "status": "Unmet", "message": ""} for name in blockers],
    }  # fmt: skip


def test_converging_ends_with_the_command_that_a_check_waits_for() -> None:
    transition = {**CONVERGING["transition"], "typical": "typically 25-75 min"}
    operands = [{"status": "Met"}] * 19 + [{"status": "Unmet"}] * 3
    answer = {**CONVERGING, "operands": {"items": operands}, "transition": transition}
    answer |= {"advisories": [BACKUP, ROUTER], "required": [ROUTER["name"]]}
    assert line(answer) == (
        f"19 of 22 components updated, 12 min so far (typically 25-75 min), 1 action required: {COMMAND}"
    )
    # What nothing waits for may confirm what is not so: its command stands with its message only.
    assert line({**answer, "required": []}).endswith(" (typically 25-75 min), 2 actions recommended")


def test_stuck_since_is_when_it_began_and_past_the_deadline_it_is_overdue() -> None:
    since = (worlds.NOW + timedelta(minutes=125)).isoformat()
    problem = {"reason": "Stuck", "message": "Nothing has progressed", "since": since}
    answer = {**CONVERGING, "stuck": True, "problem": problem}
    assert line(answer, timedelta(minutes=130)).startswith("Stuck for 5 min: ")
    assert "overdue for 10 min" in line(answer, timedelta(minutes=130))
    text = replies.printed({**answer, "evaluated": (worlds.NOW + timedelta(minutes=130)).isoformat()})
    assert f"Phase     Stuck since {since}, blocked by " in text


def test_idle_says_what_the_last_transition_was_and_what_can_be_requested() -> None:
    pair = {"controlPlane": "HighlyAvailable", "infrastructure": "HighlyAvailable"}
    last = {"name": "infra-to-ha", "source": pair, "target": pair, "requested": None,
            "admitted": worlds.NOW.isoformat(), "completed": (worlds.NOW + timedelta(minutes=9)).isoformat(),
            "accepted": ["RouterReplicas"]}  # fmt: skip
    text = line({**IDLE, "lastTransition": last, "available": [way()]})
    assert "infra-to-ha after 9 min" in text
    assert "without RouterReplicas; possible: HighlyAvailable (evaluated 32 s ago)" in text
    blocked = line({**IDLE, "available": [way("ControlPlaneNodes", "EtcdVotingMembers")]})
    assert "sno-to-ha-compact is blocked by 2 checks (evaluated 32 s ago)" in blocked


def recorded_at(seconds: int, **changes: Any) -> facts.Facts:
    """An idle cluster whose operator evaluated what can be requested that long ago, and found the scheduler wrong."""
    blocked = dataclasses.replace(replies.WITHOUT_REQUEST, scheduler=False)
    then = worlds.NOW - timedelta(seconds=seconds)
    items = admission.available(blocked, worlds.TRANSITIONS, then) or ()
    return worlds.recorded(
        dataclasses.replace(replies.WITHOUT_REQUEST, **changes), TopologyTransition(phase=Phase.IDLE, available=items)
    )


def test_what_was_evaluated_long_ago_is_looked_at_again_and_its_age_is_shown() -> None:
    answer = replies.told(recorded_at(1800))
    assert {item["name"]: item["available"] for item in answer["available"]}["sno-to-ha-compact"]
    assert "evaluated 0 s ago" in replies.printed(answer)
    unread = replies.told(recorded_at(1800, control_plane_nodes=facts.NOT_READ))
    assert not any(item["available"] for item in unread["available"])
    assert "evaluated 30 min ago" in replies.printed(unread)


@pytest.mark.parametrize(("voters", "warned"), [(1, False), (2, True), (3, False)])
def test_two_voters_are_named(voters: int, *, warned: bool) -> None:
    member = {"id": "1", "name": "", "address": "192.0.2.1", "role": "voter", "node": "master-0"}
    text = replies.printed({**PENDING, "etcd": {"items": [member] * voters, "said": ""}})
    assert ("etcd has two voting members, and the loss of either one stops the cluster" in text) is warned


# The operator


@pytest.mark.parametrize(
    ("lease", "own", "state"),
    [
        pytest.param(replies.LEASE, worlds.own(), "Running", id="renewed"),
        pytest.param(dataclasses.replace(replies.LEASE, holder=""), worlds.own(), "NotRunning", id="given-back"),
        pytest.param(
            dataclasses.replace(replies.LEASE, renew_time=worlds.NOW - timedelta(seconds=168)), worlds.own(),
            "NotRunning", id="expired",
        ),
        pytest.param(
            dataclasses.replace(replies.LEASE, renew_time=worlds.NOW - timedelta(seconds=166)), worlds.own(), "Running",
            id="within-its-duration",
        ),
        pytest.param(
            facts.Lease("ghost", worlds.NOW - timedelta(seconds=631), 2**31 - 1), worlds.own(), "NotRunning",
            id="of-a-ghost",
        ),
        pytest.param(worlds.MISSING, worlds.own(), "NotRunning", id="no-lease"),
        pytest.param(worlds.MISSING, worlds.MISSING, "NotInstalled", id="nothing-of-it"),
        pytest.param(worlds.BROKEN, worlds.own(), "Unknown", id="forbidden"),
        pytest.param(dataclasses.replace(replies.LEASE, renew_time=None), worlds.own(), "Unknown", id="never-renewed"),
    ],
)  # fmt: skip
def test_whether_the_operator_is_there_is_told_by_its_lease(
    lease: facts.Fact[facts.Lease], own: facts.Fact[facts.OwnOperator], state: str
) -> None:
    known = dataclasses.replace(replies.WITHOUT_REQUEST, own_operator=own)
    for found in (replies.told(known, operator=lease), replies.planned(known, operator=lease)):
        assert found["operator"]["state"] == state, found["operator"]["message"]


@pytest.mark.parametrize(
    ("annotation", "expected"), [("true", "Unknown"), ("false", "NotRunning"), (None, "NotRunning")]
)
def test_without_a_lease_it_is_not_running_unless_it_runs_elsewhere(annotation: str | None, expected: str) -> None:
    """Where it runs in another cluster, no lease of this one says so."""
    annotations = {} if annotation is None else {"topology.openshift.io/operator-elsewhere": annotation}
    own = parse.own_operator({"metadata": {"resourceVersion": "1", "annotations": annotations}})
    known = dataclasses.replace(replies.WITHOUT_REQUEST, own_operator=own)
    state = replies.told(known, operator=worlds.MISSING)["operator"]
    assert state["state"] == expected
    assert ("in another cluster" in state["message"]) is (expected == "Unknown")


# Waiting


def _with_condition(known: facts.Facts, type_: str, reason: str, message: str = "because") -> facts.Facts:
    condition = {"type": type_, "status": "True", "reason": reason, "message": message}
    return dataclasses.replace(known, own_operator=worlds.own(status={"conditions": [condition]}))


@pytest.mark.parametrize(
    ("known", "code", "words"),
    [
        pytest.param(replies.in_phase(Phase.COMPLETED), 0, sentences.COMPLETED, id="completed"),
        pytest.param(replies.in_phase(Phase.PENDING), None, "Pending 10/11: waiting for MastersSched", id="pending"),
        pytest.param(replies.in_phase(Phase.CONVERGING), None, "Converging ", id="converging"),
        pytest.param(replies.in_phase(Phase.UNSUPPORTED), 4, "No transition leads to DualReplica", id="unsupported"),
        pytest.param(
            _with_condition(
                replies.in_phase(Phase.UNSUPPORTED), "Progressing", "UnsupportedTransition", "From here: none"
            ), 4, "From here: none", id="unsupported-as-it-was-said",
        ),
        pytest.param(
            _with_condition(replies.in_phase(Phase.PENDING), "Disabled", "HostedControlPlane"), 4,
            "because (HostedControlPlane)", id="disabled",
        ),
        pytest.param(
            _with_condition(replies.in_phase(Phase.COMPLETED), "Degraded", "TopologyOverwritten"), 3,
            "because (TopologyOverwritten)", id="overwritten",
        ),
        pytest.param(
            _with_condition(replies.in_phase(Phase.CONVERGING), "Degraded", "TransitionStuck"), None,
            "because (TransitionStuck)", id="stuck-may-still-end",
        ),
        pytest.param(
            dataclasses.replace(replies.in_phase(Phase.PENDING), infrastructure=worlds.BROKEN), None, "cannot be read",
            id="unreadable-for-a-while",
        ),
        pytest.param(
            worlds.with_infrastructure(replies.in_phase(Phase.COMPLETED), generation=99), None,
            "waiting for the operator to pick it up", id="recorded-for-an-older-request",
        ),
    ],
)  # fmt: skip
def test_where_it_stands(known: facts.Facts, code: int | None, words: str) -> None:
    found = wait.standing(known, worlds.TRANSITIONS)
    assert found.code == code
    assert words in found.message


def test_without_a_request_or_our_fields_there_is_nothing_to_wait_for() -> None:
    pending = replies.in_phase(Phase.PENDING)
    for known, told in (
        (worlds.with_infrastructure(pending, desired=None), "no request"),
        (worlds.with_infrastructure(pending, desired=None, record=None), "no request"),
        (_with_condition(pending, "Degraded", "APINotInstalled", "install it"), "install it"),
    ):
        with pytest.raises(errors.PluginError, match=told):
            wait.standing(known, worlds.TRANSITIONS)
    with pytest.raises(errors.PluginError, match="DualReplica is not requested: the request is HighlyAvailable"):
        wait.standing(pending, worlds.TRANSITIONS, "DualReplica")
    assert wait.standing(replies.WITHOUT_REQUEST, worlds.TRANSITIONS, "SingleReplica").code == 0


def test_a_request_that_was_fulfilled_before_anybody_acted_is_fulfilled() -> None:
    known = worlds.with_infrastructure(worlds.healthy(), desired="SingleReplica")
    record = worlds.decide(known, worlds.term(available=())).record
    assert record is not None
    assert wait.standing(worlds.recorded(known, record), worlds.TRANSITIONS).code == 0
