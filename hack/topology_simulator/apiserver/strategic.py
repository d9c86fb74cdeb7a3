"""Strategic merge patch, the type of patch that kubectl takes for built-in kinds by default.

It is a merge patch that knows the types: a list whose field says `merge` is merged by the key of its
entries, or as a set where they are plain values; other lists are replaced. Directives in the patch say what merging
cannot: `$patch: replace|delete` in an object or among the entries of a list, `$deleteFromPrimitiveList/x`,
`$setElementOrder/x`, `$retainKeys`. What the real server does with them is compared with it by the rows of parity
(`hack/simulator_tests/parity`). A field that the table does not have is refused: merging it would be a guess.

`merge_keys.txt` has one line for each type, from the tags of its Go fields (`hack/merge_keys.py` writes it): its name,
and its fields as `json:type`, with `:strategies:key` behind those that merge in another way than by replacing. An empty
name: the fields of that type are this type's own. What has no dot in it is a value without fields.

Nothing is changed in place: what a patch does not touch is shared with the result, as in `patch`.
"""

from __future__ import annotations

import functools
import pathlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .resources import Resource

_TABLE = pathlib.Path(__file__).with_name("merge_keys.txt")
DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


class StrategicError(ValueError):
    """A patch that cannot be merged."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field: a type of the table or the name of a value without fields, and how it merges."""

    type: str
    strategies: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True)
class Type:
    """A type, and its fields by their names in JSON, those of inlined types too."""

    name: str
    fields: Mapping[str, Field]


def type_name(resource: Resource) -> str:
    """Return the name of a built-in kind's type; empty when the table does not have it."""
    name = f"{resource.group.partition('.')[0] or 'core'}.{resource.kind}"
    return name if not resource.custom and name in _lines() else ""


