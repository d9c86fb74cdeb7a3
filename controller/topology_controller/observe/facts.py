"""The facts that checks and decisions are made from: small, frozen, comparable.

A changed object that leads to an equal fact wakes no reader. What could not be read is a fact too: `Unobserved` names
the object and the reason, and every check that needs it answers Unknown. Those of nodes, operands and our own record
stand with their readers.
"""

from __future__ import annotations

# ruff: noqa: F401, TC001 - everybody knows every fact by this module
import dataclasses
import functools
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from topology_api import shape
from topology_api.vocabulary import Topology

from .fields import NOT_READ, Condition, Conditions, Kind, Unobserved
from .nodes import CONTROL_PLANE_LABEL, MASTER_LABEL, WORKER_LABEL, Host, Machine, Node, OtherNode, Taint, Toleration
from .operands import (
    ControllerConfig,
    DisruptionBudget,
    IngressController,
    MachineConfigPool,
    Managed,
    NodeRevision,
    SingleNodeSetting,
    StaticPods,
    Workload,
)
from .record import Backends, Infrastructure, LoadBalancer, Newer, OwnOperator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClusterOperator:
    """Another operator's report."""

    name: str
    conditions: Conditions
    settled_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class ClusterVersion:
    """ClusterVersion `version`. `newest` is the version of the newest entry of its history, completed or not."""

    version: str | None
    conditions: Conditions
    newest: str | None = None
    lacks: frozenset[str] = frozenset()  # capabilities that the payload has and the cluster does not


EtcdEndpoints: TypeAlias = tuple[tuple[str, str], ...]
"""ConfigMap openshift-etcd/etcd-endpoints: key and address, as the etcd operator wrote them."""
FeatureGates: TypeAlias = tuple[tuple[str, bool], ...]
"""FeatureGate `cluster`: versions of the payload and whether MutableTopology is enabled for each."""
UNSAFE_SCALING = "useUnsupportedUnsafeNonHANonProductionUnstableEtcd"
"""Key of `spec.unsupportedConfigOverrides` of Etcd `cluster`, which the etcd operator reads."""
LEASE_GRACE = timedelta(seconds=30)
USUAL_LEASE, SINGLE_NODE_LEASE = 137, 270
"""Seconds that an operator chose when it started, elsewhere and on one node (library-go pkg/config/leaderelection)."""


@dataclass(frozen=True, slots=True)
class Etcd:
    """Etcd `cluster`: what the etcd operator reports of the members, and the revisions of their static pods."""

    conditions: Conditions
    static_pods: Fact[StaticPods] = NOT_READ
    unsafe_scaling: Fact[bool] = NOT_READ  # does an override keep the rules for one voter?
    desired_replicas: int | None = None  # how many members the etcd operator wants; None when it is no number


@dataclass(frozen=True, slots=True)
class Lease:
    """Lease by which some program elects its leader, and what was seen of that of another operator by our own clock.

    `duration_seconds` is what the holder chose when it started.
    """

    holder: str
    renew_time: datetime | None
    duration_seconds: int | None
    namespace: str = ""
    name: str = ""
    moving: bool = False  # a watch saw it renewed within its own duration
    silent: bool = False  # nothing was seen of its holder for the grace that it has (`decide.applicability`)
    taken: bool = False  # its holder has changed within that time

    @property
    def lasting(self) -> timedelta:
        """How long after its last renewal it counts as held."""
        return timedelta(seconds=self.duration_seconds or 0) + LEASE_GRACE


@dataclass(frozen=True, slots=True)
class EtcdMember:
    """A member as a member list has it, without a name until it has started. Ids are spelt as in etcd-endpoints."""

    id: str
    name: str
    learner: bool = False


