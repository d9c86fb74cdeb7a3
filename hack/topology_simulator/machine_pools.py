"""Machine config pools, as the machine config operator sees them: whose node is whose, and what a pool's status says.

Pure. `actors.machine_config` lets pools live, `follow` brings them to their end at once, `cluster` installs them.
Rules: machine-config-operator pkg/controller/node/status.go, pkg/helpers/helpers.go (release-4.21).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import cluster, conditions, machines

PREFIX = "machineconfiguration.openshift.io/"
CURRENT, DESIRED, STATE, REASON = (PREFIX + name for name in ("currentConfig", "desiredConfig", "state", "reason"))
TOPOLOGY = PREFIX + "controlPlaneTopology"
DONE, DEGRADED = "Done", "Degraded"
MASTER, WORKER = "master", "worker"


def notes(node: Mapping[str, Any]) -> dict[str, str]:
    """Return a node's annotations."""
    return node["metadata"].get("annotations") or {}


def available(node: Mapping[str, Any]) -> bool:
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


def status(pool: Mapping[str, Any], members: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the status of a pool with these nodes, conditions apart as `states` wants them.

    The configuration follows spec only when every machine has it, is available and none is degraded.
    """
    wanted = pool["spec"]["configuration"]["name"]
    nodes = list(members)
    updated = [node for node in nodes if (notes(node).get(CURRENT), notes(node).get(STATE)) == (wanted, DONE)]
    ready = [node for node in updated if available(node)]
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
        "unavailableMachineCount": sum(not available(node) or notes(node).get(STATE) != DONE for node in nodes),
        "degradedMachineCount": len(degraded),
        "states": cluster.pool_states(
            updating=not level, name=wanted, paused=pool["spec"].get("paused") is True, node_error=reasons
        ),
    }


def settled(pool: Mapping[str, Any]) -> bool:
    """Whether the operator is done with a pool: its status speaks of its spec and says Updated."""
    status = pool.get("status") or {}
    seen = pool["metadata"]["generation"] <= (status.get("observedGeneration") or 0)
    return seen and conditions.is_true(dict(pool), "Updated")


def copied(infrastructure: Mapping[str, Any]) -> dict[str, Any]:
    """Return Infrastructure as ControllerConfig carries it: whole, but for the fields that its typed client drops."""
    spec, status = infrastructure.get("spec") or {}, infrastructure.get("status") or {}
    return {
        **infrastructure,
        "spec": {name: value for name, value in spec.items() if name != "desiredTopology"},
        "status": {name: value for name, value in status.items() if name != "topologyTransition"},
    }
