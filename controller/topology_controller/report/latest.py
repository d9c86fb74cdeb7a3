"""The last decision and the facts behind it, for those who show them: the loop sets it, the status page waits for it.

Who shows it can ask for what no watch keeps current (`wanted`): the loop reads it again, at a bounded price.

Nothing is computed here, so that setting costs the loop nothing between a fact and the change. On a process that does
not lead there is no decision.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..decide.decision import Decision
    from ..observe import facts


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One decision, and the facts behind it."""

    decision: Decision
    known: facts.Facts


class Latest:
    """The last decision of this process: None before the first, and once it no longer leads.

    `number` grows whenever that changes.
    """

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None
        self.number = 0
        self._changed = asyncio.Event()
        self.look_again: Callable[[], None] | None = None
        """What the loop does for `wanted`; None while this process does not decide."""

    def wanted(self) -> None:
        """Say that a reader looks. Call it as often as you like: the loop bounds the price."""
        if self.look_again is not None:
            self.look_again()

    def set(self, decision: Decision, known: facts.Facts) -> None:
        """Show this decision from now on."""
        self._show(Snapshot(decision, known))

    def written(self) -> None:
        """Say that what is shown of the API has changed by a write of ours, after which nothing is decided."""
        self._show(self.snapshot)

    def clear(self) -> None:
        """Show nothing: this process does not decide any more."""
        self.look_again = None
        self._show(None)

    async def changed(self, after: int) -> int:
        """Wait until something else is shown than at `number` `after`; return the new number."""
        while self.number == after:
            await self._changed.wait()
        return self.number

    def _show(self, snapshot: Snapshot | None) -> None:
        self.snapshot = snapshot
        self.number += 1
        # Who waits has this event, and is woken; who comes later waits for the next one.
        self._changed.set()
        self._changed = asyncio.Event()
