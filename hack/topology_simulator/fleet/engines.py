"""The engines as processes: where the programs are (hack/engines is asked), how they are started, and their kinds.

They are real and unchanged, and run beside their API servers, with the flags of engines.yaml.
"""

import abc
import contextlib
import functools
import pathlib
import shutil
from typing import Any

import yaml

from .. import binaries, client, install, kinds, kubeconfig, opened
from ..envtest import server
from ..etcd import keeping

PLACEMENT, MANAGER, AGENT, POLICIES = "placement", "work-manager", "work-agent", "config-policy-controller"
_ENGINES: dict[str, dict[str, Any]] = yaml.safe_load(pathlib.Path(__file__).with_name("engines.yaml").read_text())
POLICY_NAMESPACE = "managed"
"""Where a cluster keeps its policies; the copy of a hub's policies (governance-policy-framework-addon) is not here."""


@functools.cache
def folder() -> pathlib.Path:
    """Return the folder that holds the programs. Raises binaries.MissingError, one line that says what to do."""
    return binaries.asked_of("engines", "path")


def definitions() -> list[dict[str, Any]]:
    """Return the engines' own definitions, of a hub and of its clusters. Raises binaries.MissingError."""
    place = binaries.asked_of("engines", "crds")
    return [install.definition(path.read_text()) for path in sorted(place.glob("*.yaml"))]


class Engines(keeping.Keeping):
    """Programs of one cluster, hub or spoke; they end with their context, and with their parent."""

    def __init__(self) -> None:
        super().__init__("fleet-")
        self._commands: dict[str, list[str]] = {}

    def kubeconfig(self, name: str, content: dict[str, Any]) -> pathlib.Path:
        """Write a kubeconfig and return its place."""
        return kubeconfig.write(self.folder / f"{name}.kubeconfig", content)

    async def run(self, name: str, **words: object) -> None:
        """Start an engine; `words` are for its flags: kubeconfigs of restricted identities. Raises KeepingError."""
        entry, (port,) = _ENGINES[name], keeping.free_ports(1)
        command = ["/usr/bin/env", *entry.get("environment", ()), str(folder() / entry["program"])]
        self._commands[name] = command + kinds.filled(entry["flags"], port=port, **words)
        await self.start_again(name)

    async def start_again(self, name: str) -> None:
        """Start a program that was stopped, with the same command line. Raises KeepingError."""
        await self.start(name, self._commands[name])


class Site(opened.Opened):
    """What hub and clusters have in common: a real API server, engines beside it, an administrator.

    Logs are copied to `folder` when it closes.
    """

    api: client.Client

    def __init__(self, real: server.RealServer, folder: pathlib.Path) -> None:
        super().__init__()
        self.server = real
        self.engines = Engines()
        self._folder = folder

    async def _open(self, parts: contextlib.AsyncExitStack) -> None:
        await parts.enter_async_context(self.server)
        await parts.enter_async_context(self.engines)
        parts.callback(self._keep_logs)
        access = kubeconfig.access(self.server.kubeconfig())
        self.api = await parts.enter_async_context(client.Client(access, "fleet-harness", strict=True))
        await self._furnish(parts)

    def _keep_logs(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for source in (self.server.folder, self.engines.folder):
            for log in source.glob("*.log"):
                shutil.copy(log, self._folder / log.name)

    @abc.abstractmethod
    async def _furnish(self, parts: contextlib.AsyncExitStack) -> None:
        """Make what belongs there, and start the engines."""
