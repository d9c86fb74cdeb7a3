"""The operators that read the topology and react to it: each Progressing for a moment, one after the other.

They stand for console, monitoring and the like, whose operands change their replicas. What matters to whoever watches
is the manner: nobody reacts at once, they do not react together, and between two of them the cluster looks calm.
Operators with an actor of their own (etcd, machine-config, ingress) are left alone.
"""

from __future__ import annotations

from typing import Any

from topology_simulator import conditions, kinds

from . import actor

REACTING = ("console", "monitoring", "kube-apiserver", "network", "operator-lifecycle-manager")


class ClusterOperators(actor.Actor):
    """Lets the topology-aware operators react."""

    agent = "topology-aware-operators"
    watched = (kinds.INFRASTRUCTURES, kinds.CLUSTER_OPERATORS)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._known: dict[str, str] = {}

    async def step(self) -> None:
        """Let each operator that has not seen the present topology react when it is its turn."""
        if not self.topology:
            return
        for turn, name in enumerate(REACTING, start=1):
            operator = self.mirror.get(kinds.CLUSTER_OPERATORS, name)
            if operator is None:
                continue
            reacting = conditions.of(operator, "Progressing").get("reason") == "TopologyChanged"
            if self._known.setdefault(name, "" if reacting else self.topology) == self.topology:
                continue
            await self._react(name, turn)

    async def _react(self, name: str, turn: int) -> None:
        topology = self.topology
        if not self.waits.due(("react", name, topology), self.pace.react * turn):
            return
        if not self.waits.due(("settle", name, topology), self.pace.settle):
            message = f"Rolling out for topology {topology}"
            await self.say_operator(name, conditions.Condition("Progressing", "True", "TopologyChanged", message))
            return
        await self.say_operator(name, conditions.Condition("Progressing", "False", message="All is well"))
        self.waits.clear(("react", name, topology), ("settle", name, topology))
        self._known[name] = topology
