"""Authentication and authorization, in front of every path that is not open.

* `right_for` is the table of paths. A right is a path in the sense of RBAC's `nonResourceURLs`, verb get; what is not
  named there is closed. The page has a path of its own, because OpenShift grants `/` to every authenticated user.
* `Filter` takes the user of a request from a client certificate that the handshake has verified, else from a bearer
  token, else from the session of a browser; the first that is there decides, as in kube-apiserver. 401 is for no
  accepted credentials (a browser gets the form of `sign_in`), 403 names the ClusterRole that would help.
* `Reviews` asks the API server (TokenReview, SubjectAccessReview). Without an answer the request is refused with 503.
* `Sessions` are the browsers that have signed in.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import shlex
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from aiohttp import web

from ..kube import errors
from ..kube import resource as resources

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..kube import client as clients

_LOG = logging.getLogger(__name__)
K = TypeVar("K")
V = TypeVar("V")
TOKENS = resources.Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview")
ACCESS = resources.Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview")
AUTHENTICATED = "system:authenticated"
PROMETHEUS = "system:serviceaccount:openshift-monitoring:prometheus-k8s"
"""May scrape without a review: OpenShift's conventions, so that scrapes do not depend on the API server."""
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
COOKIE = "topology_session"
_CACHED = 256
_SESSIONS = 64
_LONGEST_TOKEN = 8 * 1024


@dataclass(frozen=True, slots=True)
class Right:
    """`path` is what a role has to grant, `role` the shipped ClusterRole; `always` are users without a review."""

    path: str
    role: str
    always: frozenset[str] = frozenset()


METRICS = Right("/metrics", "cluster-topology-operator-metrics", frozenset({PROMETHEUS}))
PAGE = Right("/cluster-topology-operator/page", "cluster-topology-operator-page")
OPEN = frozenset({"/healthz", "/livez", "/readyz", SIGN_IN, SIGN_OUT})


def route_path(request: web.Request) -> str:
    """Return the path of the route that will answer, not as it was written in the request; "" when there is none."""
    resource = request.match_info.route.resource
    return "" if resource is None else resource.canonical


def right_for(path: str) -> Right | None:
    """Return the right that the route of a path asks for; None for what is open to everybody."""
    if path in OPEN:
        return None
    return METRICS if path == METRICS.path else PAGE


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
    """At most `size` values, each for some seconds of the loop's clock; the one that ends first is dropped."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[K, tuple[float, V]] = {}

    def get(self, key: K) -> V | None:
        """Return a value, None when there is none or it has ended."""
        ends, value = self._kept.get(key, (0.0, None))
        if value is None or asyncio.get_running_loop().time() < ends:
            return value
        del self._kept[key]
        return None

    def put(self, key: K, value: V, seconds: float) -> None:
        """Keep a value for so long from now."""
        self.remove(key)
        if len(self._kept) >= self._size:
            del self._kept[min(self._kept, key=lambda kept: self._kept[kept][0])]
        self._kept[key] = (asyncio.get_running_loop().time() + seconds, value)

    def remove(self, key: K) -> None:
        """Keep it no longer, if it is kept."""
        self._kept.pop(key, None)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds for which reviews are believed (`known`, `unknown`: tokens; `yes`, `no`: access), and the bounds.

    The first four are those of controller-runtime's filter for metrics and of OpenShift's conventions. `answer`: how
    long one review may take. At most `at_once` at a time, `rate` a second in the long run and `burst` in a moment: any
    client makes this process ask, and the API server allots it one share for all, the renewal of the lease included.
    """

    known: float = 60.0
    unknown: float = 10.0
    yes: float = 300.0
    no: float = 30.0
    answer: float = 10.0
    at_once: int = 4
    rate: float = 10.0
    burst: int = 40


DEFAULT = Timing()


