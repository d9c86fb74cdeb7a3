"""Everything that an API server holds, of every kind that it serves.

`Inventory` asks discovery for the kinds, so nothing is left out because somebody forgot it: an object of a kind that
no list in the tests knows is seen as well.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import aiohttp

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from topology_simulator.envtest import server

_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
_TOTAL_SECONDS = 20.0
_PAUSE_SECONDS = 0.1
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Served:
    """A kind that can be listed: `path` is where."""

    path: str
    group: str
    plural: str
    namespaced: bool


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """One object, by its kind with its group, and its name."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


class Inventory:
    """A client for all kinds; use it as an async context manager."""

    def __init__(self, asked: server.RealServer) -> None:
        connector = aiohttp.TCPConnector(ssl=asked.tls(), limit=_AT_ONCE)
        self._session = aiohttp.ClientSession(
            asked.url,
            connector=connector,
            headers={"Authorization": "Bearer admin"},
            timeout=aiohttp.ClientTimeout(total=_TOTAL_SECONDS),
            raise_for_status=True,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def kinds(self) -> list[Served]:
        """Return every kind that can be listed, in the version that its group prefers."""
        groups = (await self._read("/apis"))["groups"]
        preferred = {one["name"]: f"/apis/{one['preferredVersion']['groupVersion']}" for one in groups}
        places = [("", "/api/v1"), *preferred.items()]
        found = await asyncio.gather(*(self._read(path) for _, path in places))
        return [
            Served(f"{path}/{one['name']}", group, one["name"], one["namespaced"])
            for (group, path), listed in zip(places, found, strict=True)
            for one in listed["resources"]
            if "list" in one["verbs"] and "/" not in one["name"]
        ]

    async def all(self) -> dict[Found, dict[str, Any]]:
        """Return the metadata of every object."""
        kinds = await self.kinds()
        listed = await asyncio.gather(*(self._items(one.path) for one in kinds))
        found = {}
        for kind, items in zip(kinds, listed, strict=True):
            label = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
            for meta in items:
                found[Found(label, meta.get("namespace", ""), meta["name"])] = meta
        return found

    async def settled(self) -> dict[Found, dict[str, Any]]:
        """Return the same when nothing comes or goes any more: a server makes much of its own after it is ready."""
        before: set[Found] = set()
        while True:
            found = await self.all()
            if set(found) == before:
                return found
            before = set(found)
            await asyncio.sleep(5 * _PAUSE_SECONDS)

    async def _items(self, path: str) -> list[dict[str, Any]]:
        return [one["metadata"] for one in (await self._read(path, accept=_METADATA))["items"] or []]

    async def _read(self, path: str, *, accept: str = "application/json") -> dict[str, Any]:
        while True:
            async with self._session.get(path, headers={"Accept": accept}, raise_for_status=False) as response:
                # A kind whose definition was changed a moment ago is opened anew, and is not there meanwhile.
                if response.status not in {429, 503}:
                    response.raise_for_status()
                    found: dict[str, Any] = json.loads(await response.read())
                    return found
            await asyncio.sleep(_PAUSE_SECONDS)


def written_by(manager: str, found: dict[Found, dict[str, Any]]) -> dict[Found, set[str]]:
    """Return the objects of which somebody has written fields, with the sub-resources that were written."""
    return {
        one: written
        for one, meta in found.items()
        if (written := {field.get("subresource", "") for field in _fields(meta) if field.get("manager") == manager})
    }


def _fields(meta: dict[str, Any]) -> Iterable[dict[str, Any]]:
    found: list[dict[str, Any]] = meta.get("managedFields") or []
    return found
