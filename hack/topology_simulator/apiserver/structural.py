"""What a structural schema does to an object before it is judged: prune the unknown, fill in defaults.

Neither function changes its input; a part that nothing happens to is returned as it is, which keeps
versions of an object sharing memory. Nulls where the schema does not allow null vanish before defaulting,
as in the real server. `find_list_keys` tells `managed_fields` which lists are maps; `check` refuses schemas
that are not structural.

`validation` judges values, `cel` the rules; `crds` puts the three together.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from . import field_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


def find_list_keys(
    schema: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield (path, key fields) of every map-list, and (path, ()) of every set; items are not part of a path."""
    if schema.get(LIST_TYPE) == "set":
        yield path, ()
    if schema.get(LIST_TYPE) == "map":
        yield path, tuple(schema.get(LIST_KEYS) or ())
    for key, part in (schema.get("properties") or {}).items():
        yield from find_list_keys(part, (*path, key))
    if isinstance(schema.get("items"), dict):
        yield from find_list_keys(schema["items"], path)


def check(schema: Any, field: str) -> list[field_errors.Cause]:
    """Return why a schema is not structural, by the rules that people run into."""
    if not isinstance(schema, dict):
        return [field_errors.invalid(field, schema, "must be a schema")]
    causes: list[field_errors.Cause] = []
    free = schema.get(INT_OR_STRING) or schema.get(PRESERVE)
    kind = schema.get("type")
    if not kind and not free:
        causes.append(field_errors.required(f"{field}.type", "must not be empty for specified object fields"))
    if kind and kind not in ("object", "array", "string", "integer", "number", "boolean"):
        allowed = ("array", "boolean", "integer", "number", "object", "string")
        causes.append(field_errors.unsupported(f"{field}.type", kind, allowed))
    causes += [
        field_errors.forbidden(f"{field}.{word}", f"{word} is not supported")
        for word in ("$ref", "definitions", "dependencies", "deprecated", "discriminator", "patternProperties")
        if word in schema
    ]
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        causes.append(field_errors.forbidden(f"{field}.uniqueItems", text))
    if schema.get("properties") and schema.get("additionalProperties"):
        text = "additionalProperties and properties are mutual exclusive"
        causes.append(field_errors.forbidden(f"{field}.additionalProperties", text))
    causes += _check_list(schema, field)
    for key, part in (schema.get("properties") or {}).items():
        causes += check(part, f"{field}.properties[{key}]")
    if isinstance(schema.get("additionalProperties"), dict):
        causes += check(schema["additionalProperties"], f"{field}.additionalProperties")
    return causes


def _check_list(schema: Mapping[str, Any], field: str) -> list[field_errors.Cause]:
    causes: list[field_errors.Cause] = []
    items = schema.get("items")
    if schema.get("type") == "array" and items is None:
        causes.append(field_errors.required(f"{field}.items", "must be specified"))
    elif isinstance(items, list):
        text = "items must be a schema object and not an array"
        causes.append(field_errors.forbidden(f"{field}.items", text))
    elif items is not None:
        causes += check(items, f"{field}.items")
    kind = schema.get(LIST_TYPE)
    if kind not in (None, "atomic", "set", "map"):
        causes.append(field_errors.unsupported(f"{field}.{LIST_TYPE}", kind, ("atomic", "map", "set")))
    if kind == "map":
        keys = schema.get(LIST_KEYS) or ()
        if not keys:
            text = "must not be empty if x-kubernetes-list-type is map"
            causes.append(field_errors.required(f"{field}.{LIST_KEYS}", text))
        properties = items.get("properties") or {} if isinstance(items, dict) else {}
        required = items.get("required") or () if isinstance(items, dict) else ()
        for key in keys:
            if key not in properties:
                text = "must be one of the item's properties"
                causes.append(field_errors.invalid(f"{field}.{LIST_KEYS}", key, text))
            elif key not in required and "default" not in properties[key]:
                text = (
                    "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
                    "required property"
                )
                causes.append(field_errors.required(f"{field}.items.properties[{key}].default", text))
    return causes
