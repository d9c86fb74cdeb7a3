"""The truth, told independently: what does a cluster still lack, going by raw objects only?

This is the minimal meaning of each check of the shipped definitions, written from the design and not from the checks:
it parses nothing with the operator's parsers and asks none of its functions. It may be more lenient than the operator
where that is only about words (it never says Unknown), never stricter. A check that a definition asks and that is not
in `MEANING` fails the proof, so that a new check gets its meaning here too.
"""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from . import server as servers
from . import world as worlds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from topology_controller.definitions import model
    from topology_controller.definitions import operands as matrices

    from .server import Key, Objects, Raw

_ROLE = "node-role.kubernetes.io/"
_MEMBER = re.compile(r"[1-9a-f][0-9a-f]{0,15}")
_GIB = {"32Gi": 32.0, "8Gi": 8.0, "2Gi": 2.0}
_GRACE = timedelta(seconds=33)
"""The grace of the lease, and the two seconds that evidence may be old."""
_FAILING = timedelta(seconds=61)
"""How long templates may fail, and the second that times are cut off by."""
_STATES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
"""Conditions of a node that keep pods away."""
_SINGLE = "SingleReplica"


@dataclass(frozen=True, slots=True)
class Case:
    """What is asked about: objects, the definition, the operator's wall clock, and how it was at the change."""

    objects: Objects
    definition: model.Definition
    now: datetime
    at_change: Objects = dataclasses.field(default_factory=dict)


def lacking(case: Case, specs: Iterable[model.CheckSpec], accepted: Iterable[str] = ()) -> list[str]:
    """Names of the checks that are not true, with what was found; nobody waits for those that were accepted."""
    known = frozenset(accepted)
    found = []
    for spec in specs:
        why = "" if spec.check.value in known else MEANING[spec.check.value](case, spec)
        if why:
            found.append(f"{spec.check}: {why}")
    return found


def deadline(case: Case, admitted: datetime) -> datetime:
    """When a transition that began then is overdue: machines of a pool restart one after the other."""
    convergence = case.definition.convergence
    platform = case.objects[servers.INFRASTRUCTURE]["status"]["platformStatus"]["type"]
    machines = max((raw["status"]["machineCount"] for raw in _named(case, worlds.POOLS).values()), default=0)
    return admitted + timedelta(
        minutes=convergence.deadline_minutes + convergence.machine_minutes.get(platform, 0) * machines
    )


def echoed(case: Case) -> bool:
    """Does ClusterVersion hold upgrades back, in our words?"""
    version = case.objects.get(servers.VERSION, {})
    said = {item["type"]: item for item in conditions(version)}.get("Upgradeable", {})
    words = (case.definition.name, case.definition.target.control_plane.value)
    return said.get("status") == "False" and all(word in said.get("message", "") for word in words)


def lost(case: Case) -> list[str]:
    """Nodes that carried a voter at the change and do not now, where as many others do not; a restart is none."""
    before, now = _carrying(case.at_change), _carrying(case.objects)
    if before is None or now is None or len(now) >= len(before):
        return []
    return sorted(before - now)


def _carrying(objects: Objects) -> set[str] | None:
    """Names of the control-plane nodes that are up and have a voter; None where it cannot be told who votes."""
    data = objects.get(worlds.ENDPOINTS, {}).get("data") or {}
    nodes = {key[2]: raw for key, raw in objects.items() if key[0] == worlds.NODES}
    if worlds.ENDPOINTS not in objects or any(key in nodes or not _MEMBER.fullmatch(key) for key in data):
        return None
    return {
        name
        for name, raw in nodes.items()
        if "control-plane" in _labels(raw)
        and not raw["metadata"].get("deletionTimestamp")
        and (_status(raw, "Ready") == "True" or (raw.get("spec") or {}).get("unschedulable"))
        and _addresses(raw) & set(data.values())
        and _has_room(raw)
    }


