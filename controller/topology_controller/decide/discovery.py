"""What could be asked for now: every definition that leads away from here, with what blocks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.types import AvailableTransition, Blocker, fit, whole_seconds
from topology_api.vocabulary import CheckStatus, Stage

from ..checks import catalog
from ..observe import facts
from . import applicability, records

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from ..checks.result import CheckResult
    from ..definitions import load, model


def available(
    known: facts.Facts, transitions: load.Transitions, now: datetime
) -> tuple[AvailableTransition, ...] | None:
    """Answer for every definition that starts at the present pair and platform, None when these are not known.

    Facts should be live.
    """
    infrastructure = known.infrastructure
    if isinstance(infrastructure, facts.Unobserved):
        return None
    if applicability.disabled(known, infrastructure):
        return ()
    items = []
    for definition in transitions.starting_at(records.pair(infrastructure)):
        if infrastructure.platform in definition.platforms:
            results = catalog.ask(Stage.PREFLIGHT, definition, known, now)
            met = {result.status for result in results} == {CheckStatus.MET}
            items.append(_judged(definition, results, now, available=met))
    return tuple(items)


def _judged(
    definition: model.Definition, results: Iterable[CheckResult], now: datetime, *, available: bool
) -> AvailableTransition:
    blockers = tuple(
        Blocker(name=result.name, status=result.status, message=fit(result.message))
        for result in results
        if result.status is not CheckStatus.MET
    )
    return AvailableTransition(
        name=definition.name,
        target=definition.target.pair,
        available=available,
        blockers=blockers,
        evaluated_time=whole_seconds(now),
    )


def judged(
    items: Iterable[AvailableTransition],
    definition: model.Definition,
    results: Iterable[CheckResult],
    now: datetime,
    *,
    ready: bool,
) -> tuple[AvailableTransition, ...]:
    """What could be asked for, with the verdict of the transition that is under way as its request has it now."""
    own = _judged(definition, results, now, available=ready)
    return tuple(own if item.name == definition.name else item for item in items)


def merged(
    before: Iterable[AvailableTransition], now: Iterable[AvailableTransition] | None
) -> tuple[AvailableTransition, ...]:
    """What was found last: each answer with the time at which it was given, the newer of the two that are known."""
    known = {item.name: item for item in before}
    if now is None:
        return tuple(known.values())
    return tuple(
        known[item.name] if item.name in known and known[item.name].evaluated_time > item.evaluated_time else item
        for item in now
    )


def verdict(item: AvailableTransition) -> tuple[object, ...]:
    """What the record is written for: a message or a time that differs is shown, and is no reason to write."""
    return item.name, item.target, item.available, tuple((blocker.name, blocker.status) for blocker in item.blockers)
