"""The version operator: an echo of objections, and upgrades."""

from __future__ import annotations

import asyncio
import dataclasses

from topology_simulator import conditions, kinds, pace


async def upgradeable(living):
    return conditions.find(await living.api.get(kinds.CLUSTER_VERSIONS, "version"), "Upgradeable")


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
        assert clock() - since > period / 2
        assert (await upgradeable(living))["reason"] == "ClusterOperatorsNotUpgradeable"


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
    return newest["version"], newest["state"], conditions.find(found, "Progressing")["status"]


async def test_an_upgrade_to_another_minor_version_waits_until_no_operator_objects(living):
    """As the real one did in the lab, story `upgrade`: what it has refused stays requested, and begins later."""

    async def seen():
        found = await living.api.get(kinds.CLUSTER_VERSIONS, "version")
        accepted = conditions.find(found, "ReleaseAccepted")
        return found["status"]["desired"]["version"], accepted["reason"], "not now" in accepted["message"]

    await living.object_to("console", "not now")
    await living.eventually(lambda: told(living, "not now"), wanted=True)
    for wanted, then in (
        ("4.22.1", ("4.21.7", "PreconditionChecks", True)),
        ("4.21.9", ("4.21.9", "PayloadLoaded", False)),
        ("4.22.1", ("4.21.9", "PreconditionChecks", True)),
    ):
        await living.api.patch(kinds.CLUSTER_VERSIONS, "version", {"spec": {"desiredUpdate": {"version": wanted}}})
        await living.eventually(seen, then)
        await living.eventually(lambda: version(living), (then[0], "Completed", "False"))
    await living.object_to("console", None)
    await living.eventually(seen, ("4.22.1", "PayloadLoaded", False))


async def test_a_held_upgrade_goes_on_until_it_is_released(living):
    living.actors.order("hold_upgrade", "version")
    change = {"spec": {"desiredUpdate": {"version": "4.21.9"}}}
    await living.api.patch(kinds.CLUSTER_VERSIONS, "version", change)
    await living.eventually(lambda: version(living), ("4.21.9", "Partial", "True"))
    living.actors.order("end_upgrade", "version")
    await living.eventually(lambda: version(living), ("4.21.9", "Completed", "False"))
    console = await living.api.get(kinds.CLUSTER_OPERATORS, "console")
    assert console["status"]["versions"] == [{"name": "operator", "version": "4.21.9"}]
