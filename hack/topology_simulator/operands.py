"""What the operators of a cluster deploy, and how much of it for which topology: objects of openshift.yaml. Pure.

`actors` let these objects follow in their own time; `follow` does it at once; `cluster` installs them.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import yaml

from . import conditions, kinds, machines, shape

REVISION = 9
"""Of every static pod when the cluster is installed."""
_IMAGE = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:"
_SINGLE = "SingleReplica"
Follows = Literal["controlPlaneTopology", "infrastructureTopology", "masters", "registry"]


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment or StatefulSet. `operator` is the ClusterOperator that answers for it."""

    operator: str
    namespace: str
    name: str
    follows: Follows
    kind: kinds.Kind = kinds.DEPLOYMENTS
    capability: str = ""
    """Without which it does not exist."""
    managed_by: kinds.Kind | None = None
    """Kind of the configuration `cluster` that may say Removed."""

    @property
    def key(self) -> str:
        """What it is called here: namespace/name."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class StaticPods:
    """Static pods that an operator installs on every node labelled master, and the budget of their guards."""

    operator: str
    kind: kinds.Kind
    namespace: str
    budget: str
    differs: bool = False
    """Whether a single node has another configuration than several, so that leaving it makes a new revision."""


@dataclass(frozen=True, slots=True)
class Reader:
    """An operator's own pod, by its label `app`, and its Lease."""

    namespace: str
    app: str
    lease: str
    keeps: str = ""
    """Deployment beside it that gets two replicas once it has been started on several nodes."""


def _with_kinds(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: kinds.named(value) if key in ("kind", "managed_by") else value for key, value in entry.items()}


WORKLOADS = tuple(Workload(**_with_kinds(entry)) for entry in kinds.ACCOUNT["workloads"])
MACHINE_CONFIG_OPERATOR = Workload(
    "machine-config", "openshift-machine-config-operator", "machine-config-operator", "masters"
)
"""Not among them: it has one replica always. `oc adm upgrade status` reads its image."""
STATIC_PODS = tuple(StaticPods(**_with_kinds(entry)) for entry in kinds.ACCOUNT["static_pods"])
READERS = tuple(Reader(**entry) for entry in kinds.ACCOUNT["readers"])
CAPABILITIES: tuple[shape.Capability, ...] = get_args(shape.Capability)
_ALERTMANAGER = "openshift-monitoring/alertmanager-main"
MONITORING = ("cluster-monitoring-config", "openshift-monitoring")
"""Name and namespace of the ConfigMap in which an administrator configures monitoring."""


