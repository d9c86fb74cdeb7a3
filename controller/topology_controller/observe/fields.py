"""Typed access into raw objects, which may hold anything: nulls, other types, nothing.

An object in a cluster is not always what its schema promises (a CRD may be replaced, a writer may send null). Each
function here returns a value of the type it names or raises `Malformed` with the path that is wrong, and `parse`
stays readable. Absent and null mean the same, as in the Kubernetes API.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?\Z")
_LONGEST_NAME = 253


class Malformed(ValueError):  # noqa: N818 - what the field is; callers see the module's name before it
    """A field is not of the type that its API promises. `path` is dotted; `found` names the type that was there."""

    def __init__(self, path: str, wanted: str, found: object) -> None:
        super().__init__(path, wanted, type(found).__name__)
        self.path = path
        self.wanted = wanted
        self.found = type(found).__name__

    def __str__(self) -> str:
        return f"{self.path} should be {self.wanted}, found {self.found}"


def at(raw: object, path: str) -> Any:
    """The value at a dotted path, None when any part of the way is absent or null."""
    value = raw
    walked: list[str] = []
    for part in path.split("."):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise Malformed(".".join(walked) or "the object", "an object", value)
        value = value.get(part)
        walked.append(part)
    return value


def text(raw: object, path: str) -> str | None:
    """A string, or None when absent; an empty string counts as absent."""
    value = at(raw, path)
    if value is not None and not isinstance(value, str):
        raise Malformed(path, "a string", value)
    return value or None


def whole(raw: object, path: str, default: int = 0) -> int:
    """An integer, or the default when absent."""
    value = at(raw, path)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        raise Malformed(path, "an integer", value)
    return value


def optional_whole(raw: object, path: str) -> int | None:
    """An integer, or None when absent."""
    return None if at(raw, path) is None else whole(raw, path)


def flag(raw: object, path: str) -> bool:
    """A boolean; absent is False, as in the Kubernetes API."""
    value = at(raw, path)
    if value is not None and not isinstance(value, bool):
        raise Malformed(path, "a boolean", value)
    return bool(value)


def mapping(raw: object, path: str) -> dict[str, Any]:
    """An object; absent is empty."""
    value = at(raw, path)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Malformed(path, "an object", value)
    return value


def items(raw: object, path: str) -> list[dict[str, Any]]:
    """A list of objects; absent is empty."""
    value = at(raw, path)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(path, "a list", value)
    for item in value:
        if not isinstance(item, dict):
            raise Malformed(f"{path}[]", "an object", item)
    return value


def words(raw: object, path: str) -> tuple[str, ...]:
    """A list of strings; absent is empty."""
    value = at(raw, path)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Malformed(path, "a list", value)
    for item in value:
        if not isinstance(item, str):
            raise Malformed(f"{path}[]", "a string", item)
    return tuple(value)


def name(raw: object) -> str:
    """`metadata.name` as the API server lets it be (a DNS subdomain), so that it can stand in a command."""
    value = text(raw, "metadata.name")
    if value is None or len(value) > _LONGEST_NAME or not _NAME.match(value):
        raise Malformed("metadata.name", "a DNS subdomain", value)
    return value


def moment(raw: object, path: str) -> datetime | None:
    """An RFC 3339 time in UTC, or None when absent."""
    value = text(raw, path)
    if value is None:
        return None
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        raise Malformed(path, "an RFC 3339 time", value) from None
    if parsed.tzinfo is None:
        raise Malformed(path, "a time with a zone", value)
    if not reckonable(parsed):
        raise Malformed(path, "a time within reach of a calendar", value)
    return parsed.astimezone(UTC)


def reckonable(time: datetime) -> bool:
    """Can it be compared with now, and bounds added to it? It has a zone, and is no end of the calendar."""
    return time.tzinfo is not None and 1970 <= time.year < 9000
