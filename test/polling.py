"""Waiting for something to become true, with a deadline, and saying what was there instead.

For tests of real processes and real sockets, which no virtual clock reaches.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")
STEP = 0.02
MOMENT = 0.1
"""Between two questions where news ends the pause: there may be what they do not tell."""
_SHARE, _LONGEST = 4.0, 0.2
"""So many times as long as a question took is waited, within limits: asking takes CPU from what is waited for."""
PATIENCE = 6.0
"""How many times as long as a quiet machine needs is waited on a busy one. It costs time only where a test fails."""


class News:
    """Tells those who wait that they may ask again."""

    def __init__(self) -> None:
        self.coming = asyncio.Event()

    def tell(self) -> None:
        """There is something new."""
        told, self.coming = self.coming, asyncio.Event()
        told.set()


@overload
async def until(
    what: str, ask: Callable[[], Awaitable[T | None]], seconds: float = 10.0,
    *, holds: Callable[[T], object] = bool, news: News | None = None,
) -> T: ...  # fmt: skip


@overload
async def until(
    what: str, ask: Callable[[], T | None], seconds: float = 10.0,
    *, holds: Callable[[T], object] = bool, news: News | None = None,
) -> T: ...  # fmt: skip


async def until(
    what: str, ask: Callable[[], Any], seconds: float = 10.0,
    *, holds: Callable[[Any], object] = bool, news: News | None = None,
) -> Any:  # fmt: skip
    """Ask until the answer is truthy, or `holds`, and return it; raises AssertionError with the last answer.

    `seconds` are those of a quiet machine. A test that says how long something may take at most measures that itself.
    With `news` it is asked again when there is some.
    """
    seconds *= PATIENCE
    ends = time.monotonic() + seconds
    while True:
        told, began = (news or News()).coming, time.monotonic()
        answer = ask()
        if inspect.isawaitable(answer):
            answer = await answer
        if holds(answer):
            return answer
        if time.monotonic() >= ends:
            raise AssertionError(f"not within {seconds:g} s: {what}; last answer: {answer!r}")
        pause = max(STEP if news is None else MOMENT, min(_SHARE * (time.monotonic() - began), _LONGEST))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await told.wait()


async def steadily(what: str, ask: Callable[[], Awaitable[object]], seconds: float) -> None:
    """Ask again and again for `seconds`; raises AssertionError as soon as an answer is not truthy."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        answer = await ask()
        if not answer:
            raise AssertionError(f"did not stay so for {seconds:g} s: {what}; answer: {answer!r}")
        await asyncio.sleep(STEP)
