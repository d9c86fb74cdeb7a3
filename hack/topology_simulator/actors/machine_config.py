"""The machine config operator with its controller and daemons, as it was measured beside a real API server.

* Every write of Infrastructure ends up in ControllerConfig, the whole object, resourceVersion included. That is a new
  generation, so all templates are rendered again, and TemplateControllerCompleted is False meanwhile. What is written
  in between two syncs is copied as one, and nothing is while a pool holds the sync up.
* A topology with other templates gives every pool another configuration, paused and empty ones too, a while after the
  templates are done; until then every pool looks finished.
* A pool's own sync annotates its nodes with the topology and moves them: one at a time, given its configuration, a step
  later cordoned, from where on the pool counts it as unavailable (story `calm` of the lab), installed, rebooted (their
  kubelet does that) and let go. It runs with an event of the pool or its nodes, and never for a paused pool.

Sources: machine-config-operator pkg/operator/sync.go, pkg/operator/status.go, lib/resourcemerge/machineconfig.go,
pkg/controller/template/status.go, pkg/controller/render/render_controller.go, pkg/controller/node/node_controller.go
and status.go (release-4.21). Left out: taint UpdateInProgress, MachineConfigNodes, arbiter's own pool.
"""

from typing import Any

from topology_simulator import client, cluster, conditions, configured, kinds, machines

from . import actor

_BOOT_BEFORE = cluster.PREFIX + "bootBefore"
_WORKER = machines.LABEL + "worker"
_MASTER_TAINT = {"key": machines.LABEL + "master", "effect": "NoSchedule"}
_CONTROLLER = "machine-config-controller"
_EXCHANGED = (cluster.CURRENT, cluster.DESIRED, cluster.STATE, cluster.REASON)
"""What a node's daemon and its controller write for each other: a change of it is an event of the pool."""


