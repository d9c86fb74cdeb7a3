"""Asks a person at the terminal for one line, in such a way that Ctrl-C and SIGTERM still end the command at once.

A read that blocks keeps the event loop from seeing a signal, and a thread that reads cannot be ended. So the loop waits
until the terminal has a line.
"""

from __future__ import annotations

import asyncio
from typing import TextIO


async def line(prompt: str, terminal: TextIO, output: TextIO) -> str:
    """Show the prompt and return what is typed, without the line break; empty at the end of the input.

    `terminal` has to be one: an ordinary file is never waited for.
    """
    loop = asyncio.get_running_loop()
    output.write(prompt)
    output.flush()
    ready = asyncio.Event()
    loop.add_reader(terminal.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(terminal.fileno())
    return terminal.readline().rstrip("\n")
