"""Turns a YAML file into a type, and what does not fit into lines and sentences.

A `Form` says what a file of one kind may hold: the type, which keys stand where, and the words to choose from. The
types are pydantic models in strict JSON mode; what pydantic says is told in the words of the file: line, path as it is
written there, what was found, what is allowed, and the closest match.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pydantic

from . import nodes
from . import problems as wrongs

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Mapping

LARGEST_FILE = 64 * 1024
"""Bytes; our files have one or two thousand."""

Shape = tuple[str, ...]
"""A place in a file of some kind: a path whose list positions are "*"."""
KEY = "[key]"
"""Last part of the shape that stands for the keys of a mapping, and of pydantic's own path to one."""
M = TypeVar("M", bound=pydantic.BaseModel)


@dataclass(frozen=True, slots=True)
class Form(Generic[M]):
    """What a file of one kind may hold.

    `noun` names such a file, as in "transition definition". `models` says which type stands where, so that the keys
    that are allowed there can be named; `words` says which values are.
    """

    model: type[M]
    noun: str
    models: Mapping[Shape, type[pydantic.BaseModel]]
    words: Callable[[Shape], list[str]]
    refusal: Callable[[nodes.Path], str] = lambda _: ""
    """Why a key that is not known is not there on purpose; empty when it is merely not known."""


@dataclass(frozen=True, slots=True)
class File(Generic[M]):
    """A file as it was read: its value, or the problems that left it without one."""

    place: pathlib.Path
    value: M | None
    document: nodes.Document
    problems: tuple[wrongs.Problem, ...] = ()

    def problem(self, path: nodes.Path, text: str) -> wrongs.Problem:
        """Something that is wrong at a path of this file."""
        return wrongs.Problem(self.place, self.document.line(path), text)


def folder(directory: pathlib.Path, noun: str) -> tuple[list[pathlib.Path], list[wrongs.Problem]]:
    """The `*.yaml` files of a folder in their order, and what is wrong with the folder."""
    try:
        listed = sorted(place for place in directory.iterdir() if not place.name.startswith("."))
    except OSError as error:
        return [], [wrongs.Problem(directory, None, f"the folder cannot be read: {error.strerror or error}")]
    found = [
        wrongs.Problem(place, None, f"the name of a {noun} ends in .yaml") for place in listed if place.suffix == ".yml"
    ]
    places = [place for place in listed if place.suffix == ".yaml"]
    if not places and not found:
        found.append(wrongs.Problem(directory, None, f"there is no *.yaml file; at least one {noun} is needed"))
    return places, found


def file(place: pathlib.Path, form: Form[M]) -> File[M]:
    """Read one file. Never raises: what is wrong with it is in `problems`."""
    try:
        with place.open("rb") as opened:
            raw = opened.read(LARGEST_FILE + 1)
    except OSError as error:
        why = f"cannot be read: {error.strerror or error}"
        return File(place, None, nodes.Document(), (_about(place, why),))
    return parsed(place, raw, form)


def parsed(place: pathlib.Path, raw: bytes, form: Form[M]) -> File[M]:
    """Make sense of what was read from `place`, at most LARGEST_FILE + 1 bytes of it. Never raises, like `file`."""
    if len(raw) > LARGEST_FILE:
        return File(place, None, nodes.Document(), (_about(place, f"is larger than {LARGEST_FILE} bytes"),))
    document = nodes.parse(raw)
    if document.problems:
        return File(place, None, document, tuple(wrongs.Problem(place, *found) for found in document.problems))
    try:
        written = json.dumps(document.value)
    except ValueError:
        # Python refuses to write a number of thousands of digits, which YAML takes in hexadecimal.
        return File(place, None, document, (_about(place, "has a number of too many digits"),))
    try:
        value = form.model.model_validate_json(written, strict=True)
    except pydantic.ValidationError as error:
        told = sorted({_explain(fault, document, form) for fault in error.errors(include_url=False)})
        return File(place, None, document, tuple(wrongs.Problem(place, *found) for found in told))
    return File(place, value, document)


def _about(place: pathlib.Path, text: str) -> wrongs.Problem:
    return wrongs.Problem(place, None, text)


def _explain(fault: Any, document: nodes.Document, form: Form[Any]) -> tuple[int, str]:
    """Turn what pydantic found into a line and a sentence."""
    path, of_key = _walk(fault["loc"], document, missing=fault["type"] == "missing")
    line, where = document.line(path), nodes.spell(path)
    shape = tuple("*" if isinstance(part, int) else part for part in path)
    match fault["type"]:
        case "extra_forbidden":
            return line, form.refusal(path) or unknown(path, _keys(shape[:-1], form))
        case _ if of_key:
            return line, unknown(path, form.words((*shape[:-1], KEY)))
        case "missing":
            return document.line(path[:-1]), f"key {where} is missing"
        case "value_error":
            about = f"{where}: " if path else ""
            return line, f"{about}{fault['ctx']['error']}"
        case "enum" | "literal_error":
            allowed = form.words(shape)
            found = document.found(path)
            if found.is_text:
                subject = "unknown check" if shape[-1] == "check" else f"{where} is"
                return line, f"{subject} {found.text!r}; {_choice(found.text, allowed)}"
            return line, f"{where} is {found}; {_choice('', allowed)}"
        case _:
            return line, f"{where or f'the {form.noun}'} is {document.found(path)}; {_lower(fault['msg'])}"


def _walk(loc: tuple[str | int, ...], document: nodes.Document, *, missing: bool) -> tuple[nodes.Path, bool]:
    """The path in the file that pydantic speaks of, and whether it means the key itself.

    Pydantic puts the branch of a union, and "[key]" behind a key of a mapping, into its path; the file has neither.
    """
    path: nodes.Path = ()
    for index, part in enumerate(loc):
        last = index == len(loc) - 1
        if (*path, part) in document.lines or (missing and last):
            path = (*path, part)
        elif part == KEY and last:
            return path, True
    return path, False


def unknown(path: nodes.Path, allowed: list[str]) -> str:
    """Say that the key at the end of a path is not known there, what is, and what is closest to it."""
    inside = f" in {nodes.spell(path[:-1])}" if path[:-1] else ""
    return f"unknown key {str(path[-1])!r}{inside}; {_choice(str(path[-1]), allowed)}"


def _keys(shape: Shape, form: Form[Any]) -> list[str]:
    # The values of a mapping whose keys are names stand under "*", like those of a list.
    model = form.models.get(shape) or form.models.get((*shape[:-1], "*"))
    fields = model.model_fields if model is not None else {}
    return sorted(field.alias or name for name, field in fields.items())


def _choice(found: str, allowed: list[str]) -> str:
    words = f"allowed: {', '.join(allowed)}"
    folded = {word.casefold(): word for word in allowed}
    close = difflib.get_close_matches(found.casefold(), list(folded), n=1)
    return f"{words}; did you mean {folded[close[0]]!r}?" if close else words


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
