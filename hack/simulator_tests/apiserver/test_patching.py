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


@given(st.dictionaries(st.text("ab", min_size=1, max_size=2), JSON, max_size=3), JSON)
def test_json_patch_add_then_remove_is_nothing(document, value):
    operations = [
        {"op": "add", "path": "/new", "value": value},
        {"op": "test", "path": "/new", "value": value},
        {"op": "remove", "path": "/new"},
    ]
    assert patch.apply_json_patch(document, operations) == document
