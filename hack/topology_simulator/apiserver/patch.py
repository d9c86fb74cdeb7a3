"""JSON patch (RFC 6902), JSON merge patch (RFC 7386) and strategic merge patch, and when two JSON values are the same.

No patch changes its input: what a merge patch does not touch is shared with the result, which keeps a log of many
versions small and comparisons fast. kubectl takes a strategic one for built-in kinds: it merges some lists by the key
of their entries, or as sets (`_KEYS`, from the tags of the Go types in k8s.io/api). Directives say what merging cannot:
`$patch: replace|delete`, `$deleteFromPrimitiveList/x`, `$setElementOrder/x`, `$retainKeys`.
"""

import copy
import functools
import re
from typing import Any


class PatchError(Exception):
    """A patch that does not fit the document."""


def merge(target: Any, patch: Any) -> Any:
    """Return `target` with a merge patch applied.

    Null removes, objects are merged, everything else replaces. The real server goes further than RFC 7396: objects
    in a list lose their null members too, while a null element of a list stays.
    """
    if isinstance(patch, list):
        return [merge(None, item) for item in patch]
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def apply_json_patch(document: Any, operations: Any) -> Any:
    """Return `document` after the operations, in order; all or nothing.

    As lenient as the real server: a value that is not given is null; replacing a field that is not there adds it.
    Raises PatchError; `move`, `copy` and the path of the whole document are not known here.
    """
    document = copy.deepcopy(document)
    try:
        for operation in operations:
            *way, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
            parent = functools.reduce(lambda value, part: value[_place(value, part)], way, document)
            _change(parent, _place(parent, last), operation["op"], operation.get("value"))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise PatchError(str(error)) from None
    return document


def _place(value: Any, part: str) -> Any:
    """Return the key or the index that a part of a path is; `-` is behind the end of a list."""
    if isinstance(value, dict):
        return part
    if not isinstance(value, list) or not re.fullmatch(r"0|[1-9]\d*|-", part):
        raise TypeError(f"there is no value at {part!r}")
    return len(value) if part == "-" else int(part)


def _change(parent: Any, place: Any, verb: str, value: Any) -> None:
    match verb:
        case "add" if isinstance(parent, list):
            if place > len(parent):
                raise IndexError(f"the list has no index {place}")
            parent.insert(place, value)
        case "add" | "replace":
            parent[place] = value
        case "remove":
            del parent[place]
        case "test":
            if not same(parent.get(place) if isinstance(parent, dict) else parent[place], value):
                raise ValueError(f"testing value {place} failed")
        case _:
            raise ValueError(f"unexpected kind: {verb}")


def same(left: Any, right: Any) -> bool:
    """Return whether two JSON values are the same: true is not 1, and 1.0 is not 1, which Python alone would say."""
    return left is right or (bool(left == right) and not _mixed(left, right))


def _mixed(left: Any, right: Any) -> bool:
    if left is right:
        return False
    if isinstance(left, dict):
        return any(_mixed(part, right[key]) for key, part in left.items())
    if isinstance(left, list):
        return any(_mixed(before, after) for before, after in zip(left, right, strict=True))
    return type(left) is not type(right)


def whole(value: Any) -> Any:
    """Return a JSON value with 2.0 written as 2, as the real server writes it."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, dict):
        parts = {key: whole(part) for key, part in value.items()}
        return parts if any(parts[key] is not part for key, part in value.items()) else value
    if isinstance(value, list):
        items = [whole(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_KEYS = {
    "finalizers": "", "podCIDRs": "", "conditions": "type", "addresses": "type", "ownerReferences": "uid",
    "topologySpreadConstraints": "topologyKey", "hostAliases": "ip", "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    **dict.fromkeys(("containers", "initContainers", "volumes", "env", "imagePullSecrets", "secrets"), "name"),
}  # fmt: skip
"""The key of the entries, empty for a set. Those of ports go by the entries (`_key`)."""


def strategic_merge(original: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Return an object with a patch applied. Raises PatchError."""
    if patch.get(DIRECTIVE) == "replace":
        return {key: value for key, value in patch.items() if key != DIRECTIVE}
    if patch.get(DIRECTIVE) == "delete":
        return {}
    if DIRECTIVE in patch:
        raise PatchError(f"unknown patch type: {patch[DIRECTIVE]} in map: {patch}")
    result = _retained(original, patch)
    for key, value in patch.items():
        if _is_directive(key):
            continue
        present = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(present, dict):
            result[key] = strategic_merge(present, value)
        elif isinstance(value, list) and isinstance(present, list) and (by := _key(key, value)) is not None:
            result[key] = _merge_lists(present, value, by)
        else:
            result[key] = _cleaned(value)
    return _ordered(result, patch)


def _retained(original: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    kept = patch.get(_RETAIN)
    result = {key: value for key, value in original.items() if kept is None or key in kept}
    for key, values in patch.items():
        name = key.removeprefix(_DELETE_FROM)
        if name != key and isinstance(result.get(name), list):
            result[name] = [item for item in result[name] if item not in values]
    return result


def _key(field: str, entries: list[Any]) -> str | None:
    """Return by what the entries of a list are found again, empty for plain values; None: the list is replaced."""
    if field == "ports":
        return "containerPort" if any("containerPort" in entry for entry in entries) else "port"
    return _KEYS.get(field)


def _is_directive(key: str) -> bool:
    return key in (DIRECTIVE, _RETAIN) or key.startswith((_DELETE_FROM, _ORDER))


def _merge_lists(original: list[Any], patch: list[Any], key: str) -> list[Any]:
    if not key:
        return [*(item for item in dict.fromkeys(patch) if item not in original), *original]
    for entry in patch:
        if entry.get(DIRECTIVE) not in (None, "replace", "delete"):
            raise PatchError(f"unknown patch type: {entry[DIRECTIVE]} in map: {entry}")
        if key not in entry and entry.get(DIRECTIVE) != "replace":
            raise PatchError(f"map: {entry} does not contain declared merge key: {key}")
    plain = [entry for entry in patch if DIRECTIVE not in entry]
    if any(entry.get(DIRECTIVE) == "replace" for entry in patch):
        return plain
    gone = [entry[key] for entry in patch if entry.get(DIRECTIVE) == "delete"]
    merged = [entry for entry in original if _mark(entry, key) not in gone]
    fresh = []
    for entry in plain:
        marks = [_mark(old, key) for old in merged]
        if entry[key] in marks:
            position = marks.index(entry[key])
            merged[position] = strategic_merge(merged[position], entry)
        else:
            fresh.append(_cleaned(entry))
    return [*fresh, *merged]


def _mark(item: Any, key: str) -> Any:
    return item.get(key) if key and isinstance(item, dict) else item


def _ordered(obj: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its lists in the order that the patch wants, and what it does not name behind that."""
    for name in (key.removeprefix(_ORDER) for key in patch if key.startswith(_ORDER)):
        if not isinstance(obj.get(name), list):
            continue
        wanted = patch[_ORDER + name]
        key = _key(name, wanted) or ""
        order = [_mark(item, key) for item in wanted]
        places = [order.index(_mark(item, key)) if _mark(item, key) in order else len(order) for item in obj[name]]
        obj = {**obj, name: [obj[name][at] for at in sorted(range(len(places)), key=places.__getitem__)]}
    return obj


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
