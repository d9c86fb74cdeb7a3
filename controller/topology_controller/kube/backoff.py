"""How long to wait after the n-th failure in a row.

Exponential, because a server in trouble needs less of us; jittered, because a thousand of us must not come
back in step; capped, because trouble ends. `watch`, `lease` and `queue` each own one; a caller resets it when
it has seen real health, which is more than one good answer.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# A server that asks for more than this is not obeyed: it may be confused, and we would look dead.
LONGEST_OBEYED = 120.0
_STEEPEST = 30


@dataclass(slots=True)
class Backoff:
    """Delays in seconds: `first`, doubled each time, at most `cap`.

    Each is varied by up to a fifth, and is never above `cap`.
    """

    first: float = 1.0
    cap: float = 30.0
    uniform: Callable[[float, float], float] = random.uniform
    failures: int = field(default=0, init=False)

    def next(self, at_least: float | None = None) -> float:
        """Count a failure and return how long to wait; `at_least` is what the server asked for, if it did."""
        delay: float = min(self.cap, self.first * 2.0 ** min(self.failures, _STEEPEST))
        self.failures += 1
        delay = min(self.cap, delay * self.uniform(0.8, 1.2))
        return max(delay, min(at_least or 0.0, LONGEST_OBEYED))

    def reset(self) -> None:
        """Begin again at `first`."""
        self.failures = 0
