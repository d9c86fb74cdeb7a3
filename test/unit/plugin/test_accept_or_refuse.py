"""`accept`: what can be accepted and what is refused, what a person is told before, and how they are asked."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.types import Accepted, TopologyTransition
from topology_api.vocabulary import CheckName, Phase
from topology_controller.definitions.registry import ACCEPTABLE_CHECKS
from topology_controller.observe import facts
from topology_controller.plugin import document, errors, printing
from topology_controller.plugin.commands import accept, status

from ..core import worlds
from . import replies

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from typing import TextIO

DEADLINE = worlds.DEADLINE
PINNED = facts.IngressController(1, 1)
ROUTER = CheckName.ROUTER_REPLICAS
STUCK = {"type": "Degraded", "status": "True", "reason": "TransitionStuck", "message": "waiting longest"}


def converging(now: datetime, **changes: Any) -> facts.Facts:
    """A cluster that follows, but for a router that is pinned, as the operator has recorded it."""
    known = worlds.moved(worlds.converged(worlds.healthy(now)), worlds.converging())
    known = dataclasses.replace(known, ingress_controller=PINNED)
    record = worlds.decide(known, now=now).record
    assert record is not None
    return worlds.moved(known, record.model_copy(update=changes))


def judged(known: facts.Facts, now: datetime = DEADLINE, check: str = ROUTER) -> accept.Offer | accept.Ended:
    lease = dataclasses.replace(replies.LEASE, renew_time=now)
    return accept.judged(replies.seen(known, now, operator=lease), worlds.TRANSITIONS, check)


def refused(*arguments: Any) -> accept.Ended:
    found = judged(*arguments)
    assert isinstance(found, accept.Ended), found
    return found


def recorded(known: facts.Facts) -> TopologyTransition:
    assert isinstance(known.infrastructure, facts.Infrastructure)
    assert isinstance(known.infrastructure.record, TopologyTransition)
    return known.infrastructure.record


def test_past_the_deadline_it_is_offered_for_the_attempt_that_is_under_way() -> None:
    found = judged(converging(DEADLINE))
    assert isinstance(found, accept.Offer)
    assert (found.attempt, found.check.name, found.operator) == ("mine", ROUTER, "leader: operator-a")


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
    assert refused(known) == accept.Ended("it is hosted (HostedControlPlane)", errors.ExitCode.UNSUPPORTED)


def _accepted() -> tuple[Accepted, ...]:
    return (Accepted(name=ROUTER, message="one", reason="enough", accepted_time=DEADLINE),)


def test_what_is_accepted_already_is_done() -> None:
    found = refused(converging(DEADLINE, accepted=_accepted()))
    assert found.code == errors.ExitCode.DONE
    then = "The transition is completed once it has stayed quiet; see oc topology wait"
    assert found.message == f"RouterReplicas was accepted at 2026-03-01T14:00:00Z. {then}"
    done = converging(DEADLINE, accepted=_accepted(), phase=Phase.COMPLETED)
    assert refused(done).message.endswith("The transition is completed, accepted without: RouterReplicas")


def test_what_an_attempt_before_went_without_is_not_accepted_for_this_one() -> None:
    """While something is wanted again the record still has it."""
    known = worlds.recorded(worlds.healthy(), worlds.admitting().model_copy(update={"accepted": _accepted()}))
    assert refused(known).code == errors.ExitCode.BLOCKED


def test_a_person_is_told_what_they_give_up() -> None:
    for check in ACCEPTABLE_CHECKS:
        known = converging(DEADLINE)
        answer = next(one for one in recorded(known).checks if one.name == check and one.stage.value == "Convergence")
        record = recorded(known)
        for width in (0, 80):
            sheet = document.Document(width)
            printing.offer(sheet, accept.Offer(record, "mine", answer, "leader: operator-a"))
            text = sheet.text()
            assert f"If you accept that {check} will not be met" in text
            assert "It is not repaired: " in text
            assert "final for this attempt" in " ".join(text.split())


def test_status_shows_it_with_its_reason_and_offers_it_only_while_it_is_stuck() -> None:
    def text(known: facts.Facts) -> str:
        sheet = document.Document()
        printing.status(sheet, status.status(replies.seen(known, DEADLINE), worlds.TRANSITIONS))
        return sheet.text()

    known = converging(DEADLINE)
    stuck = dataclasses.replace(known, own_operator=worlds.own(status={"conditions": [STUCK]}))
    assert "oc topology accept" not in text(known)
    assert "  oc topology accept --check RouterReplicas\n" in text(stuck)
    told = text(worlds.recorded(stuck, recorded(known).model_copy(update={"accepted": _accepted()})))
    assert "oc topology accept" not in told
    assert "Accepted without\n  RouterReplicas  Since 2026-03-01T14:00:00Z: enough. It said: one\n" in told


# Asking


@pytest.fixture
def terminal() -> Iterator[tuple[int, TextIO]]:
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "r", encoding="utf-8") as given:
        yield ours, given
    os.close(ours)


async def test_a_line_is_read_from_the_terminal(terminal: tuple[int, TextIO]) -> None:
    ours, given = terminal
    shown = io.StringIO()
    asked = asyncio.create_task(accept.typed("Type it: ", given, shown))
    await asyncio.sleep(0)
    assert shown.getvalue() == "Type it: "
    os.write(ours, b"RouterReplicas\n")
    assert await asyncio.wait_for(asked, 10.0) == "RouterReplicas"


async def test_whoever_asks_can_be_stopped_at_once(terminal: tuple[int, TextIO]) -> None:
    _, given = terminal
    asked = asyncio.create_task(accept.typed("Type it: ", given, io.StringIO()))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert not asyncio.get_running_loop().remove_reader(given.fileno())
