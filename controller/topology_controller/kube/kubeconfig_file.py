"""Looks at kubeconfig files before the library does: it says too little of what is wrong, and bounds nothing.

A kubeconfig comes from somewhere: a colleague, a ticket, a pipeline. Whatever is in the file, reading it ends soon, in
little memory, with the line that is wrong. YAML can say in a few lines, with aliases of aliases, what would fill any
memory when written out; and the library writes every entry out. `config` is the only user.
"""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable

PARTS = ("clusters", "contexts", "users")
LARGEST = 8 * 1024 * 1024
"""Bytes: hundreds of clusters, each with its certificates."""
_WRITTEN_OUT = 2 * LARGEST
_DEEPEST = 64


class FaultyFileError(Exception):
    """A file, by its name, and what is wrong with it."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name, problem)
        self.name = name
        self.problem = problem


def check(paths: str) -> None:
    """Look at every file of a list as KUBECONFIG has it; those that are not there are passed over.

    Raises FaultyFileError.
    """
    names = [pathlib.Path(part).expanduser() for part in paths.split(os.pathsep) if part]
    found = [name for name in names if name.exists()]
    if not found:
        raise FaultyFileError(paths, "no such file")
    for name in found:
        try:
            _check(_read(name))
        except OSError as error:
            raise FaultyFileError(str(name), error.strerror or type(error).__name__) from error
        except UnicodeDecodeError as error:
            raise FaultyFileError(str(name), "not a text file") from error
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f"line {mark.line + 1}: " if mark is not None else ""
            raise FaultyFileError(str(name), f"{where}not YAML: {getattr(error, 'problem', None) or error}") from error
        except RecursionError:
            raise FaultyFileError(str(name), "not a kubeconfig: nested too deeply") from None
        except _WrongError as error:
            raise FaultyFileError(str(name), str(error)) from None
        except Exception as error:  # noqa: BLE001 - YAML's own types raise anything: a month 13, a truth value that is none
            why = f"not YAML: a value is not what its tag says ({type(error).__name__})"
            raise FaultyFileError(str(name), why) from None


class _WrongError(Exception):
    """What is wrong with a content, in words."""


def _read(name: pathlib.Path) -> str:
    with name.open("rb") as opened:
        raw = opened.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise _WrongError(f"not a kubeconfig: larger than {LARGEST // 1024 // 1024} MiB")
    return raw.decode("utf-8")


def _check(text: str) -> None:
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        content = None
        if node is not None:
            _weigh(node)
            content = loader.construct_document(node)
    finally:
        loader.dispose()
    if not isinstance(content, dict):
        raise _WrongError("not a kubeconfig: it holds no mapping" if content else "it is empty")
    for part in PARTS:
        entries = content.get(part)
        if entries is not None and not _are_mappings(entries):
            raise _WrongError(f"not a kubeconfig: {part} is not a list of mappings")


def _are_mappings(entries: Any) -> bool:
    return isinstance(entries, list) and all(isinstance(one, dict) for one in entries)


def _weigh(root: yaml.Node) -> None:
    """Find out what a document is when its aliases are written out, without writing them out."""
    weights: dict[int, tuple[int, int]] = {}
    around: set[int] = set()
    left: list[yaml.Node] = [root]
    while left:
        node = left[-1]
        known = id(node)
        if known in weights:
            left.pop()
        elif known in around:
            # All that is in it has been weighed by now.
            inside = [weights[id(child)] for child in _children(node)]
            size = 1 + (len(node.value) if isinstance(node, yaml.ScalarNode) else sum(one for one, _ in inside))
            depth = 1 + max((deep for _, deep in inside), default=0)
            if size > _WRITTEN_OUT:
                raise _WrongError(f"line {node.start_mark.line + 1}: not a kubeconfig: aliases of aliases without end")
            if depth > _DEEPEST:
                raise _WrongError("not a kubeconfig: nested too deeply")
            weights[known] = (size, depth)
            around.discard(known)
            left.pop()
        else:
            around.add(known)
            for child in _children(node):
                if id(child) in around:
                    line = child.start_mark.line + 1
                    raise _WrongError(f"line {line}: not a kubeconfig: an alias inside of what it stands for")
                left.append(child)


def _children(node: yaml.Node) -> Iterable[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else ()
