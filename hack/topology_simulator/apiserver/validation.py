"""What a structural schema does to an object: prune the unknown, fill in defaults, and judge, in the server's words.

On updates it ratchets as real servers of 1.30 and later do: a part that equals its stored state is not judged again.
Parts of map-lists correspond by their keys, entries of other lists not at all. A part that nothing happens to is
returned as it is, which keeps versions of an object sharing memory. `cel` judges the rules.
"""

from __future__ import annotations

import copy
import datetime as dt
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import field_errors, patch


class _Missing:
    """No stored state to compare with."""


MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: its path, its schema, itself and its stored state (MISSING: none)."""

    path: str
    schema: Mapping[str, Any]
    value: Any
    old: Any

    def child(self, key: str, schema: Mapping[str, Any]) -> Place:
        """Return the place of a field."""
        path = f"{self.path}.{key}" if self.path else key
        old = self.old.get(key, MISSING) if isinstance(self.old, dict) else MISSING
        return Place(path, schema, self.value[key], old)

    def body(self) -> str:
        """Return the path as the messages of the schema validator have it."""
        return f"{self.path} in body"

    def invalid(self, text: str) -> field_errors.Cause:
        """Return the cause of a value that breaks a rule of its schema."""
        return field_errors.invalid(self.path or "<nil>", self.value, f"{self.body()} {text}")


def validate(schema: Mapping[str, Any], obj: dict[str, Any], old: dict[str, Any] | None) -> list[field_errors.Cause]:
    """Return every broken rule of a resource; apiVersion, kind and metadata are judged elsewhere."""
    apart = ("apiVersion", "kind", "metadata")
    rest = {key: value for key, value in obj.items() if key not in apart}
    before = MISSING if old is None else {key: value for key, value in old.items() if key not in apart}
    properties = {key: part for key, part in (schema.get("properties") or {}).items() if key not in apart}
    required = [key for key in schema.get("required") or () if key not in apart]
    return _validate(Place("", {**schema, "properties": properties, "required": required}, rest, before))


def _validate(place: Place) -> list[field_errors.Cause]:
    schema, value = place.schema, place.value
    if place.old is not MISSING and patch.same(place.old, value):
        return []
    if value is None and schema.get("nullable"):
        return []
    wrong = _check_type(place)
    if wrong is not None:
        return [wrong]
    causes: list[field_errors.Cause] = []
    if schema.get("enum") is not None and not any(patch.same(value, allowed) for allowed in schema["enum"]):
        causes.append(field_errors.unsupported(place.path, value, schema["enum"]))
    if isinstance(value, str):
        causes += _check_string(place)
    elif isinstance(value, dict):
        causes += _check_map(place)
    elif isinstance(value, list):
        causes += _check_list(place)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        causes += _check_number(place)
    return causes


def _check_type(place: Place) -> field_errors.Cause | None:
    wanted, value = place.schema.get("type"), place.value
    names = {type(None): "null", bool: "boolean", int: "integer", str: "string", list: "array"}
    whole = isinstance(value, float) and value.is_integer()
    actual = "integer" if whole else "number" if isinstance(value, float) else names.get(type(value), "object")
    if place.schema.get(INT_OR_STRING):
        if actual in ("integer", "string"):
            return None
        wanted = "integer,string"
    elif wanted is None or wanted == actual or (wanted == "number" and actual == "integer"):
        return None
    text = f'{place.body()} must be of type {wanted}: "{actual}"'
    return field_errors.Cause(place.path or "<nil>", "FieldValueTypeInvalid", f'Invalid value: "{actual}": {text}')


def _check_number(place: Place) -> list[field_errors.Cause]:
    schema, value = place.schema, place.value
    causes: list[field_errors.Cause] = []
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and value < least:
        causes.append(place.invalid(f"should be greater than or equal to {field_errors.value_text(least)}"))
    if most is not None and value > most:
        causes.append(place.invalid(f"should be less than or equal to {field_errors.value_text(most)}"))
    limit = {"int32": 2**31, "int64": 2**63}.get(schema.get("format") or "")
    if limit is not None and not -limit <= value < limit:
        causes.append(place.invalid(f"must be of type {schema['format']}: {field_errors.value_text(value)}"))
    return causes


def _check_string(place: Place) -> list[field_errors.Cause]:
    schema, value = place.schema, place.value
    causes: list[field_errors.Cause] = []
    longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if longest is not None and len(value) > longest:
        text = f"Too long: may not be more than {longest} bytes"
        causes.append(field_errors.Cause(place.path, "FieldValueTooLong", text))
    elif shortest is not None and len(value) < shortest:
        causes.append(place.invalid(f"should be at least {shortest} chars long"))
    elif pattern and not _pattern(pattern).search(value):
        causes.append(place.invalid(f"should match '{pattern}'"))
    if schema.get("format") == "date-time" and not _is_time(value):
        shown = field_errors.value_text(value)
        text = f"Invalid value: {shown}: {place.body()} must be of type date-time: {shown}"
        causes.append(field_errors.Cause(place.path, "FieldValueTypeInvalid", text))
    return causes


def _check_map(place: Place) -> list[field_errors.Cause]:
    schema, value = place.schema, place.value
    prefix = f"{place.path}." if place.path else ""
    causes = [field_errors.required(prefix + key) for key in schema.get("required") or () if key not in value]
    properties: Mapping[str, Any] = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    if schema.get(EMBEDDED):
        causes += [
            field_errors.required(prefix + key, "must not be empty")
            for key in ("apiVersion", "kind")
            if not value.get(key)
        ]
    for key in value:
        below = properties.get(key, additional)
        if isinstance(below, dict):
            causes += _validate(place.child(key, below))
    return causes


def _list_key(item: Any, keys: tuple[str, ...], schema: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return what identifies an item of a map-list, or None when it is no object."""
    if not isinstance(item, dict):
        return None
    properties = schema.get("properties") or {}
    return tuple(item.get(key, (properties.get(key) or {}).get("default")) for key in keys)


