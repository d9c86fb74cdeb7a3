"""The cluster as raw objects: what each of them is when all is well, and ways in which it can be wrong.

Everything is made from a definition and the operand matrix, so that a check or an operand that is added there is here
too. `well(key)` is an object as its owner would write it for a topology; `HARMS` are small changes to one object, by
what they are called in a failing example. Nothing here decides what is right: that is `oracle`.
"""

from __future__ import annotations

import copy
import pathlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import yaml

from topology_api.types import TopologyPair
from topology_controller.definitions import load
from topology_controller.observe import catalog

from . import server as servers

if TYPE_CHECKING:
    from collections.abc import Callable

    from topology_controller.definitions import model
    from topology_controller.definitions import operands as matrices

    from .server import Key, Objects, Raw

BEGINNING = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
BINDATA = pathlib.Path(__file__).parents[2] / "bindata"
TRANSITIONS = load.load(BINDATA / "transitions")
_CRD = yaml.load((BINDATA / "crd" / "infrastructures.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)

NAMESPACE = "openshift-topology-operator"
NODES = catalog.NODES.label
OPERATORS = catalog.CLUSTER_OPERATORS.label
POOLS = catalog.POOLS.label
GATES: Key = (catalog.FEATURE_GATES.label, None, "cluster")
NATIVE: Key = (catalog.OPERATOR_CONFIGS.label, None, "cluster")
SCHEDULER: Key = (catalog.SCHEDULERS.label, None, "cluster")
ENDPOINTS: Key = (catalog.CONFIG_MAPS.label, "openshift-etcd", "etcd-endpoints")
ETCD: Key = (catalog.ETCDS.label, None, "cluster")
LEASE: Key = (catalog.LEASES.label, "openshift-etcd-operator", "openshift-cluster-etcd-operator-lock")
ROUTER: Key = (catalog.INGRESS_CONTROLLERS.label, "openshift-ingress-operator", "default")
MASTER_POOL: Key = (POOLS, None, "master")
WORKER_POOL: Key = (POOLS, None, "worker")
CUSTOM_POOL: Key = (POOLS, None, "gateways")
_ONE_VOTER = {"useUnsupportedUnsafeNonHANonProductionUnstableEtcd": True}
_MACHINES = 2
"""Of the custom pool, in every cluster."""
CONTROLLER_CONFIG: Key = ("controllerconfigs.machineconfiguration.openshift.io", None, "machine-config-controller")
REGISTRY: Key = ("configs.imageregistry.operator.openshift.io", None, "cluster")
CONSOLE: Key = (OPERATORS, None, "console")
RESTARTING = "SyncLoopRefresh_InProgress"
"""Reason of the console operator while it starts its pods again, as it does at each write of Infrastructure."""
MOVING = "TopologyTransitionInProgress"
"""Reason of the native controller from right before its change until it calls it complete."""
ACCEPTED: Key = (catalog.CONFIG_MAPS.label, NAMESPACE, "topology-accepted-checks")
CRD: Key = (catalog.CRDS.label, None, "infrastructures.config.openshift.io")
KNOWN = frozenset({"SingleReplica", "HighlyAvailable", "HighlyAvailableArbiter", "DualReplica"})
SET_ASIDE = "set-aside"
"""Key of a taint that routers tolerate."""
LEASE_SECONDS = 900
RENEWAL = 600.0
"""The etcd operator renews its lease in time as long as it lives."""

MEMBERS = ("8e9e05c52164694d", "a1b2c3", "cafe")
MASTERS = ("node-0", "node-1", "node-2")
NEW_WORKERS = ("worker-8", "worker-9")
NEW_MASTER = "node-9"
NEWCOMERS = (*NEW_WORKERS, NEW_MASTER)
"""Nodes that no cluster has at first."""
ADDRESSES = ("192.0.2.10", "192.0.2.11", "192.0.2.12")


def stamp(moment: datetime) -> str:
    """A time as objects carry it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def micro(moment: datetime) -> str:
    """The same with microseconds, as leases have it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def conditions(when: datetime, **statuses: str) -> list[Raw]:
    """Conditions as the API writes them."""
    return [
        {"type": type_, "status": status, "reason": "R", "message": "", "lastTransitionTime": stamp(when)}
        for type_, status in statuses.items()
    ]


def stamped(before: Raw, said: list[Raw], when: datetime) -> list[Raw]:
    """Conditions of which those that changed just now, and do not say when, carry the time."""
    known = {item["type"]: item for item in before["status"]["conditions"]}
    return [
        {**item, "lastTransitionTime": stamp(when)}
        if known.get(item["type"], {}).get("status") != item["status"]
        and item.get("lastTransitionTime") == known.get(item["type"], {}).get("lastTransitionTime")
        else item
        for item in said
    ]


class World:
    """What every object should be, for one definition."""

    def __init__(self, definition: model.Definition, infrastructure: str | None = None) -> None:
        self.definition = definition
        self.source = TopologyPair(
            control_plane=definition.source.control_plane.value,
            infrastructure=infrastructure or definition.source.infrastructure[0],
        )
        self.target = definition.target.pair
        self.workers = () if definition.workers.max == 0 else ("worker-0", "worker-1")
        asked = {spec.check.value: spec for spec in definition.preflight}
        wanted = asked["MastersSchedulable"].wanted if "MastersSchedulable" in asked else None
        self.schedulable = not self.workers if wanted is None else wanted
        self.operands: dict[Key, tuple[matrices.Group, matrices.Operand]] = {}
        self.managers: dict[Key, None] = {}
        matrix = TRANSITIONS.matrix
        for group in matrix.groups:
            if group.managed_by is not None:
                self.managers[group.managed_by.resource, None, group.managed_by.name] = None
            for operand in group.operands:
                self.operands[operand.plural, operand.namespace, operand.name] = (group, operand)
        # What is evidence too is made as such.
        for key in (ETCD, ROUTER):
            self.operands.pop(key, None)
        names = {"dns", "etcd", "ingress"} | {name for group in matrix.groups for name in group.operators}
        self.operators: tuple[Key, ...] = tuple((OPERATORS, None, name) for name in sorted(names))
        self.nodes: tuple[Key, ...] = tuple((NODES, None, name) for name in (*MASTERS, *self.workers))

    @property
    def evidence(self) -> tuple[Key, ...]:
        """Keys of what preflight looks at, all of them harmable."""
        pools = (MASTER_POOL, WORKER_POOL, CUSTOM_POOL)
        return (servers.VERSION, SCHEDULER, ENDPOINTS, ETCD, LEASE, *pools, *self.nodes, *self.operators[:3])

    @property
    def followers(self) -> tuple[Key, ...]:
        """Keys of what follows the topology."""
        pools = (CONTROLLER_CONFIG, MASTER_POOL, WORKER_POOL, CUSTOM_POOL)
        return (*pools, ROUTER, ETCD, REGISTRY, *self.nodes[:3], *self.operators, *self.operands)

    def objects(self) -> Objects:
        """The cluster before the request, ready for it."""
        keys = (
            servers.INFRASTRUCTURE, servers.VERSION, GATES, NATIVE, *self.operators, SCHEDULER, ENDPOINTS, ETCD, LEASE,
            *self.nodes, MASTER_POOL, WORKER_POOL, CUSTOM_POOL, ROUTER, CONTROLLER_CONFIG, *self.operands,
            *self.managers, CRD, ACCEPTED,
        )  # fmt: skip
        found = {key: self.well(key, self.source, BEGINNING - timedelta(days=1), BEGINNING) for key in keys}
        return {key: raw for key, raw in found.items() if raw is not None}

    def well(self, key: Key, pair: TopologyPair, settled: datetime, now: datetime, round_: int = 1) -> Raw | None:  # noqa: C901, PLR0912 - one line for each kind
        """An object as its owner would write it for that topology; None when there is none.

        `settled` is when its owner came to rest, `round_` grows with every roll-out.
        """
        kind = key[0]
        if key == servers.INFRASTRUCTURE:
            return {
                "spec": {},
                "status": {
                    "controlPlaneTopology": pair.control_plane,
                    "infrastructureTopology": pair.infrastructure,
                    "platformStatus": {"type": self.definition.platforms[0]},
                },
            }
        if key == servers.VERSION:
            history = [{"version": "4.20.1", "state": "Completed", "completionTime": stamp(settled)}]
            return {
                "status": {
                    "desired": {"version": "4.20.1"},
                    "history": history,
                    "conditions": conditions(settled, Progressing="False"),
                }
            }
        if key == GATES:
            return {"status": {"featureGates": [{"version": "4.20.1", "enabled": []}]}}
        if key == NATIVE:
            return {"status": {}}
        if key == SCHEDULER:
            return {"spec": {"mastersSchedulable": self.schedulable}}
        if key == ENDPOINTS:
            return {"data": dict(zip(MEMBERS, ADDRESSES, strict=True))}
        if key == LEASE:
            spec = {"holderIdentity": "h", "renewTime": micro(now), "leaseDurationSeconds": LEASE_SECONDS}
            return {"spec": spec}
        if key == ETCD:
            return {"status": {**_static_pods(round_), "conditions": conditions(settled, **_MEMBERS_WELL)}}
        if key == ROUTER:
            spec = {"nodePlacement": {"tolerations": [{"key": SET_ASIDE, "operator": "Exists"}]}}
            return {"spec": spec, "status": {"availableReplicas": 1 if pair.infrastructure == "SingleReplica" else 2}}
        if key == CONTROLLER_CONFIG:
            return _controller_config(pair, settled, round_)
        if key == CRD:
            return dict(_CRD)
        if key == ACCEPTED:
            return {"data": {}}
        if kind == OPERATORS:
            return {
                "status": {"conditions": conditions(settled, Available="True", Progressing="False", Degraded="False")}
            }
        if kind == POOLS:
            count = {MASTER_POOL: len(MASTERS), CUSTOM_POOL: _MACHINES}.get(key, len(self.workers))
            return pool(f"rendered-{key[2]}-{pair.control_plane}", count)
        if kind == NODES:
            return self.node(key[2], pair)
        if key in self.managers:
            return {"spec": {"managementState": "Managed", **({"replicas": 1} if key == REGISTRY else {})}}
        group, operand = self.operands[key]
        return _operand(operand, group.topology(pair), round_)

    def node(self, name: str, pair: TopologyPair) -> Raw:
        """A node that is well, by its name."""
        master = name in {*MASTERS, NEW_MASTER}
        roles = ["worker"] if not master else ["control-plane", "master"]
        if master and self.schedulable:
            roles.append("worker")
        made: Raw = {
            "metadata": {"labels": {f"node-role.kubernetes.io/{role}": "" for role in roles}},
            "spec": {},
            "status": {
                "capacity": {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "32Gi"},
                "conditions": conditions(BEGINNING, Ready="True"),
                "nodeInfo": {"kubeletVersion": "v1.34.2"},
            },
        }
        if master:
            address = dict(zip((*MASTERS, NEW_MASTER), (*ADDRESSES, "192.0.2.19"), strict=True))[name]
            made["status"]["addresses"] = [{"type": "InternalIP", "address": address}]
            made["metadata"]["annotations"] = {_ANNOTATION: pair.control_plane}
        return made


_LONG = timedelta(hours=1)
_ANNOTATION = "machineconfiguration.openshift.io/controlPlaneTopology"
_NOT_READY = "node.kubernetes.io/not-ready"
_MEMBERS_WELL = {"EtcdMembersAvailable": "True", "EtcdMembersDegraded": "False", "EtcdMembersProgressing": "False"}


def _static_pods(revision: int) -> Raw:
    statuses = [
        {"nodeName": name, "currentRevision": revision, "targetRevision": 0, "lastFailedRevision": 0}
        for name in MASTERS
    ]
    return {"latestAvailableRevision": revision, "nodeStatuses": statuses}


def _controller_config(pair: TopologyPair, settled: datetime, round_: int) -> Raw:
    said = conditions(settled, TemplateControllerCompleted="True", TemplateControllerFailing="False")
    return {
        "metadata": {"generation": round_},
        "spec": {"infra": {"status": {"controlPlaneTopology": pair.control_plane}}},
        "status": {"observedGeneration": round_, "conditions": said},
    }


def without_our_fields() -> Raw:
    """The definition of Infrastructure as a payload brings it that knows nothing of us."""
    found = copy.deepcopy(_CRD)
    for version in found["spec"]["versions"]:
        fields = version["schema"]["openAPIV3Schema"]["properties"]
        fields["spec"]["properties"].pop("desiredTopology", None)
        fields["status"]["properties"].pop("topologyTransition", None)
    return dict(found)


def pool(configuration: str, count: int) -> Raw:
    """A pool that has rolled that out."""
    counts = {"machineCount": count, "updatedMachineCount": count, "readyMachineCount": count, "observedGeneration": 1}
    return {
        "spec": {"configuration": {"name": configuration}},
        "status": {"configuration": {"name": configuration}, "degradedMachineCount": 0, **counts},
    }


def implied(operand: matrices.Operand, topology: str) -> int:
    """Replicas that a topology implies."""
    if operand.replicas is None:
        return 0
    if operand.replicas == "perConfiguration":
        return 1
    if isinstance(operand.replicas, str):
        return len(MASTERS)
    return {key.value: count for key, count in operand.replicas.items()}.get(topology, 1)


def _operand(operand: matrices.Operand, topology: str, round_: int) -> Raw | None:
    if operand.kind == "StaticPods":
        return {"status": _static_pods(round_)}
    if operand.kind == "PodDisruptionBudget":
        return None if topology == "SingleReplica" else {"spec": {"minAvailable": len(MASTERS) - 1}}
    count = implied(operand, topology)
    return {
        "metadata": {"generation": round_},
        "spec": {"replicas": count},
        "status": {
            "observedGeneration": round_,
            "replicas": count,
            "updatedReplicas": count,
            "readyReplicas": count,
            "availableReplicas": count,
        },
    }


def _without_label(role: str) -> Callable[[Raw], Raw]:
    return lambda _: {"metadata": {"labels": {f"node-role.kubernetes.io/{role}": None}}}


def _status(type_: str, status: str) -> Callable[[Raw], Raw]:
    def change(raw: Raw) -> Raw:
        found = [{**item, "status": status} if item["type"] == type_ else item for item in raw["status"]["conditions"]]
        return {"status": {"conditions": found}}

    return change


def _also(type_: str, status: str) -> Callable[[Raw], Raw]:
    return lambda raw: {"status": {"conditions": [*raw["status"]["conditions"], {"type": type_, "status": status}]}}


def _dropped(type_: str) -> Callable[[Raw], Raw]:
    return lambda raw: {
        "status": {"conditions": [item for item in raw["status"]["conditions"] if item["type"] != type_]}
    }


def _replaced(path: str, value: Any) -> Callable[[Raw], Raw]:
    def change(_: Raw) -> Raw:
        made: Any = value
        for part in reversed(path.split("/")):
            made = {part: made}
        return dict(made)

    return change


def _progressing(raw: Raw, reason: str) -> Raw:
    said = {"type": "Progressing", "status": "True", "reason": reason, "message": ""}
    found = [{**item, **said} if item["type"] == "Progressing" else item for item in raw["status"]["conditions"]]
    return {"status": {"conditions": found}}


def _failing_for_long(raw: Raw) -> Raw:
    said = {"type": "TemplateControllerFailing", "status": "True", "lastTransitionTime": stamp(BEGINNING - _LONG)}
    others = [item for item in raw["status"]["conditions"] if item["type"] != said["type"]]
    return {"status": {"conditions": [*others, said]}}


def _behind(raw: Raw) -> Raw:
    first, *others = raw["status"]["nodeStatuses"]
    latest = raw["status"]["latestAvailableRevision"] + 1
    return {
        "status": {
            "latestAvailableRevision": latest,
            "nodeStatuses": [{**first, "currentRevision": latest - 1, "targetRevision": latest}, *others],
        }
    }


def _member_named_after_a_node(raw: Raw) -> Raw:
    first = next(iter(raw["data"]), None)
    patch: Raw = {"node-0": "192.0.2.10"}
    return {"data": patch if first is None else {first: None, **patch}}


_STATIC_PODS = {"a revision behind": _behind, "conditions dropped": lambda _: {"status": {"nodeStatuses": None}}}
_WORKLOAD = {
    "none ready": _replaced("status", {"readyReplicas": 0, "availableReplicas": 0}),
    "one ready": _replaced("status", {"readyReplicas": 1, "availableReplicas": 1, "updatedReplicas": 1}),
    "not observed": _replaced("metadata/generation", 99),
}
_BY_KIND: dict[str, dict[str, Callable[[Raw], Raw]]] = {
    NODES: {
        "not ready": _status("Ready", "False"),
        "ready unknown": _status("Ready", "Unknown"),
        "cordoned": _replaced("spec/unschedulable", True),  # noqa: FBT003 - the value in the object
        "being deleted": _replaced("metadata/deletionTimestamp", "2026-03-01T12:00:00Z"),
        "small": _replaced("status/capacity/cpu", "2"),
        "little memory": _replaced("status/capacity/memory", "8Gi"),
        "small disk": _replaced("status/capacity/ephemeral-storage", "2Gi"),
        "all reserved": _replaced("status/allocatable", {"memory": "2Gi", "ephemeral-storage": "32Gi"}),
        "other kubelet": _replaced("status/nodeInfo/kubeletVersion", "v1.33.9"),
        "tainted": _replaced("spec/taints", [{"key": "a", "effect": "NoSchedule"}]),
        "set aside": _replaced("spec/taints", [{"key": SET_ASIDE, "value": "a", "effect": "NoExecute"}]),
        "unreachable": _replaced("spec/taints", [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]),
        "under pressure": _also("DiskPressure", "True"),
        "not ready by its taint": _replaced("spec/taints", [{"key": _NOT_READY, "effect": "NoSchedule"}]),
        "master label with a value": _replaced("metadata/labels", {"node-role.kubernetes.io/master": "yes"}),
        "no control-plane label": _without_label("control-plane"),
        "no master label": _without_label("master"),
        "no worker label": _without_label("worker"),
        "no address": _replaced("status/addresses", []),
        "malformed": _replaced("status/capacity", "lots"),
        "unannotated": _replaced("metadata/annotations", None),
        "annotated as a single node's": _replaced("metadata/annotations", {_ANNOTATION: "SingleReplica"}),
    },
    OPERATORS: {
        "progressing": _status("Progressing", "True"),
        "degraded": _status("Degraded", "True"),
        "unavailable": _status("Available", "False"),
        "says nothing": _dropped("Available"),
    },
    POOLS: {
        "rolling out": _replaced("spec/configuration/name", "rendered-other"),
        "degraded": _replaced("status/degradedMachineCount", 1),
        "not all ready": _replaced("status", {"readyMachineCount": 1, "updatedMachineCount": 1, "machineCount": 3}),
        "not observed": _replaced("status/observedGeneration", 0),
        "paused": _replaced("spec/paused", True),  # noqa: FBT003 - the value in the object
        "paused behind": _replaced("spec", {"paused": True, "configuration": {"name": "rendered-other"}}),
        "rendering fails": _replaced("status/conditions", [{"type": "RenderDegraded", "status": "True"}]),
        "at a single node's configuration": lambda raw: pool(
            f"rendered-{raw['metadata']['name']}-SingleReplica", raw["status"]["machineCount"]
        ),
    },
    "deployments.apps": _WORKLOAD,
    "statefulsets.apps": _WORKLOAD,
    "poddisruptionbudgets.policy": {"lets two go": _replaced("spec/minAvailable", 1)},
}
_REGISTRY: dict[str, Callable[[Raw], Raw]] = {
    "three replicas asked for": _replaced("spec/replicas", 3),
    "removed": _replaced("spec/managementState", "Removed"),
    "says no number": _replaced("spec/replicas", None),
}
_BY_KEY: dict[Key, dict[str, Callable[[Raw], Raw]]] = {
    servers.VERSION: {"upgrading": _status("Progressing", "True"), "progress unknown": _dropped("Progressing")},
    SCHEDULER: {"masters not schedulable": _replaced("spec/mastersSchedulable", None)},
    ENDPOINTS: {
        "a member less": _replaced("data/cafe", None),
        "a name for a member": _member_named_after_a_node,
        "a member elsewhere": _replaced("data/cafe", "192.0.2.99"),
        "two at one address": _replaced("data/cafe", "192.0.2.10"),
        "empty": lambda raw: {"data": dict.fromkeys(raw["data"])},
    },
    ETCD: {
        "members degraded": _status("EtcdMembersDegraded", "True"),
        "members progressing": _status("EtcdMembersProgressing", "True"),
        "availability unknown": _status("EtcdMembersAvailable", "Unknown"),
        "silent": _dropped("EtcdMembersDegraded"),
        "rules for one voter": _replaced("spec/unsupportedConfigOverrides", _ONE_VOTER),
        **_STATIC_PODS,
    },
    LEASE: {
        "expired": _replaced("spec/renewTime", "2026-03-01T09:00:00.000000Z"),
        "nobody's": _replaced("spec/holderIdentity", None),
        "malformed": _replaced("spec/leaseDurationSeconds", "long"),
    },
    REGISTRY: _REGISTRY,
    CONSOLE: {
        "restarting": lambda raw: _progressing(raw, RESTARTING),
        "progressing": lambda raw: _progressing(raw, "SomethingElse"),
        **{name: _BY_KIND[OPERATORS][name] for name in ("degraded", "unavailable", "says nothing")},
    },
    ROUTER: {
        "one router": _replaced("status/availableReplicas", 1),
        "no router": _replaced("status/availableReplicas", 0),
    },
    CONTROLLER_CONFIG: {
        "templates failing": _status("TemplateControllerFailing", "True"),
        "whether templates fail is unknown": _status("TemplateControllerFailing", "Unknown"),
        "templates have failed for long": _failing_for_long,
        "templates not completed": _status("TemplateControllerCompleted", "False"),
        "not observed": _replaced("metadata/generation", 99),
        "other topology": _replaced("spec/infra/status/controlPlaneTopology", "DualReplica"),
    },
}


def harms(key: Key) -> dict[str, Callable[[Raw], Raw]]:
    """Ways in which this object can go wrong: a name, and the merge patch for its present state."""
    if key in _BY_KEY:
        return _BY_KEY[key]
    if key[0] in _BY_KIND:
        return _BY_KIND[key[0]]
    return _STATIC_PODS
