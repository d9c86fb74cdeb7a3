"""Remembers answers for a while, and never more than so many of them.

Time is the loop's monotonic clock. When there is no room, what would be forgotten next anyway goes first. Used by
`reviews` for what the API server said, and by `sessions`.
"""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Memory(Generic[K, V]):
    """At most `size` answers."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[K, tuple[float, V]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        """Return what is remembered, None when there is nothing, or not any more."""
        found = self._kept.get(key)
        if found is None:
            return None
        until, value = found
        if asyncio.get_running_loop().time() >= until:
            del self._kept[key]
            return None
        return value

    def keep(self, key: K, value: V, seconds: float) -> None:
        """Remember for so many seconds from now."""
        now = asyncio.get_running_loop().time()
        self._kept.pop(key, None)
        if len(self._kept) >= self._size:
            self._kept = {one: kept for one, kept in self._kept.items() if kept[0] > now}
        if len(self._kept) >= self._size:
            del self._kept[min(self._kept, key=lambda one: self._kept[one][0])]
        self._kept[key] = (now + seconds, value)

    def forget(self, key: K) -> None:
        """Forget; nothing happens when it is not remembered."""
        self._kept.pop(key, None)
