"""Which objects are looked at, when, and which fact each of them becomes.

One table feeds the watches and the live reads, so that both see the same objects through the same eyes. The idle
sources are single objects by name (field selector, so that access by resourceNames applies); the others are opened
while a wish is open. Control-plane nodes are read whole and reduced; every other node by its metadata only, because
all that is asked about it is its roles, unless a definition asks whether workers can carry what moves to them.

What the other operators run is not listed here but in the operand matrix; `operands` makes sources from that, of what
some definition asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from topology_api import vocabulary
from topology_api.vocabulary import CheckName

from ..kube import resource as kube
from ..transitions import model
from . import facts, parse, parse_operands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..operands import model as matrices
    from ..transitions import load

CONFIG = "config.openshift.io"
OPERATOR = "operator.openshift.io"
MACHINE_CONFIG = "machineconfiguration.openshift.io"

INFRASTRUCTURES = kube.Resource(CONFIG, "v1", "infrastructures", "Infrastructure")
CLUSTER_OPERATORS = kube.Resource(CONFIG, "v1", "clusteroperators", "ClusterOperator")
CLUSTER_VERSIONS = kube.Resource(CONFIG, "v1", "clusterversions", "ClusterVersion")
FEATURE_GATES = kube.Resource(CONFIG, "v1", "featuregates", "FeatureGate")
SCHEDULERS = kube.Resource(CONFIG, "v1", "schedulers", "Scheduler")
ETCDS = kube.Resource(OPERATOR, "v1", "etcds", "Etcd")
OPERATOR_CONFIGS = kube.Resource(OPERATOR, "v1", "configs", "Config")
INGRESS_CONTROLLERS = kube.Resource(OPERATOR, "v1", "ingresscontrollers", "IngressController", namespaced=True)
POOLS = kube.Resource(MACHINE_CONFIG, "v1", "machineconfigpools", "MachineConfigPool")
MACHINE_CONFIGS = kube.Resource(MACHINE_CONFIG, "v1", "machineconfigs", "MachineConfig")
CONTROLLER_CONFIGS = kube.Resource(MACHINE_CONFIG, "v1", "controllerconfigs", "ControllerConfig")
IMAGE_BASED_UPGRADES = kube.Resource("lca.openshift.io", "v1", "imagebasedupgrades", "ImageBasedUpgrade")
PODS = kube.Resource("", "v1", "pods", "Pod", namespaced=True)
NODES = kube.Resource("", "v1", "nodes", "Node")
CONFIG_MAPS = kube.Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
LEASES = kube.Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
CRDS = kube.Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition")

CONTROL_PLANE_LABEL = "node-role.kubernetes.io/control-plane"
WORKER_LABEL = "node-role.kubernetes.io/worker"


@dataclass(frozen=True, slots=True)
class Source:
    """One list or object: the field of `Facts` that it fills, and how it is read and reduced.

    A source of the matrix fills an entry of `Facts.operands`: its `operand` is the key there, and `field` is the same.
    """

    field: str
    selection: kube.Selection
    reduce: Callable[[dict[str, Any]], Any]
    operand: str | None = None
    enough: Callable[[Sequence[Any]], bool] | None = None
    """When a live read may stop before the last page, where the question is whether there are some, not how many."""
    evidence: bool = True
    """Does anything rest on it? Then a watch of it that is in trouble keeps things from being called finished."""

    @property
    def single(self) -> bool:
        """One object by name; otherwise a list."""
        return self.selection.name is not None

    @property
    def what(self) -> str:
        """How messages name it."""
        return self.selection.describe()


INFRASTRUCTURE = Source("infrastructure", kube.Selection(INFRASTRUCTURES, name="cluster"), parse.infrastructure)
OWN_OPERATOR = Source("own_operator", kube.Selection(CLUSTER_OPERATORS, name="topology"), parse.own_operator)

IDLE: tuple[Source, ...] = (
    INFRASTRUCTURE,
    OWN_OPERATOR,
    Source("feature_gates", kube.Selection(FEATURE_GATES, name="cluster"), parse.feature_gates),
    Source("native_controller", kube.Selection(OPERATOR_CONFIGS, name="cluster"), parse.native_controller),
)
"""Watched always."""

GUARDS = tuple(source for source in IDLE if source is not INFRASTRUCTURE)
"""What may forbid a change at any moment: a pause, the feature gate, the native controller. Read live before it, since
the resourceVersion of Infrastructure covers none of them."""

EVIDENCE: tuple[Source, ...] = (
    Source("cluster_version", kube.Selection(CLUSTER_VERSIONS, name="version"), parse.cluster_version),
    Source("cluster_operators", kube.Selection(CLUSTER_OPERATORS), parse.cluster_operator),
    Source("control_plane_nodes", kube.Selection(NODES, label_selector=CONTROL_PLANE_LABEL), parse.node),
    Source(
        "other_nodes",
        kube.Selection(NODES, label_selector=f"!{CONTROL_PLANE_LABEL}", metadata_only=True),
        parse.other_node,
    ),
    Source("scheduler", kube.Selection(SCHEDULERS, name="cluster"), parse.scheduler),
    Source(
        "etcd_endpoints",
        kube.Selection(CONFIG_MAPS, namespace="openshift-etcd", name="etcd-endpoints"),
        parse.etcd_endpoints,
    ),
    Source("etcd", kube.Selection(ETCDS, name="cluster"), parse.etcd),
    Source(
        "etcd_lease",
        kube.Selection(LEASES, namespace="openshift-etcd-operator", name="openshift-cluster-etcd-operator-lock"),
        parse.etcd_lease,
    ),
    Source("machine_config_pools", kube.Selection(POOLS), parse_operands.machine_config_pool),
)
"""What preflight is decided from; watched while a wish is open, and read live for the flip."""

OPERANDS: tuple[Source, ...] = (
    Source(
        "controller_config",
        kube.Selection(CONTROLLER_CONFIGS, name="machine-config-controller"),
        parse_operands.controller_config,
    ),
    Source(
        "ingress_controller",
        kube.Selection(INGRESS_CONTROLLERS, namespace="openshift-ingress-operator", name="default"),
        parse_operands.ingress_controller,
    ),
    Source(
        "dnsmasq",
        kube.Selection(MACHINE_CONFIGS, name="50-master-dnsmasq-configuration", metadata_only=True),
        parse_operands.present,
    ),
    Source(
        "lifecycle_agent",
        kube.Selection(IMAGE_BASED_UPGRADES, name="upgrade", metadata_only=True, optional=True),
        parse_operands.present,
    ),
)
"""What convergence and advisories look at besides, whatever the matrix says; watched while a wish is open."""

_ROUTING = tuple(source for source in OPERANDS if source.field == "ingress_controller")
_WHOLE_NODES = 40
"""A page of them: memory that decoding a page takes is not all given back (`make bench`, 2,000 workers)."""


def _enough_workers(read: Sequence[Any]) -> bool:
    """Are there so many without any flaw that the others need not be read? A taint may be tolerated: not for sure."""
    flawless = (
        isinstance(node, facts.Node)
        and node.ready == "True"
        and not (node.cordoned or node.deleting or node.pressure or node.taints)
        for node in read
    )
    return sum(flawless) >= model.MOST_ASKED_FOR


WORKERS = Source(
    "workers",
    kube.Selection(NODES, label_selector=f"{WORKER_LABEL},!{CONTROL_PLANE_LABEL}", page=_WHOLE_NODES),
    parse.worker,
    enough=_enough_workers,
)
"""Evidence too, but only of a definition that asks for eligible workers: whole nodes, and maybe thousands.

