"""A kind that a server need not have: its absence is an answer, asked again seldom, and its arrival is noticed."""

# ruff: noqa: ARG005 - a fault is a function of the verb, even when it does not care

import asyncio
import contextlib

import pytest

from topology_controller.kube import errors, reflector, resource

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")
pytestmark = pytest.mark.looptime


@contextlib.asynccontextmanager
async def reflecting(store):
    woken = []
    made = reflector.Reflector(
        store,
        resource.Selection(WIDGETS, name="a", optional=True),
        lambda raw: raw.get("spec"),
        lambda: woken.append(asyncio.get_running_loop().time()),
        malformed=lambda name, error: f"{name}: {type(error).__name__}",
    )
    task = asyncio.create_task(made.run())
    try:
        await asyncio.sleep(1)
        yield made, woken
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def unserved(store):
    store.refuse = lambda verb: store.error(errors.NotFound, 404, "NotFound")


async def test_it_is_an_empty_store_and_no_trouble(store):
    unserved(store)
    async with reflecting(store) as (made, woken):
        snapshot = made.snapshot()
        assert (dict(snapshot.objects), snapshot.synced, snapshot.error) == ({}, True, None)
        assert made.alive
        assert made.last_activity > 0
        await asyncio.sleep(3600)
        assert made.snapshot().error is None
        assert made.alive
        assert woken == [0], "nothing has changed, so nobody is woken"


async def test_its_arrival_is_noticed(store):
    unserved(store)
    async with reflecting(store) as (made, woken):
        await asyncio.sleep(1000)
        store.refuse = lambda verb: None
        store.put("a", spec=1)
        for _ in range(6):
            # A server shows about once a minute that it is alive.
            await asyncio.sleep(60)
            store.bookmark()
        assert dict(made.snapshot().objects) == {(None, "a"): 1}
        assert len(woken) == 2
        store.put("a", spec=2)
        await asyncio.sleep(1)
        # From here on it is watched like any other.
        assert dict(made.snapshot().objects) == {(None, "a"): 2}


async def test_its_departure_is_noticed(store):
    store.put("a", spec=1)
    async with reflecting(store) as (made, _):
        assert dict(made.snapshot().objects) == {(None, "a"): 1}
        await asyncio.sleep(100)
        unserved(store)
        store.cut()
        await asyncio.sleep(1)
        snapshot = made.snapshot()
        assert (dict(snapshot.objects), snapshot.synced, snapshot.error) == ({}, True, None)
        before = len(store.requests)
        await asyncio.sleep(3600)
        assert len(store.requests) - before <= 16


async def test_a_server_in_trouble_is_trouble_and_its_end_is_the_end_of_it(store):
    store.refuse = lambda verb: store.error(errors.ServerError, 503)
    async with reflecting(store) as (made, _):
        assert isinstance(made.snapshot().error, errors.ServerError)
        unserved(store)
        await asyncio.sleep(60)
        assert made.snapshot().error is None
        assert made.snapshot().synced
        store.refuse = lambda verb: store.error(errors.Forbidden, 403)
        await asyncio.sleep(360)
        assert isinstance(made.snapshot().error, errors.Forbidden)


def refused(store):
    store.refuse = lambda verb: store.error(errors.Forbidden, 403, "Forbidden")


async def test_without_the_right_it_is_asked_of_discovery_whether_there_is_anything(store):
    """An API server looks at rights before it looks for the kind: 403 says nothing about it."""
    refused(store)
    store.discovery = False
    async with reflecting(store) as (made, woken):
        snapshot = made.snapshot()
        assert (dict(snapshot.objects), snapshot.synced, snapshot.served, snapshot.error) == ({}, True, False, None)
        await asyncio.sleep(3600)
        assert (made.alive, woken) == (True, [0])
        assert store.discovered == len(store.requests) <= 16, "once with each list, every few minutes"
        store.discovery = True
        await asyncio.sleep(360)
        assert isinstance(made.snapshot().error, errors.Forbidden), "now it is there, and may not be read"


async def test_a_right_that_lacks_is_trouble_where_the_kind_is_served(store):
    refused(store)
    async with reflecting(store) as (made, _):
        assert not made.alive
        assert isinstance(made.snapshot().error, errors.Forbidden)
        store.refuse = lambda verb: None
        await asyncio.sleep(60)
        assert (made.alive, made.snapshot().served) == (True, True), "given back it needs no restart"


@pytest.mark.parametrize("kind", [errors.Forbidden, errors.Unreachable, errors.TimedOut, errors.ServerError])
async def test_where_discovery_cannot_be_asked_the_refusal_stands(store, kind):
    refused(store)
    store.discovery = store.error(kind)
    async with reflecting(store) as (made, _):
        assert isinstance(made.snapshot().error, errors.Forbidden)
