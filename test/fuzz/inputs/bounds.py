"""How much is tried, and what every example must keep to: an end in time, in memory that its input explains.

`FUZZ_INPUT_EXAMPLES` (40) is for each test; `make fuzz` has more, and FUZZ_SHRINK=1 looks for a shorter example
of what was found. Time is that of the processor, so that a loaded machine does not matter; an example that takes too
much is interrupted where it is, which is what the trace then shows.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import resource
import signal
import tracemalloc
from typing import TYPE_CHECKING, Any, NoReturn

import hypothesis
from hypothesis import HealthCheck, Phase

from test import exploring

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = int(os.environ.get("FUZZ_INPUT_EXAMPLES", "40"))
SEED = int(os.environ[exploring.VARIABLE])
SECONDS = 20.0
MIB = 1024 * 1024
SETTINGS = hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=tuple(HealthCheck),
    phases=(Phase.explicit, Phase.generate, *((Phase.shrink,) if "FUZZ_SHRINK" in os.environ else ())),
)


class HungError(Exception):
    """An example took more time of the processor than any input should."""


def fuzz(*strategies: Any, **named: Any) -> Any:
    """`hypothesis.given` with the bounds of this folder, and the seed of this run."""

    def decorated(test: Any) -> Any:
        return hypothesis.seed(SEED)(SETTINGS(hypothesis.given(*strategies, **named)(test)))

    return decorated


@contextlib.contextmanager
def ended(size: int, *, seconds: float = SECONDS) -> Iterator[None]:
    """Hold what happens inside to `seconds` of the processor, and to half a GiB of memory, whatever its input."""

    def interrupt(*_: object) -> NoReturn:
        raise HungError(f"more than {seconds:g} s for {size} bytes")

    before = signal.signal(signal.SIGPROF, interrupt)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 512 * MIB, hard))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextlib.contextmanager
def kept(size: int, *, times: float, beside: int = 2 * MIB, seconds: float = SECONDS) -> Iterator[None]:
    """Hold it to so much time, and to the memory of `times` its input; for single examples, as counting is slow.

    `beside`: what it may take besides, such as a buffer as long as the longest file.
    """
    tracemalloc.start()
    try:
        with ended(size, seconds=seconds):
            yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= beside + times * size, f"{peak} bytes of memory for {size} bytes"
