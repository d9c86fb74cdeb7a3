"""Members that join, die, stand still, or lose each other: not Met, within the budget, and Met when all three vote."""

from __future__ import annotations

import dataclasses

import pytest
import pytest_asyncio

from test.etcd import asking, conftest
from topology_simulator.etcd import cluster

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def etcd(three):
    """Three healthy voters, and healed when the test is over."""
    yield three
    for one in three.members.values():
        await one.resume()
        if not one.running:
            await one.start_again()
    for one in three.members.values():
        await one.ready(three.client)


async def follower(etcd):
    leader = await etcd.leader()
    return next(one for one in etcd.members.values() if one is not leader)


async def test_a_voter_that_is_down_is_unmet_although_there_is_a_quorum(etcd):
    asker = asking.Asker(etcd)
    assert (await asker.ask()).status is asking.MET
    gone = await follower(etcd)
    await gone.kill()
    answer = await asker.ask()
    assert answer.status is asking.UNMET, answer
    assert f"{gone.name} (" in answer.message
    assert f"{gone.url}: nothing listens there" in answer.message
    await gone.start_again()
    await asker.until(asking.MET)


async def test_a_voter_that_stands_still_is_not_waited_for_beyond_the_budget(etcd):
    asker = asking.Asker(etcd)
    assert (await asker.ask()).status is asking.MET
    held = await follower(etcd)
    await held.pause()
    answer = await asker.ask()
    assert answer.status in {asking.UNMET, asking.UNKNOWN}, answer
    assert held.name in answer.message
    assert "no answer in time" in answer.message
    assert answer.seconds > asking.BUDGET - 0.1
    await held.resume()
    await asker.until(asking.MET)


async def test_no_quorum(etcd):
    asker = asking.Asker(etcd, data=await asking.published(etcd))
    assert (await asker.ask()).status is asking.MET
    left = await etcd.leader()
    lost = [one for one in etcd.members.values() if one is not left]
    for one in lost:
        await one.kill()
    answer = await asker.until(asking.UNMET, words="no quorum")
    assert left.url in answer.message
    for one in lost:
        await one.start_again()
    await asker.until(asking.MET)


async def test_a_voter_that_its_peers_do_not_let_in(etcd):
    """Its certificate for peers has expired: it runs and accepts connections, but answers nobody before it joins."""
    asker = asking.Asker(etcd)
    alone = await follower(etcd)
    await alone.kill()
    good = etcd.secrets(alone.name)
    alone.give(dataclasses.replace(good, peer=etcd.authority.member(alone.name, expired=True)))
    await alone.start_again()
    answer = await asker.until(asking.UNMET, words=f"at {alone.url}: no answer in time")
    assert alone.running
    assert f"{alone.name} (" in answer.message
    alone.give(good)
    await asker.until(asking.MET)


async def test_an_alarm_is_not_met_until_it_is_over(etcd):
    """NOSPACE makes the whole cluster read-only, and every member says so."""
    asker = asking.Asker(etcd)
    url = (await follower(etcd)).url
    alarm = {"memberID": str((await etcd.named(conftest.THREE[0])).id), "alarm": "NOSPACE"}
    await etcd.client.call(url, "maintenance/alarm", action="ACTIVATE", **alarm)
    answer = await asker.until(asking.UNMET, words="NOSPACE")
    assert "etcd itself says" in answer.message
    await etcd.client.call(url, "maintenance/alarm", action="DEACTIVATE", **alarm)
    await asker.until(asking.MET)


async def test_every_step_of_growing_is_not_met_and_says_why():
    async with cluster.Cluster(strict=False) as etcd:
        await etcd.bootstrap("master-0")
        asker = asking.Asker(etcd, endpoints=etcd.urls)

        async def unmet(*words: str) -> None:
            answer = await asker.ask()
            assert answer.status is asking.UNMET, answer
            for word in words:
                assert word in answer.message, answer.message

        ids = await asking.ids(etcd)
        await unmet(f"1 voters: master-0 ({ids['master-0']})")
        for number, name in enumerate(conftest.THREE[1:], start=1):
            await etcd.announce(name)
            ids = await asking.ids(etcd)
            await unmet(f"{number} voters", f"{ids[name]} is a learner")
            await etcd.start(name)
            await unmet(f"{number} voters", f"{name} ({ids[name]}) is a learner")
            await etcd.promote(name)
            if number == 1:
                await unmet("2 voters")
        answer = await asker.ask()
        assert answer.status is asking.MET, answer
