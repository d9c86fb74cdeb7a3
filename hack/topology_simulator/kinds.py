"""The kinds that actors, installer and demo talk about: where they live on the wire, and nothing else.

A table instead of discovery: an actor that asks for a kind that is not there is to fail with 404 and try again, as a
real operator does whose CRD comes later.
"""

import pathlib
from dataclasses import dataclass
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: `path` is where its objects are found, `manifest` starts an object of it."""

    group: str
    plural: str
    kind: str
    namespaced: bool = False
    version: str = "v1"

    @property
    def api_version(self) -> str:
        """`v1` or `group/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, name: str = "", namespace: str = "", subresource: str = "") -> str:
        """Return the URL path of one object, or of all of them when `name` is empty."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/" + "/".join(parts)

    def new(self, name: str, namespace: str = "", **parts: Any) -> dict[str, Any]:
        """Return an object of this kind; `parts` are spec, status and whatever else it has besides metadata."""
        meta = {"name": name, **({"namespace": namespace} if namespace else {})}
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": meta, **parts}


_CONFIG = "config.openshift.io"
_OPERATOR = "operator.openshift.io"
_REGISTRY = "imageregistry.operator.openshift.io"
_MACHINES = "machineconfiguration.openshift.io"
_MONITORING = "monitoring.coreos.com"

NAMESPACES = Kind("", "namespaces", "Namespace")
NODES = Kind("", "nodes", "Node")
CONFIG_MAPS = Kind("", "configmaps", "ConfigMap", namespaced=True)
PODS = Kind("", "pods", "Pod", namespaced=True)
DEPLOYMENTS = Kind("apps", "deployments", "Deployment", namespaced=True)
STATEFUL_SETS = Kind("apps", "statefulsets", "StatefulSet", namespaced=True)
DISRUPTION_BUDGETS = Kind("policy", "poddisruptionbudgets", "PodDisruptionBudget", namespaced=True)
LEASES = Kind("coordination.k8s.io", "leases", "Lease", namespaced=True)
SIGNING_REQUESTS = Kind("certificates.k8s.io", "certificatesigningrequests", "CertificateSigningRequest")
DEFINITIONS = Kind("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition")

INFRASTRUCTURES = Kind(_CONFIG, "infrastructures", "Infrastructure")
CLUSTER_OPERATORS = Kind(_CONFIG, "clusteroperators", "ClusterOperator")
CLUSTER_VERSIONS = Kind(_CONFIG, "clusterversions", "ClusterVersion")
FEATURE_GATES = Kind(_CONFIG, "featuregates", "FeatureGate")
SCHEDULERS = Kind(_CONFIG, "schedulers", "Scheduler")
INGRESSES = Kind(_CONFIG, "ingresses", "Ingress")
NETWORKS = Kind(_OPERATOR, "networks", "Network")
API_SERVERS = Kind(_CONFIG, "apiservers", "APIServer")
ETCDS = Kind(_OPERATOR, "etcds", "Etcd")
CONFIGS = Kind(_OPERATOR, "configs", "Config")
KUBE_API_SERVERS = Kind(_OPERATOR, "kubeapiservers", "KubeAPIServer")
KUBE_CONTROLLER_MANAGERS = Kind(_OPERATOR, "kubecontrollermanagers", "KubeControllerManager")
KUBE_SCHEDULERS = Kind(_OPERATOR, "kubeschedulers", "KubeScheduler")
CONSOLES = Kind(_OPERATOR, "consoles", "Console")
REGISTRIES = Kind(_REGISTRY, "configs", "Config")
OPENSHIFT_API_SERVERS = Kind(_OPERATOR, "openshiftapiservers", "OpenShiftAPIServer")
INGRESS_CONTROLLERS = Kind(_OPERATOR, "ingresscontrollers", "IngressController", namespaced=True)
MACHINE_CONFIG_POOLS = Kind(_MACHINES, "machineconfigpools", "MachineConfigPool")
MACHINE_CONFIGS = Kind(_MACHINES, "machineconfigs", "MachineConfig")
CONTROLLER_CONFIGS = Kind(_MACHINES, "controllerconfigs", "ControllerConfig")
MACHINES = Kind("machine.openshift.io", "machines", "Machine", namespaced=True, version="v1beta1")
BARE_METAL_HOSTS = Kind("metal3.io", "baremetalhosts", "BareMetalHost", namespaced=True, version="v1alpha1")
SERVICE_MONITORS = Kind(_MONITORING, "servicemonitors", "ServiceMonitor", namespaced=True)
PROMETHEUS_RULES = Kind(_MONITORING, "prometheusrules", "PrometheusRule", namespaced=True)

ALL = tuple(kind for kind in tuple(globals().values()) if isinstance(kind, Kind))
CSV = Kind(
    "operators.coreos.com", "clusterserviceversions", "ClusterServiceVersion", namespaced=True, version="v1alpha1"
)
OF_SITES = (
    Kind("sriovnetwork.openshift.io", "sriovoperatorconfigs", "SriovOperatorConfig", namespaced=True),
    Kind("performance.openshift.io", "performanceprofiles", "PerformanceProfile", version="v2"),
    CSV,
)
"""Served where a site has an object of it, and nowhere else: what optional operators and capabilities bring."""


def kind_of(obj: dict[str, object]) -> Kind:
    """Return the kind of an object. Raises LookupError for one that is not in the table."""
    for kind in (*ALL, *OF_SITES):
        if (kind.api_version, kind.kind) == (obj.get("apiVersion"), obj.get("kind")):
            return kind
    raise LookupError(f"no kind {obj.get('kind')} in {obj.get('apiVersion')} is known here")


def any_kind(obj: dict[str, Any]) -> Kind:
    """Return the kind of any object; the plural of one that is not in the table is as Kubernetes forms it."""
    try:
        return kind_of(obj)
    except LookupError:
        group, _, version = obj["apiVersion"].rpartition("/")
        lower = obj["kind"].lower()
        plural = f"{lower[:-1]}ies" if lower.endswith("y") else f"{lower}es" if lower.endswith("s") else f"{lower}s"
        plural = {"endpointses": lower}.get(plural, plural)
        return Kind(group, plural, obj["kind"], namespaced="namespace" in obj["metadata"], version=version)


def named(name: str) -> Kind:
    """Return a kind by its plural or its lower-case kind, followed by a dot and its group where that is needed.

    Raises LookupError with the names that there are.
    """
    plain, _, group = name.partition(".")
    for kind in (*ALL, *OF_SITES):
        if plain in (kind.plural, kind.kind.lower()) and group in ("", kind.group):
            return kind
    raise LookupError(f"{name!r} is none of {', '.join(sorted(kind.kind.lower() for kind in ALL))}")


ACCOUNT: dict[str, Any] = yaml.safe_load(pathlib.Path(__file__).with_name("openshift.yaml").read_text("utf-8"))
"""What OpenShift installs, as far as it is data."""


def filled(part: Any, **words: object) -> Any:
    """Return a part of the account with the words in braces filled in; one that stands alone keeps its type."""
    if isinstance(part, dict):
        return {key: filled(value, **words) for key, value in part.items()}
    if isinstance(part, list):
        return [filled(value, **words) for value in part]
    if isinstance(part, str):
        alone = part[1:-1] if part[:1] == "{" and part[-1:] == "}" else ""
        return words[alone] if alone in words else part.format(**words)
    return part
