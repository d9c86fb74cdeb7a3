"""Over a whole story, with everything that disturbs it, each event is told once for each time that it happened."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from test import polling
from test.component import cluster
from test.component.broken_facts import until_failing
from topology_simulator import follow, kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from test.component.world import World

_LAST = "openshift-console/downloads"


async def replaced(world: World, name: str) -> None:
    """Kill the operator and start another one, which leads at once."""
    await world.operators[-1].kill()
    await world.forget_lease()
    after = await world.operator(name)
    await after.said("leading as")


async def test_a_long_story_tells_every_change_once(world: World, figure: Callable[[str], None]) -> None:
    await world.idle_operator()
    world.operands.behind.add(_LAST)

    # A request that is taken back.
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.ask_for()
    await world.until_told("TransitionRequested", "TransitionBlocked")
    await world.ask_for(None)
    await world.until_told("TransitionCancelled")
    await world.until_phase("Idle")

    # A request that waits, for one thing and then for another, while the operator is killed. It may be made within the
    # second in which the other was taken back.
    await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": False}})
    await world.ask_for()
    await until_failing(world, "two facts", "ControlPlaneNodes", "MastersSchedulable")
    await world.until_condition("Progressing", "False", "PreflightUnmet")
    await cluster.set_ready(world.api, "master-2", ready=True)
    await until_failing(world, "one fact", "MastersSchedulable")
    await replaced(world, "operator-b")
    await world.api.delete(kinds.CLUSTER_OPERATORS, "topology")
    await world.until_condition("Progressing", "False", "PreflightUnmet")

    # It moves, operands fall back, the operator is killed again, our objects are taken away.
    await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": True}})
    await until_failing(world, "one operand", "ConsoleReplicas")
    await follow.spoil(world.api, "static-pods/etcd")
    await until_failing(world, "two operands", "ConsoleReplicas", "EtcdRevision")
    await replaced(world, "operator-a")
    await world.api.delete(kinds.CLUSTER_OPERATORS, "topology")
    await world.until_condition("Progressing", "True", "TransitionConverging")
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": None})
    await world.until_phase("Converging")
    await follow.follow(world.api, only=["static-pods/etcd"])
    await until_failing(world, "one operand", "ConsoleReplicas")
    await world.operands.go_on()
    await world.completed_once()

    # It is over: neither a restart nor the end of the request is news.
    await replaced(world, "operator-b")
    await world.ask_for(None)
    await world.until_phase("Idle")
    told = collections.Counter(await world.reasons())
    figure(f"events of a long story: {dict(told)}")
    assert told == {
        "TransitionRequested": 2,
        "TransitionBlocked": 2,
        "TransitionCancelled": 1,
        "TransitionAdmitted": 1,
        "TopologyChanged": 1,
        "TransitionCompleted": 1,
    }


async def test_requests_within_one_second_are_told_one_by_one(world: World) -> None:
    await world.idle_operator()
    await cluster.set_ready(world.api, "master-2", ready=False)
    for _ in range(4):
        await world.ask_for()
        await world.until_phase("Pending")
        await world.ask_for(None)
        await world.until_phase("Idle")
    told = {"TransitionRequested": 4, "TransitionBlocked": 4, "TransitionCancelled": 4}

    async def all_told() -> bool:
        return collections.Counter(await world.reasons()) == told

    await polling.until(f"{told}", all_told)
