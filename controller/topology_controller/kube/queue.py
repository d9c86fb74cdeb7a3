"""One key, coalescing: what wakes the one who works.

There is one thing to reconcile, so the queue holds no items, only the fact that somebody should look. Any
number of `add()` while nobody looks is one delivery; any number while somebody works is one more delivery
after. Looking again later is of two kinds that do not disturb each other: what the work itself asks for
(`look_again`, replaced each time), and what a failure costs (`failed`, growing until something goes
well).

Fed by `reflector.on_change`; read by one worker: `get`, work, then `done` or `failed`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from . import backoff as backoffs

if TYPE_CHECKING:
    from collections.abc import Callable


class Observer(Protocol):
    """Hears what the `workqueue_*` metrics of controllers tell. Seconds are on the loop's monotonic clock."""

    def depth(self, waiting: int) -> None:
        """Say how many deliveries are waiting: 0 or 1."""

    def added(self) -> None:
        """Count an addition that was not coalesced."""

    def delivered(self, waited: float) -> None:
        """Tell how long a delivery has waited."""

    def worked(self, seconds: float) -> None:
        """Tell how long the work took."""

    def retried(self) -> None:
        """Count a failure."""


class WorkQueue:
    """A queue for one worker and one key. Make and use it inside a running loop.

    `adds`, `retries` count since the start; `depth` is 0 or 1; `working_since` is a loop time or None.
    `failed` waits `first` seconds at first, doubled each time in a row, at most `cap`.
    """

    def __init__(self, observer: Observer | None = None, *, backoff: backoffs.Backoff | None = None) -> None:
        self.adds = 0
        self.retries = 0
        self.working_since: float | None = None
        self._observer = observer
        self._backoff = backoff or backoffs.Backoff(first=1.0, cap=60.0)
        self._loop = asyncio.get_running_loop()
        self._waiting_since: float | None = None
        self._ready = asyncio.Event()
        self._look_at: float | None = None
        self._retry_at: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def depth(self) -> int:
        """How many deliveries are waiting: 0 or 1."""
        return 0 if self._waiting_since is None else 1

    def add(self) -> None:
        """Ask for a look, now or right after the one in progress."""
        if self._waiting_since is not None:
            return
        self._waiting_since = self._loop.time()
        self.adds += 1
        self._tell(lambda observer: observer.added())
        self._tell(lambda observer: observer.depth(1))
        if self.working_since is None:
            self._ready.set()

    def add_after(self, seconds: float) -> None:
        """Ask for a look in so many seconds, unless one is asked for earlier."""
        at = self._loop.time() + max(0.0, seconds)
        self._look_at = at if self._look_at is None else min(at, self._look_at)
        self._schedule()

    def look_again(self, seconds: float | None) -> None:
        """Ask for a look in so many seconds instead of what was asked for before; None takes it back."""
        self._look_at = None if seconds is None else self._loop.time() + max(0.0, seconds)
        self._schedule()

    async def get(self) -> None:
        """Wait for the next delivery. The worker must answer each with `done` or `failed`."""
        if self.working_since is not None:
            raise RuntimeError("the last delivery was not answered with done() or failed()")
        await self._ready.wait()
        self._ready.clear()
        now = self._loop.time()
        waited = now - (now if self._waiting_since is None else self._waiting_since)
        self._waiting_since, self.working_since = None, now
        self._tell(lambda observer: observer.depth(0))
        self._tell(lambda observer: observer.delivered(waited))

    def done(self, *, ok: bool = True) -> None:
        """End the work; when it went well, failures are forgotten, and so is the retry they asked for."""
        if self.working_since is None:
            raise RuntimeError("nothing was delivered")
        worked = self._loop.time() - self.working_since
        self.working_since = None
        self._tell(lambda observer: observer.worked(worked))
        if ok:
            self._backoff.reset()
            self._retry_at = None
            self._schedule()
        if self._waiting_since is not None:
            self._ready.set()

    def failed(self, at_least: float | None = None) -> float:
        """End the work as failed; it is delivered again after the returned seconds.

        Earlier, if somebody adds. `at_least` is what the server asked for (`KubeError.retry_after`).
        """
        self.done(ok=False)
        self.retries += 1
        self._tell(lambda observer: observer.retried())
        delay = self._backoff.next(at_least)
        self._retry_at = self._loop.time() + delay
        self._schedule()
        return delay

    def close(self) -> None:
        """Forget what was to come later; a waiting `get` is the worker's to cancel."""
        self._look_at = self._retry_at = None
        self._schedule()

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        times = [at for at in (self._look_at, self._retry_at) if at is not None]
        if times:
            self._timer = self._loop.call_at(min(times), self._due)

    def _due(self) -> None:
        self._timer = None
        now = self._loop.time()
        # A timer may fire a hair early, by the resolution of the clock.
        if self._look_at is not None and self._look_at <= now + 0.001:
            self._look_at = None
        if self._retry_at is not None and self._retry_at <= now + 0.001:
            self._retry_at = None
        self.add()
        self._schedule()

    def _tell(self, what: Callable[[Observer], None]) -> None:
        if self._observer is not None:
            what(self._observer)
