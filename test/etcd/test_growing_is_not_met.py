"""From one voter to three, by way of learners: not Met at any step before three healthy voters, on every version."""

from __future__ import annotations

import asyncio
import time

from test import polling
from test.etcd import asking, conftest
from topology_simulator.etcd import cluster


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


async def test_somebody_who_keeps_asking_never_hears_it_too_early():
    """The first answer that is Met came after the promotion of the third, and nobody in it calls itself a learner."""
    async with cluster.Cluster(strict=False) as etcd:
        await etcd.bootstrap("master-0")
        asker = asking.Asker(etcd, endpoints=etcd.urls)
        heard: list[tuple[float, asking.Answer]] = []

        async def keep_asking() -> None:
            while not heard or heard[-1][1].status is not asking.MET:
                heard.append((time.monotonic(), await asker.ask()))

        async def heard_more() -> None:
            """Let it ask at least once more, from question to answer, in the state that there is now."""
            before = len(heard)

            async def look() -> bool:
                return len(heard) > before + 1 or listening.done()

            await polling.until("two more answers", look)

        listening = asyncio.create_task(keep_asking())
        await heard_more()
        await etcd.grow("master-1")
        await heard_more()
        await etcd.add("master-2")
        await heard_more()
        promoted = time.monotonic()
        await etcd.promote("master-2")
        async with asyncio.timeout(10):
            await listening
        assert heard[-1][1].status is asking.MET
        too_early = [answer for asked, answer in heard[:-1] if answer.status is asking.MET]
        assert not too_early, too_early
        asked, final = heard[-1]
        assert asked + final.seconds > promoted, final
        assert [one.learner for one in final.voices] == [False, False, False]
