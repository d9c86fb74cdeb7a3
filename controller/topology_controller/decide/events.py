"""The events of a record that changes: one per change of phase, from facts only.

They are sent after the writes of the decision, never before the change. The name of an event is made from the attempt
and the phase (`report.events`), so after a crash between the write and the event it is the same event.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckStatus, EventReason, Phase, Stage

from . import acceptance
from .decision import EventSpec

if TYPE_CHECKING:
    from topology_api.types import TopologyTransition

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
STANDING = timedelta(minutes=5)
"""How long other checks must have been unmet, none of them changing, until that is an event: a flapping node is no
news."""


def between(
    before: TopologyTransition | None, after: TopologyTransition, desired: str | None, note: str, now: datetime
) -> tuple[EventSpec, ...]:
    """Events for the way from one record to the next; `note` is what Progressing says.

    What blocks a request is an event when the request is made, when a check takes its admission back, and whenever it
    has stood for `STANDING`: the same checks have the same event (`report.events.name`), so only others are news.
    """
    phase = after.phase
    was = before.phase if before is not None else Phase.IDLE
    blocked = EventSpec(EventReason.TRANSITION_BLOCKED, note, warning=True)
    if phase is Phase.PENDING and was.asks:
        return (blocked,) if now >= stands_at(after) or (was is Phase.ADMITTING and unmet(after)) else ()
    if was is phase:
        return ()
    route = f"from {after.source} to {after.target}" if after.source and after.target else ""
    specs: list[EventSpec] = []
    if phase.asks and not was.asks:
        specs.append(EventSpec(EventReason.TRANSITION_REQUESTED, _requested(after, desired)))
    if phase in {Phase.UNSUPPORTED, Phase.PENDING}:
        specs.append(blocked)
    if phase is Phase.CONVERGING and after.by_native:
        text = f"Topology changed {route} by the native controller, which is switched off: it is followed from now on"
        specs.append(EventSpec(EventReason.TOPOLOGY_CHANGED, text))
    elif phase is Phase.CONVERGING:
        text = f"Preflight passed; changing topology {route} ({after.name})"
        specs.append(EventSpec(EventReason.TRANSITION_ADMITTED, text))
        specs.append(EventSpec(EventReason.TOPOLOGY_CHANGED, f"Topology changed {route}"))
    if phase is Phase.COMPLETED:
        text = f"Transition {after.name} {route} is completed{acceptance.note(after)}"
        specs.append(EventSpec(EventReason.TRANSITION_COMPLETED, text))
    if phase is Phase.IDLE and was.asks and cancelled(before, desired):
        text = "Request cancelled; the topology was not changed"
        specs.append(EventSpec(EventReason.TRANSITION_CANCELLED, text))
    return tuple(specs)


def _requested(record: TopologyTransition, desired: str | None) -> str:
    current = f" (current: {record.source.control_plane})" if record.source is not None else ""
    return f"{desired} topology requested{current}"


def unmet(record: TopologyTransition) -> list[str]:
    """The preflight checks that block the request of this record, by name."""
    checks = [check for check in record.checks if check.stage is Stage.PREFLIGHT]
    return sorted(check.name for check in checks if check.status is not CheckStatus.MET)


def stands_at(record: TopologyTransition) -> datetime:
    """From when on what blocks the request of this record counts as standing."""
    changed = [check.last_transition_time for check in record.checks if check.stage is Stage.PREFLIGHT]
    if record.phase_transition_time is not None:
        changed.append(record.phase_transition_time)
    return max(changed, default=_LONG_AGO) + STANDING


def cancelled(before: TopologyTransition | None, desired: str | None) -> bool:
    """Was the request of that record taken back: removed, or set to where the transition would have started?

    Otherwise it still stands, and another client has changed the topology.
    """
    if desired is None or before is None or before.source is None:
        return True
    target = before.target.control_plane if before.target is not None else None
    return desired == before.source.control_plane != target
