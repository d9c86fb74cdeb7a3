"""Times as the API writes and prints them: RFC 3339 in UTC, and the short ages of a table (`5m`, `3d4h`)."""

from __future__ import annotations

import datetime as dt
import json
import re

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def now() -> str:
    """Return the present second as metadata has it: `2026-11-20T12:00:00Z`."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_SECONDS = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)?(.*)")
_WRITTEN = re.compile(r"(?<=\")(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?=(?:\.\d+)?Z\")")
_NUMBER = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
_NO_NUMBER = re.compile(r"[^0-9.]+")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_LAYOUT, _MICRO_LAYOUT = "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05.000000Z07:00"


def seconds(text: str) -> str:
    """Return a time as most fields write it: whole seconds, in UTC. Raises ValueError in the words of Go."""
    return _utc(text, _LAYOUT).strftime("%Y-%m-%dT%H:%M:%SZ")


def micros(text: str) -> str:
    """Return a time with exactly six decimals, in UTC, as leases and events have it. Raises ValueError."""
    match = _SECONDS.fullmatch(text)
    if match is not None:
        rest = text[len(match[1]) :]
        if re.match(r"\.\d{6}", rest) is None:
            raise ValueError(_unparsed(text, _MICRO_LAYOUT, rest, ".000000"))
        if re.fullmatch(r"(Z|[+-]\d\d:\d\d)", rest[7:]) is None:
            raise ValueError(_unparsed(text, _MICRO_LAYOUT, rest[7:], "Z07:00"))
    return _utc(text, _MICRO_LAYOUT).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moved(text: str, seconds: int) -> str:
    """Return a text in which every time of the API is so much later; each keeps its form."""
    by = dt.timedelta(seconds=seconds)
    return _WRITTEN.sub(lambda match: f"{dt.datetime.fromisoformat(match[1]) + by:%Y-%m-%dT%H:%M:%S}", text)


def _unparsed(text: str, layout: str, rest: str, wanted: str) -> str:
    return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{wanted}"'


def _utc(text: str, layout: str) -> dt.datetime:
    match = _SECONDS.fullmatch(text)
    if match is None:
        raise ValueError(_unparsed(text, layout, text, "2006"))
    if not match[3] or match[4]:
        raise ValueError(_unparsed(text, layout, match[4] or "", "Z07:00"))
    try:
        return dt.datetime.fromisoformat(text).astimezone(dt.UTC)
    except ValueError:
        raise ValueError(f'parsing time "{text}": out of range') from None


def age(text: str | None) -> str:
    """Return how long ago a timestamp was, as `kubectl get` prints it; `<unknown>` when there is none."""
    if not text:
        return "<unknown>"
    try:
        then = dt.datetime.fromisoformat(text)
    except ValueError:
        return "<invalid>"
    if then.tzinfo is None:
        return "<invalid>"
    return duration(int((dt.datetime.now(dt.UTC) - then).total_seconds()))


def parsed_duration(text: str) -> float:
    """Read a duration of Go (time.ParseDuration), such as 1.5s or 1h30m, as seconds. Raises ValueError in its words."""
    quoted = json.dumps(text, ensure_ascii=False)
    rest = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    if rest == "0":
        return 0.0
    if not rest:
        raise ValueError(f"time: invalid duration {quoted}")
    seconds = 0.0
    while rest:
        number = _NUMBER.match(rest)
        if number is None:
            raise ValueError(f"time: invalid duration {quoted}")
        unit = _NO_NUMBER.match(rest, number.end())
        if unit is None:
            raise ValueError(f"time: missing unit in duration {quoted}")
        if unit[0] not in _UNITS:
            raise ValueError(f"time: unknown unit {json.dumps(unit[0], ensure_ascii=False)} in duration {quoted}")
        seconds += float(number[0]) * _UNITS[unit[0]]
        rest = rest[unit.end() :]
    return -seconds if text.startswith("-") else seconds


def duration(seconds: int) -> str:
    """Return a duration with at most two units, coarser as it grows (the rule of the field's printers)."""
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    years = seconds // (365 * _DAY)
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    if seconds < 10 * _MINUTE:
        return _pair(seconds // _MINUTE, "m", seconds % _MINUTE, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _pair(seconds // _HOUR, "h", seconds // _MINUTE % 60, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _pair(seconds // _DAY, "d", seconds // _HOUR % 24, "h")
    if years < 2:
        return f"{seconds // _DAY}d"
    if years < 8:
        return _pair(years, "y", seconds // _DAY % 365, "d")
    return f"{years}y"


def _pair(major: int, major_unit: str, minor: int, minor_unit: str) -> str:
    return f"{major}{major_unit}{minor}{minor_unit}" if minor else f"{major}{major_unit}"
