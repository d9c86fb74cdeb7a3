"""What a reflector keeps, when it wakes somebody, and which of two versions it believes. Virtual time."""

# ruff: noqa: ARG005 - a fault is a function of the verb, even when it does not care

import asyncio
import copy
import gc
from typing import Any

import pytest

from topology_controller.kube import errors, reflector, resource

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")
pytestmark = pytest.mark.looptime


class Watched(reflector.Reflector[Any]):
    """A reflector that knows when it woke its reader, in seconds of the loop, and what it said of restored backups."""

    woken: list[float]
    restored: list[str]


@pytest.fixture
async def reflect(store):
    tasks = []

    async def started(reduce=lambda raw: raw.get("spec"), name=None, *, optional=False):
        restored: list[str] = []
        made = Watched(
            store,
            resource.Selection(WIDGETS, name=name, optional=optional),
            reduce,
            lambda: made.woken.append(asyncio.get_running_loop().time()),
            malformed=lambda name, error: f"{name}: {type(error).__name__}",
            on_restored=restored.append,
        )
        made.woken, made.restored = [], restored
        tasks.append(asyncio.create_task(made.run()))
        while not (made.synced or made.error):  # noqa: ASYNC110 - a store tells of changes alone
            await asyncio.sleep(0)
        return made

    yield started
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def lists(store):
    return [verb for _, verb in store.requests].count("list")


def objects(made):
    return {name: value for (_, name), value in made.objects.items()}


async def test_only_a_changed_value_wakes_anybody(store, reflect):
    store.put("a", spec=1, heartbeat=0)
    made = await reflect()
    assert made.woken == [0]
    for beat in range(100):
        await asyncio.sleep(0.1)
        store.put("a", spec=1, heartbeat=beat)
    await asyncio.sleep(0.1)
    assert made.woken == [0]
    store.put("a", spec=2)
    await asyncio.sleep(0.1)
    assert len(made.woken) == 2
    assert objects(made) == {"a": 2}


async def test_a_new_list_replaces_the_old_one_in_one_step_and_serves_it_until_then(store, reflect):
    store.put("a", spec=1)
    store.put("b", spec=1)
    made = await reflect()
    await asyncio.sleep(100)
    seen = []
    made._on_change = lambda: seen.append(objects(made))
    store.compact()
    store.objects.clear()
    store.put("c", spec=1)
    store.put("d", spec=1)
    store.compact()
    store.watching[0]._queue.clear()
    store.cut(store.error(errors.Gone, 410))
    store.delay = 5
    await asyncio.sleep(4)
    assert objects(made) == {"a": 1, "b": 1}
    await asyncio.sleep(5)
    assert seen == [{"c": 1, "d": 1}]
    assert lists(store) == 2


async def test_trouble_is_told_once_and_its_end_too(store, reflect):
    store.put("a", spec=1)
    made = await reflect()
    store.bookmark()
    await asyncio.sleep(10)
    store.refuse = lambda verb: store.error(errors.ServerError, 503)
    store.cut(store.error(errors.ServerError, 503))
    await asyncio.sleep(5)
    assert made.woken == [0, 10]
    assert type(made.error) is errors.ServerError
    assert made.alive
    assert objects(made) == {"a": 1}
    await asyncio.sleep(60)
    assert not made.alive, "a minute of trouble is the end of the grace"
    assert made.woken == [0, 10, 71], "which is told, too"
    store.refuse = lambda verb: None
    await asyncio.sleep(60)
    assert made.alive
    assert made.error is None
    assert len(made.woken) == 4


async def test_another_kind_of_trouble_is_news(store, reflect):
    made = await reflect()
    store.refuse = lambda verb: store.error(errors.ServerError, 503)
    store.cut(store.error(errors.Unreachable))
    await asyncio.sleep(40)
    assert [type(made.error), len(made.woken)] == [errors.ServerError, 3]
    await asyncio.sleep(30)
    assert not made.alive, "the grace runs from the beginning of all of it"


async def test_a_watch_that_began_again_before_it_had_settled_ends_no_later_trouble(store, reflect):
    made = await reflect()
    store.cut(store.error(errors.Unreachable))
    await asyncio.sleep(1.5)
    store.cut(store.error(errors.Gone, 410))
    await asyncio.sleep(0.1)
    store.refuse = lambda verb: store.error(errors.ServerError, 503)
    store.cut(store.error(errors.ServerError, 503))
    await asyncio.sleep(30)
    assert [type(made.error), len(made.woken)] == [errors.ServerError, 3], made.woken


