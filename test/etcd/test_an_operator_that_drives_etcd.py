"""The simulator's etcd operator with real members: from one to three as nodes join, and what it publishes meanwhile.

What is published is compared with what etcd itself says, asked behind the actor's back.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import yaml

from test import polling
from test.component import process
from test.etcd import asking, conftest
from topology_simulator import client, conditions, install, kinds, kubeconfig, pace
from topology_simulator import cluster as simulated
from topology_simulator.actors import hub, kubelets
from topology_simulator.apiserver import server
from topology_simulator.etcd import cluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PATIENCE = 20.0
ADDRESSES = {f"master-{number}": f"192.168.126.{10 + number}" for number in range(4)}
STATES = ("EtcdMembersAvailable", "EtcdMembersDegraded", "EtcdMembersProgressing")
WELL = {"EtcdMembersAvailable": "True", "EtcdMembersDegraded": "False", "EtcdMembersProgressing": "False"}


class Living:
    """An installed cluster that lives at the fast pace, with a real etcd of one member to begin with."""

    def __init__(self, api: client.Client, actors: hub.Actors, etcd: cluster.Cluster, config: dict[str, Any]) -> None:
        self.api = api
        self.actors = actors
        self.etcd = etcd
        self.config = config

    async def join(self, *names: str) -> None:
        for name in names:
            await kubelets.join(self.api, name)

    async def published(self) -> dict[str, str]:
        found = await self.api.get(kinds.CONFIG_MAPS, simulated.ETCD_ENDPOINTS, simulated.ETCD_NAMESPACE)
        data: dict[str, str] = found["data"]
        return data

    async def true(self) -> dict[str, str]:
        """What should be published: the voters that etcd has now."""
        found = await self.etcd.listed(linearizable=False)
        return {one.hexadecimal: ADDRESSES[self.etcd.name_of(one)] for one in found if not one.learner}

    async def states(self) -> dict[str, str | None]:
        found = await self.api.get(kinds.ETCDS, "cluster")
        return {type_: conditions.of(found, type_).get("status") for type_ in STATES}

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
async def opened(folder: Any, *, strict: bool = False) -> AsyncIterator[Living]:
    async with contextlib.AsyncExitStack() as stack:
        etcd = await stack.enter_async_context(cluster.Cluster(strict=strict))
        await etcd.bootstrap("master-0")
        served = server.ApiServer()
        await served.start()
        stack.push_async_callback(served.stop)
        access = kubeconfig.access(served.kubeconfig(), folder)
        api = await stack.enter_async_context(client.Client(access))
        await install.install(api, simulated.Shape())
        actors = await stack.enter_async_context(hub.Actors(access, pace.FAST, real_etcd=etcd))
        yield Living(api, actors, etcd, served.kubeconfig())


async def test_what_it_publishes_while_members_stand_still_die_and_are_replaced(tmp_path):
    """One cluster through all of it; after each step three voters are published again, as etcd has them."""
    async with opened(tmp_path) as living:
        await living.join("master-1", "master-2")
        await living.until_voters(*conftest.THREE)
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
        await living.until_voters(*conftest.THREE)
        await living.until_states()

        ids = await asking.published(living.etcd)
        for name in conftest.THREE[1:]:
            await living.etcd.members[name].kill()

        async def names() -> bool:
            return bool(await living.published() == {name: ADDRESSES[name] for name in conftest.THREE})

        await polling.until("without a quorum there are names instead of ids", names, PATIENCE)
        answer = await asking.ask(living.etcd, data=await living.published())
        assert answer.status is not asking.MET, "names prove nothing"
        for name in conftest.THREE[1:]:
            await living.etcd.members[name].start_again()
        await living.until_voters(*conftest.THREE)
        assert await asking.published(living.etcd) == ids


async def test_the_operator_lets_the_topology_move_when_the_third_member_votes(tmp_path):
    """The whole story, as strict as in production: the request, then nodes, then members, and the topology last."""
    async with opened(tmp_path, strict=True) as living:
        began = time.monotonic()
        await grows(living, tmp_path)
        assert time.monotonic() - began > 4.5, "etcd waits for five seconds of health before it adds another member"
        await living.until_states()


async def grows(living, tmp_path):
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(living.config))
    flags = ("--etcd-cert-dir", str(living.etcd.client_folder()), "--etcd-endpoints", living.etcd.urls[0])
    operator = await process.start(
        "operator-a", file, tmp_path / "operator.log", settle=0, lease=process.LEASE, flags=flags
    )
    try:
        await operator.ready()
        change = {"spec": {"desiredTopology": "HighlyAvailable"}}
        await living.api.patch(kinds.INFRASTRUCTURES, "cluster", change)
        moved: list[int] = []

        async def completed() -> bool:
            status = (await living.api.get(kinds.INFRASTRUCTURES, "cluster"))["status"]
            if status["controlPlaneTopology"] == "HighlyAvailable" and not moved:
                moved.append(len(await living.true()))
            return bool((status.get("topologyTransition") or {}).get("phase") == "Completed")

        living.actors.etcd.stick("master-2")
        await living.join("master-1", "master-2")
        await living.until_voters("master-0", "master-1")

        async def still() -> bool:
            return not await completed() and not moved

        await polling.steadily("the topology stays", still, 1.0)
        living.actors.etcd.heal("master-2")
        await polling.until("Completed", completed, PATIENCE)
        assert moved == [3]
    finally:
        await operator.kill()
    assert operator.complaints() == [], operator.words()
