"""The operators that deploy: monitoring, packageserver, multus, registry, the API servers and oauth; routers; own pods.

`Workloads` want as many replicas as the table of `operands` says. No operator reacts at once, they do not react
together, between two of them the cluster looks calm, and one is Progressing only while it rolls out. Replicas become
ready one after the other and need a Ready node each. There is no controller manager, so the status of the workloads is
written here too. `console` does the same as `Workloads` and more.
"""

from typing import Any, ClassVar

from topology_simulator import cluster, conditions, kinds, operands

from . import actor

_CONFIGURATIONS = (kinds.CONSOLES, kinds.REGISTRIES)
CONSOLE = "console"


class Workloads(actor.Actor):
    """Lets each operator's workloads follow."""

    agent = "topology-aware-operators"
    watched = (
        kinds.INFRASTRUCTURES,
        kinds.NODES,
        kinds.CLUSTER_VERSIONS,
        kinds.CLUSTER_OPERATORS,
        kinds.DEPLOYMENTS,
        kinds.STATEFUL_SETS,
        kinds.CONFIG_MAPS,
        *_CONFIGURATIONS,
    )
    operators: ClassVar = frozenset(workload.operator for workload in operands.WORKLOADS) - {CONSOLE}
    reason: ClassVar = "RollingOut"
    """Of Progressing while something is rolled out."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._groups: dict[str, list[operands.Workload]] = {}
        for workload in operands.WORKLOADS:
            if workload.operator in self.operators:
                self._groups.setdefault(workload.operator, []).append(workload)
        self._rolling: set[str] = set()

    async def step(self) -> None:
        """Move every workload a bit nearer to what is wanted, and report for its operator."""
        if not self.topology:
            return
        configurations = {kind: self.mirror.get(kind, "cluster") for kind in _CONFIGURATIONS}
        infrastructure = self.mirror.get(kinds.INFRASTRUCTURES, "cluster")
        version = self.mirror.get(kinds.CLUSTER_VERSIONS, "version")
        monitoring = self.mirror.get(kinds.CONFIG_MAPS, *operands.MONITORING)
        seen = operands.sight(infrastructure, self.mirror.all(kinds.NODES), version, configurations, monitoring)
        if not seen.masters:
            return  # a hosted control plane has its workloads elsewhere
        for turn, (operator, group) in enumerate(self._groups.items(), start=1):
            for workload in group:
                await self._tend(workload, seen, turn)
            await self._tell(operator, group)

    async def _tend(self, workload: operands.Workload, seen: operands.Sight, turn: int) -> None:
        obj, wanted = self.mirror.get(workload.kind, workload.name, workload.namespace), seen.wanted(workload)
        if wanted is None:
            if obj is not None:
                await self.api.delete(workload.kind, workload.name, workload.namespace)
            self._rolling.discard(workload.key)
        elif obj is None:
            if self._reacts(workload, wanted, turn):
                await self.create(workload.kind, {**operands.workload(workload, wanted), "status": {}})
        else:
            change = self._change(workload, obj, wanted)
            if change and self._reacts(workload, wanted, turn):
                await self.patch(workload.kind, obj, change)
                obj = self.mirror.get(workload.kind, workload.name, workload.namespace) or obj
            await self._run(workload, obj)

    def _change(self, workload: operands.Workload, obj: dict[str, Any], wanted: int) -> dict[str, Any]:  # noqa: ARG002 - console's
        """Return what its operator would write into the object now, empty when nothing."""
        return {} if obj["spec"].get("replicas") == wanted else {"spec": {"replicas": wanted}}

    def _reacts(self, workload: operands.Workload, wanted: int, turn: int) -> bool:
        """Whether it is this operator's turn to see what has changed."""
        key = ("react", workload.key, wanted)
        if self.troubles.holds(workload.operator, workload.key) or not self.waits.over(key, self.pace.react * turn):
            return False
        self._rolling.add(workload.key)
        return True

    async def _run(self, workload: operands.Workload, obj: dict[str, Any]) -> None:
        replicas, ready = int(obj["spec"]["replicas"]), int((obj.get("status") or {}).get("readyReplicas") or 0)
        places = sum(conditions.is_true(node, "Ready") for node in self.mirror.all(kinds.NODES))
        ready = self.risen(("replica", workload.key), ready, min(replicas, places), self.pace.replica)
        if ready == replicas:
            self._rolling.discard(workload.key)
        status = operands.workload_status(workload, obj["metadata"]["generation"], replicas, ready)
        await self.say(workload.kind, obj, (), **status)

    async def _tell(self, operator: str, group: list[operands.Workload]) -> None:
        rolling = self._underway(group)
        if rolling:
            message = f"{', '.join(rolling)} {'is' if len(rolling) == 1 else 'are'} being rolled out"
            rolls = conditions.stated("operator rolling out", reason=self.reason, message=message)
            await self.say_operator(operator, *rolls)
            return
        progressing = conditions.find(self.mirror.get(kinds.CLUSTER_OPERATORS, operator), "Progressing")
        if progressing.get("reason") == self.reason:
            await self.say_operator(operator, *conditions.stated("operator not rolling out"))

    def _underway(self, group: list[operands.Workload]) -> list[str]:
        """Return what the operator calls progress: the names of its workloads."""
        return [workload.name for workload in group if workload.key in self._rolling]


