"""One object's life: create, read, update, conflict, delete, and what the server says when it refuses."""

from __future__ import annotations

import pytest


async def test_created_object_gets_identity_time_and_version(client, samples):
    made = await client.post(samples.CONFIG_MAPS, samples.config_map("a", k="v"))
    assert made.code == 201, made.body
    meta = made.body["metadata"]
    assert meta["uid"]
    assert meta["creationTimestamp"].endswith("Z")
    assert meta["namespace"] == "default"
    assert (await client.get(f"{samples.CONFIG_MAPS}/a")).body == made.body


async def test_generate_name_makes_different_names(client, samples):
    body = {"metadata": {"generateName": "cm-"}}
    names = {(await client.post(samples.CONFIG_MAPS, body)).body["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("cm-") and len(name) == 8 for name in names), names


async def test_second_create_is_already_exists(client, samples):
    await client.post(samples.NODES, samples.node("n"))
    again = await client.post(samples.NODES, samples.node("n"))
    assert (again.code, again.body["reason"]) == (409, "AlreadyExists")
    assert again.body["message"] == 'nodes "n" already exists'
    assert again.body["details"] == {"name": "n", "kind": "nodes"}


async def test_missing_object_is_not_found_with_group(client, samples):
    found = await client.get(f"{samples.WIDGETS}/nope")
    assert found.code == 404
    assert found.body["message"] == 'widgets.example.com "nope" not found'
    assert found.body["details"] == {"name": "nope", "group": "example.com", "kind": "widgets"}


async def test_namespace_must_exist(client, samples):
    made = await client.post("/api/v1/namespaces/nowhere/configmaps", samples.config_map("a"))
    assert (made.code, made.body["message"]) == (404, 'namespaces "nowhere" not found')


async def test_stale_version_is_a_conflict_and_changes_nothing(client, samples):
    first = await client.post(samples.WIDGETS, samples.widget(size=1))
    second = await client.put(f"{samples.WIDGETS}/one", {**first.body, "spec": {"size": 2}})
    assert second.code == 200, second.body
    stale = await client.put(f"{samples.WIDGETS}/one", {**first.body, "spec": {"size": 3}})
    assert (stale.code, stale.body["reason"]) == (409, "Conflict")
    assert stale.body["message"] == (
        'Operation cannot be fulfilled on widgets.example.com "one": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert (await client.get(f"{samples.WIDGETS}/one")).body["spec"]["size"] == 2


async def test_update_of_custom_resource_needs_a_version(client, samples):
    await client.post(samples.WIDGETS, samples.widget(size=1))
    refused = await client.put(f"{samples.WIDGETS}/one", samples.widget(size=2))
    assert refused.code == 422
    assert refused.body["message"] == (
        'widgets.example.com "one" is invalid: '
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    )


async def test_update_of_built_in_kind_may_overwrite(client, samples):
    await client.post(samples.CONFIG_MAPS, samples.config_map("a", k="1"))
    assert (await client.put(f"{samples.CONFIG_MAPS}/a", samples.config_map("a", k="2"))).code == 200


async def test_update_does_not_create_except_leases(client, samples):
    assert (await client.put(f"{samples.CONFIG_MAPS}/a", samples.config_map("a"))).code == 404
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    assert (await client.put(path, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}})).code == 201


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ({"metadata": {"name": "other"}}, 400, "does not match the name on the URL"),
        ({"metadata": {"name": "a", "namespace": "kube-system"}}, 400, "does not match the namespace sent"),
        ({"metadata": {"name": "a", "uid": "0"}}, 409, "Precondition failed: UID in precondition: 0"),
        ({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}, 400, "cannot be handled as a ConfigMap"),
        ({"apiVersion": "v2", "metadata": {"name": "a"}}, 400, 'is registered for version "v2"'),
        ({"metadata": "a"}, 400, "cannot unmarshal string"),
        ({"metadata": {"name": "a", "labels": {"x": 1}}}, 400, "cannot unmarshal number into Go struct field"),
        ({"metadata": {}}, 400, "name must be provided"),
        ([], 400, "not an object"),
        (b"{", 400, "json parse error"),
    ],
)
async def test_wrong_bodies_are_refused_with_the_reason(client, samples, body, code, words):
    await client.post(samples.CONFIG_MAPS, samples.config_map("a"))
    refused = await client.put(f"{samples.CONFIG_MAPS}/a", body)
    assert refused.code == code, refused.body
    assert words in refused.body["message"]


