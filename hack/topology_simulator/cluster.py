"""A believable single-node OpenShift cluster, as the objects it is made of. Pure: `install` puts them somewhere.

Only what is read is here: this operator, the actors, and kubectl. Values follow what an
installer leaves behind on platform None. A hosted cluster (`Shape.hosted`) has its control plane elsewhere: topology
External, workers only, no etcd of its own and no machine configuration.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import conditions, configured, kinds, machine_api, machines, operands
from .apiserver import patch
from .shape import INSTALLED_AGO, VERSION, CustomPool, Shape

__all__ = ["INSTALLED_AGO", "VERSION", "CustomPool", "Shape"]

ETCD_NAMESPACE = "openshift-etcd"
ETCD_OPERATOR_NAMESPACE = "openshift-etcd-operator"
ETCD_ENDPOINTS = "etcd-endpoints"
ETCD_LEASE = "openshift-cluster-etcd-operator-lock"
INGRESS_NAMESPACE = "openshift-ingress-operator"
NATIVE_NAMESPACE = "openshift-config-operator"
NATIVE_LEASE = "config-operator-lock"
_NAMESPACES = {
    "openshift",
    "openshift-cluster-version",
    "openshift-config",
    "openshift-config-managed",
    ETCD_NAMESPACE,
    ETCD_OPERATOR_NAMESPACE,
    "openshift-ingress",
    INGRESS_NAMESPACE,
    NATIVE_NAMESPACE,
    "openshift-machine-config-operator",
    "openshift-topology-operator",
}


def member_id(node: str) -> str:
    """Return the etcd member id of a node, as the etcd operator writes it: unpadded lower-case hexadecimal."""
    return f"{int(machines.digest('member', node)[:16], 16):x}"


def rendered(pool: str, topology: str) -> str:
    """Return the name of a pool's rendered configuration, which every pool has another of on a single node.

    machine-config-operator templates/common/sno and templates/master/00-master/sno (release-4.21).
    """
    return f"rendered-{pool}-{machines.digest(pool, 'single' if topology == 'SingleReplica' else 'several')[:32]}"


def objects(shape: Shape) -> list[dict[str, Any]]:
    """Return every object of the cluster, namespaces first; `status` is written after creation where it is apart."""
    namespaces = _NAMESPACES | operands.namespaces(shape.without)
    namespaces |= set() if "MachineAPI" in shape.without else {machine_api.NAMESPACE}
    created = [kinds.NAMESPACES.new(name) for name in sorted(namespaces)]
    created += [configured.infrastructure(shape), configured.version(shape), configured.feature_gate(shape)]
    schedulable = shape.schedulable and not shape.hosted
    created += [
        _object(kinds.API_SERVERS, "cluster", {"audit": {"profile": "Default"}}),
        _object(kinds.SCHEDULERS, "cluster", {"mastersSchedulable": schedulable, "policy": {"name": ""}}),
        _object(kinds.INGRESSES, "cluster", {"domain": f"apps.{configured.DOMAIN}"}),
        _object(kinds.CONFIGS, "cluster", {"managementState": "Managed"}, _operator_status(1)),
        # What a site of one node turns off: openshift/api operator/v1/types_network.go (4.21).
        _object(kinds.NETWORKS, "cluster", {"managementState": "Managed", "disableNetworkDiagnostics": False}),
        _router(shape),
    ]
    created += configured.operators(shape)
    workers = 2 if shape.hosted else shape.workers
    created += [_worker(f"worker-{number}", shape) for number in range(workers)]
    created += [
        _worker(f"{pool.name}-{number}", shape, pool.name) for pool in shape.pools for number in range(pool.machines)
    ]
    for name in shape.names[: shape.machines]:
        created += machine_api.installed(name, bare_metal=shape.platform == "BareMetal")
    if not shape.alertmanager:
        created.append(operands.monitoring_config(alertmanager=False))
    return _with(created if shape.hosted else [*created, *_control_plane(shape), *_operands(shape)], shape.objects)


def _with(installed: list[dict[str, Any]], given: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what is installed with a site's own objects: those of the same name are merged, the rest is added."""
    merged = {_key(obj): obj for obj in installed}
    for obj in given:
        merged[_key(obj)] = patch.merge(merged.get(_key(obj), {}), obj)
    return list(merged.values())


