"""Puts a cluster back to what it was: what a story has changed, added or taken away, and nothing else.

A new cluster for every story takes seconds; most stories end before the topology moves and leave next to nothing to be
put back. Objects are made anew rather than written back, because an Infrastructure on its way refuses that.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from topology_simulator import client as clients
from topology_simulator import install, kinds

if TYPE_CHECKING:
    from collections.abc import Iterable

_USED_UP = (
    kinds.INFRASTRUCTURES,
    kinds.CLUSTER_OPERATORS,
    kinds.CLUSTER_VERSIONS,
    kinds.SCHEDULERS,
    kinds.FEATURE_GATES,
    kinds.CONFIGS,
    kinds.NODES,
    kinds.ETCDS,
    kinds.KUBE_API_SERVERS,
    kinds.KUBE_CONTROLLER_MANAGERS,
    kinds.KUBE_SCHEDULERS,
    kinds.CONSOLES,
    kinds.REGISTRIES,
    kinds.INGRESS_CONTROLLERS,
    kinds.MACHINE_CONFIG_POOLS,
    kinds.MACHINE_CONFIGS,
    kinds.CONTROLLER_CONFIGS,
    kinds.DEPLOYMENTS,
    kinds.STATEFUL_SETS,
    kinds.DISRUPTION_BUDGETS,
    kinds.PODS,
)
"""What a transition, or a story, leaves other than it was."""
_SERVERS = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink")
_AT_ONCE = 8
_Key = tuple[str, str]


class Memory:
    """What a cluster was like. `ours` are names that are nobody's business here, such as our own ClusterOperator."""

    def __init__(self, ours: Iterable[str] = ()) -> None:
        self._ours = frozenset(ours)
        self._kept: dict[kinds.Kind, dict[_Key, dict[str, Any]]] = {}

    @property
    def is_empty(self) -> bool:
        """Has nothing been remembered yet?"""
        return not self._kept

    async def remember(self, api: clients.Client) -> None:
        """Keep the cluster as it is now."""
        found = await asyncio.gather(*(self._there(api, kind) for kind in _USED_UP))
        self._kept = dict(zip(_USED_UP, found, strict=True))

    async def put_back(self, api: clients.Client) -> None:
        """Make the cluster what it was."""
        free = asyncio.Semaphore(_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            for kind in _USED_UP:
                group.create_task(self._put_back(api, kind, free))

    async def _put_back(self, api: clients.Client, kind: kinds.Kind, free: asyncio.Semaphore) -> None:
        there, kept = await self._there(api, kind), self._kept[kind]
        async with asyncio.TaskGroup() as group:
            for key in {*there, *kept}:
                before, now = kept.get(key), there.get(key)
                if before is None or now is None or _said(before) != _said(now):
                    group.create_task(_replace(api, kind, key, before, free))

    async def _there(self, api: clients.Client, kind: kinds.Kind) -> dict[_Key, dict[str, Any]]:
        listed = await api.list(kind)
        keyed = {(one["metadata"].get("namespace", ""), one["metadata"]["name"]): one for one in listed}
        return {key: one for key, one in keyed.items() if key[1] not in self._ours}


async def forget(api: clients.Client, kind: kinds.Kind, name: str, namespace: str = "") -> None:
    """Delete an object; none is as well."""
    try:
        await api.delete(kind, name, namespace)
    except clients.ApiError as error:
        if error.code != 404:
            raise


def _said(obj: dict[str, Any]) -> dict[str, Any]:
    """What somebody has written into an object, as opposed to the server."""
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key not in _SERVERS}}


async def _replace(
    api: clients.Client, kind: kinds.Kind, key: _Key, before: dict[str, Any] | None, free: asyncio.Semaphore
) -> None:
    namespace, name = key
    async with free:
        await forget(api, kind, name, namespace)
        if before is None:
            return
        given = _said(before)
        status = given.pop("status", None)
        made = await api.create(kind, given)
        if kind is kinds.NODES:
            # The API server taints every new node.
            await api.patch(kind, name, {"spec": {"taints": given["spec"].get("taints")}})
        if status:
            if status.get("observedGeneration") == before["metadata"].get("generation"):
                status = {**status, "observedGeneration": made["metadata"].get("generation")}
            # The server may have written to it since.
            made = await api.get(kind, name, namespace)
            await install.put_status(api, kind, {**made, "status": status})
