"""A hosted cluster: what is done on the management cluster instead, and what was fixed when the cluster was made."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from topology_controller.observe import facts
from topology_controller.plugin import hosted
from topology_controller.plugin.commands import audit, cancel, plan

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


def audited(known: facts.Facts) -> tuple[dict[str, Any], int]:
    made, code = audit.audit(replies.seen(known), worlds.TRANSITIONS)
    answer = replies.through_json(made)
    conforms(answer)
    return answer, code


def cancelled(known: facts.Facts) -> dict[str, Any]:
    return replies.through_json(cancel.judged(replies.seen(known), worlds.TRANSITIONS, "oc")[0])


def test_one_router_of_a_cluster_that_wants_two_blocks_the_audit_with_its_command() -> None:
    answer, code = audited(guest(routers=1))
    assert code == 3
    assert [advisory["name"] for advisory in answer["advisories"]] == ["RouterReplicasPinned"]
    advisory = answer["advisories"][0]
    assert "HyperShift wrote it when the cluster was made" in advisory["message"]
    assert "waits" not in advisory["message"], "no check waits on a hosted cluster"
    assert advisory["command"] == (
        "oc -n openshift-ingress-operator patch ingresscontroller default --type merge "
        """-p '{"spec":{"replicas":2}}'"""
    )
    text = replies.printed(answer)
    assert f"\nAction required\n  RouterReplicasPinned  {advisory['message']}\n    {advisory['command']}\n" in text
    assert "hostedcluster" not in text, "its infrastructure is HighlyAvailable already"


def test_what_may_not_be_read_is_no_advisory() -> None:
    known = dataclasses.replace(guest(routers=1, registries=1), ingress_controller=worlds.BROKEN)
    assert [item["name"] for item in audited(known)[0]["advisories"]] == ["ImageRegistryReplicasFixed"]


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


def test_a_cancel_proposes_what_leads_somewhere() -> None:
    commands = {
        topology: [step["command"] for step in cancelled(guest(topology))["next"]]
        for topology in ("SingleReplica", "HighlyAvailable")
    }
    assert commands == {"SingleReplica": [PATCH], "HighlyAvailable": ["oc topology audit"]}
    elsewhere = worlds.with_infrastructure(worlds.healthy(), desired=None)
    assert [step["command"] for step in cancelled(elsewhere)["next"]] == ["oc topology plan"]


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
