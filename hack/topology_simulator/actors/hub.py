"""All actors of a cluster, as one thing that is started and stopped.

Each has a client and a user agent of its own, so that audit logs and managedFields tell them apart. They run in one
task group: an actor that dies of a fault of ours takes the others with it instead of leaving a cluster in which nothing
moves. Whatever follows the topology can be kept from it: `hold` an operator until `release`.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

from topology_simulator import client, install, kinds, kubeconfig, opened, operands, pace
from topology_simulator.etcd import cluster as etcds

from . import (
    actor,
    bare_metal,
    console,
    etcd_operator,
    kubelets,
    machine_config,
    machine_controller,
    native,
    real_etcd_operator,
    static_pods,
    version,
    workloads,
)
from .version import Release

_Actor = TypeVar("_Actor", bound=actor.Actor)
FOLLOWING = (
    {"ingress", "machine-config"}
    | {name for workload in operands.WORKLOADS for name in (workload.operator, workload.key)}
    | {pods.operator for pods in operands.STATIC_PODS}
)
"""Who follows the topology: ClusterOperators, and single workloads of theirs."""
_FOLLOWERS: tuple[type[actor.Actor], ...] = (
    machine_config.MachineConfig, workloads.Ingress, static_pods.StaticPods, workloads.Workloads, console.Console,
    workloads.OperatorPods, native.NativeController,
)  # fmt: skip


class Actors(opened.Opened):
    """Every actor; use it as an async context manager. Those that take orders are attributes.

    `real_etcd` is a cluster whose first member runs, for the etcd operator to drive; without it, it pretends.
    `release` is the version operator's, with its delays. `instead` has what plays another part than an actor of ours.
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
        release: Release | None = None,
        instead: Mapping[type[actor.Actor], type[actor.Actor]] | None = None,
    ) -> None:
        super().__init__()
        self._access = access
        self._pace = speeds
        self._real_etcd = real_etcd
        self._cast: list[actor.Actor] = []
        self._troubles = actor.Troubles()
        self._release: Release | None = release
        self._absent: tuple[kinds.Kind, ...] = ()
        self._instead = instead or {}

    @property
    def current(self) -> bool:
        """Whether each has listed what it watches: what stands then is to it what was installed."""
        return all(member.mirror.current for member in self._cast)

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

    async def _open(self, parts: contextlib.AsyncExitStack) -> None:
        self.kubelets = await self._cast_one(parts, kubelets.Kubelets)
        self._absent = await _not_served(self.kubelets.api)
        self.etcd = await self._cast_etcd(parts)
        self.version = await self._cast_one(parts, version.Version)
        self.version.release = self._release
        self._cast = [self.kubelets, self.etcd, self.version]
        for follower in _FOLLOWERS:
            self._cast.append(await self._cast_one(parts, follower))
        self.hosts = await self._cast_one(parts, bare_metal.BareMetalOperator)
        if kinds.MACHINES not in self._absent:
            self._cast += [self.hosts, await self._cast_one(parts, machine_controller.MachineController)]
        # The body's error is kept from the task group: it would come out wrapped, and callers look for it.
        group = await parts.enter_async_context(asyncio.TaskGroup())
        for member in self._cast:
            parts.callback(group.create_task(member.run(), name=member.agent).cancel)

    async def _cast_etcd(self, stack: contextlib.AsyncExitStack) -> etcd_operator.EtcdOperator:
        if self._real_etcd is None:
            return await self._cast_one(stack, etcd_operator.EtcdOperator)
        api = await stack.enter_async_context(
            client.Client(self._access, etcd_operator.EtcdOperator.agent, strict=True)
        )
        return real_etcd_operator.RealEtcdOperator(api, self._pace, self._real_etcd, absent=self._absent)

    async def _cast_one(self, stack: contextlib.AsyncExitStack, actor_class: type[_Actor]) -> _Actor:
        plays = cast("type[_Actor]", self._instead.get(actor_class, actor_class))
        api = await stack.enter_async_context(client.Client(self._access, plays.agent, strict=True))
        return plays(api, self._pace, self._troubles, self._absent)


async def _not_served(api: client.Client) -> tuple[kinds.Kind, ...]:
    """Return the kinds that are gone with a capability, or came with no site."""
    absent: list[kinds.Kind] = []
    for of_capability in (*install.OF_CAPABILITIES.values(), (kinds.CSV,)):
        with client.allowing(404):
            await api.list(of_capability[0])
            continue
        absent += of_capability
    return tuple(absent)
