"""A neighbour applies a status of Infrastructure that it read before the topology changed, and no version stops it.

cluster-network-operator does that on platforms with virtual IPs: it reads Infrastructure, reconciles the addresses of
spec and status, and applies the whole typed status by server-side apply with force and without a resourceVersion
(cluster-network-operator pkg/controller/infrastructureconfig/infrastructureconfig_controller.go and pkg/apply/apply.go,
release-4.20 to release-4.22). What its type does not have (our record, the desired topology) it leaves alone.

On the real API server only: the embedded one refuses apply.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
from typing import TYPE_CHECKING, Any

import aiohttp

from test.component import backend
from test.component import world as worlds
from topology_simulator import cluster as simulated
from topology_simulator import kinds, kubeconfig

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import real
    from test.component.world import World

_MANAGER = "cluster-network-operator/infrastructureconfig"
_SPREAD = ("HighlyAvailable", "SingleReplica")
_PLATFORM = "baremetal"
_FIRST, _SECOND = "192.0.2.100", "2001:db8::100"
_SECONDS = 10.0


class NetworkOperator:
    """The controller infrastructureconfig of cluster-network-operator: one pass in two halves, read and apply."""

    def __init__(self, world: World, folder: pathlib.Path) -> None:
        self._world = world
        self._access = kubeconfig.access(world.server.kubeconfig(), folder)
        self._made: dict[str, Any] = {}

    async def read(self) -> None:
        """Read Infrastructure and make of it what is to be applied: the addresses of spec in status too."""
        found = await self._world.infrastructure()
        status = copy.deepcopy(found["status"])
        status.pop("topologyTransition", None)
        wanted = found["spec"]["platformSpec"][_PLATFORM]["apiServerInternalIPs"]
        status["platformStatus"][_PLATFORM]["apiServerInternalIPs"] = wanted
        self._made = {
            "apiVersion": "config.openshift.io/v1",
            "kind": "Infrastructure",
            "metadata": {"name": "cluster"},
            "spec": {"platformSpec": found["spec"]["platformSpec"]},
            "status": status,
        }

    async def apply(self) -> None:
        """Apply what was made of the last read. Raises when the server refuses it, as it would a conflict."""
        headers = {**self._access.headers, "Content-Type": "application/apply-patch+yaml"}
        url = self._access.server + kinds.INFRASTRUCTURES.path("cluster", subresource="status")
        parameters = {"fieldManager": _MANAGER, "force": "true"}
        timeout = aiohttp.ClientTimeout(total=_SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout, raise_for_status=True) as session,
            session.patch(url, params=parameters, headers=headers, json=self._made, ssl=self._access.tls or True),
        ):
            pass

    async def addresses(self) -> list[str]:
        """Read the addresses of the API server in status."""
        status = (await self._world.infrastructure())["status"]
        found: list[str] = status["platformStatus"][_PLATFORM]["apiServerInternalIPs"]
        return found


@contextlib.asynccontextmanager
async def _spread(session: real.Session, folder: pathlib.Path) -> AsyncIterator[tuple[World, NetworkOperator]]:
    """Open a cluster whose infrastructure is not highly available, with one virtual IP and a second one asked for."""
    shape = simulated.Shape(
        control_plane="HighlyAvailable", infrastructure="SingleReplica", masters=3, platform="BareMetal"
    )
    async with worlds.opened(backend.Place(session), folder, shape) as world:
        before = {"platformStatus": {_PLATFORM: {"apiServerInternalIPs": [_FIRST]}}}
        await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", before)
        asked = {"platformSpec": {_PLATFORM: {"apiServerInternalIPs": [_FIRST, _SECOND]}}}
        await world.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": asked})
        await world.idle_operator()
        yield world, NetworkOperator(world, folder)


async def test_a_stale_status_that_is_applied_is_reported_with_its_writer(
    real_server: real.Session, tmp_path: pathlib.Path
) -> None:
    async with _spread(real_server, tmp_path) as (world, neighbour):
        world.operands.on = False
        await neighbour.read()
        await world.ask_for()
        record = await world.until_phase("Converging")
        assert record["name"] == "infra-to-ha"
        assert await world.pair() == worlds.MOVED

        # Managed fields have whole seconds: within one, who wrote the status before may seem to be the writer.
        await asyncio.sleep(1.0)
        await neighbour.apply()

        assert await world.pair() == _SPREAD, "force takes the topology along"
        assert await neighbour.addresses() == [_FIRST, _SECOND]
        assert (await world.record())["attempt"] == record["attempt"], "the record is in no type of theirs"
        message = (await world.until_condition("Degraded", "True", "TopologyOverwritten"))["message"]
        assert f"it was written by field manager {_MANAGER}" in message
        assert "was HighlyAvailable/HighlyAvailable and is HighlyAvailable/SingleReplica now" in message

        async def untouched() -> bool:
            return await world.pair() == _SPREAD and len(world.server.topology_changes) == 1

        await world.stays_so("the topology is not written", untouched)

        # The way out is the one that the message gives, and a field that somebody else has applied is no obstacle.
        await world.ask_for(None)
        await world.until_phase("Idle")
        await world.operands.go_on()
        await world.operands.followed(*_SPREAD)
        await world.ask_for()
        await world.until_phase("Completed")
        assert await world.pair() == worlds.MOVED
        assert len(world.server.topology_changes) == 2
