"""A work queue for one key, which coalesces, and the backoff of everything that is tried again.

There is one object to reconcile, so the queue holds only the fact that a look is due. Any number of `add()` before a
look is one delivery; any number while the worker works is one more after. What the work itself asks for (`look_again`)
and what a failure costs (`failed`) do not disturb each other.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Protocol

# Seconds: a server that asks for more is not obeyed: it may be confused, and we would look dead.
_LONGEST_OBEYED = 120.0
uniform = random.uniform  # what every pause is varied by


@dataclass(slots=True)
class Backoff:
    """Seconds to wait after the n-th failure in a row: `first`, doubled each time, at most `cap`, varied by a fifth."""

    first: float = 1.0
    cap: float = 30.0
    failures: int = field(default=0, init=False)

    def next(self, at_least: float | None = None) -> float:
        """Count a failure and return how long to wait; `at_least` is what the server asked for, if it did."""
        delay: float = min(self.cap, self.first * 2.0 ** min(self.failures, 30))
        self.failures += 1
        delay = min(self.cap, delay * uniform(0.8, 1.2))
        return max(delay, min(at_least or 0.0, _LONGEST_OBEYED))

    def reset(self) -> None:
        """Begin again at `first`."""
        self.failures = 0


class _Observer(Protocol):
    """Takes what the `workqueue_*` metrics of controllers show; times in seconds."""

    def depth(self, waiting: int) -> None: ...
    def added(self) -> None: ...  # what was not coalesced
    def delivered(self, waited: float) -> None: ...
    def worked(self, seconds: float) -> None: ...
    def retried(self) -> None: ...


class WorkQueue:
    """A queue for one worker and one key. `working_since` is a loop time, None between two deliveries."""

    def __init__(self, observer: _Observer) -> None:
        self.working_since: float | None = None
        self._observer = observer
        self._backoff = Backoff(first=1.0, cap=60.0)
        self._loop = asyncio.get_running_loop()
        self._waiting_since: float | None = None
        self._ready = asyncio.Event()
        self._look_at: float | None = None
        self._retry_at: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def add(self) -> None:
        """Ask for a look, now or right after the one in progress."""
        if self._waiting_since is not None:
            return
        self._waiting_since = self._loop.time()
        self._observer.added()
        self._observer.depth(1)
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
        await self._ready.wait()
        self._ready.clear()
        now = self._loop.time()
        waited = now - (now if self._waiting_since is None else self._waiting_since)
        self._waiting_since, self.working_since = None, now
        self._observer.depth(0)
        self._observer.delivered(waited)

    def done(self, *, ok: bool = True) -> None:
        """End the work; when it went well, failures are forgotten, and so is the retry they asked for."""
        if self.working_since is not None:
            self._observer.worked(self._loop.time() - self.working_since)
        self.working_since = None
        if ok:
            self._backoff.reset()
            self._retry_at = None
            self._schedule()
        if self._waiting_since is not None:
            self._ready.set()

    def failed(self, at_least: float | None = None) -> float:
        """End the work as failed; it is delivered again after the returned seconds (see `Backoff`), or an `add`."""
        self.done(ok=False)
        self._observer.retried()
        delay = self._backoff.next(at_least)
        self._retry_at = self._loop.time() + delay
        self._schedule()
        return delay

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        times = [at for at in (self._look_at, self._retry_at) if at is not None]
        if times:
            self._timer = self._loop.call_at(min(times), self._due, min(times))

    def _due(self, at: float) -> None:
        self._look_at = None if self._look_at == at else self._look_at
        self._retry_at = None if self._retry_at == at else self._retry_at
        self.add()
        self._schedule()
