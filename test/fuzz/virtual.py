"""An event loop whose time only moves when it is told to, so that a machine can stop the world between two requests.

`advance(0)` runs everything that can run now; `advance(90)` lets ninety seconds pass, timer by timer. Nothing sleeps.
The loop is the real one of asyncio with a selector that has no sockets to wait for; `operators` run in it as tasks,
`machine` drives it from outside, one rule after the other.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_HOT = 2_000
"""Turns of the loop at one moment: beyond it somebody runs in circles. Forty watches that open take some hundred."""


class HotLoopError(AssertionError):
    """Virtual time stands still while work goes on: without this a hot loop would hang and not fail."""


class _Stillness(selectors.BaseSelector):
    """Waits for nobody: a wait moves the time to the next timer, or to where it was to stop."""

    def __init__(self) -> None:
        self.now = 0.0
        self.until = 0.0
        self.turns = 0
        self.stop: Callable[[], None] = lambda: None
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        self._keys[fileobj] = selectors.SelectorKey(fileobj, 0, events, data)
        return self._keys[fileobj]

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._keys

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.turns += 1
        if self.turns > _HOT:
            # Whoever ends what runs in circles needs some turns as well.
            self.turns = 0
            raise HotLoopError(f"still busy after {_HOT} turns at {self.now:.1f} s")
        before = self.now
        if timeout is None or self.now + timeout > self.until:
            self.now = max(self.now, self.until)
            self.stop()
        elif timeout > 0:
            self.now += timeout
        if self.now > before:
            self.turns = 0
        return []


class Loop(asyncio.SelectorEventLoop):
    """Drive it with `advance`; `time()` is seconds since it was made."""

    def __init__(self) -> None:
        self._still = _Stillness()
        super().__init__(self._still)

    def time(self) -> float:
        """Virtual seconds."""
        return self._still.now

    def advance(self, seconds: float = 0.0) -> None:
        """Run what can run, until that much time has passed and nothing is left to do at that moment."""
        still = self._still
        still.until, still.turns, still.stop = still.now + seconds, 0, self.stop
        self.run_forever()
