"""What a test leaves behind fails that test, with what was left; no test fails for another's.

Left is what was not there before the test and is there after its teardown: an open descriptor (a socket, a pipe, a
file), a task of its loop, a thread, a process or what that started, a file in the folder for temporary ones. What a
fixture of a wider scope than a test opens belongs to that scope, and so do connections and tasks of a loop of that
scope; what stands in `kept()` belongs to the run.

What is being closed gets time to be: while something differs, the loop of the test turns, and then this process waits.
Young objects are collected after each test, so that what only the garbage collector closes is complained about in the
test that dropped it. Where there is no /proc, only tasks, threads and files are seen.
"""

# ruff: noqa: PTH115, PTH123, PTH208 - names of /proc, twice for each test: paths would cost ten times as much

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import dataclasses
import functools
import gc
import logging
import os
import pathlib
import socket
import sys
import threading
import time
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

SECONDS = 3.0
"""How long what is being closed may take. It costs time only where something is left."""
_STEP = 0.01
_RUNNER = "_scoped_runner"
"""How the names of the fixtures end with which pytest-asyncio opens and closes the loops of tests."""
_PR_SET_CHILD_SUBREAPER = 36
_LAST = ("last_exc", "last_type", "last_value", "last_traceback")


@dataclass(frozen=True, slots=True)
class Held:
    """What this process of tests holds: each thing by what tells it from others."""

    descriptors: frozenset[tuple[int, str]] = frozenset()
    threads: frozenset[threading.Thread] = frozenset()
    processes: frozenset[int] = frozenset()
    files: frozenset[str] = frozenset()
    tasks: frozenset[asyncio.Task[Any]] = frozenset()

    def __sub__(self, other: Held) -> Held:
        return Held(*(getattr(self, each.name) - getattr(other, each.name) for each in fields(self)))

    def __or__(self, other: Held) -> Held:
        return Held(*(getattr(self, each.name) | getattr(other, each.name) for each in fields(self)))

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))

    def lines(self) -> list[str]:
        """Say what each is, for a person who looks for who opened it."""
        return [
            *(f"descriptor {number}: {_ends(number) or link}" for number, link in sorted(self.descriptors)),
            *(f"thread {thread.name}" for thread in self.threads),
            *(f"process {pid}: {_command(pid)}" for pid in sorted(self.processes)),
            *(f"file {_kept.folder}/{name}" for name in sorted(self.files)),
            *(f"task {task!r}" for task in self.tasks),
        ]


@dataclass(slots=True)
class _Kept:
    """What outlives tests by intention. What `sealed` processes start, or their group holds, is their business."""

    held: Held = field(default_factory=Held)
    folder: str = ""
    sealed: set[int] = field(default_factory=set)
    loops: list[asyncio.AbstractEventLoop] = field(default_factory=list)


_kept = _Kept()


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """What is opened in this block is shared by all tests that come. What its processes start later is not."""
    before = _now()
    try:
        yield
    finally:
        _kept.held |= _now() - before


def watch(folder: str) -> None:
    """Look after each test into this folder, which holds the temporary files of this process alone.

    Nothing is deleted there, nor elsewhere.
    """
    _kept.folder = folder


def _now(*loops: asyncio.AbstractEventLoop) -> Held:
    open_loops = [loop for loop in (*loops, *_kept.loops) if not loop.is_closed()]
    of_loops = ("asyncio-waitpid", *(["asyncio_"] if open_loops else []))
    return Held(
        frozenset(_descriptors()),
        # The threads of a loop's executor end with the loop, and a shared one outlives it; who waits for a process
        # ends with that.
        frozenset(one for one in threading.enumerate() if not one.name.startswith(of_loops)),
        frozenset(_descendants(os.getpid())),
        frozenset(os.listdir(_kept.folder) if _kept.folder else ()),
        frozenset(task for loop in open_loops for task in asyncio.all_tasks(loop)),
    )


def _descriptors() -> Iterator[tuple[int, str]]:
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                link = os.readlink(f"/proc/self/fd/{name}")
                if link != "anon_inode:[pidfd]":
                    yield int(name), link