_RENEWED = 26.0
"""Seconds, at any pace: how long a Lease lasts is no matter of pace either."""


class OperatorPods(actor.Actor):
    """Keeps the pods of operators that read the topology only at their start, and of those of OLM, and their Leases.

    Deleted, a pod comes back as a new one, which takes the Lease over with the times of the topology that it finds, and
    keeps them (library-go pkg/config/leaderelection/leaderelection.go and pkg/controller/controllercmd/builder.go,
    93ac9206a). The drains after a change, which really start most of them again, leave these where they are.
    """

    agent = "replicaset-controller"
    watched = (kinds.INFRASTRUCTURES, kinds.PODS, kinds.NODES, kinds.CSV)
    readers: ClassVar = operands.READERS

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._made = 0

    async def step(self) -> None:
        """Make a pod where there is none, and renew Leases."""
        if not self.nodes_with("master"):
            return
        readers = (*self.readers, *operands.optional(self.mirror.all(kinds.CSV)))
        pods = (pod["metadata"] for pod in self.mirror.all(kinds.PODS))
        present = {(meta["namespace"], (meta.get("labels") or {}).get("app")) for meta in pods}
        for reader in readers:
            timer = ("pod", reader.app)
            if (reader.namespace, reader.app) in present:
                self.waits.clear(timer)
            elif self.waits.due(timer, self.pace.replica):
                self._made += 1
                pod = operands.reader(reader, self._made)
                await self.create(kinds.PODS, pod)
                holder = f"{pod['metadata']['name']}_{self._made}"
                if reader.lease:
                    spec = operands.lease_spec(holder, self._made, single=self.single)
                    await self.api.patch(kinds.LEASES, reader.lease, {"spec": spec}, reader.namespace)
                if reader.keeps and not self.single:
                    await self.api.patch(kinds.DEPLOYMENTS, reader.keeps, {"spec": {"replicas": 2}}, reader.namespace)
        if self.waits.every("leases", _RENEWED):
            for reader in readers:
                if reader.lease and (reader.namespace, reader.app) in present:
                    change = {"spec": {"renewTime": conditions.now_micro()}}
                    await self.api.patch(kinds.LEASES, reader.lease, change, reader.namespace)


class Ingress(actor.Actor):
    """The ingress operator: as many routers as the topology says, unless a number is written.

    Explicit `spec.replicas` wins over topology: that is how the real operator treats the default controller that it
    created itself with `replicas: 1`, and why a grown cluster can keep a single router. A router goes with its node
    and comes back later, which is no progress: cluster-ingress-operator 0c0c6484 in hack/lab, story `grow`.
    """

    agent = "ingress-operator"
    watched = (kinds.INGRESS_CONTROLLERS, kinds.INFRASTRUCTURES, kinds.NODES, kinds.CLUSTER_OPERATORS)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._homes: list[str] = []
        self._rolled_out: int | None = None

    async def step(self) -> None:
        """Move one router nearer to what is wanted, and report."""
        router = self.mirror.get(kinds.INGRESS_CONTROLLERS, "default", cluster.INGRESS_NAMESPACE)
        if router is None or self.troubles.holds("ingress"):
            return
        wanted = (router.get("spec") or {}).get("replicas")
        if wanted is None:
            wanted = operands.routers((self.mirror.get(kinds.INFRASTRUCTURES, "cluster") or {}).get("status") or {})
        ready = [node["metadata"]["name"] for node in self.nodes_with("worker") if conditions.is_true(node, "Ready")]
        if self._rolled_out is None:
            self._rolled_out = available = int((router.get("status") or {}).get("availableReplicas") or 0)
            self._homes = ready[:available]
        homes = [name for name in self._homes if name in ready][:wanted]
        available = self.risen("router", len(homes), min(wanted, len(ready)), self.pace.router)
        self._homes = homes + [name for name in ready if name not in homes][: available - len(homes)]
        self._rolled_out = wanted if available == wanted else self._rolled_out
        moving = "router not moving" if self._rolled_out == wanted else "router moving"
        text = f"{available} of {wanted} routers are available"
        states = conditions.stated("router", moving, available=available > 0, text=text)
        counts = {"availableReplicas": available, "observedGeneration": router["metadata"]["generation"]}
        await self.say(kinds.INGRESS_CONTROLLERS, router, states, **counts)
        await self.say_operator("ingress", *states[1:])
