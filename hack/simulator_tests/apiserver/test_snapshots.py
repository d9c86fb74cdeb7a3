"""A server that goes on from what another one held: the same objects and kinds, as if all had happened just now."""

from __future__ import annotations

import dataclasses
import datetime as dt

import aiohttp

from simulator_tests.apiserver.conftest import DEADLINE, Client
from topology_simulator.apiserver import server

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


def lease(renewed: str) -> dict[str, object]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "a"},
        "spec": {"renewTime": renewed, "holderIdentity": "2026-01-02T03:04:05Z is no time: it has other words"},
    }


async def test_another_server_goes_on_where_this_one_was(client, api, samples):
    await client.post(samples.WIDGETS, samples.widget("w", size=3))
    await client.post(samples.NODES, samples.node("b"))
    await client.post(samples.NODES, samples.node("a"))
    before = (await client.get(samples.NODES)).body
    saved = api.snapshot()

    other = server.ApiServer()
    other.restore(saved)
    await other.start()
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=DEADLINE)) as session:
        there = Client(other, session)
        assert (await there.get(samples.NODES)).body == before
        assert (await there.get(f"{samples.WIDGETS}/w")).body["spec"]["size"] == 3
        watch = await there.watch(samples.NODES, resourceVersion=before["metadata"]["resourceVersion"])
        made = await there.post(samples.NODES, samples.node("c"))
        assert int(made.version) > int(before["metadata"]["resourceVersion"])
        assert await watch.take(1) == [("ADDED", "c")]
        # A definition that came along is enforced.
        assert (await there.post(samples.WIDGETS, samples.widget("x", size=11))).code == 422
        there.close()
    await other.stop()
    assert [one["metadata"]["name"] for one in (await client.get(samples.NODES)).body["items"]] == ["a", "b"]


async def test_what_was_renewed_just_before_is_renewed_just_before_an_hour_later(client, api):
    await client.post(LEASES, lease("2026-01-02T03:04:05.678901Z"))
    saved = dataclasses.replace(api.snapshot(), taken=api.snapshot().taken - 3600)
    created = (await client.get(f"{LEASES}/a")).body["metadata"]["creationTimestamp"]

    api.restore(saved)
    found = (await client.get(f"{LEASES}/a")).body
    assert found["spec"]["renewTime"] == "2026-01-02T04:04:05.678901Z"
    assert found["spec"]["holderIdentity"].startswith("2026-01-02T03:04:05Z is")
    moved = dt.datetime.fromisoformat(found["metadata"]["creationTimestamp"]) - dt.datetime.fromisoformat(created)
    assert moved.total_seconds() == 3600
