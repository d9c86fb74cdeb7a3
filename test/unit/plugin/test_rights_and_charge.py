"""A person who may not read everything is told which right lacks; where the topology is not ours, who is in charge.

A hosted cluster is changed on its management cluster. Where OpenShift's own controller is in charge the API need not
have our fields: the definition is then the payload's own.
"""

from __future__ import annotations

import dataclasses
import functools
import socket
from typing import TYPE_CHECKING, Any

import pytest

from kubectl_topology import arguments, cluster, disruption, errors
from kubectl_topology.commands import audit, graph, plan
from kubectl_topology.commands import set as setting
from topology_api import types
from topology_api.vocabulary import CheckStatus
from topology_controller.kube import errors as kube
from topology_controller.observe import facts

from ..core import worlds
from . import replies
from .infrastructure_api import Api
from .infrastructure_api import error as error_of

if TYPE_CHECKING:
    from topology_controller.observe.catalog import Source

get = functools.partial(error_of, verb="get")


async def test_each_check_names_the_right_that_lacks() -> None:
    seen = await cluster.everything(Api().made(), worlds.TRANSITIONS)
    found = replies.planned(seen.known, now=seen.now, unread=seen.unread, operator=seen.operator)
    assert (found["verdict"], {one["status"] for one in found["checks"]}) == ("CannotTell", {"Unknown"})
    by_name = {one["name"]: one["message"] for one in found["checks"]}
    assert "permission to get schedulers.config.openshift.io/cluster" in by_name["MastersSchedulable"]
    assert "permission to list nodes" in by_name["ControlPlaneNodes"]
    rights = {one["right"] for one in found["unread"]}
    wanted = "get configmaps/etcd-endpoints in namespace openshift-etcd"
    assert rights > {wanted, "list clusteroperators.config.openshift.io"}
    assert replies.printed(found).count(GRANT) == 1, "one role is named, not each right again"


ETCDS, HOSTS = "etcds.operator.openshift.io/cluster", "list baremetalhosts.metal3.io in namespace openshift-machine-api"
GRANT = "oc adm policy add-cluster-role-to-user cluster-reader USER"
ADDED = f"once ClusterRole {cluster.ADDED_TO_READER} is installed, which comes with the operator."
BY_CHOICE = (
    f"BareMetalHosts: once ClusterRole {cluster.HOST_READER} is installed, which `cluster-topology-operator manifests "
    "--bare-metal-host-reader` prints."
)


@pytest.mark.parametrize(
    ("lacking", "installed", "named"),
    [
        (("nodes",), True, {GRANT}),
        (("nodes", ETCDS), True, {GRANT}),
        (("nodes", ETCDS), False, {GRANT, ADDED}),
        ((ETCDS,), True, {ADDED}),
        ((ETCDS,), False, {ADDED}),
        ((HOSTS,), True, {BY_CHOICE}),
        (("nodes", ETCDS, HOSTS), True, {GRANT, BY_CHOICE}),
    ],
)
def test_the_role_that_has_it_is_named_and_what_it_has_only_with_the_operator(
    lacking: tuple[str, ...], *, installed: bool, named: set[str]
) -> None:
    """Who lacks nothing but what the operator adds is not sent for the role that they have."""
    unread = tuple({"what": what, "why": "forbidden", "right": f"get {what}"} for what in lacking)
    known = replies.WITHOUT_REQUEST
    if not installed:
        known = dataclasses.replace(known, own_operator=worlds.MISSING)
    holder = facts.Lease("leader_1", worlds.NOW, 137) if installed else worlds.MISSING
    text = " ".join(replies.printed(replies.planned(known, unread=unread, operator=holder)).split())
    assert {hint for hint in (GRANT, ADDED, BY_CHOICE) if hint in text} == named


