"""What people see: the ClusterOperator, events and metrics follow from the decision and from nothing else."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from topology_api.types import RecordCopy, TopologyTransition
from topology_api.vocabulary import CheckName, CheckStatus, ConditionType, EventReason, Phase, Reason, Stage
from topology_controller.decide import decision
from topology_controller.observe import facts
from topology_controller.report import clusteroperator, conditions, events, metrics

from . import worlds

LATER = worlds.NOW + timedelta(minutes=7)


def status(found: decision.Decision, own: Any, now: Any = worlds.NOW) -> dict[str, Any]:
    return clusteroperator.status(found, own, now=now, version="1.2.3", namespace="ns")


def test_a_status_that_stands_already_is_not_written_again() -> None:
    found = worlds.decide(worlds.healthy())
    missing = facts.Unobserved("x", "NotFound", missing=True)
    first = status(found, missing)
    assert clusteroperator.differs(first, missing)
    standing = worlds.own(status=copy.deepcopy(first))
    assert not clusteroperator.differs(status(found, standing, LATER), standing)


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    blocked = worlds.decide(worlds.healthy(etcd=worlds.BROKEN))
    standing = worlds.own(status=status(blocked, worlds.own()))
    admitted = status(worlds.decide(worlds.healthy()), standing, LATER)
    times = {item["type"]: item["lastTransitionTime"] for item in admitted["conditions"]}
    assert times["Progressing"] == "2026-03-01T12:07:00Z"
    assert times["Upgradeable"] == times["Available"] == "2026-03-01T12:00:00Z"
    assert {item["type"]: item["reason"] for item in admitted["conditions"]}["Upgradeable"] == "TransitionInProgress"


@pytest.mark.parametrize("spoiled", ["text", None, [None], [{"type": None}], [{"type": "Available", "status": "True"}]])
def test_conditions_that_somebody_spoiled_are_replaced(spoiled: Any) -> None:
    found = status(worlds.decide(worlds.healthy()), worlds.own(status={"conditions": spoiled}))
    assert [item["type"] for item in found["conditions"]] == [type_.value for type_ in ConditionType]
    assert all(isinstance(item["lastTransitionTime"], str) for item in found["conditions"])


def test_the_extension_carries_the_head_of_the_record_and_is_kept_by_decisions_without_one() -> None:
    found = worlds.decide(worlds.healthy())
    assert found.record is not None
    written = status(found, worlds.own())
    assert RecordCopy.model_validate(written["extension"]) == RecordCopy.of(found.record)
    assert "checks" not in written["extension"]
    quiet = worlds.decide(worlds.with_infrastructure(worlds.healthy(), control_plane="External"))
    assert quiet.record is None
    assert status(quiet, worlds.own(status=written))["extension"] == written["extension"]


def test_what_must_gather_collects_is_listed_whatever_happens() -> None:
    written = status(worlds.decide(worlds.healthy()), worlds.own())
    assert {"group": "", "resource": "namespaces", "name": "ns"} in written["relatedObjects"]
    assert written["versions"] == [{"name": "operator", "version": "1.2.3"}]


def test_the_names_of_events() -> None:
    one, other = worlds.converging(), worlds.completed()
    name = events.name("u", EventReason.TOPOLOGY_CHANGED, one)
    assert name == events.name("u", EventReason.TOPOLOGY_CHANGED, one.model_copy(update={"checks": ()}))
    different = {
        events.name("u", EventReason.TOPOLOGY_CHANGED, other),
        events.name("u2", EventReason.TOPOLOGY_CHANGED, one),
        events.name("u", EventReason.TRANSITION_ADMITTED, one),
        events.name("u", EventReason.TOPOLOGY_CHANGED, one.model_copy(update={"attempt": "other"})),
        events.name("u", EventReason.TOPOLOGY_CHANGED, None),
        name,
    }
    assert len(different) == 6
    assert all(len(found) < 64 and found.replace(".", "").isalnum() for found in different)


def test_after_a_restart_only_what_happened_a_moment_ago_is_told() -> None:
    record = worlds.converging()
    assert [item.reason for item in events.after_restart(record, worlds.NOW + timedelta(minutes=10))] == [
        EventReason.TRANSITION_ADMITTED,
        EventReason.TOPOLOGY_CHANGED,
    ]
    assert events.after_restart(record, worlds.NOW + timedelta(minutes=10, seconds=1)) == ()
    assert events.after_restart(worlds.admitting(), worlds.NOW) == ()
    told = worlds.decide(
        dataclasses.replace(worlds.recorded(worlds.healthy(live=True), worlds.admitting())), worlds.term(attempt="mine")
    )
    assert events.after_restart(record, worlds.NOW) == told.happened


class Posted:
    """Takes events as the API would."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    async def create(self, resource: Any, body: dict[str, Any], **_: Any) -> dict[str, Any]:
        assert resource.plural == "events"
        self.bodies.append(body)
        return body


