"""Times as the API writes them: RFC 3339 with microseconds, in UTC whatever the time zone of this machine is.

`lease` and `events` write them. Nothing here reads one: what another machine's clock says decides nothing
in this package.
"""

from __future__ import annotations

from datetime import UTC, datetime


def utcnow() -> datetime:
    """Return the present, aware of being UTC."""
    return datetime.now(UTC)


def micro_time(moment: datetime) -> str:
    """Format as MicroTime: `2026-11-20T18:26:03.000120Z`.

    Raises ValueError for a time without a zone.
    """
    if moment.tzinfo is None:
        raise ValueError(f"{moment} does not say its time zone")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
