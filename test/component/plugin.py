"""`kubectl-topology` as its own process: run to its end, or until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pathlib
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PROGRAM = "kubectl-topology"
AGENT = f"{PROGRAM}/*"
DONE, FAILED, USAGE, BLOCKED, UNSUPPORTED, TIMED_OUT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its code, what it printed, what it complained about."""

    code: int
    printed: str
    complaint: str

    @property
    def answer(self) -> dict[str, Any]:
        """What it printed, as JSON."""
        found: dict[str, Any] = json.loads(self.printed)
        return found

    @property
    def reason(self) -> str:
        """The one calm line that a failed command leaves, without the program's name."""
        assert self.printed == "", self
        assert "Traceback" not in self.complaint, self.complaint
        lines = self.complaint.splitlines()
        assert len(lines) == 1, self.complaint
        assert lines[0].startswith(f"{PROGRAM}: "), self.complaint
        return lines[0].removeprefix(f"{PROGRAM}: ")


class Plugin:
    """The command, with a kubeconfig; `installed` is the program that a person has on the PATH."""

    def __init__(self, folder: pathlib.Path, access: dict[str, Any], *, installed: bool = False) -> None:
        beside = pathlib.Path(sys.executable).with_name(PROGRAM)
        self._program = (str(beside),) if installed else (sys.executable, "-m", "topology_controller.plugin")
        self._file = folder / "kubeconfig-plugin"
        self._file.write_text(yaml.safe_dump(access))
        kept = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "PYTHONDONTWRITEBYTECODE"}}
        # Byte code is kept for the whole run: a command that reads is quick, and compiling it is not.
        compiled = str(folder.parent / "compiled")
        self._environ = {**kept, "KUBECONFIG": str(self._file), "PYTHONPYCACHEPREFIX": compiled}

    async def run(self, *words: str) -> Ended:
        """Run a verb to its end."""
        async with self.running(*words) as process:
            printed, complaint = await process.communicate()
        assert process.returncode is not None
        return Ended(process.returncode, printed.decode(), complaint.decode())

    async def json(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Run a verb with `-o json`; return its code and its answer."""
        ended = await self.run(*words, "-o", "json")
        assert not ended.complaint, ended.complaint
        return ended.code, ended.answer

    @contextlib.asynccontextmanager
    async def running(self, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Start a verb; it has to end inside the context, and is killed when it does not."""
        process = await asyncio.create_subprocess_exec(
            *self._program, *words,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env=self._environ,
        )  # fmt: skip
        try:
            async with asyncio.timeout(_PATIENCE):
                yield process
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
                await process.wait()
