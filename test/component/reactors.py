"""The neighbours without whom no transition ends, as small as they can be, each over HTTP with its own user agent.

The version operator echoes our Upgradeable=False; `Operands` follow the change. Both act on what their watch says and
at once, and both can be told to hold still, so that a test decides when a transition goes on. Actors with a pace of
their own are not needed here: `test_scenarios` plays with those.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from test import polling
from topology_simulator import client as clients
from topology_simulator import conditions, follow, kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from topology_simulator import kubeconfig

Pair = tuple[str, str]
_RETRY = 0.05
_KNOWN = {"SingleReplica", "HighlyAvailable", "HighlyAvailableArbiter"}
_REASON = "RiskNameNotCompatibleWithReasonProperty"


class _Neighbour(abc.ABC):
    """Calls `_act` with every state of one kind, and again after a failure."""

    agent = ""
    kind = kinds.INFRASTRUCTURES

    def __init__(self, api: clients.Client) -> None:
        self._api = api
        self.news = polling.News()
        """Of whatever this one has seen."""

    async def run(self) -> None:
        while True:
            with contextlib.suppress(clients.ClientError):
                async for event in self._api.follow(self.kind, retry_seconds=_RETRY):
                    self.news.tell()
                    for obj in event.objects if isinstance(event, clients.Listed) else (event.obj,):
                        await self._act(obj)
            await asyncio.sleep(_RETRY)

    @abc.abstractmethod
    async def _act(self, obj: dict[str, Any]) -> None:
        """React to an object that is new or has changed."""


class Echo(_Neighbour):
    """The version operator's echo of Upgradeable. `on` False: it says nothing new."""

    agent = "cluster-version-operator"
    kind = kinds.CLUSTER_OPERATORS

    def __init__(self, api: clients.Client) -> None:
        super().__init__(api)
        self.on = True

    async def _act(self, obj: dict[str, Any]) -> None:
        if obj["metadata"]["name"] == "topology" and self.on:
            await self.say(obj)

    async def go_on(self) -> None:
        """Echo what stands there, and all that comes; the first report may still be on its way."""
        self.on = True
        found = await self._api.find(kinds.CLUSTER_OPERATORS, "topology")
        if found is not None:
            await self.say(found)

    async def say(self, operator: dict[str, Any]) -> None:
        """Echo what a ClusterOperator says about upgrades."""
        said = conditions.find(operator, "Upgradeable")
        version = await self._api.find(kinds.CLUSTER_VERSIONS, "version")
        if version is None:
            return
        blocked = said.get("status") == "False"
        text = f"Cluster operator topology should not be upgraded between minor versions: {said.get('message', '')}"
        wanted = [conditions.Condition("Upgradeable", "False", _REASON, text)] if blocked else []
        changed = conditions.merged(version, wanted, without=() if blocked else ("Upgradeable",))
        if changed is not None:
            await self._api.patch_status(kinds.CLUSTER_VERSIONS, "version", {"conditions": changed})


class Operands(_Neighbour):
    """All operators whose operands follow the topology, at once when `on`; and who has seen every state of it.

    `behind` are ClusterOperators, or parts of what they do (see `follow`), that do not follow. `history` are the
    pairs (control plane, infrastructure) in the order in which they were seen, each once in a row; `phases` likewise.
    """

    agent = "operands"
    kind = kinds.INFRASTRUCTURES

    def __init__(self, api: clients.Client) -> None:
        super().__init__(api)
        self.on = True
        self.behind: set[str] = set()
        self.latest: dict[str, Any] = {}
        self.history: list[Pair] = []
        self.phases: list[str] = []
        self._followed: Pair | None = None
        self._following = asyncio.Lock()

    async def _act(self, obj: dict[str, Any]) -> None:
        self.latest = obj
        status = obj.get("status") or {}
        pair = (status.get("controlPlaneTopology", ""), status.get("infrastructureTopology", ""))
        if not self.history or self.history[-1] != pair:
            self.history.append(pair)
        # The cluster is installed as its topology says.
        self._followed = self._followed or pair
        phase = (status.get("topologyTransition") or {}).get("phase", "")
        if not self.phases or self.phases[-1] != phase:
            self.phases.append(phase)
        if self._followed != pair and self.on and set(pair) <= _KNOWN:
            await self._follow(pair)

    async def _follow(self, pair: Pair) -> None:
        async with self._following:
            await follow.follow(self._api, without=self.behind)
            self._followed = pair

    async def go_on(self) -> None:
        """Let all of them follow, also those that were kept from it."""
        self.on = True
        self.behind.clear()
        await self._follow(self.history[-1])

    def forget(self) -> None:
        """Begin anew with the next state that is seen, and hold still: the cluster is about to be another one."""
        self.on, self._followed = False, None
        self.history.clear()
        self.phases.clear()

    async def seen(self) -> None:
        """Wait until there is a state that was seen."""
        await polling.until("the operands have seen Infrastructure", lambda: bool(self.history))

    async def followed(self, *pair: str) -> None:
        """Wait until they have followed the topology to this pair."""
        what = f"the operands have followed to {'/'.join(pair)}"
        await polling.until(what, lambda: self.history[-1] == self._followed == pair)


@contextlib.asynccontextmanager
async def _connected(access: kubeconfig.Access, agent: str) -> AsyncIterator[clients.Client]:
    async with clients.Client(access, agent) as api:
        yield api


@contextlib.asynccontextmanager
async def living(access: kubeconfig.Access) -> AsyncIterator[tuple[Echo, Operands]]:
    """Let both live inside this context. What they die of comes out here."""
    async with _connected(access, Echo.agent) as one, _connected(access, Operands.agent) as two:
        echo, operands = Echo(one), Operands(two)
        operands.news = echo.news
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each.run(), name=each.agent) for each in (echo, operands)]
            try:
                yield echo, operands
            finally:
                for task in tasks:
                    task.cancel()
