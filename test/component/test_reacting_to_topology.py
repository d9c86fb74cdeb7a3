"""The example of docs/for-operator-authors.md, as a process, beside the operator and through whole transitions.

The cluster waits for it: while the example reports Progressing, ClusterOperatorsStable is not met. Nobody makes pods
here, so a test says when its Deployment is ready.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling, processes
from topology_simulator import conditions, kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from test.component.world import World

EXAMPLE = pathlib.Path(__file__).parents[2] / "docs" / "examples" / "react_to_topology.py"
NAMESPACE, DEPLOYMENT, OPERATOR = "openshift-example", "example", "example"


class Example:
    """The example's process, and the Deployment that it looks after."""

    def __init__(self, world: World, process: asyncio.subprocess.Process, log: pathlib.Path) -> None:
        self._world = world
        self.process = process
        self._log = log

    def words(self) -> str:
        return self._log.read_text()

    async def deployment(self) -> dict[str, Any]:
        return await self._world.api.get(kinds.DEPLOYMENTS, DEPLOYMENT, NAMESPACE)

    async def until_replicas(self, number: int) -> None:
        async def asked() -> bool:
            return bool((await self.deployment())["spec"]["replicas"] == number)

        await self.until(f"the Deployment asks for {number}", asked)

    async def until_progressing(self, status: str, text: str = "") -> dict[str, Any]:
        async def said() -> dict[str, Any] | None:
            found = conditions.of(await self._world.api.find(kinds.CLUSTER_OPERATORS, OPERATOR), "Progressing")
            return found if found.get("status") == status and text in found.get("message", "") else None

        found: dict[str, Any] = await self.until(f"Progressing={status} {text}", said)
        return found

    async def until(self, what: str, ask: Any) -> Any:
        try:
            return await polling.until(what, ask, 20.0)
        except AssertionError as error:
            raise AssertionError(f"{error}\n--- the example\n{self.words()}") from None

    async def make_ready(self) -> None:
        """Do what the controller of Deployments and its pods do."""
        await make_ready(self._world)


async def make_ready(world: World) -> None:
    found = await world.api.get(kinds.DEPLOYMENTS, DEPLOYMENT, NAMESPACE)
    number = found["spec"]["replicas"]
    status = {
        "observedGeneration": found["metadata"]["generation"],
        **dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), number),
    }
    await world.api.patch_status(kinds.DEPLOYMENTS, DEPLOYMENT, status, NAMESPACE)


async def furnish(world: World) -> None:
    """Put the example's Deployment and ClusterOperator there, as they are on a single node."""
    # On a real server without its controllers a namespace outlives the test before.
    if await world.api.find(kinds.NAMESPACES, NAMESPACE) is None:
        await world.api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(NAMESPACE))
    labels = {"app": DEPLOYMENT}
    containers = [{"name": "example", "image": "example.invalid/example:1"}]
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
    }
    await world.api.create(kinds.DEPLOYMENTS, kinds.DEPLOYMENTS.new(DEPLOYMENT, NAMESPACE, spec=spec))
    await make_ready(world)
    await world.api.create(kinds.CLUSTER_OPERATORS, kinds.CLUSTER_OPERATORS.new(OPERATOR, spec={}))
    wanted = [
        conditions.Condition(type_, status, "AsExpected", "All is well")
        for type_, status in (("Available", "True"), ("Progressing", "False"), ("Degraded", "False"))
    ]
    made = await world.api.get(kinds.CLUSTER_OPERATORS, OPERATOR)
    await world.api.patch_status(kinds.CLUSTER_OPERATORS, OPERATOR, {"conditions": conditions.merged(made, wanted)})


@contextlib.asynccontextmanager
async def running(world: World, folder: pathlib.Path) -> AsyncIterator[Example]:
    place, log = folder / "kubeconfig-example", folder / "example.log"
    place.write_text(yaml.safe_dump(world.server.kubeconfig()))
    command = [sys.executable, str(EXAMPLE), "--kubeconfig", str(place), "--namespace", NAMESPACE]
    command += ["--deployment", DEPLOYMENT, "--operator", OPERATOR]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "error"}
    # Its library keeps certificates in files that a process which is killed leaves behind.
    environment["TMPDIR"] = str(log.parent)
    process = await processes.logged(*command, log=log, env=environment)
    made = Example(world, process, log)
    async with processes.killed_after(process):
        yield made
    assert "Traceback" not in made.words(), made.words()


@pytest.fixture
async def example(world: World, tmp_path: pathlib.Path) -> AsyncIterator[Example]:
    await furnish(world)
    async with running(world, tmp_path) as made:
        await made.until_progressing("False", "1 of 1 replicas for control plane topology SingleReplica")
        yield made


async def test_it_follows_a_whole_transition_and_the_cluster_waits_for_it(world: World, example: Example) -> None:
    await world.idle_operator()
    before = await example.deployment()
    await world.ask_for()
    await world.until_phase("Converging")
    await example.until_replicas(2)
    await example.until_progressing("True", "1 of 2 replicas for control plane topology HighlyAvailable")

    async def waited_for() -> bool:
        found = await world.check("ClusterOperatorsStable", stage="Convergence")
        return found.get("status") == "Unmet" and "example" in found["message"]

    await example.until("the cluster waits for it", waited_for)
    await example.make_ready()
    await example.until_progressing("False", "2 of 2 replicas")
    await world.completed_once()
    after = await example.deployment()
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1, "it was scaled once"
    example.process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(10.0):
        assert await example.process.wait() == 0
