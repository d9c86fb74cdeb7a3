"""Polling in virtual time: when etcd is asked, when the loop is woken, and that nothing goes on afterwards."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import pytest

from topology_controller.observe import facts, members

PUBLISHED = facts.EtcdEndpoints((("cafe", "192.0.2.10"),))
VOICE = facts.EtcdVoice("https://192.0.2.10:2379", "cafe", "1", (), confirmed=True, leader="cafe", term=1)
SAID = facts.EtcdMembers((VOICE,))
pytestmark = pytest.mark.looptime


@dataclasses.dataclass
class Way:
    """Members that answer after a while; `asked` has the moments, `woken` counts the wake-ups."""

    fact: Any = SAID
    lasting: float = 0.1
    published: Any = PUBLISHED
    asked: list[float] = dataclasses.field(default_factory=list)
    at_once: int = 0
    woken: int = 0

    async def read(self, published: Any) -> Any:
        assert published == self.published
        self.asked.append(asyncio.get_running_loop().time())
        self.at_once += 1
        assert self.at_once == 1, "one survey at a time"
        try:
            await asyncio.sleep(self.lasting)
        finally:
            self.at_once -= 1
        if isinstance(self.fact, Exception):
            raise self.fact
        return self.fact

    def wake(self) -> None:
        self.woken += 1


@pytest.fixture
def way() -> Way:
    return Way()


@pytest.fixture
async def poll(way: Way) -> AsyncIterator[members.Poll]:
    asked: Any = way
    made = members.Poll(asked)
    yield made
    await made.stop()


def is_awaited(poll: members.Poll) -> bool:
    assert isinstance(poll.fact, facts.Unobserved)
    return poll.fact.awaited


def start(poll: members.Poll, way: Way) -> None:
    poll.start(lambda: way.published, way.wake)


async def test_it_is_asked_every_few_seconds_and_wakes_only_for_news(poll, way):
    start(poll, way)
    start(poll, way)
    await asyncio.sleep(20)
    # 4.5 s from the end of one survey to the next; each lasts 0.1 s.
    assert way.asked == pytest.approx([0, 4.6, 9.2, 13.8, 18.4])
    assert way.woken == 1
    way.fact = dataclasses.replace(SAID, voices=(dataclasses.replace(VOICE, healthy=False),))
    await asyncio.sleep(5)
    assert poll.fact == way.fact
    assert way.woken == 2


async def test_a_nudge_asks_soon_but_never_without_rest(poll, way):
    start(poll, way)
    await asyncio.sleep(2)
    poll.nudge()
    await asyncio.sleep(0.5)
    assert way.asked == pytest.approx([0, 2])
    for _ in range(100):
        poll.nudge()
        await asyncio.sleep(0.01)
    assert len(way.asked) == 3
    assert way.asked[2] - way.asked[1] == pytest.approx(1.1)


async def test_stopping_ends_a_survey_and_forgets(poll, way):
    way.lasting = 100
    start(poll, way)
    await asyncio.sleep(1)
    await poll.stop()
    assert way.at_once == 0
    assert way.woken == 0
    await asyncio.sleep(1000)
    assert len(way.asked) == 1
    way.lasting = 0.1
    start(poll, way)
    assert is_awaited(poll)
    await asyncio.sleep(1)
    assert poll.fact == SAID
    await poll.stop()
    assert isinstance(poll.fact, facts.Unobserved)
    assert not is_awaited(poll)


async def test_stopping_ends_it_together_with_a_nudge_too(poll, way):
    for turns in range(4):
        start(poll, way)
        await asyncio.sleep(2)
        poll.nudge()
        for _ in range(turns):
            await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await poll.stop()
        assert not is_awaited(poll)


async def test_addresses_that_are_on_their_way_are_waited_for(poll, way):
    way.published = facts.NOT_READ
    start(poll, way)
    await asyncio.sleep(7.5)
    assert not way.asked
    assert is_awaited(poll)
    way.published = PUBLISHED
    poll.nudge()
    await asyncio.sleep(0.2)
    assert way.asked == [7.5]


async def test_a_bug_ends_the_asking_and_is_raised_where_the_loop_looks(poll, way):
    way.fact = RuntimeError("a bug")
    start(poll, way)
    await asyncio.sleep(1)
    assert way.woken == 1
    with pytest.raises(RuntimeError, match="a bug"):
        poll.raise_failed()
    await poll.stop()
    poll.raise_failed()