def _descendants(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as children:
                for child in map(int, children.read().split()):
                    if not _sealed(child):
                        yield child
                        yield from _descendants(child)


def _sealed(pid: int) -> bool:
    try:
        return not _kept.sealed.isdisjoint((pid, os.getpgid(pid)))
    except ProcessLookupError:
        return False


def _ends(descriptor: int) -> str:
    """The addresses of a socket; empty for what is none."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as copy:
            ends = [f"{copy.family.name} {copy.getsockname()}"]
            with contextlib.suppress(OSError):
                ends.append(str(copy.getpeername()))
    except OSError:
        return ""
    return f"socket {' -> '.join(ends)}"


def _command(pid: int) -> str:
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "ended meanwhile"
    return words.strip()[:300] or "ended, and nothing waited for it"


def _settled(left: Callable[[], Held], pause: Callable[[], object]) -> Held:
    """What is left when what is being closed has had its time; `pause` comes between two looks."""
    ends = time.monotonic() + SECONDS
    while (left_open := left()) and time.monotonic() < ends:
        pause()
    return left_open


def _pause() -> None:
    """Let the loops that tests share close what has been asked to close; without one this process waits."""
    turned = [loop for loop in _kept.loops if not loop.is_closed() and not loop.is_running()]
    for loop in turned:
        loop.run_until_complete(asyncio.sleep(_STEP))
    if not turned:
        time.sleep(_STEP)


def _of_no_shared_loop(held: Held) -> Held:
    """Without what belongs to a loop that tests share, while it is open: its tasks, and connections that are kept."""
    if all(loop.is_closed() for loop in _kept.loops):
        return held
    descriptors = frozenset(each for each in held.descriptors if not each[1].startswith("socket:"))
    return dataclasses.replace(held, descriptors=descriptors, tasks=frozenset())


def _ended(pids: frozenset[int]) -> frozenset[int]:
    """Those that have ended and that nobody has waited for yet."""
    found = set()
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                found.add(pid)
    return frozenset(found)


def _bury(pids: frozenset[int]) -> None:
    """Wait for those that have ended and whose own parent did not: they came to this process."""
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


class Leftovers:
    """Looks before and after each test."""

    def __init__(self) -> None:
        self._before = Held()
        self._lines: list[str] = []
        if sys.platform == "linux":
            # What loses its parent comes to this process, and is seen.
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._before = _now()
        self._lines = []
        # A handler that a test has set up writes to what was its own stderr.
        handlers = list(logging.getLogger().handlers)
        result = yield
        logging.getLogger().handlers[:] = handlers
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        wide = fixturedef.scope != "function"
        before = _now() if wide else Held()
        result = yield
        if fixturedef.argname.endswith(_RUNNER):
            loop = result.get_loop()  # type: ignore[attr-defined]  # asyncio.Runner, as pytest-asyncio has it
            if wide:
                _kept.loops.append(loop)
            else:
                # Runs after all that needs the loop is torn down, and before the loop is closed.
                fixturedef.addfinalizer(functools.partial(self._before_it_closes, loop, _now(loop)))
        if wide:
            opened = _now() - before - _kept.held
            _kept.held |= opened
            _kept.sealed |= opened.processes
        return result

    def _before_it_closes(self, loop: asyncio.AbstractEventLoop, since: Held) -> None:
        """Let the loop close what has been asked to close; what still runs then, its end would cancel unseen."""

        def left() -> Held:
            left_open = _now(loop) - since - _kept.held
            # The threads of its executor end with the loop.
            return Held(descriptors=left_open.descriptors, processes=left_open.processes, tasks=left_open.tasks)

        def turn() -> None:
            """Once more round; what had ended before, and the loop has not waited for, is nobody's."""
            ended = _ended(left().processes)
            loop.run_until_complete(asyncio.sleep(_STEP))
            _bury(ended)

        left_open = _settled(left, turn)
        self._lines += Held(tasks=left_open.tasks).lines()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, object, object]:
        try:
            result = yield
        except Exception as error:
            if lines := self._look():
                error.add_note("\n  ".join(["it left behind", *lines]))
            raise
        if lines := self._look():
            pytest.fail("\n  ".join(["it left behind", *lines]), pytrace=False)
        return result

    def _look(self) -> list[str]:
        for name in _LAST:
            # The frames of a failed test hold all that it had.
            vars(sys).pop(name, None)
        complaints: list[str] = []

        def note(complaint: sys.UnraisableHookArgs) -> None:
            complaints.append(f"{complaint.err_msg or 'dropped'}: {complaint.object!r}: {complaint.exc_value!r}")

        def left() -> Held:
            left_open = _now() - self._before - _kept.held
            if left_open:
                gc.collect()
                _bury(left_open.processes)
                left_open = _now() - self._before - _kept.held
            return _of_no_shared_loop(left_open)

        pytests, sys.unraisablehook = sys.unraisablehook, note
        try:
            gc.collect(1)
            left_open = _settled(left, _pause)
        finally:
            sys.unraisablehook = pytests
        return self._lines + left_open.lines() + complaints
