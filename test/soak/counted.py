"""The operator, started so that it can be asked what it keeps: `python -m test.soak.counted FILE run ...`.

The operator itself does not tell its tasks to anybody, and need not learn it for this: whoever starts it adds a handler
for SIGUSR1, which appends one line of JSON to FILE, `{"tasks": {name: count}}`. SIGUSR2 adds `"objects": {type: count}`
of what the garbage collector knows after it has collected, which takes a few hundred milliseconds.
"""

from __future__ import annotations

import asyncio
import collections
import gc
import json
import os
import pathlib
import signal
import sys
from typing import TYPE_CHECKING, Any

from topology_controller import cli

if TYPE_CHECKING:
    from types import FrameType


def tasks() -> dict[str, int]:
    """How many tasks there are of each coroutine; none while no loop runs."""
    try:
        found = asyncio.all_tasks()
    except RuntimeError:
        return {}
    return dict(collections.Counter(str(getattr(one.get_coro(), "__qualname__", "?")) for one in found))


def objects() -> dict[str, int]:
    """How many objects of each type the garbage collector tracks, after it has collected."""
    gc.collect()
    return dict(collections.Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects()))


def answering(file: pathlib.Path) -> None:
    """Answer both signals from now on."""

    def answer(number: int, _: FrameType | None) -> None:
        found: dict[str, Any] = {"tasks": tasks()}
        if number == signal.SIGUSR2:
            found["objects"] = objects()
        # One write: whoever reads sees the whole line or nothing.
        target = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(target, json.dumps(found).encode() + b"\n")
        finally:
            os.close(target)

    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, answer)


if __name__ == "__main__":
    answering(pathlib.Path(sys.argv[1]))
    sys.exit(cli.main(sys.argv[2:]))
