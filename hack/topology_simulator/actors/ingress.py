"""The ingress operator: as many routers as the topology says, unless a number is written.

Explicit `spec.replicas` wins over topology: that is how the real operator treats the default controller that it
created itself with `replicas: 1`, and why a grown cluster can keep a single router. On platforms None and
External the default placement is the control plane, so controlPlaneTopology decides, else infrastructureTopology.
A router needs a Ready node of its own.
"""

from __future__ import annotations

from typing import Any

from topology_simulator import cluster, conditions, kinds, operands

from . import actor


class Ingress(actor.Actor):
    """Keeps the default IngressController's replicas."""

    agent = "ingress-operator"
    watched = (kinds.INGRESS_CONTROLLERS, kinds.INFRASTRUCTURES, kinds.NODES, kinds.CLUSTER_OPERATORS)

    async def step(self) -> None:
        """Move one router nearer to what is wanted, and report."""
        router = self.mirror.get(kinds.INGRESS_CONTROLLERS, "default", cluster.INGRESS_NAMESPACE)
        if router is None or self.troubles.holds("ingress"):
            return
        wanted = self._wanted(router)
        ready = sum(conditions.is_true(node, "Ready") for node in self.nodes_with("worker"))
        available = int((router.get("status") or {}).get("availableReplicas") or 0)
        reachable = min(wanted, ready)
        if available == reachable:
            self.waits.clear("router")
        elif available > reachable or self.waits.due("router", self.pace.router):
            self.waits.clear("router")
            available = reachable if available > reachable else available + 1
        moving = available != wanted
        text = f"{available} of {wanted} routers are available"
        progressing = conditions.Condition(
            "Progressing", "True" if moving else "False", "DeploymentRollingOut" if moving else "AsExpected", text
        )
        await self.say(
            kinds.INGRESS_CONTROLLERS,
            router,
            [conditions.Condition("Available", "True" if available else "False", "", text), progressing],
            availableReplicas=available,
            observedGeneration=router["metadata"]["generation"],
        )
        await self.say_operator("ingress", progressing)
        if available != reachable:
            self.waits.due("router", self.pace.router)

    def _wanted(self, router: dict[str, Any]) -> int:
        pinned = (router.get("spec") or {}).get("replicas")
        if pinned is not None:
            return int(pinned)
        return operands.routers((self.mirror.get(kinds.INFRASTRUCTURES, "cluster") or {}).get("status") or {})
