"""Two clusters for the tests of placement elsewhere: the site, which is acted on, and the one where the lease is held.

Both are embedded servers, or both are real ones, each with what `manifests --elsewhere` prints for it and no other
right. `Pair` is what a test works with. It asks the second cluster about each write that an operator sends to the site
while that write waits to be executed: a write by an operator that does not hold the lease there fails the test.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from typing import TYPE_CHECKING, Any

import yaml

from test import polling
from test.component import backend, cluster, real
from topology_deploy import manifests
from topology_simulator import client as clients
from topology_simulator import kinds, kubeconfig
from topology_simulator.envtest import server as servers

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import process
    from test.component.world import World
    from topology_simulator import cluster as simulated
    from topology_simulator.apiserver.requests import Request

NAMESPACE = "topology-edge-1"
_USER = servers.User(
    f"system:serviceaccount:{NAMESPACE}:cluster-topology-operator",
    ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated"),
)


class Site(real.Session):
    """A real API server of a cluster that is acted on from elsewhere."""

    def manifests(self) -> str:
        return manifests.elsewhere("target", None, cluster.OWN_NAMESPACE, monitoring=False)


class Management(real.Session):
    """A real API server of a cluster where the operator runs: nothing of OpenShift is there."""

    def __init__(self) -> None:
        super().__init__()
        self.server = servers.RealServer(dict.fromkeys(real.TOKENS, _USER))

    async def _furnish(self) -> None:
        async with clients.Client(self.access(), "installer") as api:
            await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(NAMESPACE))
            text = manifests.elsewhere("management", None, NAMESPACE, monitoring=False)
            await real.grant(api, text, _USER)

    async def _furnish_with(self, _: simulated.Shape | None) -> None:
        """Delete the lease; nothing else is made there."""
        async with clients.Client(self.access(), "installer") as api:
            with contextlib.suppress(clients.ApiError):
                await api.delete(kinds.LEASES, cluster.OWN_LEASE, NAMESPACE)


class _RealManagement(backend.Real):
    async def start(self) -> None:
        await self._session.furnish(None)
        await super().start()

    def refusals(self) -> list[str]:
        """Return what the audit log says of it."""
        return [f"{one.verb} {one.uri}" for one in self._audit.read() if one.user == _USER.name and one.code == 403]


class Pair:
    """The site's world, and the other cluster: `local` is its server, `api` the administrator's client there."""

    def __init__(self, world: World, local: backend.Server, api: clients.Client, folder: pathlib.Path) -> None:
        self.world = world
        self.local = local
        self.api = api
        self._folder = folder
        self.unfenced: list[str] = []
        self.elsewhere: dict[str, str] = {}
        """Who holds the lease while an operator with this token writes."""
        world.server.before(self._by_one_of_ours, self._judge, count=None)

    # -- operators

    async def operator(
        self, name: str = "operator-a", *flags: str, wait: bool = True, **options: Any
    ) -> process.Operator:
        """Start an operator that is placed elsewhere."""
        site, lease = self._folder / f"{name}.site", self._folder / f"{name}.lease"
        self.write(site, self.world.server.kubeconfig(), name)
        self.write(lease, self.local.kubeconfig(), name)
        self.elsewhere[name] = name
        placed = ("--lease-kubeconfig", str(lease), "--lease-namespace", NAMESPACE)
        return await self.world.operator(name, *placed, *flags, file=site, wait=wait, **options)

    @staticmethod
    def write(file: pathlib.Path, access: dict[str, Any], token: str) -> None:
        """Write a kubeconfig with this token, in one step."""
        named = {**access, "users": [{"name": one["name"], "user": {"token": token}} for one in access["users"]]}
        file.with_suffix(".new").write_text(yaml.safe_dump(named))
        file.with_suffix(".new").rename(file)

    # -- what is seen

    async def lease(self) -> dict[str, Any]:
        """Read the spec of the lease in the other cluster."""
        found = await self.api.find(kinds.LEASES, cluster.OWN_LEASE, NAMESPACE)
        spec: dict[str, Any] = (found or {}).get("spec") or {}
        return spec

    async def holder(self) -> str:
        """Read who holds it."""
        return str((await self.lease()).get("holderIdentity") or "").partition("_")[0]

    async def held_by(self, name: str, seconds: float = 10.0) -> None:
        """Wait until an operator holds it."""
        await polling.until(f"the lease is held by {name}", self.holder, seconds, holds=lambda found: found == name)

    async def not_ready(self, operator: process.Operator, *texts: str) -> None:
        """Wait until an operator is not ready, and all these texts are in its reasons."""

        def said(answer: tuple[int, str]) -> bool:
            return answer[0] == 500 and all(wanted in answer[1] for wanted in texts)

        await polling.until(f"/readyz says {texts}", lambda: operator.ask("/readyz"), 15.0, holds=said)

    def writes(self, name: str) -> int:
        """Return how many writes of an operator have come to the site."""
        return sum(one.who == name for one in self.world.server.writes)

    # -- the judge

    def _by_one_of_ours(self, request: Request) -> bool:
        if request.verb not in {"create", "update", "patch", "delete"} or not backend.by_operator(request):
            return False
        return backend.who(request) in self.elsewhere

    async def _judge(self, request: Request) -> None:
        spec = await self.lease()
        name = backend.who(request)
        holder = str(spec.get("holderIdentity") or "").partition("_")[0]
        renewed = dt.datetime.fromisoformat(spec.get("renewTime", "1970-01-01T00:00:00Z"))
        age = (dt.datetime.now(dt.UTC) - renewed).total_seconds()
        if holder != self.elsewhere[name] or age > spec.get("leaseDurationSeconds", 0):
            self.unfenced.append(f"{name}: {request.verb} {request.path}; the lease is {holder}'s, {age:.1f} s old")


@contextlib.asynccontextmanager
async def opened(world: World, session: Management | None, folder: pathlib.Path) -> AsyncIterator[Pair]:
    """Open the second cluster beside a world; embedded without a session."""
    local: backend.Server = backend.Embedded() if session is None else _RealManagement(session)
    await local.start()
    try:
        async with clients.Client(kubeconfig.access(local.kubeconfig()), "administrator") as api:
            if session is None:
                await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(NAMESPACE))
            made = Pair(world, local, api, folder)
            yield made
            for one in world.operators:
                await one.kill()
            assert not made.unfenced, made.unfenced
            written = [one for one in local.writes if one.resource not in {"tokenreviews", "subjectaccessreviews"}]
            assert not written, [str(one) for one in written]
            refused = local.refusals()
            assert not refused, refused
    finally:
        await local.stop()
