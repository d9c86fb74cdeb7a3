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


async def cut_off(etcd, member):
    """Part a member from its peers, not from clients: none lets it in, because its certificate has expired."""
    await member.kill()
    member.give(dataclasses.replace(etcd.secrets(member.name), peer=etcd.authority.member(member.name, expired=True)))
    await member.start_again()


async def let_in(etcd, member):
    member.give(etcd.secrets(member.name))
    await member.kill()
    await member.start_again()


async def test_a_partition_while_the_third_joins_is_met_on_neither_side():
    """First no side has a quorum, because the third is a learner; then one has, and the other believes in the past."""
    async with cluster.Cluster(strict=False) as etcd:
        await etcd.grow(*conftest.THREE[:2])
        await etcd.add(conftest.THREE[2])
        first, *others = etcd.members.values()
        sides = (first.url,), tuple(one.url for one in others)
        published = {**await asking.published(etcd), (await asking.ids(etcd))[conftest.THREE[2]]: "192.168.126.12"}
        askers = [asking.Asker(etcd, endpoints=side, data=published) for side in sides]
        await cut_off(etcd, first)
        await askers[0].until(asking.UNKNOWN, words=f"{first.url}: no answer in time")
        await askers[1].until(asking.UNMET, words="no quorum")
        await let_in(etcd, first)
        await etcd.promote(conftest.THREE[2])
        for asker in askers:
            await asker.until(asking.MET)
        await cut_off(etcd, first)
        await askers[0].until(asking.UNKNOWN, words=f"{first.url}: no answer in time")
        answer = await askers[1].until(asking.UNMET, words=f"at {first.url}: no answer in time")
        assert (first.running, f"{first.name} (" in answer.message) == (True, True)
        await let_in(etcd, first)
        for asker in askers:
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
