"""`audit --capi` before an API server: Cluster API's own definitions of two versions, applied as their owners do.

On the real server they are the definitions of the Go modules that hack/envtest/capi-*/go.mod name, server-side applied
by kubectl under the owners' names. The embedded server has no server-side apply: there two clients write small ones.
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
from test.component import backend, definitions, plugin, test_kubectl
from test.component import world as worlds
from topology_simulator import client as clients
from topology_simulator import kinds, kubeconfig
from topology_simulator.envtest import binaries

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import real

CLUSTERS = "clusters.cluster.x-k8s.io"
CLUSTER_APIS = kinds.Kind("operator.openshift.io", "clusterapis", "ClusterAPI", version="v1alpha1")
REQUIREMENTS = kinds.Kind(
    "apiextensions.openshift.io", "compatibilityrequirements", "CompatibilityRequirement", version="v1alpha1"
)
PLATFORM, HYPERSHIFT = "capi-operator.openshift.io/InstallerController", "hypershift"
THREE = (CLUSTERS, "machines.cluster.x-k8s.io", "machinesets.cluster.x-k8s.io")


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


async def test_the_deadlock_of_unmanaged_definitions_and_what_ends_it(hub: Hub) -> None:
    assert (await hub.audit())[:2] == (0, []), "no definition is there yet"
    old, new = of_module("capi-v1beta1"), of_module("capi-v1beta2")
    await hub.apply(HYPERSHIFT, *(old[name] for name in THREE))
    await hub.lists(*THREE)
    code, found, answer = await hub.audit()
    assert (code, found) == (3, [("CAPIVersionMissing", name) for name in THREE])
    clusters = answer["definitions"][0]
    assert (clusters["served"], clusters["storage"], clusters["unmanaged"]) == (["v1beta1"], "v1beta1", True)
    assert [(one["name"], one["operation"], one["party"]) for one in clusters["managers"]] == [
        ("hypershift", "Apply", "HyperShift")
    ]
    ended = await hub.command.run("audit", "--capi")
    assert ended.code == plugin.BLOCKED
    assert "CAPIVersionMissing\n  clusters.cluster.x-k8s.io" in ended.printed
    await hub.apply(HYPERSHIFT, *(new[name] for name in THREE))
    code, found, answer = await hub.audit()
    assert (code, found) == (0, [])
    assert answer["definitions"][0]["served"] == ["v1beta1", "v1beta2"]
    assert answer["definitions"][0]["stored"] == ["v1beta1", "v1beta2"], "the server has seen both"


async def test_every_definition_of_both_versions_is_in_order_as_one_owner_brings_it(hub: Hub) -> None:
    for name in ("capi-v1beta1", "capi-v1beta2"):
        every = [crd for each, crd in of_module(name).items() if each.endswith(".cluster.x-k8s.io")]
        await hub.apply(PLATFORM, *every)
        code, found, answer = await hub.audit()
        assert (code, found, answer["verdict"]) == (0, [], "Consistent")
        assert len(answer["definitions"]) == len(every)


async def test_two_owners_who_force_their_versions_are_seen_whoever_was_last(hub: Hub) -> None:
    old, new = of_module("capi-v1beta1")[CLUSTERS], of_module("capi-v1beta2")[CLUSTERS]
    await hub.apply(HYPERSHIFT, old)
    assert (await hub.audit())[:2] == (0, [])
    await hub.apply(PLATFORM, new)
    assert (await hub.audit())[:2] == (3, [("CAPITwoOwners", CLUSTERS)])
    # The old one again is refused: objects may be stored in v1beta2. Later ones of HyperShift store v1beta1 (PR 8594).
    with pytest.raises(AssertionError, match=r"must remain in spec\.versions"):
        await hub.apply(HYPERSHIFT, old)
    for version in new["spec"]["versions"]:
        version["storage"] = version["name"] == "v1beta1"
    await hub.apply(HYPERSHIFT, new)
    code, found, answer = await hub.audit()
    assert (code, found) == (3, [("CAPITwoOwners", CLUSTERS)])
    having = [one["name"] for one in answer["definitions"][0]["managers"] if "versions" in one["parts"]]
    assert having == [HYPERSHIFT], "a forced apply takes spec.versions away, and the rest is shared"
    await hub.lists(CLUSTERS)
    assert (await hub.audit())[:2] == (0, []), "the platform leaves it alone now"


async def test_a_version_that_objects_are_stored_in_and_that_is_not_served_any_more(hub: Hub) -> None:
    old, new = of_module("capi-v1beta1")[CLUSTERS], of_module("capi-v1beta2")[CLUSTERS]
    await hub.apply(PLATFORM, old)
    without = json.loads(json.dumps(new))
    for version in without["spec"]["versions"]:
        version["served"] = version["name"] == "v1beta2"
    await hub.apply(PLATFORM, without)
    code, found, answer = await hub.audit()
    assert (code, found) == (3, [("CAPIStoredVersionNotServed", CLUSTERS)])
    assert answer["definitions"][0]["stored"] == ["v1beta1", "v1beta2"]
    # What explain says of it: the update that leaves the version out is refused.
    kept = await hub.api.get(kinds.DEFINITIONS, CLUSTERS)
    kept["spec"]["versions"] = [one for one in kept["spec"]["versions"] if one["name"] == "v1beta2"]
    with pytest.raises(clients.ApiError, match="storedVersions"):
        await hub.api.put(kinds.DEFINITIONS, kept)


async def test_what_is_listed_before_it_exists_is_for_information(hub: Hub) -> None:
    await hub.apply(PLATFORM, of_module("capi-v1beta2")[CLUSTERS])
    await hub.lists("machines.cluster.x-k8s.io")
    assert (await hub.audit())[:2] == (0, [("CAPIUnmanagedAbsent", "machines.cluster.x-k8s.io")])


async def test_a_requirement_that_is_not_met_is_shown(hub: Hub) -> None:
    crd = of_module("capi-v1beta2")[CLUSTERS]
    await hub.apply(PLATFORM, crd)
    schema = {
        "customResourceDefinition": {"type": "YAML", "data": yaml.safe_dump(crd)},
        "requiredVersions": {"defaultSelection": "StorageOnly"},
    }
    await hub.api.create(REQUIREMENTS, REQUIREMENTS.new("clusters-future", spec={"compatibilitySchema": schema}))
    condition = {
        "type": "Compatible", "status": "False", "reason": "RequirementsNotMet", "message": "field spec.x is missing",
        "lastTransitionTime": "2026-08-01T00:00:00Z",
    }  # fmt: skip
    await hub.api.patch_status(REQUIREMENTS, "clusters-future", {"crdName": CLUSTERS, "conditions": [condition]})
    code, _, answer = await hub.audit()
    assert code == 0
    (shown,) = answer["definitions"][0]["incompatible"]
    assert shown == {"name": "clusters-future", "reason": "RequirementsNotMet", "message": "field spec.x is missing"}


# -- on the embedded server


def small(name: str, *versions: str) -> dict[str, Any]:
    """A definition of a kind that has no fields."""
    plural, _, group = name.partition(".")
    kind = plural.removesuffix("s").capitalize()
    listed = [
        {
            "name": version, "served": True, "storage": version == versions[-1],
            "schema": {"openAPIV3Schema": definitions.anything({})},
        }
        for version in versions
    ]  # fmt: skip
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    spec = {"group": group, "names": names, "scope": "Cluster", "versions": listed}
    return kinds.DEFINITIONS.new(name, spec=spec)


@pytest.fixture
async def embedded(tmp_path: pathlib.Path) -> AsyncIterator[tuple[worlds.World, plugin.Plugin]]:
    async with worlds.opened(backend.Place(None), tmp_path) as world:
        yield world, plugin.Plugin(tmp_path, world.server.kubeconfig())


async def test_two_clients_that_write_one_definition(
    embedded: tuple[worlds.World, plugin.Plugin], tmp_path: pathlib.Path
) -> None:
    world, command = embedded
    mark = world.server.mark()
    code, answer = await command.json("audit", "--capi")
    assert (code, answer["verdict"], answer["definitions"]) == (0, "NothingToLookAt", [])
    assert "nothing to look at" in (await command.run("audit", "--capi")).printed
    access = kubeconfig.access(world.server.kubeconfig(), tmp_path)
    async with clients.Client(access, "hypershift") as theirs, clients.Client(access, "cluster-capi-operator") as ours:
        await theirs.create(kinds.DEFINITIONS, small(CLUSTERS, "v1beta1"))
        code, answer = await command.json("audit", "--capi")
        assert (code, answer["findings"]) == (0, [])
        versions = small(CLUSTERS, "v1beta1", "v1beta2")["spec"]["versions"]
        await ours.patch(kinds.DEFINITIONS, CLUSTERS, {"spec": {"versions": versions}})
    code, answer = await command.json("audit", "--capi")
    assert (code, [one["name"] for one in answer["findings"]]) == (3, ["CAPITwoOwners"])
    assert world.server.changes(plugin.PROGRAM, mark) == 0, "it reads only"


async def test_what_may_not_be_read_is_named(embedded: tuple[worlds.World, plugin.Plugin]) -> None:
    world, command = embedded
    for crd in (small(CLUSTERS, "v1beta1"), small("clusterapis.operator.openshift.io", "v1alpha1")):
        await world.api.create(kinds.DEFINITIONS, crd)
    world.server.fault("status", user_agent=plugin.AGENT, code=403, resource="clusterapis")
    code, answer = await command.json("audit", "--capi")
    assert (code, answer["verdict"]) == (1, "CannotTell")
    assert [one["right"] for one in answer["unread"]] == ["get clusterapis.operator.openshift.io/cluster"]
    assert (
        "you need permission to get clusterapis.operator.openshift.io/cluster"
        in (await command.run("audit", "--capi")).printed
    )
    world.server.fault("status", user_agent=plugin.AGENT, code=403, resource="customresourcedefinitions")
    ended = await command.run("audit", "--capi")
    assert ended.code == plugin.FAILED
    assert "you need permission to list customresourcedefinitions.apiextensions.k8s.io" in ended.reason
