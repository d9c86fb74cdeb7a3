"""`accept`: what can be accepted and what is refused, how a person is asked, and what others do meanwhile."""

import asyncio
import copy
import dataclasses
import io
import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, TextIO

import pytest

from kubectl_topology import arguments, cluster, document, errors
from kubectl_topology.commands import accept
from topology_api import vocabulary
from topology_api.types import Accepted, TopologyTransition
from topology_api.vocabulary import CheckName, Phase
from topology_controller.definitions.registry import ACCEPTABLE_CHECKS
from topology_controller.kube import errors as kube
from topology_controller.kube import resource as resources
from topology_controller.observe import facts

from ..core import worlds
from . import replies

NAMESPACE = "openshift-topology-operator"
DEADLINE = worlds.DEADLINE
PINNED = facts.IngressController(1, 1)
ROUTER = CheckName.ROUTER_REPLICAS
STUCK = {"type": "Degraded", "status": "True", "reason": "TransitionStuck", "message": "waiting longest"}
ACCEPTED = (Accepted(name=ROUTER, message="one", reason="enough", accepted_time=DEADLINE),)


def converging(now: datetime, **changes: Any) -> facts.Facts:
    """A cluster that follows, but for a router that is pinned, as the operator has recorded it."""
    known = worlds.moved(worlds.converged(worlds.healthy(now)), worlds.converging())
    known = dataclasses.replace(known, ingress_controller=PINNED)
    record = worlds.decide(known, now=now).record
    assert record is not None
    return worlds.moved(known, record.model_copy(update=changes))


def judged(known: facts.Facts, now: datetime = DEADLINE, check: str = ROUTER) -> accept.Offer | errors.Ended:
    lease = dataclasses.replace(replies.LEASE, renew_time=now)
    return accept.judged(replies.seen(known, now, operator=lease), worlds.TRANSITIONS, check)


def refused(*arguments: Any) -> errors.Ended:
    found = judged(*arguments)
    assert isinstance(found, errors.Ended), found
    return found


def recorded(known: facts.Facts) -> TopologyTransition:
    assert isinstance(known.infrastructure, facts.Infrastructure)
    assert isinstance(known.infrastructure.record, TopologyTransition)
    return known.infrastructure.record


def test_before_it_it_is_refused_with_the_deadline_unless_the_operator_says_that_it_has_passed() -> None:
    at = DEADLINE - timedelta(seconds=1)
    found = refused(converging(at), at)
    assert found.code == errors.ExitCode.BLOCKED
    said = "RouterReplicas may still come: nothing is accepted before the deadline, 2026-03-01T14:00:00Z"
    assert found.message == f"{said}. Nothing could be accepted now"
    told = dataclasses.replace(converging(at), own_operator=worlds.own(status={"conditions": [STUCK]}))
    assert isinstance(judged(told, at), accept.Offer), "it may have been given other definitions"


@pytest.mark.parametrize(
    ("check", "why"),
    [
        pytest.param(one, f"{one} can never be accepted: ", id=one)
        for one in sorted(set(CheckName) - {*ACCEPTABLE_CHECKS})
    ]
    + [pytest.param("ConsoleReplicas", "ConsoleReplicas is Met: there is nothing to accept", id="met")],
)
def test_other_checks_are_refused_with_those_that_could_be_accepted(check: str, why: str) -> None:
    found = refused(converging(DEADLINE), DEADLINE, check)
    assert found.code == errors.ExitCode.BLOCKED
    assert found.message.startswith(why)
    assert found.message.endswith(". Could be accepted now: RouterReplicas")


def test_a_check_that_is_not_waited_for_is_refused() -> None:
    known = converging(DEADLINE)
    checks = tuple(one for one in recorded(known).checks if one.name != CheckName.CONSOLE_REPLICAS)
    found = refused(converging(DEADLINE, checks=checks), DEADLINE, "ConsoleReplicas")
    assert found.message.startswith("transition sno-to-ha-compact does not wait for ConsoleReplicas")


