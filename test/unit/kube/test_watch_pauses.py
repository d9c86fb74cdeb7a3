"""When a watch lists, when it goes on.

And how long it waits, in virtual time; and that it never loses an object.
"""

# ruff: noqa: ARG005 - a fault is a function of the verb; jitter is no secret

import asyncio
import contextlib
import itertools

import looptime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from topology_controller.kube import errors, reflector, resource, watch

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")
pytestmark = pytest.mark.looptime


@pytest.fixture(autouse=True)
def _exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topology_controller.kube.queue.uniform", lambda low, high: (low + high) / 2)


async def collect(store, seconds, timing=None, meanwhile=None):
    """Watch for so many virtual seconds; return [(second, event)]."""
    seen = []
    loop = asyncio.get_running_loop()
    begin = loop.time()

    async def read():
        events = watch.watch(
            store,
            resource.Selection(WIDGETS),
            lambda raw: f"the {raw['metadata']['name']}",
            timing=timing or watch.Timing(),
        )
        async with contextlib.aclosing(events):
            async for event in events:
                seen.append((round(loop.time() - begin, 3), event))  # noqa: PERF401 - what came before a time-out counts

    task = asyncio.create_task(read())
    if meanwhile is not None:
        await meanwhile()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds - (loop.time() - begin)):
            await task
    return seen


def kinds(seen):
    return [(at, type(event).__name__) for at, event in seen]


def pauses(seen):
    return [event.pause for _, event in seen if isinstance(event, watch.Disturbed)]


async def test_a_list_with_an_object_without_a_version_is_trouble_and_no_crash(store):
    store.put("a")
    del store.objects["a"]["metadata"]["resourceVersion"]
    seen = await collect(store, 2)
    assert [type(event.error) for _, event in seen] == [errors.Malformed] * 2


async def test_a_watch_that_ends_in_its_own_time_goes_on_at_once_without_a_whole_list(store):
    timing = watch.Timing(silence=1e6)
    seen = await collect(store, 3 * 3600, timing)
    assert [verb for _, verb in store.requests] == ["list", "watch", *["watch", "newest"] * 3]
    # Half-way between 45 and 60 minutes.
    assert [at for at, verb in store.requests if verb == "watch"] == pytest.approx([0, 3150, 6300, 9450])
    assert pauses(seen) == []


@pytest.mark.parametrize("verb", ["list", "watch"])
@pytest.mark.parametrize(
    "kind",
    [
        errors.ServerError,
        errors.Unauthorized,
        errors.Forbidden,
        errors.NotFound,
        errors.Gone,
        errors.Malformed,
        errors.Unreachable,
        errors.Throttled,
    ],
)
async def test_trouble_costs_few_requests_whatever_it_is(store, verb, kind):
    store.refuse = lambda asked: store.error(kind) if asked == verb else None
    seen = await collect(store, 600)
    assert pauses(seen)[:7] == [1, 2, 4, 8, 16, 20, 20]
    assert len(store.requests) <= 75, "much less than one a second"


async def test_retry_after_is_obeyed_within_reason(store):
    store.refuse = lambda asked: store.error(errors.Throttled, 429, retry_after=77.0)
    assert pauses(await collect(store, 300))[:3] == [77, 77, 77]
    store.refuse = lambda asked: store.error(errors.Throttled, 429, retry_after=1e6)
    assert pauses(await collect(store, 300))[0] == 120


async def test_an_answer_of_200_does_not_end_the_trouble(store):
    async def meanwhile():
        for _ in range(600):
            await asyncio.sleep(0.5)
            store.cut()

    seen = await collect(store, 300.5, meanwhile=meanwhile)
    assert pauses(seen)[:6] == [1, 2, 4, 8, 16, 20]
    assert len([verb for _, verb in store.requests if verb != "newest"]) < 25
    assert all(isinstance(event.error, errors.Unreachable) for _, event in seen if isinstance(event, watch.Disturbed))


async def test_a_healthy_stretch_ends_the_trouble(store):
    async def meanwhile():
        for _ in range(3):
            store.refuse = lambda asked: store.error(errors.ServerError, 503)
            store.cut(store.error(errors.Unreachable))
            await asyncio.sleep(10)
            store.refuse = lambda asked: None
            for _ in range(4):
                await asyncio.sleep(40)
                store.bookmark()

    seen = await collect(store, 600, meanwhile=meanwhile)
    # The first one never had a watch to lose. Each later one begins with 1 again.
    assert pauses(seen)[:4] == [1, 2, 4, 8]
    assert pauses(seen)[4:8] == [1, 2, 4, 8]
    assert pauses(seen)[8:] == [1, 2, 4, 8]


async def test_a_silent_peer_is_left_and_the_pauses_grow(store):
    seen = await collect(store, 1000)
    assert kinds(seen)[:4] == [(0, "Listed"), (0, "Opened"), (150, "Disturbed"), (151, "Opened")]
    assert pauses(seen)[:4] == [1, 2, 4, 8], "silence is not health, however long it lasts"
    assert [verb for _, verb in store.requests].count("list") == 1


@pytest.mark.parametrize("in_the_stream", [True, False])
async def test_a_version_that_is_too_old_leads_to_a_list_at_once(store, in_the_stream):
    async def meanwhile():
        await asyncio.sleep(100)
        store.bookmark()
        await asyncio.sleep(100)
        store.put("b")
        store.compact()
        store.version += 5
        store.compacted = store.version
        store.cut(store.error(errors.Gone, 410) if in_the_stream else None)

    seen = await collect(store, 300, watch.Timing(silence=1000), meanwhile=meanwhile)
    assert kinds(seen)[-2:] == [(200, "Listed"), (200, "Opened")]
    assert pauses(seen) == []


