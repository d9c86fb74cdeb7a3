"""Processes of etcd members and API servers, owned by a keeper: a process that ends them when its own parent is gone.

`keeper` is that process. When its parent is killed, its input ends; it kills what it started and removes the
folder. Here is the other end of its pipe: start a process, send it a signal, know when it has ended and what it said.
"""

import asyncio
import collections
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from .. import etcd, opened
from . import keeper

_ORDER_SECONDS = 10.0
_POLL_SECONDS = 0.002
_PROC = pathlib.Path("/proc")
_GARBAGE = {"GOGC": "400"}
"""Go collects garbage when this much more, in percent, has piled up: kube-apiserver starts with 30 % less CPU (4.6 s
instead of 6.6 s, definitions of OpenShift included) and holds 730 MB instead of 400 MB."""
_TAIL = 15
_WIDTH = 300
"""etcd puts a stack trace behind many a line."""


class KeepingError(etcd.EtcdError):
    """A process did not start, stop or hold still; the message has its last words."""


class Keeping(opened.Opened):
    """Processes by name, in a temporary folder that goes with them; use it as an async context manager."""

    def __init__(self, prefix: str = "etcd-members-") -> None:
        super().__init__()
        self._prefix = prefix
        self.folder = pathlib.Path()
        self._keeper: asyncio.subprocess.Process | None = None
        self._pids: dict[str, int] = {}
        self._starts: collections.Counter[str] = collections.Counter()
        self._news = asyncio.Condition()
        self._gone = False

    async def _open(self, parts: contextlib.AsyncExitStack) -> None:
        self.folder = pathlib.Path(await asyncio.to_thread(tempfile.mkdtemp, prefix=self._prefix))
        parts.callback(shutil.rmtree, self.folder, ignore_errors=True)
        # A session of its own: Ctrl-C in a terminal is for the parent, which then closes this.
        self._keeper = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            str(keeper.__file__),
            str(self.folder),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=_GARBAGE | os.environ,
        )
        listening = asyncio.create_task(self._listen(self._keeper), name="keeper of processes")
        parts.push_async_callback(self._close, self._keeper, listening)

    async def _close(self, owner: asyncio.subprocess.Process, listening: asyncio.Task[None]) -> None:
        if owner.stdin is not None:
            owner.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ORDER_SECONDS):
                await owner.wait()
        if owner.returncode is None:
            owner.kill()
            await owner.wait()
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)

    @property
    def pids(self) -> dict[str, int]:
        """The running processes by name."""
        return dict(self._pids)

    def pid(self, name: str) -> int | None:
        """Return the process id, or None when it does not run."""
        return self._pids.get(name)

    def last_words(self, name: str) -> str:
        """Return the end of what a process has said."""
        file = self._log(name)
        lines = file.read_text(errors="replace").splitlines()[-_TAIL:] if file.exists() else []
        return "\n".join((f"--- {name}", *(line[:_WIDTH] for line in lines)))

    async def start(self, name: str, argv: Sequence[str]) -> None:
        """Start a process; returns when it has begun, not when it is ready. Raises KeepingError."""
        if shutil.which(argv[0]) is None:
            raise KeepingError(f"{argv[0]} is not there, or cannot be executed")
        before = self._starts[name]
        await self._order({"start": name, "argv": list(argv), "log": str(self._log(name))})
        # Counted, because one that ends at once may have ended before we look.
        await self._until(f"{name} did not start", name, lambda: self._starts[name] > before)

    async def end(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal that ends a process, also one that holds still, and wait until it has. Raises KeepingError."""
        await self._order({"stop": name, "signal": number})
        if number is not signal.SIGKILL:
            await self._order({"stop": name, "signal": signal.SIGCONT})
        await self._until(f"{name} did not end", name, lambda: name not in self._pids)

    async def hold(self, name: str) -> None:
        """Let a process hold still (SIGSTOP); returns when it does. Raises KeepingError."""
        await self._order({"stop": name, "signal": signal.SIGSTOP})
        try:
            async with asyncio.timeout(_ORDER_SECONDS):
                while not self._held(name):  # noqa: ASYNC110 - the kernel sets no event here
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise KeepingError(f"{name} does not hold still\n{self.last_words(name)}") from None

    async def go_on(self, name: str) -> None:
        """Let a process that holds still go on. Raises KeepingError."""
        await self._order({"stop": name, "signal": signal.SIGCONT})

    def _held(self, name: str) -> bool:
        pid = self._pids.get(name)
        if pid is None:
            raise KeepingError(f"{name} does not run\n{self.last_words(name)}")
        try:
            state = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            # No such file system here: the signal was sent, more cannot be known.
            return not _PROC.joinpath("self").exists()
        return state in "Tt"

    def _log(self, name: str) -> pathlib.Path:
        return self.folder / f"{name}.log"

    async def _listen(self, owner: asyncio.subprocess.Process) -> None:
        if owner.stdout is None:
            return
        while line := await owner.stdout.readline():
            news = json.loads(line)
            async with self._news:
                if "started" in news:
                    self._pids[news["started"]] = news["pid"]
                    self._starts[news["started"]] += 1
                else:
                    self._pids.pop(news["ended"], None)
                self._news.notify_all()
        async with self._news:
            self._gone = True
            self._pids.clear()
            self._news.notify_all()

    async def _order(self, order: dict[str, Any]) -> None:
        if self._keeper is None or self._keeper.stdin is None:
            raise RuntimeError("use it as an async context manager")
        try:
            self._keeper.stdin.write(json.dumps(order).encode() + b"\n")
            await self._keeper.stdin.drain()
        except ConnectionError as error:
            raise KeepingError(f"the keeper is gone: {error}") from error

    async def _until(self, failure: str, name: str, holds: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(_ORDER_SECONDS), self._news:
                await self._news.wait_for(lambda: holds() or self._gone)
        except TimeoutError:
            raise KeepingError(f"{failure}\n{self.last_words(name)}") from None
        if not holds():
            raise KeepingError(f"{failure}: the keeper is gone")


_RANGE = range(20000, 32000)
"""Below the range that the kernel gives to outgoing connections, or one of those would sit there when a server that was
killed comes back to its port."""
_TRIES = 200


def free_ports(number: int) -> list[int]:
    """Return ports on which no process listened a moment ago, all different. Raises OSError."""
    ports: list[int] = []
    for port in random.sample(_RANGE, _TRIES):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == number:
            return ports
    raise OSError(f"no {number} free ports between {_RANGE.start} and {_RANGE.stop}")
