"""Whoever reads stderr may stop reading: the loop goes on, what fits is kept, and what is lost is said."""

import contextlib
import fcntl
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from test import processes

from topology_controller import logs

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


def test_who_sets_the_pipe_not_to_block_costs_no_line(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    made = handler(writer)
    say(made, "first")
    made.flush()
    os.set_blocking(writer, False)
    for number in range(100):
        say(made, f"{number} " + "x" * 100)
    with open(reader, closefd=False) as lines:
        until("every line is there", lambda: next(lines, "").startswith("99 "))


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


def test_nobody_waits_for_a_reader_who_gets_what_fits_and_the_number_of_the_rest(pipe: tuple[int, int]) -> None:
    made = handler(pipe[1])
    made.setFormatter(logs.Text())
    # Were a line written meanwhile, there would be room again, and a first loss would be told between the others.
    os.write(pipe[1], b"z" * 4096)
    say(made, "first")
    until("its thread waits for the reader", made._lines.empty)

    def fill() -> None:
        for number in range(1500):
            say(made, f"line {number} {'x' * 50}")

    filling = threading.Thread(target=fill, daemon=True)
    filling.start()
    filling.join(GIVEN_UP_SECONDS)
    assert not filling.is_alive(), "it waits for a reader, which comes below"
    found = bytearray()

    def read() -> bytearray:
        found.extend(os.read(pipe[0], 65536))
        return found

    until("all that fits has come", lambda: read().count(b"\n") == 1501 - made._lost)
    assert made._lost > 300
    say(made, "as ever")
    until("the loss is told", lambda: read().endswith(b"] as ever\n"))
    _, *lines, told, _ = found.decode().splitlines()
    assert told.startswith("W")
    lost = int(told.partition("not read: ")[2].split()[0])
    assert [line.partition("] line ")[2].split()[0] for line in lines] == [str(each) for each in range(1500 - lost)]


def test_the_end_waits_a_second_for_the_reader_and_no_longer(pipe: tuple[int, int]) -> None:
    made = handler(pipe[1])
    say(made, "z" * 20_000)
    began = time.monotonic()
    ending = threading.Thread(target=made.close, daemon=True)
    ending.start()
    ending.join(GIVEN_UP_SECONDS)
    assert not ending.is_alive(), "it waits for a reader who never comes"
    assert time.monotonic() - began >= 0.9
