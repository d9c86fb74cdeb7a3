"""Which objects are read, when, and which fact each of them becomes.

One table feeds the watches and the live reads, so that both read the same objects alike. The idle sources are single
objects by name (field selector, so that access by resourceNames applies); the others are opened while a request is
open. Control-plane nodes are read whole and reduced; of every other node only the metadata, because only its roles
matter, unless a definition asks whether workers can carry what moves to them.

What the other operators run is listed in the operand matrix; `operands` makes sources from what some definition asks.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from topology_api import vocabulary
from topology_api.vocabulary import CheckName

from ..definitions import model
from ..kube.resource import Resource, Selection
from . import facts, machines, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..definitions import load

CONFIG = "config.openshift.io"
OPERATOR = "operator.openshift.io"
MACHINE_CONFIG = "machineconfiguration.openshift.io"

INFRASTRUCTURES = Resource(CONFIG, "v1", "infrastructures", "Infrastructure")
CLUSTER_OPERATORS = Resource(CONFIG, "v1", "clusteroperators", "ClusterOperator")
CLUSTER_VERSIONS = Resource(CONFIG, "v1", "clusterversions", "ClusterVersion")
FEATURE_GATES = Resource(CONFIG, "v1", "featuregates", "FeatureGate")
SCHEDULERS = Resource(CONFIG, "v1", "schedulers", "Scheduler")
ETCDS = Resource(OPERATOR, "v1", "etcds", "Etcd")
OPERATOR_CONFIGS = Resource(OPERATOR, "v1", "configs", "Config")
INGRESS_CONTROLLERS = Resource(OPERATOR, "v1", "ingresscontrollers", "IngressController", namespaced=True)
POOLS = Resource(MACHINE_CONFIG, "v1", "machineconfigpools", "MachineConfigPool")
MACHINE_CONFIGS = Resource(MACHINE_CONFIG, "v1", "machineconfigs", "MachineConfig")
CONTROLLER_CONFIGS = Resource(MACHINE_CONFIG, "v1", "controllerconfigs", "ControllerConfig")
IMAGE_BASED_UPGRADES = Resource("lca.openshift.io", "v1", "imagebasedupgrades", "ImageBasedUpgrade")
PODS = Resource("", "v1", "pods", "Pod", namespaced=True)
NODES = Resource("", "v1", "nodes", "Node")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition")

MACHINES = Resource("machine.openshift.io", "v1beta1", "machines", "Machine", namespaced=True)
HOSTS = Resource("metal3.io", "v1alpha1", "baremetalhosts", "BareMetalHost", namespaced=True)

CONTROL_PLANE_LABEL = "node-role.kubernetes.io/control-plane"
WORKER_LABEL = "node-role.kubernetes.io/worker"


@dataclass(frozen=True)
class Source:
    """One list or object: the field of `Facts` that it fills, and how it is read and reduced.

    A source of the matrix fills an entry of `Facts.operands`: its `operand` is the key there, and `field` is the same.
    """

    field: str
    selection: Selection
    reduce: Callable[[dict[str, Any]], Any]
    operand: str | None = None
    enough: Callable[[Sequence[Any]], bool] | None = None
    """When a live read may stop before the last page: where it matters whether there are some, not how many."""
    evidence: bool = True
    """Does a decision rest on it? Then a watch of it that is in trouble keeps a transition from being completed."""

    @functools.cached_property
    def single(self) -> bool:
        """One object by name; otherwise a list."""
        return self.selection.name is not None

    @functools.cached_property
    def what(self) -> str:
        """How messages name it."""
        return self.selection.describe()


INFRASTRUCTURE = Source("infrastructure", Selection(INFRASTRUCTURES, name="cluster"), parse.infrastructure)
OWN_OPERATOR = Source("own_operator", Selection(CLUSTER_OPERATORS, name="topology"), parse.own_operator)

IDLE: tuple[Source, ...] = (
    INFRASTRUCTURE,
    OWN_OPERATOR,
    Source("feature_gates", Selection(FEATURE_GATES, name="cluster"), parse.feature_gates),
    Source("native_controller", Selection(OPERATOR_CONFIGS, name="cluster"), parse.native_controller),
)
"""Watched always."""

GUARDS = tuple(source for source in IDLE if source is not INFRASTRUCTURE)
"""What may forbid a change at any moment: a pause, the feature gate, the native controller. Read live before it, since
the resourceVersion of Infrastructure covers none of them."""

NATIVE_LEASE = Source(
    "native_lease",
    Selection(LEASES, namespace="openshift-config-operator", name="config-operator-lock"),
    parse.native_lease,
)
"""Is the native controller's process alive? Its conditions outlive it, its Lease does not. Never watched: it is read
now and then while the gate is on (`discover`), and before a change then."""

EVIDENCE: tuple[Source, ...] = (
    Source("cluster_version", Selection(CLUSTER_VERSIONS, name="version"), parse.cluster_version),
    Source("cluster_operators", Selection(CLUSTER_OPERATORS), parse.cluster_operator),
    Source("control_plane_nodes", Selection(NODES, label_selector=CONTROL_PLANE_LABEL), parse.node),
    Source(
        "other_nodes", Selection(NODES, label_selector=f"!{CONTROL_PLANE_LABEL}", metadata_only=True), parse.other_node
    ),
    Source("scheduler", Selection(SCHEDULERS, name="cluster"), parse.scheduler),
    Source(
        "etcd_endpoints",
        Selection(CONFIG_MAPS, namespace="openshift-etcd", name="etcd-endpoints"),
        parse.etcd_endpoints,
    ),
    Source("etcd", Selection(ETCDS, name="cluster"), parse.etcd),
    Source(
        "etcd_lease",
        Selection(LEASES, namespace="openshift-etcd-operator", name="openshift-cluster-etcd-operator-lock"),
        parse.etcd_lease,
    ),
    Source("machine_config_pools", Selection(POOLS), parse.machine_config_pool),
)
"""What preflight is decided from; watched while a request is open, and read live for the change."""

OPERANDS: tuple[Source, ...] = (
    Source(
        "controller_config", Selection(CONTROLLER_CONFIGS, name="machine-config-controller"), parse.controller_config
    ),
    Source(
        "ingress_controller",
        Selection(INGRESS_CONTROLLERS, namespace="openshift-ingress-operator", name="default"),
        parse.ingress_controller,
    ),
    Source(
        "dnsmasq", Selection(MACHINE_CONFIGS, name="50-master-dnsmasq-configuration", metadata_only=True), parse.present
    ),
    Source(
        "lifecycle_agent",
        Selection(IMAGE_BASED_UPGRADES, name="upgrade", metadata_only=True, optional=True),
        parse.present,
    ),
)
"""What convergence and advisories look at besides, whatever the matrix says; watched while a request is open."""

_ROUTING = tuple(source for source in OPERANDS if source.field == "ingress_controller")
_WHOLE_NODES = 40
"""A page of them: memory that decoding a page takes is not all given back (`make bench`, 2,000 workers)."""


def _enough_workers(read: Sequence[Any]) -> bool:
    """Are there so many without any flaw that the others need not be read? A taint may be tolerated, or not."""
    flawless = (
        isinstance(node, facts.Node)
        and node.ready == "True"
        and not (node.cordoned or node.deleting or node.pressure or node.taints)
        for node in read
    )
    return sum(flawless) >= model.MOST_ASKED_FOR


WORKERS = Source(
    "workers",
    Selection(NODES, label_selector=f"{WORKER_LABEL},!{CONTROL_PLANE_LABEL}", page=_WHOLE_NODES),
    parse.worker,
    enough=_enough_workers,
)
"""Evidence of definitions that ask for eligible workers: whole nodes, and maybe thousands.

