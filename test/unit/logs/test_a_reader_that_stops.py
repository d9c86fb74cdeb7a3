"""Whoever reads stderr may stop reading: the loop goes on, what fits is kept, and what is lost is said."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import threading
import time
from typing import TYPE_CHECKING

import pytest
from test import processes

from topology_controller import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GIVEN_UP_SECONDS = 30.0
"""What a busy machine may take for what is done at once, or after a second. What does not end would last for ever."""

HANDLERS: list[logs.Stderr] = []
"""Those of the test."""


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    yield reader, writer
    with contextlib.suppress(OSError):
        os.close(reader)
    # Their threads end when there is no reader any more to wait for.
    while HANDLERS:
        HANDLERS.pop().close()
    os.close(writer)


def handler(writer: int) -> logs.Stderr:
    made = logs.Stderr(writer)
    made.setFormatter(logging.Formatter("%(message)s"))
    HANDLERS.append(made)
    return made


def say(made: logs.Stderr, text: str) -> None:
    made.handle(logging.LogRecord("x", logging.INFO, "x.py", 1, "%s", (text,), None))


def until(what: str, holds: Callable[[], bool], seconds: float = GIVEN_UP_SECONDS) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, what
        time.sleep(0.001)


@pytest.mark.parametrize("ends", ["sys.exit(3)", "raise KeyError", "logging.shutdown(); os._exit(1)"])
def test_the_last_words_of_a_process_are_written(ends: str) -> None:
    program = f"""
import logging, os, sys
from topology_controller import logs
logs.set_up(logging.INFO, "text")
for number in range(200):
    logging.getLogger("topology_controller.x").info("word %(number)d", {{"number": number}})
{ends}
"""
    ended = processes.python("-c", program)
    words = [line.partition("] ")[2] for line in ended.complaint.splitlines() if "] word" in line]
    assert words == [f"word {number}" for number in range(200)]


def test_a_full_pipe_does_not_block_and_loses_nothing_that_fits(pipe: tuple[int, int]) -> None:
    made = handler(pipe[1])

    def fill() -> None:
        for number in range(200):
            say(made, f"{number:04d} {'x' * 100}")

    filling = threading.Thread(target=fill, daemon=True)
    filling.start()
    filling.join(GIVEN_UP_SECONDS)
    assert not filling.is_alive(), "it waits for a reader, which comes below"
    found = bytearray()

    def all_read() -> bool:
        found.extend(os.read(pipe[0], 65536))
        return found.count(b"\n") == 200

    until("all lines were read", all_read)
    assert [int(line[:4]) for line in found.splitlines()] == list(range(200))
    say(made, "as ever")
    assert os.read(pipe[0], 100) == b"as ever\n"


def test_what_does_not_fit_is_counted(pipe: tuple[int, int]) -> None:
    made = handler(pipe[1])
    made.setFormatter(logs.Text())
    for number in range(1500):
        say(made, f"line {number} {'x' * 50}")
    found = bytearray()

    def told() -> bool:
        found.extend(os.read(pipe[0], 65536))
        return b"lines are lost" in found

    until("the loss is told", told)
    lines = found.decode().splitlines()
    lost = int(lines[-1].partition("not read: ")[2].split()[0])
    assert lines[-1].startswith("W")
    assert lost + len(lines) - 1 == 1500
    assert lost > 300


def test_the_end_waits_a_second_for_the_reader_and_no_longer(pipe: tuple[int, int]) -> None:
    made = handler(pipe[1])
    say(made, "z" * 20_000)
    began = time.monotonic()
    ending = threading.Thread(target=made.close, daemon=True)
    ending.start()
    ending.join(GIVEN_UP_SECONDS)
    assert not ending.is_alive(), "it waits for a reader who never comes"
    assert time.monotonic() - began >= 0.9
