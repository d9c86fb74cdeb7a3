"""Puts a mutant into a process that has imported the module long ago.

The code of each function that differs is exchanged in the function itself, so that everybody who has it runs the
mutant. A constant of a module is evaluated again, and replaced wherever modules have it. What else runs at import (the
fields of a class, decorators) is not mutated here: test/planted is for that.
"""

from __future__ import annotations

import ast
import functools
import gc
import sys
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_Place = tuple[str, str, int]
_OURS = ("topology_controller", "topology_deploy", "kubectl_topology")


@dataclass(frozen=True, slots=True)
class Change:
    """What differs: code by the function that has it, or the statement that makes a constant.

    `lines` are those, by file, of which a test has to take one to see the difference.
    """

    code: dict[_Place, types.CodeType]
    constant: tuple[str, ast.stmt] | None
    lines: dict[str, set[int]]


class Imported:
    """The functions of these files, as they are in this process."""

    def __init__(self, files: Iterable[str]) -> None:
        ours = set(files)
        gc.unfreeze()
        self._functions: dict[_Place, list[types.FunctionType]] = {}
        self._caches = []
        for each in gc.get_objects():
            if isinstance(each, types.FunctionType) and each.__code__.co_filename in ours:
                self._functions.setdefault(_place(each.__code__), []).append(each)
            elif isinstance(each, functools._lru_cache_wrapper):
                self._caches.append(each)
        gc.freeze()

    def change(self, file: str, before: str, after: str, line: int) -> Change | None:
        """Compare two texts of a file that differ in this line; None where nothing differs that can be exchanged."""
        old = {_place(code): code for code in _codes(compile(before, file, "exec", dont_inherit=True))}
        new = {_place(code): code for code in _codes(compile(after, file, "exec", dont_inherit=True))}
        if len(after.splitlines()) != len(before.splitlines()):
            return None  # functions below it are elsewhere
        code = {place: new[place] for place in old if place in self._functions and old[place] != new[place]}
        tree = ast.parse(before)
        if code:
            return Change(code, None, {file: _around(tree, line)})
        statement = next(
            (each for each in ast.parse(after).body if each.lineno <= line <= (each.end_lineno or 0)), None
        )
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        if statement is None or not isinstance(target, ast.Name) or ast.dump(statement) in map(ast.dump, tree.body):
            return None
        return Change({}, (file, statement), self._users(target.id))

    def _users(self, name: str) -> dict[str, set[int]]:
        """Return the lines, without the first, of functions that load this name."""
        users: dict[str, set[int]] = {}
        for file, _, first in self._functions:
            for function in self._functions[file, _, first]:
                loads = [code for code in _codes(function.__code__) if name in code.co_names]
                lines = {line for code in loads for *_, line in code.co_lines() if line}
                users.setdefault(file, set()).update(lines - {first})
        return users

    def make(self, change: Change) -> None:
        """Change this process; there is no way back."""
        for place, code in change.code.items():
            for function in self._functions[place]:
                function.__code__ = code
        if change.constant is not None:
            file, statement = change.constant
            ours = [each for name, each in sys.modules.items() if name.startswith(_OURS)]
            (module,) = (each for each in ours if getattr(each, "__file__", None) == file)
            before = dict(vars(module))
            exec(compile(ast.Module([statement], []), file, "exec"), vars(module))  # noqa: S102 - that is its purpose
            for each in ours:
                for name, value in list(vars(each).items()):
                    if name in before and value is before[name] and value is not vars(module)[name]:
                        setattr(each, name, vars(module)[name])
        for cache in self._caches:
            cache.cache_clear()


def _place(code: types.CodeType) -> _Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _around(tree: ast.AST, line: int) -> set[int]:
    """Return the lines of the innermost statement around this line, without those of its body."""
    lines: set[int] = {line}
    for node in ast.walk(tree):  # from the outside to the inside
        if isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, (ast.stmt, ast.ExceptHandler))]
            first = getattr(node, "lineno", None) or node.pattern.lineno  # type: ignore[union-attr] # a case has none
            last = min((part.lineno - 1 for part in parts), default=getattr(node, "end_lineno", first))
            if first <= line <= max(first, last):
                lines = set(range(first, max(first, last) + 1))
    return lines
