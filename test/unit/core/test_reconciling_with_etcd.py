"""The loop where the administrator has given a way to etcd's members: when they are asked, and what follows."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from topology_controller.observe import facts

from . import worlds
from .clusters import INFRASTRUCTURE, Cluster, Etcd, running

SILENT = facts.EtcdMembers(
    worlds.voices()[:2],
    (facts.EtcdSilence("https://192.0.2.12:2379", (worlds.MEMBERS[2],), "no answer in time", down=True),),
)
pytestmark = pytest.mark.looptime


def check(cluster: Cluster) -> dict[str, Any]:
    """What the record says of the check."""
    found = cluster.objects[INFRASTRUCTURE]["status"]["topologyTransition"]["checks"]
    return next(one for one in found if one["name"] == "EtcdMembersDirect")


async def test_a_member_that_falls_silent_before_the_change_keeps_it_from_happening() -> None:
    """What was asked again and again was good; the live reading is not."""
    cluster, etcd = Cluster(), Etcd()

    def fall_silent() -> None:
        if len(etcd.asked) == 3:
            etcd.fact = SILENT

    etcd.before = fall_silent
    async with running(cluster, etcd=etcd, transitions=worlds.DIRECTLY):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(130)
        assert cluster.changes == 0
        assert cluster.phase == "Pending"
        assert check(cluster)["status"] == "Unmet"
        assert "node-2 (cafe) at https://192.0.2.12:2379: no answer in time" in check(cluster)["message"]
        writes = len(cluster.writes)
        await asyncio.sleep(600)
        assert len(cluster.writes) == writes, "the same trouble is no news"
        etcd.fact = facts.EtcdMembers(worlds.voices())
        await asyncio.sleep(7)
        assert cluster.phase == "Converging"


async def test_while_a_request_is_open_they_are_asked_every_few_seconds_and_no_more_when_it_is_cancelled() -> None:
    cluster, etcd = Cluster(), Etcd()
    etcd.fact = SILENT
    cluster.ask_for("HighlyAvailable")
    async with running(cluster, etcd=etcd, transitions=worlds.DIRECTLY) as operator:
        await asyncio.sleep(100)
        assert cluster.phase == "Pending"
        assert 20 <= len(etcd.asked) <= 25
        decisions = operator.loop.decisions
        await asyncio.sleep(100)
        assert operator.loop.decisions == decisions, "only a changed answer wakes the loop"
        cluster.ask_for(None)
        await asyncio.sleep(1)
        assert cluster.phase == "Idle"
        # What could be asked for is found out anew: the place has changed.
        asked = len(etcd.asked)
        await asyncio.sleep(1000)
        assert len(etcd.asked) == asked


async def test_evidence_that_took_more_than_two_seconds_moves_nothing() -> None:
    cluster, etcd = Cluster(), Etcd()
    etcd.lasting = 2.1
    cluster.ask_for("HighlyAvailable")
    async with running(cluster, etcd=etcd, transitions=worlds.DIRECTLY):
        await asyncio.sleep(300)
        assert cluster.changes == 0
        etcd.lasting = 1.0
        await asyncio.sleep(120)
        assert cluster.changes == 1


async def test_infrastructure_is_read_after_etcd_has_answered() -> None:
    cluster, etcd = Cluster(), Etcd()
    async with running(cluster, etcd=etcd, transitions=worlds.DIRECTLY):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        etcd.lasting = 0.5
        read: list[float] = []
        cluster.before_get = lambda what: (
            read.append(asyncio.get_running_loop().time()) if what == "infrastructures/cluster" else None
        )
        await asyncio.sleep(3)
        assert cluster.changes == 1
        assert read[-1] >= etcd.asked[-1] + 0.5


async def test_a_bug_in_asking_ends_the_loop_instead_of_passing_for_silence() -> None:
    cluster, etcd = Cluster(), Etcd()

    def fail() -> None:
        if len(etcd.asked) > 1:
            raise RuntimeError("a bug")

    etcd.before = fail

    async def run() -> None:
        async with running(cluster, etcd=etcd, transitions=worlds.DIRECTLY):
            await asyncio.sleep(1)
            cluster.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
            cluster.ask_for("HighlyAvailable")
            await asyncio.sleep(30)

    with pytest.raises(RuntimeError, match="a bug"):
        await run()
