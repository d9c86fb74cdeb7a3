"""The console operator: every write of Infrastructure `cluster`, whatever it says, restarts the pods of the console.

It puts the resourceVersion of Infrastructure into Deployment console and its pod template: console-operator
pkg/console/subresource/deployment/deployment.go `withConsoleAnnotations` and `withStrategy` (release-4.20 to 4.22).
Until all pods are new, ClusterOperator console has Progressing=True: pkg/console/operator/sync_v400.go (release-4.20,
4.21; release-4.22 has it only until the generation is observed). Deployment downloads follows the topology and is never
progress: pkg/console/controllers/downloadsdeployment/controller.go (release-4.20 to 4.22). Really a restart of two pods
takes 45 to 65 s.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from topology_simulator import conditions, kinds, operands

from . import workloads

ANNOTATION = "console.openshift.io/infrastructure-config-version"


@dataclass(slots=True)
class _Pods:
    """Ready pods of one Deployment: of its present template, and of those before."""

    uid: str
    template: str
    new: int
    old: int = 0


class Console(workloads.Workloads):
    """Keeps the console's two Deployments."""

    agent = "console-operator"
    operators: ClassVar = frozenset({workloads.CONSOLE})
    reason: ClassVar = "SyncLoopRefresh_InProgress"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._installed = ""
        self._pods: _Pods | None = None

    async def step(self) -> None:
        """Do what all do; what stands when the cluster is installed is what a console without annotation has seen."""
        self._installed = self._installed or self._version()
        await super().step()

    def _version(self) -> str:
        infrastructure = self.mirror.get(kinds.INFRASTRUCTURES, "cluster")
        return str(infrastructure["metadata"]["resourceVersion"]) if infrastructure else ""

    def _change(self, workload: operands.Workload, obj: dict[str, Any], wanted: int) -> dict[str, Any]:
        change = super()._change(workload, obj, wanted)
        version = self._version()
        if not _restarts(workload) or (_carried(obj) or self._installed) == version:
            return change
        marked = {"metadata": {"annotations": {ANNOTATION: version}}}
        return {**marked, "spec": {"replicas": wanted, "template": marked}}

    async def _run(self, workload: operands.Workload, obj: dict[str, Any]) -> None:
        if not _restarts(workload):
            await super()._run(workload, obj)
            return
        generation, lag = obj["metadata"]["generation"], ("observe", workload.key)
        if _observed(obj) < generation and not self.waits.over(lag, self.pace.observe):
            return
        replicas = int(obj["spec"]["replicas"])
        pods = self._replaced(workload, obj, replicas)
        status = {
            "observedGeneration": generation,
            "replicas": replicas + pods.old,
            "updatedReplicas": replicas,
            "readyReplicas": pods.new + pods.old,
            "availableReplicas": pods.new + pods.old,
            "unavailableReplicas": replicas - pods.new,
        }
        await self.say(workload.kind, obj, (), **status)

    def _replaced(self, workload: operands.Workload, obj: dict[str, Any], replicas: int) -> _Pods:
        """Take the replacement of the pods as far as it is now."""
        timer = ("replica", workload.key)
        uid, template = obj["metadata"]["uid"], _carried(obj["spec"]["template"])
        if self._pods is None or self._pods.uid != uid:
            self._pods = _Pods(uid, template, int((obj.get("status") or {}).get("readyReplicas") or 0))
        pods = self._pods
        if pods.template != template:
            pods.template, pods.old, pods.new = template, pods.old + pods.new, 0
            self.waits.clear(timer)
        places = sum(conditions.is_true(node, "Ready") for node in self.mirror.all(kinds.NODES))
        pods.new = self.risen(timer, pods.new, min(places, replicas), self.pace.replica)
        # One may be missing where there are several: the others of before stay until they are not needed for that.
        pods.old = max(0, min(pods.old, places - pods.new, max(1, replicas - 1) - pods.new))
        return pods

    def _underway(self, group: list[operands.Workload]) -> list[str]:
        console = next(workload for workload in group if _restarts(workload))
        obj = self.mirror.get(console.kind, console.name, console.namespace)
        if obj is None:
            return []
        status = obj.get("status") or {}
        level = _observed(obj) >= obj["metadata"]["generation"]
        renewed = status.get("updatedReplicas") == status.get("replicas")
        return [] if level and renewed and status.get("availableReplicas") else [console.name]


def _restarts(workload: operands.Workload) -> bool:
    return workload.name == workloads.CONSOLE


def _carried(obj: dict[str, Any]) -> str:
    """Return the resourceVersion that a Deployment or a pod template carries, or an empty string."""
    return str(((obj.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION) or "")


def _observed(obj: dict[str, Any]) -> int:
    return int((obj.get("status") or {}).get("observedGeneration") or 0)