@pytest.mark.parametrize("phase", [one for one in Phase if one is not Phase.CONVERGING])
def test_in_any_other_phase_there_is_nothing_to_accept(phase: Phase) -> None:
    found = refused(replies.in_phase(phase))
    assert found.code == errors.ExitCode.BLOCKED
    assert "a check can be accepted only past the deadline" in found.message
    assert ("none" if phase is Phase.IDLE else phase.value) in found.message


def test_a_topology_that_was_set_back_and_a_disabled_operator_are_refused() -> None:
    back = worlds.with_infrastructure(converging(DEADLINE), control_plane="SingleReplica")
    found = refused(back)
    assert (found.code, "set the topology back" in found.message) == (errors.ExitCode.BLOCKED, True)
    disabled = {"type": "Disabled", "status": "True", "reason": "HostedControlPlane", "message": "it is hosted"}
    known = dataclasses.replace(converging(DEADLINE), own_operator=worlds.own(status={"conditions": [disabled]}))
    assert refused(known) == errors.Ended("it is hosted (HostedControlPlane)", errors.ExitCode.UNSUPPORTED)


def test_what_is_accepted_already_is_done() -> None:
    found = refused(converging(DEADLINE, accepted=ACCEPTED))
    assert found.code == errors.ExitCode.DONE
    assert found.message.startswith("RouterReplicas was accepted at 2026-03-01T14:00:00Z. ")
    done = converging(DEADLINE, accepted=ACCEPTED, phase=Phase.COMPLETED)
    assert refused(done).message.endswith("accepted without: RouterReplicas")
    # While something is wanted again the record still has what the attempt before went without.
    again = worlds.recorded(worlds.healthy(), worlds.admitting().model_copy(update={"accepted": ACCEPTED}))
    assert refused(again).code == errors.ExitCode.BLOCKED


def test_a_person_is_told_what_they_give_up() -> None:
    record = recorded(converging(DEADLINE))
    answer = next(one for one in record.checks if one.name == ROUTER)
    sheet = document.Document(80)
    accept.add_offer(sheet, record, answer, "leader: operator-a")
    assert f"If you accept that {ROUTER} will not be met" in sheet.text()


# Asking


@pytest.fixture
def terminal() -> Iterator[tuple[int, TextIO]]:
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "r", encoding="utf-8") as given:
        yield ours, given
    os.close(ours)


async def test_a_line_is_read_from_the_terminal_unless_it_is_stopped_first(terminal: tuple[int, TextIO]) -> None:
    ours, given = terminal
    shown = io.StringIO()
    asked = asyncio.create_task(accept.typed("Type it: ", given, shown))
    await asyncio.sleep(0)
    assert shown.getvalue() == "Type it: "
    os.write(ours, b"RouterReplicas\n")
    async with asyncio.timeout(60.0):
        assert await asked == "RouterReplicas"
    # Whoever asks can be stopped at once.
    asked = asyncio.create_task(accept.typed("Type it: ", given, io.StringIO()))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert not asyncio.get_running_loop().remove_reader(given.fileno())


# Writing


class Client:
    """Serves the ConfigMap, and Infrastructure with the record; `meets` is what the next patches meet."""

    request_timeout = 10.0

    def __init__(self, *meets: type[kube.KubeError]) -> None:
        self.config_map: dict[str, Any] = {"metadata": {"resourceVersion": "7"}, "data": {"ConsoleReplicas": "{}"}}
        self.known = converging(DEADLINE)
        self.meets = list(meets)
        self.patches: list[Any] = []
        self.missing = False

    async def get(self, resource: resources.Resource, name: str, *, namespace: str | None = None) -> dict[str, Any]:
        if resource.plural == "configmaps":
            if self.missing:
                raise kube.NotFound("get", resource, namespace, name, 404, "NotFound", "")
            assert (name, namespace) == (vocabulary.ACCEPTED_CHECKS, NAMESPACE)
            return copy.deepcopy(self.config_map)
        record = recorded(self.known).model_dump(mode="json", by_alias=True, exclude_none=True)
        return {"kind": "Infrastructure", "metadata": {"name": name}, "status": {"topologyTransition": record}}

    async def merge_patch(
        self, resource: resources.Resource, name: str, body: dict[str, Any], *, namespace: str | None = None
    ) -> dict[str, Any]:
        if self.meets:
            self.config_map["metadata"]["resourceVersion"] += "0"
            raise self.meets.pop(0)("patch", resource, namespace, name, 409, "Refused", "not now")
        assert body["metadata"] == {"resourceVersion": self.config_map["metadata"]["resourceVersion"]}
        self.patches.append(body["data"])
        return self.config_map


