"""Who comes to the operator's own port on a real API server: accounts with tokens, and an operator that serves TLS.

The embedded API server knows no TokenReview, so these are for the real one. What is made here is taken away again: the
server is everybody's.
"""

from __future__ import annotations

import contextlib
import functools
import ssl
from typing import TYPE_CHECKING, Any

from test import polling
from topology_simulator import client as clients
from topology_simulator import kinds, serving

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import process, real
    from test.component import world as worlds

NAMESPACE = "default"
ACCOUNTS = kinds.Kind("", "serviceaccounts", "ServiceAccount", namespaced=True)
_BINDINGS = kinds.Kind("rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding")
_REVIEWS = kinds.Kind("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview")
REVIEWS = frozenset({"tokenreviews", "subjectaccessreviews"})
METRICS_ROLE = "cluster-topology-operator-metrics"
_PATHS = {METRICS_ROLE: "/metrics"}


class MetricsClients:
    """Accounts by name; each is bound to the roles that it is made with."""

    def __init__(self, api: clients.Client) -> None:
        self._api = api

    @contextlib.asynccontextmanager
    async def account(self, name: str, *roles: str) -> AsyncIterator[str]:
        """Make a ServiceAccount, and lend a token of it, once its rights count."""
        async with contextlib.AsyncExitStack() as stack:
            await self._made(stack, ACCOUNTS, ACCOUNTS.new(name, NAMESPACE))
            for role in roles:
                await stack.enter_async_context(self.bound(name, role))
            yield await self.token(name)

    @contextlib.asynccontextmanager
    async def bound(self, name: str, role: str) -> AsyncIterator[None]:
        """Bind an account to a role, from when that counts until it is left."""
        async with contextlib.AsyncExitStack() as stack:
            subject = {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}
            group = {"apiGroup": "rbac.authorization.k8s.io"}
            bound = _BINDINGS.new(
                f"{name}-{role}", roleRef={**group, "kind": "ClusterRole", "name": role}, subjects=[subject]
            )
            await self._made(stack, _BINDINGS, bound)
            path = _PATHS[role]
            await polling.until(f"{name} may get {path}", functools.partial(self._may, name, path))
            yield

    async def token(self, name: str) -> str:
        """Have a token issued."""
        kind = kinds.Kind("", f"serviceaccounts/{name}/token", "TokenRequest", namespaced=True)
        meta = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {"namespace": NAMESPACE}}
        return str((await self._api.create(kind, {**meta, "spec": {"expirationSeconds": 3600}}))["status"]["token"])

    async def _made(self, stack: contextlib.AsyncExitStack, kind: kinds.Kind, obj: dict[str, Any]) -> dict[str, Any]:
        made = await self._api.create(kind, obj)
        stack.push_async_callback(self.forget, kind, obj["metadata"]["name"], obj["metadata"].get("namespace", ""))
        return made

    async def forget(self, kind: kinds.Kind, name: str, namespace: str = "") -> None:
        """Delete; what is gone is as well."""
        try:
            await self._api.delete(kind, name, namespace)
        except clients.ApiError as error:
            if error.code != 404:
                raise

    async def _may(self, name: str, path: str) -> bool:
        spec = {
            "user": f"system:serviceaccount:{NAMESPACE}:{name}",
            "nonResourceAttributes": {"verb": "get", "path": path},
        }
        made = {"apiVersion": _REVIEWS.api_version, "kind": _REVIEWS.kind, "metadata": {}, "spec": spec}
        return bool((await self._api.create(_REVIEWS, made))["status"]["allowed"])


def trusting(given: serving.Serving) -> ssl.SSLContext:
    """Return a context of somebody who trusts who serves, and has nothing to show."""
    return ssl.create_default_context(cafile=str(given.scraper("nobody").authority))


class Served:
    """An operator process that serves TLS; `nobody` is the way in of who has nothing to show."""

    def __init__(self, operator: process.Operator, given: serving.Serving, folder: pathlib.Path) -> None:
        self.operator = operator
        self.serving = given
        self._folder = folder

    @property
    def nobody(self) -> ssl.SSLContext:
        """A new context of somebody who trusts who serves, and shows nothing."""
        return trusting(self.serving)

    async def ask(self, path: str, token: str = "") -> tuple[int, str]:
        """GET a path with a token, or with nothing."""
        return await self.operator.ask(path, headers={"Authorization": f"Bearer {token}"} if token else None)


async def served(world: worlds.World, session: real.Session, folder: pathlib.Path) -> Served:
    """Start an operator with a serving certificate, and wait until it is ready and lets in who has a certificate."""
    given = serving.Serving(folder, session.server.client_authority)
    operator = await world.operator("operator-a", "--serving-cert-dir", str(given.certificates), wait=False)
    made = Served(operator, given, folder)
    operator.tls = made.nobody
    await operator.ready()
    prometheus = given.scraper().tls()

    async def let_in() -> bool:
        return (await operator.ask("/metrics", tls=prometheus))[0] == 200

    await polling.until("the client CA was read", let_in)
    return made
