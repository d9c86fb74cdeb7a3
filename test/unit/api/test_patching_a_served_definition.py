"""Our fields, rules and columns go into a definition that is not ours, and nothing else changes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from topology_api import crd, crd_patch
from topology_api import served as served_fields
from topology_api.types import TopologyPair


def version(definition: Any, name: str = "v1") -> Any:
    return next(one for one in definition["spec"]["versions"] if one["name"] == name)


def root(definition: Any) -> Any:
    return version(definition)["schema"]["openAPIV3Schema"]


def without_ours(definition: Any) -> str:
    """Take out what we add, by hand, and write down the rest byte for byte."""
    rest = copy.deepcopy(definition)
    schema = root(rest)
    schema["properties"]["spec"]["properties"].pop("desiredTopology")
    schema["properties"]["status"]["properties"].pop("topologyTransition")
    schema[crd.RULES] = [one for one in schema[crd.RULES] if one.get("fieldPath") != ".spec.desiredTopology"]
    ours = {"DESIRED", "CONTROL-PLANE", "INFRASTRUCTURE", "PROBLEM", "PROGRESS", "MESSAGE"}
    version(rest)["additionalPrinterColumns"] = [
        one
        for one in version(rest)["additionalPrinterColumns"]
        if one["name"] not in ours and one["jsonPath"] != ".status.topologyTransition.phase"
    ]
    return json.dumps(rest)


def test_everything_else_survives_byte_for_byte(payload, edges):
    before = json.dumps(payload)
    patched = crd_patch.apply(payload, crd_patch.add(payload, edges))
    assert json.dumps(payload) == before, "the served definition itself was changed"
    assert without_ours(patched) == before


def test_what_is_added_is_what_the_whole_definition_has(payload, edges):
    patched = crd_patch.apply(payload, crd_patch.add(payload, edges))
    whole = crd.infrastructure(edges)
    for part, name in (("spec", "desiredTopology"), ("status", "topologyTransition")):
        there = root(patched)["properties"][part]["properties"][name]
        assert there == root(whole)["properties"][part]["properties"][name], name
    assert root(patched)[crd.RULES][2:] == root(whole)[crd.RULES]
    names = [one["name"] for one in version(patched)["additionalPrinterColumns"]]
    assert names == [
        "PHASE",
        "Age",
        "DESIRED",
        "CONTROL-PLANE",
        "INFRASTRUCTURE",
        "PHASE",
        "PROBLEM",
        "PROGRESS",
        "MESSAGE",
    ]


def test_an_older_level_of_ours_gets_only_what_differs(payload, edges):
    patched = crd_patch.apply(payload, crd_patch.add(payload, edges))
    further = crd.Edge(
        "dual", "DualReplica", ("HighlyAvailable",), TopologyPair(control_plane="HighlyAvailable", infrastructure="x")
    )
    operations = crd_patch.add(patched, (*edges, further))
    changed = [one["path"] for one in operations if one["op"] != "test"]
    rules = "/spec/versions/1/schema/openAPIV3Schema/x-kubernetes-validations"
    assert changed == [f"{rules}/3"], "only the rule that lists the legal requests differs"
    assert root(crd_patch.apply(patched, operations))[crd.RULES][2:] == crd.rules((*edges, further))


def test_the_way_back_is_exact(payload, edges):
    before = json.dumps(payload)
    patched = crd_patch.apply(payload, crd_patch.add(payload, edges))
    back = crd_patch.apply(patched, crd_patch.remove(patched))
    assert json.dumps(back) == before
    assert crd_patch.remove(back) == []


def rename(payload: Any) -> None:
    payload["metadata"]["name"] = "widgets.example.com"


def no_v1(payload: Any) -> None:
    payload["spec"]["versions"].pop(1)


def no_status(payload: Any) -> None:
    del root(payload)["properties"]["status"]


def no_topology(payload: Any) -> None:
    del root(payload)["properties"]["status"]["properties"]["infrastructureTopology"]


def no_subresource(payload: Any) -> None:
    version(payload)["subresources"] = {}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (rename, "found CustomResourceDefinition widgets.example.com"),
        (no_v1, "has no version v1; it has v1alpha1"),
        (no_status, "has no schema for status"),
        (no_topology, "has no status.infrastructureTopology"),
        (no_subresource, "has no status subresource"),
        (dict.clear, "found no kind without a name"),
    ],
)
def test_what_cannot_be_patched_is_named(payload, edges, spoil, message):
    spoil(payload)
    with pytest.raises(crd_patch.NotPatchableError, match=message):
        crd_patch.add(payload, edges)
    assert not served_fields.serves_our_fields(payload)


def test_whether_our_fields_are_served(payload, edges):
    bare = served_fields.serves_our_fields(payload)
    assert not bare
    assert bare.reason.endswith("v1 has no spec.desiredTopology, status.topologyTransition")
    patched = crd_patch.apply(payload, crd_patch.add(payload, edges))
    assert served_fields.serves_our_fields(patched)
    del root(patched)["properties"]["status"]["properties"]["topologyTransition"]["properties"]["baseline"]
    older = served_fields.serves_our_fields(patched)
    assert older.reason.endswith("v1 has no status.topologyTransition.baseline"), older
    version(patched)["served"] = False
    assert "does not serve version v1" in served_fields.serves_our_fields(patched).reason


def test_the_fields_that_are_asked_for_are_those_of_the_schema(edges):
    """Two walks, one through the types and one through the schema made of them, see the same fields."""
    schema = crd.record_schema()
    assert {f"status.{crd.RECORD}.{path}" for path in served_fields.paths(schema)} == {
        path for path in served_fields._ours() if path.startswith(f"status.{crd.RECORD}.")
    }
