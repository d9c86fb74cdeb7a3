"""Hub and clusters, opened and closed as one. Whatever ends it, the logs are kept in one folder, one below for each."""

import contextlib
import pathlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from .. import opened as parts
from .. import pace, terminal
from . import chronicle, hub, pack, spoke


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
    async with contextlib.AsyncExitStack() as stack:
        center = await stack.enter_async_context(hub.Hub(names, folder / "hub"))
        screen.say("hub", f"serves at {center.server.url}; placement and work manager run")
        spokes = []
        for name in names:
            part = spoke.Spoke(
                name,
                center,
                speeds,
                folder / name,
                masters=(masters or {}).get(name, 3),
                deadline_minutes=deadline_minutes,
                given=given,
            )
            spokes.append(await stack.enter_async_context(part))
        screen.say("fleet", f"{', '.join(names)} are installed; operators and work agents run")
        events = chronicle.Chronicle(center, spokes, screen)
        await stack.enter_async_context(parts.running(events.run()))
        yield Fleet(center, tuple(spokes), events, given)
