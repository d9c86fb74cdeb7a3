"""Who comes to the operator's own port on a real API server: accounts with tokens, and an operator that serves TLS.

The embedded API server knows no TokenReview, so these are for the real one. What is made here is taken away again: the
server is everybody's.
"""

from __future__ import annotations

import contextlib
import functools
import ssl
from typing import TYPE_CHECKING

from test import polling
from test.component import process, real
from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from topology_simulator import client as clients
    from topology_simulator import serving

NAMESPACE = "default"
METRICS_ROLE = "cluster-topology-operator-metrics"
_ACCOUNTS = kinds.Kind("", "serviceaccounts", "ServiceAccount", namespaced=True)
_REVIEWS = kinds.Kind("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview")


@contextlib.asynccontextmanager
async def account(api: clients.Client, name: str, role: str = "") -> AsyncIterator[str]:
    """Make a ServiceAccount, bound to a role if any, and lend a token of it once its rights count."""
    await api.create(_ACCOUNTS, _ACCOUNTS.new(name, NAMESPACE))
    user = f"system:serviceaccount:{NAMESPACE}:{name}"
    asked = {"user": user, "nonResourceAttributes": {"verb": "get", "path": "/metrics"}}
    review = {"apiVersion": _REVIEWS.api_version, "kind": _REVIEWS.kind, "metadata": {}, "spec": asked}

    try:
        if role:
            bound = real.bound(role, name, kind="ServiceAccount", name=name, namespace=NAMESPACE)
            await api.create(real.ROLE_BINDINGS, bound)
            await polling.until(
                f"{name} may get /metrics",
                lambda: api.create(_REVIEWS, review), holds=lambda found: found["status"]["allowed"],
            )  # fmt: skip
        kind = kinds.Kind("", f"serviceaccounts/{name}/token", "TokenRequest", namespaced=True)
        made = {"apiVersion": "authentication.k8s.io/v1", "kind": kind.kind, "metadata": {"namespace": NAMESPACE}}
        yield str((await api.create(kind, {**made, "spec": {"expirationSeconds": 3600}}))["status"]["token"])
    finally:
        await api.delete(_ACCOUNTS, name, NAMESPACE)
        if role:
            await api.delete(real.ROLE_BINDINGS, name)


def trusting(given: serving.Serving) -> ssl.SSLContext:
    """Return a context of somebody who trusts who serves, and has nothing to show."""
    return ssl.create_default_context(cafile=str(given.certificates / "ca.crt"))


async def serving_tls(
    start: Callable[..., Awaitable[process.Operator]], given: serving.Serving, *flags: str
) -> process.Operator:
    """Start an operator with a serving certificate; wait until it is ready and lets in who has a certificate."""
    operator = await start("operator-a", "--serving-cert-dir", str(given.certificates), *flags, wait=False)
    operator.tls = trusting(given)
    await operator.ready()
    prometheus = given.tls()
    asked = functools.partial(operator.ask, "/metrics", tls=prometheus)
    await polling.until("the client CA was read", asked, holds=process.lets_in)
    return operator
