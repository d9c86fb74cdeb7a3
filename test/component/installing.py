"""Somebody who installs the operator on a cluster that has never heard of it, with a terminal and the pages.

`Empty` is the cluster on a real API server of its own: the run's other one has the operator's rights from the start.
The namespace controller and the garbage collector run there. Those of workloads do not: the simulated cluster answers
for its Deployments itself.
`Administrator` has `oc`, `kubectl` and the program, and runs what a page says. OPERATOR_PROGRAM names the program that
then runs as the operator: that in the folder of a built image, for instance; without it, it is this checkout.
"""

from __future__ import annotations

import functools
import operator
import os
import pathlib
import shlex
import sys
from typing import Any

import yaml

from test import polling, processes
from test.component import documented, real
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import install, kinds
from topology_simulator.envtest import openshift

NAMESPACE = "openshift-topology-operator"
NAME = "cluster-topology-operator"
_REPOSITORY = pathlib.Path(__file__).parents[2]
PAGE = _REPOSITORY / "docs" / "operations.md"
_PATIENCE = 60.0
_CONTROLLERS = ("namespace-controller", "garbage-collector-controller")
"""Nothing empties a namespace or takes dependents along otherwise; even an idle controller watches every kind."""
_CHECKOUT = [sys.executable, "-m", "topology_deploy"]


def converting() -> list[documented.Command]:
    """Return the commands of the recommended way, up to Completed."""
    return documented.below(PAGE, "### For one conversion")


def uninstalling() -> list[documented.Command]:
    """Return the commands of the section, up to where it begins to look."""
    found = documented.below(PAGE, "## Uninstall")
    return [one for one in found if "--ignore-not-found" not in one.text or one.sort is documented.Sort.PIPED][:-1]


class Empty(real.Session):
    """A real API server with a cluster that has never heard of this operator."""

    async def _furnish(self) -> None:
        async with clients.Client(self.access(), "installer") as api:
            await install.install(api, simulated.Shape(masters=3), crds=openshift.payload())
            await self.server.start_controllers(*_CONTROLLERS)
            await without_namespace(api, NAMESPACE)
            for name in ("openshift-monitoring", "openshift-config-managed"):
                if await api.find(kinds.NAMESPACES, name) is None:
                    await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(name))


async def without_namespace(api: clients.Client, namespace: str) -> None:
    """Let there be no such namespace."""
    if await api.find(kinds.NAMESPACES, namespace):
        await api.delete(kinds.NAMESPACES, namespace)
        find = functools.partial(api.find, kinds.NAMESPACES, namespace)
        await polling.until(f"namespace {namespace} is gone", find, _PATIENCE, holds=operator.not_)


def _given() -> list[str]:
    """Return the program that was named; a path in it is one in the repository."""
    words = shlex.split(os.environ.get("OPERATOR_PROGRAM", ""))
    return [str(_REPOSITORY / words[0]), *words[1:]] if words and "/" in words[0] else words


class Administrator:
    """A person with a terminal: `oc`, `kubectl` and the program are on the PATH, `access` is the kubeconfig."""

    def __init__(self, access: dict[str, Any], folder: pathlib.Path) -> None:
        self.folder = folder
        bin_ = folder / "bin"
        bin_.mkdir()
        kubectl = documented.kubectl()
        for name in ("oc", "kubectl"):
            (bin_ / name).symlink_to(kubectl)
        (folder / "kubeconfig").write_text(yaml.safe_dump(access))
        self.operator = _given() or _CHECKOUT
        (bin_ / NAME).write_text(f'#!/bin/sh\nexec {shlex.join(_CHECKOUT)} "$@"\n')
        (bin_ / NAME).chmod(0o755)
        self._environment = {
            "KUBECONFIG": str(folder / "kubeconfig"),
            "HOME": str(folder),
            "PATH": f"{bin_}{os.pathsep}{os.defpath}",
        }

    async def tries(self, *command: str, given: str = "") -> processes.Ended:
        """Run a command to its end."""
        return await processes.run(*command, given=given, env=self._environment, cwd=self.folder)

    async def oc(self, *arguments: str, given: str = "") -> str:
        """Run oc, which must succeed; return what it printed."""
        said = await self.tries(str(self.folder / "bin" / "oc"), *arguments, given=given)
        assert said.code == 0, f"oc {' '.join(arguments)}: {said.complaint}"
        return said.printed

    async def types(self, line: str) -> str:
        """Run one line of a page as it stands there, which must succeed; return what it printed."""
        said = await self.tries("/bin/sh", "-c", line)
        assert said.code == 0, f"{line}: {said.printed}{said.complaint}"
        return said.printed

    async def stamped(self, versions: list[dict[str, str]]) -> list[dict[str, str]]:
        """Return printed versions as the operator's program has them: that of a built image has a commit besides."""
        version = (await self.tries(*self.operator, "version")).printed.split()[-1]
        return [{**one, "version": version} for one in versions]

    async def prints(self, *flags: str) -> str:
        """Let the program print manifests."""
        said = await self.tries(*_CHECKOUT, "manifests", *flags)
        assert said.code == 0, said.complaint
        return said.printed