async def test_what_lasts_is_one_event_however_often_it_is_decided() -> None:
    """A transition that is stuck is decided again with every look."""
    posted: Any = Posted()
    teller = events.Teller(posted, "me", lambda: worlds.NOW)
    happening = decision.Happening(EventReason.TRANSITION_STUCK, "n", warning=True)
    for _ in range(200):
        teller.tell(worlds.infrastructure(), worlds.converging(), happening)
    sending = asyncio.create_task(teller.run())
    # Nothing in the way waits for time: what is queued is sent in these turns of the loop.
    for _ in range(300):
        await asyncio.sleep(0)
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    assert [body["reason"] for body in posted.bodies] == ["TransitionStuck"]
    body = posted.bodies[0]
    assert (body["metadata"]["namespace"], body["type"]) == ("default", "Warning")
    assert body["regarding"]["kind"] == "Infrastructure"


# Metrics


def registry() -> metrics.Metrics:
    return metrics.Metrics(worlds.ONLY_COMPACT, lease="lease")


def value(found: metrics.Metrics, name: str, /, **labels: str) -> float | None:
    return found.registry.get_sample_value(name, labels)


def test_counters_and_phase_start_at_zero_and_gauges_of_facts_are_absent() -> None:
    found = registry()
    for phase in Phase:
        assert value(found, "topology_transition_phase", phase=phase.value) == 0
    route = {"source": "SingleReplica/SingleReplica", "target": "HighlyAvailable/HighlyAvailable"}
    rejected = {"source": "SingleReplica/SingleReplica", "target": "DualReplica"}
    assert value(found, "topology_transition_rejected_total", **rejected) == 0
    for counter in ("started", "completed", "cancelled"):
        assert value(found, f"topology_transition_{counter}_total", **route) == 0, counter
    for result in ("success", "error"):
        assert value(found, "controller_runtime_reconcile_total", controller="topology", result=result) == 0
    assert value(found, "leader_election_master_status", name="lease") == 0
    assert value(found, "topology_transition_stuck") == 0
    assert value(found, "topology_control_plane_nodes", state="ready") is None
    assert value(found, "topology_etcd_members", role="voter") is None


def test_a_decision_is_shown_and_replaced_by_the_next() -> None:
    found = registry()
    known = worlds.healthy(etcd=facts.Etcd(facts.Conditions()))
    found.decided(worlds.decide(known), known)
    assert value(found, "topology_transition_phase", phase="Pending") == 1
    assert value(found, "topology_transition_phase", phase="Idle") == 0
    check = {"check": "EtcdHealthy", "stage": Stage.PREFLIGHT.value}
    assert value(found, "topology_transition_check_status", status=CheckStatus.UNKNOWN.value, **check) == 1
    assert value(found, "topology_transition_check_status", status=CheckStatus.MET.value, **check) == 0
    assert value(found, "topology_transition_progress_ratio", stage="Preflight") == 7 / 8
    assert value(found, "topology_control_plane_nodes", state="ready") == 3
    assert value(found, "topology_etcd_members", role="voter") == 3
    idle = worlds.healthy(
        infrastructure=worlds.infrastructure(desired=None),
        control_plane_nodes=facts.NOT_READ,
        etcd_endpoints=facts.NOT_READ,
    )
    found.decided(worlds.decide(idle), idle)
    assert value(found, "topology_transition_phase", phase="Pending") == 0
    assert value(found, "topology_transition_check_status", status=CheckStatus.UNKNOWN.value, **check) is None
    assert value(found, "topology_control_plane_nodes", state="ready") is None
    assert value(found, "topology_etcd_members", role="voter") is None


def test_stuck_and_started_are_gauges_of_what_is_under_way() -> None:
    found = registry()
    at = worlds.NOW + timedelta(hours=2)
    known = worlds.moved(worlds.healthy(at), worlds.converging())
    found.decided(worlds.decide(known, now=at), known)
    assert value(found, "topology_transition_stuck") == 1
    assert value(found, "topology_transition_started_timestamp_seconds") == worlds.NOW.timestamp()
    done = worlds.moved(worlds.healthy(at), worlds.completed())
    found.decided(worlds.decide(done, now=at), done)
    assert value(found, "topology_transition_stuck") == 0
    assert value(found, "topology_transition_started_timestamp_seconds") == 0


