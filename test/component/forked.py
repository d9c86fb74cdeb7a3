"""Our programs as processes of their own that need not import themselves: forked from a parent that did it once.

An import takes longer than most stories, and a run of the tests starts hundreds of programs. Each process that runs
tests keeps one such parent. What it forks is a process as any other: a pid, a session if asked for, its own standard
streams and environment, signals, SIGKILL, an exit code, and the interpreter's own end. `exec` stays where start,
memory or exit is what is tested, and where `CTO_TEST_EXEC` is set.

The parent is this file, run as a program. One message over its socket is one start: what to run and in which
environment as JSON, with four file descriptors: standard input, output and error, and the socket on which it answers
with the pid and later with the exit code. It ends, and kills what it has forked, when the tests have gone.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from test import processes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OPERATOR, PLUGIN = "topology_controller", "kubectl_topology"
_ENTRIES = {OPERATOR: "topology_controller.cli", PLUGIN: "kubectl_topology.main"}
_IMPORTED = (
    "topology_controller.process",
    "kubectl_topology.main",
    "kubectl_topology.commands.status",
    "kubectl_topology.commands.set",
)
_READ_ONCE = (("topology_controller.kube.config", "library"), ("topology_controller.definitions.operands", "shipped"))
_MESSAGE_BYTES = 1 << 20
_STREAM_LIMIT = 1 << 20
_ENDS_SECONDS = 30.0


_Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Process:
    """A forked program. It has what `asyncio.subprocess.Process` has, as far as tests use it."""

    def __init__(self, pid: int, answers: _Ends, stdout: _Ends | None, stderr: _Ends | None) -> None:
        self.pid = pid
        self.stdout = stdout[0] if stdout else None
        self.stderr = stderr[0] if stderr else None
        self.returncode: int | None = None
        # A writer that is collected closes its socket.
        self._sockets = [one[1] for one in (answers, stdout, stderr) if one]
        self._ended = asyncio.ensure_future(self._wait(answers[0]))

    async def _wait(self, answers: asyncio.StreamReader) -> int:
        line = await answers.readline()
        # No answer: the parent itself has ended, and killed what it had forked.
        self.returncode = int(line) if line else -signal.SIGKILL
        self._sockets[0].close()
        return self.returncode

    async def wait(self) -> int:
        """Wait for its end and return the exit code; negative: the signal that it died of."""
        return await asyncio.shield(self._ended)

    async def communicate(self) -> tuple[bytes, bytes]:
        """Read what it says to its end, and wait for that."""
        printed, complaint, _ = await asyncio.gather(_all(self.stdout), _all(self.stderr), self.wait())
        for one in self._sockets:
            one.close()
        return printed, complaint

    def send_signal(self, number: int) -> None:
        """Send a signal; raises ProcessLookupError when it has ended."""
        if self.returncode is not None:
            raise ProcessLookupError(self.pid)
        os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


async def _all(stream: asyncio.StreamReader | None) -> bytes:
    return b"" if stream is None else await stream.read()


async def start(
    program: str,
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    stdout: int,
    stderr: int,
    own_session: bool = False,
) -> Process | asyncio.subprocess.Process:
    """Start a program; `stdout` and `stderr` are file descriptors, or asyncio.subprocess.PIPE."""
    if os.environ.get("CTO_TEST_EXEC"):
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", program, *arguments,
            stdin=asyncio.subprocess.DEVNULL, stdout=stdout, stderr=stderr,
            start_new_session=own_session, env=dict(environment),
        )  # fmt: skip
    request = {
        "entry": _ENTRIES[program],
        "arguments": [program, *arguments],
        "environment": dict(environment),
        "own_session": own_session,
    }
    with contextlib.ExitStack() as stack:
        streams: list[_Ends | None] = []
        given = [stack.enter_context(open(os.devnull, "rb")).fileno()]  # noqa: ASYNC230, PTH123 - a descriptor
        for wanted in (stdout, stderr):
            if wanted != asyncio.subprocess.PIPE:
                given.append(wanted)
                streams.append(None)
                continue
            ours, theirs = socket.socketpair()
            stack.enter_context(theirs)
            given.append(theirs.fileno())
            streams.append(await asyncio.open_connection(sock=ours, limit=_STREAM_LIMIT))
        ours, theirs = socket.socketpair()
        stack.enter_context(theirs)
        given.append(theirs.fileno())
        socket.send_fds(_started()[1], [json.dumps(request).encode()], given)
    answers = await asyncio.open_connection(sock=ours)
    return Process(int(await answers[0].readline()), answers, *streams)


async def spawn(command: Sequence[str], output: int) -> Process | asyncio.subprocess.Process:
    """Do what `topology_simulator.operator_process.spawn` does: `command` is `python -m topology_controller ...`."""
    _, _, program, *arguments = command
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return await start(program, arguments, environment=environment, stdout=output, stderr=output, own_session=True)


@functools.cache
def _started() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start the parent of this process that runs tests, once."""
    # Not above: what is forked off would count pytest as memory of the operator.
    from test import leftovers  # noqa: PLC0415

    with leftovers.kept():
        return _start()


