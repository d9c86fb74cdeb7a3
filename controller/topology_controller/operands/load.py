"""Reads the operand matrix, and says exactly where it is wrong.

A file of `bindata/operands` is named after its check, so that whoever looks for what a check wants finds it at once,
and no check has two. `files` does the reading; `model` says what a file may hold; this module looks at what concerns
several files. Whether the matrix answers what the definitions ask is looked at by `transitions.load`, which has both.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from topology_api.vocabulary import Topology

from .. import bindata
from ..files import problems, read
from . import model

if TYPE_CHECKING:
    import pathlib

DefinitionError = problems.DefinitionError
"""What `load` raises."""

_WORDS: dict[str, list[str]] = {
    "check": sorted(check.value for check in model.OPERAND_CHECKS),
    "kind": ["Deployment", "IngressController", "PodDisruptionBudget", "StatefulSet", "StaticPods"],
    "follows": ["controlPlane", "infrastructure"],
    "replicas": ["perConfiguration", "perControlPlaneNode"],
    read.KEY: [topology.value for topology in Topology],
}


def _words(shape: read.Shape) -> list[str]:
    return _WORDS.get(shape[-1] if shape else "", [])


GROUP = read.Form(
    model.Group,
    model.Group.kind,
    {(): model.Group, ("managedBy",): model.ManagedBy, ("operands", "*"): model.Operand},
    _words,
)
READERS = read.Form(
    model.StartupReaders,
    model.StartupReaders.kind,
    {(): model.StartupReaders, ("startupReaders", "*"): model.StartupReader},
    _words,
)


@functools.cache
def shipped() -> model.Matrix:
    """The matrix that came with the operator.

    Raises what `load` does, and bindata.BindataMissingError when it came without one.
    """
    return load(bindata.root())


def load(directory: pathlib.Path) -> model.Matrix:
    """Read `operands/*.yaml` and `startup-readers.yaml` below a folder such as `bindata`.

    Raises DefinitionError, and nothing else, when any of it cannot be used.
    """
    places, wrong = read.folder(directory / "operands", model.Group.kind)
    groups = [read.file(place, GROUP) for place in places]
    readers = read.file(directory / "startup-readers.yaml", READERS)
    wrong += [problem for one in groups for problem in one.problems]
    wrong += readers.problems
    wrong += _conflicts(groups)
    if wrong or readers.value is None:
        raise DefinitionError(tuple(wrong))
    found = sorted((one.value for one in groups if one.value is not None), key=lambda group: group.check.value)
    return model.Matrix.model_validate({"groups": found, "startupReaders": readers.value.startup_readers})


def _conflicts(files: list[read.File[model.Group]]) -> list[problems.Problem]:
    found: list[problems.Problem] = []
    checks: dict[str, str] = {}
    operands: dict[str, str] = {}
    for one in files:
        if one.value is None:
            continue
        name = one.place.name
        check = one.value.check.value
        if check in checks:
            found.append(one.problem(("check",), f"check {check} has its operands in {checks[check]} already"))
        elif check != one.place.stem:
            text = f"check {check!r} differs from the file's name; wanted {one.place.stem!r}"
            found.append(one.problem(("check",), text))
        checks.setdefault(check, name)
        for index, operand in enumerate(one.value.operands):
            if operand.key in operands:
                text = f"operand {operand.key} stands in {operands[operand.key]} already"
                found.append(one.problem(("operands", index), text))
            operands.setdefault(operand.key, name)
    return found
