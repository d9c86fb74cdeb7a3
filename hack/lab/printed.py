"""Every command of `oc` and `kubectl` that people are to type, collected from where it stands.

Pages for users (lines of code and spans), what `oc topology explain` says, and what this checkout's programs print:
texts without a place for a value as they stand in the sources, and all others from objects and answers of a cluster.
Texts with such places are `templates`: one that nothing printed matches was not tried.
"""

from __future__ import annotations

import ast
import pathlib
import re
from typing import TYPE_CHECKING, Any

from test.component import documented

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
_SCRIPT = "manifests.py"
"""It prints a script, which is run as a whole."""
_SOURCES = ("controller/topology_controller", "controller/kubectl_topology", "controller/topology_deploy")
_HOLE = "\0"
_VERBS = "adm|annotate|auth|create|debug|delete|describe|edit|events|explain|get|label|logs|patch|replace|wait"
_OURS = "accept|audit|cancel|explain|fleet|graph|plan|set|status|wait"
_WORDS = r"""(?:'[^']*'|"[^"]*"|(?![.,;:]?(?:\s\(|\s?$)|[.,;:]\s|\s\()[^'"\n`])*"""
_ARGUMENT = r"(?: -o [a-z]+| -[^\s.]+| [A-Z]\w+| \{\}| \0)"
_COMMAND = re.compile(rf"\boc (?:topology (?:{_OURS})\b{_ARGUMENT}*|(?:-n \S+ )?(?:{_VERBS})\b{_WORDS})")
"""Up to the end of its sentence or clause."""


def collected() -> dict[str, str]:
    """Return each command, in its order, and where it stands first."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    commands: dict[str, str] = {}
    for page in pages:
        if not page.is_relative_to(ROOT / "docs" / "development"):
            for command in (*documented.of(page), *documented.spans(page)):
                commands.setdefault(command.text, command.at)
    for command in documented.explained():
        commands.setdefault(command.text, command.at)
    for where, text in _texts():
        for command_text in within(text):
            if _HOLE not in command_text and "{}" not in command_text:
                commands.setdefault(command_text, where)
    return {text: at for text, at in commands.items() if text.startswith(("oc ", "kubectl ")) or " | oc " in text}


def templates() -> dict[str, str]:
    """Return a pattern for each command with places for values in the sources, and where it stands."""
    patterns = {}
    for where, text in _texts():
        for command in within(text.replace("{}", _HOLE)):
            if _HOLE in command:
                patterns[re.escape(command).replace(re.escape(_HOLE), ".*")] = f"{where}: {command.replace(_HOLE, '…')}"
    return patterns


def within(text: str) -> list[str]:
    """Return the commands that a text has, each up to the end of its clause; those joined by && are one."""
    return [match.group().strip().rstrip(".,;:") for match in _COMMAND.finditer(text)]


def of_objects(value: Any) -> Iterator[str]:
    """Yield the commands in all texts of a JSON value."""
    if isinstance(value, str):
        yield from within(value)
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from of_objects(part)


def _texts() -> Iterator[tuple[str, str]]:
    """Yield every text of the product's sources but docstrings; what is put in between is a hole."""
    for path in sorted(file for folder in _SOURCES for file in (ROOT / folder).rglob("*.py") if file.name != _SCRIPT):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        within_others = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if id(node) in within_others | docstrings:
                continue
            if isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else _HOLE for part in node.values]
                yield f"{path.name}:{node.lineno}", "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{path.name}:{node.lineno}", node.value
