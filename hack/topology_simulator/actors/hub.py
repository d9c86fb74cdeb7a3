"""All actors of a cluster, as one thing that is started and stopped.

Each has a client and a user agent of its own, so that audit logs and managedFields tell them apart. They run in one
task group: an actor that dies of a fault of ours takes the others with it instead of leaving a cluster in which nothing
moves. Whatever follows the topology can be kept from it: `hold` an operator until `release`.
"""

import asyncio
import contextlib
import pathlib
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import yaml

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
TROUBLES: dict[str, Any] = yaml.safe_load(pathlib.Path(__file__).parents[1].joinpath("troubles.yaml").read_text())
ORDERS: dict[str, tuple[str, bool, str]] = {
    word: (trouble["of"], begins, trouble.get("says" if begins else "then", ""))
    for beginning, trouble in TROUBLES.items()
    for word, begins in ((beginning, True), (trouble["ends"], False))
}
"""Words of scenarios: a trouble (`actor.Troubles`), whether it begins, and what is said then."""
_FOLLOWERS: tuple[type[actor.Actor], ...] = (
    machine_config.MachineConfig, workloads.Ingress, static_pods.StaticPods, workloads.Workloads, console.Console,
    workloads.OperatorPods, native.NativeController,
)  # fmt: skip


class Actors(opened.Opened):
    """Every actor; use it as an async context manager.

    `real_etcd` is a cluster whose first member runs, for the etcd operator to drive; without it, it pretends.
    `release` is the version operator's, with its delays. `instead` has what plays another part than an actor of ours.
    """

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

    @property
    def updating(self) -> bool:
        """Whether an update is held: it goes on until it is to end."""
        return bool(self._troubles.upgrades)

    def order(self, word: str, name: str) -> None:
        """Begin or end a trouble, by the word of a scenario. Raises LookupError for an operator that never reacts."""
        trouble, begins, _ = ORDERS[word]
        if trouble == "held" and name not in FOLLOWING:
            raise LookupError(f"{name!r} is none of {', '.join(sorted(FOLLOWING))}")
        names: set[str] = getattr(self._troubles, trouble)
        # There is one ClusterVersion, whatever the step says.
        name = "version" if trouble == "upgrades" else name
        change = names.add if begins else names.discard
        change(name)
        for member in self._cast:
            member.mirror.wake()

    async def _open(self, parts: contextlib.AsyncExitStack) -> None:
        kubelet = await self._cast_one(parts, kubelets.Kubelets)
        self._absent = await _not_served(kubelet.api)
        if self._real_etcd is None:
            etcd = await self._cast_one(parts, etcd_operator.EtcdOperator)
        else:
            etcd = real = await self._cast_one(parts, real_etcd_operator.RealEtcdOperator)
            real.etcd = self._real_etcd
        speaker = await self._cast_one(parts, version.Version)
        speaker.release = self._release
        self._cast = [kubelet, etcd, speaker]
        for follower in _FOLLOWERS:
            self._cast.append(await self._cast_one(parts, follower))
        if kinds.MACHINES not in self._absent:
            for below in (bare_metal.BareMetalOperator, machine_controller.MachineController):
                self._cast.append(await self._cast_one(parts, below))
        # The body's error is kept from the task group: it would come out wrapped, and callers look for it.
        group = await parts.enter_async_context(asyncio.TaskGroup())
        for member in self._cast:
            parts.callback(group.create_task(member.run(), name=member.agent).cancel)

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
