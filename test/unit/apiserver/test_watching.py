"""Watches: from where, what is seen, how they end, and that a slow one harms nobody."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest

from topology_simulator.apiserver import server

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@pytest.mark.parametrize("flag", ["1", "true", "True"])
async def test_watch_from_a_list_misses_nothing(client, samples, flag):
    version = (await client.get(samples.NODES)).version
    await client.post(samples.NODES, samples.node("a"))
    watch = await client.watch(samples.NODES, resourceVersion=version, watch=flag)
    await client.merge(f"{samples.NODES}/a", {"metadata": {"labels": {"x": "1"}}})
    await client.delete(f"{samples.NODES}/a")
    assert await watch.take(3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


@pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}])
async def test_watch_without_version_begins_with_what_is_there(client, samples, query):
    for name in ("b", "a"):
        await client.post(samples.NODES, samples.node(name))
    watch = await client.watch(samples.NODES, **query)
    assert await watch.take(2) == [("ADDED", "a"), ("ADDED", "b")]


async def test_versions_rise_and_deletes_have_their_own(client, samples):
    made = await client.post(samples.NODES, samples.node("a"))
    watch = await client.watch(samples.NODES, resourceVersion=made.version)
    await client.delete(f"{samples.NODES}/a")
    event = await watch.next()
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(made.version)


async def test_status_and_spec_writes_are_both_seen(client, samples):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    watch = await client.watch(samples.WIDGETS, fieldSelector="metadata.name=one")
    assert await watch.take(1) == [("ADDED", "one")]
    await client.post(samples.WIDGETS, samples.widget("two", size=1))
    await client.merge(f"{samples.WIDGETS}/one/status", {"status": {"size": 1}})
    event = await watch.next()
    assert (event["type"], event["object"]["status"]) == ("MODIFIED", {"size": 1})


async def test_writes_that_change_nothing_make_no_event(client, samples):
    made = await client.post(samples.WIDGETS, samples.widget(size=1))
    watch = await client.watch(samples.WIDGETS, resourceVersion=made.version)
    await client.merge(f"{samples.WIDGETS}/one", {"spec": {"size": 1}})
    await client.merge(f"{samples.WIDGETS}/one", {"spec": {"size": 2}})
    assert (await watch.next())["object"]["spec"] == {"size": 2}


async def test_entering_and_leaving_a_selection(client, samples):
    watch = await client.watch(samples.NODES, labelSelector="role=master")
    await client.post(samples.NODES, samples.node("a"))
    await client.merge(f"{samples.NODES}/a", {"metadata": {"labels": {"role": "master"}}})
    left = await client.merge(f"{samples.NODES}/a", {"metadata": {"labels": {"role": None}}})
    assert (await watch.next())["type"] == "ADDED"
    event = await watch.next()
    assert event["type"] == "DELETED"
    assert event["object"]["metadata"]["labels"] == {"role": "master"}
    assert event["object"]["metadata"]["resourceVersion"] == left.version


async def test_watch_of_one_namespace(client, samples):
    watch = await client.watch("/api/v1/namespaces/kube-system/configmaps")
    await client.post(samples.CONFIG_MAPS, samples.config_map("a"))
    await client.post("/api/v1/namespaces/kube-system/configmaps", samples.config_map("b"))
    assert await watch.take(1) == [("ADDED", "b")]


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


async def test_compacted_version_is_an_expired_error_event(client, api, samples):
    old = (await client.post(samples.NODES, samples.node("a"))).version
    await client.post(samples.NODES, samples.node("b"))
    api.compact()
    watch = await client.watch(samples.NODES, resourceVersion=old)
    event = await watch.next()
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert event["object"]["message"].startswith("too old resource version: ")
    assert await watch.rest() == b""


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


async def test_initial_events_end_with_a_marked_bookmark(client, samples):
    await client.post(samples.NODES, samples.node("a"))
    watch = await client.watch(
        samples.NODES,
        sendInitialEvents="true",
        allowWatchBookmarks="true",
        resourceVersionMatch="NotOlderThan",
    )
    assert await watch.take(1) == [("ADDED", "a")]
    event = await watch.next()
    assert event["type"] == "BOOKMARK"
    assert event["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_table_watch_sends_the_columns_once(client, samples):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    watch = await client.watch(samples.WIDGETS, accept=TABLE)
    await client.merge(f"{samples.WIDGETS}/one", {"spec": {"size": 2}})
    first, second = await watch.next(), await watch.next()
    assert first["object"]["kind"] == second["object"]["kind"] == "Table"
    assert first["object"]["columnDefinitions"]
    assert second["object"]["columnDefinitions"] is None
    assert second["object"]["rows"][0]["cells"][1] == 2


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


async def test_many_nodes_and_watchers_are_cheap(client, api, samples):
    """2,000 nodes of 16 KB; 5 watchers of 300 status updates: every event is encoded once."""
    body = samples.node("n")
    body["status"] = {"images": [{"names": [f"registry.example/{index:060d}"]} for index in range(160)]}
    for index in range(2000):
        api.install({**body, "metadata": {"name": f"n{index:04d}"}})
    version = (await client.get(samples.NODES)).version
    watches = [await client.watch(samples.NODES, resourceVersion=version) for _ in range(5)]
    loop = asyncio.get_running_loop()
    started = loop.time()

    async def read(watch):
        for _ in range(300):
            await watch.next()

    readers = [asyncio.create_task(read(watch)) for watch in watches]
    for index in range(300):
        await client.merge(f"{samples.NODES}/n{index:04d}/status", {"status": {"phase": str(index)}})
    await asyncio.gather(*readers)
    seconds = loop.time() - started
    assert seconds < 6, f"300 updates to 5 watchers took {seconds:.1f} s"
