"""Lists: pages of one moment, tables, metadata only, and what of the past can be asked for."""

from __future__ import annotations

import pytest

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def names(reply):
    return [one["metadata"]["name"] for one in reply.body["items"]]


async def test_lists_are_sorted_and_typed(client, samples):
    for name in ("c", "a", "b"):
        await client.post(samples.NODES, samples.node(name))
        await client.post(samples.WIDGETS, samples.widget(name, size=1))
    nodes, widgets = await client.get(samples.NODES), await client.get("/apis/example.com/v1/widgets")
    assert names(nodes) == names(widgets) == ["a", "b", "c"]
    assert (nodes.body["kind"], nodes.body["apiVersion"]) == ("NodeList", "v1")
    assert "kind" not in nodes.body["items"][0]
    assert widgets.body["kind"] == "WidgetList"
    assert widgets.body["items"][0]["kind"] == "Widget"


async def test_pages_show_one_moment(client, samples):
    for name in ("a", "b", "c", "d"):
        await client.post(samples.NODES, samples.node(name))
    first = await client.get(samples.NODES, limit=2)
    assert names(first) == ["a", "b"]
    assert first.body["metadata"]["remainingItemCount"] == 2
    await client.delete(f"{samples.NODES}/c")
    await client.post(samples.NODES, samples.node("bb"))
    await client.merge(f"{samples.NODES}/d", {"metadata": {"labels": {"new": "1"}}})
    second = await client.get(samples.NODES, limit=2, **{"continue": first.body["metadata"]["continue"]})
    assert names(second) == ["c", "d"]
    assert "labels" not in second.body["items"][1]["metadata"]
    assert second.version == first.version
    assert "continue" not in second.body["metadata"]


async def test_page_after_compaction_is_expired(client, api, samples):
    for name in ("a", "b"):
        await client.post(samples.NODES, samples.node(name))
    first = await client.get(samples.NODES, limit=1)
    await client.post(samples.NODES, samples.node("c"))
    api.compact()
    second = await client.get(samples.NODES, limit=1, **{"continue": first.body["metadata"]["continue"]})
    assert (second.code, second.body["reason"]) == (410, "Expired")
    assert (await client.get(samples.NODES, **{"continue": "rubbish"})).code == 400


async def test_exact_and_not_older_than(client, samples):
    old = (await client.post(samples.NODES, samples.node("a"))).version
    await client.post(samples.NODES, samples.node("b"))
    exact = await client.get(samples.NODES, resourceVersion=old, resourceVersionMatch="Exact")
    assert (names(exact), exact.version) == (["a"], old)
    newer = await client.get(samples.NODES, resourceVersion=old, resourceVersionMatch="NotOlderThan")
    assert names(newer) == ["a", "b"]
    assert names(await client.get(samples.NODES, resourceVersion="0")) == ["a", "b"]
    future = await client.get(samples.NODES, resourceVersion="999999")
    assert (future.code, future.body["reason"]) == (504, "Timeout")
    assert future.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize(
    ("query", "code", "words"),
    [
        ({"resourceVersion": "x"}, 400, 'parsing "x": invalid syntax'),
        ({"limit": "many"}, 400, 'parsing "many": invalid syntax'),
        ({"resourceVersionMatch": "Exact"}, 422, "forbidden unless resourceVersion is provided"),
        ({"resourceVersion": "0", "resourceVersionMatch": "Exact"}, 422, 'forbidden for resourceVersion "0"'),
        ({"resourceVersion": "1", "resourceVersionMatch": "Sometimes"}, 422, "Unsupported value"),
        ({"watch": "1", "resourceVersionMatch": "NotOlderThan"}, 422, "forbidden for watch"),
        ({"watch": "1", "sendInitialEvents": "true"}, 422, "sendInitialEvents requires"),
    ],
)
async def test_queries_that_make_no_sense(client, samples, query, code, words):
    refused = await client.get(samples.NODES, **query)
    assert (refused.code, words in refused.body["message"]) == (code, True), refused.body


async def test_table_of_custom_resource_has_the_declared_columns(client, samples):
    await client.post(samples.WIDGETS, samples.widget(size=4))
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    await client.merge(f"{samples.WIDGETS}/one/status", status)
    table = (await client.get(samples.WIDGETS, accept=TABLE)).body
    assert [one["name"] for one in table["columnDefinitions"]] == ["Name", "Size", "Ready", "Age"]
    assert [one["priority"] for one in table["columnDefinitions"]] == [0, 0, 0, 1]
    row = table["rows"][0]
    assert row["cells"][:3] == ["one", 4, "True"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    one = (await client.get(f"{samples.WIDGETS}/one", accept=TABLE, includeObject="Object")).body
    assert one["rows"][0]["object"]["spec"] == {"size": 4}
    bare = (await client.get(samples.WIDGETS, accept=TABLE, includeObject="None")).body
    assert bare["rows"][0]["object"] is None


async def test_table_of_nodes(client, samples):
    body = samples.node("n", **{"node-role.kubernetes.io/master": "", "node-role.kubernetes.io/worker": ""})
    body["spec"] = {"unschedulable": True}
    body["status"] = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"kubeletVersion": "v1.33.1"},
    }
    await client.post(samples.NODES, body)
    cells = (await client.get(samples.NODES, accept=TABLE)).body["rows"][0]["cells"]
    assert cells[:3] == ["n", "Ready,SchedulingDisabled", "master,worker"]
    assert cells[4] == "v1.33.1"


async def test_metadata_only(client, samples):
    await client.post(samples.NODES, samples.node("n"))
    found = (await client.get(samples.NODES, accept=METADATA)).body
    assert found["kind"] == "PartialObjectMetadataList"
    assert set(found["items"][0]) == {"kind", "apiVersion", "metadata"}


async def test_discovery_both_ways(client):
    old = await client.get("/apis/example.com/v1")
    assert [one["name"] for one in old.body["resources"]] == ["widgets", "widgets/status"]
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    new = await client.get("/apis", accept=accept)
    assert new.headers["Content-Type"] == accept.split(",", maxsplit=1)[0]
    groups = {one["metadata"]["name"]: one for one in new.body["items"]}
    kinds = groups["example.com"]["versions"][0]["resources"]
    assert (kinds[0]["resource"], kinds[0]["scope"]) == ("widgets", "Namespaced")
    assert (await client.get("/version")).body["major"] == "1"
    assert (await client.get("/readyz")).body == b"ok"


async def test_openapi_tells_that_the_server_validates(client):
    index = (await client.get("/openapi/v3")).body["paths"]
    found = await client.call("GET", index["apis/example.com/v1"]["serverRelativeURL"])
    path = found.body["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]
    assert "fieldValidation" in [one["name"] for one in path["patch"]["parameters"]]
    schema = found.body["components"]["schemas"]["com.example.v1.Widget"]
    assert schema["properties"]["spec"]["properties"]["mode"]["enum"] == ["a", "b"]
