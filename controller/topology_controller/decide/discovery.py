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

    from ..checks.result import CheckResult
    from ..definitions import load, model


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
                blockers=_blockers(results),
                evaluated_time=whole_seconds(now),
            )
        )
    return tuple(found)


def judged(
    items: Iterable[AvailableTransition],
    definition: model.Definition,
    results: Iterable[CheckResult],
    now: datetime,
    *,
    ready: bool,
) -> tuple[AvailableTransition, ...]:
    """What could be asked for, with the verdict of the transition that is under way as its request has it now."""
    results = tuple(results)
    verdict = {
        "available": ready,
        "blockers": _blockers(results),
        "evaluated_time": whole_seconds(now),
    }
    return tuple(item.model_copy(update=verdict) if item.name == definition.name else item for item in items)


def _blockers(results: Iterable[CheckResult]) -> tuple[Blocker, ...]:
    return tuple(
        Blocker(name=result.name, status=result.status, message=fit(result.message))
        for result in results
        if not result.met
    )


def merged(
    before: Iterable[AvailableTransition], now: Iterable[AvailableTransition] | None
) -> tuple[AvailableTransition, ...]:
    """The newer answer where a verdict differs; else the older one, with the time of the newer.

    A verdict is whether a transition is available, and the names and answers of the checks that block it, so that the
    record is not rewritten because a message changed.
    """
    known = {item.name: item for item in before}
    if now is None:
        return tuple(known.values())
    return tuple(
        known[item.name].model_copy(
            update={"evaluated_time": max(known[item.name].evaluated_time, item.evaluated_time)}
        )
        if item.name in known and _verdict(known[item.name]) == _verdict(item)
        else item
        for item in now
    )


def _verdict(item: AvailableTransition) -> tuple[object, ...]:
    return item.target, item.available, tuple((blocker.name, blocker.status) for blocker in item.blockers)
