"""Merge patch and JSON patch: the algorithms. As requests they are rows of parity."""

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
