"""What the server keeps about an object: its generation, and who wrote which field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_simulator.apiserver import managed_fields

NOBODY = {}


async def test_generation_follows_the_spec_only(client, samples):
    made = await client.post(samples.WIDGETS, samples.widget(size=1))
    path = f"{samples.WIDGETS}/one"
    assert made.body["metadata"]["generation"] == 1
    assert (await client.merge(path, {"metadata": {"labels": {"a": "b"}}})).body["metadata"]["generation"] == 1
    assert (await client.merge(f"{path}/status", {"status": {"size": 1}})).body["metadata"]["generation"] == 1
    assert (await client.merge(path, {"spec": {"size": 2}})).body["metadata"]["generation"] == 2


async def test_without_status_subresource_everything_counts(client, api, samples):
    crd = samples.widget_crd()
    crd["metadata"]["name"] = "plain.example.com"
    crd["spec"]["names"] = {"plural": "plain", "kind": "Plain"}
    del crd["spec"]["versions"][0]["subresources"]
    api.install(crd)
    path = "/apis/example.com/v1/namespaces/default/plain"
    body = {"apiVersion": "example.com/v1", "kind": "Plain", "metadata": {"name": "p"}, "status": {"size": 1}}
    made = await client.post(path, body)
    assert made.body["status"] == {"size": 1}
    changed = await client.merge(f"{path}/p", {"status": {"size": 2}})
    assert changed.body["metadata"]["generation"] == 2
    assert (await client.get(f"{path}/p/status")).code == 404


async def test_status_and_spec_are_isolated(client, samples):
    body = {**samples.widget(size=1), "status": {"size": 7}}
    made = await client.post(samples.WIDGETS, body)
    assert "status" not in made.body
    path = f"{samples.WIDGETS}/one"
    change = {"spec": {"size": 5}, "status": {"size": 6}, "metadata": {"labels": {"x": "1"}}}
    through_status = await client.merge(f"{path}/status", change)
    assert (through_status.body["spec"], through_status.body["status"]) == ({"size": 1}, {"size": 6})
    assert "labels" not in through_status.body["metadata"]
    through_main = await client.merge(path, {"spec": {"size": 5}, "status": None})
    assert (through_main.body["spec"], through_main.body["status"]) == ({"size": 5}, {"size": 6})


async def test_nodes_register_with_status_and_heartbeat_may_label(client, samples):
    body = {**samples.node("n"), "status": {"phase": "x"}}
    assert (await client.post(samples.NODES, body)).body["status"]["phase"] == "x"
    beat = {
        "status": {"phase": "y"},
        "metadata": {"annotations": {"a": "1"}},
        "spec": {"unschedulable": True},
    }
    done = await client.merge(f"{samples.NODES}/n/status", beat)
    assert done.body["status"]["phase"] == "y"
    assert done.body["metadata"]["annotations"] == {"a": "1"}
    assert "unschedulable" not in done.body["spec"]


async def test_new_nodes_are_tainted_until_somebody_says_they_are_ready(client, samples):
    made = await client.post(samples.NODES, samples.node("n"))
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert made.body["spec"]["taints"] == [taint]
    freed = await client.merge(f"{samples.NODES}/n", {"spec": {"taints": None}})
    assert freed.body["spec"] == {}


async def test_managed_fields_name_who_wrote_what(client, samples):
    path = f"{samples.WIDGETS}/one"
    await client.post(samples.WIDGETS, samples.widget(size=1), agent="creator/v1 (linux)")
    conditions = [{"type": "Ready", "status": "True"}]
    await client.merge(f"{path}/status", {"status": {"conditions": conditions}}, agent="operator")
    done = await client.merge(path, {"spec": {"size": 2}}, fieldManager="somebody")
    found = {
        (one["manager"], one.get("subresource")): one["fieldsV1"] for one in done.body["metadata"]["managedFields"]
    }
    assert found == {
        ("creator", None): {"f:spec": {}},
        ("operator", "status"): {
            "f:status": {
                ".": {},
                "f:conditions": {".": {}, 'k:{"type":"Ready"}': {".": {}, "f:status": {}, "f:type": {}}},
            }
        },
        ("somebody", None): {"f:spec": {"f:size": {}}},
    }
    for one in done.body["metadata"]["managedFields"]:
        assert (one["operation"], one["apiVersion"], one["fieldsType"]) == (
            "Update",
            "example.com/v1",
            "FieldsV1",
        )


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
    wanted = {path for path, _ in managed_fields.changed_paths({}, state, NOBODY)}
    assert set(owned) == wanted


async def test_an_object_without_owners_is_not_tracked(client, samples):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    cleared = await client.merge(f"{samples.WIDGETS}/one", {"metadata": {"managedFields": [{}]}})
    assert "managedFields" not in cleared.body["metadata"]
    later = await client.merge(f"{samples.WIDGETS}/one", {"spec": {"size": 2}})
    assert "managedFields" not in later.body["metadata"]


async def test_true_over_one_is_a_change_and_counts(client, samples):
    made = await client.post(samples.WIDGETS, samples.widget(free={"a": 1}))
    done = await client.merge(f"{samples.WIDGETS}/one", {"spec": {"free": {"a": True}}})
    assert done.body["spec"]["free"] == {"a": True}
    assert done.body["metadata"]["generation"] == made.body["metadata"]["generation"] + 1
    again = await client.merge(f"{samples.WIDGETS}/one", {"spec": {"free": {"a": True}}})
    assert again.version == done.version
