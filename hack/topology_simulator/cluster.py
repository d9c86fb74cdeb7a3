"""A believable single-node OpenShift cluster, as the objects it is made of. Pure: `install` puts them somewhere.

Only what somebody reads is here: this operator, the actors, and a person with kubectl. Values follow what an
installer leaves behind on platform None. A hosted cluster (`Shape.hosted`) has its control plane elsewhere: topology
External, workers only, no etcd of its own and no machine configuration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import clock, conditions, kinds, machines

VERSION = "4.21.7"
INSTALLED_AGO = 40 * 86400.0
ETCD_NAMESPACE = "openshift-etcd"
ETCD_OPERATOR_NAMESPACE = "openshift-etcd-operator"
ETCD_ENDPOINTS = "etcd-endpoints"
ETCD_LEASE = "openshift-cluster-etcd-operator-lock"
INGRESS_NAMESPACE = "openshift-ingress-operator"
LEASE_SECONDS = 270
_NAME = "edge-7f4kd"
_DOMAIN = "edge.example.com"
_NAMESPACES = (
    "openshift-config",
    "openshift-config-managed",
    "openshift-console",
    ETCD_NAMESPACE,
    ETCD_OPERATOR_NAMESPACE,
    "openshift-image-registry",
    "openshift-ingress",
    INGRESS_NAMESPACE,
    "openshift-kube-apiserver",
    "openshift-machine-config-operator",
    "openshift-monitoring",
    "openshift-topology-operator",
)
OPERATORS = (
    "authentication",
    "cloud-controller-manager",
    "cloud-credential",
    "cluster-autoscaler",
    "config-operator",
    "console",
    "control-plane-machine-set",
    "csi-snapshot-controller",
    "dns",
    "etcd",
    "image-registry",
    "ingress",
    "insights",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-storage-version-migrator",
    "machine-api",
    "machine-config",
    "marketplace",
    "monitoring",
    "network",
    "node-tuning",
    "olm",
    "openshift-apiserver",
    "openshift-controller-manager",
    "openshift-samples",
    "operator-lifecycle-manager",
    "service-ca",
    "storage",
)
_NOT_HOSTED = ("etcd", "kube-apiserver", "machine-config", "machine-api", "control-plane-machine-set")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What an installation may differ in. `router_replicas` pins the default router."""

    hosted: bool = False
    router_replicas: int | None = None
    platform: str = "None"
    version: str = VERSION


def member_id(node: str) -> str:
    """Return the etcd member id of a node, as the etcd operator writes it: unpadded lower-case hexadecimal."""
    return f"{int(machines.digest('member', node)[:16], 16):x}"


def rendered(pool: str, topology: str) -> str:
    """Return the name of a pool's rendered configuration for a topology."""
    return f"rendered-{pool}-{machines.digest(pool, topology)[:32]}"


def objects(shape: Shape) -> list[dict[str, Any]]:
    """Return every object of the cluster, namespaces first; `status` is written after creation where it is apart."""
    made = [_object(kinds.NAMESPACES, name) for name in _NAMESPACES]
    made += [_infrastructure(shape), _version(shape), _feature_gate(shape)]
    made += [
        _object(kinds.API_SERVERS, "cluster", {"audit": {"profile": "Default"}}),
        _object(kinds.SCHEDULERS, "cluster", {"mastersSchedulable": not shape.hosted, "policy": {"name": ""}}),
        _object(kinds.CONFIGS, "cluster", {"managementState": "Managed"}, _operator_status(1)),
        _router(shape),
    ]
    made += [_operator(name, shape) for name in OPERATORS if not (shape.hosted and name in _NOT_HOSTED)]
    if shape.hosted:
        return [*made, *(machines.node(f"worker-{n}", roles=("worker",), ready=True) for n in range(2))]
    return made + _control_plane()


def _object(
    kind: kinds.Kind,
    name: str,
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    namespace: str = "",
) -> dict[str, Any]:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    obj: dict[str, Any] = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
    if kind is not kinds.NAMESPACES:
        obj["spec"] = spec or {}
    if status is not None:
        obj["status"] = status
    return obj


def _infrastructure(shape: Shape) -> dict[str, Any]:
    topology = "External" if shape.hosted else "SingleReplica"
    status = {
        "infrastructureName": _NAME,
        "platform": shape.platform,
        "platformStatus": {"type": shape.platform},
        "apiServerURL": f"https://api.{_DOMAIN}:6443",
        "apiServerInternalURI": f"https://api-int.{_DOMAIN}:6443",
        "etcdDiscoveryDomain": "",
        "controlPlaneTopology": topology,
        "infrastructureTopology": "HighlyAvailable" if shape.hosted else "SingleReplica",
        "cpuPartitioning": "None",
    }
    spec = {"cloudConfig": {"name": ""}, "platformSpec": {"type": shape.platform}}
    return _object(kinds.INFRASTRUCTURES, "cluster", spec, status)


