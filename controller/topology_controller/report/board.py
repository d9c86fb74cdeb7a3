"""What is shown right now, for whoever looks: the last decision, and the facts that it was made from.

The loop pins, others look or wait for news; nobody waits for them. Nothing is computed here, so that pinning costs the
loop nothing between a fact and the change. On a process that does not lead the board stays empty.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from ..decide.decision import Decision
    from ..observe import facts


@dataclass(frozen=True, slots=True)
class Pinned:
    """One decision, what it was made from, and when. `number` grows with every one."""

    decision: Decision
    known: facts.Facts
    time: datetime
    number: int


class Board:
    """Holds the last decision of this process; None before the first, and once it leads no more."""

    def __init__(self) -> None:
        self.pinned: Pinned | None = None
        self._number = 0
        self._news: asyncio.Future[None] | None = None

    def pin(self, decision: Decision, known: facts.Facts, now: datetime) -> None:
        """Show this from now on."""
        self._number += 1
        self.pinned = Pinned(decision, known, now, self._number)
        self._wake()

    def clear(self) -> None:
        """Show nothing: this process does not decide any more."""
        self.pinned = None
        self._number += 1
        self._wake()

    @property
    def number(self) -> int:
        """Grows whenever something else is shown."""
        return self._number

    async def news(self, after: int) -> int:
        """Wait until something else is shown than at `number` `after`; return the new number."""
        while self._number == after:
            if self._news is None:
                self._news = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._news)
        return self._number

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
        self._news = None
