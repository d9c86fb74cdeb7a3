"""Somebody who installs the operator on a cluster that has never heard of it, with a terminal and the pages.

`Empty` is the cluster on a real API server of its own: the run's other one has the operator's rights from the start.
The namespace controller and the garbage collector run there where something is deleted. Those of workloads do not: the
simulated cluster answers for its Deployments itself.
`Administrator` has `oc`, `kubectl` and the program, and runs what a page says. OPERATOR_PROGRAM names the program that
then runs as the operator: that in the folder of a built image, for instance; without it, it is this checkout.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shlex
import sys
from typing import TYPE_CHECKING, Any

import yaml

from test import polling, processes
from test.component import documented, process, real
from topology_simulator import client as clients
from topology_simulator import install, kinds, serving
from topology_simulator.envtest import openshift

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from topology_simulator import cluster as simulated

NAMESPACE = "openshift-topology-operator"
NAME = "cluster-topology-operator"
_REPOSITORY = pathlib.Path(__file__).parents[2]
PAGE = _REPOSITORY / "docs" / "operations.md"
_SECONDS = 30.0
CONTROLLERS = ("namespace-controller", "garbage-collector-controller")
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

    def __init__(self, shape: simulated.Shape, *controllers: str) -> None:
        super().__init__()
        self._wanted, self._controllers = shape, controllers

    async def _furnish(self) -> None:
        async with clients.Client(self.access(), "installer") as api:
            ours = (kinds.NAMESPACES, "", NAMESPACE)
            await install.install(api, self._wanted, crds=openshift.payload(), there={ours})
            if self._controllers:
                await self.server.start_controllers(*self._controllers)
            for name in ("openshift-monitoring", "openshift-config-managed"):
                if await api.find(kinds.NAMESPACES, name) is None:
                    await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(name))


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


def objects(text: str) -> list[dict[str, Any]]:
    return [one for one in yaml.load_all(text, yaml.CSafeLoader) if one]


def _arguments(printed: str, folder: pathlib.Path, certificates: pathlib.Path) -> list[str]:
    """The arguments of the Deployment, with what is mounted in its pod put into a folder, and on a free port."""
    (deployment,) = [one for one in objects(printed) if one["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    volumes = {one["name"]: one for one in pod["volumes"]}
    given = {one["metadata"]["name"]: one.get("data") or {} for one in objects(printed) if one["kind"] == "ConfigMap"}
    replaced = {"--bind-address=:8443": "--bind-address=127.0.0.1:0", "$(POD_NAMESPACE)": NAMESPACE}
    replaced["--page-address=127.0.0.1:8080"] = "--page-address=127.0.0.1:0"
    for mount in container["volumeMounts"]:
        volume, place = volumes[mount["name"]], folder / "mounted" / mount["name"]
        if "secret" in volume and not volume["secret"].get("optional"):
            place = certificates
        else:
            place.mkdir(parents=True, exist_ok=True)
            for name, text in given.get(volume.get("configMap", {}).get("name"), {}).items():
                (place / name).write_text(text)
        replaced[mount["mountPath"]] = str(place)
    text = "\n".join(container["args"])
    for old, new in replaced.items():
        assert old in text, old
        text = text.replace(old, new)
    return text.split("\n")


@contextlib.asynccontextmanager
async def running(
    administrator: Administrator, empty: Empty, printed: str, token: str
) -> AsyncIterator[process.Operator]:
    """Run the program as the Deployment's pod does: its arguments, the token of its account, and no other right."""
    folder = administrator.folder
    (folder / "operator.kubeconfig").write_text(yaml.safe_dump(empty.server.kubeconfig(token)))
    served = serving.Serving(folder / "tls", empty.server.client_authority)
    log = folder / "operator.log"
    # What a test needs besides: where the API server is, and no patience.
    flags = ["--kubeconfig", str(folder / "operator.kubeconfig"), "--settle-seconds", "0", *process.LEASE]
    started = await processes.logged(
        *administrator.operator, *_arguments(printed, folder, served.certificates), *flags, log=log, cwd="/",
        env={"PATH": os.defpath, "PYTHONUNBUFFERED": "1", "POD_NAME": "operator", "POD_NAMESPACE": NAMESPACE},
    )  # fmt: skip
    operator = process.Operator("operator", log, started, served.tls())
    try:
        await operator.ready(_SECONDS)
        await polling.until(
            "Prometheus comes in by its certificate", lambda: operator.ask("/metrics"),
            holds=lambda answer: process.lets_in(answer) and "topology_info" in answer[1],
        )  # fmt: skip
        yield operator
    finally:
        await operator.kill()
    assert not operator.complaints(), operator.tail()


async def until_phase(api: clients.Client, phase: str, operator: process.Operator) -> None:
    def there(found: dict[str, Any]) -> bool:
        return bool((found["status"].get("topologyTransition") or {}).get("phase") == phase)

    try:
        await polling.until(f"phase {phase}", lambda: api.get(kinds.INFRASTRUCTURES, "cluster"), _SECONDS, holds=there)
    except AssertionError as error:
        found = await api.get(kinds.INFRASTRUCTURES, "cluster")
        raise AssertionError(f"{error}\n{yaml.safe_dump(found['status'])}\n{operator.tail()}") from None
