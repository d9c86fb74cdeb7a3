"""A control-plane node fails while there are two voters: no quorum, no API. The operator lives, and begins anew.

The members are real: the one behind the real API server is joined by a second one, which is killed and comes back.
Once while the request waits, and once while the change itself is sent: etcd may execute that write when it has a quorum
again, and may not, and nobody was told which. A member that is gone for good is restored from a backup
(`test_restored_backup`): without a quorum none can be removed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from test import polling
from test.component import backend, cluster, process
from topology_simulator import binaries, kinds, ports
from topology_simulator import cluster as simulated
from topology_simulator.etcd import keeping

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from test.component import real
    from test.component.world import World


class Second:
    """The second member of the etcd behind an API server: it makes two voters, of which none may be lost."""

    def __init__(self, url: str, processes: keeping.Keeping) -> None:
        self._url = url
        self._processes = processes
        self._client, self._peer = (f"http://127.0.0.1:{port}" for port in ports.free(2))
        self._id = ""

    async def join(self) -> None:
        """Add it as a voter and start it: in between there is no quorum, as with any second voter."""
        added = await self._asked("/v3/cluster/member/add", peerURLs=[self._peer])
        self._id = added["member"]["ID"]
        (first,) = (one for one in added["members"] if one["ID"] != self._id)
        self._command = [
            str(binaries.etcd()), "--name=second", f"--data-dir={self._processes.folder / 'second'}",
            "--unsafe-no-fsync", "--log-level=warn", "--initial-cluster-state=existing",
            f"--listen-client-urls={self._client}", f"--advertise-client-urls={self._client}",
            f"--listen-peer-urls={self._peer}", f"--initial-advertise-peer-urls={self._peer}",
            f"--initial-cluster={first['name']}={first['peerURLs'][0]},second={self._peer}",
        ]  # fmt: skip
        await self.start()

    async def start(self) -> None:
        """Start it, also again, and wait for a quorum."""
        await self._processes.start("second", self._command)
        await self._asked("/v3/kv/range", key="AA==")

    async def kill(self) -> None:
        await self._processes.end("second")

    async def leave(self) -> None:
        """Take it out again: the server serves other tests."""
        if self._id:
            if "second" not in self._processes.pids:
                await self.start()
            await self._asked("/v3/cluster/member/remove", ID=self._id)

    async def _asked(self, path: str, **body: Any) -> dict[str, Any]:
        limit = aiohttp.ClientTimeout(total=2.0)

        async def answered() -> dict[str, Any] | None:
            try:
                async with (
                    aiohttp.ClientSession(self._url, timeout=limit) as session,
                    session.post(path, json=body) as response,
                ):
                    return await response.json() if response.status == 200 else None
            except (aiohttp.ClientError, TimeoutError):
                return None

        return await polling.until(f"etcd answers {path}", answered, 20.0)


@pytest.fixture
async def second(real_server: real.Session) -> AsyncIterator[Second]:
    async with keeping.Keeping() as processes:
        member = Second(real_server.server.etcd_url, processes)
        yield member
        await member.leave()


async def _failed(operator: process.Operator) -> float:
    """How many requests of an operator had no answer, or one of a server that cannot serve."""
    _, text = await operator.ask("/metrics")
    rows = [line for line in text.splitlines() if line.startswith("rest_client_requests_total{")]
    return sum(float(row.rpartition(" ")[2]) for row in rows if re.search(r'code="(<error>|5..)"', row))


async def _lost(operator: process.Operator, second: Second) -> None:
    """Let the operator be without an API for a while: it stays, and says what it last knew."""
    before = await _failed(operator)
    await polling.until("requests fail", lambda: _failed(operator), 30.0, holds=lambda now: now > before)
    assert (await operator.ask("/healthz"))[0] == 200
    assert operator.alive
    await second.start()


async def _unanswered(world: World, since: int) -> bool:
    return any(
        one.verb == "patch" and one.resource == "infrastructures" and one.code != 200
        for one in world.server.asked(since)
    )


async def test_one_of_two_voters_is_lost_while_it_waits_and_while_it_changes(there: World, second: Second) -> None:
    world = there
    homes = (await world.api.get(kinds.CONFIG_MAPS, simulated.ETCD_ENDPOINTS, simulated.ETCD_NAMESPACE))["data"]
    third = max(homes, key=homes.__getitem__)
    operator = await world.idle_operator(lease=process.PATIENT)
    await second.join()
    await cluster.set_endpoints(world.api, {third: None})
    await world.ask_for()
    await world.until_check("EtcdVotingMembers", "Unmet")

    await second.kill()
    await _lost(operator, second)
    await operator.ready(30.0)
    assert await world.pair() == world.installed
    assert world.server.topology_changes == []

    async def lose(_: object) -> None:
        await second.kill()

    world.server.before(backend.is_change, lose)
    before = world.server.mark()
    await cluster.set_endpoints(world.api, {third: homes[third]})
    await polling.until("the change has no answer", lambda: _unanswered(world, before), 30.0)
    await _lost(operator, second)
    await world.completed_once(seconds=60.0)
    asked = sorted(world.server.asked(before), key=lambda one: one.time)
    about = [one.verb for one in asked if one.resource == "infrastructures" and one.verb in {"get", "patch"}]
    after_the_first_change = about[about.index("patch", about.index("patch") + 1) + 1 :]
    assert after_the_first_change[0] == "get", about
