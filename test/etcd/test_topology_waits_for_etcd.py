"""The operator as a process beside a real etcd: while etcd is not good the topology never moves, whatever is claimed.

Everything that others claim is good: three ready nodes, three ids in the ConfigMap at their addresses, the conditions
of Etcd, a lease that is renewed. Only the members know better. Each story ends with a good etcd, and then it moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component import backend
from test.component import cluster as facts
from test.component import world as worlds
from test.etcd import asking, conftest
from topology_simulator import cluster as simulated
from topology_simulator import conditions, kinds, machines

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from topology_simulator.etcd import cluster

WATCHED_SECONDS = 0.6
"""How long the topology is watched not to move, while everything is stirred."""
PATIENCE = 20.0
CHECK = "EtcdMembersDirect"


class Story:
    """A world with its etcd, and an operator that asks its members."""

    def __init__(self, world: worlds.World, etcd: cluster.Cluster) -> None:
        self.world = world
        self.etcd = etcd

    async def claim(self) -> None:
        """Let everybody claim that all is well: every member, voter or not, is published as a voter."""
        found = await self.world.api.get(kinds.CONFIG_MAPS, simulated.ETCD_ENDPOINTS, simulated.ETCD_NAMESPACE)
        ids = await asking.ids(self.etcd)
        data: dict[str, str | None] = dict.fromkeys(found["data"])
        data |= {ids[name]: machines.address(machines.number_of(name)) for name in conftest.THREE}
        await facts.set_endpoints(self.world.api, data)
        well = conditions.merged(await self.world.api.get(kinds.ETCDS, "cluster"), simulated.etcd_states(3))
        if well is not None:
            await self.world.api.patch_status(kinds.ETCDS, "cluster", {"conditions": well})

    async def begin(self) -> None:
        """Claim, start the operator and request."""
        await self.claim()
        folder, urls = str(self.etcd.client_folder()), ",".join(self.etcd.urls)
        await self.world.operator("operator-a", "--etcd-cert-dir", folder, "--etcd-endpoints", urls)
        await self.world.ask_for()

    async def waits(self, *words: str) -> None:
        """Assert that nothing but etcd's members is in the way, and that nothing makes the topology move."""
        # On a busy machine an election may be what is seen first.
        await self.world.until_check(CHECK, "Unmet", seconds=PATIENCE, words=words)
        record = await self.world.until_phase("Pending")
        others = {one["name"]: one["status"] for one in record["checks"] if one["name"] != CHECK}
        assert set(others.values()) == {"Met"}, record["checks"]
        await self.stir()
        assert await self.world.pair() == worlds.INSTALLED
        assert self.world.server.topology_changes == []

    async def stir(self) -> None:
        """Give the operator one reason after the other to decide again, and see that it does not move."""
        number = 0

        async def still() -> bool:
            nonlocal number
            number += 1
            renewed = {"spec": {"renewTime": conditions.now_micro()}}
            await self.world.api.patch(kinds.LEASES, simulated.ETCD_LEASE, renewed, simulated.ETCD_OPERATOR_NAMESPACE)
            await self.world.api.patch(
                kinds.CONFIG_MAPS,
                simulated.ETCD_ENDPOINTS,
                {"metadata": {"annotations": {"stirred": str(number)}}},
                simulated.ETCD_NAMESPACE,
            )
            await facts.set_ready(self.world.api, "master-1", ready=True)
            return (await self.world.pair()) == worlds.INSTALLED and self.world.server.topology_changes == []

        await polling.steadily("the topology stays", still, WATCHED_SECONDS)

    async def published_anew(self) -> None:
        """Let the ConfigMap change, as it does when members do: the operator asks them soon instead of at its time."""
        await facts.set_endpoints(self.world.api, {(await asking.ids(self.etcd))["master-0"]: None})
        await self.claim()

    async def moves(self) -> None:
        """Assert that now it moves, once."""
        await self.world.completed_once(seconds=PATIENCE)
        assert len(self.world.server.topology_changes) == 1


@pytest.fixture
async def story(etcd, tmp_path) -> AsyncIterator[Story]:
    async with worlds.opened(backend.Place(), tmp_path) as world:
        yield Story(world, etcd)


async def test_two_voters_and_a_learner_never_let_it_move(story):
    await story.etcd.grow("master-0", "master-1")
    await story.etcd.add("master-2")
    await story.begin()
    await story.waits("2 voters", "master-2", "is a learner")
    (operator,) = story.world.operators
    assert await operator.metric("topology_etcd_members", role="learner") == 1
    assert (await operator.metric("topology_etcd_requests_total", code="200") or 0) > 0
    await story.etcd.promote("master-2")
    await story.moves()


async def test_a_member_that_dies_while_admission_is_written_stops_the_change(story):
    """Nothing is between admission and change but the evidence that is read live, and it shows."""
    await story.etcd.grow(*conftest.THREE)

    def admits(request: Any) -> bool:
        return (
            backend.is_write(request) and b'"Admitting"' in request.body and request.target.plural == "infrastructures"
        )

    async def kill(_: Any) -> None:
        await story.etcd.members["master-2"].kill()

    story.world.server.before(admits, kill)
    await story.begin()
    await story.waits("master-2", "nothing listens there")
    await story.etcd.members["master-2"].start_again()
    await story.published_anew()
    await story.moves()