class MachineConfig(actor.Actor):
    """Copies Infrastructure, labels nodes and rolls configurations out."""

    agent = "machine-config-operator"
    watched = (
        kinds.NODES,
        kinds.SCHEDULERS,
        kinds.INFRASTRUCTURES,
        kinds.CONTROLLER_CONFIGS,
        kinds.MACHINE_CONFIG_POOLS,
        kinds.CLUSTER_OPERATORS,
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._has_copied = False
        self._synced: dict[str, tuple[object, object]] = {}

    async def step(self) -> None:
        """Copy, render, label, roll out, count, report."""
        if self._controller() is None:
            return
        await self._copy()
        await self._make_templates()
        await self._point()
        await self._label()
        for pool in self._pools():
            await self._sync(pool)
        await self._report()

    # -- the operator

    async def _copy(self) -> None:
        infrastructure = self.mirror.get(kinds.INFRASTRUCTURES, "cluster")
        controller = self._controller()
        if infrastructure is None or controller is None:
            return
        copy = (controller["spec"].get("infra") or {}).get("metadata") or {}
        same = copy.get("resourceVersion") == infrastructure["metadata"]["resourceVersion"]
        if same or self._held_up() or self.troubles.holds("machine-config"):
            self.waits.clear("copy")
            return
        rested = not self._has_copied or self.waits.due("sync", self.pace.operator_sync)
        if not self.waits.due("copy", self.pace.copy) or not rested:
            return
        self.waits.clear("copy")
        self.waits.start("sync", self.pace.operator_sync)
        self._has_copied = True
        spec = {**controller["spec"], "infra": cluster.copied_infrastructure(infrastructure)}
        self.mirror.keep(
            kinds.CONTROLLER_CONFIGS, await self.api.put(kinds.CONTROLLER_CONFIGS, {**controller, "spec": spec})
        )

    def _held_up(self) -> bool:
        """Whether the operator sits in its sync: it waits for pool master, and for any pool that is degraded."""
        for pool in self._pools():
            required = pool["metadata"]["name"] == cluster.MASTER and not pool["spec"].get("paused")
            if conditions.is_true(pool, "Degraded") or (required and not cluster.is_settled(pool)):
                return True
        return False

    async def _report(self) -> None:
        pools = {pool["metadata"]["name"]: pool for pool in self._pools()}
        degraded = any(conditions.is_true(pool, "Degraded") for pool in pools.values())
        master = pools.get(cluster.MASTER)
        paused = master is not None and master["spec"].get("paused") and not cluster.is_settled(master)
        upgrades = "pools degraded" if degraded else "operator upgradeable"
        state = "required pool paused" if paused else "operator not degraded"
        await self.say_operator("machine-config", *conditions.stated(upgrades, state))

    # -- the controller: templates, rendered configurations

    async def _make_templates(self) -> None:
        """Render all templates of a new ControllerConfig, whatever is new in it."""
        controller = self._controller() or {}
        generation = controller["metadata"]["generation"]
        if (controller.get("status") or {}).get("observedGeneration") != generation:
            self.waits.clear("templates")
            running = cluster.controller_states(completed=False)
            await self.say(kinds.CONTROLLER_CONFIGS, controller, running, observedGeneration=generation)
        elif self._completed():
            return
        if self.waits.due("templates", self.pace.templates):
            await self.say(kinds.CONTROLLER_CONFIGS, self._controller(), cluster.controller_states())

    async def _point(self) -> None:
        """Point pools at the configurations that the templates give them, a while after these are done."""
        if not self._completed():
            return
        topology = self._topology()
        wanted = {
            pool["metadata"]["name"]: cluster.rendered(pool["metadata"]["name"], topology) for pool in self._pools()
        }
        behind = [pool for pool in self._pools() if pool["spec"]["configuration"].get("name") != wanted[_name(pool)]]
        if not topology or not behind:
            self.waits.clear("render")
        elif self.waits.due("render", self.pace.render):
            noted = ((self._controller() or {})["metadata"].get("annotations") or {}).get(configured.RELEASE_VERSION)
            for pool in behind:
                config = cluster.machine_config(_name(pool), topology, noted or cluster.VERSION)
                with client.allowing(409):
                    await self.api.create(kinds.MACHINE_CONFIGS, config)
                change = {"spec": {"configuration": {"name": wanted[_name(pool)]}}}
                await self.patch(kinds.MACHINE_CONFIG_POOLS, pool, change)

    # -- the controller: nodes

    async def _label(self) -> None:
        """Give Ready nodes their configuration; let masters carry workloads, by label and taint, or not."""
        scheduler = self.mirror.get(kinds.SCHEDULERS, "cluster") or {}
        schedulable = (scheduler.get("spec") or {}).get("mastersSchedulable") is True
        pools = {_name(pool): pool for pool in self._pools()}
        for node in self.mirror.all(kinds.NODES):
            name = _name(node)
            if not conditions.is_true(node, "Ready"):
                self.waits.clear(("label", name))
                continue
            if not self.waits.due(("label", name), self.pace.label):
                continue
            pool = cluster.pool_of(node, pools.values())
            change = _carrying(node, schedulable=schedulable) if pool == cluster.MASTER else {}
            if cluster.CURRENT not in cluster.notes(node) and pool in pools:
                served = cluster.done(pools[pool]["status"]["configuration"]["name"])
                change.setdefault("metadata", {})["annotations"] = served
            if change:
                await self.patch(kinds.NODES, node, change)

    async def _sync(self, pool: dict[str, Any]) -> None:
        """Bring a pool's nodes and status up to date: a while after the pool has changed, at once for its nodes."""
        name, meta = _name(pool), pool["metadata"]
        members = self._members(name)
        events = (
            (meta["generation"], meta.get("labels"), meta.get("annotations")),
            [
                (
                    _name(node),
                    [cluster.notes(node).get(name) for name in _EXCHANGED],
                    cluster.counts_as_ready(node),
                    node["metadata"].get("labels"),
                )
                for node in members
            ],
        )
        seen = self._synced.get(name)
        if seen is not None and seen[0] != events[0] and not self.waits.due(("pool", name), self.pace.pool_sync):
            return
        self.waits.clear(("pool", name))
        if not pool["spec"].get("paused"):
            if seen != events:
                # The daemons get the topology: whether a node is drained before it restarts depends on it.
                topology = self._topology()
                for node in members:
                    if topology and cluster.notes(node).get(cluster.TOPOLOGY) != topology:
                        await self._note(node, {cluster.TOPOLOGY: topology})
            await self._move(name, pool["spec"]["configuration"]["name"])
        self._synced[name] = events
        status = cluster.pool_status(pool, self._members(name))
        await self.say(kinds.MACHINE_CONFIG_POOLS, pool, status.pop("states"), **status)

    async def _move(self, pool: str, wanted: str) -> None:
        members = self._members(pool)
        if members and pool in self.troubles.degraded:
            node = members[0]
            if cluster.notes(node).get(cluster.STATE) != cluster.DEGRADED:
                why = "unexpected on-disk state validating against " + cluster.notes(node)[cluster.DESIRED]
                await self._note(node, {cluster.STATE: cluster.DEGRADED, cluster.REASON: why})
            return
        busy = [
            node
            for node, notes in ((node, cluster.notes(node)) for node in members)
            if notes.get(cluster.STATE) != cluster.DONE or notes.get(cluster.DESIRED) != notes.get(cluster.CURRENT)
        ]
        old = [node for node in members if cluster.notes(node).get(cluster.CURRENT) != wanted]
        if busy:
            await self._advance(busy[0], wanted)
        elif old and all(cluster.counts_as_ready(node) for node in members):
            await self._note(old[0], {cluster.DESIRED: wanted})

    # -- the daemons

    async def _advance(self, node: dict[str, Any], wanted: str) -> None:
        notes, boot, name = cluster.notes(node), node["status"]["nodeInfo"].get("bootID"), _name(node)
        if notes.get(cluster.STATE) == cluster.DONE:
            self.waits.clear(("install", name))
            await self._note(node, {cluster.STATE: "Working"}, unschedulable=True)
        elif notes.get(cluster.STATE) == "Working":
            if self.waits.due(("install", name), self.pace.install):
                await self._note(node, {cluster.STATE: "Rebooting", _BOOT_BEFORE: boot})
        elif _BOOT_BEFORE not in notes:
            await self._note(node, {cluster.STATE: cluster.DONE, cluster.REASON: ""})
        elif boot == notes[_BOOT_BEFORE] or not conditions.is_true(node, "Ready"):
            return
        else:
            await self._note(node, {**cluster.done(wanted), _BOOT_BEFORE: None}, unschedulable=None)

    async def _note(self, node: dict[str, Any], notes: dict[str, str | None], **spec: Any) -> None:
        change: dict[str, Any] = {"metadata": {"annotations": notes}}
        await self.patch(kinds.NODES, node, change | ({"spec": spec} if spec else {}))

    # -- what they look at

    def _controller(self) -> dict[str, Any] | None:
        return self.mirror.get(kinds.CONTROLLER_CONFIGS, _CONTROLLER)

    def _completed(self) -> bool:
        return conditions.is_true(self._controller(), "TemplateControllerCompleted")

    def _topology(self) -> str:
        infra = ((self._controller() or {}).get("spec") or {}).get("infra") or {}
        return str((infra.get("status") or {}).get("controlPlaneTopology") or "")

    def _pools(self) -> list[dict[str, Any]]:
        return self.mirror.all(kinds.MACHINE_CONFIG_POOLS)

    def _members(self, pool: str) -> list[dict[str, Any]]:
        pools = self._pools()
        nodes = [node for node in self.mirror.all(kinds.NODES) if cluster.CURRENT in cluster.notes(node)]
        return [node for node in nodes if cluster.pool_of(node, pools) == pool]


def _name(obj: dict[str, Any]) -> str:
    return str(obj["metadata"]["name"])


def _carrying(node: dict[str, Any], *, schedulable: bool) -> dict[str, Any]:
    """Return what has to change on a master so that it carries workloads, or does not."""
    change: dict[str, Any] = {}
    if (_WORKER in node["metadata"]["labels"]) is not schedulable:
        change["metadata"] = {"labels": {_WORKER: "" if schedulable else None}}
    taints = node["spec"].get("taints") or []
    others = [taint for taint in taints if taint.get("key") != _MASTER_TAINT["key"]]
    wanted = others if schedulable else [*others, _MASTER_TAINT]
    if wanted != taints:
        change["spec"] = {"taints": wanted or None}
    return change
