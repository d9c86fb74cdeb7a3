"""The processes of a run: each started with a command line, told to stop with SIGTERM, and always waited for."""

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
    from collections.abc import AsyncIterator

_STOP_SECONDS = 30.0
_START_SECONDS = 90.0


class BenchError(Exception):
    """Something that the measurement needs did not happen; the message says what."""


@contextlib.asynccontextmanager
async def running(
    arguments: list[str], log: pathlib.Path, *, talks: bool = False
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run `python ARGUMENTS` inside this context; errors go to `log`. With `talks` stdin and stdout are pipes."""
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *arguments,
            stdin=asyncio.subprocess.PIPE if talks else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE if talks else output,
            stderr=output,
            start_new_session=True,
            env=_environment(log.parent),
        )
    try:
        yield process
    finally:
        await _stop(process)


@contextlib.asynccontextmanager
async def api_server(folder: pathlib.Path, name: str) -> AsyncIterator[pathlib.Path]:
    """Run the embedded API server; yields its kubeconfig. Raises BenchError when it does not come up."""
    file, log = folder / f"{name}.kubeconfig", folder / f"{name}.log"
    command = ["-m", "topology_simulator.apiserver", "--kubeconfig-out", str(file), "--history", "20000"]
    async with running(command, log) as process:
        deadline = asyncio.get_running_loop().time() + _START_SECONDS
        while not file.exists():
            if process.returncode is not None or asyncio.get_running_loop().time() > deadline:
                raise BenchError(f"the API server did not start; {log}:\n{log.read_text()[-2000:]}")
            await asyncio.sleep(0.05)
        yield file


def operator_command(kubeconfig: pathlib.Path, port: int) -> list[str]:
    """The operator's command line; it does not settle within a run."""
    command = ["-m", "topology_controller", "run", "--kubeconfig", str(kubeconfig), "--settle-seconds", "3600"]
    return [*command, "--bind-address", f"127.0.0.1:{port}"]


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _environment(folder: pathlib.Path) -> dict[str, str]:
    """Ours, but with compiled bytecode whatever ours says: an image has it, and it is kept out of the repository."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONUNBUFFERED": "1", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


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
