"""OpenShift's own controller of topologies, as far as others see it: it plays what the real one was seen to do.

Seen: openshift/cluster-config-operator PR 495, head 3c62e476, on a real kube-apiserver beside this operator. It knows
one transition, and

* works while its gate is on for the version that runs. When that changes its process exits, and keeps its Lease: the
  next one begins once that has expired. Its conditions stay on configs.operator.openshift.io/cluster, and with them
  Progressing and Upgradeable of ClusterOperator `config-operator`;
* wants every other ClusterOperator Available, not Progressing, not Degraded, ours too, says what is unmet in its
  condition Progressing only, and forgets that when a request is cancelled;
* writes the topology as a typed PUT of status, which drops our record and leaves a request, and says Complete after a
  pause (`pace.native`), whether anything has followed or not.
"""

from collections.abc import Iterator
from typing import Any

from topology_simulator import cluster, conditions, kinds, operands

from . import actor

GATE = "MutableTopology"
CLUSTER_OPERATOR = "config-operator"
_PREFIX = "TopologyTransitionController"
_IN_PROGRESS, _COMPLETE, _IDLE = "TopologyTransitionInProgress", "TopologyTransitionComplete", "AsExpected"
_WANTED_NODES = 3
_STABLE = (("Available", "True"), ("Progressing", "False"), ("Degraded", "False"))
_UPGRADEABLE: dict[str, str] = kinds.ACCOUNT["native"]


