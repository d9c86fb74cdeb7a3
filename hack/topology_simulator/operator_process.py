"""The operator as what it is in production: a process of its own, known by its command line and nothing else.

It runs in a session of its own, so that Ctrl-C in the terminal reaches only whoever started it, who then stops it in
order: SIGTERM, ten seconds, SIGKILL, and always waited for. What it says goes to a log file.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Sequence

_STOP_SECONDS = 10.0
_LAST_LINES = 20


class OperatorDiedError(Exception):
    """The operator ended by itself; the message has its exit code and its last words."""


@contextlib.asynccontextmanager
async def running(
    kubeconfig: pathlib.Path, log: pathlib.Path, settle_seconds: int, flags: Sequence[str] = ()
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the operator inside this context. Its metrics are on a free port, named in the log."""
    command = [sys.executable, "-m", "topology_controller", "run"]
    command += ["--kubeconfig", str(kubeconfig), "--bind-address", f"127.0.0.1:{_free_port()}"]
    command += ["--settle-seconds", str(settle_seconds), *flags]
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    try:
        yield process
    finally:
        # Shielded: a second Ctrl-C must not leave the process behind.
        await asyncio.shield(asyncio.ensure_future(_stop(process)))


async def watch(process: asyncio.subprocess.Process, log: pathlib.Path) -> None:
    """Wait for the operator; it is not to end. Raises OperatorDiedError when it does."""
    code = await process.wait()
    raise OperatorDiedError(f"the operator ended with exit code {code}; its last words:\n{last_words(log)}")


def last_words(log: pathlib.Path) -> str:
    """Return the end of a log."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError as error:
        return f"({log}: {error.strerror})"
    return "\n".join(f"    {line}" for line in lines[-_LAST_LINES:]) or "    (it said nothing)"


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _free_port() -> int:
    """Return a port that was free a moment ago; the operator takes it at once."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
