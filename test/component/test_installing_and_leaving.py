"""From an empty cluster and back, on a real API server: what an administrator does, with what the pages say.

Patch the definition, apply what is printed, run the operator as its ServiceAccount with the rights of the manifests and
no others, ask for a topology, Completed, uninstall: line by line as docs/operations.md has it. Before and after,
everything that the server holds is listed, of every kind that it serves.

Namespaces are emptied and dependents collected by Kubernetes' own controllers. No pod is started: the operator is a
process, and the test stops that when the Deployment is scaled to 0.
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import re
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from test import processes
from test.component import cluster, documented, installing, reactors
from topology_api import crd
from topology_deploy import manifests
from topology_simulator import client as clients
from topology_simulator import kinds, kubeconfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from test.component import process
    from test.component.installing import Administrator, Empty
    from topology_simulator.envtest.server import RealServer

ROOT = pathlib.Path(__file__).parents[2]
NAMESPACE, NAME = installing.NAMESPACE, installing.NAME
_SECONDS = 30.0
_PAUSE = 0.1
_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
DIRECT = ROOT / "docs" / "etcd-direct.md"
RUNBOOK = ROOT / "docs" / "runbooks" / "TopologyOperatorNotWatching.md"
TAKEN = re.compile(r" (?:created|configured|unchanged)(?: \(server dry run\))?$", re.MULTILINE)
FOLLOWERS = {reactors.Echo.agent, reactors.Operands.agent}
"""Those who follow a new topology in the simulated cluster: what they make of it stays."""
OTHER = {"kind": "Deployment", "group": "apps", "namespace": "x", "name": "y", "unmanaged": True}
"""An override of somebody else."""


@pytest.fixture(scope="module")
def empty(real_binaries: None) -> Iterator[Empty]:
    with installing.Empty(cluster.SHAPE, *installing.CONTROLLERS) as session:
        yield session


@pytest.fixture
def administrator(empty: Empty, tmp_path: pathlib.Path) -> Administrator:
    return installing.Administrator(empty.server.kubeconfig(), tmp_path)


@pytest.fixture
async def api(empty: Empty) -> AsyncIterator[clients.Client]:
    async with clients.Client(empty.access(), "administrator") as made:
        yield made


async def everything(asked: RealServer) -> dict[str, dict[str, Any]]:
    """Return the metadata of every object of every kind that the server serves, by kind, namespace and name.

    Nothing is left out because somebody forgot it: discovery is asked for the kinds.
    """
    async with aiohttp.ClientSession(
        asked.url, connector=aiohttp.TCPConnector(ssl=asked.tls(), limit=4), headers={"Authorization": "Bearer admin"}
    ) as session:

        async def read(path: str, accept: str = "application/json") -> dict[str, Any]:
            while True:
                async with session.get(path, headers={"Accept": accept}) as response:
                    # A kind whose definition was changed a moment ago is opened anew, and is not there meanwhile.
                    if response.status not in {429, 503}:
                        response.raise_for_status()
                        found: dict[str, Any] = await response.json(content_type=None)
                        return found
                await asyncio.sleep(_PAUSE)

        groups = [one["preferredVersion"]["groupVersion"] for one in (await read("/apis"))["groups"]]
        places = ["/api/v1", *(f"/apis/{group}" for group in groups)]
        paths = [
            f"{place}/{one['name']}"
            for place, listed in zip(places, await asyncio.gather(*map(read, places)), strict=True)
            for one in listed["resources"]
            if "list" in one["verbs"] and "/" not in one["name"]
        ]
        listed = await asyncio.gather(*(read(path, _METADATA) for path in paths))
    metas = [(path, one["metadata"]) for path, found in zip(paths, listed, strict=True) for one in found["items"] or []]
    return {f"{path} {meta.get('namespace', '')}/{meta['name']}": meta for path, meta in metas}


async def settled(asked: RealServer) -> dict[str, dict[str, Any]]:
    """Return the same when nothing comes or goes any more: a server makes much of its own after it is ready."""
    before: set[str] = set()
    while set(found := await everything(asked)) != before:
        before = set(found)
        await asyncio.sleep(5 * _PAUSE)
    return found


def _looking() -> list[documented.Command]:
    """The commands by which the section looks whether something is left."""
    last = installing.uninstalling()[-1].line
    return [one for one in documented.below(installing.PAGE, "## Uninstall") if one.line > last]


async def _leave(administrator: Administrator, operator: process.Operator) -> None:
    for command in installing.uninstalling():
        await administrator.types(command.text)
        if " scale " in command.text:
            assert await operator.stop() == 0, operator.tail()


async def _apply(administrator: Administrator, line: str) -> str:
    """All is taken at once, nothing changes the next time, and a mistake in a field is refused. Return what it was.

    The version operator knows some kinds by no type, and would write again what a server adds, for ever.
    """
    printed = await administrator.prints("--image", "REGISTRY/cluster-topology-operator:0.2.0")
    said = await administrator.types(line)
    assert len(TAKEN.findall(said)) == len(installing.objects(printed)), said
    # What is added besides, so that etcd's members are read directly, stays.
    for name in ("ca-bundle.crt", "tls.crt", "tls.key"):
        (administrator.folder / name).write_text(name)
    *_, secret = documented.below(DIRECT, "## Which certificates")
    (restart,) = documented.below(DIRECT, "## Giving it to the operator")
    for typed in (secret, restart):
        await administrator.types(f"dir={administrator.folder}; {typed.text}")
    again = [one for one in (await administrator.types(line)).splitlines() if not one.endswith(" unchanged")]
    assert all(one.startswith(("namespace/", "clusteroperator.")) for one in again), again
    wrong = printed.replace("serverName: ", "servername: ")
    refused = await administrator.tries("kubectl", "apply", "--dry-run=server", "-f", "-", given=wrong)
    assert (refused.code, "tlsConfig.servername" in refused.complaint) == (1, True), refused
    commands = re.findall(
        r"^ +oc (-n \S+ get (?:service,|role,).*|get namespace .*)$", RUNBOOK.read_text(), re.MULTILINE
    )
    assert len(commands) == 3, commands
    for command in commands:
        assert await administrator.oc(*command.split()), command
    made = json.loads(await administrator.oc("get", "-f", "-", "-o", "json", given=printed))["items"]
    for wanted, found in zip(installing.objects(printed), made, strict=True):
        if wanted["kind"] in {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "NetworkPolicy"}:
            assert found["spec"] == wanted["spec"], wanted["metadata"]["name"]
    return printed


async def test_from_an_empty_cluster_and_back(
    empty: Empty, administrator: Administrator, api: clients.Client, figure: Callable[[str], None]
) -> None:
    await api.patch(kinds.CLUSTER_VERSIONS, "version", {"spec": {"overrides": [OTHER]}})
    before = await settled(empty.server)
    infrastructure = await api.get(kinds.INFRASTRUCTURES, "cluster")
    definition = await api.get(kinds.DEFINITIONS, crd.NAME)
    version = await api.get(kinds.CLUSTER_VERSIONS, "version")
    audit = empty.server.audit()

    *fields, apply, ask, wait = installing.converting()
    for command in fields:
        said = await administrator.types(command.text)
    assert "OpenShift 4." in said, "the price of the override is said"
    overrides = (await api.get(kinds.CLUSTER_VERSIONS, "version"))["spec"]["overrides"]
    assert [one["name"] for one in overrides] == ["y", crd.NAME]
    printed = await _apply(administrator, apply.text)
    token = (await administrator.oc("create", "token", NAME, "-n", NAMESPACE)).strip()
    installed = await everything(empty.server)
    async with (
        reactors.living(kubeconfig.access(empty.server.kubeconfig())) as (_, operands),
        installing.running(administrator, empty, printed, token) as operator,
    ):
        await installing.until_phase(api, "Idle", operator)
        await administrator.types(ask.text)
        await installing.until_phase(api, "Completed", operator)
        await administrator.types(wait.text)
        await operands.followed("HighlyAvailable", "HighlyAvailable")
        found = await api.get(kinds.CLUSTER_OPERATORS, "topology")
        (wanted,) = [one for one in installing.objects(printed) if one["kind"] == "ClusterOperator"]
        assert found["status"]["versions"] == await administrator.stamped(wanted["status"]["versions"]), (
            "what the version operator waits for"
        )
        assert found["status"]["relatedObjects"] == wanted["status"]["relatedObjects"]
        await _leave(administrator, operator)

    for command in _looking():
        assert not (await administrator.oc(*command.arguments)).strip(), f"something is left: {command.text}"
    after = await settled(empty.server)
    ours = set(installed) - set(before)
    assert len(ours) >= len(installing.objects(printed))
    assert not ours & set(after), ours & set(after)
    left = {one: meta for one, meta in after.items() if one not in before}
    others = {one for one, meta in left.items() if {field["manager"] for field in meta["managedFields"]} <= FOLLOWERS}
    events = {one for one in left if "/events default/" in one}
    assert events, "the story was told"
    assert not set(left) - others - events, set(left) - others - events
    assert not set(before) - set(after), "and nothing of others is gone"
    managers = {one: {field.get("manager") for field in meta.get("managedFields") or []} for one, meta in after.items()}
    written = {one for one in set(after) - events if NAME in managers[one]}
    assert written <= {"/apis/config.openshift.io/v1/infrastructures /cluster"}

    now = await api.get(kinds.INFRASTRUCTURES, "cluster")
    grown = {"controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable"}
    assert now["spec"] == infrastructure["spec"]
    assert now["status"] == {**infrastructure["status"], **grown}, "the topology stays, and nothing else"
    assert (await api.get(kinds.DEFINITIONS, crd.NAME))["spec"] == definition["spec"]
    assert (await api.get(kinds.CLUSTER_VERSIONS, "version"))["spec"] == version["spec"]

    asked = [one for one in audit.read() if one.user == f"system:serviceaccount:{NAMESPACE}:{NAME}"]
    refused = [one for one in asked if not one.allowed or one.code in {401, 403}]
    assert len(asked) > 50
    assert not refused, [f"{one.verb} {one.uri}: {one.code}" for one in refused]
    figure(
        f"{len(installing.objects(printed))} objects applied; {len(asked)} requests by the operator, none refused; "
        f"{len(before)} objects before, {len(after)} after: {len(events)} more are events, {len(others)} of followers"
    )


async def test_kubectl_builds_what_is_printed_and_for_older_releases_another_constraint() -> None:
    """People without a payload need one of the two. restricted-v3, and what it asks for, is there since 4.20."""

    async def built(folder: str) -> list[dict[str, Any]]:
        ended = await processes.run(documented.kubectl(), "kustomize", ROOT / folder)
        assert (ended.code, ended.complaint) == (0, ""), ended
        return installing.objects(ended.printed)

    newer, older = await built("bindata"), await built("docs/examples/restricted-v2")
    assert newer == installing.objects(manifests.render())
    ((old, new),) = [pair for pair in zip(older, newer, strict=True) if pair[0] != pair[1]]
    for one, constraint in ((old, "restricted-v2"), (new, "restricted-v3")):
        assert one["spec"]["template"]["metadata"]["annotations"]["openshift.io/required-scc"] == constraint
    assert "hostUsers" not in old["spec"]["template"]["spec"]
    assert new["spec"]["template"]["spec"]["hostUsers"] is False
