"""The processes of a run: each started with a command line, told to stop with SIGTERM, and always waited for.

What one costs comes from /proc. CPU is that of schedstat of every thread (nanoseconds), because the clock ticks of
`stat` are ten milliseconds each and an idle operator uses hardly more. A thread that ended takes its time along: the
operator keeps its threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import signal
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

_STOP_SECONDS = 30.0
_START_SECONDS = 90.0
_EMBEDDED = ("-m", "topology_simulator.apiserver", "--history", "20000", "--kubeconfig-out")


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
async def api_server(
    folder: pathlib.Path, command: Sequence[str] = _EMBEDDED
) -> AsyncIterator[tuple[asyncio.subprocess.Process, pathlib.Path]]:
    """Run a command whose last argument is the kubeconfig that it writes once it serves; yields both.

    Raises BenchError when it does not come up.
    """
    file, log = folder / "api.kubeconfig", folder / "api.log"
    async with running([*command, str(file)], log, talks=command is not _EMBEDDED) as process:
        deadline = time.monotonic() + _START_SECONDS
        while not file.exists():
            if process.returncode is not None or time.monotonic() > deadline:
                raise BenchError(f"the API server did not start; {log}:\n{log.read_text()[-2000:]}")
            await asyncio.sleep(0.05)
        yield process, file


def operator_command(kubeconfig: pathlib.Path, port: int = 0) -> list[str]:
    """The operator's command line; it does not settle within a run."""
    command = ["-m", "topology_controller", "run", "--kubeconfig", str(kubeconfig), "--settle-seconds", "3600"]
    return [*command, "--bind-address", f"127.0.0.1:{port}"]


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


def rss_mib(pid: int) -> float:
    """Resident memory of a process. Raises OSError when it is gone or smaps_rollup cannot be read."""
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) / 1024
    raise OSError(f"no Rss in smaps_rollup of process {pid}")


def cpu_seconds(pid: int) -> float:
    """CPU time that the living threads of a process have used."""
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def last_words(folder: pathlib.Path) -> str:
    """The end of each log."""
    logs = sorted(folder.glob("*.log"))
    return "".join(f"--- {log.name}\n{log.read_text(errors='replace')[-1500:]}\n" for log in logs)
