"""The API servers that are measured against, the embedded one and a real kube-apiserver, and what they were asked.

Both offer the same: a kubeconfig for the administrator (the driver, the one who looks on), another one for the
operator, and the requests of their audit log in one form. On the real one the operator is its ServiceAccount with the
rights of `bindata/manifests` and nothing else, because authorization costs time; the embedded one knows neither.
"""

from __future__ import annotations

import contextlib
import urllib.parse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import yaml

from test.component import real
from topology_api import vocabulary
from topology_deploy import manifests
from topology_simulator import kubeconfig
from topology_simulator.envtest import server as envtest

from . import processes

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Iterable

    from topology_simulator import client
    from topology_simulator.envtest import audit

KINDS = ("embedded", "real")
WRITES = frozenset({"create", "update", "patch", "delete"})
_TOKEN = "operator"


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `time` is its arrival at the server in UNIX seconds, `code` 0 when it was never answered."""

    verb: str
    resource: str
    namespace: str
    name: str
    agent: str
    code: int
    time: float


def of_operator(found: Iterable[Request]) -> list[Request]:
    """What the operator asked, without its own lease and its events."""
    ours = [one for one in found if one.agent.startswith(vocabulary.OPERATOR_NAME)]
    own_lease = ("leases", vocabulary.DEFAULT_NAMESPACE)
    return [one for one in ours if (one.resource, one.namespace) != own_lease and one.resource != "events"]


class Embedded:
    """The simulator's own server, in a process of its own. `admin` and `operator` are kubeconfig files."""

    def __init__(self, file: pathlib.Path) -> None:
        self.admin = self.operator = file
        self._url = kubeconfig.load(file).server

    async def grant(self, api: client.Client) -> None:
        """It knows no rights."""

    async def requests(self, since: float) -> list[Request]:
        """Ask its audit log."""
        query = urllib.parse.urlencode({"since": int(since)})
        timeout = aiohttp.ClientTimeout(total=20.0)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"{self._url}/simulator/requests?{query}") as response,
        ):
            found = [
                Request(
                    verb="watch" if raw["watch"] else raw["verb"],
                    agent=raw["user_agent"],
                    **{field: raw[field] for field in ("resource", "namespace", "name", "code", "time")},
                )
                for raw in await response.json()
            ]
        return [one for one in found if one.time >= since]


class Real:
    """kube-apiserver and etcd with TLS, RBAC and an audit log."""

    def __init__(self, served: envtest.RealServer, folder: pathlib.Path) -> None:
        self.admin = _written(folder / "admin.kubeconfig", served.kubeconfig())
        self.operator = _written(folder / "operator.kubeconfig", served.kubeconfig(_TOKEN))
        self._log: audit.Log = served.audit()
        self._known: list[Request] = []

    async def grant(self, api: client.Client) -> None:
        """Apply roles and bindings as they are shipped."""
        await real.grant(api, manifests.render(monitoring=False))

    async def requests(self, since: float) -> list[Request]:
        """Read on in the audit log; a watch is told when it begins, or when it was refused."""
        self._known += [
            Request(one.verb, one.resource, one.namespace, one.name, one.agent, one.code, one.time)
            for one in self._log.read()
            if one.verb != "watch" or one.stage == "ResponseStarted" or one.code != 200
        ]
        return sorted((one for one in self._known if one.time >= since), key=lambda one: one.time)


MeasuredServer = Embedded | Real


@contextlib.asynccontextmanager
async def opened(kind: str, folder: pathlib.Path) -> AsyncIterator[MeasuredServer]:
    """Run a server of one of KINDS; files go to `folder`. Raises BenchError, MissingError, RealServerError."""
    if kind == "embedded":
        async with processes.api_server(folder) as (_, file):
            yield Embedded(file)
        return
    async with envtest.RealServer({_TOKEN: real.OPERATOR}) as served:
        yield Real(served, folder)


def _written(file: pathlib.Path, content: dict[str, Any]) -> pathlib.Path:
    file.touch(mode=0o600)
    file.write_text(yaml.safe_dump(content))
    return file
