"""What is worth an event when the record changes: one per change of phase, from facts only.

Told after the writes of the decision, never before the flip. The name of the event is made from the attempt and the
phase (`report.events`), so a crash between the write and the telling can repeat the telling without repeating the
event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import EventReason, Phase

from .decision import Happening

if TYPE_CHECKING:
    from topology_api.types import TopologyTransition

_OPEN = frozenset({Phase.UNSUPPORTED, Phase.PENDING, Phase.ADMITTING})


def between(
    before: TopologyTransition | None, after: TopologyTransition, wish: str | None, note: str
) -> tuple[Happening, ...]:
    """Events for the way from one record to the next; `note` is what Progressing says."""
    phase = after.phase
    was = before.phase if before is not None else Phase.IDLE
    if was is phase:
        return ()
    route = f"from {after.source} to {after.target}" if after.source and after.target else ""
    found: list[Happening] = []
    if phase in _OPEN and was not in _OPEN:
        found.append(Happening(EventReason.TRANSITION_REQUESTED, f"Topology {wish} is wanted"))
    if phase is Phase.UNSUPPORTED or (phase is Phase.PENDING and was is not Phase.UNSUPPORTED):
        found.append(Happening(EventReason.TRANSITION_BLOCKED, note, warning=True))
    if phase is Phase.CONVERGING:
        found.append(Happening(EventReason.TRANSITION_ADMITTED, f"Transition {after.name} {route} was admitted"))
        found.append(Happening(EventReason.TOPOLOGY_CHANGED, f"Topology moved {route}"))
    if phase is Phase.COMPLETED:
        found.append(Happening(EventReason.TRANSITION_COMPLETED, f"Transition {after.name} {route} is completed"))
    if phase is Phase.IDLE and was in _OPEN and withdrawn(before, wish):
        found.append(Happening(EventReason.TRANSITION_CANCELLED, "The wish was withdrawn before the topology moved"))
    return tuple(found)


def withdrawn(before: TopologyTransition | None, wish: str | None) -> bool:
    """Was the wish of that record taken back: removed, or set to where the transition would have started?

    Otherwise it still stands, and it is somebody else who has moved the topology there.
    """
    if wish is None or before is None or before.source is None:
        return True
    target = before.target.control_plane if before.target is not None else None
    return wish == before.source.control_plane != target
