"""Owns the server processes, so that they are gone when its parent is: stopped, crashed or killed.

Runs as `python keeper.py FOLDER` and takes orders as JSON lines on its standard input:

    {"start": NAME, "argv": [...], "log": FILE}     start a process; its output goes to the file
    {"stop": NAME, "signal": 15}                    send it a signal

and tells what happened in the same form on its standard output:

    {"started": NAME, "pid": N}
    {"ended": NAME, "code": N}

The end of its input is the end of everything: all processes are killed and waited for, the folder is removed, and it
leaves. The kernel closes that input also for a parent that was killed, on any system. Should the keeper itself be
killed, Linux kills the processes with it. Standard library only, nothing of this package: it starts in 0.1 s.
"""

import asyncio
import contextlib
import ctypes
import functools
import json
import os
import pathlib
import shutil
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1


class _Keeper:
    def __init__(self) -> None:
        self._running: dict[str, asyncio.subprocess.Process] = {}
        self._waiting: set[asyncio.Task[None]] = set()

    async def obey(self, order: dict[str, Any]) -> None:
        if "start" in order:
            await self._start(order["start"], order["argv"], order["log"])
        elif (process := self._running.get(order["stop"])) is not None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(order["signal"])

    async def _start(self, name: str, argv: list[str], log: str) -> None:
        with pathlib.Path(log).open("ab") as output:  # noqa: ASYNC230 - a local file; nothing else waits here
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=_die_with_the_keeper()
            )
        self._running[name] = process
        _tell({"started": name, "pid": process.pid})
        task = asyncio.create_task(self._wait(name, process))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def _wait(self, name: str, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        if self._running.get(name) is process:
            del self._running[name]
        _tell({"ended": name, "code": code})

    async def end(self) -> None:
        for process in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await asyncio.gather(*self._waiting)


def _die_with_the_keeper() -> functools.partial[int] | None:
    """Return what a new process does first; loaded here, because little is safe between fork and exec."""
    if not sys.platform.startswith("linux"):
        return None
    return functools.partial(ctypes.CDLL(None).prctl, _PR_SET_PDEATHSIG, signal.SIGKILL)


def _tell(what: dict[str, Any]) -> None:
    # The parent may not listen any more; the end of the input tells so too.
    with contextlib.suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), json.dumps(what).encode() + b"\n")


async def _main(folder: pathlib.Path) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    keeper = _Keeper()
    try:
        while line := await reader.readline():
            await keeper.obey(json.loads(line))
    finally:
        await keeper.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    # Ctrl-C in a terminal reaches the whole group; the one who asked for us decides when it is over.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_main(pathlib.Path(sys.argv[1])))
