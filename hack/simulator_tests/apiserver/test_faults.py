"""Everything that can go wrong on purpose, seen from a client: of the server itself, and of a proxy before it."""

from __future__ import annotations

import asyncio
import contextlib
import json

import aiohttp
import pytest

from topology_simulator import proxy
from topology_simulator.apiserver import faults, server

Fault = faults.Fault


@pytest.fixture(params=["server", "proxy"])
async def api(request, samples):
    """What has the faults; requests are executed by an embedded server in both cases."""
    made = server.ApiServer(crds=[samples.WIDGET], bookmark_seconds=0.05)
    await made.start()
    front: server.ApiServer | proxy.Proxy = made
    if request.param == "proxy":
        front = proxy.Proxy(made.url)
        await front.start()
    yield front
    await front.stop()
    await made.stop()


@pytest.mark.parametrize(
    ("code", "text"), [(401, b"Unauthorized\n"), (500, b""), (503, b""), (502, b"502 Bad Gateway\n")]
)
async def test_status_as_proxies_and_servers_say_it(client, api, samples, code, text):
    api.faults.add(Fault(action="status", code=code, count=1))
    refused = await client.get(samples.NODES)
    assert (refused.code, refused.body) == (code, text)
    assert refused.headers["Content-Type"].startswith("text/plain")
    assert (await client.get(samples.NODES)).code == 200


@pytest.mark.parametrize(
    ("code", "reason"), [(403, "Forbidden"), (404, "NotFound"), (410, "Expired"), (429, "TooManyRequests")]
)
async def test_status_with_a_status_body(client, api, samples, code, reason):
    api.faults.add(Fault(action="status", code=code, verb="list"))
    refused = await client.get(samples.NODES)
    assert (refused.code, refused.body["reason"], refused.body["code"]) == (code, reason, code)
    assert refused.headers.get("Retry-After") == ("1" if code == 429 else None)


@pytest.mark.parametrize(
    ("rule", "hit"),
    [
        ({"verb": "get"}, True),
        ({"verb": "list"}, False),
        ({"resource": "nodes", "name": "n"}, True),
        ({"resource": "nodes", "name": "other"}, False),
        ({"user_agent": "tester/*"}, True),
        ({"user_agent": "cluster-topology-operator*"}, False),
        ({"token": "somebody"}, False),
        ({"subresource": "status"}, False),
        ({"body": "x"}, False),
    ],
)
async def test_only_matching_requests_are_hit(client, api, samples, rule, hit):
    await client.post(samples.NODES, samples.node("n"))
    active = api.faults.add(Fault(action="status", code=503, **rule))
    assert (await client.get(f"{samples.NODES}/n")).code == (503 if hit else 200)
    assert active.hits == int(hit)
    api.faults.clear()
    assert (await client.get(f"{samples.NODES}/n")).code == 200


async def test_duration_ends_by_itself(client, api, samples):
    api.faults.add(Fault(action="status", code=503, seconds=0.1))
    assert (await client.get(samples.NODES)).code == 503
    async with asyncio.timeout(samples.DEADLINE):
        while (await client.get(samples.NODES)).code == 503:  # noqa: ASYNC110  # real time is under test
            await asyncio.sleep(0.02)
    assert api.faults.active() == []


async def test_slow_waits_before_executing(client, api, samples):
    api.faults.add(Fault(action="slow", delay=0.2, verb="create"))
    started = asyncio.get_running_loop().time()
    sent = asyncio.create_task(client.post(samples.NODES, samples.node("n")))
    assert (await client.get(f"{samples.NODES}/n")).code == 404
    assert (await sent).code == 201
    assert asyncio.get_running_loop().time() - started >= 0.2


@pytest.mark.parametrize(("action", "code"), [("drop", 404), ("lost", 200)])
async def test_a_dropped_write_is_not_executed_and_one_whose_answer_is_lost_is(client, api, samples, action, code):
    api.faults.add(Fault(action=action, verb="create", count=1))
    with pytest.raises(aiohttp.ClientError):
        await client.post(samples.NODES, samples.node("n"))
    assert (await client.get(f"{samples.NODES}/n")).code == code


async def test_silent_request_is_let_go_with_the_fault(client, api, samples):
    active = api.faults.add(Fault(action="silent", verb="create"))
    waiting = asyncio.create_task(client.post(samples.NODES, samples.node("n")))
    async with asyncio.timeout(samples.DEADLINE):
        while not active.hits:  # noqa: ASYNC110  # a fault has no event to wait for
            await asyncio.sleep(0.01)
    done, _ = await asyncio.wait([waiting], timeout=0.1)
    assert not done
    api.faults.clear()
    with pytest.raises(aiohttp.ClientError):
        await waiting
    assert (await client.get(samples.NODES)).body["items"] == []


