"""The facts that checks and decisions are made from: small, frozen, comparable.

Two facts that are equal lead to the same answers and the same messages, so a changed object that leads to an equal
fact wakes no reader. What could not be read is a fact too: `Unobserved` names the object and the reason, and every
check that needs it answers Unknown. Made by `parse`, used by `checks` and `decide`.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from topology_api.types import RecordCopy, TopologyTransition

    from . import machines as under

T = TypeVar("T")


class Kind(enum.Enum):
    """Why a fact could not be read."""

    UNANSWERED = enum.auto()
    """No answer that says it: the server could not be reached, or what it says is not enough."""
    MISSING = enum.auto()
    """The server answered that the object does not exist, or that it does not serve its kind."""
    FORBIDDEN = enum.auto()
    """A right is missing."""
    MALFORMED = enum.auto()
    """It was read, and is not what its API promises: waiting does not help."""
    AWAITED = enum.auto()
    """Its first read has not ended yet."""


@dataclass(frozen=True, slots=True)
class Unobserved:
    """A fact that could not be read.

    `what` names the object, `why` the reason, in words that hold neither a time nor a counter: the same trouble is the
    same value. They are for people; code goes by `kind`.
    """

    what: str
    why: str
    kind: Kind = Kind.UNANSWERED

    @property
    def missing(self) -> bool:
        """Does it not exist, by an answer of the server?"""
        return self.kind is Kind.MISSING

    @property
    def awaited(self) -> bool:
        """Is its first read still under way?"""
        return self.kind is Kind.AWAITED

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


NOT_READ = Unobserved("it", "not read yet", kind=Kind.AWAITED)


@dataclass(frozen=True, slots=True)
class Newer(Unobserved):
    """A record in a phase that this version does not know: a newer version wrote it."""

    phase: str = ""
    name: str | None = None
    target: str | None = None
    """Control plane topology that it leads to, where it says so."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition as another operator reports it."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of one object."""

    items: tuple[Condition, ...] = ()

    def find(self, type_: str) -> Condition | None:
        """The condition of that type, if it is there."""
        for item in self.items:
            if item.type == type_:
                return item
        return None

    def status(self, type_: str) -> str:
        """True, False, Unknown, whatever else was written, or "absent"."""
        condition = self.find(type_)
        return condition.status if condition else "absent"

    def __iter__(self) -> Iterator[Condition]:
        return iter(self.items)


@dataclass(frozen=True, slots=True)
class LoadBalancer:
    """What Infrastructure says of what stands before the control plane."""

    type: str | None = None
    """loadBalancer.type of the platform, None when it is not set."""
    addresses: tuple[str, ...] = ()
    """apiServerInternalIPs of the platform in their shortest form: virtual addresses that the cluster keeps itself."""
    api_host: str | None = None
    """Host of status.apiServerURL, an address in its shortest form; None when there is none that can be read."""
    api_internal_host: str | None = None
    """Host of status.apiServerInternalURI."""


@dataclass(frozen=True, slots=True)
class Backends:
    """Annotation LOAD_BALANCER_BACKENDS_ANNOTATION: where the load balancer leads, as an administrator says."""

    addresses: tuple[str, ...] = ()
    """In their shortest form and in their order, each once."""
    wrong: tuple[tuple[int, str], ...] = ()
    """Entries that are no address, with their position, counted from 1."""
    repeated: tuple[str, ...] = ()
    """Addresses that are there more than once."""
    too_long: bool = False
    """It is longer than it may be, and was not read."""


@dataclass(frozen=True, slots=True)
class Infrastructure:
    """Infrastructure `cluster`: the request, the topology, our record."""

    uid: str
    resource_version: str
    generation: int
    desired: str | None
    native_desired: str | None
    """`spec.controlPlaneTopology`, which the native controller reads."""
    control_plane: str | None
    infrastructure: str | None
    platform: str | None
    image_based_install: bool
    record: TopologyTransition | Unobserved | None
    """None when there is none; Unobserved when what is there is not what the schema promises, and `Newer` when it comes
    from a version that knows more phases."""
    raw_record: dict[str, Any] | None = dataclasses.field(repr=False)
    """The record as it stands on the server: a merge patch is made against it."""
    topology_writer: str | None
    """Field manager that wrote one of the two topologies last (metadata.managedFields)."""
    cluster_name: str | None = None
    """status.infrastructureName, which the installer gave it."""
    load_balancer: Fact[LoadBalancer] = LoadBalancer()
    """Unobserved when what stands there is not what the API promises."""


@dataclass(frozen=True, slots=True)
class OwnOperator:
    """ClusterOperator `topology`: our last report, and what administrators set on it."""

    resource_version: str
    paused: bool
    status: dict[str, Any] = dataclasses.field(repr=False)
    copy: RecordCopy | None = None
    """Head of the record, in case Infrastructure lost it."""
    backup_time: datetime | None = None
    """Last backup of etcd according to an administrator (ETCD_BACKUP_ANNOTATION); None when it is no time."""
    backends: Backends | None = None
    """Where the load balancer leads according to an administrator; None when nothing says so."""
    router_drain_accepted: bool = False
    """Does an administrator accept that the only router is drained (ROUTER_DRAIN_ANNOTATION)?"""
    elsewhere: bool = False
    """Does the operator run in another cluster (ELSEWHERE_ANNOTATION)?"""


@dataclass(frozen=True, slots=True)
class ClusterOperator:
    """Another operator's report."""

    name: str
    conditions: Conditions
    settled_time: datetime | None = None
    """lastTransitionTime of its condition Progressing."""
    backup_time: datetime | None = None
    """lastTransitionTime of its condition RecentBackup, only while that is True (the etcd operator writes it)."""