async def test_silence_is_only_ended_by_a_sign_of_life(store, reflect):
    made = await reflect()
    await asyncio.sleep(152)
    assert type(made.error) is errors.TimedOut
    await asyncio.sleep(70)
    assert store.watching
    assert not made.alive, "an answer of 200 is no sign of life after silence"
    store.bookmark()
    await asyncio.sleep(0.1)
    assert made.alive
    assert made.error is None


OURS, LIVE, CHANGED, GONE = "apply", "learn", "MODIFIED", "DELETED"


@pytest.mark.parametrize(
    "steps",
    [
        [(OURS, 150, 150), (CHANGED, 120, 150), (GONE, 130, 150), (CHANGED, 151, 151)],
        [(CHANGED, 200, 200), (OURS, 150, 200), (GONE, 210, None), (OURS, 205, None)],
        [(LIVE, 150, 150), (LIVE, 140, 150), (GONE, 160, None), (LIVE, 155, None)],
        [(OURS, 150, 150), (CHANGED, 150, 150)],
    ],
    ids=["our write, then events", "events, then answers to writes", "read live", "the event of our own write"],
)
async def test_an_older_event_does_not_take_our_own_write_back(store, reflect, make_widget, steps):
    """What is older is no news, whichever way it comes, and what was deleted after it stays deleted."""
    store.put("a", spec=101)
    made = await reflect()
    kept: int | None = 101
    for how, version, then in steps:
        before = len(made.woken)
        raw = make_widget("a", version, spec=version)
        if how == OURS:
            made.apply(raw)
        elif how == LIVE:
            made.learn(made.entry(raw))
        else:
            store.watching[0].put_nowait((how, raw))
            await asyncio.sleep(0.1)
        assert objects(made).get("a") == then, (how, version)
        assert (len(made.woken) > before) is (then != kept)
        kept = then


async def test_a_list_that_was_on_its_way_takes_nothing_back_and_shows_no_restored_backup(store, reflect, make_widget):
    store.put("a", spec=1)
    made = await reflect()
    await asyncio.sleep(100)
    listed = store.list

    async def slow(*arguments, **options):
        found = await listed(*arguments, **options)
        if arguments[0].page != 1:
            made.learn(made.entry(make_widget("live", 170, spec="live")))
            made.apply(store.put("a", spec=2))
            made.apply(store.put("b", spec=2))
            store.log.clear()
        return found

    store.list = slow
    store.cut(store.error(errors.Gone, 410))
    await asyncio.sleep(10)
    assert lists(store) == 2
    assert {name: objects(made)[name] for name in "ab"} == {"a": 2, "b": 2}
    assert made.restored == []


async def test_a_restored_backup_wins_over_what_we_wrote_just_before(store, reflect):
    store.put("a", spec="old")
    made = await reflect()
    backup = copy.deepcopy(store.objects), store.version
    made.apply(store.put("a", spec="ours"))
    made.apply(store.put("b", spec="ours"))
    store.objects, store.version = backup
    store.log.clear()
    store.watching[0]._queue.clear()
    store.cut(store.error(errors.Unreachable))
    await asyncio.sleep(5)
    assert objects(made) == {"a": "old"}
    assert made.restored == ["widgets.example.org: its version went back from 103 to 101"]


async def test_a_restored_backup_whose_versions_were_raised_wins_too(store, reflect):
    store.put("a", spec="old")
    made = await reflect()
    backup = copy.deepcopy(store.objects)
    store.put("a", spec="new")
    made.apply(store.put("a", spec="ours"))
    await asyncio.sleep(1)
    store.objects, store.version = backup, 1_000_000
    store.compact()
    store.cut(store.error(errors.Unreachable))
    await asyncio.sleep(5)
    assert objects(made) == {"a": "old"}
    assert made.restored == ["widgets.example.org: a went back from version 103 to 101"]
    made.apply(store.put("a", spec="ours again"))
    await asyncio.sleep(1)
    assert objects(made) == {"a": "ours again"}


async def test_one_object_shows_a_restored_backup_however_far_versions_have_grown(store, reflect):
    store.put("a", spec="old")
    made = await reflect(name="a")
    backup = copy.deepcopy(store.objects)
    store.put("a", spec="new")
    await asyncio.sleep(1)
    store.objects = backup
    store.put("b", spec="written since")
    store.log.clear()
    store.cut(store.error(errors.Unreachable))
    await asyncio.sleep(5)
    assert objects(made)["a"] == "old"
    assert made.restored == ["widgets.example.org/a: a went back from version 102 to 101"]


async def test_lag_compaction_and_deletion_are_no_restored_backup(store, reflect):
    store.put("a", spec=1)
    made = await reflect()
    store.put("a", spec=2)
    store.remove("a")
    store.put("a", spec=3)
    made.apply(store.put("b", spec=1))
    store.compact()
    store.cut(store.error(errors.Gone, 410))
    await asyncio.sleep(5)
    store.cut()
    await asyncio.sleep(5)
    assert objects(made) == {"a": 3, "b": 1}
    assert made.restored == []


