"""Programs that tests run: to their end, or for as long as a block lasts. None outlives the test that started it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    import os
    import pathlib
    from collections.abc import AsyncIterator, Mapping

SECONDS = 180.0
"""How long a program may take: generous, it costs time only where a test fails."""


class Ended(NamedTuple):
    """How a program ended: its code, what it printed, what it complained about."""

    code: int
    printed: str
    complaint: str

    @property
    def answer(self) -> dict[str, Any]:
        """What it printed, as JSON."""
        found: dict[str, Any] = json.loads(self.printed)
        return found

    @property
    def rows(self) -> list[list[str]]:
        """The columns of each printed line."""
        return [line.split() for line in self.printed.splitlines()]

    def complaint_of(self, program: str) -> str:
        """The one calm line that a failed command leaves, without the program's name."""
        assert self.printed == "", self
        assert "Traceback" not in self.complaint, self.complaint
        lines = self.complaint.splitlines()
        assert len(lines) == 1, self.complaint
        assert lines[0].startswith(f"{program}: "), self.complaint
        return lines[0].removeprefix(f"{program}: ")


class Running(Protocol):
    """What has a pid: of asyncio, or forked."""

    @property
    def returncode(self) -> int | None: ...
    def kill(self) -> None: ...
    async def wait(self) -> int: ...


P = TypeVar("P", bound=Running)


@contextlib.asynccontextmanager
async def killed_after(process: P, seconds: float = SECONDS) -> AsyncIterator[P]:
    """Lend a process; when the block ends, or after `seconds` with TimeoutError, it is killed if it has not ended."""
    try:
        async with asyncio.timeout(seconds):
            yield process
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def started(
    *command: object,
    env: Mapping[str, str] | None = None,
    cwd: os.PathLike[str] | None = None,
    errors_too: bool = False,
    alone: bool = False,
) -> asyncio.subprocess.Process:
    """Start a program with pipes to all of its streams; with `errors_too` its errors come on standard output.

    With `alone` it leads a process group, which can be sent a signal as by Ctrl-C.
    """
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *map(str, command), env=env, cwd=cwd, stdin=pipe, stdout=pipe,
        stderr=asyncio.subprocess.STDOUT if errors_too else pipe, start_new_session=alone,
    )  # fmt: skip


async def logged(
    *command: object, log: pathlib.Path, env: Mapping[str, str], cwd: str | None = None
) -> asyncio.subprocess.Process:
    """Start a program in a session of its own that reads nothing and writes everything to a file."""
    with log.open("wb") as output:
        return await asyncio.create_subprocess_exec(
            *map(str, command), env=env, cwd=cwd,
            stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip


async def run(
    *command: object,
    given: str = "",
    env: Mapping[str, str] | None = None,
    cwd: os.PathLike[str] | None = None,
    seconds: float = SECONDS,
) -> Ended:
    """Run a program to its end, with `given` as its standard input."""
    async with killed_after(await started(*command, env=env, cwd=cwd), seconds) as process:
        printed, complaint = await process.communicate(given.encode())
    assert process.returncode is not None
    return Ended(process.returncode, printed.decode(), complaint.decode())


def python(*arguments: str, cwd: os.PathLike[str] | None = None) -> Ended:
    """Run our interpreter to its end, from a test without a loop."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)
