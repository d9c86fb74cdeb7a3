"""docs/examples/gitops as a pipeline and an engine use it: the step before the merge, the sync, and a sync that prunes.

What a sync does is asked of a real API server, by server-side apply as both engines do it; docs/gitops.md quotes what a
person reads then, and is held to it.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import processes
from test.component import backend, cluster, plugin, test_kubectl
from test.component import world as worlds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from test.component import real
    from test.component.world import World

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "gitops"
PAGE = " ".join((ROOT / "docs" / "gitops.md").read_text().split())
REQUEST = EXAMPLE / "clusters" / "edge-1" / "infrastructure.yaml"
ENGINE = "argocd-controller"
KEY = "resource.customizations.health.config.openshift.io_Infrastructure"


def built(folder: str) -> list[dict[str, Any]]:
    """What kubectl builds from a folder of the example."""
    command = [test_kubectl.needed(), "kustomize", str(EXAMPLE / folder)]
    text = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout  # noqa: S603 - the kubectl of the tests
    return list(yaml.safe_load_all(text))


def test_the_health_check_gets_into_argo_cd_and_into_openshift_gitops_unchanged() -> None:
    check = (EXAMPLE / "argocd" / "health.lua").read_text()
    (config_map,) = built("argocd")
    assert (config_map["kind"], config_map["metadata"]["name"]) == ("ConfigMap", "argocd-cm")
    assert config_map["data"] == {KEY: check}
    (argocd,) = built("openshift-gitops")
    assert argocd["spec"] == {
        "resourceHealthChecks": [{"group": "config.openshift.io", "kind": "Infrastructure", "check": check}]
    }


def test_what_is_synced_requests_a_topology_and_nothing_else() -> None:
    (infrastructure,) = built("clusters/edge-1")
    assert infrastructure["spec"] == {"desiredTopology": worlds.DESIRED}
    assert set(infrastructure) == {"apiVersion", "kind", "metadata", "spec"}
    application = yaml.safe_load((EXAMPLE / "argocd" / "application.yaml").read_text())
    flux = yaml.safe_load((EXAMPLE / "flux" / "topology.yaml").read_text())
    assert application["spec"]["source"]["path"] == flux["spec"]["path"].removeprefix("./") == "clusters/edge-1"


@pytest.fixture
async def here(tmp_path: pathlib.Path) -> AsyncIterator[World]:
    async with worlds.opened(backend.Place(), tmp_path) as world:
        yield world


def _environment(access: dict[str, Any], folder: pathlib.Path) -> dict[str, str]:
    """A shell of a pipeline: the programs on the PATH, and one context with the name of the cluster's folder."""
    (context,) = access["contexts"]
    place = folder / "kubeconfig-pipeline"
    place.write_text(yaml.safe_dump({**access, "contexts": [{**context, "name": "edge-1"}], "current-context": ""}))
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.defpath])
    kept = {key: value for key, value in os.environ.items() if key.startswith("PYTHON")}
    return {**kept, "KUBECONFIG": str(place), "HOME": str(folder), "PATH": path}


async def test_the_step_of_a_pipeline_ends_with_the_verdict_of_the_cluster(here: World, tmp_path: pathlib.Path) -> None:
    environment = _environment(here.server.kubeconfig(), tmp_path)
    folder = tmp_path / "edge-1"
    shutil.copytree(REQUEST.parent, folder)
    request = folder / REQUEST.name

    async def step(**more: str) -> processes.Ended:
        return await processes.run(EXAMPLE / "pipeline" / "plan.sh", folder, env={**environment, **more})

    ended = await step()
    assert (ended.code, ended.complaint) == (plugin.DONE, "")
    assert "Possible" in ended.printed
    await cluster.set_ready(here.api, "master-2", ready=False)
    ended = await step()
    assert (ended.code, "ControlPlaneNodes" in ended.printed) == (plugin.BLOCKED, True)
    ended = await step(ALLOW_PENDING="true")
    assert ended.code == plugin.DONE
    assert ended.printed.endswith("edge-1: blocked now; the operator waits until every check is met\n")
    request.write_text(REQUEST.read_text().replace(worlds.DESIRED, "DualReplica"))
    assert (await step(ALLOW_PENDING="true")).code == plugin.UNSUPPORTED
    request.write_text(REQUEST.read_text().replace(worlds.DESIRED, "HighlyAvaliable"))
    assert (await step(ALLOW_PENDING="true")).code == plugin.FAILED


@pytest.fixture
async def there(real_server: real.Session, tmp_path: pathlib.Path) -> AsyncIterator[World]:
    async with worlds.opened(backend.Place(real_server), tmp_path) as world:
        yield world


class Engine:
    """Server-side apply with force, as Argo CD and Flux do it."""

    def __init__(self, environment: Mapping[str, str], folder: pathlib.Path) -> None:
        self._environment = environment
        self._file = folder / "synced.yaml"

    async def sync(self, *, request: bool) -> processes.Ended:
        """Apply the file of the example, with the request or without it."""
        raw = yaml.safe_load(REQUEST.read_text())
        if not request:
            del raw["spec"]["desiredTopology"]
        self._file.write_text(yaml.safe_dump(raw))
        flags = ("--server-side", "--force-conflicts", f"--field-manager={ENGINE}")
        return await processes.run(test_kubectl.needed(), "apply", *flags, "-f", self._file, env=self._environment)


async def test_a_sync_that_prunes_the_request_does_what_the_page_says(
    there: World, real_server: real.Session, tmp_path: pathlib.Path
) -> None:
    place = tmp_path / "kubeconfig-engine"
    place.write_text(yaml.safe_dump(real_server.server.kubeconfig()))
    engine = Engine({"KUBECONFIG": str(place), "HOME": str(tmp_path), "PATH": os.defpath}, tmp_path)
    before = (await there.infrastructure())["spec"]
    await there.idle_operator()

    await cluster.set_ready(there.api, "master-2", ready=False)
    assert (await engine.sync(request=True)).code == 0
    record = await there.until_phase("Pending")
    assert f"Pending: {record['message']}" in PAGE
    assert (await there.infrastructure())["spec"] == {**before, "desiredTopology": worlds.DESIRED}
    ended = await engine.sync(request=False)
    assert (ended.code, ended.complaint) == (0, "")
    await there.until_phase("Idle")
    assert await there.pair() == worlds.INSTALLED
    await there.until_told("TransitionRequested", "TransitionBlocked", "TransitionCancelled")
    (cancelled,) = [event["note"] for event in await there.events() if event["reason"] == "TransitionCancelled"]
    assert cancelled in PAGE

    await cluster.set_ready(there.api, "master-2", ready=True)
    assert (await engine.sync(request=True)).code == 0
    await there.until_phase("Converging")
    refused = await engine.sync(request=False)
    assert refused.code == 1
    assert " ".join(refused.complaint.split()) in PAGE

    await there.operands.go_on()
    await there.until_phase("Completed", seconds=60.0)
    advisories = {advisory["name"] for advisory in (await there.record())["advisories"]}
    assert advisories
    assert (await engine.sync(request=False)).code == 0
    await there.until_phase("Idle")
    record = await there.record()
    assert record["message"] in PAGE
    assert record["lastTransition"]["name"] == worlds.NAME
    assert {advisory["name"] for advisory in record["advisories"]} == advisories
    assert await there.pair() == worlds.MOVED
    assert (await there.infrastructure())["spec"] == before
