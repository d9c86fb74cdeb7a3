"""All actors of a cluster, as one thing that is started and stopped.

Each actor has a client of its own, with its own user agent, so that audit logs and managedFields tell them apart. They
run in one task group: leaving the context cancels and awaits every task, and an actor that dies of a fault of ours
takes the others with it instead of leaving a cluster in which nothing moves.

Whatever follows the topology can be kept from it: `hold` an operator (by the name of its ClusterOperator) and it does
not react until `release`.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Self, TypeVar

from topology_simulator import client, install, kinds, operands

from . import (
    actor,
    bare_metal,
    console,
    etcd_operator,
    ingress,
    kubelets,
    machine_config,
    machine_controller,
    native,
    operator_pods,
    real_etcd_operator,
    static_pods,
    version,
    workloads,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from topology_simulator import kubeconfig, pace, upgradeable
    from topology_simulator.etcd import cluster as etcds

_Actor = TypeVar("_Actor", bound=actor.Actor)
FOLLOWING = (
    {"ingress", "machine-config"}
    | {name for workload in operands.WORKLOADS for name in (workload.operator, workload.key)}
    | {pods.operator for pods in operands.STATIC_PODS}
)
"""Who follows the topology: ClusterOperators, and single workloads of theirs."""


class Actors:
    """Every actor; use it as an async context manager. Those that take orders are attributes.

    `real_etcd` is a cluster whose first member runs, for the etcd operator to drive; without it, it pretends.
    `release` is the version operator's, with its delays.
    """

    kubelets: kubelets.Kubelets
    etcd: etcd_operator.EtcdOperator
    hosts: bare_metal.BareMetalOperator
    version: version.Version

    def __init__(
        self,
        access: kubeconfig.Access,
        speeds: pace.Pace,
        *,
        real_etcd: etcds.Cluster | None = None,
        release: upgradeable.Release | None = None,
    ) -> None:
        self._access = access
        self._pace = speeds
        self._real_etcd = real_etcd
        self._running = contextlib.AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        self._cast: list[actor.Actor] = []
        self._troubles = actor.Troubles()
        self._release: upgradeable.Release | None = release
        self._absent: tuple[kinds.Kind, ...] = ()

    # -- orders

    def hold(self, name: str) -> None:
        """Let an operator not react to a new topology. Raises LookupError for one that does not react anyway."""
        self._trouble(self._troubles.held.add, name)

    def release(self, name: str) -> None:
        """Let an operator react again, now if there is something to react to."""
        self._trouble(self._troubles.held.discard, name)

    def degrade_pool(self, name: str) -> None:
        """Let a machine config pool be degraded by its first node, until `mend_pool`."""
        self._troubles.degraded.add(name)
        self._wake()

    def mend_pool(self, name: str) -> None:
        """Let a machine config pool be well again."""
        self._troubles.degraded.discard(name)
        self._wake()

    def _trouble(self, change: Callable[[str], None], name: str) -> None:
        if name not in FOLLOWING:
            raise LookupError(f"{name!r} is none of {', '.join(sorted(FOLLOWING))}")
        change(name)
        self._wake()

    def _wake(self) -> None:
        for member in self._cast:
            member.mirror.wake()

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as opening:
            self.kubelets = await self._open(opening, kubelets.Kubelets)
            self._absent = await _not_served(self.kubelets.api)
            self.etcd = await self._open_etcd(opening)
            self.version = await self._open(opening, version.Version)
            self.version.release = self._release
            self._cast = [
                self.kubelets,
                self.etcd,
                self.version,
                await self._open(opening, machine_config.MachineConfig),
                await self._open(opening, ingress.Ingress),
                await self._open(opening, static_pods.StaticPods),
                await self._open(opening, workloads.Workloads),
                await self._open(opening, console.Console),
                await self._open(opening, operator_pods.OperatorPods),
                await self._open(opening, native.NativeController),
            ]
            self.hosts = await self._open(opening, bare_metal.BareMetalOperator)
            if kinds.MACHINES not in self._absent:
                self._cast += [self.hosts, await self._open(opening, machine_controller.MachineController)]
            group = await opening.enter_async_context(asyncio.TaskGroup())
            self._tasks = [group.create_task(member.run(), name=member.agent) for member in self._cast]
            self._running = opening.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        # The body's error is kept from the task group: it would come out wrapped, and callers look for it.
        await self._running.aclose()

    async def _open_etcd(self, stack: contextlib.AsyncExitStack) -> etcd_operator.EtcdOperator:
        if self._real_etcd is None:
            return await self._open(stack, etcd_operator.EtcdOperator)
        api = await stack.enter_async_context(
            client.Client(self._access, etcd_operator.EtcdOperator.agent, strict=True)
        )
        return real_etcd_operator.RealEtcdOperator(api, self._pace, self._real_etcd, absent=self._absent)

    async def _open(self, stack: contextlib.AsyncExitStack, actor_class: type[_Actor]) -> _Actor:
        api = await stack.enter_async_context(client.Client(self._access, actor_class.agent, strict=True))
        return actor_class(api, self._pace, self._troubles, self._absent)


async def _not_served(api: client.Client) -> tuple[kinds.Kind, ...]:
    """Return the kinds that are gone with a capability, or came with no site."""
    absent: list[kinds.Kind] = []
    for of_capability in (*install.OF_CAPABILITIES.values(), (kinds.CSV,)):
        try:
            await api.list(of_capability[0])
        except client.ApiError as error:
            if error.code != 404:
                raise
            absent += of_capability
    return tuple(absent)
