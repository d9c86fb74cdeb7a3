"""Which objects are read, when, and which fact each of them becomes.

`Sources` is the one table: an entry for each field of `Facts` that is read from the API server, under the same name.
Watches, live reads, what is awaited, the evidence of a change and the rights all go by it. Single objects are selected
by name, so that access by resourceNames applies. Of nodes outside the control plane only the metadata is read, unless a
definition asks whether workers can carry what moves to them. What the other operators run is listed in the operand
matrix; `operands` makes sources from what some definition asks.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from topology_api import vocabulary
from topology_api.vocabulary import CheckName

from ..definitions import model
from ..kube.resource import Resource, Selection
from . import facts, nodes, parse
from . import operands as objects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..definitions import load
    from ..definitions import operands as matrices

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
NODES = Resource("", "v1", "nodes", "Node")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", namespaced=True)
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition")

MACHINES = Resource("machine.openshift.io", "v1beta1", "machines", "Machine", namespaced=True)
HOSTS = Resource("metal3.io", "v1alpha1", "baremetalhosts", "BareMetalHost", namespaced=True)

# A page of them: memory that decoding a page takes is not all given back (`make bench`, 2,000 workers).
_WHOLE_NODES = 40


class Watched(enum.Enum):
    """When a source is watched."""

    ALWAYS = enum.auto()
    REQUEST = enum.auto()
    CONVERGENCE = enum.auto()
    """While the cluster converges, `beside`: no decision rests on it, and trouble with its watch disturbs none."""
    NEVER = enum.auto()


@dataclass(eq=False)
class Source:
    """One list or object, and everything that holds for how it is read.

    An `operand` fills an entry of `Facts.operands` by its `key`, every other one the field of its name. Operands are
    those of the matrix, and what a single check looks at (`asked_by`), whose right `make generate` then grants.
    """

    selection: Selection
    reduce: Callable[[dict[str, Any]], Any]
    watched: Watched = Watched.REQUEST
    live: bool | CheckName = True  # is it read live before the change, or where a definition asks that check before it?
    asked_by: CheckName | None = None  # read and watched only where a definition asks this check before the change
    enough: Callable[[Sequence[Any]], bool] | None = None
    """When a live read may stop before the last page: where it matters whether there are some, not how many."""
    key: str = ""
    operand: bool = False

    def __set_name__(self, _owner: type, name: str) -> None:
        self.key = name

    def __post_init__(self) -> None:
        self.single = self.selection.name is not None
        self.what = self.selection.describe()
        """How messages name it."""
        self.beside = self.watched is Watched.CONVERGENCE

    def of(self, known: facts.Facts) -> Any:
        """What is known of it."""
        return known.operands.get(self.key, facts.NOT_READ) if self.operand else getattr(known, self.key)


def _enough_workers(read: Sequence[Any]) -> bool:
    """Are there so many without any flaw that the others need not be read? A taint may be tolerated, or not."""
    ready = [node for node in read if isinstance(node, facts.Node) and node.ready == "True"]
    flaws = [node.cordoned or node.deleting or node.pressure or node.taints for node in ready]
    return sum(not flaw for flaw in flaws) >= model.MOST_ASKED_FOR


def _one(resource: Resource, name: str, **more: Any) -> Selection:
    """One object, by its name or namespace/name."""
    namespace, _, name = name.rpartition("/")
    return Selection(resource, namespace=namespace or None, name=name, **more)


_aside = functools.partial(Source, live=False)  # no evidence of a change: not read live before it


class Sources:
    """Every source of a field of `Facts`, in the order in which they are read."""

    infrastructure = Source(Selection(INFRASTRUCTURES, name="cluster"), parse.infrastructure, Watched.ALWAYS)
    """Read last before the change, after everything else."""
    # What may forbid a change at any moment, and the resourceVersion of Infrastructure does not cover.
    own_operator = Source(Selection(CLUSTER_OPERATORS, name="topology"), parse.own_operator, Watched.ALWAYS)
    feature_gates = Source(Selection(FEATURE_GATES, name="cluster"), parse.feature_gates, Watched.ALWAYS)
    native_controller = Source(Selection(OPERATOR_CONFIGS, name="cluster"), parse.native_controller, Watched.ALWAYS)
    native_lease = Source(_one(LEASES, "openshift-config-operator/config-operator-lock"), parse.lease, Watched.NEVER)
    """Is the native controller's process alive? Its conditions outlive it. Read now and then, and before a change."""
    installed = _aside(Selection(CRDS, name=INFRASTRUCTURES.label), parse.installed, Watched.NEVER)

    cluster_version = Source(Selection(CLUSTER_VERSIONS, name="version"), parse.cluster_version)
    cluster_operators = Source(Selection(CLUSTER_OPERATORS), parse.cluster_operator)
    control_plane_nodes = Source(Selection(NODES, label_selector=nodes.CONTROL_PLANE_LABEL), nodes.node)
    other_nodes = Source(
        Selection(NODES, label_selector=f"!{nodes.CONTROL_PLANE_LABEL}", metadata_only=True), nodes.other_node
    )
    scheduler = Source(Selection(SCHEDULERS, name="cluster"), parse.scheduler)
    etcd_endpoints = Source(_one(CONFIG_MAPS, "openshift-etcd/etcd-endpoints"), parse.etcd_endpoints)
    etcd = Source(Selection(ETCDS, name="cluster"), parse.etcd)
    etcd_lease = Source(_one(LEASES, "openshift-etcd-operator/openshift-cluster-etcd-operator-lock"), parse.lease)
    machine_config_pools = Source(Selection(POOLS), objects.machine_config_pool)
    workers = Source(
        Selection(NODES, label_selector=f"{nodes.WORKER_LABEL},!{nodes.CONTROL_PLANE_LABEL}", page=_WHOLE_NODES),
        nodes.worker,
        asked_by=CheckName.ELIGIBLE_WORKERS,
        enough=_enough_workers,
    )
    """Whole nodes, and maybe thousands: some that are eligible in the first page prove it as well as all of them."""
    machines = Source(
        Selection(MACHINES, namespace=nodes.NAMESPACE, label_selector=nodes.SELECTOR, optional=True),
        nodes.machine,
        asked_by=CheckName.CONTROL_PLANE_MACHINES,
    )
    hosts = Source(
        Selection(HOSTS, namespace=nodes.NAMESPACE, page=_WHOLE_NODES, optional=True), nodes.host, Watched.NEVER
    )

    # What convergence and advisories look at besides.
    controller_config = _aside(_one(CONTROLLER_CONFIGS, "machine-config-controller"), objects.controller_config)
    ingress_controller = Source(
        _one(INGRESS_CONTROLLERS, "openshift-ingress-operator/default"),
        objects.ingress_controller,
        live=CheckName.ROUTER_SURVIVES_DRAINS,
    )
    dnsmasq = _aside(_one(MACHINE_CONFIGS, "50-master-dnsmasq-configuration", metadata_only=True), parse.present)
    lifecycle_agent = _aside(_one(IMAGE_BASED_UPGRADES, "upgrade", metadata_only=True, optional=True), parse.present)
    leader_leases = _aside(Selection(LEASES), parse.lease, Watched.NEVER)
    acceptances = _aside(
        Selection(CONFIG_MAPS, namespace=vocabulary.DEFAULT_NAMESPACE, name=vocabulary.ACCEPTED_CHECKS),
        parse.acceptances,
        Watched.CONVERGENCE,
    )


