"""Operators that OLM installed: one verdict about each, and none is called fine that is not known."""

from __future__ import annotations

import pathlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from kubectl_topology import cluster, optional
from topology_api.vocabulary import Phase
from topology_controller.kube import client as clients
from topology_controller.kube import errors as kube

from ..core import worlds
from . import replies

FACTS = yaml.safe_load((pathlib.Path(__file__).parent / "optional_operators.yaml").read_text())
MOVED = worlds.NOW - timedelta(minutes=10)
BEFORE, AFTER = MOVED + timedelta(seconds=30), MOVED + timedelta(seconds=31)
READS = {"apiGroups": ["config.openshift.io"], "resources": ["infrastructures"], "verbs": ["get"]}


def version(name: str, /, *rules: dict[str, Any], deployment: str = "", **selector: str) -> dict[str, Any]:
    """A ClusterServiceVersion with one Deployment and one ServiceAccount, in a namespace of its name."""
    deployment = deployment or name
    labels = {"matchLabels": selector or {"name": deployment}}
    spec = {"selector": labels, "template": {"spec": {"serviceAccountName": "sa"}}}
    install = {
        "clusterPermissions": [{"serviceAccountName": "sa", "rules": list(rules)}],
        "deployments": [{"name": deployment, "spec": spec}],
    }
    return {"metadata": {"name": f"{name}.v1.2.3", "namespace": name}, "spec": {"install": {"spec": install}}}


def lease(name: str, seconds: int = 270, pod: str = "") -> dict[str, Any]:
    held = {"holderIdentity": f"{pod or f'{name}-5d7f9-x2x2x'}_1", "leaseDurationSeconds": seconds}
    held["renewTime"] = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    return {"metadata": {"name": f"{name}-lock", "namespace": name}, "spec": held}


def pod(started: Any, name: str = "pod-1") -> dict[str, Any]:
    running = {"running": {"startedAt": f"{started:%Y-%m-%dT%H:%M:%SZ}"}}
    return {"metadata": {"name": name, "namespace": "any"}, "status": {"containerStatuses": [{"state": running}]}}


class Api:
    """What is used of a client. `allowed` are the users that may read Infrastructure, `refuses` plurals."""

    request_timeout = 10.0

    def __init__(self, versions: Any, *leases: Any, pods: Any = (), allowed: str = "", refuses: str = "") -> None:
        self.objects = {"clusterserviceversions": list(versions), "leases": leases, "pods": pods}
        self.allowed, self.refuses, self.asked = allowed, refuses.split(), list[str]()

    async def list(self, resource: Any, *, reduce: Any, namespace: Any = None, **options: Any) -> Any:
        self.asked.append(f"{resource.plural} {namespace} {options['label_selector']}")
        if resource.plural in self.refuses:
            raise kube.Forbidden("list", resource, namespace, None, 403, "Forbidden", "no")
        return clients.Listing(tuple(map(reduce, self.objects[resource.plural])), "1")

    async def create(self, resource: Any, body: Any) -> Any:
        if resource.plural in self.refuses:
            raise kube.Forbidden("create", resource, None, None, 403, "Forbidden", "no")
        assert f"system:serviceaccounts:{body['spec']['user'].split(':')[2]}" in body["spec"]["groups"]
        return {"status": {"allowed": body["spec"]["user"] == self.allowed}}

    async def serves(self, _: Any) -> bool:
        return "served" not in self.refuses


async def added(api: Api, since: Any = MOVED) -> dict[str, Any]:
    answer: Any = {"unread": []}
    connection = cluster.Connection(api, "https://api.example.com:6443")  # type: ignore[arg-type] # what is used
    await optional.add(answer, connection, worlds.MATRIX, since)
    return replies.through_json(answer)


async def only(api: Api, since: Any = MOVED) -> dict[str, Any]:
    ((item),) = (await added(api, since))["optionalOperators"]
    return dict(item)


RULES: dict[str, tuple[dict[str, Any], ...]] = {
    "rule": (READS,),
    "wildcard": ({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},),
    "none": (
        {**READS, "resources": ["infrastructures/status", "nodes"]},
        {**READS, "apiGroups": ["infrastructure.cluster.x-k8s.io"]},
        {**READS, "verbs": ["update"]},
        {**READS, "resourceNames": ["other"]},
    ),
}


@pytest.mark.parametrize("since", [None, MOVED], ids=["before", "after"])
async def test_of_eighty_operators_each_that_looks_once_is_listed_and_two_thirds_of_the_others_are_cleared(
    since: Any,
) -> None:
    once, held = set(FACTS["once"]), FACTS["lease"]
    versions = [
        version(name, *rules, deployment=FACTS["deployments"].get(name, ""))
        for kind, rules in RULES.items()
        for name in FACTS["reads"][kind]
    ]
    found = await added(Api(versions, *map(lease, held), pods=[pod(BEFORE)]), since)
    by_name = {item["name"].partition(".")[0]: item["verdict"] for item in found["optionalOperators"]}
    listed = {name for name, verdict in by_name.items() if verdict != "DoesNotRead"}
    certain = {name for name, verdict in by_name.items() if verdict == "Restart"}
    assert (len(by_name), found["unread"]) == (80, [])
    assert (len(once & listed), len(once), len(listed)) == (14, 14, 37), "recall 14 of 14, precision 38 %"
    assert (len(by_name) - len(listed), len(by_name) - len(once)) == (43, 66), "cleared, and rightly"
    assert certain == set(held) < once
    assert {by_name[name] for name in once - certain} == {"ReadAtStart"}
    others = {by_name[name] for name in listed - once}
    assert (by_name["lifecycle-agent"], others) == ("OneNodeOnly", {"OneNodeOnly", "NotKnown"})