def namespaces(absent: Collection[str] = ()) -> set[str]:
    """Return the namespaces of what operators deploy, without those of capabilities that are not there."""
    there = {operand.namespace for operand in WORKLOADS if operand.capability not in absent}
    there |= {operand.namespace for operand in STATIC_PODS}
    return there | {operand.namespace for operand in READERS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What operators look at before they decide: topologies, nodes labelled master, capabilities, configurations."""

    topology: Mapping[str, str]
    masters: int
    absent: frozenset[str] = frozenset()
    """Capabilities that the cluster does not have."""
    configurations: Mapping[kinds.Kind, Mapping[str, Any]]
    """Spec of the configurations `cluster`, by kind."""
    alertmanager: bool = True
    """Whether the monitoring configuration lets there be one."""

    @property
    def single(self) -> bool:
        """Is the control plane one of a single node?"""
        return self.topology.get("controlPlaneTopology") == _SINGLE

    def wanted(self, workload: Workload) -> int | None:
        """Return how many replicas its operator wants, None when there is to be no such workload."""
        if workload.capability in self.absent or (workload.key == _ALERTMANAGER and not self.alertmanager):
            return None
        configuration = self.configurations.get(workload.managed_by) or {} if workload.managed_by else {}
        if configuration.get("managementState") == "Removed":
            return None
        if workload.follows == "masters":
            return max(1, self.masters)
        if workload.follows == "registry":
            return int(configuration.get("replicas") or 1)
        return 1 if self.topology.get(workload.follows) == _SINGLE else 2


def sight(
    infrastructure: Mapping[str, Any] | None,
    nodes: Iterable[Mapping[str, Any]],
    version: Mapping[str, Any] | None,
    configurations: Mapping[kinds.Kind, Mapping[str, Any] | None],
    monitoring: Mapping[str, Any] | None = None,
) -> Sight:
    """Look at a cluster's objects; `monitoring` is its ConfigMap MONITORING."""
    config = yaml.safe_load(((monitoring or {}).get("data") or {}).get("config.yaml") or "") or {}
    capabilities = ((version or {}).get("status") or {}).get("capabilities") or {}
    known = frozenset(capabilities.get("knownCapabilities") or ())
    return Sight(
        topology=(infrastructure or {}).get("status") or {},
        masters=sum(machines.LABEL + "master" in (node["metadata"].get("labels") or {}) for node in nodes),
        absent=known - frozenset(capabilities.get("enabledCapabilities") or ()),
        configurations={kind: (obj or {}).get("spec") or {} for kind, obj in configurations.items()},
        alertmanager=(config.get("alertmanagerMain") or {}).get("enabled", True),
    )


def routers(topology: Mapping[str, Any]) -> int:
    """Return how many routers the ingress operator wants when no number is written.

    On platforms None and External the default placement is the control plane, whose topology then decides.
    """
    decides = "controlPlaneTopology" if topology.get("platform") in ("None", "External") else "infrastructureTopology"
    return 1 if topology.get(decides) == "SingleReplica" else 2


def workload(operand: Workload, replicas: int) -> dict[str, Any]:
    """Return the object with its status, all of it ready."""
    words = {"name": operand.name, "image": _IMAGE + machines.digest("image of", operand.key)}
    spec: dict[str, Any] = kinds.filled(kinds.ACCOUNT["workload"], replicas=replicas, **words)
    if operand.kind is kinds.STATEFUL_SETS:
        spec["serviceName"] = operand.name
    return operand.kind.new(
        operand.name, operand.namespace, spec=spec, status=workload_status(operand, 1, replicas, replicas)
    )


def workload_status(operand: Workload, generation: int, replicas: int, ready: int) -> dict[str, Any]:
    """Return what the controllers of Deployments and StatefulSets write."""
    part = kinds.ACCOUNT["workload_status"]
    status: dict[str, Any] = kinds.filled(part, generation=generation, replicas=replicas, ready=ready)
    return status if operand.kind is kinds.STATEFUL_SETS else {**status, "unavailableReplicas": replicas - ready}


def observed_config(*, single: bool) -> dict[str, Any]:
    """Return what the kube-apiserver operator makes of the topology: a single node shuts down without delay."""
    # The same keys either way: a merge patch from one to the other leaves nothing behind.
    delay, chance = ("0s", "0") if single else ("70s", "0.001")
    return {"apiServerArguments": {"shutdown-delay-duration": [delay], "goaway-chance": [chance]}}


def node_statuses(names: Iterable[str], revision: int) -> list[dict[str, Any]]:
    """Return the static pods of these nodes, all at one revision."""
    return [{"nodeName": name, "currentRevision": revision, "targetRevision": 0} for name in names]


def budget(operand: StaticPods, masters: int) -> dict[str, Any]:
    """Return the PodDisruptionBudget of the guard pods."""
    parts = kinds.filled(kinds.ACCOUNT["budget"], masters=masters, needed=masters - 1)
    return kinds.DISRUPTION_BUDGETS.new(operand.budget, operand.namespace, **parts)


def optional(versions: Iterable[dict[str, Any]]) -> list[Reader]:
    """Return the operators of these ClusterServiceVersions, by the name of their Deployment and our annotations."""
    readers = []
    for version in versions:
        meta, (deployment,) = version["metadata"], version["spec"]["install"]["spec"]["deployments"]
        notes = [(meta.get("annotations") or {}).get(f"topology-simulator/{name}", "") for name in ("lease", "keeps")]
        readers.append(Reader(meta["namespace"], deployment["name"], *notes))
    return readers


def reader(operand: Reader, number: int = 0) -> dict[str, Any]:
    """Return an operator's pod; `number` counts how often it was made anew."""
    tail = machines.digest("pod", operand.app, number)
    container = {"name": operand.app, "image": _IMAGE + machines.digest("image of", operand.app)}
    status = {"phase": "Running", "startTime": conditions.now()}
    # No node: an unbound pod goes at once when it is deleted, and here is no kubelet to let it go.
    name = f"{operand.app}-{tail[:9]}-{tail[9:14]}"
    pod = kinds.PODS.new(name, operand.namespace, spec={"containers": [container]}, status=status)
    pod["metadata"]["labels"] = {"app": operand.app}
    return pod


def installed(seen: Sight, masters: int) -> list[dict[str, Any]]:
    """Return every operand of a cluster that has been at rest for long."""
    objects = []
    for operand in WORKLOADS:
        replicas = seen.wanted(operand)
        if replicas is not None:
            objects.append(workload(operand, replicas))
    if not seen.single:
        objects += [budget(operand, masters) for operand in STATIC_PODS]
    for operator in READERS:
        pod = reader(operator)
        spec = lease_spec(f"{pod['metadata']['name']}_0", 0, single=seen.single)
        objects += [pod, kinds.LEASES.new(operator.lease, operator.namespace, spec=spec)]
    return objects


def lease_spec(holder: str, transitions: int, *, single: bool = True) -> dict[str, Any]:
    """Return the spec of a Lease that was renewed now by a holder that was started on such a topology.

    The times are those of library-go pkg/config/leaderelection/leaderelection.go (93ac9206a).
    """
    head = {"holderIdentity": holder, "leaseDurationSeconds": 270 if single else 137, "leaseTransitions": transitions}
    return {**head, "acquireTime": conditions.now_micro(), "renewTime": conditions.now_micro()}