@dataclass(frozen=True, slots=True)
class ClusterVersion:
    """ClusterVersion `version`."""

    version: str | None
    conditions: Conditions
    newest: str | None = None
    """Version of the newest entry of its history, completed or not."""
    known_capabilities: frozenset[str] = frozenset()
    enabled_capabilities: frozenset[str] = frozenset()

    def lacks(self, capability: str) -> bool:
        """Is this a capability that the payload has and the cluster does not?"""
        return capability in self.known_capabilities and capability not in self.enabled_capabilities


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node that keeps pods away, with effect NoSchedule or NoExecute."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"

    @property
    def of_node_state(self) -> bool:
        """Is it about the state of the node (not-ready, disk-pressure, ...), not about its purpose?"""
        return self.key.startswith("node.kubernetes.io/")


@dataclass(frozen=True, slots=True)
class Node:
    """A node with the label `node-role.kubernetes.io/control-plane`."""

    name: str
    master: bool
    """Labelled `node-role.kubernetes.io/master` with an empty value, as operators select it."""
    worker: bool
    ready: str
    cordoned: bool
    deleting: bool
    kubelet_version: str | None = None
    cpus: float | None = None
    memory_bytes: int | None = None
    addresses: tuple[str, ...] = ()
    """InternalIP addresses in their shortest form."""
    taints: tuple[Taint, ...] = ()
    observed_topology: str | None = None
    """Annotation `machineconfiguration.openshift.io/controlPlaneTopology`, by which the machine config daemon goes."""
    pressure: tuple[str, ...] = ()
    """Conditions of lack that are True: MemoryPressure, DiskPressure, PIDPressure, NetworkUnavailable."""
    labels: tuple[str, ...] = ()
    """Labels as key=value of a worker with taints, by which pods that tolerate these may select it; else empty."""
    master_has_value: bool = False
    """Its label `node-role.kubernetes.io/master` has a value."""


@dataclass(frozen=True, slots=True)
class OtherNode:
    """A node without the label `node-role.kubernetes.io/control-plane`, known by its metadata only."""

    name: str
    master: bool
    """Labelled master (with an empty value) but not control-plane: a candidate that lacks a label."""
    arbiter: bool
    master_has_value: bool = False
    """Labelled master with a value: a candidate whose label is wrong."""

    @property
    def dedicated_worker(self) -> bool:
        """A machine that carries workloads only."""
        return not self.master and not self.master_has_value and not self.arbiter


