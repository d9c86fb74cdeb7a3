"""What people are told: events and their queue, ClusterOperator `topology`, and the log."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.types import RecordCopy, TopologyTransition
from topology_api.vocabulary import CheckStatus, EventReason, Phase
from topology_controller.decide import records, state
from topology_controller.kube import errors
from topology_controller.report import clusteroperator, events

from . import clusters, worlds
from .clusters import Cluster, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from datetime import datetime


REQUESTED = state.EventSpec(EventReason.TRANSITION_REQUESTED, "HighlyAvailable topology requested")
BLOCKED = state.EventSpec(
    EventReason.TRANSITION_BLOCKED, "1 of 8 preflight checks not met: ControlPlaneNodes", warning=True
)
CANCELLED = state.EventSpec(EventReason.TRANSITION_CANCELLED, "The request was cancelled")
STUCK = state.EventSpec(EventReason.TRANSITION_STUCK, "Not converged", warning=True)
pytestmark = pytest.mark.looptime


class Api:
    """Takes events as the API would: a name that exists is refused. `fault` may raise, `lasting` is seconds."""

    def __init__(self) -> None:
        self.bodies: dict[str, dict[str, Any]] = {}
        self.asked: list[float] = []
        self.fault: Callable[[dict[str, Any]], None] = clusters.accept
        self.lasting = 0.0

    async def create(self, resource: Any, body: dict[str, Any], **_: Any) -> dict[str, Any]:
        self.asked.append(asyncio.get_running_loop().time())
        assert len(self.asked) < 2000, "a hot loop"
        await asyncio.sleep(self.lasting)
        self.fault(body)
        name = body["metadata"]["name"]
        if name in self.bodies:
            raise errors.AlreadyExists("create", resource, "default", name, 409, "AlreadyExists", "")
        self.bodies[name] = body
        return body

    @property
    def reasons(self) -> list[str]:
        return [body["reason"] for body in self.bodies.values()]

    def fail(self, kind: type[errors.KubeError], status: int) -> None:
        def refuse(_: dict[str, Any]) -> None:
            raise kind("create", events.EVENTS, "default", None, status, kind.__name__, "as the test wants")

        self.fault = refuse


class Telling:
    """A teller at work."""

    def __init__(self, api: Api, identity: str = "me") -> None:
        client: Any = api
        self.restored = asyncio.Event()
        self.unsure = asyncio.Event()
        self.events = events.EventRecorder(
            client, identity, clusters.virtual_now, void=self.restored.is_set, unsure=self.unsure.is_set
        )
        self.task = asyncio.create_task(self.events.run())

    def tell(self, happening: state.EventSpec, record: TopologyTransition) -> None:
        self.events.record(worlds.infrastructure(), record, happening)

    async def end(self) -> float:
        """End it as the operator does, and say how long that took."""
        began = asyncio.get_running_loop().time()
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        return asyncio.get_running_loop().time() - began


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
async def telling(api: Api) -> AsyncIterator[Telling]:
    made = Telling(api)
    yield made
    await made.end()


def pending(generation: int = 2, *unmet: str, at: datetime = worlds.NOW) -> TopologyTransition:
    known = worlds.healthy(etcd=worlds.BROKEN)
    record = worlds.record_of(worlds.decide(known))
    checks = tuple(
        one.model_copy(update={"status": CheckStatus.UNMET if one.name in unmet else CheckStatus.MET})
        for one in record.checks
    )
    return record.model_copy(
        update={"observed_generation": generation, "requested_time": at, "phase_transition_time": at, "checks": checks}
    )


def idle(generation: int) -> TopologyTransition:
    return TopologyTransition(phase=Phase.IDLE, phase_transition_time=worlds.NOW, observed_generation=generation)


async def test_a_request_that_is_cancelled_and_made_again_within_one_second_is_told_again(
    api: Api, telling: Telling
) -> None:
    for generation in (2, 4, 6):
        telling.tell(REQUESTED, pending(generation, "EtcdHealthy"))
        telling.tell(BLOCKED, pending(generation, "EtcdHealthy"))
        telling.tell(CANCELLED, idle(generation + 1))
    await asyncio.sleep(1)
    assert api.reasons == ["TransitionRequested", "TransitionBlocked", "TransitionCancelled"] * 3


async def test_another_change_of_the_spec_makes_no_other_request(api: Api, telling: Telling) -> None:
    for generation in range(2, 30):
        telling.tell(REQUESTED, pending(generation, "EtcdHealthy"))
        telling.tell(BLOCKED, pending(generation, "EtcdHealthy"))
    await asyncio.sleep(1)
    assert api.reasons == ["TransitionRequested", "TransitionBlocked"]


async def test_a_crash_repeats_nothing(caplog: pytest.LogCaptureFixture) -> None:
    api = Api()
    for _ in range(3):
        telling = Telling(api)
        telling.tell(REQUESTED, pending(2, "EtcdHealthy"))
        telling.tell(BLOCKED, pending(2, "EtcdHealthy"))
        telling.tell(STUCK, worlds.converging())
        await asyncio.sleep(1)
        assert await telling.end() < 1.0, "nothing waits"
    assert api.reasons == ["TransitionRequested", "TransitionBlocked", "TransitionStuck"]
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_an_event_is_written_as_the_api_wants_it(api: Api, telling: Telling) -> None:
    telling.tell(BLOCKED, pending())
    await asyncio.sleep(1)
    ((name, body),) = api.bodies.items()
    assert events.EVENTS.path(body["metadata"]["namespace"]) == "/api/v1/namespaces/default/events"
    assert body == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "eventTime": "2026-03-01T12:00:00.000000Z",
        "firstTimestamp": "2026-03-01T12:00:00Z",
        "lastTimestamp": "2026-03-01T12:00:00Z",
        "involvedObject": {
            "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "name": "cluster",
            "uid": worlds.infrastructure().uid,
        },
        "reason": "TransitionBlocked",
        "action": "Pending",
        "message": BLOCKED.note,
        "type": "Warning",
        "reportingComponent": "cluster-topology-operator",
        "reportingInstance": "me",
    }  # fmt: skip


async def test_limits_of_the_api_are_kept_whatever_the_names_are() -> None:
    api = Api()
    telling = Telling(api, identity="ä" * 200)
    telling.tell(dataclasses.replace(BLOCKED, note="ö" * 2000), pending())
    await asyncio.sleep(1)
    (body,) = api.bodies.values()
    assert len(body["message"].encode()) <= 1024
    assert body["message"].endswith("...")
    assert 0 < len(body["reportingInstance"].encode()) <= 128
    assert all(len(reason.value) <= 128 for reason in EventReason)
    await telling.end()


@pytest.mark.parametrize("kind", [errors.Unauthorized, errors.Forbidden, errors.NotFound, errors.ServerError])
async def test_what_is_refused_waits_in_order_and_is_said_once(
    api: Api, telling: Telling, kind: type[errors.KubeError], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="topology_controller")
    api.fail(kind, 403)
    telling.tell(REQUESTED, pending(2, "EtcdHealthy"))
    await asyncio.sleep(3600)
    telling.tell(STUCK, worlds.converging())
    await asyncio.sleep(3600)
    assert 2 * 60 <= len(api.asked) <= 2 * 180, "a slow pace"
    assert len(caplog.records) == 1
    assert "TransitionRequested was not sent: cannot create events" in caplog.text
    api.fault = clusters.accept
    await asyncio.sleep(61)
    assert sorted(api.reasons) == ["TransitionRequested", "TransitionStuck"]
    assert caplog.records[-1].getMessage() == "events are sent again"
    assert len(caplog.records) == 2


async def test_one_that_is_refused_does_not_hold_up_the_others(api: Api, telling: Telling) -> None:
    """A webhook may mind the one and not the other."""

    def mind(body: dict[str, Any]) -> None:
        if body["reason"] == "TransitionBlocked":
            raise errors.Forbidden("create", events.EVENTS, "default", None, 403, "Forbidden", "a webhook")

    api.fault = mind
    telling.tell(BLOCKED, pending())
    telling.tell(STUCK, worlds.converging())
    await asyncio.sleep(7)
    assert api.reasons == ["TransitionStuck"]


async def test_one_that_makes_no_sense_to_the_api_is_given_up(
    api: Api, telling: Telling, caplog: pytest.LogCaptureFixture
) -> None:
    api.fail(errors.Invalid, 422)
    for _ in range(2):
        telling.tell(REQUESTED, pending())
        await asyncio.sleep(600)
        assert len(api.asked) == 1, "the same event would make as little sense"
    assert "given up" in caplog.text


async def test_one_that_was_given_up_for_others_waits_again_while_it_still_holds(api: Api, telling: Telling) -> None:
    """A transition that is stuck is decided anew with each look: who reads the events later has to see it."""
    api.fail(errors.Forbidden, 403)
    telling.tell(STUCK, worlds.converging())
    for number in range(64):
        telling.tell(REQUESTED, pending(at=worlds.NOW + timedelta(seconds=number)))
    api.fault = clusters.accept
    await asyncio.sleep(600)
    assert "TransitionStuck" not in api.reasons
    telling.tell(STUCK, worlds.converging())
    await asyncio.sleep(600)
    assert api.reasons.count("TransitionStuck") == 1


async def test_after_a_restored_backup_nothing_that_waited_is_sent(api: Api, telling: Telling) -> None:
    api.fail(errors.Unreachable, 0)
    telling.tell(REQUESTED, pending())
    await asyncio.sleep(20)
    api.fault = clusters.accept
    telling.tell(STUCK, worlds.converging())
    telling.restored.set()
    await telling.end()
    assert api.reasons == []


@pytest.mark.parametrize("restored", [False, True])
async def test_events_wait_until_it_is_known_whether_a_backup_was_restored(
    api: Api, telling: Telling, *, restored: bool
) -> None:
    telling.unsure.set()
    telling.tell(REQUESTED, pending())
    await asyncio.sleep(100)
    assert api.asked == []
    if restored:
        telling.restored.set()
    telling.unsure.clear()
    await asyncio.sleep(1)
    assert api.reasons == ([] if restored else ["TransitionRequested"])


@pytest.mark.parametrize("lasting", [1.5, 3600.0])
async def test_the_end_is_not_waited_for_longer_than_two_seconds(
    api: Api, telling: Telling, lasting: float, caplog: pytest.LogCaptureFixture
) -> None:
    api.lasting = lasting
    telling.tell(REQUESTED, pending())
    telling.tell(BLOCKED, pending(2, "EtcdHealthy"))
    telling.tell(STUCK, worlds.converging())
    await asyncio.sleep(0)
    assert await telling.end() == pytest.approx(events.FLUSH)
    told = 1 if lasting < events.FLUSH else 0
    assert len(api.bodies) == told
    assert f"{3 - told} events were not sent before the end" in caplog.text
    assert "TransitionStuck" in caplog.text


async def test_an_admission_that_a_check_takes_back_is_told_at_once(cluster: Cluster) -> None:
    cluster.echo = False
    cluster.ask_for("HighlyAvailable")
    node = ("nodes", None, worlds.NAMES[1])
    async with running(cluster) as operator:
        await asyncio.sleep(10)
        assert cluster.phase == "Admitting"
        for _ in range(10):
            cluster.change(node, {"spec": {"unschedulable": True}})
            await asyncio.sleep(5)
            assert cluster.phase == "Pending"
            cluster.change(node, {"spec": {"unschedulable": None}})
            await asyncio.sleep(5)
        assert operator.told.reasons == ["TransitionRequested", "TransitionBlocked"]


async def test_another_set_of_unmet_checks_is_told_once_it_has_stood_for_five_minutes(cluster: Cluster) -> None:
    cluster.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(10)
        cluster.change(("nodes", None, worlds.NAMES[1]), {"spec": {"unschedulable": True}})
        for seconds, told in ((295, 1), (10, 2), (3600, 2)):
            await asyncio.sleep(seconds)
            assert operator.told.reasons.count("TransitionBlocked") == told


def test_a_record_that_says_no_time_has_stood_long_enough() -> None:
    """Somebody may have written it by hand."""
    assert records.stands_at(TopologyTransition(phase=Phase.PENDING)) < worlds.NOW


LATER = worlds.NOW + timedelta(minutes=7)


def status(found: state.Decision, own: Any, now: Any = worlds.NOW) -> dict[str, Any]:
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


def test_the_names_of_events() -> None:
    one, other = worlds.converging(), worlds.completed()
    name = events.name("u", EventReason.TOPOLOGY_CHANGED, one)
    assert name == events.name("u", EventReason.TOPOLOGY_CHANGED, one.model_copy(update={"checks": ()}))
    different = {
        events.name("u", EventReason.TOPOLOGY_CHANGED, other),
        events.name("u2", EventReason.TOPOLOGY_CHANGED, one),
        events.name("u", EventReason.TOPOLOGY_CHANGED, one.model_copy(update={"attempt": "other"})),
        events.name("u", EventReason.TOPOLOGY_CHANGED, None),
    } | {name}
    assert len(different) == 5
    assert all(re.fullmatch(r"topology\.[0-9]-[0-9a-f]{16}", found) for found in different)


def test_events_of_one_second_are_in_their_order_by_name() -> None:
    """As `kubectl describe` shows them, which orders by whole seconds and keeps the order of a list."""
    story = ["TransitionRequested", "TransitionBlocked", "TransitionAdmitted", "TopologyChanged", "TransitionCompleted"]
    for record in (worlds.converging(), worlds.completed(), None):
        assert sorted(story, key=lambda reason: events.name("u", EventReason(reason), record)) == story


def test_after_a_restart_only_what_happened_a_moment_ago_is_told() -> None:
    record = worlds.converging()
    recent = [item.reason for item in events.after_restart(record, worlds.NOW + timedelta(minutes=10))]
    assert recent == [EventReason.TRANSITION_ADMITTED, EventReason.TOPOLOGY_CHANGED]
    assert events.after_restart(record, worlds.NOW + timedelta(minutes=10, seconds=1)) == ()
    assert events.after_restart(worlds.admitting(), worlds.NOW) == ()
    facts = dataclasses.replace(worlds.recorded(worlds.healthy(live=True), worlds.admitting()))
    told = worlds.decide(facts, worlds.term(attempt="mine"))
    assert events.after_restart(record, worlds.NOW) == told.happened


async def test_what_lasts_is_one_event_however_often_it_is_decided(api: Api, telling: Telling) -> None:
    """A transition that is stuck is decided again with every look."""
    record = worlds.converging()
    # Nothing in the way waits for time: what is queued is sent in these turns of the loop, and decided again after it.
    for turn in range(500):
        telling.tell(STUCK, record)
        await asyncio.sleep(0)
        assert len(api.asked) <= 1, turn
    await telling.end()
    assert api.reasons == ["TransitionStuck"]


async def test_a_failure_that_stays_is_repeated_every_five_minutes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="topology_controller")
    cluster = Cluster()
    cluster.fault = cluster.refusal("infrastructures/cluster", errors.ServerError)
    async with running(cluster):
        await asyncio.sleep(1)
        caplog.clear()
        for seconds, times in ((290, 0), (600, 2)):
            # It is tried about once a minute.
            await asyncio.sleep(seconds)
            failures = [line for line in caplog.messages if line.startswith("cannot patch infrastructures")]
            caplog.clear()
            assert len(failures) == times, failures
        cluster.fault = clusters.accept
        await asyncio.sleep(60)
        assert cluster.phase == "Idle"
