"""delete: how dependents are to go, and options that mean nothing."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
async def test_a_treatment_of_dependents_is_a_finalizer(client, samples, policy, finalizer):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    marked = await client.delete(f"{samples.WIDGETS}/one", {"propagationPolicy": policy})
    assert marked.body["metadata"]["finalizers"] == [finalizer]
    await client.merge(f"{samples.WIDGETS}/one", {"metadata": {"finalizers": None}})
    assert (await client.get(f"{samples.WIDGETS}/one")).code == 404


async def test_background_deletion_is_at_once(client, samples):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    await client.delete(f"{samples.WIDGETS}/one", {"propagationPolicy": "Background"})
    assert (await client.get(f"{samples.WIDGETS}/one")).code == 404


@pytest.mark.parametrize(
    "options",
    [{"propagationPolicy": "Sideways"}, {"propagationPolicy": "Orphan", "orphanDependents": True}],
)
async def test_options_that_mean_nothing_are_refused(client, samples, options):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    refused = await client.delete(f"{samples.WIDGETS}/one", options)
    assert (refused.code, refused.fields) == (422, ["propagationPolicy"])
    assert (await client.get(f"{samples.WIDGETS}/one")).code == 200


@pytest.mark.parametrize("query", [{"dryRun": "Some"}, {"fieldValidation": "Wrong"}, {"fieldManager": "x" * 129}])
async def test_parameters_of_a_write_are_judged(client, samples, query):
    refused = await client.post(samples.WIDGETS, samples.widget(size=1), **query)
    assert (refused.code, refused.fields) == (422, list(query))
    assert refused.body["details"]["kind"] == "CreateOptions"


async def test_the_last_state_of_what_a_finalizer_held_is_the_one_before(client, samples):
    body = samples.widget(size=1)
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await client.post(samples.WIDGETS, body)
    marked = await client.delete(f"{samples.WIDGETS}/one")
    watch = await client.watch(samples.WIDGETS, resourceVersion=marked.version)
    let_go = await client.merge(f"{samples.WIDGETS}/one", {"metadata": {"finalizers": None}})
    assert let_go.version == marked.version
    event = await watch.next()
    assert event["type"] == "DELETED"
    assert event["object"]["metadata"]["finalizers"] == ["example.com/hold"]


async def test_a_name_with_the_watch_parameter_is_a_get(client, samples):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    found = await client.get(f"{samples.WIDGETS}/one", watch="true")
    assert (found.code, found.body["kind"]) == (200, "Widget")


async def test_a_field_that_left_the_schema_is_not_shown_any_more(client, samples):
    await client.post(samples.WIDGETS, samples.widget(size=1, mode="a"))
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
    gone = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/mode"
    assert (await client.json_patch(crds, [{"op": "remove", "path": gone}])).code == 200
    assert (await client.get(f"{samples.WIDGETS}/one")).body["spec"] == {"size": 1}