Some that are eligible in the first page prove it as well as all of them, and evidence may not grow old. Where the first
page is full of others (cordoned, with taints), the next ones decide."""


def acceptances(namespace: str) -> Source:
    """Which checks somebody declares not to come: asked of the operator's own namespace while the cluster converges."""
    selection = kube.Selection(CONFIG_MAPS, namespace=namespace, name=vocabulary.ACCEPTED_CHECKS)
    return Source("acceptances", selection, parse.acceptances, evidence=False)


def evidence(*definitions: model.Definition | None) -> tuple[Source, ...]:
    """What is read live before these definitions are judged by preflight; None stands for none."""
    asked = any(one is not None and _asks(one, CheckName.ELIGIBLE_WORKERS) for one in definitions)
    return (*EVIDENCE, WORKERS) if asked else EVIDENCE


def offered(*definitions: model.Definition | None) -> tuple[Source, ...]:
    """What is read to say what could be asked for, where nothing is watched: workers are judged by where routers go."""
    sources = evidence(*definitions)
    return (*sources, *_ROUTING) if WORKERS in sources else sources


def watched(transitions: load.Transitions) -> tuple[Source, ...]:
    """What is watched while a wish is open."""
    return (*evidence(*transitions.definitions), *OPERANDS, *operands(transitions))


def operands(transitions: load.Transitions) -> tuple[Source, ...]:
    """What the matrix names and some definition asks about, each once, without what is watched anyway."""
    groups = [group for group in transitions.matrix.groups if transitions.asks(group.check)]
    found: dict[str, Source] = {}
    for source in _of_matrix(groups, transitions.matrix.startup_readers):
        found.setdefault(source.field, source)
    others = {source.selection for source in (*EVIDENCE, *OPERANDS)}
    return tuple(source for source in found.values() if source.selection not in others)


_KINDS: dict[str, tuple[kube.Resource, Callable[[dict[str, Any]], Any]]] = {
    "Deployment": (kube.Resource("apps", "v1", "deployments", "Deployment", namespaced=True), parse_operands.workload),
    "StatefulSet": (
        kube.Resource("apps", "v1", "statefulsets", "StatefulSet", namespaced=True),
        parse_operands.workload,
    ),
    "PodDisruptionBudget": (
        kube.Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", namespaced=True),
        parse_operands.disruption_budget,
    ),
    "IngressController": (INGRESS_CONTROLLERS, parse_operands.ingress_controller),
}


def _of_matrix(groups: list[matrices.Group], readers: tuple[matrices.StartupReader, ...]) -> Iterator[Source]:
    for group in groups:
        for operand in group.operands:
            # What is not in the table are static pods: each has an operator resource of its own.
            resource, reduce = _KINDS.get(operand.kind) or (
                kube.Resource(OPERATOR, "v1", operand.plural.partition(".")[0], operand.resource or ""),
                parse_operands.static_pods,
            )
            selection = kube.Selection(resource, namespace=operand.namespace, name=operand.name)
            yield Source(operand.key, selection, reduce, operand.key)
        if group.managed_by is not None:
            one = group.managed_by
            resource = kube.Resource(one.group, "v1", one.resource.partition(".")[0], one.kind)
            # A cluster without the capability does not even know the kind.
            yield Source(
                one.key, kube.Selection(resource, name=one.name, optional=True), parse_operands.managed, one.key
            )
    for reader in readers:
        pods = kube.Selection(PODS, namespace=reader.namespace, label_selector=reader.selector, metadata_only=True)
        yield Source(reader.key, pods, parse_operands.pod, reader.key)


def _asks(definition: model.Definition, check: CheckName) -> bool:
    return any(spec.check is check for spec in definition.preflight)
