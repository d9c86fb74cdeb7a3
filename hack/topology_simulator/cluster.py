"""A believable single-node OpenShift cluster, as the objects it is made of. Pure: `install` puts them somewhere.

Only what is read is here: this operator, the actors, and kubectl. Values follow what an
installer leaves behind on platform None. A hosted cluster (`Shape.hosted`) has its control plane elsewhere: topology
External, workers only, no etcd of its own and no machine configuration.
"""

import json
from collections.abc import Iterable, Mapping
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
PREFIX = "machineconfiguration.openshift.io/"
CURRENT, DESIRED, STATE, REASON = (PREFIX + name for name in ("currentConfig", "desiredConfig", "state", "reason"))
TOPOLOGY = PREFIX + "controlPlaneTopology"
DONE, DEGRADED = "Done", "Degraded"
MASTER, WORKER = "master", "worker"
_MANAGED = {"managementState": "Managed"}


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
    namespaces = {*kinds.ACCOUNT["namespaces"]} | operands.namespaces(shape.without)
    namespaces |= set() if "MachineAPI" in shape.without else {machine_api.NAMESPACE}
    created = [kinds.NAMESPACES.new(name) for name in sorted(namespaces)]
    created += [configured.infrastructure(shape), configured.version(shape), configured.feature_gate(shape)]
    schedulable = shape.schedulable and not shape.hosted
    created += [
        *(kinds.named(name).new("cluster", spec=spec) for name, spec in kinds.filled(kinds.ACCOUNT["plain"]).items()),
        kinds.SCHEDULERS.new("cluster", spec={"mastersSchedulable": schedulable, "policy": {"name": ""}}),
        kinds.CONFIGS.new("cluster", spec=_MANAGED, status=_operator_status()),
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
        # As a site has it: openshift-kni/telco-reference telco-ran/configuration/source-crs/cluster-tuning/
        # monitoring-configuration/ReduceMonitoringFootprint.yaml (6fdaa259).
        parts = {key: {"enabled": False} for key in ("alertmanagerMain", "telemeterClient")}
        created.append(kinds.CONFIG_MAPS.new(*operands.MONITORING, data={"config.yaml": json.dumps(parts)}))
    if not shape.hosted:
        created += [*_control_plane(shape), *_operands(shape)]
    # A site's own objects: those of the same name are merged, the rest is added.
    merged = {_key(obj): obj for obj in created}
    for obj in shape.objects:
        merged[_key(obj)] = patch.merge(merged.get(_key(obj), {}), obj)
    return list(merged.values())


def _key(obj: dict[str, Any]) -> tuple[kinds.Kind, str, str]:
    return kinds.kind_of(obj), obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _router(shape: Shape) -> dict[str, Any]:
    spec = {} if shape.router_replicas is None else {"replicas": shape.router_replicas}
    replicas = shape.router_replicas or operands.routers({**shape.topology, "platform": shape.platform})
    status = kinds.filled(kinds.ACCOUNT["router_status"], replicas=replicas, domain=configured.DOMAIN)
    status["conditions"] = conditions.written(conditions.stated("router at rest"), INSTALLED_AGO)
    return kinds.INGRESS_CONTROLLERS.new("default", INGRESS_NAMESPACE, spec=spec, status=status)


def _operator_status(*extra: conditions.Condition) -> dict[str, Any]:
    return {"observedGeneration": 1, "conditions": conditions.written(extra, INSTALLED_AGO)}


def etcd_states(
    members: int, *, unhealthy: tuple[str, ...] = (), starting: tuple[str, ...] = ()
) -> list[conditions.Condition]:
    """Return what the etcd operator says about that many members, some of them unhealthy or not started."""
    healthy = members - len(unhealthy)
    summary = f"{healthy} of {members} members are available"
    sick = f"{summary}, {', '.join(unhealthy)} is unhealthy"
    return conditions.stated(
        "etcd available" if healthy > members // 2 else "etcd not available",
        "etcd unhealthy" if unhealthy else "etcd well",
        "etcd starting" if starting else "etcd started",
        summary=summary, sick=sick, starting=", ".join(starting),
    )  # fmt: skip


def pool_node_annotations(pool: str, topology: str) -> dict[str, str | None]:
    """Return what the machine config daemon writes on a node of a pool that is done."""
    return {TOPOLOGY: topology, **done(rendered(pool, topology))}


def done(config: str) -> dict[str, str | None]:
    """Return what the machine config daemon writes on a node that has this configuration."""
    return {CURRENT: config, DESIRED: config, REASON: "", STATE: DONE}


def machine_config(pool: str, topology: str, version: str = VERSION) -> dict[str, Any]:
    """Return a rendered MachineConfig of a release, which `oc adm upgrade status` goes by."""
    spec = {"config": {"ignition": {"version": "3.5.0"}}, "osImageURL": "", "kernelType": "default", "fips": False}
    config = kinds.MACHINE_CONFIGS.new(rendered(pool, topology), spec=spec)
    key = PREFIX + "generated-by-controller-version"
    config["metadata"]["annotations"] = {key: machines.digest("controller")[:40], configured.RELEASE_VERSION: version}
    return config


def pool_states(*, updating: bool, name: str, paused: bool = False, node_error: str = "") -> list[conditions.Condition]:
    """Return the conditions of a machine config pool that is not all at configuration `name` while `updating`."""
    done = "" if updating else f"All nodes are updated with MachineConfig {name}"
    words = "Pool is paused; will not update to" if paused else "All nodes are updating to"
    degraded, why = ("True", "1 nodes are reporting degraded status on sync") if node_error else ("False", "")
    moving = f"{words} MachineConfig {name}" if updating else ""
    statuses = {"updated": not updating, "updating": updating and not paused, "degraded": degraded}
    return conditions.stated("pool", done=done, moving=moving, why=why, error=node_error, **statuses)


def counts_at_rest(machines_in_it: int) -> dict[str, int]:
    """Return what the status of a pool counts when all of its machines are done."""
    done = ("machineCount", "updatedMachineCount", "readyMachineCount")
    return dict.fromkeys(done, machines_in_it) | {"unavailableMachineCount": 0, "degradedMachineCount": 0}


def _pool(pool: str, topology: str, machines_in_it: int, *, paused: bool = False) -> dict[str, Any]:
    configuration = {"name": rendered(pool, topology)}
    states = conditions.written(pool_states(updating=False, name=configuration["name"]), INSTALLED_AGO)
    status = {"configuration": configuration, "observedGeneration": 1, "conditions": states}
    label = {"matchLabels": {machines.LABEL + pool: ""}}
    spec = {"configuration": configuration, "nodeSelector": label, "paused": paused}
    return kinds.MACHINE_CONFIG_POOLS.new(pool, spec=spec, status=status | counts_at_rest(machines_in_it))


def controller_states(*, completed: bool = True) -> list[conditions.Condition]:
    """Return the conditions of a ControllerConfig whose templates are rendered, or are being rendered."""
    return conditions.stated("templates rendered" if completed else "templates being rendered")


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
    holder = f"etcd-operator-{machines.digest('etcd operator')[:10]}_{machines.boot_id('etcd-operator', 0)}"
    single = shape.control_plane == "SingleReplica"
    lease = operands.lease_spec(holder, 3, single=single)
    native = operands.lease_spec("config-operator-0", 1, single=single)
    controller = {"observedGeneration": 1, "conditions": conditions.written(controller_states(), INSTALLED_AGO)}
    return [
        *(_master(name, shape) for name in shape.names),
        kinds.CONFIG_MAPS.new(ETCD_ENDPOINTS, ETCD_NAMESPACE, data=homes),
        kinds.LEASES.new(ETCD_LEASE, ETCD_OPERATOR_NAMESPACE, spec=lease),
        kinds.LEASES.new(NATIVE_LEASE, NATIVE_NAMESPACE, spec=native),
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
    status = _operator_status() | {"readyReplicas": shape.masters}
    created = [kinds.OPENSHIFT_API_SERVERS.new("cluster", spec=_MANAGED, status=status)]
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
        status = _operator_status(*states) | revisions
        created.append(pods.kind.new("cluster", spec=_MANAGED | observed, status=status))
    present: dict[kinds.Kind, dict[str, Any]] = {}
    if "Console" not in shape.without:
        present[kinds.CONSOLES] = _MANAGED
    if "ImageRegistry" not in shape.without:
        present[kinds.REGISTRIES] = {"managementState": shape.registry, "replicas": shape.registry_replicas}
    further = {kinds.REGISTRIES: {"storage": {}, "storageManaged": False}}
    created += [
        kind.new("cluster", spec=spec, status=_operator_status() | further.get(kind, {}))
        for kind, spec in present.items()
    ]
    seen = operands.Sight(
        topology=shape.topology,
        masters=shape.masters,
        absent=frozenset(shape.without),
        configurations=present,
        alertmanager=shape.alertmanager,
    )
    return created + operands.installed(seen, shape.masters)


def notes(node: Mapping[str, Any]) -> dict[str, str]:
    """Return a node's annotations."""
    return node["metadata"].get("annotations") or {}


def counts_as_ready(node: Mapping[str, Any]) -> bool:
    """Whether the operator counts on a node: Ready, and not cordoned."""
    return conditions.is_true(dict(node), "Ready") and not (node.get("spec") or {}).get("unschedulable")


def pool_of(node: Mapping[str, Any], pools: Iterable[Mapping[str, Any]]) -> str:
    """Return the name of a node's pool: a control-plane node's is master, a worker's its custom pool if it has one."""
    labels = node["metadata"].get("labels") or {}
    if machines.LABEL + MASTER in labels:
        return MASTER
    for pool in pools:
        wanted = (pool["spec"].get("nodeSelector") or {}).get("matchLabels") or {}
        custom = pool["metadata"]["name"] not in {MASTER, WORKER}
        if custom and wanted and wanted.items() <= labels.items():
            return str(pool["metadata"]["name"])
    return WORKER if machines.LABEL + WORKER in labels else ""


def pool_status(pool: Mapping[str, Any], members: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the status of a pool with these nodes, conditions apart as `states` wants them.

    The configuration follows spec only when every machine has it, is available and none is degraded.
    """
    wanted = pool["spec"]["configuration"]["name"]
    nodes = list(members)
    updated = [node for node in nodes if (notes(node).get(CURRENT), notes(node).get(STATE)) == (wanted, DONE)]
    ready = [node for node in updated if counts_as_ready(node)]
    degraded = {node["metadata"]["name"]: notes(node) for node in nodes if notes(node).get(STATE) == DEGRADED}
    reasons = ", ".join(
        f'Node {name} is reporting: "{annotations.get(REASON, "")}"' for name, annotations in degraded.items()
    )
    before = (pool.get("status") or {}).get("configuration") or {}
    level = len(ready) == len(nodes)
    return {
        "observedGeneration": pool["metadata"]["generation"],
        "configuration": {**before, "name": wanted} if level else before,
        "machineCount": len(nodes),
        "updatedMachineCount": len(updated),
        "readyMachineCount": len(ready),
        "unavailableMachineCount": sum(not counts_as_ready(node) or notes(node).get(STATE) != DONE for node in nodes),
        "degradedMachineCount": len(degraded),
        "states": pool_states(
            updating=not level, name=wanted, paused=pool["spec"].get("paused") is True, node_error=reasons
        ),
    }


def is_settled(pool: Mapping[str, Any]) -> bool:
    """Whether the operator is done with a pool: its status speaks of its spec and says Updated."""
    pool_status = pool.get("status") or {}
    seen = pool["metadata"]["generation"] <= (pool_status.get("observedGeneration") or 0)
    return seen and conditions.is_true(dict(pool), "Updated")


def copied_infrastructure(infrastructure: Mapping[str, Any]) -> dict[str, Any]:
    """Return Infrastructure as ControllerConfig carries it: whole, but for the fields that its typed client drops."""
    spec, pool_status = infrastructure.get("spec") or {}, infrastructure.get("status") or {}
    return {
        **infrastructure,
        "spec": {name: value for name, value in spec.items() if name != "desiredTopology"},
        "status": {name: value for name, value in pool_status.items() if name != "topologyTransition"},
    }