class NativeController(actor.Actor):
    """Changes the topology while its gate is on."""

    agent = "cluster-config-operator"
    watched = (kinds.FEATURE_GATES, kinds.CLUSTER_VERSIONS, kinds.CONFIGS, kinds.INFRASTRUCTURES, kinds.NODES,
               kinds.CONFIG_MAPS, kinds.CLUSTER_OPERATORS)  # fmt: skip

    _gate: bool | None = None
    """As the running process has read it at its start; None before the first."""
    _starts = 0

    async def step(self) -> None:
        """Be there, or be away; where the gate is on, look at the request and change the topology once."""
        version = ((self.mirror.get(kinds.CLUSTER_VERSIONS, "version") or {}).get("status") or {}).get("desired") or {}
        gates = ((self.mirror.get(kinds.FEATURE_GATES, "cluster") or {}).get("status") or {}).get("featureGates") or []
        enabled = (details.get("enabled") or [] for details in gates if details["version"] == version.get("version"))
        on = any(gate["name"] == GATE for each in enabled for gate in each)
        if self.topology in {"", "External"}:
            return
        if self._gate is not None and self._gate is not on:
            self._gate = None
            self.waits.start("away", self.pace.native_away)
        if self._gate is None:
            if self._starts and not self.waits.due("away", self.pace.native_away):
                return
            self._gate, self._starts = on, self._starts + 1
            self.waits.start("lease", 0.0)
        if self.waits.every("lease", self.pace.lease_renew):
            spec = operands.lease_spec(f"config-operator-{self._starts}", self._starts, single=self.single)
            await self.api.patch(kinds.LEASES, cluster.NATIVE_LEASE, {"spec": spec}, cluster.NATIVE_NAMESPACE)
        try:
            if on:
                await self._control()
        finally:
            # Another controller of the same process: it says also what has been refused since.
            config = self.mirror.get(kinds.CONFIGS, "cluster")
            united = (_united(config, kind, well) for kind, well in (("Progressing", "False"), ("Upgradeable", "True")))
            await self.say_operator(CLUSTER_OPERATOR, *united)

    async def _control(self) -> None:
        config = self.mirror.get(kinds.CONFIGS, "cluster")
        infrastructure = self.mirror.get(kinds.INFRASTRUCTURES, "cluster")
        if config is None or infrastructure is None:
            return
        desired = (infrastructure.get("spec") or {}).get("controlPlaneTopology")
        if desired in (None, self.topology):
            await self._idle(config)
        elif (self.topology, desired) != ("SingleReplica", "HighlyAvailable"):
            here = f"{{controlPlane={self.topology}, infrastructure={self.topology}, platform=None}}"
            why = f"transition from {here} to {{controlPlane={desired}}} is not supported"
            await self._say(config, "UnsupportedTransition", why)
        elif unmet := [f"transition validation failed: {each}" for each in self._unmet()]:
            await self._say(config, "PreflightCheckFailed", "\n".join(unmet))
        else:
            moving = f"Transitioning control plane topology from {self.topology} to {desired}"
            await self._say(config, _IN_PROGRESS, moving)
            await self._change(desired)

    async def _change(self, desired: str) -> None:
        live = await self.api.get(kinds.INFRASTRUCTURES, "cluster")
        if live["spec"].get("controlPlaneTopology") != desired:
            return
        status = {name: value for name, value in live["status"].items() if name != "topologyTransition"}
        topology = {"controlPlaneTopology": desired, "infrastructureTopology": desired}
        done = await self.api.put(kinds.INFRASTRUCTURES, {**live, "status": {**status, **topology}}, "status")
        self.mirror.keep(kinds.INFRASTRUCTURES, done)

    async def _idle(self, config: dict[str, Any]) -> None:
        if conditions.find(config, _PREFIX + "Upgradeable").get("reason") == _IN_PROGRESS:
            if self.waits.over("soak", self.pace.native):
                await self._say(config, _COMPLETE, "Topology transition reconciliation complete")
        elif conditions.find(config, _PREFIX + "Upgradeable").get("reason") != _COMPLETE:
            states = [_condition("Upgradeable", "True", _IDLE, _UPGRADEABLE[_IDLE]), _condition("Degraded", "False")]
            await self.say(kinds.CONFIGS, config, states)

    def _unmet(self) -> Iterator[str]:
        operators = {item["metadata"]["name"]: [*_unrest(item)] for item in self.mirror.all(kinds.CLUSTER_OPERATORS)}
        unstable = [
            f"{name}: {', '.join(wrong)}" for name, wrong in operators.items() if wrong and name != CLUSTER_OPERATOR
        ]
        if unstable:
            yield f"cluster operators are not stable: {'; '.join(unstable)}"
        ready = sum(conditions.is_true(node, "Ready") for node in self.nodes_with("master"))
        if ready < _WANTED_NODES:
            yield f"insufficient ready control plane nodes: need {_WANTED_NODES}, have {ready}"
        endpoints = self.mirror.get(kinds.CONFIG_MAPS, cluster.ETCD_ENDPOINTS, cluster.ETCD_NAMESPACE) or {}
        voters = len(endpoints.get("data") or {})
        if voters < _WANTED_NODES:
            yield f"insufficient etcd voting members: need {_WANTED_NODES}, have {voters}"

    async def _say(self, config: dict[str, Any], reason: str, message: str) -> None:
        fine, moving = reason == _COMPLETE, reason == _IN_PROGRESS
        about = _UPGRADEABLE[reason].format(source=self.topology, target="HighlyAvailable")
        states = [
            _condition("Progressing", "True" if moving else "False", reason, message),
            _condition("Upgradeable", "True" if fine else "False", reason, about),
            _condition("Degraded", "False"),
        ]
        await self.say(kinds.CONFIGS, config, states)


def _unrest(operator: dict[str, Any]) -> Iterator[str]:
    for type_, wanted in _STABLE:
        status = conditions.find(operator, type_).get("status")
        if status is None:
            yield f"{type_} condition missing"
        elif status != wanted:
            yield f"{type_}={status}"


def _condition(kind: str, status: str, reason: str = _IDLE, message: str = "") -> conditions.Condition:
    return conditions.Condition(_PREFIX + kind, status, reason, message)


def _united(config: dict[str, Any] | None, kind: str, well: str) -> conditions.Condition:
    """The condition of the ClusterOperator: not well where that of the controller is not."""
    of_controller = conditions.find(config, _PREFIX + kind)
    if of_controller.get("status", well) == well:
        return conditions.Condition(kind, well, message="All is well")
    reason, message = f"{_PREFIX}_{of_controller['reason']}", f"{_PREFIX}{kind}: {of_controller['message']}"
    return conditions.Condition(kind, of_controller["status"], reason, message)
