"""Where the embedded server is not as the real one: what it does there, which the table of parity leaves open.

Of a listed difference the table (`parity`) says only that there is one. And of a list's version it only
says how old it is, because the real server writes something all the time.
"""

from __future__ import annotations

import pytest

GADGETS = "/apis/example.com/v1/gadgets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def gadgets(samples):
    crd = samples.widget_crd()
    crd["metadata"]["name"] = "gadgets.example.com"
    crd["spec"]["names"] = {"plural": "gadgets", "kind": "Gadget"}
    return crd


async def test_all_pages_of_a_list_have_the_version_of_the_first(client, samples):
    for name in ("a", "b"):
        await client.post(samples.NODES, samples.node(name))
    first = await client.get(samples.NODES, limit=1)
    await client.post(samples.NODES, samples.node("c"))
    second = await client.get(samples.NODES, limit=1, **{"continue": first.body["metadata"]["continue"]})
    assert second.version == first.version
    assert "continue" not in second.body["metadata"]


async def test_deleting_a_namespace_takes_its_objects(client, samples):
    await client.post("/api/v1/namespaces", {"metadata": {"name": "t"}})
    await client.post("/api/v1/namespaces/t/configmaps", samples.config_map("a"))
    assert (await client.delete("/api/v1/namespaces/t")).code == 200
    assert (await client.get("/api/v1/configmaps")).body["items"] == []
    assert (await client.get("/api/v1/namespaces/t")).code == 404


async def test_protobuf_is_not_written_and_of_custom_resources_not_read(client, samples):
    media = "application/vnd.kubernetes.protobuf"
    assert (await client.call("POST", samples.WIDGETS, b"k8s\x00", media=media)).code == 415
    assert (await client.get(samples.NODES, accept=media)).code == 406


async def test_a_review_about_oneself_warns_that_nothing_is_judged(client):
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "nodes"}}}
    made = await client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    assert (made.code, made.body["status"]) == (201, {"allowed": True})
    assert made.headers["Warning"] == (
        '299 - "the embedded API server allows everything: start it with APISERVER=real to have rights judged"'
    )


async def test_reviews_are_answered_with_yes(client):
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "nodes"}}}
    made = await client.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert (made.code, made.body["status"]) == (201, {"allowed": True})
    made = await client.post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "t"}})
    assert made.body["status"]["authenticated"] is True


@pytest.mark.parametrize("kind", ["widgets", "nodes"])
async def test_server_side_apply_is_refused_with_what_to_do_instead(client, samples, kind):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    await client.post(samples.NODES, samples.node("one"))
    path = f"{samples.WIDGETS}/one" if kind == "widgets" else f"{samples.NODES}/one"
    refused = await client.call("PATCH", path, {"spec": {}}, media="application/apply-patch+yaml")
    assert (refused.code, refused.body["reason"]) == (415, "UnsupportedMediaType")
    assert refused.body["message"] == (
        "the embedded API server has no server-side apply: leave out --server-side, or start it with APISERVER=real"
    )


async def test_a_strategic_merge_of_a_definition_is_refused_with_what_to_do_instead(client, samples):
    await client.post(CRDS, gadgets(samples))
    media = "application/strategic-merge-patch+json"
    refused = await client.call("PATCH", f"{CRDS}/gadgets.example.com", {"spec": {}}, media=media)
    assert (refused.code, refused.body["reason"]) == (415, "UnsupportedMediaType")
    assert refused.body["message"] == (
        "the embedded API server does not know how customresourcedefinitions.apiextensions.k8s.io merge: "
        "use --type merge, or start it with APISERVER=real"
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"containers": [{"image": "i"}]}, "does not contain declared merge key: name"),
        ({"containers": [{"name": "x", "$patch": "blend"}]}, "unknown patch type: blend"),
        ({"nodeSelector": {"$patch": "blend"}}, "unknown patch type: blend"),
        ({"nonsense": {"a": "2"}}, 'unable to find api field in struct PodSpec for the json field "nonsense"'),
        (
            {"$setElementOrder/containers": [{"name": "x"}], "containers": [{"name": "y"}]},
            "the order in patch list containers doesn't match",
        ),
    ],
)
async def test_a_strategic_merge_that_would_be_a_guess_changes_nothing(client, change, why):
    pods = "/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "x", "image": "i"}], "nodeSelector": {"a": "1"}, "nonsense": {"a": "1"}}
    before = await client.post(pods, {"metadata": {"name": "one"}, "spec": spec})
    media = "application/strategic-merge-patch+json"
    refused = await client.call("PATCH", f"{pods}/one", {"spec": change}, media=media)
    assert refused.code == 500, refused.body
    assert why in refused.body["message"]
    assert (await client.get(f"{pods}/one")).body == before.body


async def test_a_definition_is_served_at_once(client, samples):
    made = await client.post(CRDS, gadgets(samples))
    assert made.code == 201, made.body
    conditions = {one["type"]: one["status"] for one in made.body["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert made.body["status"]["storedVersions"] == ["v1"]
    assert (await client.get(GADGETS)).body["kind"] == "GadgetList"


def _both(crd, samples):
    field = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True}
    samples.schema_of(crd)["properties"]["spec"]["properties"]["x"] = field


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (_both, "spec.validation.openAPIV3Schema.properties[spec].properties[x].additionalProperties"),
        (lambda crd, _: crd["spec"]["versions"][0].update(storage=False), "spec.versions"),
        (lambda crd, _: crd["spec"].update(conversion={"strategy": "Webhook"}), "spec.conversion.strategy"),
        (lambda crd, _: crd["spec"].pop("names"), "spec.names"),
    ],
)
async def test_a_refused_definition_names_the_first_cause_and_is_not_served(client, samples, change, field):
    crd = gadgets(samples)
    change(crd, samples)
    refused = await client.post(CRDS, crd)
    assert (refused.code, refused.fields) == (422, [field]), refused.body
    assert (await client.get(GADGETS)).code == 404
