"""Hub and clusters, opened and closed as one. Whatever ends it, the logs are kept in one folder, one below for each.

The hub is opened first, because its etcd keeps the objects of all; the clusters then open, two at a time.
"""

import asyncio
import contextlib
import pathlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import pace, terminal
from . import chronicle, hub, pack, spoke

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
        turns, closing = asyncio.Semaphore(_AT_ONCE), asyncio.Event()

        async def hold(cluster: spoke.Spoke, is_open: asyncio.Event) -> None:
            """Open, keep and close a cluster in a task of its own: what it consists of has to end where it began."""
            async with contextlib.AsyncExitStack() as stack:
                async with turns:
                    await stack.enter_async_context(cluster)
                is_open.set()
                await closing.wait()

        opening = [(each, asyncio.Event()) for each in spokes]
        holds = {asyncio.create_task(hold(each, is_open)): is_open for each, is_open in opening}
        all_open: asyncio.Future[Any] = asyncio.gather(*(is_open.wait() for is_open in holds.values()))
        watching: asyncio.Task[None] | None = None
        try:
            first: list[asyncio.Future[Any]] = [all_open, *holds]
            done, _ = await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            for ended in done:
                ended.result()
            screen.say("fleet", f"{', '.join(names)} are installed; operators and work agents run")
            events = chronicle.Chronicle(center, spokes, screen)
            watching = asyncio.create_task(events.run())
            yield Fleet(center, tuple(spokes), events, given)
        finally:
            closing.set()
            pending: list[asyncio.Future[Any]] = [task for task, is_open in holds.items() if not is_open.is_set()]
            pending += [all_open, watching] if watching else [all_open]
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, *holds, return_exceptions=True)
