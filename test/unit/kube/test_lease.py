"""The elector: at most one holder at any moment.

Whatever clocks, networks and the other one do. Virtual time.
"""

# ruff: noqa: ARG005, ASYNC109, ICN001 - fakes have the arguments of what they replace; datetime is our name

import asyncio
import contextlib
import copy
import datetime
import logging
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from topology_controller.kube import errors, lease

FIGURES = lease.LeaseTiming(duration=137, renew_deadline=107, retry_period=26)
SINGLE_NODE = lease.LeaseTiming(duration=270, renew_deadline=240, retry_period=60)
pytestmark = pytest.mark.looptime(end=200_000)
START = datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)


def now():
    return asyncio.get_running_loop().time()


def clock(skew=0.0):
    """A wall clock that runs with virtual time, and may be wrong by `skew` seconds."""
    return lambda: START + datetime.timedelta(seconds=now() + skew)


@pytest.fixture
def elect(store, monkeypatch):
    monkeypatch.setattr("topology_controller.kube.queue.uniform", lambda low, high: high)
    store.kind, store.noted = lease.LEASES, []

    def made(identity, timing=FIGURES, *, api=store, skew=0.0, **options):
        return lease.Elector(api, "ns", "lock", identity, timing, **{"utcnow": clock(skew), **options})

    return made


@contextlib.asynccontextmanager
async def running(*electors):
    tasks = [asyncio.create_task(elector.run()) for elector in electors]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def spec(store):
    return store.objects["lock"]["spec"]


def verbs(store):
    return [verb for _, verb in store.requests]


class Cut:
    """The store as one elector sees it: `down` makes it fail, `hangs` makes it silent."""

    def __init__(self, store):
        self.store, self.down, self.hangs, self.lose_answers = store, False, False, False

    def __getattr__(self, verb):
        async def call(*arguments, timeout=10.0, **options):
            if self.hangs:
                await asyncio.sleep(timeout)
                raise self.error(verb, errors.TimedOut)
            if self.down:
                raise self.error(verb, errors.Unreachable)
            found = await getattr(self.store, verb)(*arguments, **options)
            if self.lose_answers and verb != "get":
                self.lose_answers = False
                raise self.error(verb, errors.TimedOut)
            return found

        return call

    def error(self, verb, kind):
        return kind({"replace": "update"}.get(verb, verb), lease.LEASES, "ns", "lock", 0, "Cut", "")


async def test_a_missing_lease_is_taken_at_once_and_renewed_every_period_with_one_request(store, elect):
    elector = elect("me")
    async with running(elector):
        await elector.leading.wait()
        assert now() == 0
        assert verbs(store) == ["get", "create"]
        taken = {
            "holderIdentity": "me",
            "leaseDurationSeconds": 137,
            "acquireTime": "2026-01-02T03:04:05.000006Z",
            "renewTime": "2026-01-02T03:04:05.000006Z",
            "leaseTransitions": 0,
        }
        assert spec(store) == taken
        assert elector.time_left() == 107
        await asyncio.sleep(27)
        assert (verbs(store), store.requests[-1][0]) == (["get", "create", "update"], 26)
        assert spec(store) == {**taken, "renewTime": "2026-01-02T03:04:31.000006Z"}
        assert elector.time_left() == 106


@pytest.mark.parametrize("skew", [0, 5 * 3600, -5 * 3600])
async def test_a_dead_holder_is_followed_after_its_duration_on_our_clock(store, elect, skew, caplog):
    caplog.set_level(logging.INFO)
    dead = elect("dead", skew=skew)
    async with running(dead):
        await dead.leading.wait()
        image = dict(spec(store))
    # It died without a word.
    store.put("lock", spec=image)
    began = now()
    second = elect("second")
    async with running(second):
        await second.leading.wait()
        waited = now() - began
        assert 137 <= waited <= 138
        assert caplog.text.count("is held by dead: waiting until it is free") == 1
        assert spec(store)["leaseTransitions"] == 1
        assert spec(store)["acquireTime"] == spec(store)["renewTime"]


