"""Where the embedded server is not as the real one: what it does there, which the table of parity leaves open.

Of a listed difference the table (`parity`) says only that there is one. And of a list's version it only
says how old it is, because the real server writes something all the time.
"""

from __future__ import annotations

import pytest

from simulator_tests.parity import samples as parity


async def test_a_review_about_oneself_warns_that_nothing_is_judged(client):
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "nodes"}}}
    made = await client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    assert (made.code, made.body["status"]) == (201, {"allowed": True})
    assert made.headers["Warning"] == (
        '299 - "the embedded API server allows everything: start it with APISERVER=real to have rights judged"'
    )


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


@pytest.mark.parametrize("word", ["x-kubernetes-validations", "allOf"])
async def test_a_definition_that_is_beyond_it_is_refused_with_what_is(client, word):
    part = {"type": "string", word: [{"rule": "self == 'a'", "type": "string"}]}
    schema = {"type": "object", "properties": {"a": part}}
    refused = await client.post(parity.DEFINITIONS, parity.definition("odds", "Odd", schema))
    assert refused.code == 422
    assert f"{word}: Forbidden: not available in this server" in refused.body["message"]


@pytest.mark.parametrize(
    "change",
    [
        {"containers": [{"image": "i"}]},
        {"containers": [{"name": "x", "$patch": "blend"}]},
        {"nodeSelector": {"$patch": "blend"}},
    ],
)
async def test_a_strategic_merge_that_would_be_a_guess_changes_nothing(client, change):
    pods = "/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "x", "image": "i"}], "nodeSelector": {"a": "1"}}
    before = await client.post(pods, {"metadata": {"name": "one"}, "spec": spec})
    media = "application/strategic-merge-patch+json"
    assert (await client.call("PATCH", f"{pods}/one", {"spec": change}, media=media)).code == 422
    assert (await client.get(f"{pods}/one")).body == before.body
