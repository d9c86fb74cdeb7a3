"""Reads YAML files that people write, and says exactly where one is wrong: file, line, what was found, what is allowed.

`parse` turns YAML into plain values and remembers the line of each; it refuses what PyYAML's own loader takes in
silence (two equal keys, `no` for False) and what none of these files needs. `parsed` turns the values into a pydantic
model in strict JSON mode, and what does not fit into problems in the words of the file. A message about YAML quotes
keys and single characters, never a value: `render` reads files full of secrets.
"""

from __future__ import annotations

import difflib
import itertools
import json
import pathlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NoReturn, TypeVar, get_args

import pydantic
import yaml
from pydantic.alias_generators import to_camel

from .. import mounted, terminal

LARGEST_FILE: Final = 64 * 1024  # bytes; such a file has one or two thousand
Path = tuple[str | int, ...]  # a place in a file, such as ("preflight", 2, "atLeast")
M = TypeVar("M", bound=pydantic.BaseModel)

_TAG: Final = "tag:yaml.org,2002:"
_DEEPEST: Final = 16
_MOST_DIGITS: Final = 1000
_LONGEST_QUOTE: Final = 60
_KEY: Final = "[key]"  # last part of pydantic's path to the key of a mapping


class Strict(pydantic.BaseModel):
    """What a file holds: keys in camelCase, and no others."""

    model_config = pydantic.ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=False, defer_build=True
    )


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `line` counts from 1; None when it is not about a line."""

    place: pathlib.Path
    line: int | None
    text: str

    def __str__(self) -> str:
        where = f"{self.place}:{self.line}" if self.line else str(self.place)
        # Several of them are printed as lines, and none must look like two.
        return terminal.plain(f"{where}: {self.text}")


class DefinitionError(ValueError):
    """The files cannot be used; `problems` has everything that is wrong, one a line."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class YamlError(Exception):
    """A text is not YAML that is read here. `line` and `column` count from 1, as far as known."""

    def __init__(self, line: int | None, problem: str, column: int | None = None) -> None:
        super().__init__(problem if column is None else f"{problem} (column {column})")
        self.line = line
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML document: its value, and for each path the line where it begins."""

    value: Any
    lines: dict[Path, int]

    def line(self, path: Path) -> int:
        """Return the line of a path, or of the closest thing around it that exists."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


@dataclass(frozen=True, slots=True)
class Form(Generic[M]):
    """What a file of one kind may hold. `noun` names such a file; `checks` are the words for a key `check`."""

    model: type[M]
    noun: str
    checks: Iterable[str] = ()


@dataclass(frozen=True, slots=True)
class File(Generic[M]):
    """A file as it was read: its value, or the problems that left it without one."""

    place: pathlib.Path
    value: M | None = None
    problems: tuple[Problem, ...] = ()
    document: Document = field(default_factory=lambda: Document(None, {}))

    def problem(self, path: Path, text: str) -> Problem:
        """Something that is wrong at a path of this file."""
        return Problem(self.place, self.document.line(path), text)


def folder(directory: pathlib.Path, form: Form[M]) -> tuple[list[File[M]], list[Problem]]:
    """Read the `*.yaml` files of a folder in their order; return them, and what is wrong with the folder and them."""
    try:
        places = sorted(place for place in directory.iterdir() if not place.name.startswith("."))
    except OSError as error:
        return [], [Problem(directory, None, f"the folder cannot be read: {error.strerror or error}")]
    ending = f"the name of a {form.noun} ends in .yaml"
    problems = [Problem(place, None, ending) for place in places if place.suffix == ".yml"]
    files = [file(place, form) for place in places if place.suffix == ".yaml"]
    if not files and not problems:
        problems.append(Problem(directory, None, f"there is no *.yaml file; at least one {form.noun} is needed"))
    return files, [*problems, *itertools.chain.from_iterable(read.problems for read in files)]


