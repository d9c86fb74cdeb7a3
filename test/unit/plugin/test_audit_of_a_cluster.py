"""`audit`: the shape of a live cluster, what disagrees in it, and what could not be read."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import assume, given

from topology_api import audit as rules
from topology_controller.observe import facts, node_counts
from topology_controller.plugin import cluster, errors
from topology_controller.plugin.commands import audit

from ..core import worlds
from ..core.strategies import worlds_of_any_kind
from . import infrastructure_api, replies
from .test_answers_and_their_schemas import conforms

HA = {"desired": None, "control_plane": "HighlyAvailable", "infrastructure": "HighlyAvailable"}


def _ended(known: facts.Facts) -> tuple[dict[str, Any], int]:
    answer, code = audit.audit(replies.seen(known), worlds.TRANSITIONS)
    found = replies.through_json(answer)
    conforms(found)
    return found, code


def _machines(
    masters: int, workers: int = 0, *, arbiters: int = 0, schedulable: bool = True, **infrastructure: Any
) -> facts.Facts:
    others = [facts.OtherNode(f"worker-{index}", master=False, arbiter=False) for index in range(workers)]
    others += [facts.OtherNode(f"arbiter-{index}", master=False, arbiter=True) for index in range(arbiters)]
    nodes = [dataclasses.replace(worlds.node(), name=f"node-{one}", worker=schedulable) for one in range(masters)]
    known = worlds.healthy(
        control_plane_nodes=tuple(nodes), other_nodes=tuple(others), scheduler=facts.Scheduler(schedulable)
    )
    return worlds.with_infrastructure(known, **{**HA, **infrastructure})


@pytest.mark.parametrize(
    ("known", "shape", "disagreeing"),
    [
        (_machines(1, control_plane="SingleReplica", infrastructure="SingleReplica"), "single-node", []),
        (_machines(3), "compact", []),
        (_machines(3, schedulable=False), "standby", ["InfrastructureNodes"]),
        (_machines(3, 2, schedulable=False), "HA", []),
        (_machines(2, arbiters=1, control_plane="HighlyAvailableArbiter"), "TNA", []),
        (_machines(2, control_plane="DualReplica"), "TNF", []),
        (_machines(3, 1, infrastructure="SingleReplica"), "unclassified", ["InfrastructureNodes"]),
        (_machines(3, control_plane="SingleReplica"), "unclassified", ["ControlPlaneNodes"]),
        (_machines(0, 2, schedulable=False, control_plane="External"), "unclassified", []),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_each_shape_is_named_and_only_disagreements_change_the_exit_code(
    known: facts.Facts, shape: str, disagreeing: list[str]
) -> None:
    found, code = _ended(known)
    assert found["shape"] == shape
    assert [one["question"] for one in found["disagreements"]] == disagreeing
    assert code == (3 if disagreeing else 0)
    assert [one for one in found["open"] if one["missing"] != ["fencing"]] == [], "everything else was answered"
    assert f"\nShape     {shape}\n" in replies.printed(found)


def test_labels_that_nobody_has_read_are_not_counted() -> None:
    known = dataclasses.replace(_machines(3), control_plane_nodes=(worlds.node(0), worlds.BROKEN))
    assert node_counts.control_plane_workers(known) is None
    found, _ = _ended(known)
    assert "controlPlaneWorkers" in {name for one in found["open"] for name in one["missing"]}


def test_what_is_not_known_leaves_several_shapes_and_is_no_disagreement() -> None:
    known = dataclasses.replace(_machines(3, 2), scheduler=worlds.BROKEN, other_nodes=worlds.BROKEN)
    found, code = _ended(known)
    assert (found["shape"], code) == (None, 0)
    assert found["candidates"] == ["compact", "standby", "HA"]
    assert found["vector"]["mastersSchedulable"] is None
    assert "cannot tell: compact or standby or HA" in replies.printed(found)


@given(known=worlds_of_any_kind())
def test_any_cluster_gets_an_answer_and_what_is_unknown_is_named(known: facts.Facts) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    found, code = _ended(known)
    codes = {"Consistent": 0, "Inconsistent": 3, "CannotTell": 1}
    assert (code, bool(found["disagreements"])) == (codes[found["verdict"]], found["verdict"] == "Inconsistent")
    answered = {one["question"] for one in found["disagreements"]} | {one["question"] for one in found["open"]}
    assert answered <= {one.value for one in rules.Question}
    for one in found["open"]:
        for name in one["missing"]:
            value = found["vector"][name]
            assert value is None or name in {"controlPlaneTopology", "infrastructureTopology"}, (one, value)


# Read live


async def test_rights_that_lack_are_named_and_a_crd_without_our_fields_is_not_even_asked_for() -> None:
    server = infrastructure_api.Api()
    census = await cluster.census(server.made(), worlds.TRANSITIONS, "openshift-topology-operator")
    answer, code = audit.audit(census, worlds.TRANSITIONS)
    found = replies.through_json(answer)
    conforms(found)
    assert (found["verdict"], code) == ("CannotTell", errors.ExitCode.FAILED)
    assert {one["right"] for one in found["unread"]} == {"list nodes", "get schedulers.config.openshift.io/cluster"}
    grant = "oc adm policy add-cluster-role-to-user cluster-reader USER"
    assert grant in replies.printed(found)
    assert (found["shape"], found["vector"]["controlPlaneNodes"]) == ("single-node", None)
    assert set(server.asked) == {"get infrastructures", "get schedulers", "get leases", "list nodes"}
