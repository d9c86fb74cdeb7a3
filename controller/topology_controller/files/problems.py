"""What is wrong with a file, for whoever wrote it.

The operator does not start with a file that it does not understand, so this text is all there is to go by: file, line,
what was found, what is allowed. All problems of all files come in one error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pathlib


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `line` counts from 1; None when it is not about a line."""

    place: pathlib.Path
    line: int | None
    text: str

    def __str__(self) -> str:
        where = f"{self.place}:{self.line}" if self.line else str(self.place)
        return f"{where}: {self.text}"


class DefinitionError(Exception):
    """The files cannot be used; `problems` has everything that is wrong, one a line."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems
