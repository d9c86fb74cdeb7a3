"""What happens while the cluster follows: something is lost, an upgrade begins, a check waits for a person."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.vocabulary import AdvisoryName, CheckName, ConditionType, Phase, Reason
from topology_controller.decide.decision import Step
from topology_controller.observe import facts
from topology_controller.report import conditions

from . import operand_worlds, worlds
from .outcomes import F, failing, said

if TYPE_CHECKING:
    from topology_api.types import TopologyTransition
    from topology_controller.decide.decision import Decision

AFTER = worlds.NOW + timedelta(seconds=30)


def followed(record: TopologyTransition | None, now: Any = AFTER, **changes: Any) -> facts.Facts:
    """Everybody has followed, but for the changes."""
    return dataclasses.replace(worlds.moved(worlds.converged(worlds.healthy(now)), record), **changes)


def progressing(found: Decision) -> str:
    return next(one.message for one in conditions.of(found) if one.type is ConditionType.PROGRESSING)


def operands() -> dict[str, Any]:
    return dict(worlds.converged(worlds.healthy()).operands)


def nodes(**changes: Any) -> tuple[facts.Node, ...]:
    whole = worlds.converged(worlds.healthy()).control_plane_nodes
    assert isinstance(whole, tuple)
    found = [one for one in whole if isinstance(one, facts.Node)]
    return (*found[:2], dataclasses.replace(found[2], **changes))


def test_a_leader_that_has_just_begun_has_seen_no_quiet() -> None:
    """What happened between the last look of its predecessor and its first one, nobody knows."""
    quiet = worlds.decide(followed(worlds.converging()), now=AFTER)
    at = AFTER + timedelta(minutes=3)
    young = worlds.term(since=at - timedelta(seconds=59))
    found = worlds.decide(followed(quiet.record, at), young, at)
    assert found.phase is Phase.CONVERGING
    assert found.look_again == pytest.approx(1.05)
    end = at + timedelta(seconds=1)
    assert worlds.decide(followed(quiet.record, end), young, end).phase is Phase.COMPLETED


# Advisories


PINNED = facts.IngressController(1, 1)


def names(record: TopologyTransition | None) -> list[str]:
    return [one.name for one in (record.advisories if record else ())]


def test_the_check_that_waits_for_a_person_is_named_with_its_advisory_and_is_stuck_without() -> None:
    known = followed(worlds.converging(), ingress_controller=PINNED)
    found = worlds.decide(known, now=AFTER)
    assert failing(found.record) == [CheckName.ROUTER_REPLICAS]
    assert AdvisoryName.ROUTER_REPLICAS_PINNED in names(found.record)
    assert found.record is not None
    command = next(item.command for item in found.record.advisories if item.name == AdvisoryName.ROUTER_REPLICAS_PINNED)
    assert "1 of 20 convergence checks not met: RouterReplicas (1 of 2). " in progressing(found)
    assert progressing(found).endswith(f". 1 action required: {command}")
    again = worlds.decide(worlds.recorded(known, found.record), now=AFTER)
    assert again.steps == (Step.REPORT,)
    late = worlds.DEADLINE
    stuck = worlds.decide(followed(found.record, late, ingress_controller=PINNED), now=late)
    assert stuck.degraded is not None
    assert "Blocked by RouterReplicas: " in stuck.degraded.message
    assert stuck.degraded.message.endswith(f". Action required: {command}")
    healed = worlds.decide(followed(stuck.record, late), now=late)
    assert AdvisoryName.ROUTER_REPLICAS_PINNED not in names(healed.record)
    assert said(healed, ConditionType.DEGRADED) == (F, Reason.AS_EXPECTED)


# Stuck


# What it is measured against


@pytest.mark.parametrize("check", [one.check for one in worlds.COMPACT.convergence.checks])
def test_each_check_alone_keeps_it_from_being_completed(check: CheckName) -> None:
    """Whatever it is that has not followed, it is named in the record, in Progressing and in Degraded."""
    known = followed(worlds.converging(), **_one_thing_missing(check))
    found = worlds.decide(known, now=AFTER)
    end = worlds.DEADLINE
    late = dataclasses.replace(worlds.recorded(known, found.record), etcd_lease=worlds.healthy(end).etcd_lease)
    if check is CheckName.ETCD_OPERATOR_ALIVE:
        late = dataclasses.replace(late, etcd_lease=known.etcd_lease)
    stuck = worlds.decide(late, now=end)
    assert stuck.phase is Phase.CONVERGING
    names_ = failing(stuck.record)
    assert check in names_
    if check is CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED:
        assert names_ == [check, CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT], "the pools say nothing before that"
    else:
        assert names_ == [check]
    assert check in progressing(stuck)
    assert stuck.degraded is not None
    assert f"Blocked by {check}: " in stuck.degraded.message


def _one_thing_missing(check: CheckName) -> dict[str, Any]:
    operators = worlds.cluster_operators(operand_worlds.REACTED)
    known: dict[CheckName, dict[str, Any]] = {
        CheckName.CONTROL_PLANE_NODES: {"control_plane_nodes": nodes(cordoned=True)},
        CheckName.ETCD_VOTING_MEMBERS: {
            "etcd_endpoints": facts.EtcdEndpoints(
                (*zip(worlds.MEMBERS, worlds.ADDRESSES, strict=True), ("beef", "192.0.2.99"))
            )
        },
        CheckName.ETCD_HEALTHY: {"etcd": worlds.etcd(8, EtcdMembersDegraded="True")},
        CheckName.ETCD_OPERATOR_ALIVE: {"etcd_lease": facts.EtcdLease("", worlds.NOW, 137)},
        CheckName.CLUSTER_OPERATORS_STABLE: {
            "cluster_operators": (
                dataclasses.replace(operators[0], conditions=worlds.conditions(Available="False")),
                *operators[1:],
            )
        },
        CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED: {"controller_config": worlds.controller_config("SingleReplica")},
        CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT: {"machine_config_pools": (worlds.pool(),)},
        CheckName.ETCD_REVISION: {
            "etcd": dataclasses.replace(worlds.etcd(8), static_pods=operand_worlds.static_pods(8, worlds.NAMES[:2]))
        },
        CheckName.ROUTER_REPLICAS: {"ingress_controller": facts.IngressController(None, 1)},
    }
    if check in known:
        return known[check]
    group = worlds.MATRIX.group(check)
    assert group is not None, f"{check} needs a way to fail here"
    return {"operands": {**operands(), group.operands[0].key: _behind(group.operands[0].key)}}


def _behind(key: str) -> Any:
    whole = operands()[key]
    if isinstance(whole, facts.StaticPods):
        entry = dataclasses.replace(whole.nodes[2], current=7, target=8)
        return dataclasses.replace(whole, nodes=(*whole.nodes[:2], entry))
    if isinstance(whole, facts.DisruptionBudget):
        return facts.DisruptionBudget(1)
    assert isinstance(whole, facts.Workload)
    return dataclasses.replace(whole, ready=0, available=0)


def test_templates_that_fail_are_looked_at_again_when_that_lasts_too_long() -> None:
    config = facts.ControllerConfig("HighlyAvailable", failing="True", failing_since=AFTER - timedelta(seconds=10))
    found = worlds.decide(followed(worlds.converging(), controller_config=config), now=AFTER)
    assert CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED not in failing(found.record)
    assert found.look_again is not None
    assert 49 < found.look_again <= 51.1
