"""The machine config operator with its daemons: worker labels, pools, and what a new topology means for nodes.

After a topology change: ControllerConfig carries it, templates are rendered anew, the pools are pointed at the new
configurations, and each node in turn is cordoned, installed, rebooted (its kubelet does that) and let go. One node at
a time, and none while another of its pool is not ready. While a pool updates, ClusterOperator machine-config objects
to upgrades, as the real one does.
"""

from __future__ import annotations

from typing import Any

from topology_simulator import client, cluster, conditions, kinds, machines

from . import actor

_PREFIX = "machineconfiguration.openshift.io/"
_CURRENT, _DESIRED, _STATE = _PREFIX + "currentConfig", _PREFIX + "desiredConfig", _PREFIX + "state"
_BOOT_BEFORE, _TOPOLOGY = _PREFIX + "bootBefore", _PREFIX + "controlPlaneTopology"
_WORKER = machines.LABEL + "worker"
_MASTER_TAINT = {"key": machines.LABEL + "master", "effect": "NoSchedule"}
_CONTROLLER = "machine-config-controller"


class MachineConfig(actor.Actor):
    """Labels nodes and rolls configurations out."""

    agent = "machine-config-operator"
    watched = (
        kinds.NODES,
        kinds.SCHEDULERS,
        kinds.INFRASTRUCTURES,
        kinds.CONTROLLER_CONFIGS,
        kinds.MACHINE_CONFIG_POOLS,
        kinds.CLUSTER_OPERATORS,
    )

    async def step(self) -> None:
        """Label, render, roll out, count, report."""
        controller = self.mirror.get(kinds.CONTROLLER_CONFIGS, _CONTROLLER)
        if controller is None:
            return
        topology = await self._render(controller)
        for pool in self.mirror.all(kinds.MACHINE_CONFIG_POOLS):
            await self._point(pool, topology)
        await self._label(topology)
        await self._annotate(topology)
        updating = False
        for pool in self.mirror.all(kinds.MACHINE_CONFIG_POOLS):
            members = self._members(pool["metadata"]["name"])
            if not (pool.get("spec") or {}).get("paused"):
                await self._roll_out(pool["spec"]["configuration"]["name"], members)
            updating |= await self._count(pool)
        objection = conditions.Condition(
            "Upgradeable", "False", "PoolUpdating", "One or more machine config pools are updating, see oc get mcp"
        )
        fine = conditions.Condition("Upgradeable", "True", message="All is well")
        await self.say_operator("machine-config", objection if updating else fine)

    async def _render(self, controller: dict[str, Any]) -> str:
        """Return the topology of the templates; follows Infrastructure after a while."""
        copy = ((controller["spec"].get("infra") or {}).get("status") or {}).get("controlPlaneTopology") or ""
        if self.topology in ("", copy) or self.troubles.holds("machine-config"):
            self.waits.clear("render")
        elif self.waits.due("render", self.pace.render):
            copy = self.topology
            infra = (self.mirror.get(kinds.INFRASTRUCTURES, "cluster") or {})["status"]
            names = ("controlPlaneTopology", "infrastructureTopology", "platform", "infrastructureName")
            status = {name: infra.get(name) for name in names}
            await self.patch(kinds.CONTROLLER_CONFIGS, controller, {"spec": {"infra": {"status": status}}})
        controller = self.mirror.get(kinds.CONTROLLER_CONFIGS, _CONTROLLER) or controller
        generation = controller["metadata"]["generation"]
        await self.say(kinds.CONTROLLER_CONFIGS, controller, cluster.controller_states(), observedGeneration=generation)
        return copy

    async def _point(self, pool: dict[str, Any], topology: str) -> None:
        name = pool["metadata"]["name"]
        wanted = cluster.rendered(name, topology)
        if pool["spec"]["configuration"].get("name") == wanted:
            return
        try:
            await self.api.create(kinds.MACHINE_CONFIGS, cluster.machine_config(name, topology))
        except client.ApiError as error:
            if error.code != 409:
                raise
        await self.patch(kinds.MACHINE_CONFIG_POOLS, pool, {"spec": {"configuration": {"name": wanted}}})

    async def _label(self, topology: str) -> None:
        """Give Ready nodes their configuration; let masters carry workloads, by label and taint, or not."""
        scheduler = self.mirror.get(kinds.SCHEDULERS, "cluster") or {}
        schedulable = (scheduler.get("spec") or {}).get("mastersSchedulable") is True
        for node in self.mirror.all(kinds.NODES):
            name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
            if not self._ready(node):
                self.waits.clear(("label", name))
                continue
            if not self.waits.due(("label", name), self.pace.label):
                continue
            master = machines.LABEL + "master" in labels
            change = _carrying(node, schedulable=schedulable) if master else {}
            if _CURRENT not in _notes(node):
                notes = cluster.pool_node_annotations("master" if master else "worker", topology)
                change.setdefault("metadata", {})["annotations"] = notes
            if change:
                await self.patch(kinds.NODES, node, change)

    async def _annotate(self, topology: str) -> None:
        """Tell the daemons the topology: whether a node is drained before it restarts depends on it."""
        for node in self.mirror.all(kinds.NODES):
            if _notes(node).get(_TOPOLOGY) not in (None, topology):
                await self.patch(kinds.NODES, node, {"metadata": {"annotations": {_TOPOLOGY: topology}}})

    async def _roll_out(self, wanted: str, members: list[dict[str, Any]]) -> None:
        old = [one for one in members if _notes(one).get(_CURRENT) != wanted]
        busy = [one for one in old if _notes(one).get(_STATE) != "Done"]
        if busy:
            await self._advance(busy[0], wanted)
        elif old and all(self._ready(one) for one in members):
            await self._begin(old[0], wanted)

    async def _begin(self, node: dict[str, Any], wanted: str) -> None:
        self.waits.clear(("install", node["metadata"]["name"]))
        notes = {_DESIRED: wanted, _STATE: "Working"}
        await self.patch(kinds.NODES, node, {"metadata": {"annotations": notes}, "spec": {"unschedulable": True}})

    async def _advance(self, node: dict[str, Any], wanted: str) -> None:
        notes, boot = _notes(node), node["status"]["nodeInfo"].get("bootID")
        name = node["metadata"]["name"]
        if notes.get(_STATE) == "Working":
            if self.waits.due(("install", name), self.pace.install):
                change = {_STATE: "Rebooting", _BOOT_BEFORE: boot}
                await self.patch(kinds.NODES, node, {"metadata": {"annotations": change}})
        elif boot != notes.get(_BOOT_BEFORE) and self._ready(node) and not self.troubles.breaks("machine-config"):
            done = {
                _CURRENT: wanted,
                _DESIRED: wanted,
                _STATE: "Done",
                _BOOT_BEFORE: None,
            }
            change = {"metadata": {"annotations": done}, "spec": {"unschedulable": None}}
            await self.patch(kinds.NODES, node, change)

    async def _count(self, pool: dict[str, Any]) -> bool:
        """Write a pool's status; return whether it is updating."""
        pool = self.mirror.get(kinds.MACHINE_CONFIG_POOLS, pool["metadata"]["name"]) or pool
        wanted = pool["spec"]["configuration"]["name"]
        members = self._members(pool["metadata"]["name"])
        updated = [one for one in members if _notes(one).get(_CURRENT) == wanted]
        updating = len(updated) < len(members)
        unavailable = [one for one in members if not self._ready(one) or one["spec"].get("unschedulable")]
        before = (pool.get("status") or {}).get("configuration") or {}
        await self.say(
            kinds.MACHINE_CONFIG_POOLS,
            pool,
            cluster.pool_states(updating=updating, name=wanted),
            observedGeneration=pool["metadata"]["generation"],
            configuration=before if updating else {**before, "name": wanted},
            machineCount=len(members),
            updatedMachineCount=len(updated),
            readyMachineCount=sum(self._ready(one) for one in updated),
            unavailableMachineCount=len(unavailable),
            degradedMachineCount=int(updating and self.troubles.breaks("machine-config")),
        )
        return updating

    def _members(self, pool: str) -> list[dict[str, Any]]:
        """Return the nodes of a pool that have a configuration; a control-plane node is in master's only."""
        found = self.nodes_with(pool)
        masters = {one["metadata"]["name"] for one in self.nodes_with("master")}
        apart = [one for one in found if pool == "master" or one["metadata"]["name"] not in masters]
        return [one for one in apart if _CURRENT in _notes(one)]

    def _ready(self, node: dict[str, Any]) -> bool:
        return conditions.is_true(node, "Ready")


def _carrying(node: dict[str, Any], *, schedulable: bool) -> dict[str, Any]:
    """Return what has to change on a master so that it carries workloads, or does not."""
    change: dict[str, Any] = {}
    if (_WORKER in node["metadata"]["labels"]) is not schedulable:
        change["metadata"] = {"labels": {_WORKER: "" if schedulable else None}}
    taints = node["spec"].get("taints") or []
    others = [one for one in taints if one.get("key") != _MASTER_TAINT["key"]]
    wanted = others if schedulable else [*others, _MASTER_TAINT]
    if wanted != taints:
        change["spec"] = {"taints": wanted or None}
    return change


def _notes(node: dict[str, Any]) -> dict[str, str]:
    return node["metadata"].get("annotations") or {}
