"""What happens while the cluster follows: something is lost, an upgrade begins, a check waits for a person."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.vocabulary import AdvisoryName, CheckName, CheckStatus, ConditionType, EventReason, Phase, Reason
from topology_controller.decide.decision import Step
from topology_controller.observe import facts
from topology_controller.report import conditions

from . import operand_worlds, worlds
from .outcomes import F, T, failing, reasons, said

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


@pytest.mark.parametrize(
    ("changes", "check", "words"),
    [
        ({"control_plane_nodes": nodes(ready="False")}, CheckName.CONTROL_PLANE_NODES, "node-2"),
        ({"control_plane_nodes": nodes()[:2]}, CheckName.CONTROL_PLANE_NODES, "3"),
        (
            {"etcd_endpoints": facts.EtcdEndpoints(tuple(zip(worlds.MEMBERS[:2], worlds.ADDRESSES, strict=False)))},
            CheckName.ETCD_VOTING_MEMBERS,
            "2",
        ),
        ({"etcd": worlds.etcd(8, EtcdMembersDegraded="True")}, CheckName.ETCD_HEALTHY, "EtcdMembersDegraded"),
        ({"etcd_lease": facts.EtcdLease("", worlds.NOW, 137)}, CheckName.ETCD_OPERATOR_ALIVE, "has no holder"),
    ],
)
def test_what_is_lost_is_told_and_the_topology_stays(changes: dict[str, Any], check: CheckName, words: str) -> None:
    quiet = worlds.decide(followed(worlds.converging()), now=AFTER)
    at = AFTER + timedelta(seconds=50)
    found = worlds.decide(followed(quiet.record, at, **changes), now=at)
    assert found.phase is Phase.CONVERGING
    assert Step.CHANGE not in found.steps
    assert check in failing(found.record)
    assert check in progressing(found)
    assert words in next(one.message for one in found.results if one.name is check)
    back = at + timedelta(seconds=1)
    again = worlds.decide(followed(found.record, back), now=back)
    assert again.look_again == pytest.approx(61.05), "the quiet time begins anew"


@pytest.mark.parametrize("newest", ["4.20.2", "4.21.0"])
def test_an_upgrade_that_begins_is_told_and_waited_for(newest: str) -> None:
    """Upgradeable=False does not hold a patch upgrade back."""
    version = dataclasses.replace(worlds.version(progressing="True"), newest=newest)
    quiet = worlds.decide(followed(worlds.converging()), now=AFTER)
    at = AFTER + timedelta(hours=0.5)
    found = worlds.decide(followed(quiet.record, at, cluster_version=version), now=at)
    assert found.phase is Phase.CONVERGING
    assert f"An upgrade from 4.20.1 to {newest} is under way" in progressing(found)
    assert CheckName.CLUSTER_OPERATORS_STABLE in failing(found.record)
    done = dataclasses.replace(worlds.version(), newest=newest)
    end = at + timedelta(seconds=62)
    known = followed(found.record, end, cluster_version=done)
    waiting = worlds.decide(known, now=end)
    assert (waiting.phase, failing(waiting.record)) == (Phase.CONVERGING, [])
    last = end + timedelta(seconds=62)
    known = dataclasses.replace(worlds.recorded(known, waiting.record), etcd_lease=worlds.healthy(last).etcd_lease)
    assert worlds.decide(known, now=last).phase is Phase.COMPLETED


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


@pytest.mark.parametrize("live", [False, True])
def test_what_a_person_has_to_do_is_told_before_the_change(live: bool) -> None:  # noqa: FBT001 - a column
    known = worlds.healthy(ingress_controller=PINNED, dnsmasq=facts.Present(), live=live)
    blocked = dataclasses.replace(known, scheduler=facts.Scheduler(masters_schedulable=False))
    for found in (worlds.decide(known), worlds.decide(blocked)):
        assert names(found.record) == [AdvisoryName.ROUTER_REPLICAS_PINNED, AdvisoryName.DNSMASQ_CONFIGURATION_LEFT]
    fixed = worlds.decide(worlds.recorded(worlds.healthy(), worlds.decide(blocked).record))
    assert names(fixed.record) == []


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


def test_what_is_left_to_do_stays_after_completion_until_it_was_looked_at_and_done() -> None:
    """Nothing is watched then: only what discovery has read counts."""
    left = worlds.decide(followed(worlds.converging(), dnsmasq=facts.Present()), now=AFTER).record
    assert left is not None
    assert AdvisoryName.DNSMASQ_CONFIGURATION_LEFT in names(left)
    record = worlds.completed().model_copy(update={"advisories": left.advisories})
    known = worlds.moved(worlds.healthy(), record)
    known = worlds.recorded(known, worlds.decide(known, now=AFTER).record)
    assert worlds.decide(known, now=AFTER).steps == (Step.REPORT,)
    still = worlds.decide(known, worlds.term(advisories=left.advisories), AFTER)
    assert still.steps == (Step.REPORT,)
    done = worlds.decide(known, worlds.term(advisories=()), AFTER)
    assert done.steps == (Step.SAVE, Step.REPORT)
    assert names(done.record) == []


# Stuck


def unready(key: str) -> dict[str, Any]:
    found = dict(operands())
    found[key] = dataclasses.replace(found[key], ready=0, available=0)
    return found


def test_the_check_that_has_been_failing_longest_is_named_and_it_is_one_event_for_the_attempt() -> None:
    console = next(key for key in operands() if "console/console" in key)
    multus = next(key for key in operands() if "multus" in key)
    early = worlds.NOW + timedelta(minutes=10)
    first = worlds.decide(followed(worlds.converging(), early, operands=unready(multus)), now=early)
    late = worlds.DEADLINE - timedelta(minutes=1)
    both = {**unready(multus), console: unready(console)[console]}
    second = worlds.decide(followed(first.record, late, operands=both), now=late)
    # Long before the other in the order of the definition, but not failing for as long.
    order = [one.check for one in worlds.COMPACT.convergence.checks]
    assert order.index(CheckName.CONSOLE_REPLICAS) < order.index(CheckName.MULTUS_ADMISSION_REPLICAS)
    at = worlds.DEADLINE
    stuck = worlds.decide(followed(second.record, at, operands=both), now=at)
    assert stuck.degraded is not None
    assert "Blocked by MultusAdmissionReplicas" in stuck.degraded.message
    assert reasons(stuck) == [EventReason.TRANSITION_STUCK]
    assert said(stuck, ConditionType.PROGRESSING) == (T, Reason.TRANSITION_CONVERGING)
    healed = worlds.decide(followed(stuck.record, at, operands=unready(console)), now=at)
    assert healed.degraded is not None
    assert "Blocked by ConsoleReplicas" in healed.degraded.message
    well = worlds.decide(followed(healed.record, at), now=at)
    assert (well.degraded, well.happened) == (None, ())
    back = at + timedelta(seconds=10)
    again = worlds.decide(followed(well.record, back, operands=unready(console)), now=back)
    assert said(again, ConditionType.DEGRADED) == (T, Reason.TRANSITION_STUCK)


# What it is measured against


def test_without_knowing_how_it_was_at_the_change_nothing_is_called_done() -> None:
    """A record rebuilt from a copy that an older version wrote has no baseline."""
    old = worlds.converging().model_copy(update={"baseline": None})
    known = worlds.moved(worlds.converged(worlds.healthy(AFTER)), None)
    known = dataclasses.replace(known, own_operator=worlds.copy_of(old))
    found = worlds.decide(known, now=AFTER)
    assert found.phase is Phase.CONVERGING
    assert {CheckName.KUBE_API_SERVER_REVISION, CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT} <= set(failing(found.record))
    at = AFTER + timedelta(hours=2)
    stuck = worlds.decide(followed(found.record, at), now=at)
    assert said(stuck, ConditionType.DEGRADED)[1] in {Reason.TRANSITION_STUCK, Reason.EVIDENCE_UNREADABLE}
    unknown = [one.message for one in stuck.results if one.status is CheckStatus.UNKNOWN]
    assert unknown
    assert all("status.topologyTransition.baseline" in message for message in unknown), "each says what can be done"


def test_a_person_can_supply_what_was_lost() -> None:
    whole = worlds.converging()
    known = followed(whole.model_copy(update={"baseline": None}))
    assert failing(worlds.decide(known, now=AFTER).record)
    assert failing(worlds.decide(followed(whole), now=AFTER).record) == []


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
