"""How a command ends: its exit code, and the line that says why, which `main` prints."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final, TextIO

from topology_controller import terminal

from . import naming

if TYPE_CHECKING:
    from collections.abc import Sequence

BEGINNING: Final = {
    "wait": "the transition continues. Wait again with: oc topology wait",
    "set": "nothing was written, and no request was made. The same command begins again",
    "cancel": "nothing was written, and the request is unchanged. The same command begins again",
    "accept": "nothing was written, and nothing was accepted. The same command begins again",
}
"""What holds for a verb before it has sent anything. One that only reads has nothing to report."""


class ExitCode(IntEnum):
    """What a script may rely on; --help lists them."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    BLOCKED = 3
    UNSUPPORTED = 4
    TIMED_OUT = 5
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Ended:
    """How a verb ended: one sentence or two, and the exit code. Without a code it goes on."""

    message: str
    code: ExitCode | None = None

    def printed(self, out: TextIO) -> ExitCode:
        """Print what is done to `out`, anything else as a complaint; return the exit code."""
        if self.code == ExitCode.DONE:
            out.write(f"{naming.caller().spoken(terminal.plain(self.message))}\n")
        else:
            complain(self.message)
        return ExitCode.FAILED if self.code is None else self.code


class InputError(Exception):
    """What was given cannot be used, or (PluginError) read; `problems` has all that is wrong, one line each."""

    def __init__(self, problems: Sequence[str], code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)
        self.code = code


class PluginError(InputError):
    """There is no answer. `problem` is one line; `hint` says what can be done about it, empty when nothing is known."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__([" ".join((f"{problem}. {hint}" if hint else problem).split())])
        self.hint = hint


@dataclass(slots=True)
class Interruption:
    """What is printed if the command is interrupted now. A verb replaces it before a write, and when that is known."""

    text: str = ""


def complain(text: object) -> None:
    """Print one line about what went wrong."""
    caller = naming.caller()
    sys.stderr.write(f"{caller.program}: {terminal.plain(terminal.redacted(caller.spoken(str(text))))}\n")
