"""The pods of the operators that read the topology only at their start: deleted, each comes back as a new one."""

from __future__ import annotations

from typing import Any

from topology_simulator import kinds, operands

from . import actor


class OperatorPods(actor.Actor):
    """Keeps one pod for each of these operators."""

    agent = "replicaset-controller"
    watched = (kinds.PODS, kinds.NODES)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._made = 0

    async def step(self) -> None:
        """Make a pod where there is none."""
        if not self.nodes_with("master"):
            return
        present = {(pod["metadata"]["namespace"], _app(pod)) for pod in self.mirror.all(kinds.PODS)}
        for reader in operands.READERS:
            timer = ("pod", reader.app)
            if (reader.namespace, reader.app) in present:
                self.waits.clear(timer)
            elif self.waits.due(timer, self.pace.replica):
                self._made += 1
                await self.create(kinds.PODS, operands.reader(reader, self._made))


def _app(pod: dict[str, Any]) -> str:
    return str((pod["metadata"].get("labels") or {}).get("app", ""))