ROUTE = {"source": "SingleReplica/SingleReplica", "target": "HighlyAvailable/HighlyAvailable"}


def test_a_transition_is_counted_once_also_when_its_record_was_lost_and_rebuilt() -> None:
    found = registry()
    found.moved(worlds.admitting(), worlds.converging(), "HighlyAvailable", LATER)
    assert value(found, "topology_transition_started_total", **ROUTE) == 1
    assert value(found, "topology_transition_phase_duration_seconds_sum", phase="Admitting") == 420
    found.moved(None, worlds.converging(), "HighlyAvailable", LATER)
    found.moved(worlds.converging(), worlds.converging(), "HighlyAvailable", LATER)
    assert value(found, "topology_transition_started_total", **ROUTE) == 1
    found.moved(worlds.converging(), worlds.completed(), "HighlyAvailable", LATER)
    assert value(found, "topology_transition_completed_total", **ROUTE) == 1
    idle = TopologyTransition(phase=Phase.IDLE)
    found.moved(worlds.admitting(), idle, None, LATER)
    assert value(found, "topology_transition_cancelled_total", **ROUTE) == 1
    found.moved(worlds.completed(), idle, None, LATER)
    assert value(found, "topology_transition_cancelled_total", **ROUTE) == 1


def test_every_check_of_convergence_is_shown_with_its_status() -> None:
    found = registry()
    after = worlds.NOW + timedelta(minutes=1)
    whole = worlds.moved(worlds.converged(worlds.healthy(after)), worlds.converging())
    pinned = dataclasses.replace(whole, ingress_controller=facts.IngressController(1, 1))
    unread = dataclasses.replace(pinned, machine_config_pools=worlds.BROKEN)
    found.decided(worlds.decide(unread, now=after), unread)
    expected = dict.fromkeys((spec.check for spec in worlds.COMPACT.convergence.checks), CheckStatus.MET)
    expected[CheckName.ROUTER_REPLICAS] = CheckStatus.UNMET
    expected[CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT] = CheckStatus.UNKNOWN
    for check, status in expected.items():
        for other in CheckStatus:
            labels = {"check": check.value, "stage": "Convergence", "status": other.value}
            assert value(found, "topology_transition_check_status", **labels) == (other is status), labels
    met = len(expected) - 2
    assert value(found, "topology_transition_progress_ratio", stage="Convergence") == met / len(expected)


def test_a_wish_that_somebody_else_fulfilled_was_not_cancelled() -> None:
    found = registry()
    idle = TopologyTransition(phase=Phase.IDLE)
    found.moved(worlds.admitting(), idle, "HighlyAvailable", LATER)
    assert value(found, "topology_transition_cancelled_total", **ROUTE) == 0
    found.moved(worlds.admitting(), idle, "SingleReplica", LATER)
    assert value(found, "topology_transition_cancelled_total", **ROUTE) == 1


def test_what_stood_there_when_we_came_is_shown_and_not_counted() -> None:
    """The native controller's transition was counted by whoever saw it begin."""
    found = registry()
    converging = TopologyTransition(phase=Phase.CONVERGING, target=worlds.HA)
    found.observed(converging, "HighlyAvailable", worlds.NOW)
    found.observed(converging, "HighlyAvailable", LATER)
    assert value(found, "topology_transition_started_total", **ROUTE) == 0
    found.observed(TopologyTransition(phase=Phase.COMPLETED, target=worlds.HA), "HighlyAvailable", LATER)
    assert value(found, "topology_transition_completed_total", **ROUTE) == 0, "from where it came is not known"
    found.observed(None, None, LATER)
    pending = TopologyTransition(phase=Phase.PENDING, source=worlds.SNO, target=worlds.HA)
    found.observed(pending, "HighlyAvailable", worlds.NOW)
    found.observed(TopologyTransition(phase=Phase.IDLE, source=worlds.SNO), None, LATER)
    assert value(found, "topology_transition_cancelled_total", **ROUTE) == 1


def test_a_clock_that_went_back_does_not_make_a_negative_duration() -> None:
    found = registry()
    found.moved(worlds.admitting(now=LATER), worlds.converging(), "HighlyAvailable", worlds.NOW)
    assert value(found, "topology_transition_phase_duration_seconds_sum", phase="Admitting") == 0


def test_every_reason_that_is_said_is_one_of_the_documented() -> None:
    found = conditions.of(worlds.decide(worlds.healthy()))
    assert {type(condition.reason) for condition in found} == {Reason}
