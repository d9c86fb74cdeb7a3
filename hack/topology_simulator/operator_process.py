"""The operator as what it is in production: a process of its own, known by its command line and nothing else.

It runs in a session of its own, so that Ctrl-C in the terminal reaches only its parent, which then stops it in order.
What it says goes to a log file.
"""

import asyncio
import contextlib
import os
import pathlib
import signal
import ssl
import sys
from collections.abc import AsyncIterator, Sequence

from . import SimulatorError
from .etcd import keeping

_STOP_SECONDS = 10.0
_LAST_LINES = 20


class OperatorDiedError(SimulatorError):
    """The operator ended by itself; the message has its exit code and its last words."""


async def spawn(command: Sequence[str], output: int) -> asyncio.subprocess.Process:
    """Start a process in a session of its own; what it says goes to the descriptor `output`."""
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


class Operator:
    """The operator's process, and the one that takes its place after an eviction."""

    def __init__(self, command: Sequence[str], log: pathlib.Path, port: int, tls: ssl.SSLContext | None = None) -> None:
        self._command = command
        self.log = log
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"
        """Where it serves metrics and probes."""
        self.tls = tls
        """How to come in there; None for plain HTTP."""
        self._process: asyncio.subprocess.Process | None = None
        self._moving = asyncio.Event()
        self._moving.set()

    @property
    def returncode(self) -> int | None:
        """Exit code of the present process, None while it runs."""
        return self._process.returncode if self._process is not None else None

    @property
    def pid(self) -> int:
        """Of the process that was started last; 0 before."""
        return self._process.pid if self._process is not None else 0

    async def start(self) -> None:
        """Start a process; the first one begins the log, those after it go on in it."""
        with self.log.open("wb" if self._process is None else "ab") as output:
            self._process = await spawn(self._command, output.fileno())

    def freeze(self) -> None:
        """Let the process neither run nor end, until it is stopped."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    async def evict(self, away_seconds: float, *, killed: bool = False) -> None:
        """Stop it as a drain does and start it anew, as on another node. Raises OperatorDiedError.

        An eviction is a polite end: any exit code but 0 is a fault. One that is `killed` has no time to end.
        """
        self._moving.clear()
        try:
            if killed and self._process is not None:
                self._process.kill()
            await self.stop()
            if self.returncode != 0 and not killed:
                raise self._died()
            await asyncio.sleep(away_seconds)
            await self.start()
        finally:
            self._moving.set()

    async def watch(self) -> None:
        """Wait for its end; it is not to end, other than by an eviction. Raises OperatorDiedError when it does."""
        while True:
            process = self._process
            if process is None:
                raise self._died()
            await process.wait()
            await self._moving.wait()
            if process is self._process:
                raise self._died()

    async def stop(self) -> None:
        """SIGTERM, ten seconds, SIGKILL; waited for."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    def _died(self) -> OperatorDiedError:
        words = last_words(self.log)
        return OperatorDiedError(f"the operator ended with exit code {self.returncode}; its last words:\n{words}")


@contextlib.asynccontextmanager
async def running(
    kubeconfig: pathlib.Path,
    log: pathlib.Path,
    settle_seconds: int,
    flags: Sequence[str] = (),
    *,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Operator]:
    """Run the operator inside this context; `tls` is for who looks at it, where the flags let it serve HTTPS."""
    (port,) = keeping.free_ports(1)
    command = [sys.executable, "-m", "topology_controller", "run"]
    command += ["--kubeconfig", str(kubeconfig), "--bind-address", f"127.0.0.1:{port}"]
    command += ["--settle-seconds", str(settle_seconds), *flags]
    operator = Operator(command, log, port, tls)
    await operator.start()
    try:
        yield operator
    finally:
        # Shielded: a second Ctrl-C must not leave the process behind.
        await asyncio.shield(asyncio.ensure_future(operator.stop()))


def last_words(log: pathlib.Path) -> str:
    """Return the end of a log."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError as error:
        return f"({log}: {error.strerror})"
    return "\n".join(f"    {line}" for line in lines[-_LAST_LINES:]) or "    (it said nothing)"
