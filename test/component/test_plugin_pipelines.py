"""What goes into a page, a pipeline or an inventory, with the installed command: a picture, a verdict, an audit."""

from __future__ import annotations

import asyncio
import os
import pathlib
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from test.component import backend, cluster, plugin
from test.component import world as worlds
from topology_simulator import cluster as simulated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from test.component.world import World

PICTURE = pathlib.Path(__file__).parents[2] / "docs" / "topology-graph.svg"
MANIFEST = """\
apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata:
  name: cluster
spec:
  desiredTopology: HighlyAvailable
"""


@pytest.fixture
async def world(tmp_path: pathlib.Path) -> AsyncIterator[World]:
    # Which API server it is makes no difference to what is read here.
    async with worlds.opened(backend.Place(None), tmp_path) as made:
        yield made


def _command(world: World, folder: pathlib.Path) -> plugin.Plugin:
    return plugin.Plugin(folder, world.server.kubeconfig())


async def test_the_graph_becomes_a_picture_of_this_cluster(tmp_path: pathlib.Path) -> None:
    """It is the picture of docs/kubectl-topology.md; KEEP_PICTURE=1 keeps the new one there."""
    async with worlds.opened(backend.Place(None), tmp_path, simulated.Shape(masters=1)) as world:
        mark = world.server.mark()
        ended = await _command(world, tmp_path).run("graph", "-o", "svg")
        assert (ended.code, ended.complaint) == (plugin.DONE, "")
        assert world.server.changes(plugin.PROGRAM, mark) == 0
    told = ET.fromstring(ended.printed).findtext("{http://www.w3.org/2000/svg}desc") or ""  # noqa: S314 - our own
    assert "The cluster is here: control plane SingleReplica, infrastructure SingleReplica" in told
    way = "sno-to-ha-compact leads from SingleReplica/SingleReplica to HighlyAvailable/HighlyAvailable"
    assert f"{way}: blocked (ControlPlaneNodes: Wanted: 3 eligible control-plane nodes. Found: 1: master-0" in told
    if os.environ.get("KEEP_PICTURE"):
        await asyncio.to_thread(PICTURE.write_text, ended.printed)
    assert await asyncio.to_thread(PICTURE.read_text) == ended.printed, "write it anew with KEEP_PICTURE=1"


async def test_a_pipeline_hears_of_its_manifest_before_the_cluster_does(world: World, tmp_path: pathlib.Path) -> None:
    command = _command(world, tmp_path)
    place = tmp_path / "infrastructure.yaml"
    place.write_text(MANIFEST)
    code, found = await command.json("plan", "-f", str(place))
    assert (code, found["verdict"], found["target"]) == (plugin.DONE, "Possible", worlds.DESIRED)
    assert found["manifest"]["files"] == [{"file": str(place), "line": 6}]
    place.write_text(MANIFEST.replace("HighlyAvailable", "DualReplica"))
    assert (await command.run("plan", "-f", str(place))).code == plugin.UNSUPPORTED
    await cluster.set_ready(world.api, "master-2", ready=False)
    place.write_text(MANIFEST)
    code, found = await command.json("plan", "-f", str(place))
    assert (code, found["verdict"]) == (plugin.BLOCKED, "Blocked")
    manifest = found.pop("manifest")
    _, planned = await command.json("plan", worlds.DESIRED)
    assert {**found, "evaluated": ""} == {**planned, "evaluated": ""}
    assert manifest["desiredTopology"] == worlds.DESIRED
    place.write_text(MANIFEST + "status: {controlPlaneTopology: HighlyAvailable}\n")
    refused = await command.run("plan", "-f", str(place))
    assert (refused.code, refused.reason.partition(" sets status")[0]) == (plugin.FAILED, f"{place}:7:")
    await world.ask_for()
    place.write_text(MANIFEST.replace("  desiredTopology: HighlyAvailable\n", "  platformSpec: {}\n"))
    ended = await command.run("plan", "-f", str(place))
    assert ended.code == plugin.DONE
    assert "would cancel the request" in ended.printed
    for words in (("-f", str(place), worlds.DESIRED), ("-f", str(tmp_path / "gone"))):
        assert (await command.run("plan", *words)).code == plugin.USAGE


async def test_an_audit_says_what_does_not_fit_and_what_it_may_not_see(world: World, tmp_path: pathlib.Path) -> None:
    command = _command(world, tmp_path)
    mark = world.server.mark()
    code, found = await command.json("audit")
    assert (code, found["shape"]) == (plugin.BLOCKED, "unclassified")
    assert [one["question"] for one in found["disagreements"]] == ["ControlPlaneNodes"]
    assert (found["vector"]["controlPlaneNodes"], found["vector"]["controlPlaneWorkers"]) == (3, 3)
    ended = await command.run("audit")
    assert ended.code == plugin.BLOCKED
    assert "3 control-plane nodes" in ended.printed
    assert world.server.changes(plugin.PROGRAM, mark) == 0
    world.server.fault("status", user_agent=plugin.AGENT, code=403, resource="nodes")
    code, found = await command.json("audit")
    assert (code, found["shape"]) == (plugin.DONE, "single-node")
    assert {one["right"] for one in found["unread"]} == {"list nodes"}
    world.server.fault("status", user_agent=plugin.AGENT, code=403, resource="infrastructures")
    assert (await command.run("audit")).code == plugin.FAILED


async def test_a_hosted_cluster_is_audited_too(tmp_path: pathlib.Path) -> None:
    async with worlds.opened(backend.Place(None), tmp_path, simulated.Shape(hosted=True)) as world:
        code, found = await _command(world, tmp_path).json("audit")
    assert (code, found["shape"], found["disagreements"]) == (plugin.DONE, "unclassified", [])
    assert found["vector"]["controlPlaneTopology"] == "External"
