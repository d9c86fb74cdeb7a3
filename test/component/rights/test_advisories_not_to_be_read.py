"""Once Completed, advisories stay until it is seen that they were followed: who may not look keeps them for good.

Each right to look is taken away by itself; all are about the same cluster, which has moved already. A new leader looks
at once, so each has its own.
"""

from __future__ import annotations

from test import polling
from test.component.rights import grants, missing_rights, restricted_world
from topology_simulator import kinds

ADVISORY = "DnsmasqConfigurationLeft"


async def test_what_was_advised_is_not_seen_to_be_done_without_the_right_to_look_again(
    staged: restricted_world.RestrictedWorld,
) -> None:
    looked = [one for one in grants.ALL if one.verb == "get" and one.what in missing_rights.LOOKED_AT_AGAIN]
    assert sorted(one.what for one in looked) == sorted(missing_rights.LOOKED_AT_AGAIN)
    await staged.leave_dnsmasq_behind()
    await staged.ask_for()
    first = await staged.operator()
    await staged.until_phase("Completed")
    await staged.until_advised(ADVISORY, there=True)
    await first.stop()
    await staged.api.delete(kinds.MACHINE_CONFIGS, restricted_world.DNSMASQ)

    async def advised() -> bool:
        return ADVISORY in [one["name"] for one in (await staged.record())["advisories"]]

    for grant in looked:
        await staged.take(grant)
        operator = await staged.operator("operator-b")

        async def tried(grant: grants.Grant = grant) -> bool:
            return any(grant.covers(one) for one in staged.refused())

        await polling.until(f"{grant}: it looks whether the advisory is done", tried)
        await staged.stays_so(f"{grant}: the advisory stays", advised)
        await operator.stop()
        await staged.give_back()
    await staged.operator("operator-c")
    await staged.until_advised(ADVISORY, there=False)
    strangers = [event for event in staged.refused() if not any(one.covers(event) for one in looked)]
    assert not strangers
