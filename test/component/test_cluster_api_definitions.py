"""`audit --capi` before a real API server: Cluster API's own definitions of two versions, applied as their owners do.

They are those of the Go modules that hack/envtest/capi-*/go.mod name, server-side applied by kubectl under the owners'
names. What is found in which case is said by test/unit/plugin/test_audit.py.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling, processes
from test.component import backend, plugin, test_kubectl
from test.component import world as worlds
from topology_simulator import client as clients
from topology_simulator import kinds
from topology_simulator.envtest import binaries

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import real

CLUSTERS = "clusters.cluster.x-k8s.io"
CLUSTER_APIS = kinds.Kind("operator.openshift.io", "clusterapis", "ClusterAPI", version="v1alpha1")
PLATFORM, HYPERSHIFT = "capi-operator.openshift.io/InstallerController", "hypershift"


def of_module(name: str) -> dict[str, dict[str, Any]]:
    """The definitions of a set by name. Fails with one line where it was not downloaded."""
    try:
        folder = binaries.definitions(name)
    except binaries.MissingError as missing:
        pytest.fail(str(missing), pytrace=False)
    crds = [yaml.load(path.read_text(), yaml.CSafeLoader) for path in sorted(folder.rglob("*.yaml"))]
    return {crd["metadata"]["name"]: crd for crd in crds}


class Hub:
    """A management cluster on the real server, with kubectl in the hands of both owners."""

    def __init__(self, world: worlds.World, command: plugin.Plugin, kubectl: str, folder: pathlib.Path) -> None:
        self.api, self.command = world.api, command
        self._kubectl, self._folder = kubectl, folder
        (folder / "kubeconfig").write_text(yaml.safe_dump(world.server.kubeconfig()))
        self._environment = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig")}
        self._names: set[str] = set()

    async def apply(self, owner: str, *crds: dict[str, Any]) -> None:
        """Apply definitions as this owner, over whatever another one has applied."""
        self._names |= {crd["metadata"]["name"] for crd in crds}
        await self._apply(owner, *crds)
        for crd in crds:
            name = crd["metadata"]["name"]
            await polling.until(f"{name} is served", functools.partial(self._is_served, name))

    async def lists(self, *names: str) -> None:
        """HyperShift lists these definitions in ClusterAPI `cluster`."""
        await self._apply(
            HYPERSHIFT, CLUSTER_APIS.new("cluster", spec={"unmanagedCustomResourceDefinitions": list(names)})
        )

    async def _apply(self, owner: str, *objects: dict[str, Any]) -> None:
        file = self._folder / "applied.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
        flags = ("--server-side", "--force-conflicts", f"--field-manager={owner}", "-f", str(file))
        code, _, complaint = await processes.run(self._kubectl, "apply", *flags, env=self._environment)
        assert code == 0, complaint

    async def _is_served(self, name: str) -> bool:
        kept = await self.api.get(kinds.DEFINITIONS, name)
        states = kept["status"]["conditions"] or ()
        return any(one["type"] == "Established" and one["status"] == "True" for one in states)

    async def close(self) -> None:
        """Take everything away again."""
        with contextlib.suppress(clients.ApiError):
            await self.api.delete(CLUSTER_APIS, "cluster")
        for name in sorted(self._names):
            await self.api.delete(kinds.DEFINITIONS, name)
        for name in sorted(self._names):
            await polling.until(f"{name} is gone", functools.partial(self._is_gone, name))

    async def _is_gone(self, name: str) -> bool:
        return await self.api.find(kinds.DEFINITIONS, name) is None

    async def audit(self) -> tuple[int, list[tuple[str, str]], dict[str, Any]]:
        """Exit code, findings as (name, definition), and the whole answer."""
        code, answer = await self.command.json("audit", "--capi")
        return code, [(found["name"], found["definition"]) for found in answer["findings"]], answer


@pytest.fixture
async def hub(real_server: real.Session, tmp_path: pathlib.Path) -> AsyncIterator[Hub]:
    async with worlds.opened(backend.Place(real_server), tmp_path) as world:
        command = plugin.Plugin(tmp_path, world.server.kubeconfig())
        made = Hub(world, command, test_kubectl.needed(), tmp_path)
        await made.apply("cluster-version-operator", *(
            crd for name, crd in of_module("capi-v1beta2").items() if not name.endswith(".cluster.x-k8s.io")
        ))  # fmt: skip
        try:
            yield made
        finally:
            await made.close()


async def test_two_owners_who_force_their_versions_are_seen_whoever_was_last(hub: Hub) -> None:
    old, new = of_module("capi-v1beta1")[CLUSTERS], of_module("capi-v1beta2")[CLUSTERS]
    await hub.apply(HYPERSHIFT, old)
    assert (await hub.audit())[:2] == (0, [])
    await hub.apply(PLATFORM, new)
    assert (await hub.audit())[:2] == (3, [("CAPITwoOwners", CLUSTERS)])
    # Later ones of HyperShift serve both, and store v1beta1.
    for version in new["spec"]["versions"]:
        version["storage"] = version["name"] == "v1beta1"
    await hub.apply(HYPERSHIFT, new)
    code, found, answer = await hub.audit()
    assert (code, found) == (3, [("CAPITwoOwners", CLUSTERS)])
    having = [one["name"] for one in answer["definitions"][0]["managers"] if "versions" in one["parts"]]
    assert having == [HYPERSHIFT], "a forced apply takes spec.versions away, and the rest is shared"
    await hub.lists(CLUSTERS)
    assert (await hub.audit())[:2] == (0, []), "the platform leaves it alone now"
