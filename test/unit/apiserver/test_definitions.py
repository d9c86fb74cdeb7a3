"""CustomResourceDefinitions: live at once, changed, removed, refused; pruning and defaulting."""

from __future__ import annotations

import copy

import pytest

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = f"{CRDS}/widgets.example.com"


def gadgets(samples):
    crd = samples.widget_crd()
    crd["metadata"]["name"] = "gadgets.example.com"
    crd["spec"]["names"] = {"plural": "gadgets", "kind": "Gadget"}
    return crd


async def test_definition_is_served_at_once(client, samples):
    made = await client.post(CRDS, gadgets(samples))
    assert made.code == 201, made.body
    conditions = {one["type"]: one["status"] for one in made.body["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert made.body["spec"]["names"]["listKind"] == "GadgetList"
    assert made.body["status"]["storedVersions"] == ["v1"]
    assert (await client.get("/apis/example.com/v1/gadgets")).body["kind"] == "GadgetList"


async def test_deleting_a_definition_takes_endpoint_and_objects(client, samples):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    watch = await client.watch(samples.WIDGETS)
    assert await watch.take(1) == [("ADDED", "one")]
    assert (await client.delete(NAME)).code == 200
    assert await watch.take(1) == [("DELETED", "one")]
    assert (await client.get(samples.WIDGETS)).code == 404
    await client.post(CRDS, samples.widget_crd())
    assert (await client.get(samples.WIDGETS)).body["items"] == []


async def test_changed_schema_takes_effect(client, samples):
    crd = (await client.get(NAME)).body
    samples.schema_of(crd)["properties"]["spec"]["properties"]["color"] = {"type": "string", "default": "red"}
    await client.post(samples.WIDGETS, samples.widget(size=1))
    assert (await client.put(NAME, crd)).code == 200
    assert (await client.get(f"{samples.WIDGETS}/one")).body["spec"] == {"size": 1, "color": "red"}
    refused = await client.merge(f"{samples.WIDGETS}/one", {"spec": {"color": 3}})
    assert refused.fields == ["spec.color"]


async def test_json_patch_of_a_definition(client, samples):
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color"
    done = await client.json_patch(NAME, [{"op": "add", "path": path, "value": {"type": "string"}}])
    assert done.code == 200, done.body
    made = await client.post(samples.WIDGETS, samples.widget(color="red"))
    assert made.body["spec"] == {"size": 1, "color": "red"}


async def test_two_versions_share_one_store(client, samples):
    crd = (await client.get(NAME)).body
    second = {**copy.deepcopy(crd["spec"]["versions"][0]), "name": "v2", "storage": False}
    crd["spec"]["versions"].append(second)
    assert (await client.put(NAME, crd)).code == 200
    await client.post(samples.WIDGETS, samples.widget(size=2))
    other = samples.WIDGETS.replace("/v1/", "/v2/")
    found = await client.get(f"{other}/one")
    assert (found.body["apiVersion"], found.body["spec"]) == ("example.com/v2", {"size": 2})
    groups = (await client.get("/apis/example.com")).body
    assert [one["version"] for one in groups["versions"]] == ["v2", "v1"]


def _set(crd, samples, field, value):
    samples.schema_of(crd)["properties"]["spec"]["properties"]["x"] = {field: value}


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({}, "type"),
        ({"type": "text"}, "type"),
        ({"type": "array"}, "items"),
        ({"type": "string", "$ref": "#/x"}, "$ref"),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "uniqueItems"),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
            "additionalProperties",
        ),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"},
            "x-kubernetes-list-map-keys",
        ),
        (
            {"type": "object", "x-kubernetes-validations": [{"rule": "self.foo()"}]},
            "x-kubernetes-validations[0].rule",
        ),
    ],
)
async def test_schema_that_is_not_structural_is_refused(client, samples, schema, field):
    crd = gadgets(samples)
    samples.schema_of(crd)["properties"]["spec"]["properties"]["x"] = schema
    refused = await client.post(CRDS, crd)
    prefix = "spec.validation.openAPIV3Schema.properties[spec].properties[x]."
    assert (refused.code, refused.fields) == (422, [prefix + field]), refused.body
    assert (await client.get("/apis/example.com/v1/gadgets")).code == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda crd: crd["metadata"].update(name="other.example.com"), "metadata.name"),
        (lambda crd: crd["spec"].update(scope="Galaxy"), "spec.scope"),
        (lambda crd: crd["spec"]["versions"][0].update(storage=False), "spec.versions"),
        (lambda crd: crd["spec"]["versions"][0].pop("schema"), "spec.versions[0].schema.openAPIV3Schema"),
        (lambda crd: crd["spec"].update(conversion={"strategy": "Webhook"}), "spec.conversion.strategy"),
        (
            lambda crd: crd["spec"]["versions"][0]["additionalPrinterColumns"][0].update(jsonPath="spec~"),
            "spec.additionalPrinterColumns[0].JSONPath",
        ),
        (lambda crd: crd["spec"].pop("names"), "spec.names"),
    ],
)
async def test_definition_that_makes_no_sense_is_refused(client, samples, change, field):
    crd = gadgets(samples)
    change(crd)
    refused = await client.post(CRDS, crd)
    assert (refused.code, refused.fields) == (422, [field]), refused.body


async def test_unknown_fields_are_pruned_and_reported(client, samples):
    body = samples.widget(size=1, nope=1, free={"kept": {"deep": 1}})
    body["extra"] = 1
    body["metadata"]["odd"] = 1
    made = await client.post(samples.WIDGETS, body)
    assert made.body["spec"] == {"size": 1, "free": {"kept": {"deep": 1}}}
    assert "extra" not in made.body
    warnings = made.headers.getall("Warning")
    assert warnings == [f'299 - "unknown field \\"{path}\\""' for path in ("extra", "metadata.odd", "spec.nope")]
    body["metadata"]["name"] = "two"
    silent = await client.post(samples.WIDGETS, body, fieldValidation="Ignore")
    assert "Warning" not in silent.headers


async def test_strict_refuses_unknown_fields(client, samples):
    refused = await client.post(samples.WIDGETS, samples.widget(nope=1), fieldValidation="Strict")
    assert refused.code == 400
    assert refused.body["message"] == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.nope"'
    )
    await client.post(samples.WIDGETS, samples.widget())
    refused = await client.merge(f"{samples.WIDGETS}/one", {"spec": {"nope": 1}}, fieldValidation="Strict")
    assert (refused.code, refused.fields) == (422, ["patch"])


async def test_defaults_and_nulls(client, samples):
    made = await client.post(samples.WIDGETS, samples.widget(size=None, note=None, mode=None))
    assert made.body["spec"] == {"size": 1, "note": None}
    bare = await client.post(samples.WIDGETS, {**samples.widget("two"), "spec": {}})
    assert bare.body["spec"] == {"size": 1}


async def test_object_without_spec_gets_no_defaults_below_it(client, samples):
    body = samples.widget("three")
    del body["spec"]
    assert "spec" not in (await client.post(samples.WIDGETS, body)).body
