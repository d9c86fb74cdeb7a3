"""The actors' client: plain HTTP to whatever API server a kubeconfig names.

Verbs and one endless `follow` (list, then watch from there, again and again), because an actor is to be no better
connected than a real operator. Every unary call has a deadline; a watch is renewed every few minutes and given up when
it says nothing for too long.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import aiohttp

from . import SimulatorError, kinds, kubeconfig, opened

_UNARY_SECONDS = 10.0
_WATCH_SECONDS = 240
_WATCH_GRACE_SECONDS = 30.0
_MERGE = "application/merge-patch+json"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_LONGEST_LINE = 4 << 20


class ClientError(SimulatorError):
    """A request that did not succeed."""


class ApiError(ClientError):
    """The server refused: `code` is the HTTP status, `reason` the API's word for it."""

    def __init__(self, verb: str, path: str, code: int, reason: str, message: str) -> None:
        super().__init__(f"{verb} {path}: {code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message

    @property
    def unknown_field(self) -> bool:
        """Whether a strict write had a field that its definition does not have: 400, and 422 for a patch."""
        return self.code in {400, 422} and "strict decoding error" in self.message


@contextlib.contextmanager
def allowing(*codes: int) -> Iterator[None]:
    """Let a refusal with one of these codes pass, such as 404 for what is gone already."""
    try:
        yield
    except ApiError as error:
        if error.code not in codes:
            raise


class UnreachableError(ClientError):
    """No answer, or half of one: connection, timeout, truncated body."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The whole truth at one moment; replaces everything that was known of the kind."""

    objects: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Changed:
    """One object as it is now, or as it last was when `deleted`."""

    obj: dict[str, Any]
    deleted: bool


class Client(opened.Opened):
    """An API client; use it as an async context manager.

    `agent` is the user agent, which is also what managedFields and audit logs call the actor. With `strict` a write
    that has a field unknown to its definition is refused (`ApiError.unknown_field`) instead of pruned.
    """

    def __init__(self, access: kubeconfig.Access, agent: str = "topology-simulator", *, strict: bool = False) -> None:
        super().__init__()
        self._access = access
        self._agent = agent
        self._query = {"fieldValidation": "Strict"} if strict else {}
        self._session: aiohttp.ClientSession

    async def _open(self, parts: contextlib.AsyncExitStack) -> None:
        headers = {"User-Agent": self._agent, "Accept": "application/json", **self._access.headers}
        connector = aiohttp.TCPConnector(limit=0, ssl=self._access.tls or True)
        session = aiohttp.ClientSession(
            connector=connector, headers=headers, read_bufsize=_LONGEST_LINE, trust_env=False
        )
        self._session = await parts.enter_async_context(session)

    async def get(self, kind: kinds.Kind, name: str, namespace: str = "") -> dict[str, Any]:
        """Read one object. Raises ApiError (404 when it is not there), UnreachableError."""
        return await self._call("GET", kind.path(name, namespace))

    async def find(self, kind: kinds.Kind, name: str, namespace: str = "") -> dict[str, Any] | None:
        """Read one object, or None when it is not there. Raises ApiError, UnreachableError."""
        with allowing(404):
            return await self.get(kind, name, namespace)
        return None

    async def list(self, kind: kinds.Kind, namespace: str = "") -> list[dict[str, Any]]:
        """Read all objects of a kind. Raises ApiError, UnreachableError."""
        listing = await self._call("GET", kind.path(namespace=namespace))
        return [_typed(kind, obj) for obj in listing.get("items") or []]

    async def table(self, kind: kinds.Kind, name: str = "") -> dict[str, Any]:
        """Read what `kubectl get` would print. Raises ApiError, UnreachableError."""
        return await self._call("GET", kind.path(name), accept=_TABLE)

    async def create(self, kind: kinds.Kind, obj: dict[str, Any]) -> dict[str, Any]:
        """Create an object. Raises ApiError (409 AlreadyExists), UnreachableError."""
        namespace = obj["metadata"].get("namespace", "")
        return await self._call("POST", kind.path(namespace=namespace), obj)

    async def patch(  # noqa: PLR0913 - what a patch has
        self,
        kind: kinds.Kind,
        name: str,
        change: dict[str, Any],
        namespace: str = "",
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Merge-patch an object or its sub-resource, or only let it be judged. Raises ApiError, UnreachableError."""
        path = kind.path(name, namespace, subresource)
        return await self._call("PATCH", f"{path}?dryRun=All" if dry_run else path, change, media=_MERGE)

    async def patch_status(
        self, kind: kinds.Kind, name: str, status: dict[str, Any], namespace: str = ""
    ) -> dict[str, Any]:
        """Merge-patch an object's status. Raises ApiError, UnreachableError."""
        return await self.patch(kind, name, {"status": status}, namespace, "status")

    async def put(self, kind: kinds.Kind, obj: dict[str, Any], subresource: str = "") -> dict[str, Any]:
        """Replace an object as it was read, or its status. Raises ApiError (409: it has changed), UnreachableError.

        A merge patch cannot say null inside of a list: the real server drops it there.
        """
        meta = obj["metadata"]
        return await self._call("PUT", kind.path(meta["name"], meta.get("namespace", ""), subresource), obj)

    async def delete(self, kind: kinds.Kind, name: str, namespace: str = "") -> None:
        """Delete an object. Raises ApiError (404 when it is not there), UnreachableError."""
        await self._call("DELETE", kind.path(name, namespace))

    async def follow(self, kind: kinds.Kind, *, retry_seconds: float) -> AsyncIterator[Listed | Changed]:
        """Yield every state of a kind, without end: `Listed` first and after every gap, then `Changed`.

        Failures of any sort (not there yet, cut, expired, refused) end in a new list after `retry_seconds`.
        """
        while True:
            try:
                listing = await self._call("GET", kind.path())
                yield Listed(tuple(_typed(kind, obj) for obj in listing.get("items") or []))
                version = listing["metadata"]["resourceVersion"]
                while True:
                    async for event in self._watch(kind, version):
                        version = event.obj["metadata"]["resourceVersion"]
                        if event.obj.get("kind") == kind.kind and "uid" in event.obj["metadata"]:
                            yield event
            except ClientError:
                await asyncio.sleep(retry_seconds)

    async def states(self, kind: kinds.Kind, *, retry_seconds: float) -> AsyncIterator[tuple[dict[str, Any], bool]]:
        """Yield each state of each object, and whether it was deleted; what vanished during a gap is deleted, too."""
        known: dict[tuple[str, str], dict[str, Any]] = {}
        async for event in self.follow(kind, retry_seconds=retry_seconds):
            if isinstance(event, Changed):
                changes = [(event.obj, event.deleted)]
            else:
                listed = {key(obj): obj for obj in event.objects}
                changes = [(obj, True) for place, obj in known.items() if place not in listed]
                changes += [(obj, False) for obj in listed.values()]
            for obj, deleted in changes:
                if deleted:
                    known.pop(key(obj), None)
                else:
                    known[key(obj)] = obj
                yield obj, deleted

    async def _watch(self, kind: kinds.Kind, version: str) -> AsyncIterator[Changed]:
        """Yield the events of one watch, bookmarks as objects without uid; ends as the server wants."""
        query = {
            "watch": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(_WATCH_SECONDS),
            "allowWatchBookmarks": "true",
        }
        timeout = aiohttp.ClientTimeout(
            total=None, connect=_UNARY_SECONDS, sock_read=_WATCH_SECONDS + _WATCH_GRACE_SECONDS
        )
        path = kind.path()
        try:
            async with self._session.get(self._access.server + path, params=query, timeout=timeout) as response:
                if response.status != 200:
                    raise _refusal("WATCH", path, response.status, await response.read())
                try:
                    async for line in response.content:
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            code, reason, message = (event["object"].get(key) for key in ("code", "reason", "message"))
                            raise ApiError("WATCH", path, int(code or 0), str(reason), str(message))
                        yield Changed(event["object"], event["type"] == "DELETED")
                finally:
                    hang_up(response)
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, RecursionError) as error:
            raise UnreachableError(f"WATCH {path}: {error!r}") from error

    async def _call(
        self, method: str, path: str, body: dict[str, Any] | None = None, *, media: str = "", accept: str = ""
    ) -> dict[str, Any]:
        headers = {"Accept": accept} if accept else {}
        data, query = None, {}
        if body is not None:
            data, query = json.dumps(body).encode(), self._query
            headers["Content-Type"] = media or "application/json"
        timeout = aiohttp.ClientTimeout(total=_UNARY_SECONDS)
        try:
            async with self._session.request(
                method, self._access.server + path, data=data, headers=headers, params=query, timeout=timeout
            ) as response:
                raw = await response.read()
                if response.status >= 300:
                    raise _refusal(method, path, response.status, raw)
                answer = json.loads(raw)
        except (aiohttp.ClientError, TimeoutError, ValueError, RecursionError) as error:
            raise UnreachableError(f"{method} {path}: {error!r}") from error
        if not isinstance(answer, dict):
            raise UnreachableError(f"{method} {path}: the answer is no object")
        return answer


def key(obj: dict[str, Any]) -> tuple[str, str]:
    """Return namespace and name of an object."""
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _typed(kind: kinds.Kind, obj: dict[str, Any]) -> dict[str, Any]:
    """Give an item of a list what only the list itself carries."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **obj}


def hang_up(response: aiohttp.ClientResponse) -> None:
    """End a connection now, in the middle of an answer.

    Closing it would say farewell in TLS, and a loop that ends next would leave that half said.
    """
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()
    response.close()


def _refusal(verb: str, path: str, code: int, raw: bytes) -> ApiError:
    try:
        status = json.loads(raw)
        reason, message = str(status["reason"]), str(status["message"])
    except (ValueError, KeyError, TypeError):
        reason, message = "", raw[:300].decode(errors="replace")
    return ApiError(verb, path, code, reason, message)
