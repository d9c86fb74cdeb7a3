"""Backups of the etcd below an API server, and how they are put back: what a story does to the server itself.

There are two ways. `raised` is that of OpenShift's restore pod: versions go on far above those that clients know, and
these count as compacted. With `plain` the versions after the backup are given out a second time.
"""

import asyncio
from typing import Any, Literal, Protocol

from .apiserver import server

Way = Literal["raised", "plain"]
BUMPS: dict[Way, int] = {"raised": 1_000_000_000, "plain": 0}
"""By how much versions are higher afterwards."""


class Store(Protocol):
    """What can be backed up: the embedded server (`Embedded`), or the etcd of a real one (`envtest.RealServer`)."""

    async def snapshot(self) -> Any:
        """Return a backup of everything."""

    async def put_back(self, saved: Any, /, *, bump: int, down: float) -> None:
        """Put a backup back, and return when the server answers again, after at least `down` seconds."""


class Embedded:
    """The embedded server as a store."""

    def __init__(self, served: server.ApiServer) -> None:
        self._server = served

    async def snapshot(self) -> server.Snapshot:
        """Return its objects and where its revisions are."""
        return self._server.snapshot()

    async def put_back(self, saved: server.Snapshot, /, *, bump: int, down: float) -> None:
        """Stop listening, and begin again on the same port with what it was."""
        port = self._server.port
        await self._server.stop()
        self._server.put_back(saved, bump=bump)
        await asyncio.sleep(down)
        await self._server.start(port=port)
