"""Which objects are looked at, when, and which fact each of them becomes.

One table feeds the watches and the live reads, so that both see the same objects through the same eyes. The idle
sources are single objects by name (field selector, so that access by resourceNames applies); the others are opened
while a wish is open. Control-plane nodes are read whole and reduced; every other node by its metadata only, because
all that is asked about it is its roles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..kube import resource as kube
from . import parse

if TYPE_CHECKING:
    from collections.abc import Callable

CONFIG = "config.openshift.io"
OPERATOR = "operator.openshift.io"

INFRASTRUCTURES = kube.Resource(CONFIG, "v1", "infrastructures", "Infrastructure")
CLUSTER_OPERATORS = kube.Resource(CONFIG, "v1", "clusteroperators", "ClusterOperator")
CLUSTER_VERSIONS = kube.Resource(CONFIG, "v1", "clusterversions", "ClusterVersion")
FEATURE_GATES = kube.Resource(CONFIG, "v1", "featuregates", "FeatureGate")
SCHEDULERS = kube.Resource(CONFIG, "v1", "schedulers", "Scheduler")
ETCDS = kube.Resource(OPERATOR, "v1", "etcds", "Etcd")
OPERATOR_CONFIGS = kube.Resource(OPERATOR, "v1", "configs", "Config")
INGRESS_CONTROLLERS = kube.Resource(OPERATOR, "v1", "ingresscontrollers", "IngressController", namespaced=True)
POOLS = kube.Resource("machineconfiguration.openshift.io", "v1", "machineconfigpools", "MachineConfigPool")
NODES = kube.Resource("", "v1", "nodes", "Node")
CONFIG_MAPS = kube.Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
LEASES = kube.Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
CRDS = kube.Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition")

CONTROL_PLANE_LABEL = "node-role.kubernetes.io/control-plane"


@dataclass(frozen=True, slots=True)
class Source:
    """One list or object: the field of `Facts` that it fills, and how it is read and reduced."""

    field: str
    selection: kube.Selection
    reduce: Callable[[dict[str, Any]], Any]

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
)
"""What preflight is decided from; watched while a wish is open, and read live for the flip."""

OPERANDS: tuple[Source, ...] = (
    Source("machine_config_pools", kube.Selection(POOLS), parse.machine_config_pool),
    Source(
        "ingress_controller",
        kube.Selection(INGRESS_CONTROLLERS, namespace="openshift-ingress-operator", name="default"),
        parse.ingress_controller,
    ),
)
"""What convergence looks at besides; watched while a wish is open."""
