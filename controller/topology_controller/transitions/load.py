"""Reads the transition definitions, and says exactly where one is wrong.

The operator does not start with a definition that it does not understand, so whoever wrote the file has only this text
to go by: file, line, what was found, what is allowed, and the closest match. All problems of all files come in one
error. `files` reads YAML with line numbers, `model` says what a definition is; this module brings the two together and
looks at what concerns several files: names, definitions that could match the same cluster, and whether the operand
matrix answers what they ask.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topology_api.crd import Edge
from topology_api.types import TopologyPair
from topology_api.vocabulary import Topology

from ..files import problems as wrongs
from ..files import read
from ..operands import load as operands
from ..operands import model as matrices
from . import model

if TYPE_CHECKING:
    import pathlib

    from topology_api.vocabulary import CheckName

LARGEST_FILE = read.LARGEST_FILE
"""Bytes; a definition has about a thousand."""
DefinitionError = wrongs.DefinitionError
"""What `load` raises, whichever file is at fault."""

_WORDS: dict[str, list[str]] = {
    "check": [check.value for check in model.STAGES],
    "controlPlane": [topology.value for topology in Topology],
}
_FORM = read.Form(
    model.Definition,
    "definition",
    {
        (): model.Definition,
        ("source",): model.Source,
        ("target",): model.Target,
        ("workers",): model.Workers,
        ("convergence",): model.Convergence,
        ("preflight", "*"): model.CheckSpec,
        ("convergence", "checks", "*"): model.CheckSpec,
    },
    lambda shape: _WORDS.get(shape[-1] if shape else "", ["SingleReplica", "HighlyAvailable"]),
)


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


def load(
    directory: pathlib.Path, *, members_directly: bool = False, matrix: matrices.Matrix | None = None
) -> Transitions:
    """Read every `*.yaml` file of a folder, and the operand matrix that comes with the operator if none is given.

    With `members_directly` every definition that asks for the number of etcd's voters also asks the members
    themselves: the administrator has given certificates for that, and the definitions need not be written anew.
    Raises DefinitionError when the folder or any of the files cannot be used, and bindata.BindataMissingError when
    the operator came without its matrix.
    """
    places, found = read.folder(directory, _FORM.noun)
    files = [read.file(place, _FORM) for place in places]
    found += [problem for file in files for problem in file.problems]
    found += _conflicts(files)
    if matrix is None:
        try:
            matrix = operands.shipped()
        except DefinitionError as error:
            raise DefinitionError((*found, *error.problems)) from None
    found += [problem for file in files for problem in _unanswered(file, matrix)]
    if found:
        raise DefinitionError(tuple(found))
    loaded = sorted((file.value for file in files if file.value), key=lambda one: one.name)
    return Transitions(tuple(one.asking_members() if members_directly else one for one in loaded), matrix)


def _conflicts(files: list[read.File[model.Definition]]) -> list[wrongs.Problem]:
    found: list[wrongs.Problem] = []
    for index, later in enumerate(files):
        one = later.value
        if one is None:
            continue
        if one.name != later.place.stem:
            text = f"name {one.name!r} differs from the file's name; wanted {later.place.stem!r}"
            found.append(later.problem(("name",), text))
        for earlier in files[:index]:
            other = earlier.value
            if other is None:
                continue
            if one.name == other.name:
                text = f"name {one.name!r} is used in {earlier.place.name} already"
                found.append(later.problem(("name",), text))
            elif one.conflicts_with(other):
                text = (
                    f"{one.name} could match the same cluster as {other.name} ({earlier.place.name}): "
                    "make source, target, platforms or workers tell them apart"
                )
                found.append(later.problem(("name",), text))
    return found


def _unanswered(file: read.File[model.Definition], matrix: matrices.Matrix) -> list[wrongs.Problem]:
    """What the definition asks of operands and the matrix has no figure for."""
    found: list[wrongs.Problem] = []
    definition = file.value
    if definition is None:
        return found
    target = definition.target.pair
    sources = [
        TopologyPair(control_plane=definition.source.control_plane.value, infrastructure=infrastructure)
        for infrastructure in definition.source.infrastructure
    ]
    for index, spec in enumerate(definition.convergence.checks):
        if spec.check not in matrices.OPERAND_CHECKS:
            continue
        path = ("convergence", "checks", index, "check")
        group = matrix.group(spec.check)
        if group is None:
            found.append(file.problem(path, f"check {spec.check} has no operand file: nothing says what it looks at"))
            continue
        lacks = dict.fromkeys(lack for source in sources for lack in group.lacks(source, target))
        found += [file.problem(path, f"check {spec.check}: its operand file has no {lack}") for lack in lacks]
    return found