GHOSTS = {f"of {seconds} s": ({"leaseDurationSeconds": seconds}, 600) for seconds in (601, 3600, 2**31 - 1, 2**63)}
"""A stranger cannot make us wait for longer than any of us may lead."""
HELD: dict[str, tuple[dict[str, Any] | None, float]] = {
    **{name: ({"holderIdentity": "ghost", **said}, seconds) for name, (said, seconds) in GHOSTS.items()},
    "its own duration, not ours": ({"holderIdentity": "single-node", "leaseDurationSeconds": 270}, 270),
    "no spec": (None, 0),
    "an empty one": ({}, 0),
    "no name": ({"holderIdentity": 7}, 0),
    "no duration": ({"holderIdentity": "x", "leaseDurationSeconds": "long"}, 137),
    "nonsense": ({"holderIdentity": "x", "leaseDurationSeconds": -1, "leaseTransitions": "many"}, 137),
}


@pytest.mark.parametrize(("found", "seconds"), HELD.values(), ids=HELD)
async def test_a_holder_that_is_silent_is_waited_for_as_long_as_it_may_lead(store, elect, found, seconds):
    store.put("lock", spec=found)
    elector = elect("me")
    async with running(elector):
        await elector.leading.wait()
        assert seconds <= now() <= seconds + 1
        assert spec(store)["holderIdentity"] == "me"


@pytest.mark.parametrize(
    ("before", "after"), [(2**31 - 2, 2**31 - 1), (2**31 - 1, 1), (2**31, 1), (2**63, 1), (-1, 1), (1.5, 1)]
)
async def test_transitions_that_cannot_be_counted_on_begin_again(store, elect, before, after):
    store.put("lock", spec={"holderIdentity": "", "leaseTransitions": before})
    elector = elect("me")
    async with running(elector):
        await elector.leading.wait()
        assert spec(store)["leaseTransitions"] == after


async def test_cancelling_releases_it_and_the_next_one_is_there_at_once(store, elect):
    first, second = elect("first"), elect("second")
    async with running(first) as (task,):
        await first.leading.wait()
        async with running(elect("candidate")):
            await asyncio.sleep(10)
        assert spec(store)["holderIdentity"] == "first", "a candidate that is cancelled touches nothing"
    assert task.cancelled()
    assert spec(store)["holderIdentity"] == ""
    assert spec(store)["leaseDurationSeconds"] == 1
    assert spec(store)["leaseTransitions"] == 0, "nobody has taken it"
    began = now()
    async with running(second):
        await second.leading.wait()
        assert now() == began
        assert spec(store)["leaseTransitions"] == 1


async def test_a_release_that_cannot_be_sent_does_not_hang(store, elect):
    api = Cut(store)
    elector = elect("me", api=api)
    async with running(elector):
        await elector.leading.wait()
        api.hangs = True
        began = now()
    assert now() - began <= 5.1


@pytest.mark.parametrize("verb", ["create", "replace"])
async def test_a_write_that_was_cut_off_by_the_cancel_is_released_too(store, elect, verb):
    if verb == "replace":
        store.put("lock", spec={"holderIdentity": ""})
    api = Cut(store)
    elector = elect("me", api=api)
    original = getattr(store, verb)

    async def slow(*arguments, **options):
        found = await original(*arguments, **options)
        if found["spec"]["holderIdentity"] == "me":
            await asyncio.sleep(5)
        return found

    setattr(store, verb, slow)
    async with running(elector):
        await asyncio.sleep(1)
        assert spec(store)["holderIdentity"] == "me"
        assert not elector.leading.is_set()
    assert spec(store)["holderIdentity"] == ""


@pytest.mark.parametrize("how", ["down", "hangs"])
async def test_it_stops_by_itself_at_the_deadline_before_anybody_else_may_begin(store, elect, how):
    api = Cut(store)
    first, second = elect("first", api=api), elect("second")
    async with running(first) as (task,):
        await first.leading.wait()
        async with running(second):
            await asyncio.sleep(30)
            last = store.requests[-1][0] if verbs(store)[-1] == "update" else 26
            setattr(api, how, True)
            with pytest.raises(lease.LeaseLost, match="not renewed for 107 s"):
                await asyncio.shield(task)
            assert now() == pytest.approx(26 + 107, abs=0.01), last
            assert not first.leading.is_set()
            assert first.time_left() == 0
            assert not second.leading.is_set()
            await second.leading.wait()
            assert now() - 26 >= 137
            asked = [at for at, _ in store.requests]
    assert len(asked) < now(), "less than one request a second"


