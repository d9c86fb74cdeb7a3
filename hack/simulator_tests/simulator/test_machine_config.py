"""The machine config operator as it was measured: what a write of Infrastructure does, and how pools follow."""

from __future__ import annotations

import asyncio
import dataclasses

from simulator_tests.simulator.conftest import watched
from topology_simulator import cluster, conditions, kinds, pace

CONTROLLER = "machine-config-controller"
TOPOLOGY = "machineconfiguration.openshift.io/controlPlaneTopology"
NEW = {name: cluster.rendered(name, "HighlyAvailable") for name in ("master", "worker", "canary", "empty")}
OLD = {name: cluster.rendered(name, "SingleReplica") for name in NEW}
POOLS = (cluster.CustomPool(name="canary", machines=1, paused=True), cluster.CustomPool(name="empty"))


def version(obj):
    return int(obj["metadata"]["resourceVersion"])


async def controller(living):
    return await living.api.get(kinds.CONTROLLER_CONFIGS, CONTROLLER)


async def pools(living):
    return {one["metadata"]["name"]: one for one in await living.api.list(kinds.MACHINE_CONFIG_POOLS)}


async def pointed(living):
    return {name: one["spec"]["configuration"]["name"] for name, one in (await pools(living)).items()}


async def taken(living):
    return {name: one["status"]["configuration"]["name"] for name, one in (await pools(living)).items()}


async def noted(living):
    nodes = await living.api.list(kinds.NODES)
    return {one["metadata"]["name"]: one["metadata"]["annotations"].get(TOPOLOGY) for one in nodes}


async def looks(living, pool):
    """Return machines, updated, ready, degraded, and the conditions that are True."""
    status = (await living.api.get(kinds.MACHINE_CONFIG_POOLS, pool))["status"]
    names = ("machineCount", "updatedMachineCount", "readyMachineCount", "degradedMachineCount")
    return [status[name] for name in names], {one["type"] for one in status["conditions"] if one["status"] == "True"}


async def copied(living):
    """Whether ControllerConfig carries Infrastructure as it is now, and is done with it."""
    found, infrastructure = await controller(living), await living.api.get(kinds.INFRASTRUCTURES, "cluster")
    copy, original = found["spec"]["infra"]["metadata"], infrastructure["metadata"]
    same = copy.get("resourceVersion") == original["resourceVersion"]
    # Right after the copy it is completed still: of what was there before.
    seen = found["status"]["observedGeneration"] == found["metadata"]["generation"]
    return same and seen and conditions.is_true(found, "TemplateControllerCompleted")


async def touch(living, value):
    await living.api.patch(kinds.INFRASTRUCTURES, "cluster", {"metadata": {"annotations": {"touched": value}}})


async def test_every_write_of_infrastructure_is_copied_whole(living):
    await living.eventually(lambda: copied(living), wanted=True)
    record = {"topologyTransition": {"phase": "Idle"}}
    await living.api.patch_status(kinds.INFRASTRUCTURES, "cluster", record)
    await touch(living, "yes")
    await living.eventually(lambda: copied(living), wanted=True)
    infra = (await controller(living))["spec"]["infra"]
    original = await living.api.get(kinds.INFRASTRUCTURES, "cluster")
    assert infra["metadata"] == original["metadata"]
    assert infra["metadata"]["managedFields"]
    assert infra["spec"] == original["spec"]
    assert original["status"].pop("topologyTransition") == {"phase": "Idle"}
    assert infra["status"] == original["status"]


async def test_a_write_that_changes_no_topology_moves_no_pool(living):
    await living.eventually(lambda: copied(living), wanted=True)
    before = await pools(living)
    await touch(living, "yes")
    await living.eventually(lambda: copied(living), wanted=True)
    await asyncio.sleep(5 * pace.FAST.render)
    assert await pools(living) == before


async def test_every_pool_is_pointed_at_once_and_looks_finished_until_well_after(running):
    def done(controller):
        seen = controller["status"]["observedGeneration"] == controller["metadata"]["generation"]
        topology = controller["spec"]["infra"]["status"]["controlPlaneTopology"]
        return seen and topology == "HighlyAvailable" and conditions.is_true(controller, "TemplateControllerCompleted")

    def finished(pool):
        status = pool["status"]
        counts = {status[name] for name in ("machineCount", "updatedMachineCount", "readyMachineCount")}
        updated = [one["type"] for one in status["conditions"] if one["status"] == "True"] == ["Updated"]
        return updated and len(counts) == 1 and status["configuration"]["name"] == OLD[pool["metadata"]["name"]]

    def noted(node):
        return node["metadata"]["annotations"][TOPOLOGY] != "SingleReplica"

    async with (
        running(masters=3, workers=1, schedulable=False, pools=POOLS) as living,
        watched(living, kinds.CONTROLLER_CONFIGS) as controllers,
        watched(living, kinds.MACHINE_CONFIG_POOLS) as states,
        watched(living, kinds.NODES) as nodes,
    ):

        async def followed():
            turned = {one["metadata"]["name"]: one["status"]["configuration"]["name"] for one in states}
            return {one["metadata"]["name"] for one in nodes if noted(one)}, turned

        await living.eventually(lambda: copied(living), wanted=True)
        await living.change()
        masters = {f"master-{number}" for number in range(3)}
        await living.eventually(followed, ({"worker-0", *masters}, {**NEW, "canary": OLD["canary"]}))
        # The templates are done, and nothing shows that there is anything to come.
        assert min(map(version, filter(done, controllers))) < min(map(version, states))
        pointed = [pool for pool in states if pool["spec"]["configuration"]["name"] == NEW[pool["metadata"]["name"]]]
        first = {pool["metadata"]["name"]: pool for pool in reversed(pointed)}
        assert (first.keys(), all(map(finished, first.values()))) == (NEW.keys(), True)
        # All are pointed before any moves, and before a node has the topology.
        moved = [*(pool for pool in states if not finished(pool)), *filter(noted, nodes)]
        assert max(map(version, first.values())) < min(map(version, moved))