@pytest.mark.parametrize(
    ("unreadable", "below", "words"),
    [
        (get(kube.Unreachable, 0, "NoConnection", "no"), None, "cannot reach https://api.example.com:6443: no"),
        (
            get(kube.Unreachable, 0, "NoConnection", "Cannot connect to host ssl:default"),
            ConnectionRefusedError(111, "Connect call failed ('192.0.2.1', 6443)"),
            "connection refused by https://api.example.com:6443: is the server running?",
        ),
        (
            get(kube.Unreachable, 0, "NoConnection", "Cannot connect to host ssl:default"),
            socket.gaierror(-2, "Name or service not known"), "no such host in https://api.example.com:6443",
        ),
        (
            get(kube.TimedOut, 0, "TimedOut", "no answer in time"), None,
            "no answer from https://api.example.com:6443 within 10 s",
        ),
        (get(kube.Unauthorized, 401, "Unauthorized", ""), None, "does not accept the credentials. Log in again"),
        (get(kube.Forbidden, 403, "Forbidden", "no"), None, "forbidden: you need permission to get infrastructures"),
        (get(kube.NotFound, 404, "", "404 page not found"), None, "this is no OpenShift cluster"),
        (get(kube.NotFound, 404, "NotFound", '"cluster" not found'), None, "does not exist"),
        (get(kube.ServerError, 500, "InternalError", "etcd is away"), None, "etcd is away"),
    ],
)  # fmt: skip
async def test_what_keeps_infrastructure_from_being_read_is_one_line(
    unreadable: kube.KubeError, below: OSError | None, words: str
) -> None:
    api = Api()
    unreadable.__cause__ = below
    api.unreadable = unreadable
    with pytest.raises(errors.PluginError) as raised:
        await cluster.infrastructure(api.made())
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


# Where live facts are forbidden, what the operator has recorded counts


def recorded(*blockers: types.Blocker) -> Api:
    """An API that serves Infrastructure alone, with what the operator evaluated a while ago."""
    compact = {
        "name": "sno-to-ha-compact",
        "target": {"controlPlane": "HighlyAvailable", "infrastructure": "HighlyAvailable"},
        "available": not blockers,
        "blockers": [blocker.model_dump(mode="json") for blocker in blockers],
        "evaluatedTime": "2026-03-01T11:59:28Z",
    }
    return Api(None, {"phase": "Idle", "observedGeneration": 1, "available": [compact]})


UNMET = types.Blocker(name="ControlPlaneNodes", status=CheckStatus.UNMET, message="Wanted: 3. Found: 1")
UNKNOWN = UNMET.model_copy(update={"status": CheckStatus.UNKNOWN})


@pytest.mark.parametrize(
    ("blockers", "refusal", "verdict", "by_record"),
    [
        ((), kube.Forbidden, "Possible", True),
        ((UNMET,), kube.Forbidden, "Blocked", True),
        ((UNKNOWN,), kube.Forbidden, "CannotTell", False),
        ((), kube.ServerError, "CannotTell", False),
    ],
    ids=["met", "unmet", "not told", "a server in trouble is no reason to go by it"],
)
async def test_who_may_only_request_can_plan_by_what_the_operator_has_recorded(
    blockers: tuple[types.Blocker, ...], refusal: type[kube.KubeError], verdict: str, *, by_record: bool
) -> None:
    api = recorded(*blockers)
    api.refusal = refusal
    seen = await cluster.everything(api.made(), worlds.TRANSITIONS)
    told: dict[str, Any] = {"now": worlds.NOW, "unread": seen.unread, "operator": seen.operator}
    found = replies.planned(seen.known, **told)
    assert (found["verdict"], found["recorded"]) == (verdict, "2026-03-01T11:59:28Z" if by_record else None)
    assert ("as the operator evaluated it 32 s ago" in replies.printed(found)) is by_record
    ways = {way["name"]: way for way in replies.overview(seen.known, **told)["transitions"]}
    assert ways["sno-to-ha-compact"]["verdict"] == verdict
    assert ways["sno-to-ha-with-workers"]["verdict"] == "CannotTell"


async def test_a_request_is_made_and_drawn_by_what_is_recorded_too(capsys: pytest.CaptureFixture[str]) -> None:
    api = recorded()
    await graph.run(api.made(), arguments.parse(["graph"]), worlds.TRANSITIONS)
    assert "sno-to-ha-compact\\npossible" in capsys.readouterr().out
    answer, code = await setting.request(api.made(), worlds.TRANSITIONS, replies.asked(confirm=True, wait=True))
    assert (answer["result"], code, len(api.written)) == ("Written", 0, 1)


PATCH = (
    "oc -n NAMESPACE patch hostedcluster NAME --type merge "
    """-p '{"spec":{"infrastructureAvailabilityPolicy":"HighlyAvailable"}}'"""
)
REGISTRY = "configs.imageregistry.operator.openshift.io/cluster"
LACKING = facts.Installed("infrastructures.config.openshift.io v1 has no spec.desiredTopology", native=True)
WHO = "The controller of cluster-config-operator (feature gate MutableTopology) changes the topology"
COMMAND = """oc patch infrastructure cluster --type merge -p '{"spec":{"controlPlaneTopology":"HighlyAvailable"}}'"""


