"""What people see: ClusterOperator `topology` and events follow from the decision and from nothing else."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import timedelta
from typing import Any

from topology_api.types import RecordCopy
from topology_api.vocabulary import EventReason
from topology_controller.decide import decision
from topology_controller.observe import facts
from topology_controller.report import clusteroperator, events

from . import worlds

LATER = worlds.NOW + timedelta(minutes=7)


def status(found: decision.Decision, own: Any, now: Any = worlds.NOW) -> dict[str, Any]:
    return clusteroperator.status(found, own, now=now, version="1.2.3", namespace="ns")


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    blocked = worlds.decide(worlds.healthy(etcd=worlds.BROKEN))
    standing = worlds.own(status=status(blocked, worlds.own()))
    admitted = status(worlds.decide(worlds.healthy()), standing, LATER)
    times = {item["type"]: item["lastTransitionTime"] for item in admitted["conditions"]}
    assert times["Progressing"] == "2026-03-01T12:07:00Z"
    assert times["Upgradeable"] == times["Available"] == "2026-03-01T12:00:00Z"
    assert {item["type"]: item["reason"] for item in admitted["conditions"]}["Upgradeable"] == "TransitionInProgress"


def test_the_extension_carries_the_newest_answers_and_is_kept_by_decisions_without_one() -> None:
    found = worlds.decide(worlds.healthy())
    assert found.record is not None
    written = status(found, worlds.own())
    assert RecordCopy.model_validate(written["extension"]) == RecordCopy.of(found.record)
    assert len(written["extension"]["checks"]) == len(worlds.COMPACT.preflight)
    quiet = worlds.decide(worlds.with_infrastructure(worlds.healthy(), control_plane="External"))
    assert quiet.record is None
    assert status(quiet, worlds.own(status=written))["extension"] == written["extension"]


def test_a_version_that_cannot_do_its_work_here_is_not_reported() -> None:
    """The version operator calls an upgrade done when it reads this number."""
    lacking = worlds.decide(worlds.healthy(installed=facts.Installed("infrastructures lacks desiredTopology")))
    before = [{"name": "operator", "version": "1.2.2"}]
    assert status(lacking, worlds.own())["versions"] == []
    assert status(lacking, worlds.own(status={"versions": before}))["versions"] == before
    ready = worlds.decide(worlds.healthy())
    assert status(ready, worlds.own(status={"versions": before}))["versions"] == [
        {"name": "operator", "version": "1.2.3"}
    ]


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
    recorder = events.EventRecorder(posted, "me", lambda: worlds.NOW)
    happening = decision.EventSpec(EventReason.TRANSITION_STUCK, "n", warning=True)
    sending = asyncio.create_task(recorder.run())
    # Nothing in the way waits for time: what is queued is sent in these turns of the loop, and decided again after it.
    for turn in range(500):
        recorder.record(worlds.infrastructure(), worlds.converging(), happening)
        await asyncio.sleep(0)
        assert len(posted.bodies) <= 1, turn
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    assert [body["reason"] for body in posted.bodies] == ["TransitionStuck"]
    body = posted.bodies[0]
    assert (body["metadata"]["namespace"], body["type"]) == ("default", "Warning")
    assert body["regarding"]["kind"] == "Infrastructure"
