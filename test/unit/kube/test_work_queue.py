"""One key: what is coalesced, what is kept while somebody works, and what comes later. Virtual time."""

import asyncio

import pytest

from topology_controller.kube import queue

pytestmark = pytest.mark.looptime


def exact(first=1.0, cap=60.0):
    return queue.Backoff(first, cap, lambda low, high: (low + high) / 2)


async def nothing_within(work, seconds):
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(work.get(), seconds)
    return True


def now():
    return asyncio.get_running_loop().time()


async def test_additions_are_one_delivery_and_those_while_working_one_more_after():
    work = queue.WorkQueue()
    for _ in range(5):
        work.add()
    assert work.depth == 1
    await work.get()
    assert work.depth == 0
    work.add()
    work.add()
    assert work.depth == 1
    await asyncio.sleep(5)
    work.done()
    await work.get()
    assert now() == 5
    work.done()
    assert await nothing_within(work, 1000)


async def test_of_several_later_looks_the_earliest_wins():
    work = queue.WorkQueue()
    work.add_after(10)
    work.add_after(4)
    work.add_after(7)
    await work.get()
    assert now() == 4
    work.done()
    assert await nothing_within(work, 1000)


async def test_looking_again_replaces_what_was_asked_before():
    work = queue.WorkQueue()
    work.look_again(4)
    work.look_again(10)
    await work.get()
    assert now() == 10
    work.look_again(5)
    work.look_again(None)
    work.done()
    assert await nothing_within(work, 1000)


async def test_a_delivery_in_between_does_not_take_a_later_look_away():
    work = queue.WorkQueue()
    work.look_again(10)
    work.add()
    await work.get()
    work.done()
    await work.get()
    assert now() == 10


async def test_failures_wait_longer_each_time_and_success_forgets_them():
    work = queue.WorkQueue(backoff=exact())
    work.add()
    waits = []
    for _ in range(8):
        await work.get()
        began = now()
        work.failed()
        await work.get()
        waits.append(now() - began)
        work.failed()
        await work.get()
        work.done()
        work.add()
    assert waits == [1] * 8
    assert work.retries == 16
    await work.get()
    assert [work.failed()] == [1]
    pauses = []
    for _ in range(7):
        await work.get()
        pauses.append(work.failed())
    assert pauses == [2, 4, 8, 16, 32, 60, 60]


async def test_the_pause_that_the_server_asked_for_is_obeyed():
    work = queue.WorkQueue(backoff=exact())
    work.add()
    await work.get()
    assert work.failed(at_least=20) == 20
    await work.get()
    assert now() == 20


async def test_a_change_does_not_wait_for_the_pause_after_a_failure():
    work = queue.WorkQueue(backoff=exact(first=30))
    work.add()
    await work.get()
    work.add()
    work.failed()
    await work.get()
    assert now() == 0
    work.done()
    assert await nothing_within(work, 1000), "success took the retry back"


async def test_a_retry_and_a_later_look_do_not_disturb_each_other():
    work = queue.WorkQueue(backoff=exact())
    work.add()
    await work.get()
    work.look_again(100)
    work.failed()
    await work.get()
    assert now() == 1
    work.done()
    await work.get()
    assert now() == 100


async def test_each_delivery_must_be_answered_once():
    work = queue.WorkQueue()
    with pytest.raises(RuntimeError, match="nothing was delivered"):
        work.done()
    work.add()
    await work.get()
    with pytest.raises(RuntimeError, match="not answered"):
        await work.get()


async def test_a_cancelled_worker_loses_nothing():
    work = queue.WorkQueue()
    assert await nothing_within(work, 1)
    work.add()
    await work.get()
    assert now() == 1