def _version(shape: Shape) -> dict[str, Any]:
    image = f"quay.io/openshift-release-dev/ocp-release@sha256:{machines.digest('release', shape.version)}"
    release = {"version": shape.version, "image": image}
    wanted = [
        conditions.Condition("Available", "True", "", f"Done applying {shape.version}"),
        conditions.Condition("Failing", "False", "", ""),
        conditions.Condition("Progressing", "False", "", f"Cluster version is {shape.version}"),
        conditions.Condition("RetrievedUpdates", "False", "NoChannel", "No channel is configured"),
        conditions.Condition("ReleaseAccepted", "True", "PayloadLoaded", "The payload is loaded"),
    ]
    times = {"startedTime": clock.second(INSTALLED_AGO + 1800), "completionTime": clock.second(INSTALLED_AGO)}
    status = {
        "desired": release,
        "observedGeneration": 1,
        "versionHash": machines.digest("payload", shape.version)[:16],
        "history": [{"state": "Completed", **release, **times, "verified": False}],
        "availableUpdates": None,
        "conditions": conditions.written(wanted, INSTALLED_AGO),
    }
    return _object(kinds.CLUSTER_VERSIONS, "version", {"clusterID": machines.boot_id("cluster", 0)}, status)


def _feature_gate(shape: Shape) -> dict[str, Any]:
    enabled = ("AdminNetworkPolicy", "AlibabaPlatform", "BuildCSIVolumes", "HighlyAvailableArbiter", "ImageVolume")
    disabled = ("AzureDedicatedHosts", "DualReplica", "EventedPLEG", "MutableTopology", "ShortCertRotation")
    gates = {
        "version": shape.version,
        "enabled": [{"name": name} for name in enabled],
        "disabled": [{"name": name} for name in disabled],
    }
    return _object(kinds.FEATURE_GATES, "cluster", {"featureSet": ""}, {"featureGates": [gates]})


def _router(shape: Shape) -> dict[str, Any]:
    spec = {} if shape.router_replicas is None else {"replicas": shape.router_replicas}
    wanted = [
        conditions.Condition("Available", "True", "", ""),
        conditions.Condition("Progressing", "False", "", ""),
        conditions.Condition("Degraded", "False", "", ""),
    ]
    status = {
        "availableReplicas": shape.router_replicas or 1,
        "domain": f"apps.{_DOMAIN}",
        "endpointPublishingStrategy": {"type": "HostNetwork"},
        "selector": "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default",
        "observedGeneration": 1,
        "conditions": conditions.written(wanted, INSTALLED_AGO),
    }
    return _object(kinds.INGRESS_CONTROLLERS, "default", spec, status, INGRESS_NAMESPACE)


def _operator(name: str, shape: Shape) -> dict[str, Any]:
    status = {
        "conditions": conditions.written(conditions.steady(name), INSTALLED_AGO),
        "versions": [{"name": "operator", "version": shape.version}],
        "relatedObjects": [{"group": "", "resource": "namespaces", "name": f"openshift-{name}"}],
        "extension": None,
    }
    return _object(kinds.CLUSTER_OPERATORS, name, {}, status)


def _operator_status(generation: int, *extra: conditions.Condition) -> dict[str, Any]:
    return {"observedGeneration": generation, "conditions": conditions.written(extra, INSTALLED_AGO)}


def etcd_states(
    members: int, *, unhealthy: tuple[str, ...] = (), starting: tuple[str, ...] = ()
) -> list[conditions.Condition]:
    """Return what the etcd operator says about that many members, some of them unhealthy or not started."""
    healthy = members - len(unhealthy)
    available = healthy > members // 2
    found = f"{healthy} of {members} members are available"
    sick = f"{found}, {', '.join(unhealthy)} is unhealthy"
    return [
        conditions.Condition("EtcdMembersAvailable", "True", "EtcdQuorate", found)
        if available
        else conditions.Condition("EtcdMembersAvailable", "False", "NoQuorum", sick),
        conditions.Condition("EtcdMembersDegraded", "True", "UnhealthyMembers", sick)
        if unhealthy
        else conditions.Condition("EtcdMembersDegraded", "False", message="No unhealthy members found"),
        conditions.Condition(
            "EtcdMembersProgressing", "True", "MembersNotStarted", f"{', '.join(starting)} has not started"
        )
        if starting
        else conditions.Condition("EtcdMembersProgressing", "False", message="No unstarted etcd members found"),
    ]


