"""The schema that the types turn into; and it goes into a definition that is not ours, where nothing else changes."""

from __future__ import annotations

import copy
import functools
import json
import operator
from typing import Annotated, Any

import pydantic
import pytest

from topology_api import crd, crd_patch, types
from topology_api import served as served_fields
from topology_api.types import TopologyPair
from topology_api.vocabulary import Phase
from topology_deploy import manifests

EDGES = manifests.edges()


@pytest.fixture
def payload() -> dict[str, Any]:
    """As a release payload has it: two versions, hundreds of fields, rules and columns of its own, and none of ours."""
    made = crd.infrastructure(EDGES)
    made["metadata"].update(annotations={"include.release.openshift.io/ibm": "true"}, resourceVersion="123")
    version = made["spec"]["versions"][0]
    version["additionalPrinterColumns"] = [
        {"name": "PHASE", "type": "string", "jsonPath": ".status.platform", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    schema = version["schema"]["openAPIV3Schema"]
    schema["required"] = ["spec"]
    schema[crd.RULES] = [
        {"rule": "!has(self.spec) || true", "message": "not ours"},
        {"rule": "true", "fieldPath": ".spec.platformSpec", "message": "not ours either"},
    ]
    spec, status = schema["properties"]["spec"], schema["properties"]["status"]
    for part in (spec, status):
        del part[crd.OPEN]
        for number in range(150):
            inner = {"inner": {"type": "string", "maxLength": number + 1}}
            part["properties"][f"field/{number}~x"] = {"type": "object", "properties": inner}
    del spec["properties"][crd.DESIRED]
    del status["properties"][crd.RECORD]
    spec["properties"]["platformSpec"][crd.RULES] = [{"rule": "true", "message": "deeper"}]
    other = copy.deepcopy(version)
    other.update(name="v1alpha1", storage=False, deprecated=True)
    made["spec"]["versions"] = [other, version]
    made["spec"]["conversion"] = {"strategy": "None"}
    made["status"] = {"storedVersions": ["v1"], "conditions": []}
    return made


def version(definition: Any) -> Any:
    return next(one for one in definition["spec"]["versions"] if one["name"] == "v1")


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


def test_everything_else_survives_byte_for_byte_and_the_way_back_is_exact(payload):
    before = json.dumps(payload)
    patched = crd_patch.apply(payload, crd_patch.add(payload, EDGES))
    assert json.dumps(payload) == before, "the served definition itself was changed"
    assert without_ours(patched) == before
    back = crd_patch.apply(patched, crd_patch.remove(patched))
    assert json.dumps(back) == before
    assert crd_patch.remove(back) == []


def test_what_is_added_is_what_the_whole_definition_has(payload):
    patched = crd_patch.apply(payload, crd_patch.add(payload, EDGES))
    whole = crd.infrastructure(EDGES)
    for part, name in (("spec", "desiredTopology"), ("status", "topologyTransition")):
        there = root(patched)["properties"][part]["properties"][name]
        assert there == root(whole)["properties"][part]["properties"][name], name
    assert root(patched)[crd.RULES][2:] == root(whole)[crd.RULES]
    names = [one["name"] for one in version(patched)["additionalPrinterColumns"]]
    assert names == ["PHASE", "Age", *(one["name"] for one in crd.columns() if one["name"] != "AGE")]


def test_an_older_level_of_ours_gets_only_what_differs(payload):
    patched = crd_patch.apply(payload, crd_patch.add(payload, EDGES))
    further = crd.Edge(
        "dual", "DualReplica", ("HighlyAvailable",), TopologyPair(control_plane="HighlyAvailable", infrastructure="x")
    )
    operations = crd_patch.add(patched, (*EDGES, further))
    changed = [one["path"] for one in operations if one["op"] != "test"]
    rules = "/spec/versions/1/schema/openAPIV3Schema/x-kubernetes-validations"
    assert changed == [f"{rules}/3"], "only the rule that lists the legal requests differs"
    assert root(crd_patch.apply(patched, operations))[crd.RULES][2:] == crd.rules((*EDGES, further))


V1 = "spec versions 1"
SCHEMA = f"{V1} schema openAPIV3Schema properties"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("metadata name", "widgets.example.com", "found CustomResourceDefinition widgets.example.com"),
        (f"{V1} name", "v2", "has no version v1; it has v1alpha1, v2"),
        (f"{SCHEMA} status", None, "has no schema for status"),
        (f"{SCHEMA} status properties infrastructureTopology", None, "has no status.infrastructureTopology"),
        (f"{V1} subresources", {}, "has no status subresource"),
        ("kind", None, "found no kind"),
    ],
)
def test_what_cannot_be_patched_is_named(payload, path, value, message):
    *way, last = (int(part) if part.isdecimal() else part for part in path.split())
    place = functools.reduce(operator.getitem, way, payload)
    if value is None:
        del place[last]
    else:
        place[last] = value
    with pytest.raises(crd_patch.NotPatchableError, match=message):
        crd_patch.add(payload, EDGES)
    assert served_fields.lacking(payload)