def _key(obj: dict[str, Any]) -> tuple[kinds.Kind, str, str]:
    return kinds.kind_of(obj), obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _object(
    kind: kinds.Kind,
    name: str,
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    namespace: str = "",
) -> dict[str, Any]:
    return kind.new(name, namespace, spec=spec or {}, **({} if status is None else {"status": status}))


def _router(shape: Shape) -> dict[str, Any]:
    spec = {} if shape.router_replicas is None else {"replicas": shape.router_replicas}
    wanted = [
        conditions.Condition("Available", "True", "", ""),
        conditions.Condition("Progressing", "False", "", ""),
        conditions.Condition("Degraded", "False", "", ""),
    ]
    status = {
        "availableReplicas": shape.router_replicas or operands.routers({**shape.topology, "platform": shape.platform}),
        "domain": f"apps.{configured.DOMAIN}",
        "endpointPublishingStrategy": {"type": "HostNetwork"},
        "selector": "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default",
        "observedGeneration": 1,
        "conditions": conditions.written(wanted, INSTALLED_AGO),
    }
    return _object(kinds.INGRESS_CONTROLLERS, "default", spec, status, INGRESS_NAMESPACE)


def _operator_status(generation: int, *extra: conditions.Condition) -> dict[str, Any]:
    return {"observedGeneration": generation, "conditions": conditions.written(extra, INSTALLED_AGO)}


