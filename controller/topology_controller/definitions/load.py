"""Reads the transition definitions and the operand matrix, and says exactly where one is wrong.

`read` reads one file; this module checks what concerns several: names, definitions that could match the same cluster,
and whether the operand matrix answers what they ask. All problems of all files come in one error.
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
from dataclasses import dataclass

from topology_api.crd import Edge
from topology_api.types import TopologyPair
from topology_api.vocabulary import CheckName

from . import model, read, registry
from . import operands as matrices

DefinitionError = read.DefinitionError
_FORM = read.Form(model.Definition, "definition", [check.value for check in registry.ASKED])


@dataclass(frozen=True, slots=True)
class Transitions:
    """Every transition that exists, ordered by name, and the operand matrix that their checks go by."""

    definitions: tuple[model.Definition, ...]
    matrix: matrices.Matrix = dataclasses.field(default_factory=matrices.Matrix)

    def edges(self) -> tuple[Edge, ...]:
        """Return the graph, as the schema needs it."""
        return tuple(
            Edge(each.name, each.source.control_plane.value, tuple(each.source.infrastructure), each.target.pair)
            for each in self.definitions
        )

    def starting_at(self, pair: TopologyPair) -> tuple[model.Definition, ...]:
        """Return the definitions that lead away from this pair."""
        return tuple(definition for definition in self.definitions if definition.source.matches(pair))

    def named(self, name: str | None) -> model.Definition | None:
        """Return the definition of that name, None when there is none."""
        return next((definition for definition in self.definitions if definition.name == name), None)

    def asks(self, check: CheckName) -> bool:
        """Does any definition ask this check, in any stage?"""
        return any(
            spec.check is check for each in self.definitions for spec in (*each.preflight, *each.convergence.checks)
        )


def load(directory: pathlib.Path, *, members_directly: bool = False) -> Transitions:
    """Read every `*.yaml` of a folder, and the shipped matrix.

    With `members_directly` all ask etcd's members too. Raises DefinitionError, and what `operands.shipped` raises.
    """
    files, problems = read.folder(directory, _FORM)
    read_well = [(file, file.value) for file in files if file.value]
    for file, definition in read_well:
        if definition.name != file.place.stem:
            text = f"name {definition.name!r} differs from the file's name; wanted {file.place.stem!r}"
            problems.append(file.problem(("name",), text))
    for (earlier, other), (later, definition) in itertools.combinations(read_well, 2):
        if definition.conflicts_with(other):
            text = (
                f"{definition.name} could match the same cluster as {other.name} ({earlier.place.name}): "
                "make source, target, platforms or workers tell them apart"
            )
            problems.append(later.problem(("name",), text))
    try:
        matrix = matrices.shipped()
    except DefinitionError as error:
        raise DefinitionError((*problems, *error.problems)) from None
    for file, definition in read_well:
        problems += _unanswered(file, definition, matrix)
    if problems:
        raise DefinitionError(tuple(problems))
    definitions = sorted((_with_operands(each, matrix) for _, each in read_well), key=lambda each: each.name)
    if members_directly:
        definitions = [definition.asking_members() for definition in definitions]
    return Transitions(tuple(definitions), matrix)


def _with_operands(definition: model.Definition, matrix: matrices.Matrix) -> model.Definition:
    """The definition with a check for each operand that it waits for without naming it."""
    convergence = definition.convergence
    if not convergence.operands:
        return definition
    source, target = definition.source, definition.target
    changes = {
        "controlPlane": definition.changes_control_plane,
        "infrastructure": any(infrastructure != target.infrastructure for infrastructure in source.infrastructure),
    }
    groups = [group for group in matrix.groups if changes[group.follows] and group.check not in convergence.asked]
    followed = [model.CheckSpec(check=group.check) for group in sorted(groups, key=lambda group: group.place)]
    checks = (*convergence.checks, *followed)
    return definition.model_copy(update={"convergence": convergence.model_copy(update={"checks": checks})})


def _unanswered(
    file: read.File[model.Definition], definition: model.Definition, matrix: matrices.Matrix
) -> list[read.Problem]:
    """What the definition asks of operands and the matrix has no figure for."""
    problems: list[read.Problem] = []
    before, starts = definition.source.control_plane.value, definition.source.infrastructure
    sources = [TopologyPair(control_plane=before, infrastructure=infrastructure) for infrastructure in starts]
    named = len(definition.convergence.checks)
    for index, spec in enumerate(_with_operands(definition, matrix).convergence.checks):
        if spec.check not in registry.OPERAND_CHECKS:
            continue
        path = ("convergence", "checks", index, "check") if index < named else ("convergence", "operands")
        group = matrix.group(spec.check)
        if group is None:
            text = f"check {spec.check} has no operand file: nothing says what it looks at"
            problems.append(file.problem(path, text))
            continue
        lacks = dict.fromkeys(lack for source in sources for lack in group.lacks(source, definition.target.pair))
        problems += [file.problem(path, f"check {spec.check}: its operand file has no {lack}") for lack in lacks]
    return problems