async def test_a_live_list_that_is_ahead_of_the_watch_replaces_the_store_and_old_events_are_no_news(
    store, reflect, make_widget
):
    for name in ("kept", "gone", "changed"):
        store.put(name, spec=1)
    made = await reflect()
    live = (make_widget("kept", 101, spec=1), make_widget("changed", 150, spec=2), make_widget("new", 160, spec=1))
    made.learn_list(tuple(map(made.entry, live)), "170")
    assert objects(made) == {"kept": 1, "changed": 2, "new": 1}
    assert len(made.woken) == 2
    for kind, name, version, spec in (
        ("MODIFIED", "gone", 130, "before it was gone"),
        ("DELETED", "gone", 140, None),
        ("MODIFIED", "changed", 145, "before"),
        ("ADDED", "new", 160, 1),
    ):
        store.watching[0].put_nowait((kind, make_widget(name, version, spec=spec)))
        await asyncio.sleep(0.1)
    assert objects(made) == {"kept": 1, "changed": 2, "new": 1}
    assert len(made.woken) == 2, "the watch is still behind"
    store.watching[0].put_nowait(("DELETED", make_widget("new", 171)))
    store.watching[0].put_nowait(("ADDED", make_widget("gone", 172, spec="again")))
    await asyncio.sleep(0.1)
    assert objects(made) == {"kept": 1, "changed": 2, "gone": "again"}


@pytest.mark.parametrize("version", ["120", "119", "opaque"])
async def test_a_live_list_that_is_not_ahead_of_the_watch_is_not_taken(store, reflect, make_widget, version):
    store.put("a", spec=1)
    made = await reflect()
    store.watching[0].put_nowait(("MODIFIED", make_widget("a", 120, spec=2)))
    await asyncio.sleep(0.1)
    made.learn_list((made.entry(make_widget("a", 101, spec="old")),), version)
    assert objects(made) == {"a": 2}
    store.watching[0].put_nowait(("ADDED", make_widget("b", 121, spec=1)))
    await asyncio.sleep(0.1)
    assert objects(made) == {"a": 2, "b": 1}


async def test_what_was_read_live_outweighs_no_list(store, reflect, make_widget):
    """After a restored backup every version is older, and still the truth."""
    store.put("a", spec=1)
    made = await reflect()
    await asyncio.sleep(100)
    made.learn(made.entry(make_widget("a", 5000, spec="live")))
    made.learn_list((made.entry(make_widget("a", 6000, spec="live")),), "6000")
    store.cut(store.error(errors.Gone, 410))
    await asyncio.sleep(1)
    assert objects(made) == {"a": 1}
    store.put("b", spec=1)
    await asyncio.sleep(0.1)
    assert objects(made) == {"a": 1, "b": 1}


async def test_a_live_answer_that_there_is_none_clears_the_store_unless_it_has_moved(store, reflect, make_widget):
    store.put("a", spec=1)
    made = await reflect()
    before = made.steps
    store.put("a", spec=1, heartbeat=1)
    await asyncio.sleep(0.1)
    made.learn_missing(before)
    assert objects(made) == {"a": 1}, "it may have come after the answer"
    made.learn_missing(made.steps)
    assert objects(made) == {}
    made.apply(make_widget("a", 90, spec="an answer from before"))
    assert objects(made) == {}
    store.put("a", spec=2)
    await asyncio.sleep(0.1)
    assert objects(made) == {"a": 2}


async def test_one_object_that_is_read_live_and_is_older_shows_a_restored_backup(store, reflect, make_widget):
    store.put("a", spec=1)
    made = await reflect()
    made.apply(make_widget("a", 150, spec="ours"))
    made.learn_live(made.entry(make_widget("a", 101, spec=1)), made.steps - 1)
    assert (objects(made), made.restored) == ({"a": "ours"}, []), "the store has moved: the answer may be from before"
    made.learn_live(made.entry(make_widget("a", 101, spec=1)), made.steps)
    assert (objects(made), made.restored) == ({"a": 1}, ["widgets.example.org went back from version 150 to 101"])
    made.learn_missing(made.steps)
    made.learn_live(made.entry(make_widget("a", 90, spec=0)), made.steps)
    assert objects(made) == {"a": 0}, "it is there again, older than when it was deleted"
    store.put("b", spec=1)
    await asyncio.sleep(0.1)
    again, restored = made.entry(make_widget("a", 90, spec=0)), len(made.restored)
    made.learn_missing(made.steps)
    made.learn_live(again, made.steps)
    assert len(made.restored) == restored, "what was not found for a moment is no restored backup"