@pytest.mark.parametrize("skew", [0, 60, -20, -300])
async def test_somebody_else_in_the_lease_ends_it_at_the_next_renewal(store, elect, skew):
    """Nobody waits to take one that a person deleted; what the clock of who did shows is no restored backup."""
    first, second = elect("first", on_restored=store.noted.append), elect("second", skew=skew)
    async with running(first) as (task,), running(second):
        await asyncio.sleep(60)
        store.remove("lock")
        with pytest.raises(lease.LeaseLost, match="second holds it"):
            await asyncio.shield(task)
        assert (now(), store.noted) == (78, [])
        await asyncio.sleep(100)
        assert (spec(store)["holderIdentity"], second.time_left() > 0) == ("second", True)


@pytest.mark.parametrize("seconds", [30, 1])
async def test_a_release_counts_also_after_the_holders_clock_was_set_back(store, elect, seconds):
    behind = [0.0]
    first = elect("first", utcnow=lambda: START + datetime.timedelta(seconds=now() - behind[0]))
    second = elect("second")
    async with running(first) as (task,), running(second):
        await asyncio.sleep(100)
        behind[0] = 300.0
        await asyncio.sleep(seconds)
        task.cancel()
        await second.leading.wait()
        assert now() <= 100 + seconds + 26 * 1.2


@pytest.mark.parametrize("what", ["deleted", "edited", "deleted, and its creation is not answered"])
async def test_a_lease_that_a_person_touched_stays_ours(store, elect, what):
    api = Cut(store)
    elector = elect("me", api=api)
    async with running(elector) as (task,):
        await elector.leading.wait()
        if what == "edited":
            store.put("lock", spec={**spec(store), "note": "hello"})
        else:
            store.remove("lock")
            api.lose_answers = what != "deleted"
        await asyncio.sleep(30)
        assert not task.done()
        assert elector.time_left() > 100
        assert spec(store)["holderIdentity"] == "me"


async def test_time_left_counts_from_the_start_of_the_request(store, elect):
    store.delay = 4.0
    elector = elect("me")
    async with running(elector):
        await elector.leading.wait()
        assert now() == 8
        assert elector.time_left() == 107 - 4


async def test_other_figures_are_told_at_once_and_hold_from_then_on(store, elect):
    elector = elect("me")
    async with running(elector):
        await elector.leading.wait()
        await asyncio.sleep(5)
        elector.adopt(FIGURES)
        await asyncio.sleep(5)
        elector.adopt(SINGLE_NODE)
        elector.adopt(SINGLE_NODE)
        assert elector.time_left() == 107 - 10
        await asyncio.sleep(0.001)
        assert elector.time_left() == pytest.approx(240 - 0.001)
        assert spec(store)["leaseDurationSeconds"] == 270
        await asyncio.sleep(60)
        assert [at for at, verb in store.requests if verb == "update"] == [10, 70], "the same again is no news"


async def test_shorter_figures_bind_us_from_the_write_whose_answer_is_lost(store, elect):
    elector = elect("me", SINGLE_NODE)
    async with running(elector):
        await asyncio.sleep(1)
        store.refuse = lambda verb: store.error(errors.TimedOut)
        elector.adopt(FIGURES)
        await asyncio.sleep(0.5)
        assert elector.time_left() <= 107, "others may take it 137 s after that write"


async def test_a_server_that_always_says_conflict_is_no_hot_loop(store, elect):
    store.put("lock", spec={"holderIdentity": ""})
    store.refuse = lambda verb: store.error(errors.Conflict, 409) if verb == "update" else None
    async with running(elect("me")):
        await asyncio.sleep(600)
    assert len(store.requests) < 80


def test_times_are_written_in_utc_whatever_the_zone():
    eastern = datetime.timezone(datetime.timedelta(hours=-4))
    assert lease.micro_time(datetime.datetime(2026, 7, 1, 8, 0, 0, 1, eastern)) == "2026-07-01T12:00:00.000001Z"


