"""What a write of Infrastructure does to the console: its pods are replaced, one by one, and that is progress."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses

from topology_simulator import conditions, kinds, pace
from topology_simulator.actors import console

NAMESPACE = "openshift-console"
CALM = ("False", "AsExpected")
RESTARTS = ("True", "SyncLoopRefresh_InProgress")
HIGHLY_AVAILABLE = {"control_plane": "HighlyAvailable", "infrastructure": "HighlyAvailable", "masters": 3}


async def deployment(living, name="console"):
    return await living.api.get(kinds.DEPLOYMENTS, name, NAMESPACE)


async def write(living, text):
    """Write Infrastructure without a change that matters; return its resourceVersion."""
    change = {"metadata": {"annotations": {"example.com/note": text}}}
    return (await living.api.patch(kinds.INFRASTRUCTURES, "cluster", change))["metadata"]["resourceVersion"]


async def carried(living):
    """Return what Deployment and pod template carry, and how many pods are updated, there, and ready, once seen."""
    found = await deployment(living)
    status = found["status"]
    templates = (found["metadata"], found["spec"]["template"]["metadata"])
    versions = tuple((one.get("annotations") or {}).get(console.ANNOTATION) for one in templates)
    level = status["observedGeneration"] == found["metadata"]["generation"]
    return (*versions, level, status["updatedReplicas"], status["replicas"], status["readyReplicas"])


def counts(found):
    status = found["status"]
    seen = status["observedGeneration"] == found["metadata"]["generation"]
    return seen, status["replicas"], status["readyReplicas"]


@contextlib.asynccontextmanager
async def watched(living):
    """Collect the counts of Deployment console, and Progressing of its ClusterOperator, each once in a row."""
    pods: list[tuple[bool, int, int]] = []
    progress: list[tuple[str, str]] = []

    async def follow(kind, seen, name, look):
        async for event in living.api.follow(kind, retry_seconds=0.1):
            for obj in event.objects if hasattr(event, "objects") else (event.obj,):
                if obj["metadata"]["name"] == name and seen[-1:] != [look(obj)]:
                    seen.append(look(obj))

    def progressing(obj):
        said = conditions.find(obj, "Progressing")
        return said["status"], said["reason"]

    tasks = [
        asyncio.create_task(follow(kinds.DEPLOYMENTS, pods, "console", counts)),
        asyncio.create_task(follow(kinds.CLUSTER_OPERATORS, progress, "console", progressing)),
    ]

    async def open_():
        return bool(pods and progress)

    try:
        await living.eventually(open_, True)  # noqa: FBT003 - an answer
        yield pods, progress
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def at_rest(living, version, replicas):
    await living.eventually(lambda: carried(living), (version, version, True, replicas, replicas, replicas))

    async def calm():
        said = conditions.find(await living.api.get(kinds.CLUSTER_OPERATORS, "console"), "Progressing")
        return said["status"], said["reason"]

    await living.eventually(calm, CALM)


async def test_of_a_single_pod_the_new_one_starts_first(running):
    async with running() as living, watched(living) as (pods, progress):
        version = await write(living, "one")
        await at_rest(living, version, 1)
        await living.eventually(lambda: asyncio.sleep(0, progress), [CALM, RESTARTS, CALM])
        await living.eventually(lambda: asyncio.sleep(0, pods[-1]), (True, 1, 1))
        assert pods == [(True, 1, 1), (False, 1, 1), (True, 2, 1), (True, 1, 1)]


async def test_a_write_during_a_restart_begins_another_and_the_console_stays_available(running):
    # No pod becomes ready before the second write was taken in.
    held = dataclasses.replace(pace.FAST, replica=3600.0)

    async def template():
        return (await carried(living))[1]

    async with running(speeds=held, **HIGHLY_AVAILABLE) as living, watched(living) as (pods, progress):
        await write(living, "one")
        await living.eventually(lambda: asyncio.sleep(0, pods[-1]), (True, 3, 1))
        version = await write(living, "two")
        await living.eventually(template, version)
        (operator,) = (member for member in living.actors._cast if isinstance(member, console.Console))
        operator.pace = pace.FAST
        await at_rest(living, version, 2)
        assert min(ready for _, _, ready in pods) == 1
        assert progress.count(RESTARTS) == 1, "between two restarts it is not at rest"
