"""Hub and clusters, opened and closed as one. Whatever ends it, the logs are kept in one folder, one below for each.

The hub is opened first, because its etcd keeps the objects of all; the clusters then open, two at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import chronicle, hub, spoke

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Mapping

    from .. import pace, terminal
    from . import pack


_AT_ONCE = 2
"""An API server that starts and is given its definitions keeps a core busy for seconds."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """What is open. The last cluster is the canary: by their names alone it would come after all others."""

    hub: hub.Hub
    spokes: tuple[spoke.Spoke, ...]
    chronicle: chronicle.Chronicle
    pack: pack.Pack

    @property
    def canary(self) -> spoke.Spoke:
        """The cluster of wave 0."""
        return self.spokes[-1]

    @property
    def others(self) -> tuple[spoke.Spoke, ...]:
        """All clusters but the canary."""
        return self.spokes[:-1]


@contextlib.asynccontextmanager
async def opened(  # noqa: PLR0913 - what a story may ask for
    number: int,
    speeds: pace.Pace,
    folder: pathlib.Path,
    screen: terminal.Terminal,
    *,
    masters: Mapping[str, int] | None = None,
    deadline_minutes: int | None = None,
    given: pack.Pack,
) -> AsyncIterator[Fleet]:
    """Open a hub and so many clusters; logs go to `folder` when it closes.

    `masters` are the control-plane nodes of those that have not three. `deadline_minutes` is when a transition is
    overdue, in place of what the definitions say. `given` is what the engines are given.
    Raises binaries.MissingError, RealServerError, KeepingError, InstallError, ClientError, OSError.
    """
    names = [f"spoke-{each}" for each in range(1, number + 1)]
    async with hub.Hub(names, folder / "hub") as center:
        screen.say("hub", f"serves at {center.server.url}; placement and work manager run")
        spokes = [
            spoke.Spoke(
                name,
                center,
                speeds,
                folder / name,
                masters=(masters or {}).get(name, 3),
                deadline_minutes=deadline_minutes,
                given=given,
            )
            for name in names
        ]
        turns = asyncio.Semaphore(_AT_ONCE)
        holders = [_Holder(each, turns) for each in spokes]
        watching: asyncio.Task[None] | None = None
        try:
            await asyncio.gather(*(holder.opened() for holder in holders))
            screen.say("fleet", f"{', '.join(names)} are installed; operators and work agents run")
            events = chronicle.Chronicle(center, spokes, screen)
            watching = asyncio.create_task(events.run())
            yield Fleet(center, tuple(spokes), events, given)
        finally:
            if watching is not None:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
            await asyncio.gather(*(holder.close() for holder in holders), return_exceptions=True)


class _Holder:
    """Opens, keeps and closes one cluster in a task of its own: what it consists of has to end where it began."""

    def __init__(self, cluster: spoke.Spoke, turns: asyncio.Semaphore) -> None:
        self._cluster = cluster
        self._turns = turns
        self._is_open, self._closing = asyncio.Event(), asyncio.Event()
        self._task = asyncio.create_task(self._hold(), name=cluster.name)

    async def opened(self) -> None:
        """Wait until it is open. Raises what opening raised."""
        waiting = asyncio.create_task(self._is_open.wait())
        await asyncio.wait({waiting, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if not self._is_open.is_set():
            waiting.cancel()
            self._task.result()

    async def close(self) -> None:
        """Close it, or give up opening it, and wait until it is closed."""
        self._closing.set()
        if not self._is_open.is_set():
            self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _hold(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            async with self._turns:
                await stack.enter_async_context(self._cluster)
            self._is_open.set()
            await self._closing.wait()