@functools.cache
def _lines() -> dict[str, list[str]]:
    lines = (line.split() for line in _TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {words[0]: words[1:] for words in lines}


@functools.cache
def _type(name: str) -> Type:
    fields: dict[str, Field] = {}
    for word in _lines()[name]:
        json, kind, *merging = word.split(":")
        plain = kind.lstrip("*[]{}")
        if not json:
            fields = {**_type(plain).fields, **fields}
            continue
        strategies, key = (*merging, "", "")[:2]
        fields[json] = Field(plain, tuple(strategies.split(",")), key)
    return Type(name, fields)


def merge(original: dict[str, Any], patch: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object of a type of the table with a patch applied. Raises StrategicError."""
    return _merge_objects(original, patch, _type(name))


def _merge_objects(original: dict[str, Any], patch: dict[str, Any], kind: Type | None) -> dict[str, Any]:
    """Return two objects merged; `kind` is None for a map, whose values have no fields."""
    if DIRECTIVE in patch:
        return _directed(patch)
    result = _retained(original, patch)
    for key, value in patch.items():
        if key.startswith(_DELETE_FROM):
            result = _without(result, key.removeprefix(_DELETE_FROM), value)
    for key, value in patch.items():
        if _is_directive(key):
            continue
        present = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(present, dict):
            field = _field(kind, key)
            replaced = field is not None and "replace" in field.strategies
            result[key] = value if replaced else _merge_objects(present, value, _below(field))
        elif isinstance(value, list) and isinstance(present, list):
            field = _field(kind, key)
            merging = field is not None and "merge" in field.strategies
            result[key] = _merge_lists(present, value, field) if merging and field else _cleaned(value)
        else:
            result[key] = _cleaned(value)
    return _ordered(original, result, patch, kind)


def _is_directive(key: str) -> bool:
    return key in (DIRECTIVE, _RETAIN) or key.startswith((_DELETE_FROM, _ORDER))


def _directed(patch: dict[str, Any]) -> dict[str, Any]:
    match patch[DIRECTIVE]:
        case "replace":
            return {key: value for key, value in patch.items() if key != DIRECTIVE}
        case "delete":
            return {}
    raise StrategicError(f"unknown patch type: {patch[DIRECTIVE]} in map: {patch}")


def _retained(original: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Return what of an object stays before the patch: all of it, or what `$retainKeys` names."""
    kept = patch.get(_RETAIN)
    if kept is None:
        return dict(original)
    given = [key for key, value in patch.items() if value is not None and not _is_directive(key)]
    if not isinstance(kept, list) or any(key not in kept for key in given):
        raise StrategicError("invalid patch format of retainKeys")
    return {key: value for key, value in original.items() if key in kept}


def _without(result: dict[str, Any], name: str, values: Any) -> dict[str, Any]:
    present = result.get(name)
    if not isinstance(present, list) or not isinstance(values, list):
        return result
    return {**result, name: [item for item in present if item not in values]}


def _field(kind: Type | None, name: str) -> Field | None:
    """Return what is known of a field. Raises StrategicError for one that a type does not have."""
    if kind is None:
        return None
    if name not in kind.fields:
        raise StrategicError(
            f'unable to find api field in struct {kind.name.partition(".")[2]} for the json field "{name}"'
        )
    return kind.fields[name]


def _below(field: Field | None) -> Type | None:
    return _type(field.type) if field is not None and "." in field.type else None


def _merge_lists(original: list[Any], patch: list[Any], field: Field) -> list[Any]:
    """Return two lists merged, by the key of their entries or as sets."""
    if not field.key:
        merged = [
            *original,
            *(item for position, item in enumerate(patch) if item not in (*original, *patch[:position])),
        ]
        return _in_order(merged, patch, original, "")
    for entry in patch:
        if not isinstance(entry, dict):
            raise StrategicError("invalid patch format of list")
        if entry.get(DIRECTIVE) not in (None, "replace", "delete"):
            raise StrategicError(f"unknown patch type: {entry[DIRECTIVE]} in map: {entry}")
        if field.key not in entry and entry.get(DIRECTIVE) != "replace":
            raise StrategicError(f"map: {entry} does not contain declared merge key: {field.key}")
    plain = [entry for entry in patch if DIRECTIVE not in entry]
    if any(entry.get(DIRECTIVE) == "replace" for entry in patch):
        return plain
    gone = [entry[field.key] for entry in patch if entry.get(DIRECTIVE) == "delete"]
    merged = [entry for entry in original if _mark(entry, field.key) not in gone]
    for entry in plain:
        marks = [_mark(old, field.key) for old in merged]
        if entry[field.key] in marks:
            position = marks.index(entry[field.key])
            merged[position] = _merge_objects(merged[position], entry, _below(field))
        else:
            merged.append(_cleaned(entry))
    return _in_order(merged, plain, original, field.key)


def _mark(item: Any, key: str) -> Any:
    """Return by what an entry is found again: its key, or the whole of a plain value."""
    return item.get(key) if key and isinstance(item, dict) else item


def _in_order(merged: list[Any], wanted: list[Any], original: list[Any], key: str) -> list[Any]:
    """Return entries in the order of the patch, each that it does not name where it was before those after it.

    Where the old order does not decide, what the patch names comes first.
    """
    order, before = [_mark(item, key) for item in wanted], [_mark(item, key) for item in original]
    named = sorted(
        (item for item in merged if _mark(item, key) in order), key=lambda item: order.index(_mark(item, key))
    )
    others = [item for item in merged if _mark(item, key) not in order]
    others.sort(key=lambda item: before.index(_mark(item, key)) if _mark(item, key) in before else len(before))
    result: list[Any] = []
    while named and others:
        left, right = _mark(others[0], key), _mark(named[0], key)
        earlier = left in before and right in before and before.index(left) < before.index(right)
        result.append((others if earlier else named).pop(0))
    return [*result, *named, *others]


def _ordered(
    original: dict[str, Any], result: dict[str, Any], patch: dict[str, Any], kind: Type | None
) -> dict[str, Any]:
    """Put lists into the order that `$setElementOrder` wants."""
    for directive, order in patch.items():
        name = directive.removeprefix(_ORDER)
        if name == directive or not isinstance(result.get(name), list):
            continue
        field = _field(kind, name)
        if field is None or not isinstance(order, list) or not _agree(patch.get(name), order, field.key):
            raise StrategicError(f"the order in patch list {name} doesn't match {directive}: {order}")
        present = original.get(name)
        known = present if isinstance(present, list) else []
        result[name] = _in_order(result[name], order, known, field.key)
    return result


def _agree(given: Any, order: list[Any], key: str) -> bool:
    """Whether the entries that a patch has stand in the order that it wants."""
    listed = [_mark(item, key) for item in order]
    marks = [_mark(item, key) for item in given or () if not (isinstance(item, dict) and DIRECTIVE in item)]
    return all(mark in listed for mark in marks) and marks == sorted(marks, key=listed.index)


def _cleaned(value: Any) -> Any:
    """Return a value of a patch for which there is nothing to merge with: without nulls, and without directives."""
    if isinstance(value, dict):
        return {
            key: _cleaned(part)
            for key, part in value.items()
            if part is not None and not _is_directive(key) and not (isinstance(part, dict) and DIRECTIVE in part)
        }
    if isinstance(value, list):
        return [_cleaned(item) for item in value if not (isinstance(item, dict) and DIRECTIVE in item)]
    return value