async def test_a_paused_pool_is_pointed_too_and_says_that_it_does_not_follow(running):
    async with running(masters=3, workers=1, schedulable=False, pools=POOLS) as living:
        await living.change()
        await living.eventually(lambda: looks(living, "canary"), ([1, 0, 0, 0], set()))
        await living.eventually(lambda: taken(living), {**NEW, "canary": OLD["canary"]})
        pool = (await pools(living))["canary"]
        said = conditions.find(pool, "Updating")["message"]
        assert said == f"Pool is paused; will not update to MachineConfig {NEW['canary']}"
        assert pool["status"]["observedGeneration"] == pool["metadata"]["generation"]
        assert await living.operator("machine-config", "Degraded") == "False"
        await living.api.patch(kinds.MACHINE_CONFIG_POOLS, "canary", {"spec": {"paused": False}})
        await living.eventually(lambda: taken(living), NEW)
        assert (await noted(living))["canary-0"] == "HighlyAvailable"


async def test_a_paused_master_pool_degrades_the_operator_and_copies_go_on(running):
    async with running(masters=3) as living:
        await living.api.patch(kinds.MACHINE_CONFIG_POOLS, "master", {"spec": {"paused": True}})
        await living.eventually(lambda: living.operator("machine-config", "Degraded"), "False")
        await living.change()
        await living.eventually(lambda: living.operator("machine-config", "Degraded"), "True")
        found = conditions.find(await living.api.get(kinds.CLUSTER_OPERATORS, "machine-config"), "Degraded")
        assert found["reason"] == "RequiredPoolsFailed"
        await touch(living, "yes")
        await living.eventually(lambda: copied(living), wanted=True)
        await living.api.patch(kinds.MACHINE_CONFIG_POOLS, "master", {"spec": {"paused": None}})
        await living.eventually(living.pool, (3, 3, 3))
        await living.eventually(lambda: living.operator("machine-config", "Degraded"), "False")


async def test_nothing_is_copied_while_the_control_plane_rolls_out(running):
    async with running(masters=3, speeds=dataclasses.replace(pace.FAST, install=0.3)) as living:
        await living.change()
        await living.eventually(living.pool, (3, 0, 0))
        before = (await controller(living))["metadata"]["generation"]
        await touch(living, "yes")

        async def rolled():
            return (await taken(living))["master"]

        while await rolled() != NEW["master"]:
            assert (await controller(living))["metadata"]["generation"] == before
            await asyncio.sleep(0.02)
        await living.eventually(lambda: copied(living), wanted=True)


async def test_leaving_the_arbiter_moves_no_pool_and_no_annotation_until_the_pool_has_an_event(running):
    async with running(masters=3, control_plane="HighlyAvailableArbiter", infrastructure="HighlyAvailable") as living:
        await living.eventually(lambda: copied(living), wanted=True)
        before = await pointed(living)
        await living.change()
        await living.eventually(lambda: copied(living), wanted=True)
        await asyncio.sleep(10 * (pace.FAST.render + pace.FAST.pool_sync))
        assert await pointed(living) == before
        assert set((await noted(living)).values()) == {"HighlyAvailableArbiter"}
        await living.api.patch(kinds.MACHINE_CONFIG_POOLS, "master", {"metadata": {"labels": {"touched": "yes"}}})

        async def values():
            return set((await noted(living)).values())

        await living.eventually(values, {"HighlyAvailable"})


async def test_a_pool_degraded_by_a_node_is_said_and_blocks_upgrades_until_mended(running):
    async with running(masters=3, workers=2, schedulable=False) as living:
        living.actors.order("degrade_pool", "worker")
        await living.eventually(
            lambda: looks(living, "worker"), ([2, 1, 1, 1], {"Updating", "NodeDegraded", "Degraded"})
        )
        await living.eventually(lambda: living.operator("machine-config", "Upgradeable"), "False")
        living.actors.order("mend_pool", "worker")
        await living.eventually(lambda: looks(living, "worker"), ([2, 2, 2, 0], {"Updated"}))
        await living.eventually(lambda: living.operator("machine-config", "Upgradeable"), "True")
