"""The engines as processes: where the programs are (hack/engines is asked), how they are started, and their kinds.

They are real and unchanged. What differs from a cluster is where they run: beside their API servers, with a kubeconfig
file in place of a mounted one, without leader election, and on a free port of loopback. They look for news every two
seconds (ten are the default), and evaluate a policy once a second at most (five).
"""

import abc
import contextlib
import functools
import pathlib
import shutil
from typing import Any

from .. import binaries, client, install, kubeconfig, opened
from ..envtest import server
from ..etcd import keeping

PLACEMENT, MANAGER, AGENT, POLICIES = "placement", "work-manager", "work-agent", "config-policy-controller"
SYNC_SECONDS = 2
_EVALUATION_SECONDS = 1
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

    async def placement(self, hub: pathlib.Path) -> None:
        """Start placement. Raises KeepingError."""
        await self._start(PLACEMENT, "placement", "controller", *_served(hub))

    async def manager(self, hub: pathlib.Path) -> None:
        """Start the work manager with ManifestWorkReplicaSets, which are behind an alpha gate. Raises KeepingError."""
        gates = "--feature-gates=ManifestWorkReplicaSet=true"
        await self._start(MANAGER, "work", "manager", *_served(hub), gates)

    async def agent(self, cluster: str, hub: pathlib.Path, spoke: pathlib.Path) -> None:
        """Start a cluster's work agent; the kubeconfigs are its restricted identities. Raises KeepingError."""
        await self._start(
            AGENT,
            "work",
            "agent",
            *_served(spoke),
            f"--spoke-cluster-name={cluster}",
            f"--workload-source-config={hub}",
            f"--agent-id={cluster}-agent",
            f"--status-sync-interval={SYNC_SECONDS}s",
        )

    async def policies(self, cluster: str, spoke: pathlib.Path) -> None:
        """Start a config-policy-controller; the kubeconfig is its restricted identity. Raises KeepingError."""
        (port,) = keeping.free_ports(1)
        await self._start(
            POLICIES,
            "config-policy-controller",
            "controller",
            f"--kubeconfig={spoke}",
            f"--cluster-name={cluster}",
            f"--health-probe-bind-address=127.0.0.1:{port}",
            "--metrics-bind-address=0",
            "--leader-elect=false",
            f"--evaluation-backoff={_EVALUATION_SECONDS}",
            WATCH_NAMESPACE=POLICY_NAMESPACE,
        )

    async def start_again(self, name: str) -> None:
        """Start a program that was stopped, with the same command line. Raises KeepingError."""
        await self.start(name, self._commands[name])

    async def _start(self, name: str, program: str, *arguments: str, **environment: str) -> None:
        settings = [f"{key}={value}" for key, value in environment.items()]
        self._commands[name] = ["/usr/bin/env", *settings, str(folder() / program), *arguments]
        await self.start_again(name)


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


def _served(kubeconfig: pathlib.Path) -> tuple[str, ...]:
    (port,) = keeping.free_ports(1)
    return (
        f"--kubeconfig={kubeconfig}",
        "--namespace=open-cluster-management",
        f"--listen=127.0.0.1:{port}",
        "--disable-leader-election",
    )