ALL = tuple(source for source in vars(Sources).values() if isinstance(source, Source))
IDLE = tuple(source for source in ALL if source.watched is Watched.ALWAYS)
_REQUEST = tuple(source for source in ALL if source.watched is Watched.REQUEST)


def filled(known: facts.Facts, read: Mapping[Source, Any], **others: Any) -> facts.Facts:
    """The same facts with what was read of these sources, and with these other fields."""
    fields = {source.key: fact for source, fact in read.items() if not source.operand}
    operands = {source.key: fact for source, fact in read.items() if source.operand}
    if operands:
        others["operands"] = {**known.operands, **operands}
    return dataclasses.replace(known, **fields, **others)


def following(machines: facts.Fact[tuple[facts.Fact[facts.Machine], ...]]) -> tuple[Source, ...]:
    """What is read because of what was read of the Machines: hosts, once one of them names one."""
    return (Sources.hosts,) if any(machine.host for machine in facts.readable(machines)) else ()


def acceptances(namespace: str) -> Source:
    """The accepted checks of an operator that runs in that namespace."""
    source = Sources.acceptances
    return dataclasses.replace(source, selection=dataclasses.replace(source.selection, namespace=namespace))


def evidence(*definitions: model.Definition | None) -> tuple[Source, ...]:
    """What preflight of these definitions is decided from; None stands for none."""
    asked = {spec.check for definition in definitions if definition is not None for spec in definition.preflight}
    read = [source for source in _REQUEST if source.live is True or source.live in asked]
    return tuple([source for source in read if source.asked_by is None or source.asked_by in asked])


