"""YAML with line numbers, and without its surprises.

PyYAML's usual loader forgets lines, keeps the last of two equal keys and turns `no` into False. A file is read from
the composed nodes instead: every value knows its line and how it was written, so `read` can quote it. What none of our
files needs is refused here: several documents, anchors, tags, keys that are not text, dates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import yaml

Path = tuple[str | int, ...]

_TAG: Final = "tag:yaml.org,2002:"
_SCALARS: Final = frozenset(_TAG + name for name in ("str", "int", "float", "bool", "null"))
_DEEPEST: Final = 16
_LONGEST_QUOTE: Final = 60


@dataclass(frozen=True, slots=True)
class Found:
    """What stands in the file at one place: how it was written, and what YAML makes of it."""

    text: str
    value: Any = None
    plain: bool = True

    @property
    def is_text(self) -> bool:
        """Is it a text, as opposed to a number, a truth value or a list?"""
        return isinstance(self.value, str)

    def __str__(self) -> str:
        quoted = self.text if len(self.text) <= _LONGEST_QUOTE else self.text[:_LONGEST_QUOTE] + "..."
        if isinstance(self.value, bool) or (self.value is None and self.plain):
            means = {True: "true", False: "false", None: "no value"}[self.value]
            return f"{quoted!r}, which YAML reads as {means} (quote it if it is a text)"
        return repr(quoted) if self.is_text else quoted


@dataclass(slots=True)
class Document:
    """A parsed file: its value, and for each path its line and what was found there."""

    value: Any = None
    problems: list[tuple[int | None, str]] = field(default_factory=list)
    lines: dict[Path, int] = field(default_factory=dict)
    texts: dict[Path, Found] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """Return the line of a path, or of the closest thing around it that exists."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def found(self, path: Path) -> Found:
        """Return what stands at a path."""
        return self.texts.get(path, Found("nothing", plain=False))


def spell(path: Path) -> str:
    """Write a path as people do: convergence.checks[2].atLeast, counting from 0."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def parse(raw: bytes) -> Document:
    """Read one YAML document. Never raises: what is wrong is in `problems`, and then there is no value."""
    document = Document()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        document.problems.append((raw.count(b"\n", 0, error.start) + 1, "is not UTF-8 text"))
        return document
    try:
        composed = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        document.problems.append((mark.line + 1 if mark else None, f"is not YAML: {error.problem or error.context}"))
        return document
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        document.problems.append((None, f"is not YAML: {what}"))
        return document
    if len(composed) > 1:
        line = composed[1].start_mark.line + 1
        document.problems.append((line, "a second document starts here; a file holds one"))
    elif not composed or _is_nothing(composed[0]):
        document.problems.append((None, "is empty"))
    elif not isinstance(composed[0], yaml.MappingNode):
        line = composed[0].start_mark.line + 1
        document.problems.append((line, "is not a mapping, which starts with a line such as 'name: ...'"))
    else:
        document.value = _Reader(document).value(composed[0], ())
    return document


def _is_nothing(node: yaml.Node | None) -> bool:
    return node is None or (isinstance(node, yaml.ScalarNode) and node.tag == _TAG + "null" and not node.value)


class _Reader:
    """Walks the nodes of one document and fills in lines, texts and problems."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._seen: set[int] = set()
        self._construct = yaml.SafeLoader("")

    def value(self, node: yaml.Node, path: Path, line: int | None = None) -> Any:
        at = node.start_mark.line + 1
        self._document.lines[path] = line or at
        if id(node) in self._seen:
            return self._refuse(at, "anchors and aliases are not used here: write it out")
        if len(path) > _DEEPEST:
            return self._refuse(at, "nested too deeply")
        self._seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            self._document.texts[path] = Found("a list", plain=False)
            return [self.value(child, (*path, index)) for index, child in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            self._document.texts[path] = Found("a mapping", plain=False)
            return self._mapping(node, path)
        return self._refuse(at, f"the tag {node.tag} is not used here")

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> Any:
        at = node.start_mark.line + 1
        if node.tag not in _SCALARS:
            kind = node.tag.removeprefix(_TAG)
            return self._refuse(at, f"{node.value!r} reads as {kind}; quote it if it is a text")
        try:
            made = self._construct.construct_object(node)
        except (yaml.YAMLError, ValueError, OverflowError, KeyError, IndexError):
            return self._refuse(at, f"{node.value!r} is not what its tag says ({node.tag.removeprefix(_TAG)})")
        self._document.texts[path] = Found(node.value, made, plain=node.style is None)
        return made

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key_node, child in node.value:
            at = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse(at, "a key must be a text")
                continue
            key = key_node.value
            if key_node.tag != _TAG + "str":
                kind = key_node.tag.removeprefix(_TAG)
                self._refuse(at, f"the key {key!r} reads as {kind}; quote it if it is a text")
                continue
            if key in made:
                first = self._document.line((*path, key))
                self._refuse(at, f"the key {key!r} stands here twice (first in line {first})")
                continue
            made[key] = self.value(child, (*path, key), at)
        return made

    def _refuse(self, line: int, text: str) -> None:
        self._document.problems.append((line, text))
