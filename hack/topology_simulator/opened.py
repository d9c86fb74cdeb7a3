"""What consists of parts that are opened one after the other, and closed in reverse, also when only some could be.

And how that is waited for of which no event tells: `until`.
"""

import abc
import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Self


class Opened(abc.ABC):
    """Use it as an async context manager."""

    def __init__(self) -> None:
        self._parts = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as opening:
            await self._open(opening)
            self._parts = opening.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._parts.aclose()

    @abc.abstractmethod
    async def _open(self, parts: contextlib.AsyncExitStack) -> None:
        """Enter every part into the stack."""


@contextlib.asynccontextmanager
async def running(part: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Let a part run inside this context. Raises at its end what the part has raised."""
    task = asyncio.create_task(part)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()


async def until(
    holds: Callable[[], Awaitable[bool]], seconds: float, poll: float, late: Callable[[], Exception]
) -> None:
    """Ask every `poll` seconds until it holds. Raises what asking raises, and after `seconds` what `late` makes."""
    try:
        async with asyncio.timeout(seconds):
            while not await holds():  # noqa: ASYNC110 - other processes set no event here
                await asyncio.sleep(poll)
    except TimeoutError:
        raise late() from None
