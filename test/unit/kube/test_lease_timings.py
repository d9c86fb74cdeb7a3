"""Which timings of the lease are accepted, and what the accepted ones promise to a write. Virtual time."""

import asyncio
import contextlib
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from topology_controller.kube import errors, lease

SANE = [(6, 4, 1), (3, 2, 1), (15, 13, 1), (4, 3, 1), (15, 10, 2), (137, 107, 26), (270, 240, 60)]
SECONDS = st.floats(-10, 500) | st.floats() | st.integers(0, 300).map(float)


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        ((107, 107, 26), "lease duration 107 s must be longer than renew deadline 107 s"),
        ((137, 31, 26), "retry period 26 s must be at most 21 s with renew deadline 31 s"),
        ((137, 107, 97), "retry period 97 s must be at most 89.1 s with renew deadline 107 s"),
        ((6, 4, 3), "retry period 3 s must be at most 2 s with renew deadline 4 s"),
        ((6, 1.5, 0.5), "renew deadline 1.5 s must be at least 2 s"),
        ((137, 107, 0), "retry period 0 s must be more than 0"),
        ((float("nan"), 107, 26), "lease duration nan s must be a number of seconds"),
        ((137, float("nan"), 26), "renew deadline nan s must be a number of seconds"),
        ((137, 107, float("nan")), "retry period nan s must be a number of seconds"),
        ((float("inf"), 107, 26), "lease duration inf s must be a number of seconds"),
        ((601, 240, 60), "lease duration 601 s must be at most 600 s: no candidate waits longer for a holder"),
    ],
)
def test_figures_that_can_never_work_are_refused_with_the_pair_and_what_is_allowed(figures, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        lease.LeaseTiming(*figures)


@pytest.mark.parametrize(
    ("figures", "timeout"),
    [((6, 4, 1), 2), ((3, 2, 1), 1), ((15, 13, 1), 6.5), ((137, 107, 26), 10), ((270, 240, 60), 10)],
)
def test_a_request_gets_half_of_the_renew_deadline_and_ten_seconds_at_most(figures, timeout):
    assert lease.LeaseTiming(*figures).request_timeout == timeout


@given(SECONDS, SECONDS, SECONDS)
@example(6.0, 4.0, 2.0)
@example(21.0, 20.0, 10.0)
@example(130.0, 120.0, 100.0)
def test_with_what_is_accepted_a_renewal_and_a_write_fit_and_with_what_is_refused_they_do_not(
    duration, deadline, period
):
    request = min(10, deadline / 2)
    fits = request >= 1 and 0 < period <= deadline - request and period <= deadline / 1.2 and deadline < duration <= 600
    try:
        timing = lease.LeaseTiming(duration, deadline, period)
    except ValueError:
        assert not fits
    else:
        assert fits
        assert timing.request_timeout == request


class Cut:
    """The store as the leader sees it: `hanging` requests are not answered, and never arrive."""

    def __init__(self, store):
        self.store, self.hanging = store, 0

    def __getattr__(self, verb):
        async def call(*arguments, timeout=None, **options):  # noqa: ASYNC109 - the argument of what it replaces
            if self.hanging:
                self.hanging -= 1
                await asyncio.sleep(timeout)
                raise errors.TimedOut(verb, lease.LEASES, "ns", "lock", 0, "TimedOut", "")
            return await getattr(self.store, verb)(*arguments, **options)

        return call


@contextlib.asynccontextmanager
async def running(*electors):
    tasks = [asyncio.create_task(elector.run()) for elector in electors]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def elector(api, identity, timing):
    return lease.Elector(api, "ns", "lock", identity, timing)


@pytest.fixture
def locks(store):
    store.kind = lease.LEASES
    return store


@pytest.mark.looptime(end=10_000)
@pytest.mark.parametrize("figures", SANE, ids=str)
async def test_a_write_begun_at_the_last_moment_has_ended_before_another_one_leads(locks, figures):
    timing = lease.LeaseTiming(*figures)
    api = Cut(locks)
    first, second = elector(api, "first", timing), elector(locks, "second", timing)
    loop = asyncio.get_running_loop()
    async with running(first):
        await first.leading.wait()
        async with running(second):
            await asyncio.sleep(3 * timing.retry_period)
            api.hanging = 10_000
            last = 0.0
            while not second.leading.is_set():
                if first.time_left() >= timing.request_timeout:
                    last = loop.time()
                await asyncio.sleep(timing.retry_period / 50)
            assert last > 0
            assert last + timing.request_timeout < loop.time()
            assert not first.leading.is_set()
