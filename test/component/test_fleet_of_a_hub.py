"""`fleet` as a process of its own, asked of a hub with works, and of what is no hub.

Definitions are the test's own, and take anything; how states are counted and shown is said by
test/unit/plugin/test_fleet.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from test.component import plugin
from topology_simulator.apiserver import server

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

SURVEY, ROLL_OUT = "topology-fleet.topology-survey", "topology-fleet.topology"
_WORK, _CLUSTER = "work.open-cluster-management.io", "cluster.open-cluster-management.io"
_LABEL = f"{_WORK}/manifestworkreplicaset"
Raw = dict[str, Any]


def definition(group: str, kind: str, scope: str) -> Raw:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    names = {"kind": kind, "listKind": f"{kind}List", "plural": f"{kind.lower()}s", "singular": kind.lower()}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [version]},
    }


def work(cluster: str, made_by: str, condition: Raw) -> Raw:
    """A ManifestWork as the work agent leaves it."""
    manifest = {"resourceMeta": {"kind": "Infrastructure", "name": "cluster"}, "conditions": [condition]}
    meta = {"name": made_by.partition(".")[2], "namespace": cluster, "labels": {_LABEL: made_by}}
    status = {"resourceStatus": {"manifests": [manifest]}}
    return {"apiVersion": f"{_WORK}/v1", "kind": "ManifestWork", "metadata": meta, "spec": {}, "status": status}


def add(hub: server.ApiServer, *, available: str = "True", **messages: str) -> None:
    """Put clusters with the survey's work onto a hub."""
    for name, message in messages.items():
        state = {"type": "ManagedClusterConditionAvailable", "status": available}
        hub.install({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        hub.install({
            "apiVersion": f"{_CLUSTER}/v1", "kind": "ManagedCluster", "metadata": {"name": name},
            "status": {"conditions": [state]},
        })  # fmt: skip
        hub.install(work(name, SURVEY, {"type": "Ready", "status": "False", "message": message}))


@pytest.fixture
async def hub() -> AsyncIterator[server.ApiServer]:
    crds = definition(_WORK, "ManifestWork", "Namespaced"), definition(_CLUSTER, "ManagedCluster", "Cluster")
    made = server.ApiServer(crds=crds)
    await made.start()
    yield made
    await made.stop()


async def test_clusters_are_counted_and_listed_and_one_needs_a_person(
    hub: server.ApiServer, tmp_path: pathlib.Path
) -> None:
    command = plugin.Plugin(tmp_path, hub.kubeconfig())
    unasked = await command.run("fleet")
    assert (unasked.code, f"no ManifestWork of {SURVEY} is there" in unasked.reason) == (plugin.FAILED, True)
    add(hub, edge3="Ready", edge1="Ready", edge2="Done", edge4="UnderWay: Pending")
    add(hub, edge5="Done", available="Unknown")
    ended = await command.run("fleet")
    assert (ended.code, ended.printed) == (plugin.DONE, "5 surveyed: 1 done, 1 under way, 2 ready, 1 unreachable\n")
    assert (await command.run("fleet", "--list", "Ready")).printed == "edge1\nedge3\n"
    assert (await command.run("fleet", "--namespace", "other")).code == plugin.FAILED

    why = 'Apply failed with 1 conflict: conflict with "ops"'
    hub.install(work("edge3", ROLL_OUT, {"type": "Applied", "status": "False", "message": why}))
    code, answer = await command.json("fleet")
    assert (code, answer["counts"]["NeedsAPerson"]) == (plugin.BLOCKED, 1)
    listed = await command.run("fleet", "--list", "NeedsAPerson")
    assert (listed.code, listed.printed) == (plugin.BLOCKED, "edge3\n")


async def test_what_is_no_hub_is_named(tmp_path: pathlib.Path) -> None:
    bare = server.ApiServer()
    await bare.start()
    command = plugin.Plugin(tmp_path, bare.kubeconfig())
    try:
        cluster = await command.run("fleet")
    finally:
        await bare.stop()
    assert (cluster.code, cluster.reason.endswith("this is no hub")) == (plugin.FAILED, True)
    gone = await command.run("fleet")
    assert (gone.code, gone.reason.startswith("connection refused")) == (plugin.FAILED, True)