def last(
    definition: model.Definition | None, known: facts.Facts, convergence: tuple[Source, ...] = ()
) -> tuple[Source, ...]:
    """What is read live before the change, or before the end: of Machines and the native controller where there are."""
    gates = () if isinstance(known.feature_gates, facts.Unobserved) else known.feature_gates
    native = (Sources.native_lease,) if any(on for _, on in gates) else ()
    machines = isinstance(known.machines, tuple) and known.machines
    needless = {Sources.infrastructure, *(() if machines else (Sources.machines,))}
    asked = convergence or evidence(definition)
    return tuple([source for source in (*asked, *IDLE, *native) if source not in needless])


def offered(*definitions: model.Definition | None) -> tuple[Source, ...]:
    """What is read for what could be requested, where nothing is watched: workers are judged by where routers go."""
    sources = evidence(*definitions)
    return tuple(dict.fromkeys((*sources, Sources.ingress_controller))) if Sources.workers in sources else sources


def watched(transitions: load.Transitions) -> tuple[Source, ...]:
    """What is watched while a request is open."""
    asked = {spec.check for definition in transitions.definitions for spec in definition.preflight}
    return (*(source for source in _REQUEST if source.asked_by in {None, *asked}), *operands(transitions))


_operand = functools.partial(_aside, operand=True)
_REDUCERS = {
    "Deployment": objects.workload,
    "StatefulSet": objects.workload,
    "PodDisruptionBudget": objects.disruption_budget,
    "IngressController": objects.ingress_controller,
    "StaticPods": objects.static_pods,
}


def operands(transitions: load.Transitions) -> tuple[Source, ...]:
    """Objects of the matrix that some definition asks about, each once, without what is watched anyway."""
    read: dict[str, Source] = {}
    for group in (group for group in transitions.matrix.groups if transitions.asks(group.check)):
        for operand in group.operands:
            plural, _, api_group = operand.plural.partition(".")
            kind = operand.resource or operand.kind
            resource = Resource(api_group, "v1", plural, kind, namespaced=operand.namespace is not None)
            selection = Selection(resource, namespace=operand.namespace, name=operand.name)
            read[operand.key] = _operand(selection, _REDUCERS[operand.kind], key=operand.key)
        if (manager := group.managed_by) is not None:
            resource = Resource(manager.group, "v1", manager.resource.partition(".")[0], manager.kind)
            # A cluster without the capability does not even serve the kind.
            selection = Selection(resource, name=manager.name, optional=True)
            read[manager.key] = _operand(selection, objects.managed, key=manager.key)
    others = {source.selection for source in _REQUEST}
    return tuple([source for source in read.values() if source.selection not in others])


def single_node_settings(matrix: matrices.Matrix) -> tuple[Source, ...]:
    """The objects that may have a setting for one node only: read now and then, and never watched."""
    sources = []
    for setting in matrix.single_node_settings:
        namespaced = setting.any_namespace or setting.namespace is not None
        resource = Resource(setting.group, setting.version, setting.resource, setting.kind, namespaced=namespaced)
        selection = Selection(resource, namespace=setting.namespace, name=setting.name, optional=True)
        reduce = functools.partial(objects.single_node_setting, field=setting.field, values=setting.values)
        sources.append(_operand(selection, reduce, Watched.NEVER, key=setting.key))
    return tuple(sources)


def remaining(matrix: matrices.Matrix) -> tuple[Source, ...]:
    """Settings for one node, and Deployments that have one replica until an optional operator is started again."""
    reduce = functools.partial(objects.single_node_setting, field="spec.replicas", values=(1,))
    kept = [(each.key, each.keeps) for each in matrix.optional_operators if each.keeps is not None]
    keeping = [_operand(_one(DEPLOYMENTS, name, optional=True), reduce, Watched.NEVER, key=key) for key, name in kept]
    return (*single_node_settings(matrix), *keeping)
