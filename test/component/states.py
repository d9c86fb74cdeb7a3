"""Every state that objects of OpenShift's kinds go through is one that OpenShift's own definitions keep unchanged.

The embedded server serves stand-ins, so a status that the actors of a story write there could be one that no cluster
takes. A watch of each kind sees all of them; what it sees is held against the real definitions.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from simulator_tests.parity import definitions
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_RETRY = 0.05


class Seen:
    """What was seen: how many states, and what the real definitions would not keep of them."""

    def __init__(self) -> None:
        self.states = 0
        self.refused: set[str] = set()

    async def follow(self, api: clients.Client, kind: kinds.Kind) -> None:
        """Look at every state of a kind until cancelled."""
        async for event in api.follow(kind, retry_seconds=_RETRY):
            for obj in event.objects if isinstance(event, clients.Listed) else (event.obj,):
                self.states += 1
                self.refused.update(definitions.refused(obj))


@contextlib.asynccontextmanager
async def watching(api: clients.Client) -> AsyncIterator[Seen]:
    """Watch inside the context. Raises binaries.MissingError."""
    seen = Seen()
    real = definitions.real()
    followed = [kind for kind in kinds.ALL if f"{kind.plural}.{kind.group}" in real]
    tasks = [asyncio.create_task(seen.follow(api, kind), name=f"states of {kind.plural}") for kind in followed]
    try:
        yield seen
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(one, asyncio.CancelledError) for one in ended), f"a watch of states has ended: {ended}"
