"""What somebody declares not to come: the way out of a transition that would be stuck for ever.

Past the deadline a person may accept that the check of a workload stays as it is: a router that is pinned on purpose, a
registry without shared storage. What they ask for stands in a ConfigMap (`facts.Acceptances`); what is taken up of it
stands in the record, is final for the attempt, and is shown from then on. The check goes on being asked and keeps its
true answer; only nobody waits for it any more. Never nodes, etcd, static pods, machine configs or
ClusterOperatorsStable: without those nobody knows whether the control plane is well. An entry for another attempt is
left alone, so what was accepted once is never accepted again by itself.

The deadline goes by the wall clock of the record (`clock`); what lets a transition be completed is a person's word and
the settle time of all other checks, so a clock that was put forward completes nothing by itself. `convergence` asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.types import ACCEPTED_MESSAGE_LIMIT, Accepted, fit, whole_seconds
from topology_api.vocabulary import ACCEPTED_CHECKS, CheckName

from ..checks.result import listed
from ..definitions.registry import ACCEPTABLE_CHECKS
from ..observe import facts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from topology_api.types import TopologyTransition

    from ..checks.result import CheckResult

_LONGEST_NAME = 64


def names(record: TopologyTransition) -> frozenset[CheckName]:
    """The checks that this attempt goes without. What is not acceptable does not count, whoever wrote it there."""
    return frozenset(CheckName(one.name) for one in record.accepted if one.name in ACCEPTABLE_CHECKS)


def told(record: TopologyTransition) -> str:
    """What is added to a sentence about the transition; empty when nothing was accepted."""
    accepted = [one.name for one in record.accepted if one.name in ACCEPTABLE_CHECKS]
    return f", accepted without: {listed(accepted, most=len(ACCEPTABLE_CHECKS))}" if accepted else ""


def taken(
    record: TopologyTransition,
    found: facts.Fact[facts.Acceptances],
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
    for one in found.items if isinstance(found, facts.Acceptances) else ():
        if any(one.check == before.name and not one.wrong and one.attempt == record.attempt for before in accepted):
            continue
        why = _ignored(one, record, answers, late=late)
        if why:
            ignored.append(f"{one.check[:_LONGEST_NAME]} in ConfigMap {ACCEPTED_CHECKS} is ignored: {why}")
            continue
        accepted.append(
            Accepted(
                name=one.check,
                message=fit(answers[CheckName(one.check)].message, ACCEPTED_MESSAGE_LIMIT),
                reason=one.reason,
                accepted_time=whole_seconds(now),
            )
        )
    return tuple(accepted), tuple(ignored)


def _ignored(
    one: facts.Acceptance, record: TopologyTransition, answers: dict[CheckName, CheckResult], *, late: bool
) -> str:
    if one.check not in ACCEPTABLE_CHECKS:
        return f"only {listed(ACCEPTABLE_CHECKS, most=len(ACCEPTABLE_CHECKS))} can be accepted"
    if one.wrong:
        return one.wrong
    if one.attempt != record.attempt:
        return f"it is for attempt {one.attempt}, and {record.attempt} is under way"
    answer = answers.get(CheckName(one.check))
    if answer is None:
        return f"transition {record.name} does not wait for it"
    if answer.met:
        return "it is Met"
    return "" if late else "the deadline has not passed"
