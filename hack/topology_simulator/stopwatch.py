"""How long it took from the last operand that came to rest until the operator said Completed.

That is what the operator promises: no more than its settle time and a moment. It is measured from outside, as a user
sees it who watches the API: the moment in which anything that convergence is about was last seen to change (replicas,
revisions, machines, budgets, nodes, operators), and the moment in which the phase was. Heartbeats and resource versions
are no change.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import client, conditions, kinds, operands
from .actors import console

if TYPE_CHECKING:
    from collections.abc import Callable

_RETRY_SECONDS = 0.5
_STATES = ("Available", "Progressing", "Degraded")
_NOTE = "machineconfiguration.openshift.io/controlPlaneTopology"


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds from the last change of an operand to Completed, and what that was."""

    seconds: float
    last: str


class Stopwatch:
    """Watches from `run` until cancelled; `measured` is there once the phase is Completed."""

    def __init__(self, api: client.Client, now: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._now = now
        self._seen: dict[tuple[str, str, str], Any] = {}
        self._last = (0.0, "")
        self.measured: Measured | None = None
        self._kinds: dict[kinds.Kind, Callable[[dict[str, Any]], Any]] = {
            kinds.DEPLOYMENTS: _workload,
            kinds.STATEFUL_SETS: _workload,
            kinds.DISRUPTION_BUDGETS: lambda obj: obj["spec"].get("minAvailable"),
            kinds.INGRESS_CONTROLLERS: lambda obj: _of(obj, "availableReplicas"),
            kinds.MACHINE_CONFIG_POOLS: lambda obj: _of(
                obj, "configuration", "machineCount", "updatedMachineCount", "readyMachineCount", "degradedMachineCount"
            ),
            kinds.CONTROLLER_CONFIGS: _templates,
            kinds.NODES: _node,
            kinds.CLUSTER_OPERATORS: _operator,
            kinds.CONFIG_MAPS: lambda obj: obj["metadata"]["name"] == "etcd-endpoints" and obj.get("data"),
            **{pods.kind: _static_pods for pods in operands.STATIC_PODS},
        }

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for kind in (kinds.INFRASTRUCTURES, *self._kinds):
                group.create_task(self._follow(kind))

    async def _follow(self, kind: kinds.Kind) -> None:
        async for event in self._api.follow(kind, retry_seconds=_RETRY_SECONDS):
            if isinstance(event, client.Listed):
                for obj in event.objects:
                    self._look(kind, obj)
            else:
                self._look(kind, event.obj)

    def _look(self, kind: kinds.Kind, obj: dict[str, Any]) -> None:
        now, meta = self._now(), obj["metadata"]
        if kind is kinds.INFRASTRUCTURES:
            record = (obj.get("status") or {}).get("topologyTransition") or {}
            if record.get("phase") != "Completed":
                self.measured = None
            elif self.measured is None:
                self.measured = Measured(now - self._last[0], self._last[1])
            return
        key, state = (kind.kind, meta.get("namespace", ""), meta["name"]), self._kinds[kind](obj)
        if self._seen.get(key, ()) != state:
            self._seen[key] = state
            self._last = (now, f"{kind.kind} {meta['name']}")


def _of(obj: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple((obj.get("status") or {}).get(name) for name in names)


def _workload(obj: dict[str, Any]) -> Any:
    if console.ANNOTATION in (obj["metadata"].get("annotations") or {}):
        # Every write of Infrastructure restarts its pods, the last one too.
        return obj["spec"].get("replicas")
    return obj["spec"].get("replicas"), _of(obj, "observedGeneration", "updatedReplicas", "readyReplicas")


def _templates(obj: dict[str, Any]) -> Any:
    # Every write of Infrastructure is copied and rendered, the last one too: only a new topology is a change.
    infra = obj["spec"].get("infra") or {}
    return _of(infra, "controlPlaneTopology", "infrastructureTopology")


def _static_pods(obj: dict[str, Any]) -> Any:
    return _of(obj, "latestAvailableRevision", "nodeStatuses")


def _node(obj: dict[str, Any]) -> Any:
    notes = obj["metadata"].get("annotations") or {}
    return conditions.is_true(obj, "Ready"), obj["spec"].get("unschedulable"), notes.get(_NOTE)


def _operator(obj: dict[str, Any]) -> Any:
    # Our own is about the transition, not part of it.
    name = obj["metadata"]["name"]
    return name != "topology" and tuple(_status(conditions.of(obj, type_)) for type_ in _STATES)


def _status(condition: dict[str, Any]) -> Any:
    return "False" if condition.get("reason") == console.Console.reason else condition.get("status")
