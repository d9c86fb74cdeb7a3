"""Processes of etcd members and API servers, in a process group that ends with its owner, also when that is killed.

A shell leads the group and waits for the end of its input, which the kernel closes for an owner that was killed, too.
Then it removes the folder and kills the group.
"""

import asyncio
import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import tempfile
from collections.abc import Sequence

from .. import etcd, opened

_ORDER_SECONDS = 10.0
_POLL_SECONDS = 0.002
_PROC = pathlib.Path("/proc")
_LEADER = ("/bin/sh", "-c", 'trap "" HUP; read -r _; rm -rf "$0"; kill -9 0')
"""It ignores the SIGHUP that the kernel sends to a group whose owner ends while a process of it holds still."""
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
        self._leader: asyncio.subprocess.Process | None = None
        self._processes: dict[str, asyncio.subprocess.Process] = {}

    async def _open(self, parts: contextlib.AsyncExitStack) -> None:
        self.folder = pathlib.Path(await asyncio.to_thread(tempfile.mkdtemp, prefix=self._prefix))
        parts.callback(shutil.rmtree, self.folder, ignore_errors=True)
        # A group of its own: Ctrl-C in a terminal is for the owner, which then closes this.
        self._leader = await asyncio.create_subprocess_exec(
            *_LEADER, str(self.folder), stdin=asyncio.subprocess.PIPE, process_group=0
        )
        parts.push_async_callback(self._close, self._leader)

    async def _close(self, leader: asyncio.subprocess.Process) -> None:
        # Not by the end of its input: what was forked meanwhile may hold that open.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(leader.pid, signal.SIGKILL)
        if leader.stdin is not None:
            leader.stdin.close()
        await asyncio.gather(leader.wait(), *(process.wait() for process in self._processes.values()))

    @property
    def pids(self) -> dict[str, int]:
        """The running processes by name."""
        return {name: process.pid for name, process in self._processes.items() if process.returncode is None}

    def last_words(self, name: str) -> str:
        """Return the end of what a process has said."""
        file = self._log(name)
        lines = file.read_text(errors="replace").splitlines()[-_TAIL:] if file.exists() else []
        return "\n".join((f"--- {name}", *(line[:_WIDTH] for line in lines)))

    async def start(self, name: str, argv: Sequence[str]) -> None:
        """Start a process; returns when it has begun, not when it is ready. Raises KeepingError."""
        if self._leader is None or self._leader.returncode is not None:
            raise RuntimeError(f"{name} did not start: its group has no leader outside `async with`")
        try:
            with self._log(name).open("ab") as output:
                self._processes[name] = await asyncio.create_subprocess_exec(
                    *argv,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    process_group=self._leader.pid,
                    env=_GARBAGE | os.environ,
                )
        except OSError as error:
            raise KeepingError(f"{name} did not start: {argv[0]}: {error.strerror}") from error

    async def end(self, name: str) -> None:
        """Kill a process, also one that holds still, and wait until it has ended. Raises KeepingError."""
        self._send(name, signal.SIGKILL)
        if name in self._processes:
            try:
                async with asyncio.timeout(_ORDER_SECONDS):
                    await self._processes[name].wait()
            except TimeoutError:
                raise KeepingError(f"{name} did not end\n{self.last_words(name)}") from None

    async def hold(self, name: str) -> None:
        """Let a process hold still (SIGSTOP); returns when it does. Raises KeepingError."""
        self._send(name, signal.SIGSTOP)
        await opened.until(
            lambda: self._held(name),
            _ORDER_SECONDS,
            _POLL_SECONDS,
            lambda: KeepingError(f"{name} does not hold still\n{self.last_words(name)}"),
        )

    def go_on(self, name: str) -> None:
        """Let a process that holds still go on."""
        self._send(name, signal.SIGCONT)

    def _send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a process, if it runs."""
        if name in self.pids:
            with contextlib.suppress(ProcessLookupError):
                self._processes[name].send_signal(number)

    async def _held(self, name: str) -> bool:
        pid = self.pids.get(name)
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


def etcd_command(binary: pathlib.Path, name: str, data: pathlib.Path, client: str, peer: str) -> list[str]:
    """Return how every member is started; `client` and `peer` are where clients and peers reach it, both URLs."""
    return [
        str(binary), f"--name={name}", f"--data-dir={data}", "--unsafe-no-fsync", "--log-level=warn",
        f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
    ]  # fmt: skip


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
