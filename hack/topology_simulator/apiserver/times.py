"""Times as the API writes and prints them: RFC 3339 in UTC, and the short ages of a table (`5m`, `3d4h`)."""

from __future__ import annotations

import datetime as dt
import re

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_UNITS = (
    (2 * _MINUTE, "s", 1, "", 1), (10 * _MINUTE, "m", _MINUTE, "s", 1), (3 * _HOUR, "m", _MINUTE, "", 1),
    (8 * _HOUR, "h", _HOUR, "m", _MINUTE), (2 * _DAY, "h", _HOUR, "", 1), (8 * _DAY, "d", _DAY, "h", _HOUR),
    (730 * _DAY, "d", _DAY, "", 1), (2920 * _DAY, "y", 365 * _DAY, "d", _DAY),
)  # fmt: skip
"""Below so many seconds: the unit and its size, and the smaller unit beside it with its size."""


def now() -> str:
    """Return the present second as metadata has it: `2026-11-20T12:00:00Z`."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_WRITTEN = re.compile(r"(?<=\")(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?=(?:\.\d+)?Z\")")


def moved(text: str, seconds: int) -> str:
    """Return a text in which every time of the API is so much later; each keeps its form."""
    by = dt.timedelta(seconds=seconds)
    return _WRITTEN.sub(lambda match: f"{dt.datetime.fromisoformat(match[1]) + by:%Y-%m-%dT%H:%M:%S}", text)


def age(text: str | None) -> str:
    """Return how long ago a timestamp was, as `kubectl get` prints it; `<unknown>` when there is none."""
    if not text:
        return "<unknown>"
    try:
        return duration(max(0, int((dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(text)).total_seconds())))
    except (ValueError, TypeError):
        return "<invalid>"


def duration(seconds: int) -> str:
    """Return a duration with at most two units, coarser as it grows (the rule of the field's printers)."""
    for limit, unit, size, below, part in _UNITS:
        if seconds < limit:
            rest = seconds % size // part if below else 0
            return f"{seconds // size}{unit}" + (f"{rest}{below}" if rest else "")
    return f"{seconds // (365 * _DAY)}y"
