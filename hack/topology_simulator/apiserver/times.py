"""Times as the API writes and prints them: RFC 3339 in UTC, and the short ages of a table (`5m`, `3d4h`)."""

from __future__ import annotations

import datetime as dt
import re

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def now() -> str:
    """Return the present second as metadata has it: `2026-11-20T12:00:00Z`."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_WRITTEN = re.compile(r"(?<=\")(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?=(?:\.\d+)?Z\")")
_MICROS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")


def seconds(text: str) -> str:
    """Return a time as most fields write it: whole seconds, in UTC. Raises ValueError."""
    return dt.datetime.fromisoformat(text).astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micros(text: str) -> str:
    """Return a time with exactly six decimals, in UTC, as leases and events have it. Raises ValueError."""
    if _MICROS.fullmatch(text) is None:
        raise ValueError(f'parsing time "{text}": not of the form 2006-01-02T15:04:05.000000Z')
    return dt.datetime.fromisoformat(text).astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moved(text: str, seconds: int) -> str:
    """Return a text in which every time of the API is so much later; each keeps its form."""
    by = dt.timedelta(seconds=seconds)
    return _WRITTEN.sub(lambda match: f"{dt.datetime.fromisoformat(match[1]) + by:%Y-%m-%dT%H:%M:%S}", text)


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
