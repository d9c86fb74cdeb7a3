"""What a kept cluster prints when it is up: how to reach it from a second terminal, and what to try there.

Every line that is shown as a command can be pasted as it stands; tests run them with kubectl on both API servers.
`demo` prints it.
"""

from __future__ import annotations

import json
import pathlib
import shlex
import sys
from collections.abc import Iterator

from . import cluster, levers, scenario
from .actors import kubelets

_DEFAULT = "HighlyAvailable"


def request(played: scenario.Scenario) -> str:
    """Return the command that makes the request of a scenario."""
    topology = next((step.request.topology for step in played.steps if step.request), _DEFAULT)
    body = json.dumps({"spec": {"desiredTopology": topology}}, separators=(",", ":"))
    return _merge("infrastructure", "cluster", body=body)


def environment(file: pathlib.Path) -> Iterator[str]:
    """Yield what the second terminal needs first; the programs of this environment, kubectl-topology among them."""
    yield f"export PATH={shlex.quote(str(pathlib.Path(sys.executable).parent))}:$PATH"
    yield f"export KUBECONFIG={shlex.quote(str(file))}"


def experiments(played: scenario.Scenario) -> Iterator[tuple[str, list[str]]]:
    """Yield what may be tried, in this order: a sentence, and the commands that do it.

    Where the scenario breaks something, that is to be found and repaired; else there is something to break.
    """
    if repairs := list(levers.commands(played)):
        yield "Find out what is wrong here:", ["kubectl topology status", "kubectl topology plan"]
        yield "Repair it, when you have seen enough. Nothing else does:", repairs
        return
    joined = [name for step in played.steps for name in step.join or ()]
    if joined:
        off, on = (shlex.join(["kubectl", "annotate", "node", joined[-1], kubelets.POWER + to]) for to in ("=off", "-"))
        yield (
            "Kill a node (kubectl topology plan says what that blocks), and start it again:",
            [off, on],
        )
        yield (
            "Kill a node, request, and cancel the request while it waits:",
            [off, request(played), "kubectl topology cancel", on],
        )
    if not played.cluster.hosted:
        router = _merge("ingresscontroller", "default", "-n", cluster.INGRESS_NAMESPACE, body='{"spec":{"replicas":1}}')
        yield (
            "Pin the router, then request; the status says how to release it:",
            [router, request(played), "kubectl topology status"],
        )


def lines(played: scenario.Scenario, file: pathlib.Path) -> Iterator[tuple[str, bool]]:
    """Yield the lines for a cluster with an operator, and whether each is a command."""
    requested = [request(played)] if not played.cluster.hosted else []
    commands = (
        *environment(file),
        "kubectl get infrastructures,clusteroperators,nodes",
        "kubectl topology status",
        *requested,
        "kubectl topology status --watch",
    )
    yield from ((command, True) for command in commands)
    for number, (sentence, tried) in enumerate(experiments(played), start=1):
        yield "", False
        yield f"Experiment {number}. {sentence}", False
        yield from ((command, True) for command in tried)


def _merge(*what: str, body: str) -> str:
    return shlex.join(["kubectl", "patch", *what, "--type", "merge", "-p", body])