@pytest.mark.parametrize(
    ("pod", "named", "seconds"),
    [
        ("topology-7d9f", "topology-7d9f_4711", 0),
        ("topology-7d9f", "topology-7d9f-x_4711", 137),
        ("topology-7d9f", "topology_7d9f_4711", 137),
        ("", "laptop_4711", 137),
        ("", "_4711", 137),
    ],
)
async def test_the_lease_of_an_earlier_process_of_the_pod_is_taken_at_once(store, elect, pod, named, seconds):
    """A restore or an outage that lasts longer than the lease ends the process; its next one need not wait."""
    store.put("lock", spec={"holderIdentity": named, "leaseDurationSeconds": 137, "leaseTransitions": 4})
    elector = elect(f"{pod}_4712", pod=pod)
    async with running(elector):
        await elector.leading.wait()
        assert now() == pytest.approx(seconds, abs=1)


async def test_a_lost_answer_a_clock_set_back_and_a_label_are_no_restored_backup(store, elect):
    cut, wall = Cut(store), [START]
    elector = elect("me", api=cut, on_restored=store.noted.append, utcnow=lambda: wall[0])
    async with running(elector):
        await elector.leading.wait()
        cut.lose_answers = True
        await asyncio.sleep(100)
        wall[0], cut.lose_answers = START - datetime.timedelta(hours=1), True
        await asyncio.sleep(100)
        assert not cut.lose_answers
        store.put("lock", spec={**spec(store), "label": "of an administrator"})
        await asyncio.sleep(100)
        assert (elector.leading.is_set(), store.noted) == (True, [])


async def test_a_lease_whose_versions_have_grown_past_ours_is_known_by_the_time_that_we_wrote(store, elect):
    elector = elect("me", on_restored=store.noted.append)
    async with running(elector):
        await elector.leading.wait()
        backup = copy.deepcopy(store.objects)
        await asyncio.sleep(100)
        assert store.noted == []
        store.objects = copy.deepcopy(backup)
        store.version += 1_000_000
        next(iter(store.objects.values()))["metadata"]["resourceVersion"] = str(store.version)
        await elector.renew_now()
        assert spec(store)["holderIdentity"] == "me"
        assert len(store.noted) == 1
        assert "to what was written at" in store.noted[0]
        # A backup from before there was a lease: it is made again.
        store.objects, store.version = {}, 50
        await elector.renew_now()
        assert (spec(store)["holderIdentity"], len(store.noted)) == ("me", 2)


@pytest.mark.parametrize("raised", [0, 1_000_000])
@pytest.mark.parametrize("named", ["", "somebody of the past"])
async def test_a_lease_that_was_put_back_is_held_by_one_at_a_time(store, elect, raised, named):
    """One leads, one waits for it. The backup names nobody, or somebody who is there no more."""
    past = {"holderIdentity": named, "leaseDurationSeconds": 1, "renewTime": "2026-01-01T00:00:00.000000Z"}
    store.put("lock", spec={**past, "leaseTransitions": 4})
    backup, version = copy.deepcopy(store.objects), store.version
    first, second = elect("first"), elect("second", skew=-5.0)
    async with running(first) as ours, running(second):
        await first.leading.wait()
        # The next to look is who waits.
        await asyncio.sleep(110)
        store.objects, store.version = copy.deepcopy(backup), version + raised
        next(iter(store.objects.values()))["metadata"]["resourceVersion"] = str(version + raised)
        for _ in range(600):
            await asyncio.sleep(0.5)
            assert not second.leading.is_set()
        assert not ours[0].done()
        assert (spec(store)["holderIdentity"], first.time_left() > 0) == ("first", True)


async def test_a_lease_that_somebody_took_since_it_was_put_back_is_lost(store, elect):
    """Whoever has just started has seen nobody hold it. Both would lead, if who held it before took it back."""
    store.put("lock", spec={"holderIdentity": "", "leaseDurationSeconds": 1})
    backup, version = copy.deepcopy(store.objects), store.version
    first, second = elect("first", on_restored=store.noted.append), elect("second")
    async with running(first) as ours:
        await first.leading.wait()
        await asyncio.sleep(100)
        store.objects, store.version = copy.deepcopy(backup), version
        async with running(second) as theirs:
            await second.leading.wait()
            await asyncio.sleep(30)
            with pytest.raises(lease.LeaseLost):
                ours[0].result()
            assert not theirs[0].done()
            assert len(store.noted) == 1


# Which timings are accepted.

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
