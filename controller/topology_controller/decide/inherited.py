"""A transition that the native controller has begun and will not end: it is followed from here.

It had changed the topology, and its feature gate went off before it said that all was complete. No other operator
follows what the change has set off. So there is a record in phase Converging with the time of its change, whose attempt
says who made it, and from there on it is like any other: measured, overdue after its deadline, with upgrades blocked,
completed and counted. Topology is not written for it, and no preflight check was asked.

What proves it are its conditions and the topology, together. Both stay when all is over, too: what has reached this
topology since is not followed again. `phases` asks here before it looks at the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.types import NATIVE_ATTEMPT, TopologyTransition, whole_seconds
from topology_api.vocabulary import Phase

from ..observe import facts
from . import baseline, convergence, native_controller, records
from . import context as contexts

if TYPE_CHECKING:
    from datetime import datetime

    from ..definitions import model
    from .decision import Decision


def definitions(context: contexts.Context) -> list[model.Definition]:
    """By what its transition could be followed here; nothing where there is none to follow."""
    here, (source, target) = records.pair(context.infrastructure), native_controller.ROUTE
    if not native_controller.abandoned(context.known, here) or _completed_since(context):
        return []
    platform = context.infrastructure.platform
    leading = context.transitions.starting_at(source)
    return [
        definition for definition in leading if definition.target.pair == target and platform in definition.platforms
    ]


def follow(context: contexts.Context, definition: model.Definition) -> Decision:
    """Converging, as if it had been recorded at the change; the baseline waits until it can be read."""
    changed = whole_seconds(min(_changed(context) or context.now, context.now))
    record = TopologyTransition(
        phase=Phase.CONVERGING,
        name=definition.name,
        source=native_controller.ROUTE[0],
        target=native_controller.ROUTE[1],
        # The same for every leader, so that events and acceptances belong to one transition.
        attempt=f"{NATIVE_ATTEMPT}{changed:%Y%m%dT%H%M%SZ}",
        phase_transition_time=changed,
        admitted_time=changed,
        last_transition=contexts.last(context),
        baseline=baseline.afterwards(context.known, definition, context.transitions.matrix, changed),
    )
    return convergence.converging(context, record)


def _changed(context: contexts.Context) -> datetime | None:
    """When it changed the topology: right after it had said so. None where that is not known."""
    native = context.known.native_controller
    return None if isinstance(native, facts.Unobserved) else native.moving_since


def _completed_since(context: contexts.Context) -> bool:
    """Has a transition of ours been completed here after that change? Then its conditions are left over from before."""
    changed, latest = _changed(context), context.leader.latest
    remembered = None if latest is None else contexts.completed(latest) or latest.last_transition
    return any(
        last.target == records.pair(context.infrastructure)
        and (changed is None or last.completed_time is None or last.completed_time >= changed)
        for last in (contexts.last(context), remembered)
        if last is not None
    )