def guest(infrastructure: str = "HighlyAvailable", *, routers: int = 2, registries: int = 2) -> facts.Facts:
    nodes = tuple(facts.OtherNode(f"worker-{index}", master=False, arbiter=False) for index in range(2))
    known = worlds.healthy(
        control_plane_nodes=(), other_nodes=nodes, scheduler=False,
        ingress_controller=facts.IngressController(routers, 1),
    )  # fmt: skip
    known = worlds.with_infrastructure(known, control_plane="External", infrastructure=infrastructure, desired=None)
    registry = facts.Managed("Managed", registries)
    return dataclasses.replace(known, operands={**known.operands, REGISTRY: registry})


def test_one_router_of_a_cluster_that_wants_two_blocks_the_audit_with_its_command() -> None:
    made, code = audit.audit(replies.seen(guest(routers=1)), worlds.TRANSITIONS)
    answer = replies.through_json(made)
    replies.conforms(answer)
    (advisory,) = answer["advisories"]
    assert (code, advisory["name"]) == (3, "RouterReplicasPinned")
    assert "waits" not in advisory["message"], "no check waits on a hosted cluster"
    text = replies.printed(answer)
    assert f"    {advisory['command']}\n" in text
    assert "hostedcluster" not in text, "its infrastructure is HighlyAvailable already"


@pytest.mark.parametrize("target", [None, "HighlyAvailable"])
def test_a_plan_prints_the_patch_of_the_management_cluster_where_it_would_change_something(target: str | None) -> None:
    known = guest("SingleReplica", routers=1, registries=1)
    if target is None:
        answer: Any = plan.overview(replies.seen(known), worlds.TRANSITIONS)
    else:
        answer, judgement = plan.target(replies.seen(known), worlds.TRANSITIONS, target)
        assert judgement.verdict == "Unsupported"
    answer = replies.through_json(answer)
    replies.conforms(answer)
    assert (answer["verdict"], answer["advisories"]) == ("Unsupported", [])
    assert [step["command"] for step in answer["next"]] == [PATCH]
    assert replies.printed(answer, 60).endswith(f"    {PATCH}\n"), "a command is one line at any width"
    assert "controllerAvailabilityPolicy is fixed when a HostedCluster is made" in answer["message"]


@pytest.mark.parametrize(
    ("known", "fields"),
    [
        (guest(), {"cluster_version", "ingress_controller", REGISTRY}),
        (guest("SingleReplica"), set()),
        (worlds.healthy(), set()),
    ],
)
def test_more_is_read_only_where_two_are_wanted(known: facts.Facts, fields: set[str]) -> None:
    assert isinstance(known.infrastructure, facts.Infrastructure)
    sources: tuple[Source, ...] = disruption.hosted_sources(known.infrastructure, worlds.TRANSITIONS)
    assert {source.key for source in sources} == fields
    assert len(sources) == len(fields)


# The native controller


def read(known: facts.Facts) -> facts.Facts:
    """What a command goes on with. Raises PluginError."""
    return cluster.assembled(Api().made(), known, replies.LEASE, (), worlds.NOW).known


def in_charge(installed: facts.Installed = LACKING) -> facts.Facts:
    """Our operator stands down, or does not run: nothing that it has written is needed for the answer."""
    conditions = facts.Conditions((facts.Condition("TopologyTransitionControllerUpgradeable", "True", "AsExpected"),))
    return dataclasses.replace(
        replies.WITHOUT_REQUEST,
        installed=installed,
        feature_gates=facts.FeatureGates((("4.20.1", True),)),
        native_controller=facts.NativeController(present=True, conditions=conditions),
    )


def test_status_says_who_is_in_charge_and_what_to_do() -> None:
    answer = replies.told(read(in_charge()))
    assert answer["assessment"] == "The operator takes no action on this cluster (NativeControllerActive)"
    text = " ".join(replies.printed(answer).split())
    assert WHO in text
    assert COMMAND in text


def test_a_definition_without_either_field_gets_no_command_that_it_would_drop() -> None:
    """The gate is on before the payload's definition is there."""
    answer = replies.told(read(in_charge(dataclasses.replace(LACKING, native=False))))
    message = answer["disabled"]["message"]
    assert "has no spec.controlPlaneTopology, so it cannot be requested of it" in message
    assert "wait until it is served" in message
    assert "crd-patch" not in message, "there is no patch of ours to take out"


@pytest.mark.parametrize("gates", [facts.FeatureGates((("4.20.1", False),)), worlds.BROKEN])
def test_elsewhere_our_fields_are_wanted(gates: facts.Fact[facts.FeatureGates]) -> None:
    with pytest.raises(errors.PluginError, match=r"lacks our fields.*v1 has no spec\.desiredTopology"):
        read(dataclasses.replace(in_charge(), feature_gates=gates))
