"""What tests of pages ask of a page: headings as anchors, links, tables, and whether a name in it exists."""

from __future__ import annotations

import ast
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOURCES = (ROOT / "controller" / "topology_controller", ROOT / "controller", ROOT / "api", ROOT / "hack", ROOT)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"(?m)^```.*?^```$|`[^`\n]*`", re.DOTALL)


def every() -> list[pathlib.Path]:
    """Every page of the repository, by its path."""
    top = (ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md"))
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]


def links(page: pathlib.Path) -> list[str]:
    """Return the targets of all links and pictures of a page; what stands in code is none."""
    return _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8")))


def anchors(page: pathlib.Path) -> set[str]:
    """Return what a link may name behind # on a page."""
    text = re.sub(r"(?m)^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return {_anchor(heading) for heading in re.findall(r"(?m)^#+ (.+)$", text)}


def _anchor(heading: str) -> str:
    kept = "".join(letter for letter in heading.lower() if letter.isalnum() or letter in " -_")
    return kept.strip().replace(" ", "-")


def table(text: str, heading: str) -> list[list[str]]:
    """Return the rows of the first table below a heading, each as its cells."""
    section = re.split(rf"(?m)^#+ {re.escape(heading)}$", text, maxsplit=1)[1]
    lines = section[section.index("|") :].splitlines()
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return rows[2:]


def source(name: str) -> pathlib.Path | None:
    """Return the file that a page means by a path: relative to the operator, to a source root, or to the repository."""
    return next((folder / name for folder in SOURCES if (folder / name).is_file()), None)


def defines(place: pathlib.Path, name: str) -> bool:
    """Does a file of Python define this function, class, constant, or member of a class (`Class.member`)?"""
    return name in _names(place)


@functools.cache
def _names(place: pathlib.Path) -> frozenset[str]:
    tree = ast.parse(place.read_text(encoding="utf-8"))
    return frozenset(_below(tree.body, ""))


def _below(body: list[ast.stmt], prefix: str) -> list[str]:
    found: list[str] = []
    for part in body:
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append(prefix + part.name)
        if isinstance(part, ast.ClassDef):
            found += _below(part.body, f"{prefix}{part.name}.")
        if isinstance(part, ast.Assign):
            found += [prefix + one.id for one in part.targets if isinstance(one, ast.Name)]
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            found.append(prefix + part.target.id)
    return found
