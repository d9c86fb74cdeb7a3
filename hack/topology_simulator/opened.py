"""What consists of parts that are opened one after the other, and closed in reverse, also when only some could be."""

import abc
import contextlib
from types import TracebackType
from typing import Self


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