async def test_a_verdict_names_what_shows_it_and_the_command() -> None:
    api = Api([version("ptp", READS, name="ptp-operator", part="a b")], lease("ptp"), pods=[pod(BEFORE)])
    item = await only(api)
    assert (item["verdict"], item["command"]) == ("Restart", "oc -n ptp delete pod -l 'name=ptp-operator,part=a b'")
    assert item["message"].startswith("Lease ptp-lock lasts 270 s, as on a single node: until ptp is started again ")
    agent = await only(Api([version("lca", READS, deployment="lifecycle-agent-controller-manager")]), None)
    assert (agent["verdict"], agent["command"][:31]) == ("OneNodeOnly", "oc get imagebasedupgrades.lca.o")
    assert api.asked[0] == "clusterserviceversions None !olm.copiedFrom"
    assert "pods ptp name=ptp-operator,part=a b" in api.asked


NOT_SHOWN = (
    lease("other"),
    lease("some", 137),
    lease("some", pod="some-else-5d7f9-x2x2x"),
    lease("some", pod="host-0"),
)


@pytest.mark.parametrize(
    ("pods", "since", "verdict", "says"),
    [
        ([pod(AFTER)], MOVED, "Follows", "started after"),
        ([pod(AFTER), pod(BEFORE, "pod-2")], MOVED, "NotKnown", "pod-2 was started before the change"),
        (
            [pod(AFTER), {"metadata": {"name": "b"}, "status": {"containerStatuses": "?"}}],
            MOVED,
            "NotKnown",
            "not known",
        ),
        ([], MOVED, "NotKnown", "when its pods were started is not known"),
        ([], None, "NotKnown", "restart it after the change when it suits"),
    ],
)
async def test_what_may_read_it_is_not_known_until_each_of_its_pods_is_newer(
    pods: Any, since: Any, verdict: str, says: str
) -> None:
    item = await only(Api([version("some", READS)], *NOT_SHOWN, pods=pods), since)
    assert (item["verdict"], says in item["message"]) == (verdict, True), item


@pytest.mark.parametrize(
    ("refuses", "verdict", "says", "right"),
    [
        (
            "subjectaccessreviews",
            "DoesNotRead",
            "by its ClusterServiceVersion alone",
            "create subjectaccessreviews.auth",
        ),
        ("leases", "DoesNotRead", "may not read Infrastructure", "list leases.coordination.k8s.io"),
        ("leases pods", "NotKnown", "and Leases could not be read", "list leases.coordination.k8s.io"),
        ("pods", "NotKnown", "when its pods were started is not known", "list pods in namespace some"),
    ],
)
async def test_what_may_not_be_read_is_said(refuses: str, verdict: str, says: str, right: str) -> None:
    rules = (READS,) if verdict == "NotKnown" else ()
    found = await added(Api([version("some", *rules)], refuses=refuses))
    ((item,), unread) = found["optionalOperators"], found["unread"]
    assert (item["verdict"], says in item["message"]) == (verdict, True), item
    assert [each for each in unread if each["right"].startswith(right)]


async def test_a_role_beside_the_bundle_counts_and_where_olm_is_not_there_is_nothing() -> None:
    assert (await only(Api([version("some")], allowed="system:serviceaccount:some:sa")))["verdict"] == "NotKnown"
    assert (await only(Api([{"metadata": {"name": "none.v1", "namespace": "none"}}])))["verdict"] == "NotKnown"
    assert await added(Api([], refuses="clusterserviceversions served")) == {"unread": []}
    refused = await added(Api([], refuses="clusterserviceversions"))
    assert refused["optionalOperators"] == []
    assert refused["unread"][0]["right"] == "list clusterserviceversions.operators.coreos.com"


async def test_a_screen_has_a_line_for_each_verdict_and_the_rest_is_in_wide() -> None:
    versions = [version(name, READS) for name in ("a", "b", "c", "d")]
    items = (await added(Api([*versions, version("e")], lease("a"))))["optionalOperators"]
    answer = {**replies.told(replies.in_phase(Phase.COMPLETED)), "optionalOperators": items}
    replies.conforms(answer)
    brief, wide = replies.printed(answer, 100), replies.printed(answer, 100, wide=True)
    shown = brief.partition("Operators installed by OLM\n")[2].splitlines()[:2]
    assert shown == ["  Restart    a.v1.2.3", "  Not known  b.v1.2.3, c.v1.2.3, d.v1.2.3"]
    assert "    oc -n a delete pod -l name=a\n" in wide
    assert "e/e.v1.2.3: its ServiceAccounts may not read Infrastructure" in wide
    planned = {**replies.planned(replies.WITHOUT_REQUEST), "optionalOperators": items}
    replies.conforms(planned)
    assert "  Does not read  e.v1.2.3\n" in replies.printed(planned)
    audited = {**replies.audited(replies.WITHOUT_REQUEST), "optionalOperators": items}
    replies.conforms(audited)
    assert "  Restart        a/a.v1.2.3: Lease a-lock" in replies.printed(audited)