Some that are eligible in the first page prove it as well as all of them, and evidence may not grow old. Where the first
page is full of others (cordoned, with taints), the next ones decide."""


UNDER_NODES = Source(
    "machines",
    Selection(MACHINES, namespace=machines.NAMESPACE, label_selector=machines.SELECTOR, optional=True),
    machines.machine,
)
"""Evidence of definitions that ask ControlPlaneMachines: the Machines of the control plane, of which most clusters of
our platforms have none."""
UNDER_MACHINES = Source(
    "hosts", Selection(HOSTS, namespace=machines.NAMESPACE, page=_WHOLE_NODES, optional=True), machines.host
)
"""The hosts below those Machines; see `following`."""


def following(source: Source, fact: object) -> tuple[Source, ...]:
    """What is read only because of what was read of this source: hosts, once a Machine names one."""
    return (UNDER_MACHINES,) if source is UNDER_NODES and machines.name_hosts(fact) else ()


def acceptances(namespace: str) -> Source:
    """The checks that an administrator accepts not to wait for, in the operator's own namespace."""
    selection = Selection(CONFIG_MAPS, namespace=namespace, name=vocabulary.ACCEPTED_CHECKS)
    return Source("acceptances", selection, parse.acceptances, evidence=False)


def evidence(*definitions: model.Definition | None) -> tuple[Source, ...]:
    """What is read live before these definitions are judged by preflight; None stands for none."""
    asked = _asked(definitions)
    workers = (WORKERS,) if CheckName.ELIGIBLE_WORKERS in asked else ()
    return (*EVIDENCE, *workers, *(_ROUTING if CheckName.ROUTER_SURVIVES_DRAINS in asked else ()))


