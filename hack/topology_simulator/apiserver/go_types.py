"""Kubernetes' own types, as the tags of their Go fields describe them: what protobuf and strategic merge patches need.

`go_types.txt` has one line for each type: its name, and its fields as `json:number:type`, with `:strategies:key` behind
those that merge in another way than by replacing. `!` behind a name: the field is written when it is empty, too. An
empty name: the fields of that type are this type's own. A type begins with `*` (none is different from empty), `[]` or
`{}` (a list, or a map from texts); what has no dot in it is a value without fields. `hack/kubernetes_types.py` writes
the table. The neighbours: `protobuf` decodes by the numbers, `strategic` merges by strategies and keys.
"""

from __future__ import annotations

import functools
import pathlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .resources import Resource

_TABLE = pathlib.Path(__file__).with_name("go_types.txt")


@dataclass(frozen=True, slots=True)
class Field:
    """One field; `name` is that of JSON, `type` a type of the table or the name of a value without fields."""

    name: str
    number: int
    type: str
    is_list: bool = False
    is_map: bool = False
    pointer: bool = False
    required: bool = False
    strategies: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True)
class Type:
    """A type; `fields` are found by their name in JSON, those of inlined types too, `numbers` by their number."""

    name: str
    numbers: Mapping[int, Field]
    fields: Mapping[str, Field] = field(default_factory=dict)


def name_of(resource: Resource) -> str:
    """Return the name of a built-in kind's type; empty when the table does not have it."""
    name = f"{resource.group.partition('.')[0] or 'core'}.{resource.kind}"
    return name if not resource.custom and name in _lines() else ""


@functools.cache
def of(name: str) -> Type:
    """Return a type by its name. Raises KeyError."""
    own = [_field(word) for word in _lines()[name]]
    inlined = [each for parts in own if not parts.name for each in of(parts.type).fields.values()]
    fields = {each.name: each for each in (*inlined, *own) if each.name}
    return Type(name, {each.number: each for each in own}, fields)


@functools.cache
def _lines() -> dict[str, list[str]]:
    lines = (line.split() for line in _TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {words[0]: words[1:] for words in lines}


def _field(word: str) -> Field:
    name, number, kind, *merging = word.split(":")
    strategies, key = (*merging, "", "")[:2]
    plain = kind.lstrip("*")
    return Field(
        name.removesuffix("!"),
        int(number),
        plain.removeprefix("[]").removeprefix("{}").lstrip("*"),
        is_list=plain.startswith("[]"),
        is_map=plain.startswith("{}"),
        pointer=kind.startswith("*"),
        required=name.endswith("!"),
        strategies=tuple(part for part in strategies.split(",") if part),
        key=key,
    )
