"""All actors of a cluster, as one thing that is started and stopped.

Each actor has a client of its own, with its own user agent, so that audit logs and managedFields tell them apart. They
run in one task group: leaving the context cancels and awaits every task, and an actor that dies of a fault of ours
takes the others with it instead of leaving a cluster in which nothing moves.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Self, TypeVar

from topology_simulator import client

from . import actor, cluster_operators, etcd_operator, ingress, kubelets, machine_config, real_etcd_operator, version

if TYPE_CHECKING:
    from types import TracebackType

    from topology_simulator import kubeconfig, pace
    from topology_simulator.etcd import cluster as etcds

_Actor = TypeVar("_Actor", bound=actor.Actor)


class Actors:
    """Every actor; use it as an async context manager. Those with something to be told are attributes.

    `real_etcd` is a cluster whose first member runs, for the etcd operator to drive; without it, it pretends.
    """

    kubelets: kubelets.Kubelets
    etcd: etcd_operator.EtcdOperator
    version: version.Version

    def __init__(self, access: kubeconfig.Access, speeds: pace.Pace, *, real_etcd: etcds.Cluster | None = None) -> None:
        self._access = access
        self._pace = speeds
        self._real_etcd = real_etcd
        self._running = contextlib.AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as opening:
            self.kubelets = await self._open(opening, kubelets.Kubelets)
            self.etcd = await self._open_etcd(opening)
            self.version = await self._open(opening, version.Version)
            cast: list[actor.Actor] = [
                self.kubelets,
                self.etcd,
                self.version,
                await self._open(opening, machine_config.MachineConfig),
                await self._open(opening, ingress.Ingress),
                await self._open(opening, cluster_operators.ClusterOperators),
            ]
            group = await opening.enter_async_context(asyncio.TaskGroup())
            self._tasks = [group.create_task(one.run(), name=one.agent) for one in cast]
            self._running = opening.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        # Nothing of the body's error is told to the task group: it would come out wrapped, and callers look for it.
        await self._running.aclose()

    async def _open_etcd(self, stack: contextlib.AsyncExitStack) -> etcd_operator.EtcdOperator:
        if self._real_etcd is None:
            return await self._open(stack, etcd_operator.EtcdOperator)
        api = await stack.enter_async_context(client.Client(self._access, etcd_operator.EtcdOperator.agent))
        return real_etcd_operator.RealEtcdOperator(api, self._pace, self._real_etcd)

    async def _open(self, stack: contextlib.AsyncExitStack, made: type[_Actor]) -> _Actor:
        api = await stack.enter_async_context(client.Client(self._access, made.agent))
        return made(api, self._pace)