@dataclass(frozen=True, slots=True)
class Scheduler:
    """Scheduler `cluster`."""

    masters_schedulable: bool


@dataclass(frozen=True, slots=True)
class EtcdEndpoints:
    """ConfigMap openshift-etcd/etcd-endpoints: key to address, as the etcd operator wrote them."""

    entries: tuple[tuple[str, str], ...]


UNSAFE_SCALING = "useUnsupportedUnsafeNonHANonProductionUnstableEtcd"
"""Key of `spec.unsupportedConfigOverrides` of Etcd `cluster`, which the etcd operator reads."""


@dataclass(frozen=True, slots=True)
class Etcd:
    """Etcd `cluster`: what the etcd operator reports of the members, and the revisions of their static pods."""

    conditions: Conditions
    static_pods: Fact[StaticPods] = NOT_READ
    unsafe_scaling: Fact[bool] = NOT_READ
    """Does an override keep the rules for one voter, whatever the topology is?"""
    desired_replicas: int | None = None
    """How many members the etcd operator wants: `controlPlane.replicas` of its observed configuration, which comes from
    the install-config, unless an override says otherwise. None when it is no number."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Lease of another operator, and what was seen of it by our own clock.

    `moving`: a watch saw it renewed within its own duration. `silent`: nothing was seen of its holder for the grace
    that it has (`decide.applicability`). `taken`: its holder has changed within that time.
    """

    holder: str
    renew_time: datetime | None
    duration_seconds: int | None
    moving: bool = False
    silent: bool = False
    taken: bool = False


@dataclass(frozen=True, slots=True)
class LeaderLease:
    """Lease by which some program elects its leader. `duration_seconds` is what the holder chose when it started."""

    namespace: str
    name: str
    holder: str
    duration_seconds: int | None
    renew_time: datetime | None


@dataclass(frozen=True, slots=True)
class EtcdMember:
    """A member as a member list has it. Ids are spelt as the keys of the ConfigMap etcd-endpoints."""

    id: str
    name: str
    """Empty until it has started."""
    learner: bool = False


@dataclass(frozen=True, slots=True)
class EtcdVoice:
    """What a member answered at one endpoint.

    `confirmed`: `members` came through the quorum. Otherwise it is this member's own opinion (empty when it gave none),
    `unconfirmed` is the reason, and it proves nothing. `errors` are in etcd's words: alarms, no leader.
    """

    endpoint: str
    member: str
    cluster: str
    members: tuple[EtcdMember, ...]
    confirmed: bool
    leader: str | None
    term: int
    learner: bool = False
    healthy: Fact[bool] = True
    errors: tuple[str, ...] = ()
    unconfirmed: str = ""


@dataclass(frozen=True, slots=True)
class EtcdSilence:
    """An endpoint that gave no usable answer. `members` advertise it; `down`: they may be down."""

    endpoint: str
    members: tuple[str, ...]
    why: str
    down: bool = False


