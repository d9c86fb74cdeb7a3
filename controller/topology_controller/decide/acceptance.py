"""What an administrator accepts not to wait for: the way out of a transition that would be stuck for ever.

Past the deadline the check of a workload may be accepted as it is: a router that is pinned on purpose, a registry
without shared storage. What is asked for stands in a ConfigMap (`facts.Acceptances`); what is accepted stands in the
record, is final for the attempt, and is shown from then on. The check goes on being asked and keeps its true answer;
the transition no longer waits for it. Which checks can be accepted says `registry`. An entry for another attempt is
left alone, so what was accepted once is never accepted again by itself.

The deadline goes by the wall clock of the record; what lets a transition be completed is the word of an administrator
and the settle time of all other checks, so a clock that was put forward completes nothing by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.types import ACCEPTED_MESSAGE_LIMIT, Accepted, fit, whole_seconds
from topology_api.vocabulary import ACCEPTED_CHECKS, CheckName

from ..checks.result import first_reason, listed
from ..definitions.registry import ACCEPTABLE_CHECKS
from ..observe import facts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from topology_api.types import TopologyTransition

    from ..checks.result import CheckResult

_LONGEST_NAME = 64


def names(record: TopologyTransition) -> frozenset[CheckName]:
    """The checks that this attempt goes without. What is not acceptable does not count, whatever wrote it there."""
    return frozenset(CheckName(entry.name) for entry in record.accepted if entry.name in ACCEPTABLE_CHECKS)


def note(record: TopologyTransition) -> str:
    """What is added to a sentence about the transition; empty when nothing was accepted."""
    accepted = missing(record)
    return f", accepted without: {accepted}" if accepted else ""


def missing(record: TopologyTransition) -> str:
    """The checks that this attempt goes without, as they are shown; empty when there are none."""
    accepted = [entry.name for entry in record.accepted if entry.name in ACCEPTABLE_CHECKS]
    return listed(accepted, most=len(ACCEPTABLE_CHECKS))


def taken(
    record: TopologyTransition,
    acceptances: facts.Fact[facts.Acceptances],
    results: Iterable[CheckResult],
    now: datetime,
    *,
    late: bool,
) -> tuple[tuple[Accepted, ...], tuple[str, ...]]:
    """What the record accepts from now on, and why each other entry is ignored.

    `results` are the answers of this moment, `late` says that the deadline has passed. A sentence stays the same while
    its entry does.
    """
    accepted = list(record.accepted)
    ignored: list[str] = []
    answers = {result.name: result for result in results}
    before = {entry.name for entry in record.accepted}
    for entry in acceptances.items if isinstance(acceptances, facts.Acceptances) else ():
        if entry.check in before and not entry.wrong and entry.attempt == record.attempt:
            continue
        if why := _ignored(entry, record, answers, late=late):
            ignored.append(f"{entry.check[:_LONGEST_NAME]} in ConfigMap {ACCEPTED_CHECKS} is ignored: {why}")
            continue
        accepted.append(
            Accepted(
                name=entry.check,
                message=fit(answers[CheckName(entry.check)].message, ACCEPTED_MESSAGE_LIMIT),
                reason=entry.reason,
                accepted_time=whole_seconds(now),
            )
        )
    return tuple(accepted), tuple(ignored)


def _ignored(
    entry: facts.Acceptance, record: TopologyTransition, answers: dict[CheckName, CheckResult], *, late: bool
) -> str | None:
    if entry.check not in ACCEPTABLE_CHECKS:
        return f"only {listed(ACCEPTABLE_CHECKS, most=len(ACCEPTABLE_CHECKS))} can be accepted"
    answer = answers.get(CheckName(entry.check))
    return first_reason(
        (bool(entry.wrong), entry.wrong),
        (entry.attempt != record.attempt, f"it is for attempt {entry.attempt}, and {record.attempt} is under way"),
        (answer is None, f"transition {record.name} does not wait for it"),
        (answer is not None and answer.met, "it is Met"),
        (not late, "the deadline has not passed"),
    )
