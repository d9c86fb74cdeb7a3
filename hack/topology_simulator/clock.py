"""Times as the API writes them: RFC 3339 in UTC, to the second for conditions, to the microsecond for leases."""

from __future__ import annotations

import datetime as dt


def second(ago: float = 0.0) -> str:
    """Return metav1.Time, `ago` seconds before now."""
    moment = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=ago)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def micro() -> str:
    """Return metav1.MicroTime of now."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
