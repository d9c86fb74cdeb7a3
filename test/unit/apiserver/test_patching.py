"""Merge patch and JSON patch: the algorithms, and the two as requests."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_simulator.apiserver import patch

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)
WITHOUT_NULL = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("target", "change", "result"),
    [
        # the examples of RFC 7386, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_examples(target, change, result):
    assert patch.merge(target, change) == result


@given(JSON, JSON)
def test_merge_patch_twice_is_once_and_changes_no_input(target, change):
    before = copy.deepcopy((target, change))
    once = patch.merge(target, change)
    assert patch.merge(once, change) == once
    assert (target, change) == before


@given(WITHOUT_NULL)
def test_merge_patch_onto_nothing_is_the_patch(change):
    assert patch.merge({}, change) == change


@pytest.mark.parametrize(
    ("document", "operation", "result"),
    [
        ({"a": 1}, {"op": "add", "path": "/b", "value": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"op": "add", "path": "/a", "value": 2}, {"a": 2}),
        ({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2, 3]}),
        ({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}, {"a": [1, 2]}),
        ({"a": {"b": 1}}, {"op": "remove", "path": "/a/b"}, {"a": {}}),
        ({"a": [1, 2]}, {"op": "remove", "path": "/a/0"}, {"a": [2]}),
        ({"a": [1, 2]}, {"op": "replace", "path": "/a/1", "value": 9}, {"a": [1, 9]}),
        ({"a": 1}, {"op": "move", "from": "/a", "path": "/b"}, {"b": 1}),
        ({"a": [1, 2]}, {"op": "move", "from": "/a/0", "path": "/a/1"}, {"a": [2, 1]}),
        ({"a": [1]}, {"op": "copy", "from": "/a", "path": "/b"}, {"a": [1], "b": [1]}),
        ({"a/b": {"~c": 1}}, {"op": "test", "path": "/a~1b/~0c", "value": 1}, {"a/b": {"~c": 1}}),
        ({"a": 1}, {"op": "test", "path": "/b", "value": None}, {"a": 1}),
        ({"": 1}, {"op": "replace", "path": "/", "value": 2}, {"": 2}),
        ({"a": 1}, {"op": "replace", "path": "", "value": 2}, 2),
    ],
)
def test_json_patch_examples(document, operation, result):
    before = copy.deepcopy(document)
    assert patch.apply_json_patch(document, [operation]) == result
    assert document == before


@pytest.mark.parametrize(
    ("document", "operation"),
    [
        ({"a": 1}, {"op": "remove", "path": "/b"}),
        ({"a": 1}, {"op": "replace", "path": "/b/c", "value": 1}),
        ({"a": 1}, {"op": "dance", "path": "/a"}),
        ({"a": 1}, {"op": "add", "path": "a", "value": 1}),
        ({"a": 1}, {"op": "add", "path": "/b/c", "value": 1}),
        ({"a": [1]}, {"op": "add", "path": "/a/2", "value": 1}),
        ({"a": [1]}, {"op": "remove", "path": "/a/1"}),
        ({"a": [1]}, {"op": "remove", "path": "/a/-"}),
        ({"a": [1]}, {"op": "replace", "path": "/a/01", "value": 1}),
        ({"a": 1}, {"op": "test", "path": "/a", "value": True}),
        ({"a": {}}, {"op": "move", "from": "/a", "path": "/a/b"}),
        ({"a": 1}, {"op": "add", "path": "/a/b", "value": 1}),
    ],
)
def test_json_patch_that_does_not_fit(document, operation):
    with pytest.raises(patch.PatchError):
        patch.apply_json_patch(document, [operation])


@pytest.mark.parametrize(
    "operations",
    [
        {},
        "x",
        [1],
        [{"op": "add", "path": "/a", "value": 1}, None],
    ],
)
def test_json_patch_that_is_none(operations):
    with pytest.raises(patch.MalformedPatchError):
        patch.apply_json_patch({}, operations)


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "add", "path": "/b"}, {"a": 1, "b": None}),
        ({"op": "replace", "path": "/b", "value": 2}, {"a": 1, "b": 2}),
        ({"op": "copy", "from": "/c", "path": "/b"}, {"a": 1, "b": None}),
    ],
)
def test_json_patch_is_as_lenient_as_the_real_server(operation, result):
    assert patch.apply_json_patch({"a": 1}, [operation]) == result


@given(st.dictionaries(st.text("ab", min_size=1, max_size=2), JSON, max_size=3), JSON)
def test_json_patch_add_then_remove_is_nothing(document, value):
    operations = [
        {"op": "add", "path": "/new", "value": value},
        {"op": "test", "path": "/new", "value": value},
        {"op": "remove", "path": "/new"},
    ]
    assert patch.apply_json_patch(document, operations) == document


async def test_merge_patch_without_version_wins(client, samples):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    done = await client.merge(f"{samples.WIDGETS}/one", {"spec": {"mode": "a"}})
    assert (done.code, done.body["spec"]) == (200, {"size": 1, "mode": "a"})


async def test_merge_patch_with_old_version_is_a_conflict(client, samples):
    made = await client.post(samples.WIDGETS, samples.widget(size=1))
    await client.merge(f"{samples.WIDGETS}/one", {"spec": {"size": 2}})
    guarded = {"metadata": {"resourceVersion": made.version}, "status": {"size": 1}}
    refused = await client.merge(f"{samples.WIDGETS}/one/status", guarded)
    assert (refused.code, refused.body["reason"]) == (409, "Conflict")


async def test_failed_json_patch_test_is_422(client, samples):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    refused = await client.json_patch(
        f"{samples.WIDGETS}/one",
        [{"op": "test", "path": "/spec/size", "value": 2}, {"op": "remove", "path": "/spec/size"}],
    )
    assert (refused.code, refused.body["reason"]) == (422, "Invalid")
    assert refused.body["message"] == "the server rejected our request due to an error in our request"
    assert (await client.get(f"{samples.WIDGETS}/one")).body["spec"] == {"size": 1}


@pytest.mark.parametrize(
    "media", ["application/strategic-merge-patch+json", "application/apply-patch+yaml", "application/json"]
)
@pytest.mark.parametrize("kind", ["widgets", "nodes"])
async def test_other_patches_are_415(client, samples, media, kind):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    await client.post(samples.NODES, samples.node("one"))
    path = f"{samples.WIDGETS}/one" if kind == "widgets" else f"{samples.NODES}/one"
    refused = await client.call("PATCH", path, {"spec": {}}, media=media)
    assert (refused.code, refused.body["reason"]) == (415, "UnsupportedMediaType")
    names_apply = kind == "widgets" and "apply" not in media
    also = ", application/apply-patch+yaml" if names_apply else ""
    if kind == "nodes" and media == "application/json":
        assert refused.body["message"] == "415: Unsupported Media Type"
        return
    assert refused.body["message"] == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json" + also
    )


async def test_patch_cannot_rename(client, samples):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    refused = await client.merge(f"{samples.WIDGETS}/one", {"metadata": {"name": "two"}})
    words = "the name of the object (two) does not match the name on the URL (one)"
    assert (refused.code, refused.body["message"]) == (400, words)


@pytest.mark.parametrize(("media", "body"), [("merge", b"{"), ("merge", b"[]"), ("json", b"{}"), ("json", b"[1]")])
async def test_broken_patches_are_400(client, samples, media, body):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    send = client.merge if media == "merge" else client.json_patch
    assert (await send(f"{samples.WIDGETS}/one", body)).code == 400
