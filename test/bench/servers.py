"""The API servers that are measured against: the embedded one, and a real kube-apiserver with its own etcd.

Both offer the same: a kubeconfig for the administrator (the driver, the one who looks on, heartbeats), another one for
the operator and its floor, and what was asked of them. On the real one the operator and the floor are the operator's
ServiceAccount with the rights of `bindata/manifests` and nothing else, because authorization costs time; the embedded
one has neither users nor rights.
"""

from __future__ import annotations

import contextlib
import pathlib
import urllib.parse
from typing import TYPE_CHECKING, Any, Protocol

import aiohttp
import yaml

from topology_api import vocabulary
from topology_simulator import kinds, kubeconfig
from topology_simulator.envtest import server as envtest

from . import processes, requests

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from topology_simulator import client
    from topology_simulator.envtest import audit

KINDS = ("embedded", "real")
_MANIFESTS = pathlib.Path(__file__).parents[2] / "bindata" / "manifests"
_TOKEN = "operator"
_RBAC = "rbac.authorization.k8s.io"
_RIGHTS = {
    "ClusterRole": kinds.Kind(_RBAC, "clusterroles", "ClusterRole"),
    "ClusterRoleBinding": kinds.Kind(_RBAC, "clusterrolebindings", "ClusterRoleBinding"),
    "Role": kinds.Kind(_RBAC, "roles", "Role", namespaced=True),
    "RoleBinding": kinds.Kind(_RBAC, "rolebindings", "RoleBinding", namespaced=True),
}


class MeasuredServer(Protocol):
    """One API server. `admin` and `operator` are kubeconfig files."""

    admin: pathlib.Path
    operator: pathlib.Path

    async def grant(self, api: client.Client) -> None:
        """Give the operator its rights; the namespaces that they are about exist."""

    async def requests(self, since: float) -> list[requests.Request]:
        """Return what arrived since then (UNIX seconds), oldest first; heartbeats may be left out."""

    async def forget(self) -> None:
        """Drop what was recorded."""


class Embedded:
    """The simulator's own server, in a process of its own."""

    def __init__(self, file: pathlib.Path) -> None:
        self.admin = self.operator = file
        self._url = kubeconfig.load(file).server

    async def grant(self, api: client.Client) -> None:
        """It knows no rights."""

    async def requests(self, since: float) -> list[requests.Request]:
        """Ask its audit log."""
        query = urllib.parse.urlencode({"since": int(since)})
        timeout = aiohttp.ClientTimeout(total=20.0)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"{self._url}/simulator/requests?{query}") as response,
        ):
            found = [requests.from_embedded(raw) for raw in await response.json()]
        return [one for one in found if one.time >= since]

    async def forget(self) -> None:
        """Empty its audit log."""
        async with aiohttp.ClientSession() as session, session.delete(f"{self._url}/simulator/requests"):
            pass


class Real:
    """kube-apiserver and etcd with TLS, RBAC and an audit log."""

    def __init__(self, served: envtest.RealServer, folder: pathlib.Path, name: str) -> None:
        self.admin = _written(folder / f"{name}.admin.kubeconfig", served.kubeconfig())
        self.operator = _written(folder / f"{name}.kubeconfig", served.kubeconfig(_TOKEN))
        self._log: audit.Log = served.audit()
        self._known: list[requests.Request] = []

    async def grant(self, api: client.Client) -> None:
        """Apply roles and bindings as they are shipped."""
        for raw in _rights():
            await api.create(_RIGHTS[raw["kind"]], raw)

    async def requests(self, since: float) -> list[requests.Request]:
        """Read on in the audit log."""
        self._known += requests.from_audit(self._log.read())
        return sorted((one for one in self._known if one.time >= since), key=lambda one: one.time)

    async def forget(self) -> None:
        """Read from here on only."""
        self._log.skip()
        self._known.clear()


@contextlib.asynccontextmanager
async def opened(kind: str, folder: pathlib.Path, name: str) -> AsyncIterator[MeasuredServer]:
    """Run a server of one of KINDS; files go to `folder`. Raises BenchError, MissingError, RealServerError."""
    if kind == "embedded":
        async with processes.api_server(folder, name) as file:
            yield Embedded(file)
        return
    namespace = vocabulary.DEFAULT_NAMESPACE
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    account = envtest.User(f"system:serviceaccount:{namespace}:{vocabulary.OPERATOR_NAME}", groups)
    async with envtest.RealServer({_TOKEN: account}) as served:
        yield Real(served, folder, name)


def _rights() -> Iterator[dict[str, Any]]:
    for file in sorted(_MANIFESTS.glob("*.yaml")):
        for raw in yaml.safe_load_all(file.read_text()):
            if raw and raw["kind"] in _RIGHTS:
                yield raw


def _written(file: pathlib.Path, content: dict[str, Any]) -> pathlib.Path:
    file.touch(mode=0o600)
    file.write_text(yaml.safe_dump(content))
    return file
