"""What each check of a shipped definition means at the least, said of facts and independently of the checks.

`test/fuzz/oracle.py` says the same of raw objects, where whole operators run against a server; here the properties of
single decisions go by it. It asks none of the checks' functions. It may be more lenient than they are, never stricter:
what it finds lacking must not be called Met. A check that has no meaning here fails the property.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from topology_controller.observe import facts

from . import worlds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from topology_api.types import Baseline
    from topology_controller.definitions import model
    from topology_controller.definitions import operands as matrices

T = TypeVar("T")
_GRACE = timedelta(seconds=33)
"""Of the etcd operator's lease, and the two seconds that evidence may be old."""
_FAILING = timedelta(seconds=61)
_MEMBER = re.compile(r"[1-9a-f][0-9a-f]{0,15}")
_WELL = {"Available": "True", "Progressing": "False", "Degraded": "False"}


@dataclass(frozen=True)
class Case:
    """What is asked about; `before` is how the cluster was when the topology changed."""

    known: facts.Facts
    definition: model.Definition
    now: datetime
    before: Baseline | None = None
    converging: bool = False


def lacking(case: Case, specs: Iterable[model.CheckSpec]) -> list[str]:
    """Names of the checks that cannot be Met."""
    return [spec.check.value for spec in specs if not MEANING[spec.check.value](case, spec)]


def upgrades_are_held_back(known: facts.Facts, definition: model.Definition) -> bool:
    """Does ClusterVersion repeat what we ask of it?"""
    if not isinstance(known.cluster_version, facts.ClusterVersion):
        return False
    said = {one.type: one for one in known.cluster_version.conditions}.get("Upgradeable")
    words = (definition.name, definition.target.control_plane.value)
    return said is not None and said.status == "False" and all(word in said.message for word in words)


def lost(known: facts.Facts, before: Baseline) -> bool:
    """Do fewer nodes than at the change carry a voter, and is that sure?"""
    nodes, others = _all(known.control_plane_nodes, facts.Node), _all(known.other_nodes, facts.OtherNode)
    voters = _voters(known)
    names = {one.name for one in (*(nodes or ()), *(others or ()))}
    if nodes is None or others is None or not all(_MEMBER.fullmatch(key) and key not in names for key in voters):
        return False
    if not isinstance(known.etcd_endpoints, facts.EtcdEndpoints):
        return False
    up = [one for one in nodes if not one.deleting and (one.ready == "True" or one.cordoned)]
    return sum(bool(set(voters.values()) & set(one.addresses)) for one in up) < len(before.control_plane_nodes)


def _all(found: facts.Fact[tuple[Any, ...]], kind: type[T]) -> list[T] | None:
    """The items, None when one of them could not be read."""
    if not isinstance(found, tuple) or not all(isinstance(one, kind) for one in found):
        return None
    return list(found)


def _voters(known: facts.Facts) -> dict[str, str]:
    return dict(known.etcd_endpoints.entries) if isinstance(known.etcd_endpoints, facts.EtcdEndpoints) else {}


def _operators(case: Case, _: model.CheckSpec) -> bool:
    found = [one for one in _all(case.known.cluster_operators, facts.ClusterOperator) or () if one.name != "topology"]
    at_rest = not case.converging or _no_upgrade(case, _)
    return bool(found) and at_rest and all(_is(one.conditions, _WELL) for one in found if one.name != "console")


def _is(conditions: facts.Conditions, wanted: dict[str, str]) -> bool:
    found = {one.type: one.status for one in conditions}
    return all(found.get(type_) == status for type_, status in wanted.items())


def _no_upgrade(case: Case, _: model.CheckSpec) -> bool:
    version = case.known.cluster_version
    return isinstance(version, facts.ClusterVersion) and _is(version.conditions, {"Progressing": "False"})


