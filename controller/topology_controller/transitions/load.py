"""Reads the transition definitions, and says exactly where one is wrong.

The operator does not start with a definition that it does not understand, so whoever wrote the file has only this text
to go by: file, line, what was found, what is allowed, and the closest match. All problems of all files come in one
error. `nodes` reads YAML with line numbers, `model` says what a definition is; this module brings the two together and
looks at what concerns several files: names, and definitions that could match the same cluster.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pydantic

from topology_api.crd import Edge
from topology_api.vocabulary import Topology

from ..operands import model as matrices
from . import model, nodes

if TYPE_CHECKING:
    import pathlib

    from topology_api.types import TopologyPair
    from topology_api.vocabulary import CheckName

LARGEST_FILE = 64 * 1024
"""Bytes; a definition has about a thousand."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `line` counts from 1; None when it is not about a line."""

    place: pathlib.Path
    line: int | None
    text: str

    def __str__(self) -> str:
        where = f"{self.place}:{self.line}" if self.line else str(self.place)
        return f"{where}: {self.text}"


class DefinitionError(Exception):
    """The transition definitions cannot be used; `problems` has everything that is wrong, one a line."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Transitions:
    """Every transition that exists, ordered by name."""

    definitions: tuple[model.Definition, ...]
    matrix: matrices.Matrix = dataclasses.field(default_factory=matrices.Matrix)

    def edges(self) -> tuple[Edge, ...]:
        """Return the graph, as the schema needs it."""
        return tuple(
            Edge(
                name=one.name,
                source_control_plane=one.source.control_plane.value,
                source_infrastructures=tuple(one.source.infrastructure),
                target=one.target.pair,
            )
            for one in self.definitions
        )

    def starting_at(self, pair: TopologyPair) -> tuple[model.Definition, ...]:
        """Return the definitions that lead away from this pair."""
        return tuple(one for one in self.definitions if one.source.matches(pair))

    def named(self, name: str | None) -> model.Definition | None:
        """Return the definition of that name, None when there is none."""
        return next((one for one in self.definitions if one.name == name), None)

    def asks(self, check: CheckName) -> bool:
        """Does any definition ask this check, in any stage?"""
        return any(spec.check is check for one in self.definitions for specs in one.stages.values() for spec in specs)


def load(directory: pathlib.Path, *, members_directly: bool = False) -> Transitions:
    """Read every `*.yaml` file of a folder.

    With `members_directly` every definition that asks for the number of etcd's voters also asks the members
    themselves: the administrator has given certificates for that, and the definitions need not be written anew.
    Raises DefinitionError, and nothing else, when the folder or any of its files cannot be used.
    """
    try:
        listed = sorted(place for place in directory.iterdir() if not place.name.startswith("."))
    except OSError as error:
        problem = Problem(directory, None, f"the folder cannot be read: {error.strerror or error}")
        raise DefinitionError((problem,)) from error
    problems = [
        Problem(place, None, "the name of a definition ends in .yaml") for place in listed if place.suffix == ".yml"
    ]
    places = [place for place in listed if place.suffix == ".yaml"]
    if not places and not problems:
        problems.append(Problem(directory, None, "there is no *.yaml file; at least one definition is needed"))
    read = [_File.read(place) for place in places]
    problems += [problem for file in read for problem in file.problems]
    problems += _conflicts(read)
    if problems:
        raise DefinitionError(tuple(problems))
    found = sorted((file.definition for file in read if file.definition), key=lambda one: one.name)
    return Transitions(tuple(one.asking_members() if members_directly else one for one in found))


@dataclass(frozen=True, slots=True)
class _File:
    place: pathlib.Path
    definition: model.Definition | None
    problems: tuple[Problem, ...]
    name_line: int = 1

    @classmethod
    def read(cls, place: pathlib.Path) -> _File:
        try:
            with place.open("rb") as file:
                raw = file.read(LARGEST_FILE + 1)
        except OSError as error:
            return cls(place, None, (Problem(place, None, f"cannot be read: {error.strerror or error}"),))
        if len(raw) > LARGEST_FILE:
            return cls(place, None, (Problem(place, None, f"is larger than {LARGEST_FILE} bytes"),))
        document = nodes.parse(raw)
        if document.problems:
            return cls(place, None, tuple(Problem(place, line, text) for line, text in document.problems))
        try:
            definition = model.Definition.model_validate_json(json.dumps(document.value), strict=True)
        except pydantic.ValidationError as error:
            found = sorted(_explain(fault, document) for fault in error.errors(include_url=False))
            return cls(place, None, tuple(Problem(place, line, text) for line, text in found))
        line = document.line(("name",))
        if definition.name != place.stem:
            text = f"name {definition.name!r} differs from the file's name; wanted {place.stem!r}"
            return cls(place, definition, (Problem(place, line, text),), line)
        return cls(place, definition, (), line)


def _conflicts(files: list[_File]) -> list[Problem]:
    found: list[Problem] = []
    for index, later in enumerate(files):
        for earlier in files[:index]:
            one, other = later.definition, earlier.definition
            if one is None or other is None:
                continue
            if one.name == other.name:
                text = f"name {one.name!r} is used in {earlier.place.name} already"
                found.append(Problem(later.place, later.name_line, text))
            elif one.conflicts_with(other):
                text = (
                    f"{one.name} could match the same cluster as {other.name} ({earlier.place.name}): "
                    "make source, target, platforms or workers tell them apart"
                )
                found.append(Problem(later.place, later.name_line, text))
    return found


_MODELS: dict[tuple[str, ...], type[pydantic.BaseModel]] = {
    (): model.Definition,
    ("source",): model.Source,
    ("target",): model.Target,
    ("workers",): model.Workers,
    ("convergence",): model.Convergence,
    ("preflight", "*"): model.CheckSpec,
    ("convergence", "checks", "*"): model.CheckSpec,
}


def _explain(fault: Any, document: nodes.Document) -> tuple[int, str]:
    """Turn what pydantic found into a line and a sentence."""
    path: tuple[str | int, ...] = tuple(fault["loc"])
    line, where = document.line(path), nodes.spell(path)
    shape = tuple("*" if isinstance(part, int) else part for part in path)
    match fault["type"]:
        case "extra_forbidden":
            allowed = _keys(shape[:-1])
            inside = f" in {nodes.spell(path[:-1])}" if path[:-1] else ""
            return line, f"unknown key {path[-1]!r}{inside}; {_choice(str(path[-1]), allowed)}"
        case "missing":
            return document.line(path[:-1]), f"key {where} is missing"
        case "value_error":
            about = f"{where}: " if path else ""
            return line, f"{about}{fault['ctx']['error']}"
        case "enum" | "literal_error":
            allowed = _values(shape)
            found = document.found(path)
            if found.is_text:
                subject = "unknown check" if shape[-1] == "check" else f"{where} is"
                return line, f"{subject} {found.text!r}; {_choice(found.text, allowed)}"
            return line, f"{where} is {found}; {_choice('', allowed)}"
        case _:
            return line, f"{where or 'the definition'} is {document.found(path)}; {_lower(fault['msg'])}"


def _keys(shape: tuple[str, ...]) -> list[str]:
    fields = _MODELS[shape].model_fields if shape in _MODELS else {}
    return sorted(field.alias or name for name, field in fields.items())


def _values(shape: tuple[str, ...]) -> list[str]:
    if shape[-1] == "check":
        return [check.value for check in model.STAGES]
    if shape[-1] == "controlPlane":
        return [topology.value for topology in Topology]
    return [Topology.SINGLE_REPLICA.value, Topology.HIGHLY_AVAILABLE.value]


def _choice(found: str, allowed: list[str]) -> str:
    words = f"allowed: {', '.join(allowed)}"
    folded = {word.casefold(): word for word in allowed}
    close = difflib.get_close_matches(found.casefold(), list(folded), n=1)
    return f"{words}; did you mean {folded[close[0]]!r}?" if close else words


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
