"""While all checks are Met and nothing is waited for but quiet, Infrastructure and ClusterOperator tell the same.

Each case is a change in virtual time with drains whose texts change each second, and then something that is taken back.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from . import worlds
from .clusters import OPERATOR, Cluster, running

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


# The arithmetic
