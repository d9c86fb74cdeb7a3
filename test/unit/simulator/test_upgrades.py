"""The version operator: an echo of objections, and upgrades."""

from __future__ import annotations

from topology_simulator import conditions, kinds


async def upgradeable(living):
    return conditions.of(await living.api.get(kinds.CLUSTER_VERSIONS, "version"), "Upgradeable")


async def test_one_objection_is_echoed_with_its_message_and_a_reason_that_tells_nothing(living):
    await living.object_to("console", "not now")

    async def echoed():
        return (await upgradeable(living)).get("status")

    await living.eventually(echoed, "False")
    found = await upgradeable(living)
    assert "console" in found["message"]
    assert "not now" in found["message"]
    assert found["reason"] == "RiskNameNotCompatibleWithReasonProperty"


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