def _nodes(case: Case, spec: model.CheckSpec) -> bool:
    nodes = _all(case.known.control_plane_nodes, facts.Node)
    if nodes is None or _all(case.known.other_nodes, facts.OtherNode) is None:
        return False
    homes, compact = set(_voters(case.known).values()), case.definition.workers.max == 0
    versions = [
        ".".join((one.kubelet_version or "").split(".")[:2])
        for one in nodes
        if one.master
        and not one.master_has_value
        and one.ready == "True"
        and not (one.cordoned or one.deleting or one.pressure)
        and not any(taint.key.startswith("node.kubernetes.io/") for taint in one.taints)
        and (one.cpus or 0) >= 4
        and (one.memory_bytes or 0) >= 14.5 * 2**30
        and homes & set(one.addresses)
        and not (compact and (one.taints or not one.worker))
    ]
    return max((versions.count(one) for one in versions), default=0) >= (spec.at_least or 0)


def _dedicated_workers(case: Case, _: model.CheckSpec) -> bool:
    others = _all(case.known.other_nodes, facts.OtherNode)
    wanted = case.definition.workers
    if others is None:
        return False
    count = sum(not (one.master or one.master_has_value or one.arbiter) for one in others)
    return wanted.min <= count and (wanted.max is None or count <= wanted.max)


def _masters_schedulable(case: Case, spec: model.CheckSpec) -> bool:
    found = case.known.scheduler
    return isinstance(found, facts.Scheduler) and found.masters_schedulable is spec.wanted


def _voting(case: Case, spec: model.CheckSpec) -> bool:
    nodes, others = _all(case.known.control_plane_nodes, facts.Node), _all(case.known.other_nodes, facts.OtherNode)
    if nodes is None or others is None:
        return False
    homes = {address: one.name for one in nodes for address in one.addresses}
    names = {one.name for one in nodes} | {one.name for one in others}
    voters = _voters(case.known)
    ids = all(_MEMBER.fullmatch(key) and key not in names for key in voters)
    housed = {homes.get(address) for address in voters.values()}
    return ids and None not in housed and len(housed) >= (spec.at_least or 0)


def _etcd_healthy(case: Case, _: model.CheckSpec) -> bool:
    wanted = {f"EtcdMembers{type_}": status for type_, status in _WELL.items()}
    return isinstance(case.known.etcd, facts.Etcd) and _is(case.known.etcd.conditions, wanted)


def _etcd_alive(case: Case, _: model.CheckSpec) -> bool:
    lease = case.known.etcd_lease
    if not isinstance(lease, facts.EtcdLease) or not lease.holder or not lease.renew_time or not lease.duration_seconds:
        return False
    return lease.moving or case.now - lease.renew_time <= timedelta(seconds=lease.duration_seconds) + _GRACE


def _members(case: Case, _: model.CheckSpec) -> bool:
    found = case.known.etcd_members
    if not isinstance(found, facts.EtcdMembers) or found.silences:
        return False
    well = all(one.confirmed and one.healthy is True and not one.errors for one in found.voices)
    return well and {one.member for one in found.voices} == set(_voters(case.known))


def _pools(case: Case, _: model.CheckSpec) -> bool:
    pools = _all(case.known.machine_config_pools, facts.MachineConfigPool)
    if pools is None or "master" not in {one.name for one in pools}:
        return False
    return all(
        one.observed
        and one.configuration == one.wanted_configuration
        and one.machines == one.updated == one.ready
        and not (one.degraded or one.troubles)
        and (case.converging or not one.paused)
        for one in pools
    )


def _controller(case: Case, _: model.CheckSpec) -> bool:
    found, target = case.known.controller_config, case.definition.target.control_plane.value
    if not isinstance(found, facts.ControllerConfig) or found.control_plane != target:
        return False
    passes = found.failing_since is not None and case.now - found.failing_since <= _FAILING
    return found.failing == "False" or (found.failing == "True" and passes)


