"""Lets the operands of a cluster follow its topology and its nodes at once, where no actor runs.

`follow(api)` leaves every object as the operators of a real cluster leave it once they are done, before a change (after
nodes have joined) as well as after it. With `without`, some stay as they are: ClusterOperators by name, or one part of
what such an operator does: a workload as "openshift-console/downloads", a budget as "openshift-etcd/etcd-guard-pdb",
"machine-config/controller" (ControllerConfig and the annotations of nodes), "machine-config/pools".
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any

from . import client, cluster, conditions, kinds, machines, operands

_Act = Callable[[client.Client, "_Scene"], Awaitable[bool]]

_CONTROLLER, _POOLS = "machine-config/controller", "machine-config/pools"
_ROUTER = f"{cluster.INGRESS_NAMESPACE}/default"
CONTROLLER_CONFIG = "machine-config-controller"


@dataclass(frozen=True, slots=True)
class _Scene:
    """The cluster as it was read."""

    seen: operands.Sight
    nodes: list[dict[str, Any]]

    @property
    def masters(self) -> list[str]:
        label = machines.LABEL + "master"
        return [node["metadata"]["name"] for node in self.nodes if label in (node["metadata"].get("labels") or {})]


async def follow(api: client.Client, *, without: Collection[str] = ()) -> None:
    """Bring every operand to where its operator will bring it. Raises ClientError, LookupError for an unknown name."""
    infrastructure, version, console, registry, monitoring, nodes = await asyncio.gather(
        api.find(kinds.INFRASTRUCTURES, "cluster"),
        api.find(kinds.CLUSTER_VERSIONS, "version"),
        api.find(kinds.CONSOLES, "cluster"),
        api.find(kinds.REGISTRIES, "cluster"),
        api.find(kinds.CONFIG_MAPS, *operands.MONITORING),
        api.list(kinds.NODES),
    )
    configurations = {kinds.CONSOLES: console, kinds.REGISTRIES: registry}
    scene = _Scene(operands.sight(infrastructure, nodes, version, configurations, monitoring), nodes)
    todo: list[tuple[str, str, _Act]] = [("ingress", _ROUTER, _router)]
    for pods in operands.STATIC_PODS:
        todo.append((pods.operator, f"static-pods/{pods.operator}", functools.partial(_static_pods, pods)))
        todo.append((pods.operator, f"{pods.namespace}/{pods.budget}", functools.partial(_budget, pods)))
    todo += [(work.operator, work.key, functools.partial(_workload, work)) for work in operands.WORKLOADS]
    known = {name for operator, part, _ in todo for name in (operator, part)}
    unknown = set(without) - known - {"machine-config", _CONTROLLER, _POOLS}
    if unknown:
        raise LookupError(f"{sorted(unknown)} are none of {sorted(known)}")

    def wanted(operator: str, part: str) -> bool:
        return not {operator, part} & set(without)

    todo = [each for each in todo if wanted(each[0], each[1])]
    done = await asyncio.gather(*(act(api, scene) for _, _, act in todo))
    moved = {operator for (operator, _, _), did in zip(todo, done, strict=True) if did}
    # In this order: pools follow what the controller has observed.
    for part, act in ((_CONTROLLER, _controller), (_POOLS, _pools)):
        if wanted("machine-config", part) and await act(api, scene):
            moved.add("machine-config")
    await asyncio.gather(*(_has_moved(api, name) for name in sorted(moved)))


async def _put_status(
    api: client.Client, kind: kinds.Kind, obj: dict[str, Any], status: dict[str, Any], **spec: Any
) -> bool:
    """Merge spec and then status where they differ; return whether anything did."""
    meta = obj["metadata"]
    namespace = meta.get("namespace", "")
    changed = {name: value for name, value in spec.items() if (obj.get("spec") or {}).get(name) != value}
    if changed:
        obj = await api.patch(kind, meta["name"], {"spec": changed}, namespace)
    if "observedGeneration" in status:
        status = {**status, "observedGeneration": obj["metadata"]["generation"]}
    present = obj.get("status") or {}
    differing = {name: value for name, value in status.items() if (present.get(name) or 0) != (value or 0)}
    if differing:
        await api.patch_status(kind, meta["name"], differing, namespace)
    return bool(changed or differing)


async def _static_pods(pods: operands.StaticPods, api: client.Client, scene: _Scene) -> bool:
    obj = await api.find(pods.kind, "cluster")
    if obj is None:
        return False
    latest, spec = int(obj["status"]["latestAvailableRevision"]), {}
    if pods.differs:
        spec = {"observedConfig": operands.observed_config(single=scene.seen.single)}
        latest += obj["spec"].get("observedConfig") != spec["observedConfig"]
    present = obj["status"].get("nodeStatuses") or []
    if fresh := set(scene.masters) - {each["nodeName"] for each in present}:
        # A node is listed before it has a revision, as the definition asks.
        listed = [*present, *({"nodeName": name} for name in sorted(fresh))]
        await api.patch_status(pods.kind, "cluster", {"nodeStatuses": listed})
    status = {"latestAvailableRevision": latest, "nodeStatuses": operands.node_statuses(scene.masters, latest)}
    return await _put_status(api, pods.kind, obj, {**status, "observedGeneration": 0}, **spec)


async def _budget(pods: operands.StaticPods, api: client.Client, scene: _Scene) -> bool:
    wanted = None if scene.seen.single else operands.budget(pods, len(scene.masters))
    await _bring(api, kinds.DISRUPTION_BUDGETS, (pods.budget, pods.namespace), wanted)
    return False


async def _workload(workload: operands.Workload, api: client.Client, scene: _Scene) -> bool:
    replicas = scene.seen.wanted(workload)
    wanted = None if replicas is None else operands.workload(workload, replicas)
    return await _bring(api, workload.kind, (workload.name, workload.namespace), wanted)


async def _bring(api: client.Client, kind: kinds.Kind, place: tuple[str, str], wanted: dict[str, Any] | None) -> bool:
    """Let there be an object with the numbers of this spec and its status, or none; return whether it differed."""
    obj = await api.find(kind, *place)
    if wanted is None:
        if obj is not None:
            await api.delete(kind, *place)
        return obj is not None
    obj = obj or await api.create(kind, wanted)
    numbers = {name: value for name, value in wanted["spec"].items() if isinstance(value, int)}
    return await _put_status(api, kind, obj, wanted["status"], **numbers)


async def _router(api: client.Client, scene: _Scene) -> bool:
    obj = await api.find(kinds.INGRESS_CONTROLLERS, "default", cluster.INGRESS_NAMESPACE)
    if obj is None:
        return False
    pinned = (obj.get("spec") or {}).get("replicas")
    wanted = operands.routers(scene.seen.topology) if pinned is None else int(pinned)
    return await _put_status(
        api, kinds.INGRESS_CONTROLLERS, obj, {"availableReplicas": wanted, "observedGeneration": 0}
    )


async def _controller(api: client.Client, scene: _Scene) -> bool:
    obj = await api.find(kinds.CONTROLLER_CONFIGS, CONTROLLER_CONFIG)
    if obj is None:
        return False
    names = ("controlPlaneTopology", "infrastructureTopology", "platform")
    infra = obj["spec"].get("infra") or {}
    wanted = {**(infra.get("status") or {}), **{name: scene.seen.topology.get(name) for name in names}}
    states = conditions.merged(obj, cluster.controller_states())
    status: dict[str, Any] = {"observedGeneration": 0, **({"conditions": states} if states else {})}
    moved = await _put_status(api, kinds.CONTROLLER_CONFIGS, obj, status, infra={**infra, "status": wanted})
    topology, key = wanted["controlPlaneTopology"], cluster.TOPOLOGY
    old = [node for node in scene.nodes if cluster.notes(node).get(key) not in (None, topology)]
    notes = {"metadata": {"annotations": {key: topology}}}
    await asyncio.gather(*(api.patch(kinds.NODES, node["metadata"]["name"], notes) for node in old))
    return moved or bool(old)


async def _pools(api: client.Client, scene: _Scene) -> bool:
    topology = scene.seen.topology["controlPlaneTopology"]
    pools = {pool["metadata"]["name"]: pool for pool in await api.list(kinds.MACHINE_CONFIG_POOLS)}
    homes = [(cluster.pool_of(node, pools.values()), node) for node in scene.nodes]
    moved = False
    for name, pool in pools.items():
        members = [node for home, node in homes if home == name]
        wanted = cluster.rendered(name, topology)
        if await api.find(kinds.MACHINE_CONFIGS, wanted) is None:
            await api.create(kinds.MACHINE_CONFIGS, cluster.machine_config(name, topology))
        notes = {"metadata": {"annotations": cluster.pool_node_annotations(name, topology)}}
        old = [node for node in members if notes["metadata"]["annotations"].items() - cluster.notes(node).items()]
        await asyncio.gather(*(api.patch(kinds.NODES, node["metadata"]["name"], notes) for node in old))
        status: dict[str, Any] = {"configuration": {"name": wanted}, "observedGeneration": 0}
        status |= cluster.counts_at_rest(len(members))
        states = conditions.merged(pool, cluster.pool_states(updating=False, name=wanted))
        if states is not None:
            status["conditions"] = states
        configuration = {**pool["spec"]["configuration"], "name": wanted}
        moved |= await _put_status(api, kinds.MACHINE_CONFIG_POOLS, pool, status, configuration=configuration)
    return moved


async def _has_moved(api: client.Client, operator: str) -> None:
    """Let a ClusterOperator show that it was Progressing and no longer is."""
    obj = await api.find(kinds.CLUSTER_OPERATORS, operator)
    if obj is None:
        return
    others = [condition for condition in obj["status"].get("conditions") or [] if condition["type"] != "Progressing"]
    progressing = conditions.written(conditions.stated("operator not rolling out"))
    await api.patch_status(kinds.CLUSTER_OPERATORS, operator, {"conditions": [*others, *progressing]})