def _start() -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        # It ends when our end of the socket is closed, with this process.
        parent = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], env=environment, start_new_session=True,
        )  # fmt: skip
    atexit.register(_end, parent, ours)
    return parent, ours


def _end(parent: subprocess.Popen[bytes], ours: socket.socket) -> None:
    """Let the parent end, which it does when nobody can ask it any more, and wait for that."""
    ours.close()
    parent.wait(_ENDS_SECONDS)


async def run(
    program: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    stdout: int = asyncio.subprocess.PIPE,
) -> processes.Ended:
    """Run a program to its end."""
    given = os.environ if environment is None else environment
    started = await start(program, arguments, environment=given, stdout=stdout, stderr=asyncio.subprocess.PIPE)
    async with processes.killed_after(started) as process:
        printed, complaint = await process.communicate()
    assert process.returncode is not None
    return processes.Ended(process.returncode, printed.decode(), complaint.decode())


# -- the parent


def main(control: socket.socket) -> int:
    """Fork what is asked for until nobody can ask any more. In a child: be that program, and return its exit code."""
    for name in _IMPORTED:
        importlib.import_module(name)
    # What a program reads once in its life, whatever it is asked to do.
    for module, read in _READ_ONCE:
        getattr(importlib.import_module(module), read)()
    gc.collect()
    gc.freeze()
    children: dict[int, tuple[int, socket.socket]] = {}
    while True:
        readable, _, _ = select.select([control.fileno(), *children], [], [])
        for ready in readable:
            if ready != control.fileno():
                _bury(children, ready)
                continue
            message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, 4)
            if not message:
                _kill_all(children)
                return 0
            *streams, told = descriptors
            pid = os.fork()
            if pid == 0:
                control.close()
                for pidfd, (_, other) in children.items():
                    os.close(pidfd)
                    other.close()
                os.close(told)
                return _become(json.loads(message), streams)
            for one in streams:
                os.close(one)
            answer = socket.socket(fileno=told)
            with contextlib.suppress(OSError):
                answer.sendall(b"%d\n" % pid)
            children[os.pidfd_open(pid)] = pid, answer


def _bury(children: dict[int, tuple[int, socket.socket]], pidfd: int) -> None:
    pid, answer = children.pop(pidfd)
    os.close(pidfd)
    _, status = os.waitpid(pid, 0)
    # Whoever asked may not be interested any more.
    with answer, contextlib.suppress(OSError):
        answer.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _kill_all(children: dict[int, tuple[int, socket.socket]]) -> None:
    for pid, _ in children.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _become(request: dict[str, Any], streams: Sequence[int]) -> int:
    """Be the program in this process, as the interpreter would have started it."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    for descriptor in streams:
        os.close(descriptor)
    if request["own_session"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(request["environment"])
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - while it lives
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stdout.reconfigure(write_through=unbuffered, line_buffering=unbuffered)
    sys.stderr.reconfigure(line_buffering=True)
    sys.argv = request["arguments"]
    code = importlib.import_module(request["entry"]).main()
    return int(code or 0)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        ended = main(asked)
    sys.exit(ended)
