"""Kubelets: joining, beating, failing, coming back."""

from __future__ import annotations

import dataclasses

from topology_simulator import conditions, kinds, pace

WORKER = "node-role.kubernetes.io/worker"
NOT_READY = "node.kubernetes.io/not-ready"


async def test_a_joined_node_starts_not_ready_then_becomes_ready_and_a_worker(running):
    async with running(speeds=dataclasses.replace(pace.FAST, boot=2.0)) as living:
        await joins(living)


async def joins(living):
    await living.join("master-1")
    first = await living.node("master-1")
    assert not conditions.is_true(first, "Ready")
    assert WORKER not in first["metadata"]["labels"]
    assert [one["key"] for one in first["spec"]["taints"]] == [NOT_READY]

    await living.eventually(living.ready, ["master-0", "master-1"])

    async def worker():
        node = await living.node("master-1")
        return WORKER in node["metadata"]["labels"], node["spec"].get("taints")

    await living.eventually(worker, (True, None))


async def test_masters_that_are_not_schedulable_lose_the_worker_label(living):
    await living.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": False}})

    async def labelled():
        return WORKER in (await living.node("master-0"))["metadata"]["labels"]

    await living.eventually(labelled, wanted=False)


async def test_a_node_whose_machine_is_switched_off_is_not_ready_until_it_is_on_again(living):
    await living.join("master-1")
    await living.eventually(living.ready, ["master-0", "master-1"])
    for power, ready in (("off", ["master-0"]), (None, ["master-0", "master-1"])):
        change = {"metadata": {"annotations": {"topology-simulator/power": power}}}
        await living.api.patch(kinds.NODES, "master-1", change)
        await living.eventually(living.ready, ready)
