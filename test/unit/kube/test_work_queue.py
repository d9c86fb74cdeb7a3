"""One key: what is coalesced, what is kept while somebody works, and what comes later. Virtual time."""

import asyncio
from typing import Any
from unittest import mock

import pytest

from topology_controller.kube import queue

pytestmark = pytest.mark.looptime


@pytest.fixture(autouse=True)
def _exact(monkeypatch):
    monkeypatch.setattr(queue, "uniform", lambda low, high: (low + high) / 2)


def queued():
    """A queue whose pauses are not varied, and what it tells its observer."""
    observer = mock.create_autospec(queue._Observer, instance=True)
    return queue.WorkQueue(observer), observer


async def nothing_within(work, seconds):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await work.get()
    return True


def now():
    return asyncio.get_running_loop().time()


ADD, DONE, FAILED = ("add",), ("done",), ("failed",)
Action = tuple[Any, ...]
CASES: dict[str, tuple[list[Action], list[list[Action]], list[float]]] = {
    "additions are one delivery, and those while working one more after": (
        [ADD] * 5, [[ADD, ADD, ("wait", 5), DONE], [DONE]], [0, 5],
    ),
    "of several later looks the earliest wins": (
        [("add_after", 10), ("add_after", 4), ("add_after", 7)], [[DONE]], [4],
    ),
    "looking again replaces what was asked before": (
        [("look_again", 4), ("look_again", 10)], [[("look_again", 5), ("look_again", None), DONE]], [10],
    ),
    "a delivery in between does not take a later look away": ([("look_again", 10), ADD], [[DONE], [DONE]], [0, 10]),
    "the pause that the server asked for is obeyed": ([ADD], [[("failed", 20)], [DONE]], [0, 20]),
    "a change does not wait for the pause after a failure, and success takes the retry back": (
        [ADD], [[ADD, FAILED], [DONE]], [0, 0],
    ),
    "a retry and a later look do not disturb each other": (
        [ADD], [[("look_again", 100), FAILED], [DONE], [DONE]], [0, 1, 100],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "at_each", "delivered"), CASES.values(), ids=CASES)
async def test_what_is_asked_for_is_delivered_at_its_time_and_no_more_often(before, at_each, delivered):
    work, _ = queued()

    async def act(actions):
        for what, *figures in actions:
            if what == "wait":
                await asyncio.sleep(*figures)
            else:
                getattr(work, what)(*figures)

    await act(before)
    found = []
    for actions in at_each:
        await work.get()
        found.append(now())
        await act(actions)
    assert found == delivered
    assert await nothing_within(work, 1000)


async def test_failures_wait_longer_each_time_and_success_forgets_them():
    work, observer = queued()
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
    assert observer.retried.call_count == 16
    await work.get()
    assert [work.failed()] == [1]
    pauses = []
    for _ in range(7):
        await work.get()
        pauses.append(work.failed())
    assert pauses == [2, 4, 8, 16, 32, 60, 60]


async def test_the_depth_is_one_while_a_delivery_waits():
    work, observer = queued()
    work.add()
    observer.depth.assert_called_with(1)
    await work.get()
    observer.depth.assert_called_with(0)


async def test_a_cancelled_worker_loses_nothing():
    work, _ = queued()
    assert await nothing_within(work, 1)
    work.add()
    await work.get()
    assert now() == 1