def _has_room(raw: Raw) -> bool:
    """No pressure, and what four static pods request and etcd's quota are allocatable, or that cannot be read."""
    free = raw["status"].get("allocatable") or raw["status"]["capacity"]
    pressed = any(_status(raw, type_) == "True" for type_ in _STATES[:3])
    return not pressed and (
        free == "lots" or (_GIB[free["memory"]] > 2834 / 1024 and _GIB[free["ephemeral-storage"]] >= 8)
    )


def conditions(raw: Raw) -> list[Raw]:
    """The conditions in its status."""
    return raw.get("status", {}).get("conditions") or []


def _status(raw: Raw, type_: str) -> str:
    return next((item["status"] for item in conditions(raw) if item["type"] == type_), "absent")


def _named(case: Case, label: str) -> dict[str, Raw]:
    return {key[2]: raw for key, raw in case.objects.items() if key[0] == label}


def _labels(raw: Raw) -> set[str]:
    return {name.removeprefix(_ROLE) for name in raw["metadata"].get("labels") or {} if name.startswith(_ROLE)}


def _masters(case: Case) -> dict[str, Raw]:
    return {name: raw for name, raw in _named(case, worlds.NODES).items() if "control-plane" in _labels(raw)}


def _labelled_master(case: Case) -> set[str]:
    """Where operators run their static pods: they select the label master, with an empty value."""
    nodes = _named(case, worlds.NODES)
    return {name for name, raw in nodes.items() if (raw["metadata"].get("labels") or {}).get(f"{_ROLE}master") == ""}


def _addresses(raw: Raw) -> set[str]:
    return {item["address"] for item in raw.get("status", {}).get("addresses") or []}


def _taints(raw: Raw) -> set[str]:
    return {item["key"] for item in (raw.get("spec") or {}).get("taints") or []}


def _fit(raw: Raw) -> bool:
    spec = raw.get("spec") or {}
    ready = _status(raw, "Ready") == "True" and not spec.get("unschedulable")
    ready = ready and not any(_status(raw, type_) == "True" for type_ in _STATES)
    ready = ready and not any(key.startswith("node.kubernetes.io/") for key in _taints(raw))
    return ready and not raw["metadata"].get("deletionTimestamp")


def _operators_stable(case: Case, _: model.CheckSpec) -> str:
    others = {name: raw for name, raw in _named(case, worlds.OPERATORS).items() if name != "topology"}
    if not others:
        return "there are none"
    wanted = {"Available": "True", "Progressing": "False", "Degraded": "False"}
    unstable = [
        name
        for name, raw in others.items()
        if any(_status(raw, type_) != value for type_, value in wanted.items() if not _restarts(name, type_, raw))
    ]
    if case.at_change and _status(case.objects.get(servers.VERSION, {}), "Progressing") != "False":
        return "an upgrade is under way"
    return ", ".join(unstable)


def _restarts(name: str, type_: str, raw: Raw) -> bool:
    """Is it the console, which starts its pods again at each write of Infrastructure?"""
    reasons = {item["type"]: item.get("reason") for item in conditions(raw)}
    return name == "console" and type_ == "Progressing" and reasons.get(type_) == worlds.RESTARTING


def _no_upgrade(case: Case, _: model.CheckSpec) -> str:
    status = _status(case.objects.get(servers.VERSION, {}), "Progressing")
    return "" if status == "False" else f"Progressing={status}"