async def test_an_object_that_cannot_be_reduced_is_a_value(store, reflect):
    store.put("good", spec={"size": 1})
    store.put("bad", spec=None)
    made = await reflect(lambda raw: raw["spec"]["size"])
    assert objects(made) == {"good": 1, "bad": "bad: TypeError"}
    store.put("bad", spec={"size": 2})
    store.put("good", spec="now this one")
    await asyncio.sleep(0.1)
    assert objects(made) == {"good": "good: TypeError", "bad": 2}
    store.remove("bad")
    store.put("good", spec={"size": 3})
    await asyncio.sleep(0.1)
    assert objects(made) == {"good": 3}


@pytest.mark.parametrize("raw", [{}, {"metadata": {"name": "a"}}, {"metadata": {"resourceVersion": "1"}}, None])
async def test_what_is_no_object_cannot_be_applied(reflect, raw):
    made = await reflect()
    with pytest.raises(ValueError, match=r"object|resourceVersion"):
        made.apply(raw)


async def test_nothing_raw_is_kept(store, reflect):
    class Big(dict[str, Any]):
        pass

    store.put("a", spec=1)
    made = await reflect()
    raw = Big(metadata={"name": "a", "resourceVersion": "500"}, spec=7, big="x" * 100)
    store.watching[0].put_nowait(("MODIFIED", raw))
    del raw
    await asyncio.sleep(0.1)
    store.put("b", spec=1)
    await asyncio.sleep(0.1)
    gc.collect()
    assert objects(made)["a"] == 7
    assert not [found for found in gc.get_objects() if type(found) is Big]


# A kind that a server need not have: its absence is an answer, asked again seldom, and its arrival is noticed.


def served(store):
    store.refuse = lambda verb: None


def in_trouble(store):
    store.refuse = lambda verb: store.error(errors.ServerError, 503)


def unserved(store):
    store.refuse = lambda verb: store.error(errors.NotFound, 404, "NotFound")


def refused(store):
    store.refuse = lambda verb: store.error(errors.Forbidden, 403, "Forbidden")


def hidden(store):
    """An API server looks at rights before it looks for the kind: 403 says nothing about it, discovery does."""
    refused(store)
    store.discovery = False


@pytest.mark.parametrize("absent", [unserved, hidden])
async def test_absence_is_an_empty_store_and_no_trouble(store, reflect, absent):
    absent(store)
    made = await reflect(name="a", optional=True)
    assert (made.objects, made.synced, made.served, made.error) == ({}, True, False, None)
    assert made.last_activity > 0
    await asyncio.sleep(3600)
    assert (made.alive, made.error, made.woken) == (True, None, [0])
    assert len(store.requests) <= 16, "every few minutes"
    assert store.discovered == (len(store.requests) if absent is hidden else 0), "once with each list"
    refused(store)
    store.discovery = True
    await asyncio.sleep(360)
    assert isinstance(made.error, errors.Forbidden), "now it is there, and may not be read"


@pytest.mark.parametrize(
    ("before", "error", "after", "there"),
    [
        pytest.param(unserved, type(None), served, True, id="it-arrives"),
        pytest.param(served, type(None), unserved, False, id="it-departs"),
        pytest.param(in_trouble, errors.ServerError, unserved, False, id="trouble-ends"),
        pytest.param(refused, errors.Forbidden, served, True, id="the-right-is-given"),
    ],
)
async def test_what_becomes_of_it_is_noticed_and_needs_no_restart(store, reflect, before, error, after, *, there):
    store.put("a", spec=1)
    before(store)
    made = await reflect(name="a", optional=True)
    assert type(made.error) is error
    await asyncio.sleep(100)
    after(store)
    store.cut()
    for _ in range(6):
        # A server shows about once a minute that it is alive.
        await asyncio.sleep(60)
        store.bookmark()
    assert (made.objects, made.served) == ({(None, "a"): 1} if there else {}, there)
    assert (made.synced, made.error, made.alive) == (True, None, True)
    assert error is not type(None) or len(made.woken) == 2, "told once"
    store.put("a", spec=2)
    await asyncio.sleep(1)
    # From here on it is watched like any other.
    assert made.objects == ({(None, "a"): 2} if there else {})


@pytest.mark.parametrize("kind", [errors.Forbidden, errors.Unreachable, errors.TimedOut, errors.ServerError])
async def test_where_discovery_cannot_be_asked_the_refusal_stands(store, reflect, kind):
    refused(store)
    store.discovery = store.error(kind)
    made = await reflect(name="a", optional=True)
    assert isinstance(made.error, errors.Forbidden)
