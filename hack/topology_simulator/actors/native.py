"""OpenShift's own controller of topologies, as far as others see it: conditions, and the move of both fields.

It works while its feature gate is on for the version that runs, reads `spec.controlPlaneTopology` and leaves conditions
on configs.operator.openshift.io/cluster, which stay there when the gate goes off: conditions outlive their author. It
knows one transition, looks at less than it should before it moves the topology, and calls it complete after a pause.
It does not know of other controllers that change topologies; they must stand down by themselves.
"""

from __future__ import annotations

from typing import Any

from topology_simulator import cluster, conditions, kinds

from . import actor

GATE = "MutableTopology"
_PREFIX = "TopologyTransitionController"
_IN_PROGRESS, _COMPLETE = "TopologyTransitionInProgress", "TopologyTransitionComplete"
_WANTED_NODES = 3


class NativeController(actor.Actor):
    """Moves the topology while its gate is on."""

    agent = "cluster-config-operator"
    watched = (kinds.FEATURE_GATES, kinds.CLUSTER_VERSIONS, kinds.CONFIGS, kinds.INFRASTRUCTURES, kinds.NODES,
               kinds.CONFIG_MAPS)  # fmt: skip

    async def step(self) -> None:
        """Look at the request and say where it stands; move the topology once."""
        config = self.mirror.get(kinds.CONFIGS, "cluster")
        infrastructure = self.mirror.get(kinds.INFRASTRUCTURES, "cluster")
        if config is None or infrastructure is None or not self._switched_on():
            return
        desired = (infrastructure.get("spec") or {}).get("controlPlaneTopology")
        under_way = conditions.of(config, _PREFIX + "Upgradeable").get("reason") == _IN_PROGRESS
        if desired in (None, self.topology):
            await self._idle(config, desired, under_way=under_way)
        elif (self.topology, desired) != ("SingleReplica", "HighlyAvailable"):
            await self._say(config, "UnsupportedTransition", f"no transition leads from {self.topology} to {desired}")
        elif blocked := self._blocked():
            await self._say(config, "PreflightCheckFailed", blocked)
        else:
            await self._say(config, _IN_PROGRESS, f"moving to {desired}")
            topology = {"controlPlaneTopology": desired, "infrastructureTopology": desired}
            await self.patch(kinds.INFRASTRUCTURES, infrastructure, {"status": topology}, "status")

    async def _idle(self, config: dict[str, Any], desired: str | None, *, under_way: bool) -> None:
        if under_way:
            if self.waits.due("soak", self.pace.native):
                self.waits.clear("soak")
                await self._say(config, _COMPLETE, f"the cluster is {desired}")
        elif conditions.of(config, _PREFIX + "Upgradeable").get("reason") != _COMPLETE:
            await self._say(config, "AsExpected", "")

    def _switched_on(self) -> bool:
        version = ((self.mirror.get(kinds.CLUSTER_VERSIONS, "version") or {}).get("status") or {}).get("desired") or {}
        gates = ((self.mirror.get(kinds.FEATURE_GATES, "cluster") or {}).get("status") or {}).get("featureGates") or []
        enabled = (details.get("enabled") or [] for details in gates if details["version"] == version.get("version"))
        return any(gate["name"] == GATE for each in enabled for gate in each)

    def _blocked(self) -> str:
        ready = sum(conditions.is_true(node, "Ready") for node in self.nodes_with("master"))
        if ready < _WANTED_NODES:
            return f"{_WANTED_NODES} ready control-plane nodes are needed, {ready} found"
        endpoints = self.mirror.get(kinds.CONFIG_MAPS, cluster.ETCD_ENDPOINTS, cluster.ETCD_NAMESPACE) or {}
        voters = len(endpoints.get("data") or {})
        return "" if voters >= _WANTED_NODES else f"{_WANTED_NODES} voting members are needed, {voters} found"

    async def _say(self, config: dict[str, Any], reason: str, message: str) -> None:
        fine, moving = reason in ("AsExpected", _COMPLETE), reason == _IN_PROGRESS
        states = [
            conditions.Condition(_PREFIX + "Progressing", "True" if moving else "False", reason, message),
            conditions.Condition(_PREFIX + "Upgradeable", "True" if fine else "False", reason, message),
            conditions.Condition(_PREFIX + "Degraded", "False"),
        ]
        await self.say(kinds.CONFIGS, config, states)
