"""Asks a person at the terminal for one line, in such a way that Ctrl-C and SIGTERM still end the command at once.

A read that blocks would keep the event loop from hearing of a signal, and a thread that reads could not be ended. So
the loop waits until the terminal has a line.
"""

from __future__ import annotations

import asyncio
from typing import TextIO


async def line(prompt: str, given: TextIO, shown: TextIO) -> str:
    """Show the prompt and return what is typed, without the line break; empty at the end of the input.

    `given` has to be a terminal: an ordinary file is never waited for.
    """
    loop = asyncio.get_running_loop()
    shown.write(prompt)
    shown.flush()
    ready = asyncio.Event()
    loop.add_reader(given.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(given.fileno())
    return given.readline().rstrip("\n")
