"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902) on plain JSON values, and when two values are the same.

No patch changes its input: what a merge patch does not touch is shared with the result, which keeps a log of many
versions of a large object small and comparisons fast. Strategic merge patches need to know the types: `strategic`.
"""

from __future__ import annotations

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