@pytest.fixture(autouse=True)
def reads(monkeypatch: pytest.MonkeyPatch) -> list[facts.Facts]:
    """What is read of the cluster, one after the other; the last one again and again."""
    known = [converging(DEADLINE)]

    async def head(*_: object) -> cluster.Snapshot:
        return replies.seen(known.pop(0) if len(known) > 1 else known[0], DEADLINE)

    monkeypatch.setattr(cluster, "head", head)
    return known


async def accepted(client: Client) -> tuple[errors.Ended, cluster.Connection]:
    connection = cluster.Connection(client, "https://api.example.com:6443")  # type: ignore[arg-type] # what is used
    connection.interruption.text = errors.BEGINNING["accept"]

    async def consent(_: accept.Offer) -> None:
        return None

    asked = arguments.parse(["accept", "--check", ROUTER, "--reason", "enough"])
    return await accept.accept(connection, worlds.TRANSITIONS, asked, consent), connection


@pytest.mark.looptime
async def test_what_others_have_asked_for_stays_and_the_operator_is_waited_for(looptime: Any) -> None:
    client = Client()
    ended, connection = await accepted(client)
    (data,) = client.patches
    assert {check: json.loads(value) for check, value in data.items()} == {
        ROUTER: {"attempt": "mine", "reason": "enough"}
    }
    assert ended.code == errors.ExitCode.TIMED_OUT
    assert ended.message.startswith("RouterReplicas is not recorded as accepted after 30 s; the request remains")
    assert connection.interruption.text.startswith("the request remains")
    assert looptime == 30.0


@pytest.mark.looptime
@pytest.mark.parametrize(
    "meets", [(), (kube.Conflict,), (kube.TimedOut,)], ids=["nothing", "a conflict", "a lost answer"]
)
async def test_it_is_done_once_the_operator_has_recorded_it(meets: tuple[type[kube.KubeError], ...]) -> None:
    client = Client(*meets)
    client.known = converging(DEADLINE, accepted=ACCEPTED)
    ended, _ = await accepted(client)
    assert ended.code == errors.ExitCode.DONE
    assert len(client.patches) == (kube.TimedOut not in meets)


@pytest.mark.looptime
async def test_it_is_judged_again_when_somebody_else_writes_in_between(reads: list[facts.Facts]) -> None:
    # Shown, judged before the first write, and judged again after the conflict.
    reads[:] = [converging(DEADLINE), converging(DEADLINE), converging(DEADLINE, attempt="another")]
    client = Client(kube.Conflict)
    ended, connection = await accepted(client)
    assert ended.code == errors.ExitCode.BLOCKED
    assert "another attempt is under way" in ended.message
    assert client.patches == []
    assert "nothing was accepted" in connection.interruption.text


@pytest.mark.looptime
async def test_conflicts_and_a_lost_answer_end_it_and_nothing_is_claimed() -> None:
    client = Client(*[kube.Conflict] * 3)
    told = "ConfigMap topology-accepted-checks was changed 3 times between reading and writing. Nothing was written"
    with pytest.raises(errors.PluginError, match=told):
        await accepted(client)
    assert client.patches == []
    # An answer that was lost, and no record, leave it unknown.
    ended, connection = await accepted(Client(kube.TimedOut))
    assert ended.code == errors.ExitCode.TIMED_OUT
    assert connection.interruption.text.startswith("whether the request was written is not known")


@pytest.mark.looptime
async def test_a_right_and_a_config_map_that_lack_are_named() -> None:
    with pytest.raises(errors.PluginError, match=r"and nothing was written\. Role topology-check-acceptor grants it"):
        await accepted(Client(kube.Forbidden))
    client = Client()
    client.missing = True
    with pytest.raises(errors.PluginError, match=r"does not exist, and nothing was written\. It comes with"):
        await accepted(client)
