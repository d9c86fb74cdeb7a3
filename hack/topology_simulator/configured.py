"""The configuration of a simulated cluster: Infrastructure, ClusterVersion, FeatureGate, and every ClusterOperator.

A part of what `cluster` makes; the rest (control plane, operands) stands there and in `operands`.
"""

import uuid
from typing import Any

from . import conditions, kinds, machines, operands
from .shape import INSTALLED_AGO, Shape

DOMAIN = "edge.example.com"
RELEASE_VERSION = "machineconfiguration.openshift.io/release-image-version"
OPERATORS: tuple[str, ...] = tuple(kinds.ACCOUNT["operators"])


def operators(shape: Shape) -> list[dict[str, Any]]:
    """Return every ClusterOperator of the payload that such a cluster has."""
    account = kinds.ACCOUNT
    left_out = {name for capability in shape.without for name in account["of_capability"].get(capability, ())}
    left_out |= set(account["not_hosted"]) if shape.hosted else set()
    return [_operator(name, shape) for name in OPERATORS if name not in left_out]


def infrastructure(shape: Shape) -> dict[str, Any]:
    """Return Infrastructure."""
    platform = {"platform": shape.platform, "platformStatus": {"type": shape.platform}}
    status = {**kinds.ACCOUNT["infrastructure"], **platform, **shape.topology}
    spec = {"cloudConfig": {"name": ""}, "platformSpec": {"type": shape.platform}}
    return kinds.INFRASTRUCTURES.new("cluster", spec=spec, status=status)


def controller_config(shape: Shape) -> dict[str, Any]:
    """Return ControllerConfig without a status. Rendered configurations take its release over."""
    image = f"quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{machines.digest('machine config', shape.version)}"
    spec = {
        **kinds.ACCOUNT["controller_config"],
        "infra": infrastructure(shape),
        "platform": shape.platform,
        "images": {"machineConfigOperator": image},
        "releaseImage": image,
        "baseOSContainerImage": image,
    }
    config = kinds.CONTROLLER_CONFIGS.new("machine-config-controller", spec=spec)
    config["metadata"]["annotations"] = {RELEASE_VERSION: shape.version}
    return config


def release(version: str) -> dict[str, str]:
    """Return what ClusterVersion says of a release: its version, and the image that has its payload."""
    digest = machines.digest("release", version)
    return {"version": version, "image": f"quay.io/openshift-release-dev/ocp-release@sha256:{digest}"}


def version(shape: Shape) -> dict[str, Any]:
    """Return ClusterVersion, installed long ago."""
    known = list(operands.CAPABILITIES)
    capabilities = {"known": known, "enabled": [each for each in known if each not in shape.without]}
    times = {"started": conditions.now(INSTALLED_AGO + 1800), "completed": conditions.now(INSTALLED_AGO)}
    words = {**release(shape.version), **capabilities, **times}
    words["hash"] = machines.digest("payload", shape.version)[:16]
    status = kinds.filled(kinds.ACCOUNT["cluster_version"], **words)
    at_rest = conditions.stated("version at rest", version=shape.version)
    status["conditions"] = conditions.written(at_rest, INSTALLED_AGO)
    # Anything else makes the real version operator call the whole object invalid, and then it passes no objection on.
    identity = str(uuid.UUID(machines.digest("cluster")[:32], version=4))
    return kinds.CLUSTER_VERSIONS.new("version", spec={"clusterID": identity}, status=status)


def feature_gate(shape: Shape) -> dict[str, Any]:
    """Return FeatureGate."""
    gates = {"version": shape.version, **kinds.ACCOUNT["feature_gates"]}
    return kinds.FEATURE_GATES.new("cluster", spec={"featureSet": ""}, status={"featureGates": [gates]})


def _related(name: str) -> list[dict[str, str]]:
    """Return what must-gather takes along of an operator: its namespaces, and kinds whole or as their one object."""
    deployed: list[operands.Workload | operands.StaticPods] = [*operands.WORKLOADS, *operands.STATIC_PODS]
    workloads = [*deployed, operands.MACHINE_CONFIG_OPERATOR]
    space = f"openshift-{name.removeprefix('openshift-')}"
    spaces = {operand.namespace for operand in workloads if operand.operator == name} or {space}
    spaces |= {f"{space}-operator"} & {operand.namespace for operand in operands.READERS}
    configurations = {operand.kind for operand in operands.STATIC_PODS if operand.operator == name}
    if name in kinds.ACCOUNT["configurations"]:
        configurations.add(kinds.named(kinds.ACCOUNT["configurations"][name]))
    whole = map(kinds.named, kinds.ACCOUNT["whole_kinds"].get(name, ()))
    return [
        *({"group": "", "resource": "namespaces", "name": space} for space in sorted(spaces)),
        *({"group": kind.group, "resource": kind.plural, "name": "cluster"} for kind in configurations),
        *({"group": kind.group, "resource": kind.plural, "name": ""} for kind in whole),
    ]


def _operator(name: str, shape: Shape) -> dict[str, Any]:
    status = {
        "conditions": conditions.written(conditions.stated("operator at rest", name=name), INSTALLED_AGO),
        "versions": [{"name": "operator", "version": shape.version}],
        "relatedObjects": _related(name),
        "extension": None,
    }
    operator = kinds.CLUSTER_OPERATORS.new(name, spec={}, status=status)
    # By it `oc adm upgrade status` knows those of the payload.
    operator["metadata"]["annotations"] = {"include.release.openshift.io/self-managed-high-availability": "true"}
    return operator
