"""Authentication and authorization, in front of every path that is not open.

Probes are open. Everything else asks for one right, get of the path `/metrics` (`nonResourceURLs` of RBAC). `refusal`
takes the user of a request from a client certificate that the handshake has verified, else from a bearer token.
`Reviews` asks the API server; without an answer the request is refused with 503.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import ssl
import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from aiohttp import web

from .. import shell, terminal
from ..kube import errors
from ..kube import resource as resources

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..kube import client as clients

_LOG = logging.getLogger(__name__)
K = TypeVar("K")
V = TypeVar("V")
TOKENS = resources.Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview")
ACCESS = resources.Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview")
AUTHENTICATED = "system:authenticated"
PROMETHEUS = "system:serviceaccount:openshift-monitoring:prometheus-k8s"
"""May scrape without a review: OpenShift's conventions, so that scrapes do not depend on the API server."""
_CACHED = 256
_LONGEST_TOKEN = 8 * 1024
PATH, ROLE = "/metrics", "cluster-topology-operator-metrics"
"""What a role has to grant, and the shipped ClusterRole that does."""
OPEN = frozenset({"/healthz", "/livez", "/readyz"})


def route_path(request: web.Request) -> str:
    """Return the path of the route that will answer, not as it was written in the request; "" when there is none."""
    resource = request.match_info.route.resource
    return "" if resource is None else resource.canonical


