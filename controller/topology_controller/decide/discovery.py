"""What could be asked for now: every definition that leads away from here, with what blocks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.types import AvailableTransition, Blocker, fit, whole_seconds
from topology_api.vocabulary import Stage

from ..checks import catalog
from ..observe import facts
from . import applicability, records

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from ..transitions import load


def available(
    known: facts.Facts,
    transitions: load.Transitions,
    now: datetime,
) -> tuple[AvailableTransition, ...] | None:
    """Answer for every definition that starts at the present pair and platform, None when these cannot be told.

    Facts should be live.
    """
    infrastructure = known.infrastructure
    if isinstance(infrastructure, facts.Unobserved):
        return None
    if applicability.disabled(known, infrastructure):
        return ()
    found = []
    for definition in transitions.starting_at(records.pair(infrastructure)):
        if infrastructure.platform not in definition.platforms:
            continue
        results = catalog.ask(Stage.PREFLIGHT, definition, known, now)
        found.append(
            AvailableTransition(
                name=definition.name,
                target=definition.target.pair,
                available=all(result.met for result in results),
                blockers=tuple(
                    Blocker(name=result.name, message=fit(result.message)) for result in results if not result.met
                ),
                evaluated_time=whole_seconds(now),
            )
        )
    return tuple(found)


def merged(
    before: Iterable[AvailableTransition], now: Iterable[AvailableTransition] | None
) -> tuple[AvailableTransition, ...]:
    """What to write: the newer answer where a verdict differs, the older one where it does not.

    A verdict is whether a transition is available and the names of the checks that block it, so that the record is not
    rewritten because a message changed.
    """
    known = {item.name: item for item in before}
    if now is None:
        return tuple(known.values())
    return tuple(
        known[item.name] if item.name in known and _verdict(known[item.name]) == _verdict(item) else item
        for item in now
    )


def _verdict(item: AvailableTransition) -> tuple[object, ...]:
    return item.target, item.available, tuple(blocker.name for blocker in item.blockers)