@pytest.mark.parametrize("name", ["Upper", "-a", "a_b", "a" * 254, ""])
async def test_names_follow_the_rule(client, samples, name):
    refused = await client.post(samples.CONFIG_MAPS, samples.config_map(name))
    assert (refused.code, refused.fields) == (422, ["metadata.name"]), refused.body


async def test_labels_follow_the_rule(client, samples):
    refused = await client.post(samples.NODES, samples.node("n", **{"bad key": "x", "ok": "not ok!"}))
    assert (refused.code, refused.fields) == (422, ["metadata.labels", "metadata.labels"]), refused.body


async def test_nothing_changed_means_no_new_version(client, samples):
    made = await client.post(samples.WIDGETS, samples.widget(size=1))
    same = await client.put(f"{samples.WIDGETS}/one", made.body)
    patched = await client.merge(f"{samples.WIDGETS}/one", {"spec": {"size": 1}})
    assert same.version == patched.version == made.version


async def test_delete_answers_a_status_and_the_object_is_gone(client, samples):
    made = await client.post(samples.NODES, samples.node("n"))
    gone = await client.delete(f"{samples.NODES}/n")
    assert (gone.body["kind"], gone.body["status"]) == ("Status", "Success")
    assert gone.body["details"] == {"name": "n", "kind": "nodes", "uid": made.body["metadata"]["uid"]}
    assert (await client.get(f"{samples.NODES}/n")).code == 404


async def test_delete_preconditions(client, samples):
    made = await client.post(samples.NODES, samples.node("n"))
    for wanted in ({"uid": "0"}, {"resourceVersion": "0"}):
        refused = await client.delete(f"{samples.NODES}/n", {"preconditions": wanted})
        assert refused.code == 409, refused.body
    good = {"uid": made.body["metadata"]["uid"], "resourceVersion": made.version}
    assert (await client.delete(f"{samples.NODES}/n", {"preconditions": good})).code == 200


async def test_finalizer_holds_an_object_until_it_is_removed(client, samples):
    body = samples.widget(size=1)
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await client.post(samples.WIDGETS, body)
    marked = await client.delete(f"{samples.WIDGETS}/one")
    assert marked.body["metadata"]["deletionTimestamp"]
    refused = await client.merge(f"{samples.WIDGETS}/one", {"metadata": {"finalizers": ["example.com/hold", "x.y/z"]}})
    assert (refused.code, refused.fields) == (422, ["metadata.finalizers"])
    taken = await client.post(samples.WIDGETS, samples.widget(size=1))
    assert taken.body["message"].startswith("object is being deleted: ")
    await client.merge(f"{samples.WIDGETS}/one", {"metadata": {"finalizers": None}})
    assert (await client.get(f"{samples.WIDGETS}/one")).code == 404


async def test_delete_collection_takes_what_is_selected(client, samples):
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        await client.post(samples.NODES, samples.node(name, color=color))
    assert (await client.delete(samples.NODES, labelSelector="color=red")).code == 200
    left = await client.get(samples.NODES)
    assert [one["metadata"]["name"] for one in left.body["items"]] == ["b"]


async def test_deleting_a_namespace_takes_its_objects(client, samples):
    await client.post("/api/v1/namespaces", {"metadata": {"name": "t"}})
    await client.post("/api/v1/namespaces/t/configmaps", samples.config_map("a"))
    assert (await client.delete("/api/v1/namespaces/t")).code == 200
    assert (await client.get("/api/v1/configmaps")).body["items"] == []
    assert (await client.delete("/api/v1/namespaces/default")).code == 403


