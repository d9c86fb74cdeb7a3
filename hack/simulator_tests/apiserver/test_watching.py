"""Watches: bookmarks, bounds and ends. What they tell is rows of parity."""

from __future__ import annotations

import json

import aiohttp
import pytest

from topology_simulator.apiserver import server


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