def _control_plane_nodes(case: Case, spec: model.CheckSpec) -> str:
    voters = set((case.objects.get(worlds.ENDPOINTS, {}).get("data") or {}).values())
    compact = case.definition.workers.max == 0
    versions = []
    for raw in _masters(case).values():
        capacity = raw["status"].get("capacity")
        roles = _labels(raw)
        eligible = (
            _fit(raw)
            and raw["metadata"]["labels"].get(f"{_ROLE}master") == ""
            and isinstance(capacity, dict)
            and int(capacity["cpu"]) >= (spec.min_cpus or 4)
            and _GIB[capacity["memory"]] >= (spec.min_memory_gib or 14.5)
            and _has_room(raw)
            and bool(voters & _addresses(raw))
            and not (compact and ("worker" not in roles or _taints(raw)))
        )
        if eligible:
            versions.append(raw["status"]["nodeInfo"]["kubeletVersion"].rpartition(".")[0])
    most = max((versions.count(version) for version in versions), default=0)
    return "" if most >= (spec.at_least or 0) else f"{most} eligible nodes"


def _machines_stay(case: Case, _: model.CheckSpec) -> str:
    homes = {address for raw in _masters(case).values() for address in _addresses(raw)}
    leaving = [
        name
        for name, raw in _named(case, "machines.machine.openshift.io").items()
        if raw["metadata"].get("deletionTimestamp")
        and homes & {item["address"] for item in raw.get("status", {}).get("addresses") or []}
    ]
    return f"{leaving} leave" if leaving else ""


def _dedicated_workers(case: Case, _: model.CheckSpec) -> str:
    roles = [_labels(raw) for raw in _named(case, worlds.NODES).values()]
    count = sum(not found & {"control-plane", "master", "arbiter"} for found in roles)
    wanted = case.definition.workers
    fits = wanted.min <= count and (wanted.max is None or count <= wanted.max)
    return "" if fits else f"{count} dedicated workers"


def _eligible_workers(case: Case, spec: model.CheckSpec) -> str:
    count = sum(
        "worker" in _labels(raw) and _fit(raw) and _taints(raw) <= {worlds.SET_ASIDE}
        for raw in _named(case, worlds.NODES).values()
    )
    return "" if count >= (spec.at_least or 0) else f"{count} eligible workers"


def _masters_schedulable(case: Case, spec: model.CheckSpec) -> str:
    found = bool(case.objects.get(worlds.SCHEDULER, {}).get("spec", {}).get("mastersSchedulable"))
    return "" if found is spec.wanted else f"mastersSchedulable is {found}"


def _voting_members(case: Case, spec: model.CheckSpec) -> str:
    data = case.objects.get(worlds.ENDPOINTS, {}).get("data") or {}
    names = set(_named(case, worlds.NODES))
    homes = {address: name for name, raw in _masters(case).items() for address in _addresses(raw)}
    housed = {homes[address] for address in data.values() if address in homes}
    doubtful = [key for key in data if key in names or not _MEMBER.fullmatch(key)]
    strangers = [address for address in data.values() if address not in homes]
    if doubtful or strangers or len(housed) < (spec.at_least or 0):
        return f"voters {data}"
    return ""


def _etcd_healthy(case: Case, _: model.CheckSpec) -> str:
    etcd = case.objects.get(worlds.ETCD, {})
    wanted = {"EtcdMembersAvailable": "True", "EtcdMembersDegraded": "False", "EtcdMembersProgressing": "False"}
    return ", ".join(type_ for type_, value in wanted.items() if _status(etcd, type_) != value)


def _scaling_safe(case: Case, _: model.CheckSpec) -> str:
    overrides = case.objects.get(worlds.ETCD, {}).get("spec", {}).get("unsupportedConfigOverrides") or {}
    value = overrides.get("useUnsupportedUnsafeNonHANonProductionUnstableEtcd", False)
    return "" if value in (False, "false") else f"the override is {value}"


def _etcd_alive(case: Case, _: model.CheckSpec) -> str:
    spec = case.objects.get(worlds.LEASE, {}).get("spec") or {}
    seconds = spec.get("leaseDurationSeconds")
    if not spec.get("holderIdentity") or not isinstance(seconds, int) or not spec.get("renewTime"):
        return "nobody holds the lease"
    age = case.now - datetime.fromisoformat(spec["renewTime"])
    return "" if age <= timedelta(seconds=seconds) + _GRACE else f"renewed {age} ago"


