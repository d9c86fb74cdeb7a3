"""Finds circles of files in packages, whatever an import is for: those for types alone count too.

Two files that need each other are one subject, or a third one is missing. Exit code 1 and a line for each package that
has one.
"""

from __future__ import annotations

import ast
import graphlib
import pathlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ("hack/topology_simulator", "hack/topology_image")


def _modules(package: pathlib.Path) -> dict[str, pathlib.Path]:
    """Return the files of a package by the names of their modules."""
    parts = {file: file.relative_to(package.parent).with_suffix("").parts for file in package.rglob("*.py")}
    return {".".join(part for part in names if part != "__init__"): file for file, names in parts.items()}


def _imported(name: str, file: pathlib.Path, known: dict[str, pathlib.Path]) -> Iterator[str]:
    """Yield the modules among `known` that a file imports, wherever in it."""
    package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            below = [f"{source}.{alias.name}" for alias in node.names]
            yield from (module for module in below if module in known)
            if source in known and not all(module in known for module in below):
                yield source


def circle(package: pathlib.Path) -> list[str]:
    """Return the modules of one circle, in their order; nothing where there is none."""
    known = _modules(package)
    graph = {name: set(_imported(name, file, known)) - {name} for name, file in known.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(reversed(error.args[1]))
    return []


def main() -> int:
    """Print what there is; return the exit code."""
    circles = {package: circle(_ROOT / package) for package in PACKAGES}
    lines = [f"{package}: a circle: {' -> '.join(modules)}" for package, modules in circles.items() if modules]
    if lines:
        print("\n".join(lines), file=sys.stderr)  # noqa: T201 - a command of the repository
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
