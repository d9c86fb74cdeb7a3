"""What ends a command before it has an answer: one line for a person, and the exit code of an error.

Raised where the reason is known (`connection`, `reading`), printed in one place (`main`).
"""

from __future__ import annotations


class PluginError(Exception):
    """There is no answer. `problem` is one line; `hint` says what can be done about it, empty when nothing is known."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem, hint)
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.problem}. {self.hint}" if self.hint else self.problem
        return " ".join(text.split())