async def test_dry_run_answers_and_keeps_nothing(client, samples):
    made = await client.post(samples.WIDGETS, samples.widget(size=2), dryRun="All")
    assert (made.code, made.body["spec"]["size"]) == (201, 2)
    assert (await client.get(f"{samples.WIDGETS}/one")).code == 404
    await client.post(samples.WIDGETS, samples.widget(size=2))
    assert (await client.merge(f"{samples.WIDGETS}/one", {"spec": {"size": 3}}, dryRun="All")).body["spec"]["size"] == 3
    assert (await client.delete(f"{samples.WIDGETS}/one", dryRun="All")).code == 200
    assert (await client.get(f"{samples.WIDGETS}/one")).body["spec"]["size"] == 2


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/apis/nope.example.com/v1/things", 404),
        ("GET", "/apis/example.com/v1/things", 404),
        ("GET", "/api/v1/things", 404),
        ("GET", "/nowhere", 404),
        ("POST", "/api/v1/nodes/n", 405),
        ("PUT", "/api/v1/nodes", 405),
        ("POST", "/api/v1/configmaps", 405),
        ("GET", "/api/v1/namespaces/default/configmaps/a/status", 404),
    ],
)
async def test_paths_and_methods_that_do_not_exist(client, method, path, code):
    assert (await client.call(method, path, {} if method != "GET" else None)).code == code


async def test_unknown_group_is_plain_text(client):
    found = await client.get("/apis/nope.example.com/v1/things")
    assert found.body == b"404 page not found\n"


async def test_too_large_body_is_refused(client, samples):
    refused = await client.post(samples.CONFIG_MAPS, samples.config_map("a", k="x" * (3 * 1024 * 1024)))
    assert (refused.code, refused.body["reason"]) == (413, "RequestEntityTooLarge")


async def test_protobuf_is_neither_read_nor_written(client, samples):
    media = "application/vnd.kubernetes.protobuf"
    assert (await client.call("POST", samples.NODES, b"k8s\x00", media=media)).code == 415
    assert (await client.get(samples.NODES, accept=media)).code == 406
    assert (await client.get(samples.NODES, accept=f"{media},application/json")).code == 200


async def test_yaml_bodies_are_read(client, samples):
    text = b"metadata: {name: y}\ndata: {when: 2026-01-01}\n"
    made = await client.call("POST", samples.CONFIG_MAPS, text, media="application/yaml")
    assert made.body["data"] == {"when": "2026-01-01"}


async def test_reviews_are_answered(client):
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "nodes"}}}
    made = await client.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert (made.code, made.body["status"]) == (201, {"allowed": True})
    made = await client.post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "t"}})
    assert made.body["status"]["authenticated"] is True


async def test_event_of_cluster_scoped_object_belongs_in_default(client):
    event = {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Node", "name": "n"},
        "reason": "R",
        "action": "A",
        "type": "Normal",
        "note": "hello",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "c",
        "reportingInstance": "i",
    }
    path = "/apis/events.k8s.io/v1/namespaces/{}/events"
    refused = await client.post(path.format("kube-system"), event)
    assert (refused.code, refused.fields) == (422, ["involvedObject.namespace"])
    incomplete = {key: value for key, value in event.items() if key not in ("action", "reportingController")}
    refused = await client.post(path.format("default"), incomplete)
    assert set(refused.fields) == {"reportingController", "action"}
    assert (await client.post(path.format("default"), event)).code == 201
    core = await client.get("/api/v1/namespaces/default/events/e")
    assert core.body["involvedObject"]["name"] == "n"
    assert core.body["message"] == "hello"
    listed = await client.get("/api/v1/events", fieldSelector="involvedObject.name=n")
    assert len(listed.body["items"]) == 1
    listed = await client.get("/apis/events.k8s.io/v1/events", fieldSelector="regarding.name=other")
    assert listed.body["items"] == []
