"""Which path asks for which right: one table, in which what is not named is closed.

A right is a path in the sense of RBAC's `nonResourceURLs`, verb get. The page has one of its own, because OpenShift
grants `/` to everybody who is known. The names of the roles are those in bindata/manifests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import web

PROMETHEUS = "system:serviceaccount:openshift-monitoring:prometheus-k8s"
"""Who may scrape without a question: OpenShift's conventions, so that scrapes do not depend on the API server."""
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"


@dataclass(frozen=True, slots=True)
class Right:
    """`path` is what a role has to grant, `role` the one that we bring, `always` who needs none."""

    path: str
    role: str
    always: frozenset[str] = frozenset()


METRICS = Right("/metrics", "cluster-topology-operator-metrics", frozenset({PROMETHEUS}))
PAGE = Right("/cluster-topology-operator/page", "cluster-topology-operator-page")
OPEN = frozenset({"/healthz", "/livez", "/readyz", SIGN_IN, SIGN_OUT})
STREAMS = frozenset({"/events"})
"""Answers that go on for as long as somebody listens."""


def path(request: web.Request) -> str:
    """Return the path of the page that will answer, "" when there is none.

    Not as it was asked for: there are many ways to write a path, and what decides is who answers.
    """
    resource = request.match_info.route.resource
    return "" if resource is None else resource.canonical


def right(found: str) -> Right | None:
    """Return the right that a page asks for; None for what is open to everybody."""
    if found in OPEN:
        return None
    return METRICS if found == METRICS.path else PAGE
