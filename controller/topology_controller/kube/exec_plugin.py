"""Runs a credential plugin of a kubeconfig: a foreign program that prints who we are.

It may write as much as it likes to its standard error, print without end, wait for a login, or leave a child behind
that holds its pipes. So both pipes are read at once, what is kept of them is bounded, and a run that is given up, for
its time or for an interrupt, leaves no process behind. `credentials` decides when it runs, and uses what it printed.

Source of the rules: kubectl's client authentication API (client.authentication.k8s.io).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST = 1024 * 1024
"""Bytes of standard output: a token and two certificates are a few thousand."""
_TAIL = 4096
"""Bytes of standard error that are kept, the last ones: the reason stands at the end."""
_CHUNK = 64 * 1024
_MOMENT = 0.05
_GRACE = 1.0


class PluginError(Exception):
    """A credential plugin cannot be run, or did not print what it should. The text begins with `exec:`."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program, its arguments, what is added to its environment, and the version of the API that it speaks."""

    command: tuple[str, ...]
    version: str
    environ: tuple[tuple[str, str], ...] = ()
    interactive: bool = True
    """Whether it may ask on the terminal, where there is one."""

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Program:
        """Read section `exec` of a user. Raises PluginError."""
        command, version = section.get("command"), section.get("apiVersion")
        arguments = section.get("args") or []
        added = section.get("env") or []
        for name, value in (("command", command), ("apiVersion", version)):
            if not value or not isinstance(value, str):
                raise PluginError(f"exec: {name} is missing, or not a text")
        if not isinstance(arguments, list):
            raise PluginError("exec: args is not a list")
        if not isinstance(added, list) or not all(isinstance(each, dict) for each in added):
            raise PluginError("exec: env is not a list of names and values")
        pairs = tuple((each.get("name"), each.get("value")) for each in added)
        if not all(isinstance(text, str) for pair in pairs for text in pair):
            raise PluginError("exec: env is not a list of names and values")
        words = (str(command), *map(str, arguments))
        return cls(words, str(version), pairs, section.get("interactiveMode") != "Never")

    async def run(self) -> Any:
        """Run it once and return the status that it printed. Raises PluginError; bound its time by a cancel scope."""
        interactive = self.interactive and sys.stdin is not None and sys.stdin.isatty()
        spawning = asyncio.create_task(self._spawn(interactive=interactive))
        try:
            process = await asyncio.shield(spawning)
        except asyncio.CancelledError:
            # Cancelled within, asyncio kills the program alone, and waits for the pipes that its children hold.
            await asyncio.wait({spawning})
            if spawning.exception() is None:
                process = spawning.result()
                await _end(process, asyncio.create_task(process.wait()), with_children=not interactive)
            raise
        except (OSError, ValueError) as error:
            raise PluginError(f"exec: {self.command[0]}: {getattr(error, 'strerror', None) or error}") from error
        complaining = asyncio.create_task(_last(process.stderr))
        closed = asyncio.create_task(process.wait())
        try:
            printed = await _all(process.stdout)
            while process.returncode is None:
                await asyncio.wait({closed}, timeout=_MOMENT)
            # A child that it leaves behind may keep its standard error open without end.
            await asyncio.wait({closed, complaining}, timeout=_GRACE, return_when=asyncio.ALL_COMPLETED)
        finally:
            await _end(process, complaining, closed, with_children=not interactive)
        if process.returncode:
            reason = complaining.result().decode(errors="replace").strip() if not complaining.cancelled() else ""
            raise PluginError(f"exec: process returned {process.returncode}" + (f". {reason}" if reason else ""))
        return self._status(printed)

    async def _spawn(self, *, interactive: bool) -> asyncio.subprocess.Process:
        about = {"apiVersion": self.version, "kind": "ExecCredential", "spec": {"interactive": interactive}}
        return await asyncio.create_subprocess_exec(
            *self.command,
            env={**os.environ, **dict(self.environ), "KUBERNETES_EXEC_INFO": json.dumps(about)},
            stdin=None if interactive else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # A group of its own can be killed with all its children, and may not read from the terminal.
            process_group=None if interactive else 0,
        )

    def _status(self, printed: bytes) -> Any:
        try:
            answer = json.loads(printed)
        except (ValueError, RecursionError) as error:
            raise PluginError(f"exec: what the program printed is not JSON: {error}") from None
        for key in ("apiVersion", "kind", "status"):
            if not isinstance(answer, dict) or key not in answer:
                raise PluginError(f"exec: what the program printed has no {key}")
        if answer["apiVersion"] != self.version:
            raise PluginError(f"exec: the program speaks {answer['apiVersion']}, not {self.version}")
        return answer["status"]


async def _all(stream: asyncio.StreamReader | None) -> bytes:
    held = bytearray()
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        held += chunk
        if len(held) > _MOST:
            raise PluginError(f"exec: the program printed more than {_MOST} bytes")
    return bytes(held)


async def _last(stream: asyncio.StreamReader | None) -> bytes:
    held = b""
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        held = (held + chunk)[-_TAIL:]
    return held


async def _end(process: asyncio.subprocess.Process, *tasks: asyncio.Task[Any], with_children: bool) -> None:
    """Kill what still runs, and leave nothing that would speak when the loop has ended."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if with_children:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
    # A child that has left the group may hold the pipes.
    process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - asyncio has no public way
    for task in tasks:
        if not task.done() and process.returncode is not None:
            task.cancel()
    await asyncio.wait(tasks)
