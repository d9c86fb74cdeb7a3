"""A cluster at the fast pace on a real socket, and a way to wait for what must come."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from topology_simulator import client, cluster, conditions, install, kinds, kubeconfig, pace
from topology_simulator.actors import hub, kubelets, version
from topology_simulator.apiserver import server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


DEADLINE = 48.0


class SimulatedCluster:
    """What tests read and do."""

    def __init__(self, api: client.Client, actors: hub.Actors, served: server.ApiServer) -> None:
        self.api = api
        self.actors = actors
        self.server = served

    async def eventually(self, question: Callable[[], Awaitable[Any]], wanted: Any) -> None:
        """Poll until the answer is the wanted one; fail with the last answer."""
        found: Any = "no answer"
        try:
            async with asyncio.timeout(DEADLINE):
                while (found := await question()) != wanted:  # noqa: ASYNC110  # a real socket is under test
                    await asyncio.sleep(0.01)
        except TimeoutError:
            pytest.fail(f"wanted {wanted!r}, found {found!r} after {DEADLINE:g} s")

    async def join(self, *names: str) -> None:
        for name in names:
            await kubelets.join(self.api, name)

    async def node(self, name: str) -> dict[str, Any]:
        return await self.api.get(kinds.NODES, name)

    async def ready(self) -> list[str]:
        nodes = await self.api.list(kinds.NODES)
        return [one["metadata"]["name"] for one in nodes if conditions.is_true(one, "Ready")]

    async def voters(self) -> list[str]:
        found = await self.api.get(kinds.CONFIG_MAPS, cluster.ETCD_ENDPOINTS, cluster.ETCD_NAMESPACE)
        names = [f"master-{number}" for number in range(6)]
        return [name for name in names if cluster.member_id(name) in found["data"]]

    async def condition(self, kind: kinds.Kind, name: str, type_: str) -> str | None:
        found: str | None = conditions.find(await self.api.get(kind, name), type_).get("status")
        return found

    async def operator(self, name: str, type_: str) -> str | None:
        return await self.condition(kinds.CLUSTER_OPERATORS, name, type_)

    async def object_to(self, name: str, message: str | None) -> None:
        """Let a ClusterOperator hold upgrades back, or stop doing so when the message is None."""
        obj = await self.api.get(kinds.CLUSTER_OPERATORS, name)
        status = "True" if message is None else "False"
        wanted = [conditions.Condition("Upgradeable", status, "Test", message or "")]
        await self.api.patch_status(kinds.CLUSTER_OPERATORS, name, {"conditions": conditions.merged(obj, wanted)})

    async def change(self, topology: str = "HighlyAvailable") -> None:
        status = {"controlPlaneTopology": topology, "infrastructureTopology": topology}
        await self.api.patch_status(kinds.INFRASTRUCTURES, "cluster", status)

    async def routers(self) -> int:
        found = await self.api.get(kinds.INGRESS_CONTROLLERS, "default", cluster.INGRESS_NAMESPACE)
        return int(found["status"]["availableReplicas"])

    async def ready_of(self, namespace: str, name: str) -> int:
        """Return how many replicas of a Deployment are ready."""
        found = await self.api.get(kinds.DEPLOYMENTS, name, namespace)
        return int((found.get("status") or {}).get("readyReplicas") or 0)

    async def pool(self, name: str = "master") -> tuple[int, int, int]:
        """Return machines, updated, ready."""
        status = (await self.api.get(kinds.MACHINE_CONFIG_POOLS, name))["status"]
        return status["machineCount"], status["updatedMachineCount"], status["readyMachineCount"]


@pytest.fixture
async def served():
    made = server.ApiServer()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
def access(served):
    return kubeconfig.access(served.kubeconfig())


@pytest.fixture
async def api(access):
    async with client.Client(access) as made:
        yield made


@pytest.fixture
def running(served, access, api):
    """Open a living cluster of a given shape: `async with running(router_replicas=1) as cluster`."""

    @contextlib.asynccontextmanager
    async def opened(
        hold: tuple[str, ...] = (),
        speeds: pace.Pace = pace.FAST,
        release: version.Release | None = None,
        **shape: Any,
    ):
        await install.install(api, cluster.Shape(**shape))
        cast = hub.Actors(access, speeds, release=release)
        for name in hold:
            cast.order("hold", name)
        async with cast as actors:
            made = SimulatedCluster(api, actors, served)
            await made.eventually(lambda: asyncio.sleep(0, actors.current), True)  # noqa: FBT003 - an answer
            yield made

    return opened


@pytest.fixture
async def living(running):
    async with running() as made:
        yield made


@contextlib.asynccontextmanager
async def watched(living, kind):
    """Collect every state of the objects of a kind, from now on."""
    states, listed = [], asyncio.Event()

    async def collect():
        async for event in living.api.follow(kind, retry_seconds=0.1):
            states.extend([event.obj] if hasattr(event, "obj") else [])
            listed.set()

    task = asyncio.create_task(collect())
    try:
        await listed.wait()
        yield states
    finally:
        task.cancel()
        await asyncio.wait([task])
