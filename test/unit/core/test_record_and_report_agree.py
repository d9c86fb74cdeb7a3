"""While all checks are Met and nothing is waited for but quiet, Infrastructure and ClusterOperator tell the same.

Each case is a change in virtual time with drains whose texts change each second, and then something that is taken back.
"""

from __future__ import annotations

import asyncio
import itertools
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_controller.decide import cadence, convergence
from topology_controller.decide.cadence import Writes
from topology_controller.observe import facts

from . import worlds
from .clusters import OPERATOR, Cluster, running

if TYPE_CHECKING:
    from topology_controller.definitions import model

NODE = ("nodes", None, worlds.NAMES[1])
CONSOLE = ("deployments", "openshift-console", "console")
STEP = 0.25
CORRECTED = 10
"""Seconds after which both say that something was taken back."""


def flap(cluster: Cluster, *, cordoned: bool) -> None:
    cluster.change(NODE, {"spec": {"unschedulable": cordoned or None}})


def record_writes(cluster: Cluster) -> int:
    return sum(where == "infrastructures/cluster" for where, _ in cluster.writes)


def answers(record: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(check["stage"], check["name"]): check["status"] for check in record["checks"]}


def says(cluster: Cluster) -> str:
    """The message of Progressing."""
    stored = cluster.objects[OPERATOR]["status"]["conditions"]
    return next(str(item["message"]) for item in stored if item["type"] == "Progressing")


async def drained(cluster: Cluster, seconds: int) -> None:
    """Drains whose texts change each second, and their end: every operator has followed."""
    for second in range(seconds):
        flap(cluster, cordoned=second % 2 == 0)
        cluster.change(CONSOLE, {"status": dict.fromkeys(("readyReplicas", "availableReplicas"), second % 3)})
        await asyncio.sleep(1)
    flap(cluster, cordoned=False)
    cluster.follow()
    await asyncio.sleep(STEP)


async def differing(cluster: Cluster, seconds: float) -> float:
    """For how long the two objects differ at a stretch, at the most, until so many seconds have passed."""
    longest = current = 0.0
    for _ in range(round(seconds / STEP)):
        extension = cluster.objects[OPERATOR]["status"]["extension"]
        same = answers(extension) == answers(cluster.record) and says(cluster) == cluster.record["message"]
        current = 0.0 if same else current + STEP
        longest = max(longest, current)
        await asyncio.sleep(STEP)
    return longest


@pytest.mark.looptime
@pytest.mark.parametrize(("drains", "taken_back"), [(5, 1.0), (5, 12.0), (65, 9.0), (65, 40.0), (300, 400.0)])
async def test_in_the_settle_time_the_two_never_differ_whatever_is_taken_back(drains: int, taken_back: float) -> None:
    cluster = Cluster()
    cluster.limit = 100_000
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(1)
        await drained(cluster, drains)
        assert await differing(cluster, 30) == 0
        before = record_writes(cluster)
        flap(cluster, cordoned=True)
        assert await differing(cluster, taken_back) == 0
        lasted = taken_back > CORRECTED
        assert ("ControlPlaneNodes" in says(cluster)) is lasted, "what is over at once is not told"
        flap(cluster, cordoned=False)
        await asyncio.sleep(STEP)
        assert await differing(cluster, 58) == 0
        assert cluster.phase == "Converging"
        await asyncio.sleep(5)
        assert cluster.phase == "Completed"
        assert record_writes(cluster) == before + (3 if lasted else 1)


@pytest.mark.looptime
async def test_what_is_taken_back_again_and_again_is_written_later_each_time() -> None:
    cluster = Cluster()
    cluster.limit = 100_000
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(1)
        await drained(cluster, 5)
        before = record_writes(cluster)
        for _ in range(30):
            flap(cluster, cordoned=True)
            await asyncio.sleep(20)
            flap(cluster, cordoned=False)
            await asyncio.sleep(20)
        # Ten seconds for the first, thirty for the second: twice for each, and what is written by the interval.
        assert record_writes(cluster) - before <= 2 + 2 * 4


# The arithmetic


MASTERS = 3
STATIC_PODS = 15
"""Minutes for the revisions of static pods, estimated by the definitions."""
MACHINE = 4, 20
"""Minutes for a machine: a virtual one, a server."""


@pytest.mark.parametrize("name", ["sno-to-ha-compact", "sno-to-ha-with-workers"])
def test_typical_minutes_are_static_pods_and_machines_one_after_the_other(name: str) -> None:
    typical = worlds.named(name).convergence.typical_minutes
    assert typical is not None
    quick, slow = (STATIC_PODS + MASTERS * each for each in MACHINE)
    assert (5 * (quick // 5), slow) == tuple(typical), "rounded to five minutes"


@pytest.mark.parametrize("definition", worlds.TRANSITIONS.definitions, ids=lambda definition: definition.name)
def test_what_is_typical_ends_before_the_deadline_and_is_few_writes(definition: model.Definition) -> None:
    """However long a transition may last, the record is told anew before its deadline, and not more than ten times."""
    typical = definition.convergence.typical_minutes
    assert typical is not None
    for platform in definition.platforms:
        known = worlds.healthy(infrastructure=worlds.infrastructure(platform=platform))
        assert isinstance(known.infrastructure, facts.Infrastructure)
        deadline = convergence.minutes(definition, known)
        assert timedelta(minutes=typical[1]) < deadline
        times = [at for at in itertools.accumulate(intervals()) if at < deadline]
        assert deadline - times[-1] <= cadence.LONGEST
        # Admitting, the change, the last check that is Met, Completed: four besides.
        assert len([at for at in times if at <= timedelta(minutes=typical[1])]) + 4 <= 10
        assert len(times) + 4 <= 12


def intervals() -> list[timedelta]:
    """The time between one write of newer answers alone and the next, as `cadence` has it."""
    found = []
    for in_a_row in range(40):
        term = worlds.term(writes=Writes(worlds.NOW, in_a_row))
        seconds = cadence._until(term, worlds.NOW)
        assert seconds is not None
        found.append(timedelta(seconds=round(seconds)))
    return found