def lease_spec(holder: str, transitions: int) -> dict[str, Any]:
    """Return the spec of a lease that was renewed now."""
    return {
        "holderIdentity": holder,
        "leaseDurationSeconds": LEASE_SECONDS,
        "leaseTransitions": transitions,
        "acquireTime": clock.micro(),
        "renewTime": clock.micro(),
    }


def pool_node_annotations(pool: str, topology: str) -> dict[str, str]:
    """Return what the machine config daemon writes on a node that is done."""
    prefix = "machineconfiguration.openshift.io/"
    name = rendered(pool, topology)
    return {
        prefix + "controlPlaneTopology": topology,
        prefix + "currentConfig": name,
        prefix + "desiredConfig": name,
        prefix + "reason": "",
        prefix + "state": "Done",
    }


def machine_config(pool: str, topology: str) -> dict[str, Any]:
    """Return a rendered MachineConfig."""
    spec = {"config": {"ignition": {"version": "3.5.0"}}, "osImageURL": "", "kernelType": "default", "fips": False}
    made = _object(kinds.MACHINE_CONFIGS, rendered(pool, topology), spec)
    key = "machineconfiguration.openshift.io/generated-by-controller-version"
    made["metadata"]["annotations"] = {key: machines.digest("controller")[:40]}
    return made


def pool_states(*, updating: bool, name: str) -> list[conditions.Condition]:
    """Return the conditions of a machine config pool."""
    done = f"All nodes are updated with {name}"
    return [
        conditions.Condition("Updated", "False" if updating else "True", "", "" if updating else done),
        conditions.Condition("Updating", "True" if updating else "False", "", f"Moving to {name}" if updating else ""),
        conditions.Condition("RenderDegraded", "False", "", ""),
        conditions.Condition("NodeDegraded", "False", "", ""),
        conditions.Condition("Degraded", "False", "", ""),
    ]


def _pool(pool: str, machines_in_it: int) -> dict[str, Any]:
    configuration = {"name": rendered(pool, "SingleReplica")}
    label = {"matchLabels": {machines.LABEL + pool: ""}}
    status = {
        "configuration": configuration,
        "observedGeneration": 1,
        "machineCount": machines_in_it,
        "updatedMachineCount": machines_in_it,
        "readyMachineCount": machines_in_it,
        "unavailableMachineCount": 0,
        "degradedMachineCount": 0,
        "conditions": conditions.written(pool_states(updating=False, name=configuration["name"]), INSTALLED_AGO),
    }
    spec = {"configuration": configuration, "nodeSelector": label, "paused": False}
    return _object(kinds.MACHINE_CONFIG_POOLS, pool, spec, status)


def controller_states() -> list[conditions.Condition]:
    """Return the conditions of a ControllerConfig whose templates are rendered."""
    return [
        conditions.Condition("TemplateControllerCompleted", "True", "", "sync completed"),
        conditions.Condition("TemplateControllerRunning", "False", "", ""),
        conditions.Condition("TemplateControllerFailing", "False", "", ""),
    ]


def _control_plane() -> list[dict[str, Any]]:
    first = machines.node("master-0", roles=("control-plane", "master", "worker"), ready=True)
    first["metadata"]["annotations"] |= pool_node_annotations("master", "SingleReplica")
    endpoints = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": ETCD_ENDPOINTS, "namespace": ETCD_NAMESPACE},
        "data": {member_id("master-0"): machines.address(0)},
    }
    holder = f"etcd-operator-{machines.digest('etcd operator')[:10]}_{machines.boot_id('etcd-operator', 0)}"
    lease = _object(kinds.LEASES, ETCD_LEASE, lease_spec(holder, 3), None, ETCD_OPERATOR_NAMESPACE)
    static = {"nodeName": "master-0", "currentRevision": 9, "targetRevision": 0}
    revisions = {"latestAvailableRevision": 9, "nodeStatuses": [static]}
    copy = {"status": {"controlPlaneTopology": "SingleReplica", "infrastructureTopology": "SingleReplica"}}
    controller = {"observedGeneration": 1, "conditions": conditions.written(controller_states(), INSTALLED_AGO)}
    managed = {"managementState": "Managed"}
    return [
        first,
        endpoints,
        lease,
        _object(kinds.ETCDS, "cluster", managed, _operator_status(1, *etcd_states(1)) | revisions),
        _object(kinds.KUBE_API_SERVERS, "cluster", managed, _operator_status(1) | revisions),
        _object(kinds.OPENSHIFT_API_SERVERS, "cluster", managed, _operator_status(1) | {"readyReplicas": 1}),
        machine_config("master", "SingleReplica"),
        machine_config("worker", "SingleReplica"),
        _pool("master", 1),
        _pool("worker", 0),
        _object(kinds.CONTROLLER_CONFIGS, "machine-config-controller", {"infra": copy, "platform": "None"}, controller),
    ]
