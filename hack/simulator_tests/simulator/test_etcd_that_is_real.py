"""The simulator's etcd operator with real members: from one to three as nodes join, and what it publishes meanwhile.

What is published is compared with what etcd itself says, asked behind the actor's back.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from test import polling

from topology_simulator import client, conditions, install, kinds, kubeconfig, pace
from topology_simulator import cluster as simulated
from topology_simulator.actors import hub, kubelets
from topology_simulator.apiserver import server
from topology_simulator.etcd import cluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PATIENCE = 20.0
THREE = ("master-0", "master-1", "master-2")
ADDRESSES = {f"master-{number}": f"192.168.126.{10 + number}" for number in range(4)}
WELL = {"EtcdMembersAvailable": "True", "EtcdMembersDegraded": "False", "EtcdMembersProgressing": "False"}


class Living:
    """An installed cluster that lives at the fast pace, with a real etcd of one member to begin with."""

    def __init__(self, api: client.Client, etcd: cluster.Cluster) -> None:
        self.api = api
        self.etcd = etcd

    async def join(self, *names: str) -> None:
        for name in names:
            await kubelets.join(self.api, name)

    async def published(self) -> dict[str, str]:
        found = await self.api.get(kinds.CONFIG_MAPS, simulated.ETCD_ENDPOINTS, simulated.ETCD_NAMESPACE)
        return dict(found["data"])

    async def true(self) -> dict[str, str]:
        """What should be published: the voters that etcd has now."""
        found = await self.etcd.listed(linearizable=False)
        return {one.hexadecimal: ADDRESSES[self.etcd.name_of(one)] for one in found if not one.learner}

    async def states(self) -> dict[str, str | None]:
        found = await self.api.get(kinds.ETCDS, "cluster")
        return {type_: conditions.find(found, type_).get("status") for type_ in WELL}

    async def until_voters(self, *names: str) -> None:
        async def look() -> bool:
            published = await self.published()
            return set(published.values()) == {ADDRESSES[name] for name in names} and published == await self.true()

        await polling.until(f"{names} are published, as etcd has them", look, PATIENCE)

    async def until_states(self, **wanted: str) -> None:
        async def look() -> bool:
            return await self.states() == {**WELL, **wanted}

        await polling.until(f"conditions are well but {wanted}", look, PATIENCE)


@contextlib.asynccontextmanager
async def opened(folder: Any) -> AsyncIterator[Living]:
    async with contextlib.AsyncExitStack() as stack:
        etcd = await stack.enter_async_context(cluster.Cluster(strict=False))
        await etcd.bootstrap("master-0")
        served = server.ApiServer()
        await served.start()
        stack.push_async_callback(served.stop)
        access = kubeconfig.access(served.kubeconfig())
        api = await stack.enter_async_context(client.Client(access))
        await install.install(api, simulated.Shape())
        await stack.enter_async_context(hub.Actors(access, pace.FAST, real_etcd=etcd))
        yield Living(api, etcd)


async def test_what_it_publishes_while_members_stand_still_die_and_are_replaced(tmp_path):
    """One cluster through all of it; after each step three voters are published again, as etcd has them."""
    async with opened(tmp_path) as living:
        await living.join("master-1", "master-2")
        await living.until_voters(*THREE)
        held = living.etcd.members["master-2"]
        await held.pause()
        await living.until_states(EtcdMembersDegraded="True")
        assert len(await living.published()) == 3
        await held.resume()
        await living.until_states()

        await living.api.delete(kinds.NODES, "master-2")
        await living.until_voters("master-0", "master-1")
        assert len(await living.etcd.listed()) == 2
        await living.join("master-2")
        await living.until_voters(*THREE)
        await living.until_states()

        ids = await living.published()
        for name in THREE[1:]:
            await living.etcd.members[name].kill()

        async def names() -> bool:
            return bool(await living.published() == {name: ADDRESSES[name] for name in THREE})

        await polling.until("without a quorum there are names instead of ids", names, PATIENCE)
        for name in THREE[1:]:
            await living.etcd.members[name].start_again()
        await living.until_voters(*THREE)
        assert await living.published() == ids
