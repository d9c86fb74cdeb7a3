"""What the tests of serving stand on: certificates, a cluster that answers reviews, and a server with short times."""

import asyncio
import contextlib
import dataclasses
import pathlib
import ssl
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import yarl
from aiohttp import web
from test import polling

from topology_controller.kube import client as clients
from topology_controller.kube import errors, watch
from topology_controller.serve import authn, tls
from topology_controller.serve import server as servers
from topology_simulator.etcd import certificates

PROMETHEUS = "system:serviceaccount:openshift-monitoring:prometheus-k8s"
SERVICES = certificates.Authority("services")
CLIENTS = certificates.Authority("clients")
STRANGERS = certificates.Authority("clients")
USUAL = servers.Limits()
QUICK = dataclasses.replace(USUAL, silent=0.6, keep_alive=0.6, request=1.0, stream=1.5)


@dataclass
class Cluster:
    """Stands in for `kube.client.Client`: knows tokens, grants paths, and holds the two objects that are watched.

    `asked` are the reviews, by kind. `trouble` makes every review end with this error; `slow` makes it take so long.
    """

    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    grants: set[tuple[str, str]] = field(default_factory=set)
    profile: dict[str, Any] | None = None
    client_ca: str | None = None
    trouble: type[errors.KubeError] | None = None
    slow: float = 0.0
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    request_timeout: float = 10.0
    _version: int = 1
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def know(self, token: str, name: str, *paths: str) -> None:
        self.tokens[token] = {"username": name, "uid": f"uid of {name}", "groups": ["system:authenticated"]}
        self.grants |= {(name, path) for path in paths}

    def change(self, **fields: Any) -> None:
        """Change `profile` (the spec of APIServer) or `client_ca`, and let the watches know."""
        for name, value in fields.items():
            setattr(self, name, value)
        self._version += 1
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def times(self, kind: str) -> int:
        return sum(1 for one, _ in self.asked if one == kind)

    async def create(self, resource: Any, body: dict[str, Any], *, timeout: float) -> dict[str, Any]:  # noqa: ASYNC109 - the client's own signature
        self.asked.append((resource.kind, body["spec"]))
        if self.slow:
            async with asyncio.timeout(timeout):
                await asyncio.sleep(self.slow)
        if self.trouble is not None:
            raise self.trouble("create", resource, None, None, 0, self.trouble.__name__, "no way")
        spec = body["spec"]
        if resource.kind == "TokenReview":
            user = self.tokens.get(spec["token"])
            status = (
                {"authenticated": False, "error": "unknown"} if user is None else {"authenticated": True, "user": user}
            )
            return {**body, "status": status}
        path = spec["nonResourceAttributes"]["path"]
        return {**body, "status": {"allowed": (spec["user"], path) in self.grants}}

    async def list(self, selection: Any, reduce: Any, **_: Any) -> clients.Listing[dict[str, Any]]:
        found = tuple(reduce(one) for one in self._objects(selection.resource.kind))
        return clients.Listing(found, str(self._version))

    @contextlib.asynccontextmanager
    async def open_watch(self, selection: Any, version: str, *_: Any) -> AsyncIterator[AsyncIterator[Any]]:
        yield self._events(selection.resource.kind, int(version))

    async def _events(self, kind: str, seen: int) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        while True:
            changed = self._changed
            if seen < self._version:
                seen = self._version
                for one in self._objects(kind):
                    yield "MODIFIED", one
            await changed.wait()

    def _objects(self, kind: str) -> Sequence[dict[str, Any]]:
        meta = {"name": "cluster", "resourceVersion": str(self._version)}
        if kind == "APIServer":
            return [] if self.profile is None else [{"metadata": meta, "spec": self.profile}]
        if self.client_ca is None:
            return []
        meta = {**meta, "name": "extension-apiserver-authentication", "namespace": "kube-system"}
        return [{"metadata": meta, "data": {"client-ca-file": self.client_ca}}]


def serving_pair(folder: pathlib.Path) -> pathlib.Path:
    """Put a new serving certificate into a folder."""
    return certificates.write(folder, SERVICES.certificate, SERVICES.member("serving"))


def client_tls(
    folder: pathlib.Path, pair: certificates.Pair | None = None, *, newest: ssl.TLSVersion | None = None
) -> ssl.SSLContext:
    """Return a client's context that trusts the server; `newest` is the latest version that it speaks."""
    context = ssl.create_default_context(cadata=SERVICES.certificate.decode())
    if pair is not None:
        place = certificates.write(folder, SERVICES.certificate, pair)
        context.load_cert_chain(place / certificates.CERTIFICATE_FILE, place / certificates.KEY_FILE)
    if newest is not None:
        context.maximum_version = newest
    return context


def context(server: servers.Server) -> ssl.SSLContext:
    """The newest TLS context of this server."""
    assert server._security is not None
    return server._security.tls.current


def open_files() -> int:
    """How many files this process has open."""
    return sum(1 for _ in pathlib.Path("/proc/self/fd").iterdir())


async def said(request: web.Request) -> web.Response:
    return web.Response(text=f"this is {request.path}\n")


ROUTES = tuple(web.get(path, said) for path in ("/healthz", "/metrics", "/", "/state"))


@contextlib.asynccontextmanager
async def running(server: servers.Server, *others: Coroutine[None, None, None]) -> AsyncIterator[servers.Server]:
    """Let a server accept, and others work beside it."""
    async with server:
        tasks = [asyncio.create_task(work) for work in (server.run(), *others)]
        try:
            yield server
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def served(
    cluster: Cluster,
    folder: pathlib.Path,
    routes: Iterable[web.RouteDef] = ROUTES,
    *,
    limits: servers.Limits = USUAL,
    period: float = 0.1,
) -> AsyncIterator[servers.Server]:
    """Serve over TLS, and wait until the cluster's settings were read."""
    quick = watch.Timing(first=0.05, cap=0.1, settle=0.05)
    client: Any = cluster
    followed = tls.ServingTLS(client, folder, timing=quick, period=period)
    made = servers.Security(followed, authn.Reviews(client))
    server = servers.Server(servers.Address("127.0.0.1", 0), routes, made, limits=limits)
    async with running(server, made.tls.run()):
        await polling.until("the settings were read", lambda: all(made.tls.last_activity().values()))
        yield server


@contextlib.asynccontextmanager
async def session(tls: ssl.SSLContext) -> AsyncIterator[aiohttp.ClientSession]:
    """Lend a client."""
    limit = aiohttp.ClientTimeout(total=10)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls), timeout=limit) as made:
        yield made


async def get(server: servers.Server, tls: ssl.SSLContext, path: str, **headers: str) -> tuple[int, str]:
    """GET a path by a connection of its own."""
    async with session(tls) as client, client.get(yarl.URL(url(server, path), encoded=True), headers=headers) as answer:
        return answer.status, await answer.text()


def url(server: servers.Server, path: str) -> str:
    return f"https://127.0.0.1:{server.bound}{path}"
