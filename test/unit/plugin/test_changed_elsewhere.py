"""Where the topology is not ours to change: each answer says who is in charge, and how it is done there.

A hosted cluster is changed on its management cluster. Where OpenShift's own controller is in charge the API need not
have our fields: the definition is then the payload's own.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from topology_controller.observe import facts
from topology_controller.plugin import cluster, errors, hosted
from topology_controller.plugin.commands import audit, plan

from ..core import worlds
from . import replies
from .test_answers_and_their_schemas import conforms

if TYPE_CHECKING:
    from topology_controller.observe.catalog import Source

PATCH = (
    "oc -n NAMESPACE patch hostedcluster NAME --type merge "
    """-p '{"spec":{"infrastructureAvailabilityPolicy":"HighlyAvailable"}}'"""
)
REGISTRY = "configs.imageregistry.operator.openshift.io/cluster"
LACKING = facts.Installed("infrastructures.config.openshift.io v1 has no spec.desiredTopology", native=True)
WHO = "The controller of cluster-config-operator (feature gate MutableTopology) changes the topology"
COMMAND = """oc patch infrastructure cluster --type merge -p '{"spec":{"controlPlaneTopology":"HighlyAvailable"}}'"""


def guest(
    infrastructure: str = "HighlyAvailable", *, routers: int | None = 2, registries: int = 2, **changes: Any
) -> facts.Facts:
    nodes = tuple(facts.OtherNode(f"worker-{index}", master=False, arbiter=False) for index in range(2))
    known = worlds.healthy(
        control_plane_nodes=(), other_nodes=nodes, scheduler=facts.Scheduler(masters_schedulable=False),
        ingress_controller=facts.IngressController(routers, 1),
    )  # fmt: skip
    known = worlds.with_infrastructure(
        known, control_plane="External", infrastructure=infrastructure, desired=None, **changes
    )
    registry = facts.Managed("Managed", registries)
    return dataclasses.replace(known, operands={**known.operands, REGISTRY: registry})


def test_one_router_of_a_cluster_that_wants_two_blocks_the_audit_with_its_command() -> None:
    made, code = audit.audit(replies.seen(guest(routers=1)), worlds.TRANSITIONS)
    answer = replies.through_json(made)
    conforms(answer)
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
        answer: Any = plan.overview(replies.seen(known), worlds.TRANSITIONS)[0]
    else:
        answer, judgement = plan.target(replies.seen(known), worlds.TRANSITIONS, target)
        assert judgement.verdict.exit_code == 4
    answer = replies.through_json(answer)
    conforms(answer)
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
    sources: tuple[Source, ...] = hosted.sources(known.infrastructure, worlds.TRANSITIONS)
    assert {source.field for source in sources} == fields
    assert len(sources) == len(fields)


# The native controller


def read(known: facts.Facts) -> facts.Facts:
    """What a command goes on with. Raises PluginError."""
    return cluster.assembled(known, replies.LEASE, (), "openshift-topology-operator", worlds.NOW).known


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
    assert "once spec.controlPlaneTopology is served" in message
    assert "crd-patch" not in message, "there is no patch of ours to take out"


@pytest.mark.parametrize("gates", [facts.FeatureGates((("4.20.1", False),)), worlds.BROKEN])
def test_elsewhere_our_fields_are_wanted(gates: facts.Fact[facts.FeatureGates]) -> None:
    with pytest.raises(errors.PluginError, match=r"lacks our fields.*v1 has no spec\.desiredTopology"):
        read(dataclasses.replace(in_charge(), feature_gates=gates))