class Reviews:
    """The two reviews, and their results for as long as they are believed.

    A token is kept as its SHA-256 only. Unknown tokens have a cache of their own, so that a flood of them does not push
    out those that are known.
    """

    def __init__(self, client: clients.Client, timing: Timing = DEFAULT) -> None:
        self._client = client
        self._timing = timing
        self._known: Cache[bytes, Identity] = Cache(_CACHED)
        self._unknown: Cache[bytes, bool] = Cache(_CACHED)
        self._allowed: Cache[tuple[Identity, str], bool] = Cache(_CACHED)
        self._at_once = asyncio.Semaphore(timing.at_once)
        self._left = float(timing.burst)
        self._counted = 0.0
        self._logged = ""

    async def identity(self, token: str) -> Identity | None:
        """Return whose token it is, None for one that is not known. Raises Undecided."""
        if not 0 < len(token) <= _LONGEST_TOKEN or not (token.isascii() and token.isprintable()) or " " in token:
            return None
        key = hashlib.sha256(token.encode()).digest()
        user = self._known.get(key)
        if user is None and self._unknown.get(key) is None:
            async with self._at_once:
                # Another request may have asked the same meanwhile.
                user = self._known.get(key)
                if user is None and self._unknown.get(key) is None:
                    user = _identity(await self._ask(TOKENS, {"token": token}))
                    if user is None:
                        self._unknown.put(key, True, self._timing.unknown)  # noqa: FBT003 - a value that is kept
                    else:
                        self._known.put(key, user, self._timing.known)
        return user

    async def allowed(self, user: Identity, path: str) -> bool:
        """Tell whether a user may get this path (`nonResourceURLs`). Raises Undecided."""
        key = (user, path)
        allowed = self._allowed.get(key)
        if allowed is None:
            async with self._at_once:
                allowed = self._allowed.get(key)
                if allowed is None:
                    # All that is known of a user counts, as the scopes of a token do.
                    extra = {name: list(values) for name, values in user.extra}
                    spec: dict[str, Any] = {"user": user.name, "groups": list(user.groups), "extra": extra}
                    spec |= {"uid": user.uid} if user.uid else {}
                    spec["nonResourceAttributes"] = {"verb": "get", "path": path}
                    status = await self._ask(ACCESS, spec)
                    allowed = status.get("allowed") is True and status.get("denied") is not True
                    self._allowed.put(key, allowed, self._timing.yes if allowed else self._timing.no)
        return allowed

    async def _ask(self, resource: resources.Resource, spec: dict[str, Any]) -> dict[str, Any]:
        """Return the status of a review."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._left = min(float(self._timing.burst), self._left + (now - self._counted) * self._timing.rate)
        self._counted = now
        if self._left < 1.0:
            raise Undecided("too many reviews at the moment: try again in a second")
        self._left -= 1.0
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}, "spec": spec}
        try:
            try:
                review = await self._client.create(resource, body, timeout=self._timing.answer)
            except errors.Unreachable:
                # Most likely a kept connection that the server had closed. A review can be repeated, unlike a write.
                left = now + self._timing.answer - loop.time()
                review = await self._client.create(resource, body, timeout=max(1.0, left))
        except errors.KubeError as error:
            raise self._unanswered(error) from error
        status = review.get("status")
        return status if isinstance(status, dict) else {}

    def _unanswered(self, error: errors.KubeError) -> Undecided:
        if str(error) != self._logged:
            self._logged = str(error)
            _LOG.warning("a request was neither authenticated nor authorized: %(why)s", {"why": self._logged})
        if isinstance(error, errors.Forbidden | errors.Unauthorized):
            return Undecided(f"this operator is not allowed to ask the API server for {error.resource.label}")
        return Undecided("the API server, which knows who may see this, cannot be asked at the moment")


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
    return Identity(
        name,
        str(user.get("uid") or ""),
        tuple(str(group) for group in user.get("groups") or ()),
        tuple(sorted((str(key), tuple(str(value) for value in values or ())) for key, values in pairs)),
    )


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


class Sessions:
    """Browsers that have signed in, at most 64: a random id in a cookie, and the token that it stands for.

    The token is reviewed as if it were sent with every request: when it ends, so does the session. It is masked with a
    key derived from the cookie, and kept under a digest of it: neither the token nor the cookie is in memory.
    """

    def __init__(self, lasting: float = 3600.0) -> None:
        self.lasting = lasting
        self._kept: Cache[bytes, bytes] = Cache(_SESSIONS)

    def begin(self, token: str) -> str:
        """Keep a token and return the value of the cookie."""
        cookie = secrets.token_urlsafe(32)
        self._kept.put(_digest(b"place", cookie), _masked(cookie, token.encode()), self.lasting)
        return cookie

    def token(self, cookie: str) -> str | None:
        """Return the token of a session; None when there is no such session."""
        kept = self._kept.get(_digest(b"place", cookie))
        return None if kept is None else _masked(cookie, kept).decode()

    def end(self, cookie: str) -> None:
        """End a session."""
        self._kept.remove(_digest(b"place", cookie))


def _masked(cookie: str, content: bytes) -> bytes:
    """Mask or unmask; each cookie is random and used for one token only."""
    return bytes(a ^ b for a, b in zip(content, _digest(b"mask", cookie, len(content)), strict=True))


def _digest(use: bytes, cookie: str, length: int = 32) -> bytes:
    return hashlib.shake_256(use + cookie.encode("utf-8", "surrogateescape")).digest(length)


class Filter:
    """Decides about each request. `form` makes the page to sign in, of a status and a problem or ""."""

    def __init__(self, reviews: Reviews, sessions: Sessions, form: Callable[[int, str], web.Response]) -> None:
        self._reviews = reviews
        self._sessions = sessions
        self._form = form

    async def refusal(self, request: web.Request, right: Right) -> web.Response | None:
        """Return the response to a request that is refused; None when it is authorized."""
        try:
            user = await self._user(request)
            if user is None:
                return self._unauthorized(request)
            if user.name in right.always or await self._reviews.allowed(user, right.path):
                return None
        except Undecided as error:
            return web.Response(status=503, text=f"{error}\n", headers={"Retry-After": "1"})
        return web.Response(status=403, text=f"{forbidden(user.name, right)}\n")

    async def _user(self, request: web.Request) -> Identity | None:
        user = certified(request.get_extra_info("peercert"))
        if user is not None:
            return user
        credentials = request.headers.getall("Authorization", ())
        if credentials:
            scheme, _, token = credentials[0].strip().partition(" ")
            if len(credentials) > 1 or scheme.lower() != "bearer":
                return None
            return await self._reviews.identity(token.strip())
        cookie = request.cookies.get(COOKIE, "")
        token_of_session = self._sessions.token(cookie)
        if token_of_session is None:
            return None
        user = await self._reviews.identity(token_of_session)
        if user is None:
            self._sessions.end(cookie)
        return user

    def _unauthorized(self, request: web.Request) -> web.Response:
        tried = "Authorization" in request.headers or COOKIE in request.cookies
        if "text/html" in request.headers.get("Accept", "") and "Authorization" not in request.headers:
            response = self._form(401, "Your session has ended." if tried else "")
        elif tried:
            response = web.Response(status=401, text="these credentials are not accepted\n")
        else:
            text = "who are you? Send a client certificate or Authorization: Bearer TOKEN\n"
            response = web.Response(status=401, text=text)
        response.headers["WWW-Authenticate"] = "Bearer"
        if COOKIE in request.cookies:
            forget_session(response)
        return response


def forget_session(response: web.Response) -> None:
    """Delete the cookie in the browser."""
    response.del_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="Strict")


def forbidden(name: str, right: Right) -> str:
    """Say what a user may not do, and what would help."""
    shown = errors.clean(name, 200)
    return (
        f'user "{shown}" may not get "{right.path}"; who is bound to ClusterRole {right.role} may: '
        f"oc adm policy add-cluster-role-to-user {right.role} {shlex.quote(shown)}"
    )
