"""Nodes, and the Machines and bare-metal hosts that stand under the control plane: as facts, and how each is read.

There may be thousands of nodes, each with a heartbeat: what changes with every one of them makes no other fact, and
equal words are one object. Of Machines only `machine.openshift.io` is read, as the etcd operator does: a Machine
mirrored from `cluster.x-k8s.io` is in it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from topology_api import quantities

from . import fields

Raw = dict[str, Any]

NAMESPACE = "openshift-machine-api"
ROLE_LABEL = "machine.openshift.io/cluster-api-machine-role"
SELECTOR = f"{ROLE_LABEL} in (master,arbiter)"
"""The Machines that the etcd operator lists (cluster-etcd-operator pkg/operator/starter.go)."""
HOST_ANNOTATION = "metal3.io/BareMetalHost"
HOOK = "EtcdQuorumOperator"
_HOOK_OWNER = "clusteroperator/etcd"
_LONGEST_WORD = 64
CONTROL_PLANE_LABEL = "node-role.kubernetes.io/control-plane"
MASTER_LABEL = "node-role.kubernetes.io/master"
WORKER_LABEL = "node-role.kubernetes.io/worker"
_OBSERVED_TOPOLOGY = "machineconfiguration.openshift.io/controlPlaneTopology"
# One object for each word, however many nodes say it.
_PRESSURES = {word: word for word in ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")}
_STATUSES = {word: word for word in ("True", "False", "Unknown")}
_LONGEST_LABEL = 400  # a key (prefix 253, name 63) and its value (63)


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node that keeps pods away, with effect NoSchedule or NoExecute."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Node:
    """A node with the label `node-role.kubernetes.io/control-plane`, or a worker (`worker`)."""

    name: str
    master: bool | None  # labelled so with an empty value, as operators select it; None: with another one
    worker: bool
    ready: str
    cordoned: bool
    deleting: bool
    kubelet_version: str | None = None
    cpus: float | None = None
    memory: float | None = None  # bytes, as the two below: what the kubelet leaves to pods (`status.allocatable`)
    free_memory: float | None = None
    free_storage: float | None = None
    addresses: tuple[str, ...] = ()
    taints: tuple[Taint, ...] = ()
    observed_topology: str | None = None  # by which the machine config daemon goes
    pressure: tuple[str, ...] = ()  # conditions of lack that are True
    labels: tuple[str, ...] = ()  # key=value, of a worker with taints


@dataclass(frozen=True, slots=True)
class OtherNode:
    """A node without the label control-plane, known by its metadata. A `master` among them is a candidate."""

    name: str
    master: bool | None  # as above
    arbiter: bool

    @property
    def dedicated_worker(self) -> bool:
        """A machine that carries workloads only."""
        return self.master is False and not self.arbiter


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration without tolerationSeconds: with them a pod does not stay."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, taint: Taint) -> bool:
        """Source: kubernetes staging/src/k8s.io/api/core/v1/toleration.go (master), Exists and Equal."""
        if self.effect not in {"", taint.effect}:
            return False
        if self.operator == "Exists":
            return self.key in {"", taint.key}
        return self.operator == "Equal" and (self.key, self.value) == (taint.key, taint.value)


@dataclass(frozen=True, slots=True)
class Machine:
    """A Machine with role master or arbiter; `guarded`: it has the preDrain hook of the etcd operator."""

    name: str
    arbiter: bool = False
    phase: str = ""
    addresses: tuple[str, ...] = ()
    node: str | None = None
    deleting: bool = False
    guarded: bool = False
    authority: str | None = None  # None where machines are not migrated
    host: str | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Host:
    """A BareMetalHost (metal3.io/v1alpha1); `consumer` is a Machine."""

    name: str
    state: str = ""
    deleting: bool = False
    consumer: str | None = None
    failed: bool = False
    powered_on: bool = True
    trouble: str = ""


def node(raw: Raw) -> Node:
    """Node (v1) of the control plane."""
    labels = fields.mapping(raw, "metadata.labels")
    capacity = fields.mapping(raw, "status.capacity")
    # Where a kubelet has none, the API server puts the capacity: kubernetes pkg/apis/core/v1/defaults.go (v1.36.3).
    allocatable = fields.mapping(raw, "status.allocatable") or capacity
    return _node(
        raw,
        labels,
        master=_master(labels),
        worker=WORKER_LABEL in labels,
        kubelet_version=_word(raw, "status.nodeInfo.kubeletVersion") or None,
        cpus=quantities.parse(capacity.get("cpu")),
        memory=quantities.parse(capacity.get("memory")),
        free_memory=quantities.parse(allocatable.get("memory")),
        free_storage=quantities.parse(allocatable.get("ephemeral-storage")),
        addresses=fields.internal_addresses(raw),
        observed_topology=(_annotation(raw, _OBSERVED_TOPOLOGY) or "")[:_LONGEST_WORD] or None,
    )


def worker(raw: Raw) -> Node:
    """Node (v1) that carries workloads only: whether it could carry more, and nothing else, which costs time."""
    return _node(raw, fields.mapping(raw, "metadata.labels"), master=False, worker=True)


def _node(raw: Raw, labels: Raw, *, worker: bool, **more: Any) -> Node:
    ready, pressure = _states(raw)
    taints = _taints(raw)
    pairs = [f"{key}={value}" for key, value in labels.items()] if worker and taints else []
    return Node(
        name=fields.name(raw),
        worker=worker,
        ready=ready,
        cordoned=fields.flag(raw, "spec.unschedulable"),
        deleting=fields.text(raw, "metadata.deletionTimestamp") is not None,
        taints=taints,
        pressure=pressure,
        labels=tuple(sorted([_shared(pair) for pair in pairs if len(pair) <= _LONGEST_LABEL])),
        **more,
    )


def _states(raw: Raw) -> tuple[str, tuple[str, ...]]:
    """Status of condition Ready, and the conditions of lack that are True: no answer depends on anything else."""
    ready, pressure = "absent", []
    for item in fields.items(raw, "status.conditions"):
        type_ = item.get("type")
        if type_ == "Ready" and ready == "absent":
            ready = _STATUSES.get(fields.text(item, "status") or "", "Unknown")
        elif isinstance(type_, str) and type_ in _PRESSURES and item.get("status") == "True":
            pressure.append(_PRESSURES[type_])
    return ready, tuple(sorted(pressure))


def _master(labels: Raw) -> bool | None:
    return None if labels.get(MASTER_LABEL) else MASTER_LABEL in labels


@functools.lru_cache(maxsize=1024)
def _shared(text: str) -> str:
    """One object for equal texts: thousands of nodes have the same labels. Bounded, unlike `sys.intern`."""
    return text


_taint = functools.lru_cache(maxsize=64)(Taint)


def _taints(raw: Raw) -> tuple[Taint, ...]:
    taints = (
        _taint(*((fields.text(item, part) or "")[:_LONGEST_LABEL] for part in ("key", "value", "effect")))
        for item in fields.items(raw, "spec.taints")
        if fields.text(item, "effect") in {"NoSchedule", "NoExecute"}
    )
    return tuple(sorted(taints, key=str))


def _annotation(raw: Raw, name: str) -> str | None:
    value = fields.mapping(raw, "metadata.annotations").get(name)
    if value is not None and not isinstance(value, str):
        raise fields.Malformed(f"metadata.annotations[{name}]", "a string", value)
    return value or None


def other_node(raw: Raw) -> OtherNode:
    """Node (v1) without the label control-plane, from its metadata alone."""
    labels = fields.mapping(raw, "metadata.labels")
    name, arbiter = fields.text(raw, "metadata.name") or "", "node-role.kubernetes.io/arbiter" in labels
    return OtherNode(name, _master(labels), arbiter)


def machine(raw: Raw) -> Machine:
    """Machine (machine.openshift.io/v1beta1)."""
    hooks = fields.items(raw, "spec.lifecycleHooks.preDrain")
    namespace, _, name = (_annotation(raw, HOST_ANNOTATION) or "").rpartition("/")
    return Machine(
        name=fields.name(raw),
        arbiter=fields.mapping(raw, "metadata.labels").get(ROLE_LABEL) == "arbiter",
        phase=_word(raw, "status.phase"),
        addresses=fields.internal_addresses(raw),
        node=fields.text(raw, "status.nodeRef.name"),
        deleting=fields.text(raw, "metadata.deletionTimestamp") is not None,
        guarded=any((hook.get("name"), hook.get("owner")) == (HOOK, _HOOK_OWNER) for hook in hooks),
        authority=_word(raw, "status.authoritativeAPI") or None,
        # namespace/name; a host elsewhere is not read.
        host=(name or None) if namespace in {"", NAMESPACE} else None,
        trouble=_trouble(raw, "status.errorMessage") or _trouble(raw, "status.errorReason"),
    )


def host(raw: Raw) -> Host:
    """BareMetalHost (metal3.io/v1alpha1): most of it is an inventory of hardware, which is not kept."""
    consumer = fields.text(raw, "spec.consumerRef.kind") == "Machine"
    return Host(
        name=fields.name(raw),
        state=_word(raw, "status.provisioning.state"),
        deleting=fields.text(raw, "metadata.deletionTimestamp") is not None,
        consumer=fields.text(raw, "spec.consumerRef.name") if consumer else None,
        failed=fields.text(raw, "status.operationalStatus") == "error",
        powered_on=fields.at(raw, "status.poweredOn", bool, "a boolean") is not False,
        trouble=_trouble(raw, "status.errorMessage"),
    )


def _word(raw: Raw, path: str) -> str:
    return (fields.text(raw, path) or "")[:_LONGEST_WORD]


def _trouble(raw: Raw, path: str) -> str:
    return " ".join((fields.text(raw, path) or "").split())[:256]
