"""What a structural schema does to an object before it is judged: prune the unknown, fill in defaults.

Neither function changes its input; a part that nothing happens to is returned as it is, which keeps
versions of an object sharing memory. Nulls where the schema does not allow null vanish before defaulting,
as in the real server.

`validation` judges values, `cel` the rules; `crds` puts the three together.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

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
