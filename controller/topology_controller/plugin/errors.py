"""How a command ends: its exit code, the error of one that has no answer, and the line that says why.

The error is raised where the reason is known (`cluster`, `write`), and printed in one place (`main`).
"""

from __future__ import annotations

import sys
from enum import IntEnum

from . import arguments


class ExitCode(IntEnum):
    """What a script may rely on; --help lists them."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    BLOCKED = 3
    UNSUPPORTED = 4
    TIMED_OUT = 5
    INTERRUPTED = 130


class PluginError(Exception):
    """There is no answer. `problem` is one line; `hint` says what can be done about it, empty when nothing is known."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem, hint)
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.problem}. {self.hint}" if self.hint else self.problem
        return " ".join(text.split())


def complain(text: object) -> None:
    """Print one line about what went wrong."""
    from ..kube import redact  # noqa: PLC0415 - a command that ends well does not need it

    sys.stderr.write(f"{arguments.PROGRAM}: {redact.redacted(str(text))}\n")
