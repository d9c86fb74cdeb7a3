"""What an actor knows: the objects of a few kinds, kept current from the API, and a wake-up when they change.

One task a kind runs `client.follow`; all belong to one task group, so that leaving the context ends them, each
awaited. An actor then works by level, not by event: it looks at the mirror, does the next thing, and waits for news
or for its own next moment. The neighbours: `client` below, `actors.actor` above.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any

from . import client, kinds


class Mirror:
    """Objects by kind; `current` when every kind has been listed at least once."""

    def __init__(self, watched: Iterable[kinds.Kind]) -> None:
        self._objects: dict[kinds.Kind, dict[tuple[str, str], dict[str, Any]]] = {}
        self._watched = tuple(watched)
        self._news = asyncio.Event()

    @property
    def current(self) -> bool:
        """Whether every kind has been listed."""
        return len(self._objects) == len(self._watched)

    def get(self, kind: kinds.Kind, name: str, namespace: str = "") -> dict[str, Any] | None:
        """Return one object as it was last seen."""
        return self._objects.get(kind, {}).get((namespace, name))

    def all(self, kind: kinds.Kind) -> list[dict[str, Any]]:
        """Return every object of a kind, by name."""
        return [obj for _, obj in sorted(self._objects.get(kind, {}).items())]

    def keep(self, kind: kinds.Kind, obj: dict[str, Any]) -> None:
        """Take in the answer to a write of our own, so that the next look sees it.

        Another client may have written after us, and the news of that may have overtaken the answer: it stays.
        """
        objects = self._objects.setdefault(kind, {})
        known = objects.get(_key(obj))
        if known is None or _version(known) <= _version(obj):
            objects[_key(obj)] = obj

    def wake(self) -> None:
        """End the present wait: something that is not an object has changed."""
        self._news.set()

    async def wait(self, seconds: float | None) -> None:
        """Wait for news, at most that long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    @contextlib.asynccontextmanager
    async def following(self, api: client.Client, retry_seconds: float) -> AsyncIterator[None]:
        """Keep the mirror current inside this context."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._follow(api, kind, retry_seconds)) for kind in self._watched]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()

    async def _follow(self, api: client.Client, kind: kinds.Kind, retry_seconds: float) -> None:
        async for event in api.follow(kind, retry_seconds=retry_seconds):
            if isinstance(event, client.Listed):
                self._objects[kind] = {_key(obj): obj for obj in event.objects}
            elif event.deleted:
                self._objects[kind].pop(_key(event.obj), None)
            else:
                self._objects[kind][_key(event.obj)] = event.obj
            self._news.set()


def _key(obj: dict[str, Any]) -> tuple[str, str]:
    meta = obj["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _version(obj: dict[str, Any]) -> int:
    return int(obj["metadata"]["resourceVersion"])
