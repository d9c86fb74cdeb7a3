"""The configuration of a simulated cluster: Infrastructure, ClusterVersion, FeatureGate, and every ClusterOperator.

A part of what `cluster` makes; the rest (control plane, operands) stands there and in `operands`.
"""

from __future__ import annotations

import base64
import uuid
from typing import TYPE_CHECKING, Any

from . import conditions, kinds, machines, operands
from .shape import INSTALLED_AGO

if TYPE_CHECKING:
    from .shape import Shape

DOMAIN = "edge.example.com"
RELEASE_VERSION = "machineconfiguration.openshift.io/release-image-version"
_NAME = "edge-7f4kd"
_AUTHORITY = base64.b64encode(b"a bundle of certificates").decode()
OPERATORS = (
    "authentication", "cloud-controller-manager", "cloud-credential", "cluster-autoscaler", "config-operator",
    "console", "control-plane-machine-set", "csi-snapshot-controller", "dns", "etcd", "image-registry", "ingress",
    "insights", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-storage-version-migrator",
    "machine-api", "machine-config", "marketplace", "monitoring", "network", "node-tuning", "olm",
    "openshift-apiserver", "openshift-controller-manager", "openshift-samples", "operator-lifecycle-manager",
    "operator-lifecycle-manager-catalog", "operator-lifecycle-manager-packageserver", "service-ca", "storage",
)  # fmt: skip
_NOT_HOSTED = (
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "machine-config", "machine-api",
    "control-plane-machine-set",
)  # fmt: skip
_OF_CAPABILITY = {
    "CSISnapshot": ("csi-snapshot-controller",),
    "CloudControllerManager": ("cloud-controller-manager",),
    "CloudCredential": ("cloud-credential",),
    "Console": ("console",),
    "ImageRegistry": ("image-registry",),
    "Ingress": ("ingress",),
    "Insights": ("insights",),
    "MachineAPI": ("cluster-autoscaler", "control-plane-machine-set", "machine-api"),
    "NodeTuning": ("node-tuning",),
    "OperatorLifecycleManager": (
        "operator-lifecycle-manager", "operator-lifecycle-manager-catalog", "operator-lifecycle-manager-packageserver",
    ),
    "OperatorLifecycleManagerV1": ("olm",),
    "Storage": ("storage",),
    "marketplace": ("marketplace",),
    "openshift-samples": ("openshift-samples",),
}  # fmt: skip
"""The ClusterOperators that a capability brings along, by capability.openshift.io/name in the operators' manifests and
openshift/api config/v1/types_cluster_version.go. Build and DeploymentConfig are parts of others: no operator goes with
them. A cluster on platform None has no ClusterOperator baremetal here in any case."""

_CONFIGURATIONS = {
    "console": kinds.CONSOLES,
    "image-registry": kinds.REGISTRIES,
    "network": kinds.NETWORKS,
    "openshift-apiserver": kinds.OPENSHIFT_API_SERVERS,
}
_WHOLE_KINDS = {
    "machine-api": (kinds.MACHINES, kinds.BARE_METAL_HOSTS),
    "machine-config": (kinds.MACHINE_CONFIG_POOLS, kinds.CONTROLLER_CONFIGS, kinds.MACHINE_CONFIGS),
}
"""What these operators relate, by name and all of a kind: the ClusterOperators in their payload's manifests, and
machine-config-operator pkg/operator/status.go, syncRelatedObjects (release-4.21)."""


def operators(shape: Shape) -> list[dict[str, Any]]:
    """Return every ClusterOperator of the payload that such a cluster has."""
    left_out = {name for capability in shape.without for name in _OF_CAPABILITY.get(capability, ())}
    left_out |= set(_NOT_HOSTED) if shape.hosted else set()
    return [_operator(name, shape) for name in OPERATORS if name not in left_out]


def infrastructure(shape: Shape) -> dict[str, Any]:
    """Return Infrastructure."""
    status = {
        "infrastructureName": _NAME,
        "platform": shape.platform,
        "platformStatus": {"type": shape.platform},
        "apiServerURL": f"https://api.{DOMAIN}:6443",
        "apiServerInternalURI": f"https://api-int.{DOMAIN}:6443",
        "etcdDiscoveryDomain": "",
        **shape.topology,
        "cpuPartitioning": "None",
    }
    spec = {"cloudConfig": {"name": ""}, "platformSpec": {"type": shape.platform}}
    return kinds.INFRASTRUCTURES.new("cluster", spec=spec, status=status)


