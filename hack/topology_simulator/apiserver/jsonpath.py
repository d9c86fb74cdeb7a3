r"""The simple JSON paths of printer columns, as `.status.conditions[?(@.type=="Available")].status`.

Known: `.name` (with `\.` for a dot inside a name), `['name']`, `[0]`, `[-1]`, `[*]`, `.*` and one
comparison in a filter, `[?(@.a.b=="c")]` with `==` or `!=`. Anything else is refused when the path is
compiled, which is when a CustomResourceDefinition is created.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_NAME = re.compile(r"\.((?:\\.|[^.\[\]\\*])+)")
_QUOTED = re.compile(r"""\[(?:'([^']*)'|"([^"]*)")\]""")
_INDEX = re.compile(r"\[(-?\d+)\]")
_ALL = re.compile(r"\[\*\]|\.\*")
_FILTER = re.compile(r"""\[\?\(\s*@([^=!<>]+?)\s*(==|!=)\s*("[^"]*"|'[^']*'|true|false|-?\d+)\s*\)\]""")


class PathError(ValueError):
    """A path that is not understood here."""


def _child(name: str) -> Callable[[Any], Iterable[Any]]:
    return lambda value: (value[name],) if isinstance(value, dict) and name in value else ()


def _element(index: int) -> Callable[[Any], Iterable[Any]]:
    def step(value: Any) -> Iterable[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            return (value[index],)
        return ()

    return step


def _every(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _filtered(path: str, operator: str, literal: str) -> Callable[[Any], Iterable[Any]]:
    inner = compile_path(path)
    wanted = literal[1:-1] if literal[0] in "'\"" else json.loads(literal)

    def step(value: Any) -> Iterable[Any]:
        for one in _every(value):
            found = inner(one)
            if found and (found[0] == wanted) is (operator == "=="):
                yield one

    return step


def compile_path(text: str) -> Callable[[Any], list[Any]]:
    """Return the function from a JSON value to all values at the path. Raises PathError."""
    steps: list[Callable[[Any], Iterable[Any]]] = []
    position = 0
    while position < len(text):
        if match := _ALL.match(text, position):
            steps.append(_every)
        elif match := _NAME.match(text, position):
            steps.append(_child(re.sub(r"\\(.)", r"\1", match[1])))
        elif match := _QUOTED.match(text, position):
            steps.append(_child(match[1] if match[1] is not None else match[2]))
        elif match := _INDEX.match(text, position):
            steps.append(_element(int(match[1])))
        elif match := _FILTER.match(text, position):
            steps.append(_filtered(match[1].strip(), match[2], match[3]))
        else:
            raise PathError(f"unrecognized JSON path at {text[position:]!r}")
        position = match.end()
    if not steps:
        raise PathError(f"{text!r} selects nothing")

    def find(value: Any) -> list[Any]:
        values = [value]
        for step in steps:
            values = [found for one in values for found in step(one)]
        return values

    return find
