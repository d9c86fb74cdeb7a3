"""Who comes to the operator's own port on a real API server: accounts with tokens, and an operator that serves TLS.

The embedded API server knows no TokenReview, so these are for the real one. What is made here is taken away again: the
server is everybody's.
"""

from __future__ import annotations

import contextlib
import ssl
from typing import TYPE_CHECKING

from test import polling
from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from test.component import process
    from topology_simulator import client as clients
    from topology_simulator import serving

NAMESPACE = "default"
METRICS_ROLE = "cluster-topology-operator-metrics"
_RBAC = "rbac.authorization.k8s.io"
_ACCOUNTS = kinds.Kind("", "serviceaccounts", "ServiceAccount", namespaced=True)
_BINDINGS = kinds.Kind(_RBAC, "clusterrolebindings", "ClusterRoleBinding")
_REVIEWS = kinds.Kind("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview")


@contextlib.asynccontextmanager
async def account(api: clients.Client, name: str, role: str = "") -> AsyncIterator[str]:
    """Make a ServiceAccount, bound to a role if any, and lend a token of it once its rights count."""
    await api.create(_ACCOUNTS, _ACCOUNTS.new(name, NAMESPACE))
    subject = {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role}
    user = f"system:serviceaccount:{NAMESPACE}:{name}"
    asked = {"user": user, "nonResourceAttributes": {"verb": "get", "path": "/metrics"}}
    review = {"apiVersion": _REVIEWS.api_version, "kind": _REVIEWS.kind, "metadata": {}, "spec": asked}

    async def may() -> bool:
        return bool((await api.create(_REVIEWS, review))["status"]["allowed"])

    try:
        if role:
            await api.create(_BINDINGS, _BINDINGS.new(name, roleRef=reference, subjects=[subject]))
            await polling.until(f"{name} may get /metrics", may)
        kind = kinds.Kind("", f"serviceaccounts/{name}/token", "TokenRequest", namespaced=True)
        made = {"apiVersion": "authentication.k8s.io/v1", "kind": kind.kind, "metadata": {"namespace": NAMESPACE}}
        yield str((await api.create(kind, {**made, "spec": {"expirationSeconds": 3600}}))["status"]["token"])
    finally:
        await api.delete(_ACCOUNTS, name, NAMESPACE)
        if role:
            await api.delete(_BINDINGS, name)


def trusting(given: serving.Serving) -> ssl.SSLContext:
    """Return a context of somebody who trusts who serves, and has nothing to show."""
    return ssl.create_default_context(cafile=str(given.scraper("nobody").authority))


async def serving_tls(
    start: Callable[..., Awaitable[process.Operator]], given: serving.Serving, *flags: str
) -> process.Operator:
    """Start an operator with a serving certificate; wait until it is ready and lets in who has a certificate."""
    operator = await start("operator-a", "--serving-cert-dir", str(given.certificates), *flags, wait=False)
    operator.tls = trusting(given)
    await operator.ready()
    prometheus = given.scraper().tls()

    async def let_in() -> bool:
        return (await operator.ask("/metrics", tls=prometheus))[0] == 200

    await polling.until("the client CA was read", let_in)
    return operator