def test_whether_our_fields_are_served(payload):
    assert served_fields.lacking(payload).endswith("v1 has no spec.desiredTopology, status.topologyTransition")
    patched = crd_patch.apply(payload, crd_patch.add(payload, EDGES))
    assert not served_fields.lacking(patched)
    del root(patched)["properties"]["status"]["properties"]["topologyTransition"]["properties"]["baseline"]
    assert served_fields.lacking(patched).endswith("v1 has no status.topologyTransition.baseline")
    version(patched)["served"] = False
    assert "does not serve version v1" in served_fields.lacking(patched)


def test_the_fields_that_are_asked_for_are_those_of_the_schema():
    """Two walks, one through the types and one through the schema made of them, see the same fields."""
    schema = crd.record_schema()
    assert {f"status.{crd.RECORD}.{path}" for path in served_fields.paths(schema)} == {
        path for path in served_fields._ours() if path.startswith(f"status.{crd.RECORD}.")
    }


# -- the schema


def test_every_field_of_the_record_is_in_the_schema_and_described():
    made = crd.record_schema()
    fields = types.TopologyTransition.model_fields
    assert set(made["properties"]) == {field.alias for field in fields.values()}
    assert made["required"] == ["phase"]
    assert made["properties"]["phase"]["enum"] == [phase.value for phase in Phase]
    undescribed = [name for name, child in made["properties"].items() if not child.get("description")]
    assert not undescribed
    assert made["properties"]["checks"]["x-kubernetes-list-map-keys"] == ["stage", "name"]
    assert made["properties"]["admittedTime"]["format"] == "date-time"


def test_nothing_of_json_schema_is_left_that_a_structural_schema_may_not_have():
    def keys(node: Any) -> set[str]:
        if isinstance(node, list):
            return {key for item in node for key in keys(item)}
        if not isinstance(node, dict):
            return set()
        return set(node) | {key for child in node.values() for key in keys(child)}

    forbidden = {"$ref", "$defs", "anyOf", "oneOf", "title", "const"}
    assert not keys(crd.infrastructure(EDGES)) & forbidden


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (int | str, "field: a union"),
        (dict[str, int], "field: additionalProperties has no structural form"),
        (Any, "field: no type"),
        (Annotated[int, pydantic.Field(gt=0)], "field: exclusiveMinimum has no structural form"),
        (list[types.PoolBaseline], "field: nothing says which fields tell"),
    ],
)
def test_what_has_no_structural_form_is_refused(type_, message):
    model: Any = pydantic.create_model("Made", field=(type_, ...))
    with pytest.raises(TypeError, match=message):
        crd.structural(model.model_json_schema(), {})


def test_a_topology_without_any_edge_still_has_rules():
    made = crd.rules(())
    assert "none is defined" in made[1]["message"]
    assert all(rule["fieldPath"] == ".spec.desiredTopology" for rule in made)