async def test_silent_watch_stays_connected_and_says_nothing(client, api, samples):
    watch = await client.watch(samples.NODES, allowWatchBookmarks="true")
    assert (await watch.next())["type"] == "BOOKMARK"
    active = api.faults.add(Fault(action="silent", verb="watch", resource="nodes"))
    assert active.hits == 1
    await client.post(samples.NODES, samples.node("n"))
    for _ in range(3):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.1):
                assert (await watch.response.content.readline()).startswith(b'{"type":"BOOKMARK"')
    assert len(api.open_watches) == 1
    assert not watch.response.content.at_eof()
    api.faults.clear()
    with pytest.raises(aiohttp.ClientError):
        await watch.rest()


@pytest.mark.parametrize("mid_line", [False, True])
async def test_cut_watch_ends_without_a_proper_end(client, api, samples, mid_line):
    watch = await client.watch(samples.NODES)
    other = await client.watch(samples.CONFIG_MAPS)
    active = api.faults.add(Fault(action="cut", resource="nodes", mid_line=mid_line))
    assert active.hits == 1
    if mid_line:
        async with asyncio.timeout(samples.DEADLINE):
            assert (await watch.response.content.read(10)).startswith(b'{"type"')
    with pytest.raises(aiohttp.ClientError):
        await watch.rest()
    await client.post(samples.CONFIG_MAPS, samples.config_map("a"))
    assert await other.take(1) == [("ADDED", "a")]
    assert await (await client.watch(samples.CONFIG_MAPS)).take(1) == [("ADDED", "a")]


async def test_expired_watch_gets_the_error_event(client, api, samples):
    watch = await client.watch(samples.NODES)
    api.faults.add(Fault(action="expire", resource="nodes"))
    event = await watch.next()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert await watch.rest() == b""


async def test_hook_runs_between_two_requests(client, api, samples):
    """Somebody changes the object exactly between another's read and write."""
    await client.post(samples.WIDGETS, samples.widget(size=1))
    path = f"{samples.WIDGETS}/one"
    seen = []

    async def change(request):
        seen.append(json.loads(request.body)["status"])
        await client.merge(path, {"spec": {"size": 2}})

    api.faults.on_request(lambda one: one.target.subresource == "status", change, count=1)
    found = await client.get(path)
    guarded = {"metadata": {"resourceVersion": found.version}, "status": {"size": 1}}
    assert (await client.merge(f"{path}/status", guarded)).code == 409
    assert seen == [{"size": 1}]
    assert (await client.merge(f"{path}/status", {"status": {"size": 1}})).code == 200


async def test_audit_log_records_every_request_once(client, api, samples):
    await client.post(samples.NODES, samples.node("n"), agent="someone/2")
    await client.get(f"{samples.NODES}/nope")
    await client.watch(samples.NODES, fieldSelector="metadata.name=n")
    await client.merge(f"{samples.NODES}/n/status", {"status": {}})
    found = [(one.verb, one.resource, one.name, one.subresource, one.code, one.watch) for one in api.requests]
    assert found == [
        ("create", "nodes", "", "", 201, False),
        ("get", "nodes", "nope", "", 404, False),
        ("watch", "nodes", "", "", 200, True),
        ("patch", "nodes", "n", "status", 200, False),
    ]
    assert api.requests[0].user_agent == "someone/2"
    assert api.requests[2].path.endswith("fieldSelector=metadata.name%3Dn") or "metadata.name=n" in api.requests[2].path


async def test_faults_and_audit_over_http(client, api, samples):
    rule = {"action": "status", "code": 429, "resource": "nodes", "userAgent": "tester*", "count": 2}
    assert (await client.post("/simulator/faults", [rule])).body == [{"hits": 0}]
    assert (await client.get(samples.NODES)).headers["Retry-After"] == "1"
    assert (await client.get(samples.NODES)).code == 429
    assert (await client.get(samples.NODES)).code == 200
    log = (await client.get("/simulator/requests")).body
    assert [(one["verb"], one["code"]) for one in log] == [("list", 429), ("list", 429), ("list", 200)]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"code": 500}, "1.action\n  Field required"),
        ({"action": "explode"}, "Input should be 'status', 'slow', "),
    ],
)
async def test_faults_that_make_no_sense_are_refused(client, api, rule, words):
    refused = await client.post("/simulator/faults", [{"action": "drop", "resource": "none"}, rule])
    assert refused.code == 400
    assert words in refused.body["message"]
    assert api.faults.active() == []


async def test_stop_lets_silent_requests_go(client, api, samples):
    active = api.faults.add(Fault(action="silent"))
    waiting = asyncio.create_task(client.get(samples.NODES))
    async with asyncio.timeout(samples.DEADLINE):
        while not active.hits:  # noqa: ASYNC110  # a fault has no event to wait for
            await asyncio.sleep(0.01)
        await api.stop()
        with pytest.raises(aiohttp.ClientError):
            await waiting
