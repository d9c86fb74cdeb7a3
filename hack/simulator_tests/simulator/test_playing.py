"""A scenario is played as written, and its end is read back instead of believed."""

from __future__ import annotations

from typing import Any

import pytest

from topology_simulator import backups, conditions, kinds, pace, play, scenario


def story(*steps, phase=None, topology="SingleReplica/SingleReplica"):
    expect = {"phase": phase, "topology": topology, "conditions": {}}
    return scenario.Scenario.model_validate({"name": "test", "summary": "test", "steps": list(steps), "expect": expect})


@pytest.fixture
def player(living):
    told: list[str] = []
    made: Any = play.Player(living.api, living.actors, pace.FAST, told.append, store=backups.Embedded(living.server))
    made.told = told
    return made


async def test_steps_are_done_in_order(player, living):
    await player.play(story({"join": ["master-1"]}, {"wait-for": {"voters": 2}}, {"request": "HighlyAvailable"}))
    assert (await living.api.get(kinds.INFRASTRUCTURES, "cluster"))["spec"]["desiredTopology"] == "HighlyAvailable"
    await player.play(story({"cancel": True}))
    assert "desiredTopology" not in (await living.api.get(kinds.INFRASTRUCTURES, "cluster"))["spec"]


async def test_pools_are_paused_as_by_an_administrator_and_degraded_as_by_fate(player, living):
    async def master():
        pool = await living.api.get(kinds.MACHINE_CONFIG_POOLS, "master")
        return pool["spec"]["paused"], conditions.is_true(pool, "Degraded")

    await player.play(story({"pause-pool": "master"}))
    assert await master() == (True, False)
    await player.play(story({"unpause-pool": "master"}, {"degrade-pool": "master"}))
    await living.eventually(master, (False, True))
    await player.play(story({"mend-pool": "master"}))
    await living.eventually(master, (False, False))


async def test_an_end_that_was_not_reached_fails(player, monkeypatch):
    monkeypatch.setattr(play, "_END_SECONDS", 0.1)
    with pytest.raises(play.ScenarioFailedError, match="wanted topology HighlyAvailable/HighlyAvailable, found Single"):
        await player.play(story({"tell": "x"}, topology="HighlyAvailable/HighlyAvailable"))


async def test_a_refusal_that_is_not_expected_fails(player):
    with pytest.raises(play.ScenarioFailedError, match="the request DualReplica was not accepted"):
        await player.play(story({"request": "DualReplica"}))


@pytest.mark.parametrize("way", list(backups.BUMPS))
async def test_a_restored_backup_takes_back_what_came_after_it_and_the_cluster_lives_on(player, living, way):
    await player.play(story({"backup": True}, {"join": ["master-1"]}, {"wait-for": {"voters": 2}}))
    version = int((await living.node("master-1"))["metadata"]["resourceVersion"])
    await player.play(story({"restore": way}))
    assert [one["metadata"]["name"] for one in await living.api.list(kinds.NODES)] == ["master-0"]
    await living.eventually(living.voters, ["master-0"])
    await player.play(story({"join": ["master-2"]}))
    joined = await living.node("master-2")
    assert (int(joined["metadata"]["resourceVersion"]) > version + 1_000_000) is (way == "raised")
    await living.eventually(living.voters, ["master-0", "master-2"])
