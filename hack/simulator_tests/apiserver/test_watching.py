"""Watches: bookmarks, bounds and ends. What they tell is rows of parity."""

from __future__ import annotations

import asyncio
import collections
import json

import aiohttp
import pytest

from topology_simulator.apiserver import server, storage


async def test_bookmarks_only_when_asked_and_with_the_newest_version(client, api, samples):
    api.bookmark_seconds = 0.05
    plain = await client.watch(samples.NODES)
    marked = await client.watch(samples.NODES, allowWatchBookmarks="true")
    version = (await client.post(samples.CONFIG_MAPS, samples.config_map("a"))).version
    event = await marked.next()
    while event["object"]["metadata"]["resourceVersion"] != version:
        event = await marked.next()
    assert (event["type"], event["object"]["kind"]) == ("BOOKMARK", "Node")
    await client.post(samples.NODES, samples.node("n"))
    assert await plain.take(1) == [("ADDED", "n")]


async def test_timeout_ends_cleanly_after_a_bookmark(client, samples):
    watch = await client.watch(samples.NODES, timeoutSeconds="1", allowWatchBookmarks="true")
    lines = (await watch.rest()).splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["BOOKMARK"]


async def test_history_is_bounded(samples):
    api = server.ApiServer(history=3)
    for index in range(5):
        api.install(samples.node(f"n{index}"))
    assert len(api.storage.since("/nodes", api.storage.revision - 3)) == 3
    await api.start()
    async with aiohttp.ClientSession() as session:
        found = await session.get(f"{api.url}/api/v1/nodes", params={"watch": "1", "resourceVersion": "2"})
        event = json.loads(await found.content.readline())
        assert event["object"]["code"] == 410
        found.close()
    await api.stop()


async def test_slow_watcher_is_dropped_and_others_see_everything(samples):
    api = server.ApiServer(watch_limit=50)
    await api.start()
    big = {"metadata": {"name": "big"}, "data": {"k": "x" * 200_000}}
    api.install({"apiVersion": "v1", "kind": "ConfigMap", **big, "metadata": {"name": "big", "namespace": "default"}})
    timeout = aiohttp.ClientTimeout(total=samples.DEADLINE)
    async with aiohttp.ClientSession(timeout=timeout, read_bufsize=2**10) as session:
        client = samples.client(api, session)
        lazy = await client.watch(samples.CONFIG_MAPS)
        eager = await client.watch("/api/v1/configmaps", labelSelector="small")
        for index in range(200):
            await client.merge(f"{samples.CONFIG_MAPS}/big", {"metadata": {"annotations": {"i": str(index)}}})
        await client.post(samples.CONFIG_MAPS, {"metadata": {"name": "s", "labels": {"small": "1"}}})
        assert await eager.take(1) == [("ADDED", "s")]
        async with asyncio.timeout(samples.DEADLINE):
            while len(api.open_watches) > 1:  # noqa: ASYNC110  # the server's state has no event to wait for
                await asyncio.sleep(0.01)
        with pytest.raises(aiohttp.ClientError):
            await lazy.rest()
        client.close()
    await api.stop()


async def test_watch_ends_when_its_client_goes(client, api, samples):
    watch = await client.watch(samples.NODES)
    assert len(api.open_watches) == 1
    watch.close()
    async with asyncio.timeout(samples.DEADLINE):
        while api.open_watches:  # noqa: ASYNC110  # as above
            await asyncio.sleep(0.01)


async def test_state_survives_a_restart_on_the_same_port(client, api, samples):
    made = await client.post(samples.NODES, samples.node("a"))
    watch = await client.watch(samples.NODES, resourceVersion=made.version)
    port = api.port
    await api.stop()
    with pytest.raises(aiohttp.ClientError):
        await watch.rest()
    with pytest.raises(aiohttp.ClientError):
        await client.get(samples.NODES)
    await api.start(port=port)
    assert (await client.get(f"{samples.NODES}/a")).version == made.version
    again = await client.watch(samples.NODES, resourceVersion=made.version)
    await client.delete(f"{samples.NODES}/a")
    assert await again.take(1) == [("DELETED", "a")]


async def test_only_loopback_is_served():
    with pytest.raises(ValueError, match="not a loopback address"):
        await server.ApiServer().start(host="192.0.2.1")


@pytest.mark.nightly
async def test_many_nodes_and_watchers_are_cheap(client, api, samples, monkeypatch):
    """2,000 nodes of 16 KB; 5 watchers of 300 status updates: every event is encoded once."""
    body = samples.node("n")
    body["status"] = {"images": [{"names": [f"registry.example/{index:060d}"]} for index in range(160)]}
    for index in range(2000):
        api.install({**body, "metadata": {"name": f"n{index:04d}"}})
    version = (await client.get(samples.NODES)).version
    watches = [await client.watch(samples.NODES, resourceVersion=version) for _ in range(5)]
    encode, encoded = storage.encode, collections.Counter[str]()

    def counting(value):
        encoded[value.get("kind")] += 1
        return encode(value)

    monkeypatch.setattr(storage, "encode", counting)

    async def read(watch):
        for _ in range(300):
            await watch.next()

    readers = [asyncio.create_task(read(watch)) for watch in watches]
    for index in range(300):
        await client.merge(f"{samples.NODES}/n{index:04d}/status", {"status": {"phase": str(index)}})
    await asyncio.gather(*readers)
    # The answer to the writer, and the event: once, not once for each watcher.
    assert encoded["Node"] == 2 * 300