def _check_list(place: Place) -> list[field_errors.Cause]:
    schema, value = place.schema, place.value
    causes: list[field_errors.Cause] = []
    most = schema.get("maxItems")
    if most is not None and len(value) > most:
        text = f"Too many: {len(value)}: must have at most {most} item{'' if most == 1 else 's'}"
        causes.append(field_errors.Cause(place.path, "FieldValueTooMany", text))
    items = schema.get("items")
    if not isinstance(items, dict):
        return causes
    kind, keys = schema.get(LIST_TYPE), tuple(schema.get(LIST_KEYS) or ())
    before: dict[Any, Any] = {}
    if kind == "map" and isinstance(place.old, list):
        before = {repr(_list_key(item, keys, items)): item for item in place.old}
    seen: set[str] = set()
    twice: list[field_errors.Cause] = []
    for index, item in enumerate(value):
        path = f"{place.path}[{index}]"
        old: Any = MISSING
        if kind in ("map", "set"):
            identity = _list_key(item, keys, items) if kind == "map" else item
            mark = repr(identity)
            if mark in seen:
                shown = dict(zip(keys, identity or (), strict=False)) if kind == "map" else item
                twice.append(field_errors.duplicate(path, shown))
            seen.add(mark)
            old = before.get(mark, MISSING)
        causes += _validate(Place(path, items, item, old))
    return causes + twice


@functools.lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\z", r"\\Z", text))


_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def _is_time(text: str) -> bool:
    """Whether a text is a date-time, the one format of texts that the definitions have which are served here."""
    try:
        return bool(_DATE_TIME.fullmatch(text)) and bool(dt.datetime.fromisoformat(text.upper()))
    except ValueError:
        return False


OBJECT_META = frozenset({
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
    "managedFields",
})  # fmt: skip
PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
LIST_KEYS = "x-kubernetes-list-map-keys"
RULES = "x-kubernetes-validations"


def prune_object(schema: Mapping[str, Any], obj: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a whole resource without unknown fields, and the paths of those that went."""
    unknown: list[str] = []
    pruned = _prune(schema, obj, "", unknown, resource=True)
    return pruned, sorted(unknown)


def _prune_meta(meta: Any, path: str, unknown: list[str]) -> Any:
    if not isinstance(meta, dict) or meta.keys() <= OBJECT_META:
        return meta
    unknown += [f"{path}metadata.{key}" for key in meta if key not in OBJECT_META]
    return {key: value for key, value in meta.items() if key in OBJECT_META}


def _prune(schema: Mapping[str, Any], value: Any, path: str, unknown: list[str], *, resource: bool = False) -> Any:
    resource = resource or bool(schema.get(EMBEDDED))
    if isinstance(value, dict):
        return _prune_map(schema, value, path, unknown, resource=resource)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        items = schema["items"]
        pruned = [_prune(items, item, f"{path}[{index}]", unknown) for index, item in enumerate(value)]
        return pruned if any(new is not old for new, old in zip(pruned, value, strict=True)) else value
    return value


def _prune_map(
    schema: Mapping[str, Any], value: dict[str, Any], path: str, unknown: list[str], *, resource: bool
) -> dict[str, Any]:
    properties: Mapping[str, Any] = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    dotted = f"{path}." if path else ""
    pruned: dict[str, Any] = {}
    for key, part in value.items():
        if resource and key in ("apiVersion", "kind"):
            pruned[key] = part
        elif resource and key == "metadata":
            pruned[key] = _prune_meta(part, dotted, unknown)
        elif key in properties:
            if part is not None or properties[key].get("nullable"):
                pruned[key] = _prune(properties[key], part, dotted + key, unknown)
        elif isinstance(additional, dict):
            pruned[key] = _prune(additional, part, dotted + key, unknown)
        elif additional is True or schema.get(PRESERVE):
            pruned[key] = part
        else:
            unknown.append(dotted + key)
    if len(pruned) == len(value) and all(pruned[key] is value[key] for key in pruned):
        return value
    return pruned


def default(schema: Mapping[str, Any], value: Any) -> Any:
    """Return a value with the schema's defaults filled in."""
    if isinstance(value, dict):
        changes: dict[str, Any] = {}
        additional = schema.get("additionalProperties")
        properties: Mapping[str, Any] = schema.get("properties") or {}
        for key, part in properties.items():
            if key not in value and "default" in part:
                changes[key] = default(part, copy.deepcopy(part["default"]))
        for key, part in value.items():
            below = properties.get(key, additional)
            if isinstance(below, dict):
                filled = default(below, part)
                if filled is not part:
                    changes[key] = filled
        return {**value, **changes} if changes else value
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        items = [default(schema["items"], item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value