@dataclass(frozen=True, slots=True)
class EtcdMembers:
    """The answers of etcd's members themselves, by endpoint. At least one of them answered."""

    voices: tuple[EtcdVoice, ...]
    silences: tuple[EtcdSilence, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineConfigPool:
    """A machine config pool."""

    name: str
    wanted_configuration: str
    configuration: str
    machines: int
    updated: int
    ready: int
    degraded: int
    observed: bool
    """status.observedGeneration is the generation."""
    paused: bool = False
    """spec.paused: its nodes take no new configuration."""
    troubles: tuple[str, ...] = ()
    """Conditions Degraded and RenderDegraded, those that are True."""


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    """ControllerConfig machine-config-controller: the topology that machine configs are made for.

    Its generation and TemplateControllerCompleted are left out: every write to Infrastructure moves both
    (machine-config-operator pkg/operator/sync.go, lib/resourceapply/machineconfig.go; release-4.20 to main).
    """

    control_plane: str | None
    """spec.infra.status.controlPlaneTopology."""
    failing: str
    """Status of condition TemplateControllerFailing, "absent" when there is none."""
    failing_since: datetime | None = None
    """lastTransitionTime of that condition, only while it is True."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment or StatefulSet."""

    generation: int
    observed: bool
    """status.observedGeneration is the generation."""
    wanted: int
    """spec.replicas; 1 when it is not set, as the API server defaults it."""
    updated: int
    ready: int
    available: int


@dataclass(frozen=True, slots=True)
class NodeRevision:
    """Static pods of one node (status.nodeStatuses of their operator's resource)."""

    node: str
    current: int
    target: int
    last_failed: int


@dataclass(frozen=True, slots=True)
class StaticPods:
    """Revisions of the static pods that an operator installs on every control-plane node, sorted by node."""

    latest: int
    """status.latestAvailableRevision."""
    nodes: tuple[NodeRevision, ...]
    observed_time: datetime | None = None
    """When spec.observedConfig was last written, at the latest (metadata.managedFields); None: with the object, or
    not known. What its operator makes of it comes after that."""
    observed_single: bool | None = None
    """Does spec.observedConfig belong to a single node (kube-apiserver)? None: not known."""


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A PodDisruptionBudget. `min_available` is None when it is not given as a number."""

    min_available: int | None


@dataclass(frozen=True, slots=True)
class Managed:
    """Configuration of an operator: whether it manages its operand at all, and an explicit number of replicas."""

    state: str
    """spec.managementState: Managed, Unmanaged, Removed, Force; Managed when it is not set."""
    replicas: int | None
    """Explicit spec.replicas."""


@dataclass(frozen=True, slots=True)
class SingleNodeSetting:
    """One object that may have a setting that is right for one node only."""

    name: str
    namespace: str | None
    present: bool
    """Does it have one of the values that are?"""


@dataclass(frozen=True, slots=True)
class Present:
    """An object of which only the existence matters."""


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
class IngressController:
    """IngressController openshift-ingress-operator/default."""

    wanted_replicas: int | None
    """Explicit spec.replicas; None means that the ingress operator decides."""
    available_replicas: int
    tolerations: tuple[Toleration, ...] = ()
    """spec.nodePlacement.tolerations, which the routers get."""
    node_labels: frozenset[str] = frozenset()
    """Labels as key=value that spec.nodePlacement.nodeSelector requires of a node. A requirement that the ingress
    operator cannot use is in it too, in words that no label has."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A check that an administrator accepts not to wait for. `wrong`: why the entry cannot be used, if it cannot."""

    check: str
    attempt: str = ""
    reason: str = ""
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Acceptances:
    """ConfigMap topology-accepted-checks of the operator's namespace, sorted by the name of the check."""

    items: tuple[Acceptance, ...] = ()


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """FeatureGate `cluster`: versions of the payload and whether MutableTopology is enabled for each."""

    mutable_topology: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class NativeController:
    """configs.operator.openshift.io/cluster: the conditions that the native controller writes there, if it does."""

    present: bool
    conditions: Conditions = Conditions()
    """Those whose type begins with TopologyTransitionController; they are about one transition at most."""
    moving_since: datetime | None = None
    """lastTransitionTime of its Progressing while that is True. Upgradeable is False for a request that waits already,
    so its time says nothing of the change."""


@dataclass(frozen=True, slots=True)
class Installed:
    """Whether the served Infrastructure CRD has our fields; `lacks` names what is missing."""

    lacks: str | None = None
    native: bool = True
    """Does it have spec.controlPlaneTopology, which the native controller reads?"""


Fact: TypeAlias = T | Unobserved
Operand: TypeAlias = (
    Workload
    | StaticPods
    | DisruptionBudget
    | Managed
    | IngressController
    | SingleNodeSetting
    | tuple[SingleNodeSetting | Unobserved, ...]
)
NO_ETCD_ACCESS = Unobserved(
    "the members of etcd",
    "no certificates were given. Start the operator with --etcd-cert-dir, or take the check out of the definition",
)


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that is known at one moment. How each field is read says its entry in `catalog.Sources`.

    `live`: the facts were read from the server for this decision. `disturbed` names the watches that are in trouble
    right now: their facts may be old. `awaited`: what an open request is decided from is still being read for the first
    time.
    """

    infrastructure: Fact[Infrastructure] = NOT_READ
    installed: Fact[Installed] = NOT_READ
    own_operator: Fact[OwnOperator] = NOT_READ
    feature_gates: Fact[FeatureGates] = NOT_READ
    native_controller: Fact[NativeController] = NOT_READ
    native_lease: Fact[Lease] = NOT_READ
    cluster_version: Fact[ClusterVersion] = NOT_READ
    cluster_operators: Fact[tuple[Fact[ClusterOperator], ...]] = NOT_READ
    control_plane_nodes: Fact[tuple[Fact[Node], ...]] = NOT_READ
    other_nodes: Fact[tuple[Fact[OtherNode], ...]] = NOT_READ
    scheduler: Fact[Scheduler] = NOT_READ
    etcd_endpoints: Fact[EtcdEndpoints] = NOT_READ
    etcd: Fact[Etcd] = NOT_READ
    etcd_lease: Fact[Lease] = NOT_READ
    etcd_members: Fact[EtcdMembers] = NO_ETCD_ACCESS
    """From etcd itself, only where the administrator has given certificates for it."""
    machine_config_pools: Fact[tuple[Fact[MachineConfigPool], ...]] = NOT_READ
    ingress_controller: Fact[IngressController] = NOT_READ
    controller_config: Fact[ControllerConfig] = NOT_READ
    dnsmasq: Fact[Present] = NOT_READ
    """What the assisted installer leaves behind."""
    lifecycle_agent: Fact[Present] = NOT_READ
    workers: Fact[tuple[Fact[Node], ...]] = NOT_READ
    """Of each only whether it is Ready, cordoned, being deleted, under pressure or tainted, and the labels of the
    tainted."""
    machines: Fact[tuple[Fact[under.Machine], ...]] = NOT_READ
    """Missing where the server does not serve them."""
    hosts: Fact[tuple[Fact[under.Host], ...]] = NOT_READ
    leader_leases: Fact[tuple[Fact[LeaderLease], ...]] = NOT_READ
    """Of every namespace."""
    acceptances: Fact[Acceptances] = NOT_READ
    """What cannot be read accepts nothing."""
    operands: Mapping[str, Fact[Operand]] = dataclasses.field(default_factory=dict)
    """Objects of the operand matrix (`bindata/operands`) by key: resource/namespace/name, namespace left out where
    there is none. See `operand`."""
    live: bool = False
    disturbed: tuple[str, ...] = ()
    awaited: bool = False
    derived: dict[object, Any] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)
    """What was computed from these facts alone (`once`)."""

    @property
    def mutable_topology(self) -> bool | None:
        """Is feature gate MutableTopology on for the version that runs? None when the gates cannot be read.

        Where it is not known which version runs, it is on as soon as it is on for one.
        """
        gates, version = self.feature_gates, self.cluster_version
        if isinstance(gates, Unobserved):
            return False if gates.missing else None
        entries = dict(gates.mutable_topology)
        if not isinstance(version, Unobserved) and version.version in entries:
            return entries[version.version]
        return any(entries.values())

    def operand(self, key: str) -> Fact[Operand]:
        """An operand of the matrix. Those that are evidence too are kept in their own field."""
        if key == "etcds.operator.openshift.io/cluster":
            return self.etcd if isinstance(self.etcd, Unobserved) else self.etcd.static_pods
        if key == "ingresscontrollers.operator.openshift.io/openshift-ingress-operator/default":
            return self.ingress_controller
        return self.operands.get(key, NOT_READ)


def readable(items: Fact[tuple[Fact[T], ...]]) -> list[T]:
    """The items that could be read; none where the list could not."""
    return [] if isinstance(items, Unobserved) else [item for item in items if not isinstance(item, Unobserved)]


def once(function: Callable[[Facts], T]) -> Callable[[Facts], T]:
    """Compute this once for a set of facts: what it returns is shared, so it is never changed."""

    @functools.wraps(function)
    def kept(known: Facts) -> T:
        if function not in known.derived:
            known.derived[function] = function(known)
        answer: T = known.derived[function]
        return answer

    return kept
