"""The version operator: an echo of objections, and upgrades."""

from __future__ import annotations

import asyncio
import dataclasses

from topology_simulator import conditions, kinds, pace


async def upgradeable(living):
    return conditions.find(await living.api.get(kinds.CLUSTER_VERSIONS, "version"), "Upgradeable")


async def told(living, words):
    return words in (await upgradeable(living)).get("message", "")


async def test_up_to_4_22_it_looks_once_in_a_while_and_no_sooner(running):
    period = 0.5
    slow = dataclasses.replace(pace.FAST, version_throttle=period)
    async with running(speeds=slow, release="4.22", version="4.22.5") as living:
        clock = asyncio.get_running_loop().time
        # The first one is seen whenever its turn comes; that is a look, and the next is a whole period away.
        await living.object_to("monitoring", "me neither")
        await living.eventually(lambda: told(living, "monitoring"), wanted=True)
        since = clock()
        await living.object_to("console", "not now")
        await living.eventually(lambda: told(living, "not now"), wanted=True)
        assert clock() - since > period / 2
        assert (await upgradeable(living))["reason"] == "ClusterOperatorsNotUpgradeable"


async def test_later_ones_look_at_regular_intervals(running):
    async with running(release="main", version="4.23.0") as living:
        await living.object_to("console", "not now")
        await living.eventually(lambda: told(living, "not now"), wanted=True)
        await living.object_to("console", None)
        await living.eventually(lambda: upgradeable(living), {})


async def version(living):
    found = await living.api.get(kinds.CLUSTER_VERSIONS, "version")
    newest, accepted = found["status"]["history"][0], conditions.find(found, "ReleaseAccepted")
    progressing = conditions.find(found, "Progressing")["status"]
    return newest["version"], progressing, accepted.get("reason"), accepted.get("message", "").count("not now")


async def test_an_upgrade_goes_on_while_it_is_held_and_one_to_a_minor_version_waits_for_objections(living):
    """As the real one did in the lab, story `upgrade`: what it has refused stays requested, and begins later."""

    async def seen(wanted, *then):
        if wanted:
            await living.api.patch(kinds.CLUSTER_VERSIONS, "version", {"spec": {"desiredUpdate": {"version": wanted}}})
        await living.eventually(lambda: version(living), then)

    await living.object_to("console", "not now")
    await living.eventually(lambda: told(living, "not now"), wanted=True)
    living.actors.order("hold_upgrade", "version")
    await seen("4.22.1", "4.21.7", "False", "PreconditionChecks", 1)
    await seen("4.21.9", "4.21.9", "True", "PayloadLoaded", 0)
    living.actors.order("end_upgrade", "version")
    await seen("", "4.21.9", "False", "PayloadLoaded", 0)
    console = await living.api.get(kinds.CLUSTER_OPERATORS, "console")
    assert console["status"]["versions"] == [{"name": "operator", "version": "4.21.9"}]
    await seen("4.22.1", "4.21.9", "False", "PreconditionChecks", 1)
    await living.object_to("console", None)
    await seen("", "4.22.1", "False", "PayloadLoaded", 0)
