"""The simulator's etcd operator with real members: from one to three as nodes join, and what it publishes meanwhile.

What is published is compared with what etcd itself says, asked behind the actor's back; and the operator's own check,
given what is published, is not Met before there are three healthy voters.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

import pytest
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


@pytest.fixture
async def living(tmp_path) -> AsyncIterator[Living]:
    async with opened(tmp_path) as made:
        yield made


async def test_from_one_to_three_as_strict_as_in_production(tmp_path):
    """Every state of the ConfigMap on the way is one that etcd was in, and the check is Met in the last only."""
    async with opened(tmp_path, strict=True) as living:
        await living.until_voters("master-0")
        asker = asking.Asker(living.etcd, endpoints=living.etcd.urls)
        heard: list[tuple[int, asking.Answer]] = []

        async def keep_asking() -> None:
            while not heard or heard[-1][1].status is not asking.MET:
                answer = await asker.ask()
                heard.append((len(await living.published()), answer))
                await asyncio.sleep(0.02)

        listening = asyncio.create_task(keep_asking())
        started = time.monotonic()
        await living.join("master-1", "master-2")
        await living.until_voters(*conftest.THREE)
        async with asyncio.timeout(PATIENCE):
            await listening
        assert time.monotonic() - started > 4.5, "etcd waits for five seconds of health before it adds another member"
        assert [count for count, answer in heard if answer.status is asking.MET] == [3]
        assert {count for count, _ in heard} == {1, 2, 3}
        assert any("is a learner" in answer.message for _, answer in heard)
        await living.until_states()
        assert len(await living.published()) == 3


async def test_a_member_that_stands_still_is_published_as_degraded_and_nobody_joins(living):
    await living.join("master-1", "master-2")
    await living.until_voters(*conftest.THREE)
    held = living.etcd.members["master-2"]
    await held.pause()
    await living.until_states(EtcdMembersDegraded="True")
    await living.join("master-3")

    async def boots() -> bool:
        return conditions.is_true(await living.api.get(kinds.NODES, "master-3"), "Ready")

    await polling.until("master-3 is ready", boots, PATIENCE)

    async def nobody_joins() -> bool:
        return set(living.etcd.members) == set(conftest.THREE)

    await polling.steadily("nobody joins", nobody_joins, 0.5)
    assert len(await living.published()) == 3
    await held.resume()
    await living.until_voters(*conftest.THREE, "master-3")
    await living.until_states()


async def test_without_quorum_it_publishes_names_that_prove_nothing(living):
    await living.join("master-1", "master-2")
    await living.until_voters(*conftest.THREE)
    ids = await asking.published(living.etcd)
    for name in conftest.THREE[1:]:
        await living.etcd.members[name].kill()

    async def names() -> bool:
        return bool(await living.published() == {name: ADDRESSES[name] for name in conftest.THREE})

    await polling.until("names instead of ids", names, PATIENCE)
    before = await living.states()

    async def outlived() -> bool:
        return bool(await living.states() == before)

    await polling.steadily("conditions outlive what they are about", outlived, 0.5)
    answer = await asking.ask(living.etcd, data=await living.published())
    assert answer.status is not asking.MET
    for name in conftest.THREE[1:]:
        await living.etcd.members[name].start_again()
    await living.until_voters(*conftest.THREE)
    assert await asking.published(living.etcd) == ids


async def test_the_member_of_a_deleted_node_is_removed_from_etcd_and_a_new_one_comes_with_a_new_node(living):
    await living.join("master-1", "master-2")
    await living.until_voters(*conftest.THREE)
    await living.api.delete(kinds.NODES, "master-2")
    await living.until_voters("master-0", "master-1")
    assert len(await living.etcd.listed()) == 2
    await living.join("master-2")
    await living.until_voters(*conftest.THREE)


async def test_the_operator_lets_the_topology_move_when_the_third_member_votes(living, tmp_path):
    """The whole story: the request first, then nodes, then members, and the topology last."""
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