def _controller_observed(case: Case, _: model.CheckSpec) -> str:
    """What a write of Infrastructure moves (generations, Completed) is none of it."""
    found = case.objects.get(worlds.CONTROLLER_CONFIG)
    target = case.definition.target.control_plane.value
    if found is None or found["spec"]["infra"]["status"]["controlPlaneTopology"] != target:
        return "ControllerConfig has another topology"
    failing = next((item for item in conditions(found) if item["type"] == "TemplateControllerFailing"), {})
    if failing.get("status") == "True":
        since = failing.get("lastTransitionTime")
        if since is None or case.now - datetime.fromisoformat(since) > _FAILING:
            return "templates fail for more than a minute"
    elif failing.get("status") != "False":
        return "whether templates fail is not known"
    annotation = "machineconfiguration.openshift.io/controlPlaneTopology"
    behind = [
        name
        for name, raw in _masters(case).items()
        if target != _SINGLE and (raw["metadata"].get("annotations") or {}).get(annotation) == _SINGLE
    ]
    return ", ".join(behind)


def _at_rest(raw: Raw) -> bool:
    """Is this pool where it wants to be, with all its machines, and not in trouble?"""
    status, wanted = raw["status"], raw["spec"]["configuration"]["name"]
    counts = {status["machineCount"], status["updatedMachineCount"], status["readyMachineCount"]}
    in_trouble = "True" in {_status(raw, "Degraded"), _status(raw, "RenderDegraded")} or status["degradedMachineCount"]
    observed = status["observedGeneration"] == raw["metadata"]["generation"]
    return bool(wanted == status["configuration"]["name"] and len(counts) == 1 and observed and not in_trouble)


def _pools_ready(case: Case, _: model.CheckSpec) -> str:
    pools = _named(case, worlds.POOLS)
    if "master" not in pools:
        return "no pool master"
    return ", ".join(name for name, raw in pools.items() if raw["spec"].get("paused") or not _at_rest(raw))


def _pools(case: Case, spec: model.CheckSpec) -> str:
    """Every pool at rest, and each with machines elsewhere than at the change."""
    first = _controller_observed(case, spec)
    if first:
        return first
    pools = _named(case, worlds.POOLS)
    if "master" not in pools:
        return "no pool master"
    observed = case.at_change.get(worlds.CONTROLLER_CONFIG, {}).get("spec", {}).get("infra", {}).get("status", {})
    ready_before = observed.get("controlPlaneTopology") == case.definition.target.control_plane.value
    must_move = case.definition.source.control_plane.value == _SINGLE and not ready_before
    for name, raw in pools.items():
        if not _at_rest(raw):
            return f"{name} is rolling out"
        before = case.at_change.get((worlds.POOLS, None, name))
        if before is None or not must_move or (name != "master" and raw["status"]["machineCount"] == 0):
            continue
        if before["status"]["configuration"]["name"] == raw["spec"]["configuration"]["name"]:
            return f"{name} is where it was at the change"
    return ""


def _operands(case: Case, spec: model.CheckSpec) -> str:
    """Replicas ready, revisions everywhere, budgets there: as the matrix has them for the target."""
    group = worlds.TRANSITIONS.matrix.group(spec.check)
    if group is None:
        return "the matrix does not know it"
    configured = any(operand.replicas == "perConfiguration" for operand in group.operands)
    if group.managed_by is not None:
        managed = case.objects.get((group.managed_by.resource, None, group.managed_by.name), {}).get("spec") or {}
        if managed.get("managementState") in {"Removed", *(["Unmanaged"] if configured else [])}:
            return ""
    topology = group.topology(case.definition.target.pair)
    found = []
    for operand in group.operands:
        key = (operand.plural, operand.namespace, operand.name)
        raw = case.objects.get(key)
        if raw is None and operand.optional and case.at_change and key not in case.at_change:
            continue
        if raw is None:
            found.append(f"{operand.name} does not exist")
        elif why := _JUDGES[operand.kind](case, operand, key, raw, topology):
            found.append(f"{operand.name} {why}")
    return "; ".join(found)


