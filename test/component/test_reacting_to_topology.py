"""The example of docs/development/for-operator-authors.md, as a process beside the operator, through a transition.

The cluster waits for it: while the example reports Progressing, ClusterOperatorsStable is not met. Nobody makes pods
here, so the test says when its Deployment is ready.
"""

from __future__ import annotations

import os
import pathlib
import signal
import sys
from typing import TYPE_CHECKING, Any

import yaml

from test import polling, processes
from topology_simulator import conditions, kinds

if TYPE_CHECKING:
    from test.component.world import World

EXAMPLE = pathlib.Path(__file__).parents[2] / "docs" / "examples" / "react_to_topology.py"
NAMESPACE, DEPLOYMENT, OPERATOR = "openshift-example", "example", "example"


async def deployment(world: World) -> dict[str, Any]:
    return await world.api.get(kinds.DEPLOYMENTS, DEPLOYMENT, NAMESPACE)


async def make_ready(world: World) -> None:
    """Do what the controller of Deployments and its pods do."""
    found = await deployment(world)
    number = found["spec"]["replicas"]
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), number)
    status = {"observedGeneration": found["metadata"]["generation"], **counts}
    await world.api.patch_status(kinds.DEPLOYMENTS, DEPLOYMENT, status, NAMESPACE)


async def furnish(world: World) -> None:
    """Put the example's Deployment and ClusterOperator there, as they are on a single node."""
    # On a real server without its controllers a namespace outlives the test before.
    if await world.api.find(kinds.NAMESPACES, NAMESPACE) is None:
        await world.api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(NAMESPACE))
    labels = {"app": DEPLOYMENT}
    containers = [{"name": "example", "image": "example.invalid/example:1"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    await world.api.create(kinds.DEPLOYMENTS, kinds.DEPLOYMENTS.new(DEPLOYMENT, NAMESPACE, spec=spec))
    await make_ready(world)
    made = await world.api.create(kinds.CLUSTER_OPERATORS, kinds.CLUSTER_OPERATORS.new(OPERATOR, spec={}))
    wanted = [
        conditions.Condition(type_, status, "AsExpected", "All is well")
        for type_, status in (("Available", "True"), ("Progressing", "False"), ("Degraded", "False"))
    ]
    await world.api.patch_status(kinds.CLUSTER_OPERATORS, OPERATOR, {"conditions": conditions.merged(made, wanted)})


async def until_progressing(world: World, status: str, text: str) -> None:
    def said(operator: dict[str, Any]) -> bool:
        found = conditions.find(operator, "Progressing")
        return found.get("status") == status and text in found.get("message", "")

    what = f"Progressing={status} {text}"
    await polling.until(what, lambda: world.api.get(kinds.CLUSTER_OPERATORS, OPERATOR), 20.0, holds=said)


async def test_it_follows_a_whole_transition_and_the_cluster_waits_for_it(world: World, tmp_path: pathlib.Path) -> None:
    await furnish(world)
    place, log = tmp_path / "kubeconfig-example", tmp_path / "example.log"
    place.write_text(yaml.safe_dump(world.server.kubeconfig()))
    flags = ("--kubeconfig", place, "--namespace", NAMESPACE, "--deployment", DEPLOYMENT, "--operator", OPERATOR)
    # Its library keeps certificates in files that a process which is killed leaves behind.
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "error", "TMPDIR": str(tmp_path)}
    started = await processes.logged(sys.executable, EXAMPLE, *flags, log=log, env=environment)
    async with processes.killed_after(started, 4 * processes.SECONDS) as example:
        await until_progressing(world, "False", "1 of 1 replicas for control plane topology SingleReplica")
        await world.idle_operator()
        before = await deployment(world)
        await world.ask_for()
        await world.until_phase("Converging")
        await until_progressing(world, "True", "1 of 2 replicas for control plane topology HighlyAvailable")
        await polling.until(
            "the cluster waits for it", lambda: world.check("ClusterOperatorsStable", stage="Convergence"), 20.0,
            holds=lambda found: found.get("status") == "Unmet" and "example" in found["message"],
        )  # fmt: skip
        await make_ready(world)
        await until_progressing(world, "False", "2 of 2 replicas")
        await world.completed_once()
        after = await deployment(world)
        assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1, "it was scaled once"
        example.send_signal(signal.SIGTERM)
        assert await example.wait() == 0
    assert "Traceback" not in log.read_text()
