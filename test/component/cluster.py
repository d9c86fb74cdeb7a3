"""A cluster whose facts are all good, by writing objects; and each of them to be spoilt and repaired.

`topology_simulator.install` has put a cluster there. No actor runs, so a fact stays what a test made of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_simulator import cluster as simulated
from topology_simulator import conditions, kinds, machines

if TYPE_CHECKING:
    from topology_simulator import client

MASTERS = ("master-0", "master-1", "master-2")
EVENTS = kinds.Kind("events.k8s.io", "events", "Event", namespaced=True)
SHAPE = simulated.Shape(masters=len(MASTERS))
"""A single node that has grown to three good nodes, long ago."""
OWN_NAMESPACE = "openshift-topology-operator"
OWN_LEASE = "cluster-topology-operator"


async def set_ready(api: client.Client, name: str, *, ready: bool) -> None:
    """Let a node be Ready or not."""
    node = await api.get(kinds.NODES, name)
    changed = conditions.merged(node, machines.states(ready=ready))
    if changed is not None:
        await api.patch_status(kinds.NODES, name, {"conditions": changed})


async def set_endpoints(api: client.Client, data: dict[str, str | None]) -> None:
    """Merge into the ConfigMap that the etcd operator keeps."""
    await api.patch(kinds.CONFIG_MAPS, simulated.ETCD_ENDPOINTS, {"data": data}, simulated.ETCD_NAMESPACE)


async def switch_native(api: client.Client, *, on: bool) -> None:
    """Turn the feature gate of the native controller on or off for the version that runs."""
    part = "enabled" if on else "disabled"
    entry = {"version": simulated.VERSION, "enabled": [], "disabled": [], part: [{"name": "MutableTopology"}]}
    await api.patch_status(kinds.FEATURE_GATES, "cluster", {"featureGates": [entry]})
