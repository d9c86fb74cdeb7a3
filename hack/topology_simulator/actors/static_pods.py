"""The operators of static pods: a revision on every control-plane node, one node at a time, and budgets for the guards.

The kube-apiserver's configuration is another one on a single node, so its operator makes a new revision when the
topology says something else, and a second one a while later: always two. Each of its pods is installed when the last
one has been ready for a while; meanwhile its ClusterOperator says Progressing=False before the first, and True later.
Guards and their PodDisruptionBudgets exist on several nodes only, with minAvailable one less than there are nodes. What
goes there and back while that operator is held it never observes. Sources: cluster-kube-apiserver-operator
pkg/operator/configobservation/apiserver, library-go pkg/operator/staticpod/controller/installer/
installer_controller.go, timeToWaitBeforeInstallingNextPod (release-4.22), and what the real ones did in the lab.
"""

from typing import Any, ClassVar

from topology_simulator import conditions, kinds, operands

from . import actor

_QUIET = "quiet"


class StaticPods(actor.Actor):
    """Installs static pods and keeps budgets."""

    agent = "static-pod-operators"
    watched = (
        kinds.INFRASTRUCTURES, kinds.NODES, kinds.CLUSTER_OPERATORS, kinds.DISRUPTION_BUDGETS,
        *(pods.kind for pods in operands.STATIC_PODS),
    )  # fmt: skip
    installed: ClassVar = operands.STATIC_PODS

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._second: set[str] = set()
        self._ready: set[str] = set()

    async def step(self) -> None:
        """Make revisions, install them, keep budgets, report."""
        if not self.topology:
            return
        masters = {node["metadata"]["name"]: node for node in self.nodes_with("master")}
        ready = {name for name, node in masters.items() if conditions.is_true(node, "Ready")}
        if ready - self._ready:
            self.waits.start(_QUIET, self.pace.quiet_pods)
        self._ready = ready
        for pods in self.installed:
            if self.mirror.get(pods.kind, "cluster") is None:
                continue
            held = self.troubles.holds(pods.operator)
            if pods.differs and not held:
                await self._revise(pods)
            await self._install(pods, masters)
            if not held:
                await self._guard(pods, len(masters))

    async def _revise(self, pods: operands.StaticPods) -> None:
        obj = self.mirror.get(pods.kind, "cluster") or {}
        wanted = operands.observed_config(single=self.single)
        timer, second = ("revise", pods.operator, self.single), ("second", pods.operator)
        latest = {"status": {"latestAvailableRevision": int(obj["status"]["latestAvailableRevision"]) + 1}}
        if obj["spec"].get("observedConfig") == wanted:
            self.waits.clear(timer)
            if pods.operator in self._second and self.waits.due(second, self.pace.second_revision):
                self._second.discard(pods.operator)
                await self.patch(pods.kind, obj, latest, "status")
        elif self.waits.due(timer, self.pace.react):
            await self.patch(pods.kind, obj, latest, "status")
            await self.patch(pods.kind, obj, {"spec": {"observedConfig": wanted}})
            self._second.add(pods.operator)
            self.waits.start(second, self.pace.second_revision)

    async def _install(self, pods: operands.StaticPods, masters: dict[str, dict[str, Any]]) -> None:
        obj = self.mirror.get(pods.kind, "cluster") or {}
        latest = int(obj["status"]["latestAvailableRevision"])
        present = await self._listed(pods, masters)
        obj = self.mirror.get(pods.kind, "cluster") or {}
        nodes = {name: present[name] for name in sorted(masters)}
        old = [name for name, each in nodes.items() if each.get("currentRevision") != latest or _target(each)]
        # A node that has begun goes on, also after it was away.
        old.sort(key=lambda name: not _target(nodes[name]))
        if old:
            name = old[0]
            ready = conditions.is_true(masters[name], "Ready")
            nodes[name] = self._advance(pods, nodes[name], latest, ready=ready)
        wanted = list(nodes.values())
        if list(present.values()) != wanted or obj["status"].get("observedGeneration") != obj["metadata"]["generation"]:
            change = {"nodeStatuses": wanted, "observedGeneration": obj["metadata"]["generation"]}
            await self.patch(pods.kind, obj, {"status": change}, "status")
        if pods.kind is not kinds.ETCDS:
            # It says nothing new while it waits: Progressing=False is no sign that the newest is everywhere.
            old = [each["nodeName"] for each in wanted if each.get("currentRevision") != latest]
            if not (pods.differs and old) or any(_target(each) for each in wanted):
                await self._tell(pods, old)

    async def _listed(self, pods: operands.StaticPods, masters: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the status of every node; a new one is listed before it has a revision, as the definition asks."""
        obj = self.mirror.get(pods.kind, "cluster") or {}
        present: list[dict[str, Any]] = obj["status"].get("nodeStatuses") or []
        names = {each["nodeName"] for each in present}
        if fresh := [{"nodeName": name} for name in sorted(masters) if name not in names]:
            present = [*present, *fresh]
            await self.patch(pods.kind, obj, {"status": {"nodeStatuses": present}}, "status")
        return {each["nodeName"]: each for each in present}

    def _advance(
        self, pods: operands.StaticPods, status: dict[str, Any], latest: int, *, ready: bool
    ) -> dict[str, Any]:
        timer = ("install", pods.operator, status["nodeName"])
        if _target(status) != latest:
            if pods.differs and not self.waits.due(_QUIET, self.pace.quiet_pods):
                return status
            self.waits.start(timer, self.pace.static_pod)
            return {**status, "targetRevision": latest}
        if not ready:
            self.waits.clear(timer)
            return status
        if not self.waits.due(timer, self.pace.static_pod):
            return status
        if pods.differs:
            self.waits.start(_QUIET, self.pace.quiet_pods)
        return {**status, "currentRevision": latest, "targetRevision": 0}

    async def _tell(self, pods: operands.StaticPods, old: list[str]) -> None:
        what = f"{', '.join(old)} {'is' if len(old) == 1 else 'are'} at an old revision"
        states = conditions.stated("installer at work" if old else "installer at rest", what=what)
        await self.say_operator(pods.operator, *states)

    async def _guard(self, pods: operands.StaticPods, masters: int) -> None:
        obj = self.mirror.get(kinds.DISRUPTION_BUDGETS, pods.budget, pods.namespace)
        wanted = operands.budget(pods, masters)
        if self.single:
            if obj is not None:
                await self.api.delete(kinds.DISRUPTION_BUDGETS, pods.budget, pods.namespace)
        elif obj is None:
            if self.waits.over(("guard", pods.operator), self.pace.guard):
                await self.create(kinds.DISRUPTION_BUDGETS, wanted)
        elif obj["spec"].get("minAvailable") != wanted["spec"]["minAvailable"]:
            change = {"spec": {"minAvailable": wanted["spec"]["minAvailable"]}}
            await self.patch(kinds.DISRUPTION_BUDGETS, obj, change)


def _target(status: dict[str, Any]) -> int:
    return int(status.get("targetRevision") or 0)
