"""The etcd operator: one member at a time, learners are not voters, nobody joins while somebody is ill."""

from __future__ import annotations

import asyncio

from topology_simulator import client, conditions, kinds


async def test_a_stuck_learner_looks_calm_but_is_no_voter_until_it_is_healed(living):
    said: list[str] = []
    opened = asyncio.Event()

    async def watch():
        # A member starts within a moment: whoever only asks now and then may never see it.
        async for event in living.api.follow(kinds.ETCDS, retry_seconds=0.1):
            for obj in event.objects if isinstance(event, client.Listed) else (event.obj,):
                status = conditions.find(obj, "EtcdMembersProgressing")["status"]
                said.extend([status] if said[-1:] != [status] else [])
            opened.set()

    async def heard():
        return said

    watching = asyncio.create_task(watch())
    await opened.wait()
    living.actors.order("stick_learner", "master-1")
    await living.join("master-1")
    await living.eventually(heard, ["False", "True", "False"])
    await living.eventually(lambda: living.operator("etcd", "Progressing"), "False")
    assert await living.voters() == ["master-0"]
    watching.cancel()
    await asyncio.wait([watching])
    living.actors.order("heal_learner", "master-1")
    await living.eventually(living.voters, ["master-0", "master-1"])


async def test_no_member_is_added_while_one_is_unhealthy(living):
    await living.join("master-1", "master-2")
    await living.eventually(living.voters, ["master-0", "master-1", "master-2"])
    living.actors.order("down", "master-1")
    await living.eventually(lambda: living.condition(kinds.ETCDS, "cluster", "EtcdMembersDegraded"), "True")
    assert await living.condition(kinds.ETCDS, "cluster", "EtcdMembersAvailable") == "True"
    await living.join("master-3")
    await living.eventually(living.ready, ["master-0", "master-2", "master-3"])
    await living.eventually(lambda: living.operator("etcd", "Degraded"), "True")
    assert await living.voters() == ["master-0", "master-1", "master-2"]
    living.actors.order("up", "master-1")
    await living.eventually(living.voters, ["master-0", "master-1", "master-2", "master-3"])
    await living.eventually(lambda: living.operator("etcd", "Degraded"), "False")


async def test_the_member_of_a_deleted_node_is_removed(living):
    await living.join("master-1")
    await living.eventually(living.voters, ["master-0", "master-1"])
    await living.api.delete(kinds.NODES, "master-1")
    await living.eventually(living.voters, ["master-0"])
