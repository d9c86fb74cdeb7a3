"""What goes into a page or a pipeline, with the installed command: a picture, a verdict."""

from __future__ import annotations

import asyncio
import os
import pathlib
import shutil
import sys
from typing import TYPE_CHECKING

import yaml

from test import processes
from test.component import backend, cluster, plugin
from test.component import world as worlds
from topology_simulator import cluster as simulated

if TYPE_CHECKING:
    from test.component.world import World

PICTURE = pathlib.Path(__file__).parents[2] / "docs" / "topology-graph.svg"
EXAMPLE = pathlib.Path(__file__).parents[2] / "docs" / "examples" / "gitops"


async def test_the_graph_becomes_a_picture_of_this_cluster(tmp_path: pathlib.Path) -> None:
    """It is the picture of docs/kubectl-topology.md; KEEP_PICTURE=1 keeps the new one there."""
    async with worlds.opened(backend.Place(None), tmp_path, simulated.Shape(masters=1)) as world:
        mark = world.server.mark()
        ended = await plugin.Plugin(tmp_path, world.server.kubeconfig()).run("graph", "-o", "svg")
        assert (ended.code, ended.complaint) == (plugin.DONE, "")
        assert world.server.changes(plugin.PROGRAM, mark) == 0
    if os.environ.get("KEEP_PICTURE"):
        await asyncio.to_thread(PICTURE.write_text, ended.printed)
    assert await asyncio.to_thread(PICTURE.read_text) == ended.printed, "write it anew with KEEP_PICTURE=1"


async def test_the_step_of_a_pipeline_ends_with_the_verdict_of_the_cluster(
    world: World, tmp_path: pathlib.Path
) -> None:
    """The step of docs/examples/gitops: the context has the name of the cluster's folder."""
    access = world.server.kubeconfig()
    (context,) = access["contexts"]
    place, folder = tmp_path / "kubeconfig-pipeline", tmp_path / "edge-1"
    place.write_text(yaml.safe_dump({**access, "contexts": [{**context, "name": "edge-1"}], "current-context": ""}))
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.defpath])
    kept = {key: value for key, value in os.environ.items() if key.startswith("PYTHON")}
    environment = {**kept, "KUBECONFIG": str(place), "HOME": str(tmp_path), "PATH": path}
    await asyncio.to_thread(shutil.copytree, EXAMPLE / "clusters" / "edge-1", folder)
    request = folder / "infrastructure.yaml"

    async def step(**more: str) -> processes.Ended:
        return await processes.run(EXAMPLE / "pipeline" / "plan.sh", folder, env={**environment, **more})

    await cluster.set_ready(world.api, "master-2", ready=False)
    ended = await step()
    assert (ended.code, "ControlPlaneNodes" in ended.printed) == (plugin.BLOCKED, True)
    ended = await step(ALLOW_PENDING="true")
    assert ended.code == plugin.DONE
    assert ended.printed.endswith("edge-1: blocked now; the operator waits until every check is met\n")
    request.write_text(request.read_text().replace(worlds.DESIRED, "HighlyAvaliable"))
    assert (await step(ALLOW_PENDING="true")).code == plugin.FAILED
