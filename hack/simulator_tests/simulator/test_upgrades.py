"""The version operator: an echo of objections, and upgrades."""

from __future__ import annotations

import asyncio
import dataclasses

from topology_simulator import conditions, kinds, pace


async def upgradeable(living):
    return conditions.of(await living.api.get(kinds.CLUSTER_VERSIONS, "version"), "Upgradeable")


async def test_one_objection_is_echoed_with_its_message_and_reason(living):
    await living.object_to("console", "not now")

    async def echoed():
        return (await upgradeable(living)).get("status")

    await living.eventually(echoed, "False")
    found = await upgradeable(living)
    assert found["message"] == "Cluster operator console should not be upgraded between minor versions: not now"
    assert found["reason"] == "Test"


async def test_several_objections_are_joined_and_the_condition_goes_when_nobody_objects(living):
    await living.object_to("console", "not now")
    await living.object_to("monitoring", "me neither")

    async def both():
        message = (await upgradeable(living)).get("message", "")
        return "not now" in message, "me neither" in message

    await living.eventually(both, (True, True))
    await living.object_to("console", None)
    await living.eventually(both, (False, True))
    await living.object_to("monitoring", None)

    async def gone():
        return await upgradeable(living)

    await living.eventually(gone, {})


async def test_up_to_4_22_it_looks_once_in_a_while_and_no_sooner(running):
    period = 0.5
    slow = dataclasses.replace(pace.FAST, version_throttle=period)
    async with running(speeds=slow, release="4.22", version="4.22.5") as living:

        async def echoed():
            return "not now" in (await upgradeable(living)).get("message", "")

        clock = asyncio.get_running_loop().time
        # The first one is seen whenever its turn comes; that is a look, and the next is a whole period away.
        await living.object_to("monitoring", "me neither")
        await living.eventually(lambda: told(living, "monitoring"), wanted=True)
        since = clock()
        await living.object_to("console", "not now")
        await living.eventually(echoed, wanted=True)
        assert period * 0.9 < clock() - since < 3 * period + 0.5
        assert (await upgradeable(living))["reason"] == "ClusterOperatorsNotUpgradeable"


async def test_an_event_of_the_cluster_version_makes_it_look_once_a_period_has_passed(running):
    slow = dataclasses.replace(pace.FAST, version_throttle=1.0)
    async with running(speeds=slow, release="4.21") as living:
        await living.object_to("console", "not now")
        await asyncio.sleep(1.1)
        if not await told(living, "console"):  # its informer has not resynced yet
            await living.api.patch(kinds.CLUSTER_VERSIONS, "version", {"metadata": {"labels": {"touched": "yes"}}})
            since = asyncio.get_running_loop().time()
            await living.eventually(lambda: told(living, "console"), wanted=True)
            assert asyncio.get_running_loop().time() - since < 0.5
        assert await told(living, "console")


async def test_later_ones_look_at_regular_intervals_and_pass_on_the_message_alone(running):
    async with running(release="main", version="4.23.0") as living:
        await living.object_to("console", "not now")
        await living.eventually(lambda: told(living, "not now"), wanted=True)
        found = await upgradeable(living)
        assert found["message"] == "not now"
        assert found["reason"] == "RiskNameNotCompatibleWithReasonProperty"
        await living.object_to("console", None)
        await living.eventually(lambda: upgradeable(living), {})


async def told(living, words):
    return words in (await upgradeable(living)).get("message", "")


async def version(living):
    found = await living.api.get(kinds.CLUSTER_VERSIONS, "version")
    newest = found["status"]["history"][0]
    return newest["version"], newest["state"], conditions.of(found, "Progressing")["status"]


async def test_a_held_upgrade_goes_on_until_it_is_released(living):
    living.actors.version.hold_upgrades()
    change = {"spec": {"desiredUpdate": {"version": "4.21.9"}}}
    await living.api.patch(kinds.CLUSTER_VERSIONS, "version", change)
    await living.eventually(lambda: version(living), ("4.21.9", "Partial", "True"))
    living.actors.version.release_upgrades()
    await living.eventually(lambda: version(living), ("4.21.9", "Completed", "False"))
    console = await living.api.get(kinds.CLUSTER_OPERATORS, "console")
    assert console["status"]["versions"] == [{"name": "operator", "version": "4.21.9"}]


async def test_an_upgrade_that_nobody_holds_ends_by_itself(living):
    change = {"spec": {"desiredUpdate": {"version": "4.21.8"}}}
    await living.api.patch(kinds.CLUSTER_VERSIONS, "version", change)
    await living.eventually(lambda: version(living), ("4.21.8", "Completed", "False"))