def _pools_rolled_out(case: Case, spec: model.CheckSpec) -> bool:
    if not _controller(case, spec) or not _pools(case, spec):
        return False
    before, target = case.before, case.definition.target.control_plane.value
    if before is None or before.control_plane_observed in {None, target}:
        return True
    was = {one.name: one.configuration for one in before.machine_config_pools}
    pools = _all(case.known.machine_config_pools, facts.MachineConfigPool) or ()
    return all(one.configuration != was.get(one.name) for one in pools if one.name == "master")


def _operands(case: Case, spec: model.CheckSpec) -> bool:
    group = worlds.MATRIX.group(spec.check)
    assert group is not None, spec.check
    managed = None if group.managed_by is None else case.known.operand(group.managed_by.key)
    if isinstance(managed, facts.Managed) and managed.state in {"Removed", "Unmanaged"}:
        return True
    topology = group.topology(case.definition.target.pair)
    return all(_followed(case, operand, topology) for operand in group.operands)


def _followed(case: Case, operand: matrices.Operand, topology: str) -> bool:
    found = case.known.operand(operand.key)
    was = {one.name: one for one in case.before.operands}.get(operand.key) if case.before else None
    if isinstance(found, facts.Unobserved):
        younger = was is None and case.before is not None and operand.kind != "PodDisruptionBudget"
        return found.missing and (younger or (operand.optional and (was is None or was.missing)))
    if isinstance(found, facts.Etcd):
        found = found.static_pods or worlds.MISSING
    implied = _implied(operand, topology)
    if isinstance(found, facts.Workload):
        if operand.restarts:
            return found.wanted >= implied and found.available >= max(1, implied - 1)
        return found.observed and found.ready >= implied
    if isinstance(found, facts.IngressController):
        return found.available_replicas >= implied
    if isinstance(found, facts.DisruptionBudget):
        return found.min_available == len(worlds.NAMES) - 1
    if not isinstance(found, facts.StaticPods):
        return False
    words = {key.value: word for key, word in (operand.variant or {}).items()}
    new = words.get(case.definition.source.control_plane.value) != words.get(topology)
    newer = not new or was is None or was.revision is None or found.latest > was.revision
    level = all(one.current == found.latest and not one.target for one in found.nodes)
    return newer and level and set(worlds.NAMES) <= {one.node for one in found.nodes}


def _implied(operand: matrices.Operand, topology: str) -> int:
    if isinstance(operand.replicas, dict):
        return {key.value: count for key, count in operand.replicas.items()}[topology]
    return {"perControlPlaneNode": len(worlds.NAMES)}.get(operand.replicas or "", 1)


def _machines(case: Case, _: model.CheckSpec) -> bool:
    known = case.known
    if isinstance(known.machines, facts.Unobserved):
        return known.machines.missing
    addresses = {address for node in _all(known.control_plane_nodes, facts.Node) or () for address in node.addresses}
    readable = [one for one in known.machines if not isinstance(one, facts.Unobserved)]
    leaving = any(one.deleting and addresses & set(one.addresses) for one in readable)
    return not leaving and len(readable) == len(known.machines)


MEANING: dict[str, Callable[[Case, model.CheckSpec], bool]] = {
    "ClusterOperatorsStable": _operators,
    "NoUpgradeInProgress": _no_upgrade,
    "ControlPlaneNodes": _nodes,
    "ControlPlaneMachines": _machines,
    "DedicatedWorkers": _dedicated_workers,
    "MastersSchedulable": _masters_schedulable,
    "EtcdVotingMembers": _voting,
    "EtcdHealthy": _etcd_healthy,
    "EtcdOperatorAlive": _etcd_alive,
    "EtcdMembersDirect": _members,
    "MachineConfigPoolsReady": _pools,
    "MachineConfigControllerObserved": _controller,
    "MachineConfigPoolsRolledOut": _pools_rolled_out,
    **{group.check.value: _operands for group in worlds.MATRIX.groups},
}
