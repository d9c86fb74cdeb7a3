"""From the bytes of a configuration file to its types, or to everything that is wrong with it, line by line.

The rules are those of the other files that people write (`files.read`): unknown keys are errors, and each error says
file, line, what was found and what is wanted. Which names of transitions there are is known only here, so it is asked
here. Whatever the bytes are, this never raises; it is asked of a file that anybody with the right to a ConfigMap wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from topology_api import types

from ..files import problems as wrongs
from ..files import read
from . import model

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable

    from ..files import follow

LARGEST = 16 * 1024
"""Bytes: a file that says everything has one thousand, and the worst one of this size is read in a quarter second."""
_MOST = 3
_LONGEST = 512
_WORDS: dict[str, list[str]] = {
    "apiVersion": [model.API_VERSION],
    "kind": [model.KIND],
    "logLevel": ["error", "warning", "info", "debug"],
}
_FORM = read.Form(
    model.Configuration,
    "configuration",
    {
        (): model.Configuration,
        ("minimumNodeResources",): model.MinimumNodeResources,
        ("transitions", "*"): model.Pace,
    },
    lambda shape: _WORDS.get(shape[-1] if shape else "", []),
    model.refusal,
)


@dataclass(frozen=True, slots=True)
class Understood:
    """What a file says; `configuration` is None where `problems` has what is wrong with it."""

    configuration: model.Configuration | None
    problems: tuple[wrongs.Problem, ...] = ()

    @property
    def trouble(self) -> str:
        """What is wrong, for a condition: the first problems of the file, and how many more there are."""
        return "; ".join(self.told)

    @property
    def told(self) -> tuple[str, ...]:
        """The same, one by one: a file can be wrong in thousands of places."""
        shown = [types.fit(str(problem), _LONGEST) for problem in self.problems[:_MOST]]
        more = len(self.problems) - len(shown)
        return (*shown, *([f"and {more} more"] if more else []))


def understand(place: pathlib.Path, content: follow.Content, names: Iterable[str]) -> Understood:
    """Make sense of a file; `names` are the transitions that there are. No file is a configuration of defaults."""
    if content.trouble:
        return Understood(None, (wrongs.Problem(place, None, content.trouble),))
    if content.raw is None:
        return Understood(model.DEFAULTS)
    if len(content.raw) > LARGEST:
        return Understood(None, (wrongs.Problem(place, None, f"is larger than {LARGEST} bytes"),))
    file = read.parsed(place, content.raw, _FORM)
    found, known = list(file.problems), sorted(names)
    if file.value is not None:
        found += [
            file.problem(("transitions", name), read.unknown(("transitions", name), known))
            for name in file.value.transitions
            if name not in known
        ]
    found.sort(key=lambda problem: problem.line or 0)
    return Understood(None, tuple(found)) if found else Understood(file.value)
