"""What every phase works with: the context of one decision, and what decisions have in common.

`phases` makes the context; `admission` and `convergence` decide on it. Everything here is small and pure: how a record
is turned into steps, when time alone could change a decision, and what has been unreadable for too long.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from topology_api.types import LastTransition, TopologyTransition, fit
from topology_api.vocabulary import CheckStatus, Phase, Reason

from ..checks import advisories, etcd
from ..checks.result import fitting, listed, sentences
from ..observe import facts
from . import acceptance, assessment, cadence, discovery, events, records
from .decision import Cause, Step

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import Advisory, AvailableTransition, Check, RecordCopy, TopologyPair

    from ..definitions import load
    from .decision import Decision
    from .state import LeaderState

_UNREADABLE_BOUND = timedelta(minutes=5)
"""How long a fact may be unreadable before the operator calls itself Degraded."""
READING = "Reading what the checks ask about"


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that one decision looks at, once it is clear that there is something to decide."""

    known: facts.Facts
    infrastructure: facts.Infrastructure
    record: TopologyTransition | None
    transitions: load.Transitions
    leader: LeaderState
    now: datetime

    @property
    def phase(self) -> Phase:
        """The phase of the record; without one nothing has been decided yet."""
        return self.record.phase if self.record is not None else Phase.IDLE


def available(context: Context) -> tuple[AvailableTransition, ...]:
    """What the record says could be asked for: what was discovered last, as far as it still leads away from here."""
    items = discovery.merged(context.record.available if context.record else (), context.leader.available)
    # What was discovered before the change leads away from where the cluster no longer is.
    here = {definition.name for definition in context.transitions.starting_at(records.pair(context.infrastructure))}
    return tuple(item for item in items if item.name in here)


def advised(context: Context, record: TopologyTransition) -> tuple[Advisory, ...]:
    """What an administrator has to do on the way to the record's target, by what is watched."""
    target = record.target or records.pair(context.infrastructure)
    return advisories.advise(context.known, target, context.transitions.matrix, record, context.now)


def requested(context: Context, target: TopologyPair | None) -> datetime:
    """When this request was first seen: kept while the target stays."""
    record, own = context.record, context.known.own_operator
    # Where the record was lost it is the same request, and its events were sent under this time.
    copy = None if isinstance(own, facts.Unobserved) else own.copy
    before: TopologyTransition | RecordCopy | None = copy if record is None else record
    if before is not None and before.phase.asks and before.requested_time and before.target == target:
        return before.requested_time
    return context.now.replace(microsecond=0)


def last(context: Context) -> LastTransition | None:
    """The last transition that completed here: the one that the record is about, else the one that it keeps."""
    return None if context.record is None else completed(context.record) or context.record.last_transition


def completed(record: TopologyTransition) -> LastTransition | None:
    """The transition of a record that is Completed, as it is kept; None before that."""
    if record.phase is not Phase.COMPLETED or record.target is None:
        return None
    return LastTransition.model_validate(record.model_dump(include=set(LastTransition.model_fields)))


def completed_note(record: TopologyTransition) -> str:
    """What Progressing says of a transition that is completed: what it went without, and what is left to do."""
    done = f"The transition to {record.target} is completed{acceptance.note(record)}"
    return sentences(done, assessment.left(record.advisories))


def unreadable(checks: tuple[Check, ...], now: datetime) -> Cause | None:
    """A fact that could not be read for long makes the operator Degraded; a moment does not."""
    unknown = [check for check in checks if check.status is CheckStatus.UNKNOWN]
    lasting = [check for check in unknown if now - check.last_transition_time >= _UNREADABLE_BOUND]
    if not lasting:
        return None
    texts = [f"{check.name}: {check.message}" for check in lasting]
    message = fitting(lambda most: f"Unknown for more than 5 minutes: {listed(texts, most, '; ')}")
    return Cause(Reason.EVIDENCE_UNREADABLE, message)


def written(context: Context, decision: Decision) -> Decision:
    """Add the steps that a decision without a change needs: save the record when it is time for that, then report."""
    record = context.infrastructure.record
    stored = record if isinstance(record, TopologyTransition) else None
    reported = dataclasses.replace(summarized(decision), steps=(Step.REPORT,))
    return with_events(context, cadence.due(reported, stored, context.leader, context.now))


def summarized(decision: Decision) -> Decision:
    """The decision whose record says in one sentence what Progressing says."""
    if decision.record is None:
        return decision
    record = decision.record.model_copy(update={"message": fit(decision.sentence)})
    return dataclasses.replace(decision, record=record)


def with_events(context: Context, decision: Decision) -> Decision:
    """Add the events for the way from the present record to the decided one."""
    desired, after = context.infrastructure.desired, decision.record
    happened = () if after is None else events.between(context.record, after, desired, decision.note, context.now)
    return dataclasses.replace(decision, happened=happened)


def lease_moments(known: facts.Facts) -> list[datetime]:
    """When the lease of the etcd operator expires if it is not renewed, and when one from the future counts."""
    lease = known.etcd_lease
    if isinstance(lease, facts.Unobserved) or lease.renew_time is None:
        return []
    return [lease.renew_time - etcd.LEASE_GRACE, lease.renew_time + etcd.expiry(lease)]


def unreadable_moments(checks: tuple[Check, ...]) -> list[datetime]:
    """When each Unknown will have lasted too long."""
    return [check.last_transition_time + _UNREADABLE_BOUND for check in checks if check.status is CheckStatus.UNKNOWN]


def until(moments: list[datetime], now: datetime) -> float | None:
    """Seconds until the first of these that is still to come; a moment after it, so that it has passed then."""
    ahead = [(moment - now).total_seconds() for moment in moments if moment > now]
    return min(ahead) + 0.05 if ahead else None