def file(place: pathlib.Path, form: Form[M]) -> File[M]:
    """Read one file. Never raises: what is wrong with it is in `problems`."""
    try:
        return parsed(place, mounted.read(place.parent, place.name, largest=LARGEST_FILE)[0], form)
    except mounted.MountedFileError as error:
        return File(place, problems=(Problem(place, None, error.reason),))


def parsed(place: pathlib.Path, raw: bytes, form: Form[M]) -> File[M]:
    """Turn the bytes of a file into its type; never raises."""
    try:
        document = parse(raw)
    except YamlError as error:
        return File(place, problems=(Problem(place, error.line, str(error)),))
    try:
        value = form.model.model_validate_json(json.dumps(document.value), strict=True)
    except pydantic.ValidationError as error:
        problems = sorted({_explain(fault, document, form) for fault in error.errors(include_url=False)})
        return File(place, None, tuple(Problem(place, *problem) for problem in problems), document)
    return File(place, value, (), document)


def unknown(path: Path, allowed: list[str]) -> str:
    """Say that the key at the end of a path is not known there, what is, and what is closest to it."""
    inside = f" in {spell(path[:-1])}" if path[:-1] else ""
    return f"unknown key {str(path[-1])!r}{inside}; {_choice(str(path[-1]), allowed)}"


def spell(path: Path) -> str:
    """Write a path as people do: convergence.checks[2].atLeast, counting from 0."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def quote(value: object) -> str:
    """Quote a value of a file, shortened: a text in quotation marks, a number or truth value as YAML writes it."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST_QUOTE else value[:_LONGEST_QUOTE] + "...")
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def _explain(fault: Any, document: Document, form: Form[Any]) -> tuple[int, str]:
    # Pydantic's own path has the branch of a union, and "[key]" behind the key of a mapping, which the file has not.
    path: Path = ()
    for part in fault["loc"]:
        if (*path, part) in document.lines or (fault["type"] == "missing" and part == fault["loc"][-1]):
            path = (*path, part)
    line, where = document.line(path), spell(path)
    # It lists the words of an enumeration as "'a', 'b' or 'c'".
    expected = fault.get("ctx", {}).get("expected", "").replace(" or ", ", ").replace("'", "").split(", ")
    match fault["type"]:
        case "extra_forbidden":
            return line, unknown(path, _keys(form.model, path[:-1]))
        case _ if fault["loc"][-1:] == (_KEY,):
            return line, unknown(path, expected)
        case "missing":
            return line, f"key {where} is missing"
        case "value_error":
            return line, f"{where}: {fault['ctx']['error']}" if path else str(fault["ctx"]["error"])
        case "enum" | "literal_error":
            allowed = list(form.checks) if path[-1] == "check" else expected
            subject = "unknown check" if path[-1] == "check" else f"{where} is"
            return line, f"{subject} {quote(fault['input'])}; {_choice(str(fault['input']), allowed)}"
        case _:
            message = fault["msg"][:1].lower() + fault["msg"][1:]
            return line, f"{where or f'the {form.noun}'} is {quote(fault['input'])}; {message}"


def _keys(model: type[pydantic.BaseModel], path: Path) -> list[str]:
    """The keys that the mapping at a path may have. A part of the path that is no field of a model is passed over."""
    fields = {info.alias or name: info.annotation for name, info in model.model_fields.items()}
    return _keys(_model_in(fields.get(str(path[0]))) or model, path[1:]) if path else sorted(fields)


