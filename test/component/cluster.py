"""A cluster whose facts are all good, by writing objects; and each of them to be spoilt and repaired.

`topology_simulator.install` has put a single-node cluster there; `grow` makes it one of three nodes and three etcd
voters with nothing else moving. No actor runs, so a fact stays what a test made of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from topology_simulator import clock, conditions, kinds, machines
from topology_simulator import cluster as simulated

if TYPE_CHECKING:
    from topology_simulator import client

MASTERS = ("master-0", "master-1", "master-2")
ROLES = ("control-plane", "master", "worker")
EVENTS = kinds.Kind("events.k8s.io", "events", "Event", namespaced=True)
OWN_NAMESPACE = "openshift-topology-operator"
OWN_LEASE = "cluster-topology-operator"


async def add_node(api: client.Client, name: str, roles: tuple[str, ...] = ROLES, **size: int) -> None:
    """Register a Ready node, with its machine configuration and without taints."""
    made = machines.node(name, roles=roles, ready=True, **size)
    made["metadata"]["annotations"] |= simulated.pool_node_annotations("master", "SingleReplica")
    await api.create(kinds.NODES, made)
    await api.patch(kinds.NODES, name, {"spec": {"taints": None}})


async def set_ready(api: client.Client, name: str, *, ready: bool) -> None:
    """Let a node be Ready or not."""
    node = await api.get(kinds.NODES, name)
    changed = conditions.merged(node, machines.states(ready=ready))
    if changed is not None:
        await api.patch_status(kinds.NODES, name, {"conditions": changed})


async def set_endpoints(api: client.Client, data: dict[str, str | None]) -> None:
    """Merge into the ConfigMap that the etcd operator keeps."""
    await api.patch(kinds.CONFIG_MAPS, simulated.ETCD_ENDPOINTS, {"data": data}, simulated.ETCD_NAMESPACE)


async def set_conditions(
    api: client.Client, kind: kinds.Kind, name: str, *wanted: conditions.Condition, without: tuple[str, ...] = ()
) -> None:
    """Put conditions into an object's status and take others out."""
    changed = conditions.merged(await api.get(kind, name), wanted, without)
    if changed is not None:
        await api.patch_status(kind, name, {"conditions": changed})


async def renew_etcd_lease(api: client.Client, *, ago: float = 0.0) -> None:
    """Write the lease of the etcd operator as if it had been renewed `ago` seconds ago."""
    stamp = clock.micro() if not ago else clock.second(ago).replace("Z", ".000000Z")
    change = {"spec": {"renewTime": stamp}}
    await api.patch(kinds.LEASES, simulated.ETCD_LEASE, change, simulated.ETCD_OPERATOR_NAMESPACE)


async def grow(api: client.Client) -> None:
    """Make every preflight fact of sno-to-ha-compact good."""
    for name in MASTERS[1:]:
        await add_node(api, name)
    await set_endpoints(
        api, {simulated.member_id(name): machines.address(machines.number_of(name)) for name in MASTERS}
    )
    await set_conditions(api, kinds.ETCDS, "cluster", *simulated.etcd_states(len(MASTERS)))
    machines_in_it = {"machineCount": 3, "updatedMachineCount": 3, "readyMachineCount": 3}
    await api.patch_status(kinds.MACHINE_CONFIG_POOLS, "master", machines_in_it)


async def follow_the_flip(api: client.Client) -> None:
    """Do what the machine config and ingress operators do after the flip, at once: every convergence fact is good."""
    wanted = simulated.rendered("master", "HighlyAvailable")
    pool = await api.patch(kinds.MACHINE_CONFIG_POOLS, "master", {"spec": {"configuration": {"name": wanted}}})
    done: dict[str, Any] = {
        "configuration": {"name": wanted},
        "observedGeneration": pool["metadata"]["generation"],
        "conditions": conditions.written(simulated.pool_states(updating=False, name=wanted)),
    }
    await api.patch_status(kinds.MACHINE_CONFIG_POOLS, "master", done)
    await api.patch_status(kinds.INGRESS_CONTROLLERS, "default", {"availableReplicas": 2}, simulated.INGRESS_NAMESPACE)
