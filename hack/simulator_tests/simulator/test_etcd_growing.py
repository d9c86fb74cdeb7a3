"""The etcd operator: one member at a time, learners are not voters, nobody joins while somebody is ill."""

from __future__ import annotations

import itertools

from simulator_tests.simulator.conftest import watched
from topology_simulator import cluster, conditions, kinds


async def test_voters_are_added_one_at_a_time(living):
    async with watched(living, kinds.CONFIG_MAPS) as states:
        await living.join("master-1", "master-2")

        async def counts():
            return [len(one["data"]) for one in states if one["metadata"]["name"] == cluster.ETCD_ENDPOINTS]

        await living.eventually(counts, [2, 3])


async def test_a_stuck_learner_looks_calm_but_is_no_voter_until_it_is_healed(living):
    # A member starts within a moment: whoever only asks now and then may never see it.
    async with watched(living, kinds.ETCDS) as states:
        living.actors.order("stick_learner", "master-1")
        await living.join("master-1")

        async def heard():
            said = (conditions.find(obj, "EtcdMembersProgressing")["status"] for obj in states)
            return [status for status, _ in itertools.groupby(said)][-2:]

        await living.eventually(heard, ["True", "False"])
        await living.eventually(lambda: living.operator("etcd", "Progressing"), "False")
        assert await living.voters() == ["master-0"]
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