@dataclass(frozen=True, slots=True)
class EtcdVoice:
    """What a member answered at one endpoint; `errors` are in etcd's words: alarms, no leader.

    Where `members` are not `confirmed` through the quorum they prove nothing, and `unconfirmed` is the reason.
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
class Acceptance:
    """A check that an administrator accepts not to wait for. `wrong`: why the entry cannot be used."""

    check: str
    attempt: str = ""
    reason: str = ""
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class NativeController:
    """configs.operator.openshift.io/cluster: the conditions that the native controller writes there, if it does."""

    present: bool
    conditions: Conditions = Conditions()  # noqa: RUF009 - frozen
    moving_since: datetime | None = None  # lastTransitionTime of its Progressing while that is True


@dataclass(frozen=True, slots=True)
class Installed:
    """What the served Infrastructure CRD `lacks` of our fields; has it the `native` spec.controlPlaneTopology?"""

    lacks: str | None = None
    native: bool = True


Fact: TypeAlias = T | Unobserved
_One: TypeAlias = Workload | StaticPods | DisruptionBudget | Managed | IngressController | SingleNodeSetting
Operand: TypeAlias = _One | tuple[SingleNodeSetting | Unobserved, ...]
NO_ETCD_ACCESS = Unobserved(
    "the members of etcd",
    "no certificates were given. Start the operator with --etcd-cert-dir, or take the check out of the definition",
)


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that is known at one moment. How each field is read says its entry in `catalog.Sources`."""

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
    scheduler: Fact[bool] = NOT_READ  # are masters schedulable?
    etcd_endpoints: Fact[EtcdEndpoints] = NOT_READ
    etcd: Fact[Etcd] = NOT_READ
    etcd_lease: Fact[Lease] = NOT_READ
    etcd_members: Fact[EtcdMembers] = NO_ETCD_ACCESS
    machine_config_pools: Fact[tuple[Fact[MachineConfigPool], ...]] = NOT_READ
    ingress_controller: Fact[IngressController] = NOT_READ
    controller_config: Fact[ControllerConfig] = NOT_READ
    dnsmasq: Fact[bool] = NOT_READ
    lifecycle_agent: Fact[bool] = NOT_READ
    workers: Fact[tuple[Fact[Node], ...]] = NOT_READ
    machines: Fact[tuple[Fact[Machine], ...]] = NOT_READ
    hosts: Fact[tuple[Fact[Host], ...]] = NOT_READ
    leader_leases: Fact[tuple[Fact[Lease], ...]] = NOT_READ
    acceptances: Fact[tuple[Acceptance, ...]] = NOT_READ  # sorted by the name of the check
    operands: Mapping[str, Fact[Operand]] = dataclasses.field(default_factory=dict)
    live: bool = False  # read from the server for this decision
    disturbed: tuple[str, ...] = ()  # watches that are in trouble right now, so that their facts may be old
    awaited: bool = False  # what an open request is decided from is still being read for the first time
    derived: dict[object, Any] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def single_node(self) -> bool:
        """Is the control plane one node by status? False while status is not known."""
        here = self.infrastructure
        return isinstance(here, Infrastructure) and here.control_plane == Topology.SINGLE_REPLICA

    @property
    def lacks(self) -> str | None:
        """What the served definition of Infrastructure is known to lack of our fields."""
        return self.installed.lacks if isinstance(self.installed, Installed) else None

    @property
    def mutable_topology(self) -> bool | None:
        """Is feature gate MutableTopology on for the version that runs, else for one? None: it cannot be read."""
        gates, version = self.feature_gates, self.cluster_version
        if isinstance(gates, Unobserved):
            return False if gates.missing else None
        entries = dict(gates)
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


def shape_vector(known: Facts, infrastructure: Infrastructure) -> shape.Vector:
    """Topologies and numbers of nodes by role, as far as they are known. Secrets are not read: no fencing."""
    homes = None if isinstance(known.control_plane_nodes, Unobserved) else len(known.control_plane_nodes)
    others, rest = known.other_nodes, readable(known.other_nodes)
    counted = not isinstance(others, Unobserved) and len(rest) == len(others)
    if counted and homes is not None:
        # A master that lacks the other label is still a node of the control plane.
        homes += sum(node.master is True for node in rest)
    return shape.Vector(
        control_plane=infrastructure.control_plane,
        infrastructure=infrastructure.infrastructure,
        masters_schedulable=None if isinstance(known.scheduler, Unobserved) else known.scheduler,
        control_plane_nodes=homes,
        arbiter_nodes=sum(node.arbiter for node in rest) if counted else None,
        dedicated_workers=sum(node.dedicated_worker for node in rest) if counted else None,
    )
