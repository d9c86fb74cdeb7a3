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


def version(name: str, /, *rules: dict[str, Any], deployment: str = "", **selector: str) -> dict[str, Any]:
    """A ClusterServiceVersion with one Deployment and one ServiceAccount, in a namespace of its name."""
    labels = {"matchLabels": selector or {"name": name}}
    spec = {"selector": labels, "template": {"spec": {"serviceAccountName": "sa"}}}
    grants = [{"serviceAccountName": "sa", "rules": list(rules)}]
    install = {"clusterPermissions": grants, "deployments": [{"name": deployment or name, "spec": spec}]}
    return {"metadata": {"name": f"{name}.v1.2.3", "namespace": name}, "spec": {"install": {"spec": install}}}


def lease(name: str, seconds: int = 270, pod: str = "-5d7f9-x2x2x") -> dict[str, Any]:
    renewed = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    spec = {"holderIdentity": f"{name}{pod}_1", "leaseDurationSeconds": seconds, "renewTime": renewed}
    return {"metadata": {"name": f"{name}-lock", "namespace": name}, "spec": spec}


def pod(started: Any, name: str = "pod-1") -> dict[str, Any]:
    state = {"running": {"startedAt": f"{started:%Y-%m-%dT%H:%M:%SZ}"}}
    return {"metadata": {"name": name}, "status": {"containerStatuses": [{"state": state}]}}


class Api:
    """What is used of a client. `allowed` is a user that may read Infrastructure, `refuses` are plurals."""

    request_timeout = 10.0

    def __init__(self, versions: Any, *leases: Any, pods: Any = (), allowed: str = "", refuses: str = "") -> None:
        self.objects = {"clusterserviceversions": versions, "leases": leases, "pods": pods}
        self.allowed, self.refuses, self.asked = allowed, refuses.split(), list[str]()

    async def list(self, selection: Any, reduce: Any, **_: Any) -> Any:
        resource, namespace = selection.resource, selection.namespace
        self.asked.append(f"{resource.plural} {namespace} {selection.label_selector}")
        if resource.plural in self.refuses:
            raise kube.Forbidden("list", resource, namespace, None, 403, "Forbidden", "no")
        return clients.Listing(tuple(map(reduce, self.objects[resource.plural])), "1")

    async def create(self, resource: Any, body: Any) -> Any:
        if resource.plural in self.refuses:
            raise kube.Forbidden("create", resource, None, None, 403, "Forbidden", "no")
        user = body["spec"]["user"]
        assert f"system:serviceaccounts:{user.split(':')[2]}" in body["spec"]["groups"]
        return {"status": {"allowed": user == self.allowed}}

    async def serves(self, _: Any) -> bool:
        return "served" not in self.refuses


async def added(api: Api, since: Any = MOVED) -> dict[str, Any]:
    answer: Any = {"unread": []}
    connection = cluster.Connection(api, "https://api.example.com:6443")  # type: ignore[arg-type] # what is used
    await optional.add(answer, connection, worlds.MATRIX, since)
    return replies.through_json(answer)


async def only(api: Api, since: Any = MOVED) -> tuple[str, str, str]:
    ((item),) = (await added(api, since))["optionalOperators"]
    return item["verdict"], item["message"], item["command"]


@pytest.mark.parametrize("since", [None, MOVED], ids=["before", "after"])
async def test_of_eighty_operators_each_that_looks_once_is_listed_and_two_thirds_of_the_others_are_cleared(
    since: Any,
) -> None:
    once, held, other = set(FACTS["once"]), set(FACTS["lease"]), FACTS["deployments"]
    by_rules = [(name, rules) for kind, rules in RULES.items() for name in FACTS["reads"][kind]]
    versions = [version(name, *rules, deployment=other.get(name, "")) for name, rules in by_rules]
    items = (await added(Api(versions, *map(lease, held), pods=[pod(BEFORE)]), since))["optionalOperators"]
    by_name = {item["name"].partition(".")[0]: item["verdict"] for item in items}
    listed = {name for name, verdict in by_name.items() if verdict != "DoesNotRead"}
    assert (len(once & listed), len(once), len(listed)) == (14, 14, 37), "recall 14 of 14, precision 38 %"
    assert (len(by_name) - len(listed), len(by_name) - len(once)) == (43, 66), "cleared, and rightly"
    assert {name for name, verdict in by_name.items() if verdict == "Restart"} == held < once
    assert {by_name[name] for name in once - held} == {"ReadAtStart"}
    others = {by_name[name] for name in listed - once}
    assert (by_name["lifecycle-agent"], others) == ("OneNodeOnly", {"OneNodeOnly", "NotKnown"})


