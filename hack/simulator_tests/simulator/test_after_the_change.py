"""What the cluster does by itself when its topology has moved."""

from __future__ import annotations

import asyncio
import dataclasses

from topology_simulator import client, cluster, conditions, kinds, operands, pace
from topology_simulator.actors import kubelets

REACTING = ("console", "monitoring", "operator-lifecycle-manager-packageserver", "network", "kube-apiserver")


async def grown(living):
    await living.join("master-1", "master-2")
    await living.eventually(living.voters, ["master-0", "master-1", "master-2"])
    await living.eventually(living.pool, (3, 3, 3))


async def configuration(living):
    pool = await living.api.get(kinds.MACHINE_CONFIG_POOLS, "master")
    return pool["status"]["configuration"]["name"]


async def test_a_pinned_router_stays_alone_until_somebody_unpins_it(running):
    async with running(router_replicas=1) as living:
        await grown(living)
        await living.change()
        await living.eventually(lambda: configuration(living), cluster.rendered("master", "HighlyAvailable"))
        assert await living.routers() == 1
        unpin = {"spec": {"replicas": None}}
        await living.api.patch(kinds.INGRESS_CONTROLLERS, "default", unpin, cluster.INGRESS_NAMESPACE)
        await living.eventually(living.routers, 2)


async def test_every_topology_aware_operator_reacts_once_and_settles(living):
    await grown(living)
    await living.eventually(lambda: living.ready_of("openshift-apiserver", "apiserver"), 3)
    await living.eventually(lambda: revisions(living), (operands.REVISION, 3, 3))
    for name in ("authentication", "kube-apiserver"):
        await living.eventually(lambda name=name: living.operator(name, "Progressing"), "False")
    moves: dict[str, list[str]] = {name: [] for name in REACTING}
    listed = asyncio.Event()

    async def watch():
        async for event in living.api.follow(kinds.CLUSTER_OPERATORS, retry_seconds=0.1):
            if isinstance(event, client.Listed):
                # What comes after the version of the list is not missed.
                listed.set()
            elif event.obj["metadata"]["name"] in moves:
                said = conditions.find(event.obj, "Progressing")["status"]
                history = moves[event.obj["metadata"]["name"]]
                if history[-1:] != [said]:
                    history.append(said)

    watching = asyncio.create_task(watch())
    await living.eventually(lambda: living.operator("console", "Progressing"), "False")
    await listed.wait()
    await living.change()

    async def all_moved():
        # It makes two revisions, and each node that restarts puts the roll-out off: only its end is sure.
        return {**moves, "kube-apiserver": moves["kube-apiserver"][-2:]}

    await living.eventually(all_moved, {name: ["True", "False"] for name in moves})
    watching.cancel()
    await asyncio.wait([watching])


async def revisions(living, kind=kinds.KUBE_API_SERVERS):
    """Return the latest revision and how many nodes are there."""
    status = (await living.api.get(kind, "cluster"))["status"]
    latest = status["latestAvailableRevision"]
    level = [one.get("currentRevision") == latest and not one.get("targetRevision") for one in status["nodeStatuses"]]
    return latest, sum(level), len(status["nodeStatuses"])


async def budgets(living):
    return sorted({one["spec"]["minAvailable"] for one in await living.api.list(kinds.DISRUPTION_BUDGETS)})


async def test_static_pods_come_to_every_node_and_only_kube_apiserver_gets_new_revisions_slowly_and_always_two(running):
    async with running(speeds=dataclasses.replace(pace.FAST, quiet_pods=0.3)) as living:
        await grown(living)
        for kind in (kinds.KUBE_API_SERVERS, kinds.KUBE_CONTROLLER_MANAGERS, kinds.KUBE_SCHEDULERS, kinds.ETCDS):
            await living.eventually(lambda kind=kind: revisions(living, kind), (operands.REVISION, 3, 3))
        assert await budgets(living) == []
        await living.change()
        times = []
        for count in (1, 2, 3):
            await living.eventually(lambda: revisions(living), (operands.REVISION + 2, count, 3))
            times.append(asyncio.get_running_loop().time())
            assert count == 3 or await living.operator("kube-apiserver", "Progressing") == "True"
        assert times[0] + 0.2 < times[1] < times[2] - 0.2
        await living.eventually(lambda: budgets(living), [2])
        assert len(await living.api.list(kinds.DISRUPTION_BUDGETS)) == len(operands.STATIC_PODS)
        assert await revisions(living, kinds.ETCDS) == (operands.REVISION, 3, 3)
        await living.eventually(lambda: living.operator("kube-apiserver", "Progressing"), "False")


async def test_an_operator_that_is_held_does_not_react_until_it_is_released(living):
    await grown(living)
    living.actors.order("hold", "console")
    await living.change()
    await living.eventually(lambda: living.ready_of("openshift-multus", "multus-admission-controller"), 2)
    assert await living.ready_of("openshift-console", "console") == 1
    assert await living.operator("console", "Progressing") == "False"
    living.actors.order("release", "console")
    await living.eventually(lambda: living.ready_of("openshift-console", "console"), 2)


async def test_masters_that_carry_no_workloads_are_tainted_and_workers_get_a_pool(running):
    async with running(workers=1, schedulable=False) as living:
        await living.join("master-1")
        await kubelets.join(living.api, "worker-1", kubelets.WORKER)

        async def taints():
            node = await living.node("master-1")
            return [one["key"] for one in node["spec"].get("taints") or []], "worker" in str(node["metadata"]["labels"])

        await living.eventually(taints, (["node-role.kubernetes.io/master"], False))
        await living.eventually(lambda: living.pool("worker"), (2, 2, 2))
