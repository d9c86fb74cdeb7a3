"""Kubelets: joining, beating, failing, coming back."""

from __future__ import annotations

from topology_simulator import conditions, kinds

WORKER = "node-role.kubernetes.io/worker"
NOT_READY = "node.kubernetes.io/not-ready"


async def test_a_joined_node_starts_not_ready_then_becomes_ready_and_a_worker(living):
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


async def test_a_node_that_somebody_posts_by_hand_gets_a_kubelet(living):
    manifest = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker-7", "labels": {WORKER: ""}}}
    await living.api.create(kinds.NODES, manifest)
    await living.eventually(living.ready, ["master-0", "worker-7"])
    assert (await living.node("worker-7"))["status"]["capacity"]["cpu"] == "8"


async def test_masters_that_are_not_schedulable_lose_the_worker_label(living):
    await living.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": False}})

    async def labelled():
        return WORKER in (await living.node("master-0"))["metadata"]["labels"]

    await living.eventually(labelled, wanted=False)


async def test_heartbeats_go_on_without_news(living):
    async def revision():
        return (await living.node("master-0"))["metadata"]["resourceVersion"]

    before = await revision()

    async def moved():
        return await revision() != before

    await living.eventually(moved, wanted=True)
    assert await living.ready() == ["master-0"]


async def test_a_node_whose_machine_is_switched_off_is_not_ready_until_it_is_on_again(living):
    await living.join("master-1")
    await living.eventually(living.ready, ["master-0", "master-1"])
    for power, ready in (("off", ["master-0"]), (None, ["master-0", "master-1"])):
        change = {"metadata": {"annotations": {"topology-simulator/power": power}}}
        await living.api.patch(kinds.NODES, "master-1", change)
        await living.eventually(living.ready, ready)


async def test_a_node_goes_down_and_comes_back(living):
    await living.join("master-1")
    await living.eventually(living.ready, ["master-0", "master-1"])
    living.actors.kubelets.take_down("master-1")
    await living.eventually(living.ready, ["master-0"])
    assert NOT_READY in str((await living.node("master-1"))["spec"])
    living.actors.kubelets.bring_up("master-1")
    await living.eventually(living.ready, ["master-0", "master-1"])