NOT_SHOWN = (lease("other"), lease("some", 137), lease("some", pod="-else-5d7f9-x2x2x"), lease("some", pod=".host"))
NEWER, OLDER, BROKEN = pod(AFTER), pod(BEFORE, "pod-2"), {"metadata": {"name": "b"}, "status": []}


@pytest.mark.parametrize(
    ("pods", "since", "verdict", "says"),
    [
        ([NEWER], MOVED, "Follows", "started after"),
        ([NEWER, OLDER], MOVED, "NotKnown", "pod-2 was started before the change"),
        ([NEWER, BROKEN], MOVED, "NotKnown", "when its pods were started is not known"),
        ([], MOVED, "NotKnown", "when its pods were started is not known"),
        ([], None, "NotKnown", "restart it after the change when it suits"),
    ],
)
async def test_what_may_read_it_is_not_known_until_each_of_its_pods_is_newer(
    pods: Any, since: Any, verdict: str, says: str
) -> None:
    found, message, _ = await only(Api([version("some", READS)], *NOT_SHOWN, pods=pods), since)
    assert (found, says in message) == (verdict, True), message


@pytest.mark.parametrize(
    ("refuses", "verdict", "says", "right"),
    [
        ("subjectaccessreviews", "DoesNotRead", "by its ClusterServiceVersion alone", "create subjectaccessreviews.a"),
        ("leases", "DoesNotRead", "may not read Infrastructure", "list leases.coordination.k8s.io"),
        ("leases pods", "NotKnown", "and Leases could not be read", "list leases.coordination.k8s.io"),
        ("pods", "NotKnown", "when its pods were started is not known", "list pods in namespace some"),
    ],
)
async def test_what_may_not_be_read_is_reported(refuses: str, verdict: str, says: str, right: str) -> None:
    answer = await added(Api([version("some", *RULES["rule" if verdict == "NotKnown" else "none"])], refuses=refuses))
    ((item,), unread) = answer["optionalOperators"], answer["unread"]
    assert (item["verdict"], says in item["message"]) == (verdict, True), item
    assert [each for each in unread if each["right"].startswith(right)]


async def test_a_role_beside_the_bundle_counts_and_where_olm_is_not_there_is_nothing() -> None:
    api = Api([version("ptp", READS, name="ptp-operator", part="a b")], lease("ptp"), pods=[OLDER])
    verdict, message, command = await only(api)
    assert (verdict, command) == ("Restart", "oc -n ptp delete pod -l 'name=ptp-operator,part=a b'")
    assert message.startswith("Lease ptp-lock lasts 270 s, as on a single node: until ptp is started again ")
    pods = "pods ptp name=ptp-operator,part=a b"
    assert api.asked == ["clusterserviceversions None !olm.copiedFrom", "leases None None", pods]
    assert (await only(Api([version("some")], allowed="system:serviceaccount:some:sa")))[0] == "NotKnown"
    assert (await only(Api([{"metadata": {"name": "none.v1", "namespace": "none"}}])))[0] == "NotKnown"
    assert await added(Api([], refuses="clusterserviceversions served")) == {"unread": []}
    refused = await added(Api([], refuses="clusterserviceversions"))
    assert [each["right"] for each in refused["unread"]] == ["list clusterserviceversions.operators.coreos.com"]


async def test_a_screen_has_a_line_for_each_verdict_and_the_rest_is_in_wide() -> None:
    versions = [*(version(name, READS) for name in ("a", "b", "c", "d")), version("e")]
    items = (await added(Api(versions, lease("a"))))["optionalOperators"]
    every = [replies.told(replies.in_phase(Phase.COMPLETED))]
    every += [replies.planned(replies.WITHOUT_REQUEST), replies.audited(replies.WITHOUT_REQUEST)]
    shown, *others = [{**answer, "optionalOperators": items} for answer in every]
    brief = "Operators installed by OLM\n  Restart    a.v1.2.3\n  Not known  b.v1.2.3, c.v1.2.3, d.v1.2.3\n\n"
    assert brief in replies.printed(shown, 100)
    texts = [replies.printed(shown, wide=True), *map(replies.printed, others)]
    for answer, text in zip([shown, *others], texts, strict=True):
        replies.conforms(answer)
        assert "  Restart        a/a.v1.2.3: Lease a-lock" in text
        assert "    oc -n a delete pod -l name=a\n" in text
        assert "  Does not read  e" in text