def _model_in(annotation: Any) -> type[pydantic.BaseModel] | None:
    """The model in an annotation such as `dict[str, Pace]` or `Operand | None`."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return annotation
    return next((model for inner in get_args(annotation) if (model := _model_in(inner))), None)


def _choice(word: str, allowed: list[str]) -> str:
    words = f"allowed: {', '.join(allowed)}"
    folded = {word.casefold(): word for word in allowed}
    close = difflib.get_close_matches(word.casefold(), list(folded), n=1)
    return f"{words}; did you mean {folded[close[0]]!r}?" if close else words


def parse(raw: bytes, *, strict: bool = True) -> Document:
    """Read one YAML document, a mapping. `strict` refuses words that are no text only in YAML 1.1. Raises YamlError."""
    try:
        loader = _Loader(raw.decode("utf-8"), strict=strict)
        return Document(loader.mapping(), loader.lines)
    except UnicodeDecodeError as error:
        raise YamlError(raw.count(b"\n", 0, error.start) + 1, "is not UTF-8 text") from None
    except yaml.MarkedYAMLError as error:
        # PyYAML sets the one or the other.
        mark = error.problem_mark or error.context_mark
        problem = f"is not YAML: {error.problem or error.context}"
        raise (YamlError(mark.line + 1, problem, mark.column + 1) if mark else YamlError(None, problem)) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # A character that YAML forbids, an escape for one that does not exist, what looks like a number or a date.
        raise YamlError(None, f"is not YAML: {str(error).partition(chr(10))[0]}") from None


class _Loader(yaml.SafeLoader):
    """PyYAML's loader, which also keeps lines and refuses more. Raises YamlError besides yaml.YAMLError."""

    def __init__(self, text: str, *, strict: bool) -> None:
        super().__init__(text)
        self.lines: dict[Path, int] = {}
        self._path: Path = ()
        self._strict = strict

    def mapping(self) -> Any:
        """Return the one document of the text."""
        node = self.get_node() if self.check_node() else None
        if self.check_node():
            self.get_node()
        if node is None or (isinstance(node, yaml.ScalarNode) and node.tag == f"{_TAG}null" and not node.value):
            raise YamlError(None, "is empty")
        if not isinstance(node, yaml.MappingNode):
            _refuse(node.start_mark, "is not a mapping, which starts with a line such as 'name: ...'")
        return self.construct_document(node)

    def fetch_anchor(self) -> NoReturn:
        _refuse(self.get_mark(), "anchors and aliases are not used here: write it out")

    fetch_alias = fetch_anchor

    def fetch_tag(self) -> NoReturn:
        _refuse(self.get_mark(), "tags are not used here")

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose what begins here: a key (no index), the value of a key (its node is the index), an item, or all."""
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # PyYAML's stubs leave it without a type
        is_key = isinstance(parent, yaml.MappingNode) and index is None
        if is_key and not self.check_event(yaml.ScalarEvent):
            _refuse(mark, "a key must be a text")
        if is_key:
            key = super().compose_node(parent, index)
            if isinstance(key, yaml.ScalarNode) and key.tag != f"{_TAG}str":
                kind = key.tag.removeprefix(_TAG)
                _refuse(mark, f"the key {key.value!r} reads as {kind}; quote it if it is a text")
            return key
        if parent is None and self.lines:
            _refuse(mark, "a second document starts here; a file holds one")
        if isinstance(index, yaml.ScalarNode):
            mark, index = index.start_mark, index.value
        above, path = self._path, self._path if parent is None else (*self._path, index)
        if path in self.lines:
            _refuse(mark, f"the key {index!r} stands here twice (first in line {self.lines[path]})")
        if len(path) > _DEEPEST:
            _refuse(mark, "nested too deeply")
        self.lines[path] = mark.line + 1
        self._path = path
        node = super().compose_node(parent, index)
        self._path = above
        if isinstance(node, yaml.ScalarNode):
            self._check(node)
        return node

    def _check(self, node: yaml.ScalarNode) -> None:
        kind = node.tag.removeprefix(_TAG)
        if kind == "int" and len(node.value) > _MOST_DIGITS:
            _refuse(node.start_mark, "this number has too many digits")
        if self._strict and kind == "bool" and node.value.lower() not in {"true", "false"}:
            _refuse(node.start_mark, f"{node.value!r} reads as bool; write true or false, or quote it if it is a text")
        if self._strict and kind == "timestamp":
            _refuse(node.start_mark, f"{node.value!r} reads as timestamp; quote it if it is a text")


def _refuse(mark: Any, problem: str) -> NoReturn:
    raise YamlError(mark.line + 1, problem)
