"""Which series an expression asks for, and which of their labels.

No parser of PromQL: a reader of names, which is enough for expressions that people wrote to be read. What is not a
function (no bracket follows), a keyword, a number or a label in a list is a series.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_KEYWORDS = frozenset({"and", "or", "unless", "bool", "offset", "inf", "nan"})
_DURATION = re.compile(r"\[[^\]]*\]")
_GROUPING = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\b\s*\(([^)]*)\)")
_SERIES = re.compile(r"(?<![\w:.])([a-zA-Z_:][\w:]*)\s*(\{[^}]*\}|(\())?")
_MATCHER = re.compile(r"""([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"((?:\\.|[^"\\])*)\"""")


@dataclass(frozen=True, slots=True)
class Series:
    """One selector: its name and, for each label that it compares, how and with what."""

    name: str
    matchers: tuple[tuple[str, str, str], ...] = ()

    @property
    def labels(self) -> frozenset[str]:
        """The labels that are compared."""
        return frozenset(label for label, _, _ in self.matchers)


def series(text: str) -> list[Series]:
    """Every selector of an expression, in its order."""
    plain = _DURATION.sub("", _GROUPING.sub(" ", text))
    found = []
    for name, braces, call in _SERIES.findall(plain):
        if not call and name not in _KEYWORDS:
            found.append(Series(name, tuple(_MATCHER.findall(braces))))
    return found


def grouped(text: str) -> list[tuple[str, frozenset[str]]]:
    """Every list of labels with the word before it: ("by", {"phase"}) for `max by (phase) (...)`."""
    return [(word, frozenset(re.findall(r"\w+", inside))) for word, inside in _GROUPING.findall(text)]