async def test_a_version_that_is_gone_again_does_not_wait_for_the_trouble_in_between(store):
    """Two restores within a minute, and the server was away for the second."""

    def gone():
        store.compact()
        store.version += 1
        store.compact()

    async def meanwhile():
        await asyncio.sleep(100)
        gone()
        store.cut(store.error(errors.Gone, 410))
        await asyncio.sleep(10)
        store.refuse = lambda asked: store.error(errors.Unreachable)
        store.cut(store.error(errors.Unreachable))
        await asyncio.sleep(30)
        gone()
        store.refuse = lambda asked: None

    seen = await collect(store, 200, meanwhile=meanwhile)
    assert pauses(seen) == [1, 2, 4, 8, 16, 1]
    assert kinds(seen)[-2:] == [(142, "Listed"), (142, "Opened")]


async def _restored(store):
    """After 100 s the server is younger than what was seen of it."""
    await asyncio.sleep(100)
    store.objects.clear()
    store.log.clear()
    store.version = 50


async def test_a_history_that_went_back_leads_to_a_list(store):
    store.put("a")
    store.put("b")

    async def meanwhile():
        await _restored(store)
        store.bookmark()

    seen = await collect(store, 200, meanwhile=meanwhile)
    assert seen[-2:] == [(100, watch.Listed((), "50")), (100, watch.Opened())]


async def test_a_watch_from_the_future_is_silent_and_is_left_for_a_list(store):
    store.put("a")
    store.put("b")

    async def meanwhile():
        await _restored(store)
        store.cut(store.error(errors.Unreachable))
        # Nothing is compacted: the server opens a watch from 102, and would be silent for fifty writes.
        store.put("a")

    seen = await collect(store, 200, meanwhile=meanwhile)
    assert [(at, event) for at, event in seen if not isinstance(event, watch.Disturbed)][-3:] == [
        (101, watch.Opened()),
        (101, watch.Listed((watch.Entry((None, "a"), "51", "the a"),), "51")),
        (101, watch.Opened()),
    ]


async def test_a_list_after_a_version_that_is_too_old_does_not_wait_for_earlier_trouble(store):
    store.put("a")

    async def meanwhile():
        await asyncio.sleep(100)
        store.refuse = lambda asked: store.error(errors.Unreachable)
        store.cut(store.error(errors.Unreachable))
        # By now the pauses are those of a server that is away for long.
        await asyncio.sleep(200)
        store.compact()
        store.version += 1
        store.compact()
        store.refuse = lambda asked: store.error(errors.ServerError, 503) if asked == "list" else None
        await asyncio.sleep(35)
        store.refuse = lambda asked: None

    seen = await collect(store, 400, meanwhile=meanwhile)
    gone = [at for at, verb in store.requests if verb == "list" and at > 0]
    assert [after - before for before, after in itertools.pairwise(gone)][:3] == pytest.approx([1, 2, 4]), gone
    assert isinstance(seen[-1][1], watch.Opened)


FAULTS = [
    lambda store: store.cut(),
    lambda store: store.cut(store.error(errors.Unreachable)),
    lambda store: store.cut(store.error(errors.Malformed)),
    lambda store: store.cut(store.error(errors.Gone, 410)),
    lambda store: store.compact(),
    lambda store: store.bookmark(),
    lambda store: setattr(store, "refuse", lambda verb: store.error(errors.ServerError, 503)),
    lambda store: setattr(store, "refuse", lambda verb: store.error(errors.Gone, 410) if verb == "watch" else None),
    lambda store: setattr(store, "refuse", lambda verb: store.error(errors.TimedOut) if verb == "list" else None),
    lambda store: setattr(store, "refuse", lambda verb: None),
    lambda store: setattr(store, "delay", 3.0),
    lambda store: setattr(store, "delay", 0.0),
]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abcd"), st.integers(0, 3)),
        st.tuples(st.just("remove"), st.sampled_from("abcd"), st.none()),
        st.tuples(st.just("fault"), st.integers(0, len(FAULTS) - 1), st.none()),
        st.tuples(st.just("wait"), st.sampled_from([0, 0.5, 5, 70, 200]), st.none()),
        st.tuples(st.just("own"), st.sampled_from("abcd"), st.integers(4, 6)),
    ),
    max_size=30,
)


@given(steps=STEPS)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_sequence_of_faults_loses_an_object(store, steps):
    """Whatever happens, once the server behaves the reflector has exactly what the server has."""

    async def story():
        own = type(store)()
        changes = []
        made = reflector.Reflector(
            own,
            resource.Selection(WIDGETS),
            lambda raw: (raw.get("spec"), raw["metadata"]["resourceVersion"]),
            lambda: changes.append(1),
            malformed=lambda name, error: None,
        )
        task = asyncio.create_task(made.run())
        for what, which, value in steps:
            if what == "put":
                own.put(which, spec=value)
            elif what == "own":
                made.apply(own.put(which, spec=value))
            elif what == "remove" and which in own.objects:
                own.remove(which)
            elif what == "fault":
                FAULTS[which](own)
            elif what == "wait":
                await asyncio.sleep(which)
        own.refuse, own.delay = (lambda verb: None), 0.0
        # Longer than the longest silence and the longest pause together, with bookmarks as a real server
        # sends them.
        for _ in range(4):
            await asyncio.sleep(100)
            own.bookmark()
        await asyncio.sleep(1)
        expected = {
            (None, name): (raw.get("spec"), raw["metadata"]["resourceVersion"]) for name, raw in own.objects.items()
        }
        assert made.objects == expected
        assert made.synced
        assert made.error is None
        assert made.alive
        assert len(own.requests) < 2 * asyncio.get_running_loop().time() + 10
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    loop = looptime.new_event_loop()
    try:
        loop.run_until_complete(story())
    finally:
        loop.close()
