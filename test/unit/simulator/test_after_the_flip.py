"""What the cluster does by itself when its topology has moved."""

from __future__ import annotations

import asyncio

from topology_simulator import cluster, conditions, kinds
from topology_simulator.actors import cluster_operators

CONTROLLER = "machine-config-controller"


async def grown(living):
    await living.join("master-1", "master-2")
    await living.eventually(living.voters, ["master-0", "master-1", "master-2"])
    await living.eventually(living.pool, (3, 3, 3))


async def configuration(living):
    pool = await living.api.get(kinds.MACHINE_CONFIG_POOLS, "master")
    return pool["status"]["configuration"]["name"]


async def test_nodes_take_the_new_configuration_one_at_a_time(living):
    await grown(living)
    away, most = set(), []

    async def watch():
        async for event in living.api.follow(kinds.NODES, retry_seconds=0.1):
            for node in event.objects if hasattr(event, "objects") else (event.obj,):
                name = node["metadata"]["name"]
                calm = conditions.is_true(node, "Ready") and not node["spec"].get("unschedulable")
                (away.discard if calm else away.add)(name)
            most.append(len(away))

    watching = asyncio.create_task(watch())
    await living.flip()
    await living.eventually(lambda: configuration(living), cluster.rendered("master", "HighlyAvailable"))
    await living.eventually(living.pool, (3, 3, 3))
    watching.cancel()
    await asyncio.wait([watching])
    assert max(most) == 1
    for node in await living.api.list(kinds.NODES):
        notes = node["metadata"]["annotations"]
        assert notes["machineconfiguration.openshift.io/controlPlaneTopology"] == "HighlyAvailable"
        assert not node["spec"].get("unschedulable")


async def test_the_controller_config_and_new_rendered_configurations_come_first(living):
    await grown(living)
    await living.flip()

    async def copied():
        found = await living.api.get(kinds.CONTROLLER_CONFIGS, CONTROLLER)
        return found["spec"]["infra"]["status"]["controlPlaneTopology"]

    await living.eventually(copied, "HighlyAvailable")
    await living.eventually(lambda: configuration(living), cluster.rendered("master", "HighlyAvailable"))
    found = await living.api.get(kinds.CONTROLLER_CONFIGS, CONTROLLER)
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
    names = {one["metadata"]["name"] for one in await living.api.list(kinds.MACHINE_CONFIGS)}
    assert {cluster.rendered(pool, "HighlyAvailable") for pool in ("master", "worker")} <= names


async def test_a_paused_pool_stays_where_it_is_and_objects_to_upgrades(living):
    await grown(living)
    await living.api.patch(kinds.MACHINE_CONFIG_POOLS, "master", {"spec": {"paused": True}})
    await living.flip()
    await living.eventually(lambda: living.operator("machine-config", "Upgradeable"), "False")
    await living.eventually(living.pool, (3, 0, 0))
    await living.eventually(living.routers, 2)
    assert await configuration(living) == cluster.rendered("master", "SingleReplica")
    await living.api.patch(kinds.MACHINE_CONFIG_POOLS, "master", {"spec": {"paused": None}})
    await living.eventually(living.pool, (3, 3, 3))
    await living.eventually(lambda: living.operator("machine-config", "Upgradeable"), "True")


async def test_a_second_router_comes_with_the_topology(living):
    await grown(living)
    assert await living.routers() == 1
    await living.flip()
    await living.eventually(living.routers, 2)
    await living.eventually(lambda: living.operator("ingress", "Progressing"), "False")


async def test_a_pinned_router_stays_alone_until_somebody_unpins_it(running):
    async with running(router_replicas=1) as living:
        await grown(living)
        await living.flip()
        await living.eventually(lambda: configuration(living), cluster.rendered("master", "HighlyAvailable"))
        assert await living.routers() == 1
        unpin = {"spec": {"replicas": None}}
        await living.api.patch(kinds.INGRESS_CONTROLLERS, "default", unpin, cluster.INGRESS_NAMESPACE)
        await living.eventually(living.routers, 2)


async def test_every_topology_aware_operator_reacts_once_and_settles(living):
    moves = {name: [] for name in cluster_operators.REACTING}

    async def watch():
        async for event in living.api.follow(kinds.CLUSTER_OPERATORS, retry_seconds=0.1):
            if hasattr(event, "obj") and event.obj["metadata"]["name"] in moves:
                said = conditions.of(event.obj, "Progressing")["status"]
                history = moves[event.obj["metadata"]["name"]]
                if history[-1:] != [said]:
                    history.append(said)

    watching = asyncio.create_task(watch())
    await living.eventually(lambda: living.operator("console", "Progressing"), "False")
    await asyncio.sleep(0.05)  # the watch must be open before the flip, and nothing tells when it is
    await living.flip()

    async def all_moved():
        return moves

    await living.eventually(all_moved, {name: ["True", "False"] for name in moves})
    watching.cancel()
    await asyncio.wait([watching])
