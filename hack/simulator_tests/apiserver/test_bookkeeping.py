"""What the server keeps about an object: its generation, and who wrote which field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_simulator.apiserver import managed_fields

NOBODY: dict[tuple[str, ...], tuple[str, ...]] = {}


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ({}, {"spec": {"a": 1}}, {(("f:spec",), False), (("f:spec", "f:a"), False)}),
        ({"spec": {"a": 1}}, {"spec": {"a": True}}, {(("f:spec", "f:a"), False)}),
        (
            {"spec": {"a": 1}},
            {"spec": {"a": 2, "b": 1}},
            {(("f:spec", "f:a"), False), (("f:spec", "f:b"), False)},
        ),
        ({"spec": {"a": 1, "b": 1}}, {"spec": {"a": 1}}, {(("f:spec", "f:b"), True)}),
        ({"spec": {"a": 1}}, {"spec": {"a": 1}}, set()),
        ({"spec": [1]}, {"spec": [2]}, {(("f:spec",), True), (("f:spec",), False)} - {(("f:spec",), True)}),
        ({"metadata": {"resourceVersion": "1"}}, {"metadata": {"resourceVersion": "2"}}, set()),
    ],
)
def test_changed_paths(old, new, changes):
    assert set(managed_fields.changed_paths(old, new, NOBODY)) == changes


VALUES = st.recursive(
    st.integers(0, 3), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=6
)


def leaves(tree, prefix=()):
    """Yield what a tree owns: its ends, and whatever has a dot among its parts."""
    for key, below in tree.items():
        if key == ".":
            yield prefix
        elif below:
            yield from leaves(below, (*prefix, key))
        else:
            yield (*prefix, key)


@given(
    st.lists(
        st.tuples(st.sampled_from("xy"), st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)),
        min_size=1,
        max_size=6,
    )
)
def test_every_field_has_exactly_one_owner(history):
    state, entries = None, []
    for manager, spec in history:
        new = {"spec": spec, "metadata": {}}
        old = None if state is None else {**state, "metadata": {"managedFields": entries}}
        writer = managed_fields.Writer(manager, "v1")
        entries = managed_fields.record(old, new, writer, "now", NOBODY)
        state = new
    owned = [leaf for entry in entries for leaf in leaves(entry["fieldsV1"])]
    assert len(owned) == len(set(owned)), owned
    assert state is not None
    wanted = {path for path, _ in managed_fields.changed_paths({}, state, NOBODY)}
    assert set(owned) == wanted