def controller_config(shape: Shape) -> dict[str, Any]:
    """Return ControllerConfig without a status: what its definition requires, empty where nothing here reads it.

    openshift/api machineconfiguration/v1/types.go (release-4.21). Rendered configurations take its release over.
    """
    image = f"quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{machines.digest('machine config', shape.version)}"
    dns = {
        "apiVersion": kinds.INFRASTRUCTURES.api_version,
        "kind": "DNS",
        "metadata": {"name": "cluster"},
        "spec": {"baseDomain": DOMAIN},
    }
    spec = {
        "infra": infrastructure(shape),
        "platform": shape.platform,
        "dns": dns,
        "clusterDNSIP": "172.30.0.10",
        "ipFamilies": "IPv4",
        "network": {"mtuMigration": None},
        "proxy": None,
        "cloudProviderConfig": "",
        "additionalTrustBundle": None,
        "cloudProviderCAData": None,
        "kubeAPIServerServingCAData": _AUTHORITY,
        "rootCAData": _AUTHORITY,
        "images": {"machineConfigOperator": image},
        "releaseImage": image,
        "baseOSContainerImage": image,
    }
    config = kinds.CONTROLLER_CONFIGS.new("machine-config-controller", spec=spec)
    config["metadata"]["annotations"] = {RELEASE_VERSION: shape.version}
    return config


def version(shape: Shape) -> dict[str, Any]:
    """Return ClusterVersion, installed long ago."""
    image = f"quay.io/openshift-release-dev/ocp-release@sha256:{machines.digest('release', shape.version)}"
    release = {"version": shape.version, "image": image}
    wanted = [
        conditions.Condition("Available", "True", "", f"Done applying {shape.version}"),
        conditions.Condition("Failing", "False", "", ""),
        conditions.Condition("Progressing", "False", "", f"Cluster version is {shape.version}"),
        conditions.Condition("RetrievedUpdates", "False", "NoChannel", "No channel is configured"),
        conditions.Condition("ReleaseAccepted", "True", "PayloadLoaded", "The payload is loaded"),
    ]
    times = {"startedTime": conditions.now(INSTALLED_AGO + 1800), "completionTime": conditions.now(INSTALLED_AGO)}
    status = {
        "desired": release,
        "observedGeneration": 1,
        "versionHash": machines.digest("payload", shape.version)[:16],
        "history": [{"state": "Completed", **release, **times, "verified": False}],
        "availableUpdates": None,
        "capabilities": {
            "knownCapabilities": list(operands.CAPABILITIES),
            "enabledCapabilities": [
                capability for capability in operands.CAPABILITIES if capability not in shape.without
            ],
        },
        "conditions": conditions.written(wanted, INSTALLED_AGO),
    }
    # Anything else makes the real version operator call the whole object invalid, and then it passes no objection on.
    identity = str(uuid.UUID(machines.digest("cluster")[:32], version=4))
    return kinds.CLUSTER_VERSIONS.new("version", spec={"clusterID": identity}, status=status)


def feature_gate(shape: Shape) -> dict[str, Any]:
    """Return FeatureGate: MutableTopology is known and disabled."""
    enabled = ("AdminNetworkPolicy", "AlibabaPlatform", "BuildCSIVolumes", "HighlyAvailableArbiter", "ImageVolume")
    disabled = ("AzureDedicatedHosts", "DualReplica", "EventedPLEG", "MutableTopology", "ShortCertRotation")
    gates = {
        "version": shape.version,
        "enabled": [{"name": name} for name in enabled],
        "disabled": [{"name": name} for name in disabled],
    }
    return kinds.FEATURE_GATES.new("cluster", spec={"featureSet": ""}, status={"featureGates": [gates]})


def _related(name: str) -> list[dict[str, str]]:
    """Return what must-gather takes along of an operator: its namespaces, and kinds whole or as their one object."""
    workloads = (*operands.WORKLOADS, *operands.STATIC_PODS, operands.MACHINE_CONFIG_OPERATOR)
    space = f"openshift-{name.removeprefix('openshift-')}"
    spaces = {operand.namespace for operand in workloads if operand.operator == name} or {space}
    spaces |= {f"{space}-operator"} & {operand.namespace for operand in operands.READERS}
    configurations = {operand.kind for operand in operands.STATIC_PODS if operand.operator == name}
    configurations |= {kind for operator, kind in _CONFIGURATIONS.items() if operator == name}
    return [
        *({"group": "", "resource": "namespaces", "name": space} for space in sorted(spaces)),
        *({"group": kind.group, "resource": kind.plural, "name": "cluster"} for kind in configurations),
        *({"group": kind.group, "resource": kind.plural, "name": ""} for kind in _WHOLE_KINDS.get(name, ())),
    ]


def _operator(name: str, shape: Shape) -> dict[str, Any]:
    status = {
        "conditions": conditions.written(conditions.steady(name), INSTALLED_AGO),
        "versions": [{"name": "operator", "version": shape.version}],
        "relatedObjects": _related(name),
        "extension": None,
    }
    operator = kinds.CLUSTER_OPERATORS.new(name, spec={}, status=status)
    # By it `oc adm upgrade status` knows those of the payload.
    operator["metadata"]["annotations"] = {"include.release.openshift.io/self-managed-high-availability": "true"}
    return operator