def _asked(definitions: Iterable[model.Definition | None]) -> set[CheckName]:
    return {spec.check for definition in definitions if definition is not None for spec in definition.preflight}


def under_nodes(*definitions: model.Definition | None) -> tuple[Source, ...]:
    """What is read besides where one of these asks what is under the nodes."""
    return (UNDER_NODES,) if CheckName.CONTROL_PLANE_MACHINES in _asked(definitions) else ()


def last(definition: model.Definition | None, known: facts.Facts) -> tuple[Source, ...]:
    """What is read live before the change. Machines only where the watch knows of one: no request more elsewhere.

    The Lease of the native controller likewise: only where its gate is on for some version.
    """
    machines_ = under_nodes(definition) if isinstance(known.machines, tuple) and known.machines else ()
    gates = () if isinstance(known.feature_gates, facts.Unobserved) else known.feature_gates.mutable_topology
    native = (NATIVE_LEASE,) if any(on for _, on in gates) else ()
    return (*evidence(definition), *machines_, *GUARDS, *native)


def offered(*definitions: model.Definition | None) -> tuple[Source, ...]:
    """What is read for what could be requested, where nothing is watched: workers are judged by where routers go."""
    sources = (*evidence(*definitions), *under_nodes(*definitions))
    return tuple(dict.fromkeys((*sources, *_ROUTING))) if WORKERS in sources else sources


def watched(transitions: load.Transitions) -> tuple[Source, ...]:
    """What is watched while a request is open."""
    definitions = transitions.definitions
    sources = (*evidence(*definitions), *under_nodes(*definitions), *OPERANDS, *operands(transitions))
    return tuple(dict.fromkeys(sources))


_KINDS: dict[str, tuple[Resource, Callable[[dict[str, Any]], Any]]] = {
    "Deployment": (Resource("apps", "v1", "deployments", "Deployment", namespaced=True), parse.workload),
    "StatefulSet": (Resource("apps", "v1", "statefulsets", "StatefulSet", namespaced=True), parse.workload),
    "PodDisruptionBudget": (
        Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", namespaced=True),
        parse.disruption_budget,
    ),
    "IngressController": (INGRESS_CONTROLLERS, parse.ingress_controller),
}


def operands(transitions: load.Transitions) -> tuple[Source, ...]:
    """Objects of the matrix that some definition asks about, each once, without what is watched anyway."""
    sources: dict[str, Source] = {}

    def add(key: str, selection: Selection, reduce: Callable[[dict[str, Any]], Any]) -> None:
        sources.setdefault(key, Source(key, selection, reduce, key))

    for group in (group for group in transitions.matrix.groups if transitions.asks(group.check)):
        for operand in group.operands:
            # What is not in the table are static pods: each has an operator resource of its own.
            resource, reduce = _KINDS.get(operand.kind) or (
                Resource(OPERATOR, "v1", operand.plural.partition(".")[0], operand.resource or ""),
                parse.static_pods,
            )
            add(operand.key, Selection(resource, namespace=operand.namespace, name=operand.name), reduce)
        if (manager := group.managed_by) is not None:
            resource = Resource(manager.group, "v1", manager.resource.partition(".")[0], manager.kind)
            # A cluster without the capability does not even serve the kind.
            add(manager.key, Selection(resource, name=manager.name, optional=True), parse.managed)
    for reader in transitions.matrix.startup_readers:
        pods = Selection(PODS, namespace=reader.namespace, label_selector=reader.selector, metadata_only=True)
        add(reader.key, pods, parse.pod)
    others = {source.selection for source in (*EVIDENCE, *OPERANDS)}
    return tuple(source for source in sources.values() if source.selection not in others)
