"""The pods of operators that read the topology only at their start, and of those of OLM, and their Leases.

Deleted, a pod comes back as a new one, which takes the Lease over with the times of the topology that it finds, and
keeps them (library-go pkg/config/leaderelection/leaderelection.go and pkg/controller/controllercmd/builder.go,
93ac9206a). The drains after a change, which really start most of them again, leave these where they are.
"""

from __future__ import annotations

from typing import Any

from topology_simulator import conditions, kinds, operands

from . import actor

_RENEWED = 26.0
"""Seconds, at any pace: how long a Lease lasts is no matter of pace either."""


class OperatorPods(actor.Actor):
    """Keeps one pod for each of these operators, which renews its Lease."""

    agent = "replicaset-controller"
    watched = (kinds.INFRASTRUCTURES, kinds.PODS, kinds.NODES, kinds.CSV)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._made = 0

    async def step(self) -> None:
        """Make a pod where there is none, and renew Leases."""
        if not self.nodes_with("master"):
            return
        readers = (*operands.READERS, *operands.optional(self.mirror.all(kinds.CSV)))
        present = {(pod["metadata"]["namespace"], _app(pod)): pod for pod in self.mirror.all(kinds.PODS)}
        for reader in readers:
            timer = ("pod", reader.app)
            if (reader.namespace, reader.app) in present:
                self.waits.clear(timer)
            elif self.waits.due(timer, self.pace.replica):
                self._made += 1
                pod = operands.reader(reader, self._made)
                await self.create(kinds.PODS, pod)
                single = self.topology == "SingleReplica"
                if reader.lease:
                    spec = operands.lease_spec(f"{pod['metadata']['name']}_{self._made}", self._made, single=single)
                    await self.api.patch(kinds.LEASES, reader.lease, {"spec": spec}, reader.namespace)
                if reader.keeps and not single:
                    await self.api.patch(kinds.DEPLOYMENTS, reader.keeps, {"spec": {"replicas": 2}}, reader.namespace)
        if self.waits.due("leases", _RENEWED):
            self.waits.start("leases", _RENEWED)
            for reader in readers:
                if reader.lease and (reader.namespace, reader.app) in present:
                    change = {"spec": {"renewTime": conditions.now_micro()}}
                    await self.api.patch(kinds.LEASES, reader.lease, change, reader.namespace)


def _app(pod: dict[str, Any]) -> str:
    return str((pod["metadata"].get("labels") or {}).get("app", ""))
