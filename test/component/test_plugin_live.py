"""`status --watch` as somebody sees it: in a terminal from Pending to Completed."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
from typing import TYPE_CHECKING

import pytest
import yaml

from test import polling, processes
from test.component import cluster, plugin

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component.world import World

_TAKEN, _GIVEN_BACK = "\x1b[?1049h", "\x1b[?1049l"
_HIDDEN, _SHOWN = "\x1b[?25l", "\x1b[?25h"
_HOME, _CLEARED = "\x1b[H", "\x1b[2J"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A pseudo-terminal with the command in it. `seen` is everything that was written to it."""

    def __init__(self, process: asyncio.subprocess.Process, number: int) -> None:
        self.process = process
        self.seen = ""
        self._number = number
        asyncio.get_running_loop().add_reader(number, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._number, 65536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._number)
        self.seen += data.decode(errors="replace")

    def resize(self, columns: int, lines: int) -> None:
        """Make the terminal another size, and tell the command as a terminal does."""
        fcntl.ioctl(self._number, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def drawings(self) -> list[list[str]]:
        """The lines of every drawing that is complete, without colour."""
        *complete, _ = _COLOUR.sub("", self.seen).split(_HOME)[2:]
        return [drawing.split("\r\n") for drawing in complete]

    async def until(self, words: str, since: int = 0) -> None:
        """Wait until these words were written, at whatever place of the screen."""
        try:
            await polling.until(
                f"{words!r} on the terminal", lambda: words in _CONTROL.sub("", self.seen[since:]), 30.0
            )
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.seen[-3000:]!r}") from None


@contextlib.asynccontextmanager
async def terminal(access: pathlib.Path, *words: str, **environ: str) -> AsyncIterator[Terminal]:
    """Run the command in a terminal of 100 columns and 40 lines; it is killed when it does not end."""
    kept = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "LINES", "NO_COLOR"}}
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    os.set_blocking(ours, False)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kubectl_topology", *words, "--kubeconfig", str(access),
        stdin=its, stdout=its, stderr=its,
        env={**kept, "TERM": "xterm-256color", "LANG": "C.UTF-8", "_": "/usr/bin/oc", **environ},
    )  # fmt: skip
    made = Terminal(process, ours)
    try:
        async with processes.killed_after(process):
            yield made
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        os.close(its)
        os.close(ours)


@pytest.fixture
def access(here: World, tmp_path: pathlib.Path) -> pathlib.Path:
    """A kubeconfig."""
    file = tmp_path / "kubeconfig-terminal"
    file.write_text(yaml.safe_dump(here.server.kubeconfig()))
    return file


async def test_somebody_looks_on_from_pending_to_completed_and_has_a_clean_terminal_afterwards(
    here: World, access: pathlib.Path
) -> None:
    await cluster.set_ready(here.api, "master-2", ready=False)
    await here.operator()
    await here.ask_for()
    await here.until_check("ControlPlaneNodes", "Unmet")
    async with terminal(access, "status", "--watch") as seen:
        await seen.until("Pending since")
        await seen.until("ControlPlaneNodes  2: ")
        await seen.until("Ctrl-C ends")
        assert seen.seen.startswith(_TAKEN)
        assert _HIDDEN in seen.seen
        assert _GIVEN_BACK not in seen.seen

        drawn = len(seen.drawings())
        seen.resize(50, 30)
        await polling.until("it is drawn in the new size", lambda: len(seen.drawings()) >= drawn + 3, 30.0)
        rows = [re.sub(r"\x1b\[(2K|J)|\r", "", line) for line in seen.drawings()[-1]]
        assert len(rows) <= 30
        # A command, and a name that has no room, is left to the terminal, which folds it.
        prose = [row for row in rows if "oc " not in row and max(map(len, row.split()), default=0) < 30]
        assert max(map(len, prose)) <= 50, rows
        assert _CLEARED not in seen.seen

        seen.resize(120, 60)
        here.server.fault("cut", user_agent=plugin.AGENT, verb="watch")
        await cluster.set_ready(here.api, "master-2", ready=True)
        await seen.until("Completed since")

        seen.process.send_signal(signal.SIGINT)
        assert await seen.process.wait() == plugin.INTERRUPTED
        await seen.until("watch again with: oc topology status --watch")
    _, _, after = seen.seen.partition(_GIVEN_BACK)
    assert _SHOWN in seen.seen[seen.seen.rfind(_HIDDEN) :]
    assert _TAKEN not in after
    assert "Completed" in after
    assert "Traceback" not in seen.seen
