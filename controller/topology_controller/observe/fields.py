"""Typed access into raw objects, which may hold anything, and what stands for a fact that could not be read.

Absent and null mean the same, as in the Kubernetes API. Pydantic does not read these: it takes what stands below a
string or a list for absent (AliasPath), and with a check against that it is neither shorter nor faster.
"""

from __future__ import annotations

import enum
import functools
import ipaddress
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?\Z")
_CONDITION = ("type", "status", "reason", "message")
_LONGEST_ADDRESS = 64


class Malformed(ValueError):  # noqa: N818 - what the field is; callers see the module's name before it
    """A field is not of the type that its API promises."""

    def __init__(self, path: str, wanted: str, value: object) -> None:
        super().__init__(f"{path} should be {wanted}, found {type(value).__name__}")


class Kind(enum.Enum):
    """Why a fact could not be read."""

    UNANSWERED = enum.auto()  # no answer that says it: the server could not be reached, or what it says is not enough
    MISSING = enum.auto()
    FORBIDDEN = enum.auto()
    MALFORMED = enum.auto()  # it was read, and is not what its API promises: waiting does not help
    AWAITED = enum.auto()


@dataclass(frozen=True, slots=True)
class Unobserved:
    """A fact that could not be read: which object, and why, in words without time or counter; code goes by `kind`."""

    what: str
    why: str
    kind: Kind = Kind.UNANSWERED

    @property
    def missing(self) -> bool:
        """Does it not exist, by an answer of the server?"""
        return self.kind is Kind.MISSING

    @property
    def awaited(self) -> bool:
        """Is its first read still under way?"""
        return self.kind is Kind.AWAITED

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


NOT_READ = Unobserved("it", "not read yet", kind=Kind.AWAITED)


def malformed(what: str, why: object) -> Unobserved:
    """The fact of an object that is not what its API promises."""
    return Unobserved(what, f"malformed: {getattr(why, 'message', why)}", kind=Kind.MALFORMED)


class Condition(NamedTuple):
    """A condition as another operator reports it."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class Conditions(tuple[Condition, ...]):
    """The conditions of one object."""

    __slots__ = ()

    def find(self, type_: str) -> Condition | None:
        """The condition of that type, if it is there."""
        return next((item for item in self if item.type == type_), None)

    def status(self, type_: str) -> str:
        """True, False, Unknown, whatever else was written, or "absent"."""
        condition = self.find(type_)
        return condition.status if condition else "absent"


@functools.cache
def _parts(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def at(raw: object, path: str, kind: type | None = None, wanted: str = "") -> Any:
    """The value at a dotted path, None when any part of the way is absent or null. A boolean is no number."""
    value = raw
    for depth, part in enumerate(_parts(path)):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise Malformed(".".join(_parts(path)[:depth]) or "the object", "an object", value)
        value = value.get(part)
    if kind is None or value is None:
        return value
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Malformed(path, wanted, value)
    return value


def text(raw: object, path: str) -> str | None:
    """A string, or None when absent; an empty string counts as absent."""
    return at(raw, path, str, "a string") or None


def optional_whole(raw: object, path: str) -> int | None:
    """An integer, or None when absent."""
    value: int | None = at(raw, path, int, "an integer")
    return value


def whole(raw: object, path: str, default: int = 0) -> int:
    """An integer, or the default when absent."""
    value = optional_whole(raw, path)
    return default if value is None else value


def flag(raw: object, path: str) -> bool:
    """A boolean; absent is False, as in the Kubernetes API."""
    return bool(at(raw, path, bool, "a boolean"))


def mapping(raw: object, path: str) -> dict[str, Any]:
    """An object; absent is empty."""
    return at(raw, path, dict, "an object") or {}


def items(raw: object, path: str, kind: type = dict) -> list[Any]:
    """A list of objects, or of strings if `kind` is str; absent is empty."""
    values = at(raw, path, list, "a list") or []
    for value in values:
        if not isinstance(value, kind):
            raise Malformed(f"{path}[]", "an object" if kind is dict else "a string", value)
    return values


def conditions(raw: object) -> list[Condition]:
    """The entries of status.conditions; an absent list is empty."""
    entries = []
    for item in items(raw, "status.conditions"):
        values = list(map(item.get, _CONDITION))
        for name, value in zip(_CONDITION, values, strict=True):
            if value is not None and not isinstance(value, str):
                raise Malformed(name, "a string", value)
        type_, status, reason, message = values
        entries.append(Condition(type_ or "", status or "Unknown", reason or "", message or ""))
    return entries


def condition(raw: object, type_: str) -> dict[str, Any]:
    """The condition of that type as it stands there; empty when there is none."""
    return next((item for item in items(raw, "status.conditions") if item.get("type") == type_), {})


def observed(raw: object) -> bool:
    """Is the status about this generation?"""
    return optional_whole(raw, "status.observedGeneration") == whole(raw, "metadata.generation")


def name(raw: object) -> str:
    """`metadata.name` as the API server lets it be (a DNS subdomain), so that it can stand in a command."""
    value = text(raw, "metadata.name")
    if value is None or len(value) > 253 or not _NAME.match(value):
        raise Malformed("metadata.name", "a DNS subdomain", value)
    return value


def address(value: str) -> str | None:
    """An IP address in its shortest form, None when it is none, or holds on one machine only (`fe80::1%eth0`)."""
    return _address(value) if len(value) <= _LONGEST_ADDRESS and "%" not in value else None


def internal_addresses(raw: object) -> tuple[str, ...]:
    """`status.addresses` of type InternalIP in their shortest form, sorted, each once."""
    entries = [item for item in items(raw, "status.addresses") if item.get("type") == "InternalIP"]
    addresses = {address(text(item, "address") or "") for item in entries}
    return tuple(sorted(filter(None, addresses)))


@functools.lru_cache(maxsize=256)
def _address(value: str) -> str | None:
    try:
        return str(ipaddress.ip_address(value.strip().removeprefix("[").removesuffix("]")))
    except ValueError:
        return None


def time(value: object, path: str = "") -> datetime | None:
    """An RFC 3339 time in UTC, or None when it is null or empty. `path` is for the message."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise Malformed(path, "a string", value)
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        raise Malformed(path, "an RFC 3339 time", value) from None
    # It is compared with now, and bounds are added to it.
    if parsed.tzinfo is None or not 1970 <= parsed.year < 9000 or not 1970 <= parsed.astimezone(UTC).year < 9000:
        wanted = "a time with a zone" if parsed.tzinfo is None else "a time within reach of a calendar"
        raise Malformed(path, wanted, value)
    return parsed.astimezone(UTC)


def time_or_none(value: object) -> datetime | None:
    """A time that proves nothing: what is not one makes no trouble either."""
    try:
        return time(value)
    except Malformed:
        return None
