"""What an administrator types, with a real kubectl: the patch of the README, and the columns.

The cluster is the simulator's box with its actors and the operator as a process: what `make cluster` gives. kubectl is
looked for in KUBEBUILDER_ASSETS, then where hack/envtest built it, then on the PATH if it is 1.30 or newer.
"""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from test import polling, processes
from topology_simulator import box, kinds, pace, scenario
from topology_simulator.actors import kubelets
from topology_simulator.envtest import binaries

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator

    from test.component import backend

_REPOSITORY = pathlib.Path(__file__).parents[2]
_COLUMNS = ["NAME", "DESIRED", "CONTROL-PLANE", "INFRASTRUCTURE", "PHASE", "PROBLEM", "PROGRESS", "AGE"]


def needed() -> str:
    """Return the kubectl to use. Raises binaries.MissingError."""
    return str(binaries.folder() / "kubectl")


@dataclass(frozen=True, slots=True)
class Terminal:
    """A second terminal beside a running cluster."""

    binary: str
    home: pathlib.Path
    box: box.Box

    def _environment(self) -> dict[str, str]:
        path = f"{pathlib.Path(sys.executable).parent}:{os.defpath}"
        return {"KUBECONFIG": str(self.box.kubeconfig), "HOME": str(self.home), "PATH": path}

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        """Start a kubectl that goes on until it is ended."""
        return await processes.started(self.binary, *arguments, env=self._environment())

    async def kubectl(self, *arguments: str, given: str = "", code: int = 0) -> processes.Ended:
        """Run kubectl to its end, which must have this exit code."""
        ended = await processes.run(self.binary, *arguments, given=given, env=self._environment())
        assert ended.code == code, f"kubectl {' '.join(arguments)}: {ended}"
        return ended

    async def paste(self, command: str) -> str:
        """Run a kubectl command as it was printed, which must succeed; return what it prints."""
        program, *words = shlex.split(command)
        assert program == "kubectl", command
        return (await self.kubectl(*words)).printed


@pytest.fixture
async def terminal(apiserver: backend.Place, tmp_path: pathlib.Path) -> AsyncIterator[Terminal]:
    binary = needed()
    async with (
        apiserver.served() as served,
        box.opened(scenario.load("happy-path"), pace.FAST, tmp_path, served=served) as opened,
    ):
        made = Terminal(binary, tmp_path, opened)

        async def spoken() -> bool:
            found = await opened.api.get(kinds.INFRASTRUCTURES, "cluster")
            return bool((found["status"].get("topologyTransition") or {}).get("available"))

        await polling.until("the operator has said what could be asked for", spoken)
        yield made


def _request(topology: str | None) -> list[str]:
    patch = json.dumps({"spec": {"desiredTopology": topology}})
    return ["patch", "infrastructure", "cluster", "--type", "merge", "-p", patch]


async def test_the_patch_of_the_readme_moves_the_cluster(terminal: Terminal) -> None:
    patch = """kubectl patch infrastructure cluster --type merge -p '{"spec":{"desiredTopology":"HighlyAvailable"}}'"""
    readme = (_REPOSITORY / "README.md").read_text()
    assert patch in readme
    assert "kubectl wait --for=jsonpath='{.status.topologyTransition.phase}'=Completed" in readme
    before = await terminal.kubectl("get", "infrastructures")
    assert before.rows[0] == _COLUMNS
    assert before.rows[1][:4] == ["cluster", "SingleReplica", "SingleReplica", "Idle"]
    for name in ("master-1", "master-2"):
        await kubelets.join(terminal.box.api, name)
    said = await terminal.kubectl(*_request("HighlyAvailable"))
    assert said.printed == "infrastructure.config.openshift.io/cluster patched\n"
    waited = await terminal.kubectl(
        "wait",
        "--for=jsonpath={.status.topologyTransition.phase}=Completed",
        "infrastructure/cluster",
        "--timeout=120s",
    )
    assert waited.printed == "infrastructure.config.openshift.io/cluster condition met\n"
    after = await terminal.kubectl("get", "infrastructures")
    assert after.rows[0] == _COLUMNS
    assert after.rows[1][:-1] == ["cluster", *["HighlyAvailable"] * 3, "Completed", "20/20"]
    wide = await terminal.kubectl("get", "infrastructures", "-o", "wide")
    assert wide.rows[0] == [*_COLUMNS[:-1], "MESSAGE", "AGE"]
    assert "20/20      The transition to HighlyAvailable/HighlyAvailable is completed. Left to do: " in wide.printed
    explained = await terminal.kubectl("explain", "infrastructure.status.topologyTransition.phase")
    assert "Converging: the topology has changed, and the cluster follows" in " ".join(explained.printed.split())
    nodes = await terminal.kubectl("get", "nodes")
    assert nodes.rows[0] == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert [row[:3] for row in nodes.rows[1:]] == [
        [f"master-{number}", "Ready", "control-plane,master,worker"] for number in range(3)
    ]
    operators = await terminal.kubectl("get", "co", "topology")
    assert operators.rows[0] == ["NAME", "VERSION", "AVAILABLE", "PROGRESSING", "DEGRADED", "SINCE"]
    assert operators.rows[1][2:5] == ["True", "False", "False"]
    for kind in ("events", "events.events.k8s.io"):

        async def told(kind: str = kind) -> bool:
            # Events are sent after the write that they tell of.
            return "TransitionCompleted" in (await terminal.kubectl("get", kind)).printed

        await polling.until("the end is told", told)
        events = await terminal.kubectl("get", kind)
        assert events.rows[0] == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
        assert "TransitionCompleted" in events.printed
    assert "kubectl events --for infrastructure/cluster" in readme
    happened = await terminal.kubectl("events", "--for", "infrastructure/cluster")
    # The nodes may have been ready at once, or not.
    assert [row[2] for row in happened.rows[1:] if row[2] != "TransitionBlocked"] == [
        "TransitionRequested", "TransitionAdmitted", "TopologyChanged", "TransitionCompleted",
    ]  # fmt: skip
