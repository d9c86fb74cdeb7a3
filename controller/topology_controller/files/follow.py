"""Follows one file while we run: a mounted ConfigMap, or a file that somebody edits.

A ConfigMap volume swaps everything at once, by turning the link `..data`; anybody else writes file by file, and may be
seen half-way. So what differs is believed when two looks shortly after each other find the same. Contents are compared,
not times: a small file every two seconds costs nothing, and a time can lie. Neither a pipe nor an endless device may
hold the loop up: only a regular file is read, and only so much of it.

`configuration` makes sense of what is found here.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import read

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncGenerator

PERIOD = 2.0
"""Seconds between two looks; kubelet itself takes up to a minute to bring a change."""
BREATH = 0.1
"""Seconds after which a change must still be the same."""
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Content:
    """What stands in a file: `raw`, None where there is no file; `trouble` says why an existing one cannot be read.

    A file that is too large comes with one byte more than `read.LARGEST_FILE`, by which `read.parsed` refuses it.
    """

    raw: bytes | None = None
    trouble: str = ""


def content(place: pathlib.Path) -> Content:
    """Read a file now. Never raises and never waits for whoever would write into a pipe."""
    try:
        number = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                return Content(trouble="is no regular file")
            with os.fdopen(number, "rb", closefd=False) as file:
                return Content(file.read(read.LARGEST_FILE + 1))
        finally:
            os.close(number)
    except (FileNotFoundError, NotADirectoryError):
        return Content()
    except OSError as error:
        why = "is no regular file" if error.errno == errno.ENXIO else f"cannot be read: {error.strerror or error}"
        return Content(trouble=why)
    except ValueError as error:
        return Content(trouble=f"cannot be read: {error}")


async def changes(
    place: pathlib.Path, first: Content, *, period: float = PERIOD, breath: float = BREATH
) -> AsyncGenerator[Content, None]:
    """Yield what stands in a file whenever it has become something else than `first`, or than was yielded last."""
    told = first
    while True:
        await asyncio.sleep(period)
        found = content(place)
        for _ in range(_TRIES):
            if found == told:
                break
            await asyncio.sleep(breath)
            before, found = found, content(place)
            if found == before:
                told = found
                yield told
                break