@dataclass(frozen=True, slots=True)
class Identity:
    """A user, as the API server names it. `extra` is what it adds, such as the scopes of a token."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Undecided(Exception):  # noqa: N818 - says what is the case; every caller sees the module's name before it
    """A request cannot be authenticated or authorized at the moment; the text is the answer."""


class Cache(Generic[K, V]):
    """At most `size` values, each for some seconds. Beyond that false values go first, then the one that ends first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[K, tuple[float, V]] = {}
        """When it ends, and the value."""

    def get(self, key: K) -> tuple[V | None, bool]:
        """Return a value, None when there is none, and whether it still lasts."""
        ends, value = self._kept.get(key, (0.0, None))
        return value, asyncio.get_running_loop().time() < ends

    def put(self, key: K, value: V, seconds: float) -> None:
        """Keep a value for so long from now."""
        if key not in self._kept and len(self._kept) >= self._size:
            del self._kept[min(self._kept, key=lambda kept: (bool(self._kept[kept][1]), self._kept[kept][0]))]
        self._kept[key] = (asyncio.get_running_loop().time() + seconds, value)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds for which reviews of tokens (`known`, `unknown`) and access are believed, and the bounds."""

    known: float = 60.0
    unknown: float = 10.0
    yes: float = 300.0
    no: float = 30.0
    answer: float = 10.0  # for one review
    at_once: int = 4
    # Reviews a second, and in a moment, of what was not good before: any client makes this process ask, and the API
    # server allots it one share, the lease's included.
    rate: float = 10.0
    burst: int = 20


class Reviews:
    """The two reviews, and their results for as long as they are believed. A token is kept as its SHA-256 only."""

    def __init__(self, client: clients.Client, timing: Timing = Timing()) -> None:
        self._client, self._timing = client, timing
        self._tokens: Cache[bytes, Identity | Literal[False]] = Cache(_CACHED)
        self._allowed: Cache[tuple[Identity, str], bool] = Cache(_CACHED)
        self._asking: weakref.WeakValueDictionary[object, asyncio.Lock] = weakref.WeakValueDictionary()
        self._at_once = asyncio.Semaphore(timing.at_once)
        self._left = float(timing.burst)
        self._counted = 0.0
        self._logged = ""

    async def identity(self, token: str) -> Identity | None:
        """Return whose token it is, None for one that is not known. Raises Undecided."""
        if not 0 < len(token) <= _LONGEST_TOKEN or not (token.isascii() and token.isprintable()) or " " in token:
            return None

        async def review() -> tuple[Identity | Literal[False], float]:
            user = _identity(await self._ask(TOKENS, {"token": token}))
            return (False, self._timing.unknown) if user is None else (user, self._timing.known)

        return await self._once(self._tokens, hashlib.sha256(token.encode()).digest(), review) or None

    async def allowed(self, user: Identity, path: str) -> bool:
        """Tell whether a user may get this path (`nonResourceURLs`). Raises Undecided."""

        async def review() -> tuple[bool, float]:
            # All that is known of a user counts, as the scopes of a token do.
            extra = {name: list(values) for name, values in user.extra}
            spec: dict[str, Any] = {"user": user.name, "groups": list(user.groups), "extra": extra}
            spec |= {"uid": user.uid} if user.uid else {}
            status = await self._ask(ACCESS, spec | {"nonResourceAttributes": {"verb": "get", "path": path}})
            allowed = status.get("allowed") is True and status.get("denied") is not True
            return allowed, self._timing.yes if allowed else self._timing.no

        return await self._once(self._allowed, (user, path), review)

    async def _once(self, cache: Cache[K, V], key: K, review: Callable[[], Awaitable[tuple[V, float]]]) -> V:
        """Return what is kept, else ask and keep it; requests that need the same wait for one review."""
        async with self._asking.setdefault(key, asyncio.Lock()):
            kept, lasts = cache.get(key)
            if kept is None or not lasts:
                if not kept:
                    self._spend()
                async with self._at_once:
                    kept, seconds = await review()
                cache.put(key, kept, seconds)
            return kept

    def _spend(self) -> None:
        """Take one from the budget of reviews. Raises Undecided when it is spent."""
        now = asyncio.get_running_loop().time()
        self._left = min(float(self._timing.burst), self._left + (now - self._counted) * self._timing.rate)
        self._counted = now
        if self._left < 1.0:
            raise Undecided("too many reviews at the moment: try again in a second")
        self._left -= 1.0

    async def _ask(self, resource: resources.Resource, spec: dict[str, Any]) -> dict[str, Any]:
        """Return the status of a review."""
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}, "spec": spec}
        try:
            review = await self._client.create(resource, body, timeout=self._timing.answer)
        except errors.KubeError as error:
            if str(error) != self._logged:
                self._logged = str(error)
                _LOG.warning("a request was neither authenticated nor authorized: %(why)s", {"why": self._logged})
            why = "the API server, which knows who may see this, cannot be asked at the moment"
            if isinstance(error, errors.Forbidden | errors.Unauthorized):
                why = f"this operator is not allowed to ask the API server for {error.resource.label}"
            raise Undecided(why) from error
        status = review.get("status")
        return status if isinstance(status, dict) else {}


def _identity(status: dict[str, Any]) -> Identity | None:
    """Read the status of a TokenReview; anything that is not plainly a user is none."""
    user = status.get("user")
    if status.get("authenticated") is not True or not isinstance(user, dict):
        return None
    name = user.get("username")
    if not isinstance(name, str) or not name:
        return None
    extra = user.get("extra")
    pairs = extra.items() if isinstance(extra, dict) else ()
    groups = tuple(str(group) for group in user.get("groups") or ())
    further = tuple(sorted((str(key), tuple(str(value) for value in values or ())) for key, values in pairs))
    return Identity(name, str(user.get("uid") or ""), groups, further)


def certified(certificate: dict[str, Any] | None) -> Identity | None:
    """Return whom a verified certificate names, as Kubernetes reads it: the common name, and organisations as groups.

    None for no certificate, for one that has expired since the handshake, and for one without exactly one common name.
    """
    if not certificate:
        return None
    try:
        if ssl.cert_time_to_seconds(str(certificate["notAfter"])) <= time.time():
            return None
    except (KeyError, ValueError):
        return None
    parts = [pair for entry in certificate.get("subject", ()) for pair in entry]
    names = [value for key, value in parts if key == "commonName"]
    groups = [value for key, value in parts if key == "organizationName"]
    if len(names) != 1 or not names[0]:
        return None
    return Identity(names[0], groups=tuple(dict.fromkeys((*groups, AUTHENTICATED))))


async def refusal(request: web.Request, reviews: Reviews) -> web.Response | None:
    """Return the response to a request that is refused; None when it is authorized."""
    if route_path(request) in OPEN:
        return None
    try:
        user = certified(request.get_extra_info("peercert"))
        if user is not None and user.name == PROMETHEUS:
            return None
        user = user or await reviews.identity(_token(request))
        if user is None:
            sent = "Authorization" in request.headers
            text = "no credentials: send a client certificate or Authorization: Bearer TOKEN"
            text = "these credentials are not accepted" if sent else text
            return web.Response(status=401, text=f"{text}\n", headers={"WWW-Authenticate": "Bearer"})
        allowed = await reviews.allowed(user, PATH)
    except Undecided as error:
        return web.Response(status=503, text=f"{error}\n", headers={"Retry-After": "1"})
    return None if allowed else web.Response(status=403, text=f"{_forbidden(user.name)}\n")


def _token(request: web.Request) -> str:
    """Return the token of `Authorization: Bearer`; "" for none, for another scheme, and for more than one header."""
    credentials = request.headers.getall("Authorization", ())
    scheme, _, token = credentials[0].strip().partition(" ") if len(credentials) == 1 else ("", "", "")
    return token.strip() if scheme.lower() == "bearer" else ""


def _forbidden(name: str) -> str:
    shown = terminal.clean(name, 200)
    command = shell.command("oc adm policy add-cluster-role-to-user {} {}", ROLE, shown)
    return f'user "{shown}" may not get "{PATH}"; users who are bound to ClusterRole {ROLE} may: {command}'
