"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902) on plain JSON values, and when two values are the same.

No patch changes its input: what it does not touch is shared with the result, which keeps a log of many versions of a
large object small and comparisons fast. Strategic merge patches need to know the types: `strategic`.
"""

from __future__ import annotations

from typing import Any


class PatchError(Exception):
    """A JSON patch that does not fit the document."""


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
    Raises PatchError; `move` and `copy` are not known here.
    """
    if not isinstance(operations, list) or not all(isinstance(operation, dict) for operation in operations):
        raise PatchError("a JSON patch is a list of operations")
    for operation in operations:
        document = _apply(document, operation)
    return document


def _apply(document: Any, operation: dict[str, Any]) -> Any:
    verb, path = operation.get("op"), _pointer(operation.get("path"))
    match verb:
        case "add":
            return _write(document, path, operation.get("value"), insert=True)
        case "replace":
            read(document, path)
            return _write(document, path, operation.get("value"), insert=False)
        case "remove":
            return _remove(document, path)
        case "test":
            if not same(read(document, path), operation.get("value")):
                raise PatchError(f"testing value {operation['path']} failed")
            return document
    raise PatchError(f"unexpected kind: {verb}")


def _pointer(text: Any) -> list[str]:
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise PatchError(f"not a JSON pointer: {text!r}")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _index(items: list[Any], part: str, *, end: bool) -> int:
    if part == "-" and end:
        return len(items)
    if not part.isdecimal() or (len(part) > 1 and part[0] == "0"):
        raise PatchError(f"not an index of a list: {part!r}")
    index = int(part)
    if index > len(items) - (0 if end else 1):
        raise PatchError(f"the list has no index {index}")
    return index


def read(document: Any, path: list[str]) -> Any:
    """Return the value at a parsed pointer, None for a field that is not there. Raises PatchError."""
    for position, part in enumerate(path):
        if isinstance(document, dict):
            if part not in document and position < len(path) - 1:
                raise PatchError(f"there is no value at {part!r}")
            document = document.get(part)
        elif isinstance(document, list):
            document = document[_index(document, part, end=False)]
        else:
            raise PatchError(f"there is no value at {part!r}")
    return document


def _write(document: Any, path: list[str], value: Any, *, insert: bool) -> Any:
    if not path:
        return value
    part, rest = path[0], path[1:]
    if isinstance(document, dict):
        if rest and part not in document:
            raise PatchError(f"there is no value at {part!r}")
        new = _write(document[part], rest, value, insert=insert) if rest else value
        return {**document, part: new}
    if isinstance(document, list):
        index = _index(document, part, end=insert and not rest)
        if rest:
            changed = _write(document[index], rest, value, insert=insert)
            return [*document[:index], changed, *document[index + 1 :]]
        return [*document[:index], value, *document[index if insert else index + 1 :]]
    raise PatchError(f"there is no value at {part!r}")


def _remove(document: Any, path: list[str]) -> Any:
    if not path:
        raise PatchError("the whole document cannot be removed")
    part, rest = path[0], path[1:]
    if isinstance(document, dict):
        if part not in document:
            raise PatchError(f"there is no value at {part!r}")
        if rest:
            return {**document, part: _remove(document[part], rest)}
        return {key: value for key, value in document.items() if key != part}
    if isinstance(document, list):
        index = _index(document, part, end=False)
        if rest:
            return [*document[:index], _remove(document[index], rest), *document[index + 1 :]]
        return [*document[:index], *document[index + 1 :]]
    raise PatchError(f"there is no value at {part!r}")


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
