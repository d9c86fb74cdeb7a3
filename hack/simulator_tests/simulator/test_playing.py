"""A scenario is played as written, and its end is read back instead of believed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from topology_simulator import backups, conditions, kinds, pace, play, probes, scenario


def story(*steps, phase=None, topology="SingleReplica/SingleReplica"):
    content = {
        "name": "test",
        "summary": "test",
        "steps": list(steps),
        "expect": {"phase": phase, "topology": topology, "conditions": {}},
    }
    return scenario.Scenario.model_validate(content)


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


async def test_the_story_can_be_held_up_before_each_step(player, living):
    seen = []

    async def before(step):
        seen.append((step.said[0], await living.voters()))

    await player.play(story({"join": ["master-1"]}, {"wait-for": {"voters": 2}}, {"pause": 0.01}), before)
    assert seen == [
        ("join", ["master-0"]),
        ("wait_for", ["master-0"]),
        ("pause", ["master-0", "master-1"]),
    ]


async def test_a_wait_that_is_in_vain_says_what_was_found(player):
    wanted = r"step 1 of test: after 0\.1 s: wanted voters 3, found 1"
    with pytest.raises(play.ScenarioFailedError, match=wanted):
        await player.play(story({"wait-for": {"voters": 3, "within": 0.1}}))


async def test_what_should_have_stayed_but_did_not_fails(player):
    with pytest.raises(play.ScenarioFailedError, match=r"step 2 .*wanted ready nodes 1, found 2"):
        await player.play(story({"join": ["master-1"]}, {"stays": {"ready-nodes": 1, "seconds": 500}}))


async def test_an_end_that_was_not_reached_fails(player, monkeypatch):
    monkeypatch.setattr(play, "_END_SECONDS", 0.1)
    with pytest.raises(play.ScenarioFailedError, match="wanted topology HighlyAvailable/HighlyAvailable, found Single"):
        await player.play(story({"pause": 0.1}, topology="HighlyAvailable/HighlyAvailable"))


async def test_a_refusal_that_is_expected_is_told(player):
    await player.play(story({"request": {"topology": "DualReplica", "refused": True}}))
    assert "DualReplica cannot be reached" in player.told[0]


async def test_a_refusal_that_is_not_expected_fails(player):
    with pytest.raises(play.ScenarioFailedError, match="the request DualReplica was not accepted"):
        await player.play(story({"request": "DualReplica"}))


async def test_an_acceptance_that_is_not_expected_fails(player):
    with pytest.raises(play.ScenarioFailedError, match="should have refused"):
        await player.play(story({"request": {"topology": "HighlyAvailable", "refused": True}}))


async def test_a_person_may_make_the_request(living):
    player = play.Player(living.api, living.actors, pace.FAST, lambda _: None, request_by_person=True)
    playing = asyncio.create_task(player.play(story({"request": "HighlyAvailable"}, {"join": ["master-1"]})))
    await asyncio.sleep(0.1)
    assert "desiredTopology" not in (await living.api.get(kinds.INFRASTRUCTURES, "cluster"))["spec"]
    change = {"spec": {"desiredTopology": "HighlyAvailable"}}
    await living.api.patch(kinds.INFRASTRUCTURES, "cluster", change)
    async with asyncio.timeout(5):
        await playing
    assert await living.node("master-1")


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


async def test_without_a_backup_nothing_is_restored(player, living):
    with pytest.raises(play.ScenarioFailedError, match="step 1 of test: there is no backup to restore etcd from"):
        await player.play(story({"restore": "raised"}))
    storeless = play.Player(living.api, living.actors, pace.FAST, lambda _: None)
    with pytest.raises(play.ScenarioFailedError, match="step 1 of test: this API server cannot be backed up"):
        await storeless.play(story({"backup": True}))


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.b", 1),
        ("a.x", None),
        ("a.b.c", None),
        ("list[type=two].status", "no"),
        ("list[type=none].status", None),
        ("list[type=v1.2].status", "dotted"),
    ],
)
def test_a_path_leads_to_a_value_or_nowhere(path, found):
    items = [{"type": "one", "status": "yes"}, {"type": "two", "status": "no"}, {"type": "v1.2", "status": "dotted"}]
    assert probes.pick({"a": {"b": 1}, "list": items}, path) == found
