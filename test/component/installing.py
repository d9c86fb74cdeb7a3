"""Somebody who installs the operator on a cluster that has never heard of it, with a terminal and the pages.

`Empty` is the cluster on a real API server of its own: the run's other one has the operator's rights from the start.
`Administrator` has `oc`, `kubectl` and the program, and runs what a page says. OPERATOR_PROGRAM names the program: that
in the folder of a built image, for instance; without it, it is this checkout.
"""

from __future__ import annotations

import asyncio
import os
import pathlib
import shlex
import sys
from dataclasses import dataclass

import yaml

from test.component import inventory, real
from test.component.test_kubectl import needed
from topology_api import crd, crd_patch
from topology_controller import manifests
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import install, kinds

NAMESPACE = "openshift-topology-operator"
NAME = "cluster-topology-operator"
_REPOSITORY = pathlib.Path(__file__).parents[2]
_PATIENCE = 60.0
_CHECKOUT = [sys.executable, "-m", "topology_controller"]


class Empty(real.Session):
    """A real API server with a cluster that has never heard of this operator."""

    async def _furnish(self) -> None:
        async with clients.Client(self.access(), "installer") as api, inventory.Inventory(self.server) as held:
            whole = crd.infrastructure(manifests.edges())
            await api.create(kinds.DEFINITIONS, crd_patch.apply(whole, crd_patch.remove(whole)))
            await install.install(api, simulated.Shape(masters=3), reuse=True)
            if await api.find(kinds.NAMESPACES, NAMESPACE) is not None:
                await api.delete(kinds.NAMESPACES, NAMESPACE)
                await held.let_go(NAMESPACE)
            for name in ("openshift-monitoring", "openshift-config-managed"):
                if await api.find(kinds.NAMESPACES, name) is None:
                    await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(name))


def _given() -> list[str]:
    """Return the program that was named; a path in it is one in the repository."""
    words = shlex.split(os.environ.get("OPERATOR_PROGRAM", ""))
    return [str(_REPOSITORY / words[0]), *words[1:]] if words and "/" in words[0] else words


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended."""

    code: int
    printed: str
    complaint: str


class Administrator:
    """Somebody with a terminal: `oc`, `kubectl` and the program are on the PATH."""

    def __init__(self, session: Empty, folder: pathlib.Path) -> None:
        self.folder = folder
        bin_ = folder / "bin"
        bin_.mkdir()
        kubectl = needed()
        for name in ("oc", "kubectl"):
            (bin_ / name).symlink_to(kubectl)
        (folder / "kubeconfig").write_text(yaml.safe_dump(session.server.kubeconfig()))
        self.program = _given() or _CHECKOUT
        self._environment = {
            "KUBECONFIG": str(folder / "kubeconfig"),
            "HOME": str(folder),
            "PATH": f"{bin_}{os.pathsep}{os.defpath}",
        }

    async def tries(self, *command: str, given: str = "") -> Said:
        """Run a command to its end."""
        pipe = asyncio.subprocess.PIPE
        started = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, env=self._environment, cwd=self.folder
        )
        try:
            async with asyncio.timeout(_PATIENCE):
                printed, complaint = await started.communicate(given.encode())
        finally:
            if started.returncode is None:
                started.kill()
                await started.wait()
        return Said(started.returncode or 0, printed.decode(), complaint.decode())

    async def oc(self, *arguments: str, given: str = "") -> str:
        """Run oc, which must succeed; return what it printed."""
        said = await self.tries(str(self.folder / "bin" / "oc"), *arguments, given=given)
        assert said.code == 0, f"oc {' '.join(arguments)}: {said.complaint}"
        return said.printed

    async def prints(self, *flags: str) -> str:
        """Let the program print manifests."""
        said = await self.tries(*self.program, "manifests", *flags)
        assert said.code == 0, said.complaint
        return said.printed