def etcd_states(
    members: int, *, unhealthy: tuple[str, ...] = (), starting: tuple[str, ...] = ()
) -> list[conditions.Condition]:
    """Return what the etcd operator says about that many members, some of them unhealthy or not started."""
    healthy = members - len(unhealthy)
    available = healthy > members // 2
    summary = f"{healthy} of {members} members are available"
    sick = f"{summary}, {', '.join(unhealthy)} is unhealthy"
    return [
        conditions.Condition("EtcdMembersAvailable", "True", "EtcdQuorate", summary)
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


def machine_config(pool: str, topology: str, version: str = VERSION) -> dict[str, Any]:
    """Return a rendered MachineConfig of a release, which `oc adm upgrade status` goes by."""
    spec = {"config": {"ignition": {"version": "3.5.0"}}, "osImageURL": "", "kernelType": "default", "fips": False}
    config = _object(kinds.MACHINE_CONFIGS, rendered(pool, topology), spec)
    key = "machineconfiguration.openshift.io/generated-by-controller-version"
    config["metadata"]["annotations"] = {key: machines.digest("controller")[:40], configured.RELEASE_VERSION: version}
    return config


def pool_states(*, updating: bool, name: str, paused: bool = False, node_error: str = "") -> list[conditions.Condition]:
    """Return the conditions of a machine config pool that is not all at configuration `name` while `updating`."""
    done = "" if updating else f"All nodes are updated with MachineConfig {name}"
    words = "Pool is paused; will not update to" if paused else "All nodes are updating to"
    degraded, why = ("True", "1 nodes are reporting degraded status on sync") if node_error else ("False", "")
    return [
        conditions.Condition("Updated", "False" if updating else "True", "", done),
        conditions.Condition(
            "Updating", str(updating and not paused), "", f"{words} MachineConfig {name}" if updating else ""
        ),
        conditions.Condition("RenderDegraded", "False", "", ""),
        conditions.Condition("NodeDegraded", degraded, why, node_error),
        conditions.Condition("Degraded", degraded, "", node_error),
    ]


def _pool(pool: str, topology: str, machines_in_it: int, *, paused: bool = False) -> dict[str, Any]:
    configuration = {"name": rendered(pool, topology)}
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
    spec = {"configuration": configuration, "nodeSelector": label, "paused": paused}
    return _object(kinds.MACHINE_CONFIG_POOLS, pool, spec, status)


def controller_states(*, completed: bool = True) -> list[conditions.Condition]:
    """Return the conditions of a ControllerConfig whose templates are rendered, or are being rendered.

    machine-config-operator pkg/controller/template/status.go (release-4.21).
    """
    yes, no = ("True", "False") if completed else ("False", "True")
    return [
        conditions.Condition("TemplateControllerCompleted", yes, "", "sync completed" if completed else ""),
        conditions.Condition("TemplateControllerRunning", no, "", "" if completed else "syncing"),
        conditions.Condition("TemplateControllerFailing", "False", "", ""),
    ]


def _worker(name: str, shape: Shape, pool: str = "worker") -> dict[str, Any]:
    node = machines.node(name, roles=tuple({"worker": None, pool: None}), ready=True)
    if not shape.hosted:
        node["metadata"]["annotations"] |= pool_node_annotations(pool, shape.control_plane)
    return node


def _master(name: str, shape: Shape) -> dict[str, Any]:
    roles = ("control-plane", "master", *(("worker",) if shape.schedulable else ()))
    node = machines.node(name, roles=roles, ready=True)
    node["metadata"]["annotations"] |= pool_node_annotations("master", shape.control_plane)
    if not shape.schedulable:
        node["spec"]["taints"] = [{"key": machines.LABEL + "master", "effect": "NoSchedule"}]
    return node


def _control_plane(shape: Shape) -> list[dict[str, Any]]:
    homes = {member_id(name): machines.address(machines.number_of(name)) for name in shape.names}
    endpoints = kinds.CONFIG_MAPS.new(ETCD_ENDPOINTS, ETCD_NAMESPACE, data=homes)
    holder = f"etcd-operator-{machines.digest('etcd operator')[:10]}_{machines.boot_id('etcd-operator', 0)}"
    single = shape.control_plane == "SingleReplica"
    lease = _object(
        kinds.LEASES, ETCD_LEASE, operands.lease_spec(holder, 3, single=single), None, ETCD_OPERATOR_NAMESPACE
    )
    native = _object(
        kinds.LEASES, NATIVE_LEASE, operands.lease_spec("config-operator-0", 1, single=single), None, NATIVE_NAMESPACE
    )
    controller = {"observedGeneration": 1, "conditions": conditions.written(controller_states(), INSTALLED_AGO)}
    return [
        *(_master(name, shape) for name in shape.names),
        endpoints,
        lease,
        native,
        *(
            machine_config(pool, shape.control_plane, shape.version)
            for pool in ("master", "worker", *(pool.name for pool in shape.pools))
        ),
        _pool("master", shape.control_plane, shape.masters),
        _pool("worker", shape.control_plane, shape.workers),
        *(_pool(pool.name, shape.control_plane, pool.machines, paused=pool.paused) for pool in shape.pools),
        {**configured.controller_config(shape), "status": controller},
        operands.workload(operands.MACHINE_CONFIG_OPERATOR, 1),
    ]


def _operands(shape: Shape) -> list[dict[str, Any]]:
    """Return the operators' resources, and what they have deployed."""
    managed = {"managementState": "Managed"}
    created = [
        _object(kinds.OPENSHIFT_API_SERVERS, "cluster", managed, _operator_status(1) | {"readyReplicas": shape.masters})
    ]
    for pods in operands.STATIC_PODS:
        states = etcd_states(shape.masters) if pods.kind is kinds.ETCDS else []
        revisions = {
            "latestAvailableRevision": operands.REVISION,
            "nodeStatuses": operands.node_statuses(shape.names, operands.REVISION),
        }
        single = shape.control_plane == "SingleReplica"
        observed = {"observedConfig": operands.observed_config(single=single)} if pods.differs else {}
        if pods.kind is kinds.ETCDS:
            observed = {"observedConfig": {"controlPlane": {"replicas": shape.install_replicas}}}
        created.append(_object(pods.kind, "cluster", managed | observed, _operator_status(1, *states) | revisions))
    present: dict[kinds.Kind, dict[str, Any]] = {}
    if "Console" not in shape.without:
        present[kinds.CONSOLES] = managed
    if "ImageRegistry" not in shape.without:
        present[kinds.REGISTRIES] = {"managementState": shape.registry, "replicas": shape.registry_replicas}
    further = {kinds.REGISTRIES: {"storage": {}, "storageManaged": False}}
    created += [
        _object(kind, "cluster", spec, _operator_status(1) | further.get(kind, {})) for kind, spec in present.items()
    ]
    seen = operands.Sight(
        topology=shape.topology,
        masters=shape.masters,
        absent=frozenset(shape.without),
        configurations=present,
        alertmanager=shape.alertmanager,
    )
    return created + operands.installed(seen, shape.masters)
