"""Asks the API server who somebody is (TokenReview) and whether they may (SubjectAccessReview), and remembers.

How long, in seconds, is what controller-runtime's filter for metrics and OpenShift's conventions use: who, one minute;
yes, five minutes; no, half a minute. A token is remembered by its SHA-256 only.

Anybody who reaches the port can make us ask, so there are two bounds: few questions at once, and a rate that everybody
shares. Past it people are told to wait, because the API server allots us one share for everything, and the lease must
be renewed out of the same one. Prometheus with its certificate never needs a question.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..kube import errors
from ..kube import resource as resources
from . import memory

if TYPE_CHECKING:
    from ..kube import client as clients

TOKENS = resources.Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview")
ACCESS = resources.Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview")
_REMEMBERED = 256
_LONGEST_TOKEN = 8 * 1024
AUTHENTICATED = "system:authenticated"


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds for which answers are believed (`known`, `unknown`: tokens; `yes`, `no`: access), and the bounds.

    `answer`: how long one question may take. At most `at_once` are asked at a time, `rate` a second in the long run and
    `burst` in a moment.
    """

    known: float = 60.0
    unknown: float = 10.0
    yes: float = 300.0
    no: float = 30.0
    answer: float = 10.0
    at_once: int = 4
    rate: float = 10.0
    burst: int = 40


@dataclass(frozen=True, slots=True)
class Identity:
    """Who somebody is, as the API server says it. `extra` is what it said besides, such as the scopes of a token."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Unanswered(Exception):  # noqa: N818 - says what was found; every caller sees the module's name before it
    """The API server did not say; `error` is why."""

    def __init__(self, error: errors.KubeError) -> None:
        super().__init__(error)
        self.error = error


class TooMany(Exception):  # noqa: N818 - as above
    """More is asked than the API server should be bothered with; it is worth trying again in a second."""


class Reviews:
    """The two questions, with a memory."""

    def __init__(self, client: clients.Client, timing: Timing) -> None:
        self._client = client
        self._timing = timing
        self._known: memory.Memory[bytes, Identity] = memory.Memory(_REMEMBERED)
        self._unknown: memory.Memory[bytes, str] = memory.Memory(_REMEMBERED)
        self._answers: memory.Memory[tuple[Identity, str], bool] = memory.Memory(_REMEMBERED)
        self._places = asyncio.Semaphore(timing.at_once)
        self._left = float(timing.burst)
        self._counted = 0.0

    async def identity(self, token: str) -> Identity | None:
        """Return whose token it is, None for nobody's. Raises Unanswered, TooMany."""
        if not _is_token(token):
            return None
        key = hashlib.sha256(token.encode()).digest()
        told = self._told(key)
        if told is None:
            async with self._places:
                # Somebody else may have asked the same while we waited.
                told = self._told(key)
                if told is None:
                    told = self._learnt(key, _identity(await self._ask(TOKENS, {"token": token})))
        return told[0]

    async def allowed(self, identity: Identity, path: str) -> bool:
        """May they get this path (`nonResourceURLs`)? Raises Unanswered, TooMany."""
        key = (identity, path)
        told = self._answers.get(key)
        if told is None:
            async with self._places:
                told = self._answers.get(key)
                if told is None:
                    status = await self._ask(ACCESS, _access(identity, path))
                    told = status.get("allowed") is True and status.get("denied") is not True
                    self._answers.keep(key, told, self._timing.yes if told else self._timing.no)
        return told

    def _told(self, key: bytes) -> tuple[Identity | None] | None:
        found = self._known.get(key)
        if found is not None:
            return (found,)
        return None if self._unknown.get(key) is None else (None,)

    def _learnt(self, key: bytes, found: Identity | None) -> tuple[Identity | None]:
        if found is None:
            self._unknown.keep(key, "nobody", self._timing.unknown)
        else:
            self._known.keep(key, found, self._timing.known)
        return (found,)

    async def _ask(self, resource: resources.Resource, spec: dict[str, Any]) -> dict[str, Any]:
        """Return the status of a review."""
        self._count()
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}, "spec": spec}
        try:
            status = (await self._create(resource, body)).get("status")
        except errors.KubeError as error:
            raise Unanswered(error) from error
        return status if isinstance(status, dict) else {}

    async def _create(self, resource: resources.Resource, body: dict[str, Any]) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timing.answer
        try:
            return await self._client.create(resource, body, timeout=self._timing.answer)
        except errors.Unreachable:
            # Most likely a kept connection that the server had closed. A question can be asked twice, unlike a write.
            return await self._client.create(resource, body, timeout=max(1.0, deadline - loop.time()))

    def _count(self) -> None:
        now = asyncio.get_running_loop().time()
        self._left = min(float(self._timing.burst), self._left + (now - self._counted) * self._timing.rate)
        self._counted = now
        if self._left < 1.0:
            raise TooMany
        self._left -= 1.0


def _access(identity: Identity, path: str) -> dict[str, Any]:
    """What a SubjectAccessReview is asked; all that is known of somebody counts, as the scopes of a token do."""
    spec: dict[str, Any] = {
        "user": identity.name,
        "groups": list(identity.groups),
        "extra": {name: list(values) for name, values in identity.extra},
        "nonResourceAttributes": {"verb": "get", "path": path},
    }
    return {**spec, "uid": identity.uid} if identity.uid else spec


def _is_token(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_TOKEN and text.isascii() and text.isprintable() and " " not in text


def _identity(status: dict[str, Any]) -> Identity | None:
    """Take a TokenReview's answer; anything that is not plainly a user is nobody."""
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
        tuple(str(one) for one in user.get("groups") or ()),
        tuple(sorted((str(key), tuple(str(one) for one in values or ())) for key, values in pairs)),
    )
