"""The hub of a fleet: a real API server, placement, the work manager, and what a registration would have made.

ManagedClusters, their namespaces, labels and taints, and the rights of each work agent in its own namespace are made
here by hand. Placement and work manager are administrators.
"""

import contextlib
import pathlib
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from .. import binaries, conditions, install, kinds
from ..envtest import server
from . import engines, pack, verdict

_GROUP = "system:open-cluster-management"
_AGENT_ROLE = "fleet-work-agent"
_UNREACHABLE = "cluster.open-cluster-management.io/unreachable"


class Hub(engines.Site):
    """A hub that knows these clusters; use it as an async context manager. The last cluster is the canary.

    Its logs are copied to `folder` when it closes.
    """

    def __init__(self, clusters: Sequence[str], folder: pathlib.Path) -> None:
        agents = {
            name: server.User(f"{_GROUP}:{name}:agent", (f"{_GROUP}:{name}", f"{_GROUP}:managed-clusters"))
            for name in clusters
        }
        super().__init__(server.RealServer(agents), folder)
        self.clusters = tuple(clusters)

    async def apply(self, objects: Sequence[dict[str, Any]]) -> None:
        """Create objects; a ManifestWorkReplicaSet that is there already is given the new spec. Raises ClientError."""
        for obj in objects:
            kind, meta = kinds.any_kind(obj), obj["metadata"]
            present = await self.api.find(kind, meta["name"], meta.get("namespace", ""))
            if present is None:
                await self.api.create(kind, obj)
            else:
                await self.api.put(kind, {**present, "spec": obj["spec"]})

    async def run(self, arguments: Sequence[str]) -> None:
        """Run kubectl with these arguments, as its administrator. Raises verdict.StoryFailedError with what it says."""
        kubectl = str(binaries.folder() / "kubectl")
        code, output, errors = await binaries.ran(kubectl, f"--kubeconfig={self._administrator()}", *arguments)
        if code:
            raise verdict.StoryFailedError(f"{shlex.join(['kubectl', *arguments])}: exit {code}, {output}{errors}")

    async def surveyed(self) -> tuple[int, str]:
        """Return what `oc topology fleet` ends with and prints here."""
        command = (sys.executable, "-m", "kubectl_topology", "fleet")
        code, output, errors = await binaries.ran(*command, f"--kubeconfig={self._administrator()}")
        return code, output + errors

    async def replica_set(self) -> dict[str, Any]:
        """Return the ManifestWorkReplicaSet of the roll-out. Raises ClientError."""
        return await self.api.get(pack.REPLICA_SETS, pack.NAME, pack.NAMESPACE)

    async def works(self) -> dict[str, dict[str, Any]]:
        """Return the ManifestWorks of the roll-out by cluster. Raises ClientError."""
        listed = await self.api.list(pack.WORKS)
        return {work["metadata"]["namespace"]: work for work in listed if work["metadata"]["name"] == pack.NAME}

    async def report(self, cluster: str, *, reachable: bool) -> None:
        """Say what a registration says of a cluster whose lease is, or is no longer, renewed. Raises ClientError."""
        taints = [] if reachable else [{"key": _UNREACHABLE, "effect": "NoSelect", "timeAdded": conditions.now()}]
        await self.api.patch(pack.MANAGED_CLUSTERS, cluster, {"spec": {"taints": taints}})
        await self.api.patch_status(pack.MANAGED_CLUSTERS, cluster, {"conditions": _states(reachable=reachable)})

    async def label(self, cluster: str, wave: str | None) -> None:
        """Put a cluster into a wave, or out of the roll-out. Raises ClientError."""
        await self.api.patch(pack.MANAGED_CLUSTERS, cluster, {"metadata": {"labels": {pack.WAVE: wave}}})

    async def stop(self) -> None:
        """Kill API server, placement and work manager. Raises KeepingError, RealServerError."""
        for name in (engines.PLACEMENT, engines.MANAGER):
            await self.engines.end(name)
        await self.server.stop_api()

    async def start(self) -> None:
        """Start them again. Raises KeepingError, RealServerError."""
        await self.server.start_api()
        for name in (engines.PLACEMENT, engines.MANAGER):
            await self.engines.start_again(name)

    def _administrator(self) -> pathlib.Path:
        return self.engines.kubeconfig("administrator", self.server.kubeconfig())

    async def _furnish(self, parts: contextlib.AsyncExitStack) -> None:  # noqa: ARG002 - nothing else is opened
        await install.define(self.api, engines.definitions())
        await pack.create(self.api, pack.RIGHTS["hub"])
        for name in self.clusters:
            await pack.create(self.api, _registered(name, wave=0 if name == self.clusters[-1] else 1))
            await self.api.patch_status(pack.MANAGED_CLUSTERS, name, {"conditions": _states(reachable=True)})
        place = self.engines.kubeconfig("hub", self.server.kubeconfig())
        for name in (engines.PLACEMENT, engines.MANAGER):
            await self.engines.run(name, site=place)


def _registered(cluster: str, *, wave: int) -> list[dict[str, Any]]:
    managed = pack.MANAGED_CLUSTERS.new(cluster, spec={"hubAcceptsClient": True, "leaseDurationSeconds": 60})
    managed["metadata"]["labels"] = {pack.WAVE: str(wave)}
    group = {"kind": "Group", "apiGroup": pack.RBAC, "name": f"{_GROUP}:{cluster}"}
    return [kinds.NAMESPACES.new(cluster), managed, pack.binding(_AGENT_ROLE, group, namespace=cluster)]


def _states(*, reachable: bool) -> list[dict[str, Any]]:
    return conditions.written(conditions.stated("registered", "reachable" if reachable else "unreachable"))
