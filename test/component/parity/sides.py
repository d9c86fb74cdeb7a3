"""The two servers of the comparison, prepared alike: the same definitions, and a way to let each forget its past.

Both are told everything through the API, with credentials where there are any. The real one is started (or handed in)
by whoever asks for the comparison; the embedded one runs in the same loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp

from test.component.parity import asking, differences, normal, samples, verdict
from topology_simulator import kubeconfig
from topology_simulator.apiserver import server as embedded_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from test.component.parity import table
    from topology_simulator.envtest import server as real_server

_READY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two servers."""

    name: str
    access: kubeconfig.Access
    forget: Callable[[], Awaitable[Any]]

    async def compact(self) -> None:
        """Let the storage forget everything up to now."""
        await self.forget()

    def session(self) -> aiohttp.ClientSession:
        """Return a session with this side's trust and credentials."""
        connector = aiohttp.TCPConnector(limit=0, ssl=self.access.tls or True)
        return aiohttp.ClientSession(
            connector=connector, headers=self.access.headers, trust_env=False, read_bufsize=8 << 20
        )


class Comparison:
    """Both sides with an open session each; `judge` asks both one row."""

    def __init__(self, opened: tuple[tuple[Side, aiohttp.ClientSession], ...]) -> None:
        self._opened = opened

    async def judge(self, row: table.Row, number: int) -> verdict.Verdict:
        """Ask both the row and return the verdict. Raises asking.PreparationError."""
        said = [await self._ask(side, session, row, f"row-{number}") for side, session in self._opened]
        return verdict.judge(row.name, said[0], said[1], differences.ALL)

    async def _ask(self, side: Side, session: aiohttp.ClientSession, row: table.Row, name: str) -> list[Any]:
        if row.namespace:
            await _create(side, session, samples.NAMESPACES, samples.namespace(name))
        answers = await asking.Asking(side, session, name).all(row.steps)
        return normal.normalised([answer.value() for answer in answers])


async def _create(side: Side, session: aiohttp.ClientSession, path: str, obj: dict[str, Any]) -> None:
    limit = aiohttp.ClientTimeout(total=_READY_SECONDS)
    async with session.post(side.access.server + path, json=obj, timeout=limit) as response:
        if response.status != 201:
            raise asking.PreparationError(f"{side.name}: {path}: {response.status} {await response.text()}")


async def _served(side: Side, session: aiohttp.ClientSession) -> None:
    """Wait until every kind of `samples` answers."""
    limit = aiohttp.ClientTimeout(total=_READY_SECONDS)
    async with asyncio.timeout(_READY_SECONDS):
        for one in samples.DEFINED:
            while True:
                path = f"{samples.BASE}/{one['spec']['names']['plural']}"
                async with session.get(side.access.server + path, timeout=limit) as response:
                    said = await response.read()
                    if response.status == 200 and json.loads(said).get("items") is not None:
                        break
                await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def opened(real: real_server.RealServer) -> AsyncIterator[Comparison]:
    """Start the embedded server beside a running real one, prepare both, and yield the comparison."""
    embedded = embedded_server.ApiServer(bookmark_seconds=60.0)
    await embedded.start()
    folder = pathlib.Path()

    async def forget() -> None:
        embedded.compact()

    both = (
        Side("embedded", kubeconfig.access(embedded.kubeconfig(), folder), forget),
        Side("real", kubeconfig.access(real.kubeconfig(), folder), real.compact),
    )
    try:
        async with contextlib.AsyncExitStack() as stack:
            prepared: list[tuple[Side, aiohttp.ClientSession]] = []
            for side in both:
                session = await stack.enter_async_context(side.session())
                for one in samples.DEFINED:
                    await _create(side, session, samples.DEFINITIONS, one)
                await _served(side, session)
                prepared.append((side, session))
            yield Comparison(tuple(prepared))
    finally:
        await embedded.stop()