def _static_pods(case: Case, operand: matrices.Operand, key: Key, raw: Raw, _: str) -> str:
    status = raw["status"]
    latest = status.get("latestAvailableRevision", 0)
    nodes = {item["nodeName"]: item for item in status.get("nodeStatuses") or []}
    behind = [name for name in _labelled_master(case) if name not in nodes]
    behind += [name for name, item in nodes.items() if item["currentRevision"] != latest or item["targetRevision"]]
    if behind:
        return f"is behind on {behind}"
    words = {topology.value: word for topology, word in (operand.variant or {}).items()}
    source, target = case.definition.source.control_plane.value, case.definition.target.control_plane.value
    before = case.at_change.get(key)
    if before is None or not words or words.get(source) == words.get(target):
        return ""
    return "" if latest > before["status"].get("latestAvailableRevision", 0) else "made no new revision"


def _budget(case: Case, _: matrices.Operand, _key: Key, raw: Raw, _topology: str) -> str:
    found = raw["spec"].get("minAvailable")
    return "" if found == len(_labelled_master(case)) - 1 else f"has minAvailable {found}"


def _workload(case: Case, operand: matrices.Operand, _: Key, raw: Raw, topology: str) -> str:
    status, implied = raw["status"], _implied(case, operand, topology)
    if operand.restarts:
        # Each write of Infrastructure replaces its pods, one after the other.
        available = status.get("availableReplicas", 0)
        enough = raw["spec"].get("replicas", 1) >= implied and available >= max(1, implied - 1)
        return "" if enough else f"has {available} available"
    if status.get("observedGeneration") != raw["metadata"].get("generation"):
        return "was not observed"
    ready = status.get("readyReplicas", 0)
    return "" if ready >= implied else f"has {ready} ready"


def _router(case: Case, operand: matrices.Operand, _: Key, raw: Raw, topology: str) -> str:
    ready = raw["status"].get("availableReplicas", 0)
    return "" if ready >= _implied(case, operand, topology) else f"has {ready} available"


def _implied(case: Case, operand: matrices.Operand, topology: str) -> float:
    if operand.replicas == "perConfiguration":
        count = case.objects.get(worlds.REGISTRY, {}).get("spec", {}).get("replicas")
        return math.inf if count is None else int(count)
    return len(_labelled_master(case)) if isinstance(operand.replicas, str) else worlds.implied(operand, topology)


_JUDGES: dict[str, Callable[[Case, matrices.Operand, Key, Raw, str], str]] = {
    "StaticPods": _static_pods,
    "PodDisruptionBudget": _budget,
    "Deployment": _workload,
    "StatefulSet": _workload,
    "IngressController": _router,
}
MEANING: dict[str, Callable[[Case, model.CheckSpec], str]] = {
    "ClusterOperatorsStable": _operators_stable,
    "NoUpgradeInProgress": _no_upgrade,
    "ControlPlaneNodes": _control_plane_nodes,
    "ControlPlaneMachines": _machines_stay,
    "DedicatedWorkers": _dedicated_workers,
    "EligibleWorkers": _eligible_workers,
    "MastersSchedulable": _masters_schedulable,
    "EtcdVotingMembers": _voting_members,
    "EtcdHealthy": _etcd_healthy,
    "EtcdOperatorAlive": _etcd_alive,
    "EtcdScalingSafe": _scaling_safe,
    "MachineConfigPoolsReady": _pools_ready,
    "MachineConfigControllerObserved": _controller_observed,
    "MachineConfigPoolsRolledOut": _pools,
}
MEANING = {**dict.fromkeys((file.stem for file in (worlds.BINDATA / "operands").iterdir()), _operands), **MEANING}
