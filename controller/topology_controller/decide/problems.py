"""Why an administrator should look: `status.topologyTransition.problem`, and what makes the operator Degraded.

It is what fleets and health checks go by, so it lasts: each reason has its own bound, and the one that is there keeps
its time while it stays. Of several the first in the order below is shown; conditions and checks have the rest.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from topology_api import vocabulary
from topology_api.types import Check, Problem, TopologyTransition, fit, whole_seconds
from topology_api.vocabulary import CheckName, CheckStatus, Phase, ProblemReason, Reason

from ..checks import etcd, nodes
from ..checks.result import CheckResult, fitting, listed, worded
from ..observe import facts
from . import cadence, records
from .state import Cause, Context

TWO_VOTERS = "etcd has two voting members, and the loss of either one stops the cluster"
ONE_VOTER = "etcd has one voting member, and its loss stops the cluster"
_BLOCKED_BOUND = timedelta(hours=1)  # how long a request may be Pending or Admitting before it is a problem
UNREADABLE_BOUND = timedelta(minutes=5)  # how long a fact may be unreadable before the operator calls itself Degraded
TWO_VOTERS_BOUND = timedelta(minutes=15)
"""How long etcd may have two voters before that is a problem; the alert of that name waits as long."""
_TWO = 2
_LOOK = f"Look at: oc get nodes -l {facts.CONTROL_PLANE_LABEL}"
PAUSED = worded("Paused", operator=vocabulary.CLUSTER_OPERATOR, annotation=vocabulary.PAUSED_ANNOTATION)
_OPERATOR = "machine-config"
_OF_POOLS = {
    CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED,
    CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT,
    CheckName.CLUSTER_OPERATORS_STABLE,
}
"""What a paused pool keeps from being Met; the last only because of the machine config operator itself."""


def unreadable(checks: tuple[Check, ...], now: datetime) -> Cause | None:
    """A fact that could not be read for long makes the operator Degraded; a moment does not."""
    unknown = [check for check in checks if check.status is CheckStatus.UNKNOWN]
    lasting = [check for check in unknown if now - check.last_transition_time >= UNREADABLE_BOUND]
    if not lasting:
        return None
    texts = [f"{check.name}: {check.message}" for check in lasting]
    message = fitting(lambda most: f"Unknown for more than 5 minutes: {listed(texts, most, '; ')}")
    return Cause(Reason.EVIDENCE_UNREADABLE, message)


def unreadable_moments(checks: tuple[Check, ...]) -> list[datetime]:
    """When each Unknown will have lasted too long."""
    return [check.last_transition_time + UNREADABLE_BOUND for check in checks if check.status is CheckStatus.UNKNOWN]


def before_change(context: Context, record: TopologyTransition, unreadable: Cause | None, note: str) -> Problem | None:
    """The problem of a request that is Pending or Admitting."""
    own = context.known.own_operator
    if (two := _two_voters(context)) is not None:
        return two
    if unreadable is not None:
        return problem(context, ProblemReason.EVIDENCE_UNREADABLE, unreadable.message)
    if not isinstance(own, facts.Unobserved) and own.paused:
        return problem(context, ProblemReason.PAUSED, PAUSED)
    if context.now >= blocked_at(record, context.now):
        return problem(context, ProblemReason.BLOCKED, f"Requested more than an hour ago. {note}")
    return None


def after_change(
    context: Context, record: TopologyTransition, awaited: tuple[CheckResult, ...], degraded: Cause | None
) -> Problem | None:
    """The problem of a transition that converges. `awaited` are the answers that it still goes by."""
    if (first := _two_voters(context) or redundancy_lost(context)) is not None:
        return first
    if degraded is not None:
        stuck = degraded.reason is Reason.TRANSITION_STUCK
        return problem(context, ProblemReason.STUCK if stuck else ProblemReason.EVIDENCE_UNREADABLE, degraded.message)
    if (paused := _paused_pools(context, awaited)) is not None:
        return paused
    if record.target is not None and context.infrastructure.desired is None and not record.by_native:
        restore = records.request(record.target.control_plane)
        gone = f"The topology has changed to {record.target}, and spec.{vocabulary.DESIRED} is gone"
        return problem(context, ProblemReason.REQUEST_LOST, f"{gone}. Restore it with: {restore}")
    return None


def problem(context: Context, reason: ProblemReason, message: str) -> Problem:
    """The problem, since the time when the record began to have one for this reason."""
    before = _before(context, reason)
    since = whole_seconds(context.now) if before is None else before.since
    return Problem(reason=reason, message=fit(message), since=since)


def _before(context: Context, reason: ProblemReason) -> Problem | None:
    """The problem that the record has, where it has it for this reason."""
    before = context.record.problem if context.record is not None else None
    return before if before is not None and before.reason is reason else None


def blocked_at(record: TopologyTransition, now: datetime) -> datetime:
    """From when on a request is a problem: Pending and Admitting may follow each other without end."""
    # Not by a time of the future: a clock that was put back would delay it without end.
    since = record.requested_time if (record.requested_time or now) <= now else record.phase_transition_time
    return (since or now) + _BLOCKED_BOUND


def moments(context: Context) -> list[datetime]:
    """When time alone changes an answer or a problem: two voters last too long, what was lost is back for a while."""
    since, ahead = context.leader.two_voters_since, cadence.moments(context.known)
    if since is not None:
        ahead.append(since + TWO_VOTERS_BOUND)
    if _before(context, ProblemReason.REDUNDANCY_LOST) is not None:
        ahead.append(_lost_until(context))
    return ahead


def few_voters(known: facts.Facts) -> int | None:
    """How many voting members etcd has: 2, or after the change 1; 0 where it has enough, None when it is not known."""
    # Before the change one is what a single node has.
    voters, record = etcd.voters(known), records.stored(known.infrastructure)
    after = record is not None and record.phase is Phase.CONVERGING
    return voters if voters in {None, _TWO} or (voters == 1 and after) else 0


def danger(known: facts.Facts) -> str:
    """How few voting members etcd has and what that means; empty where it has enough, or where that is not known."""
    return {_TWO: TWO_VOTERS, 1: ONE_VOTER}.get(few_voters(known) or 0, "")


def _two_voters(context: Context) -> Problem | None:
    """Two voters for too long, by this leader or by the record: it lasts over a restart, and while it is not known."""
    since, recorded = context.leader.two_voters_since, _before(context, ProblemReason.TWO_VOTERS)
    late, few = since is not None and context.now >= since + TWO_VOTERS_BOUND, few_voters(context.known)
    if few == 0 or not (recorded or late):
        return None
    if few is None and recorded is not None:
        return recorded
    return problem(context, ProblemReason.TWO_VOTERS, worded("OneVoter" if few == 1 else "TwoVoters", look=_LOOK))


def lost_nodes(known: facts.Facts) -> list[str] | None:
    """What the change rested on and is gone: `checks.nodes.lost`, of the nodes that the record has of the change."""
    record = records.stored(known.infrastructure)
    if record is None or record.phase is not Phase.CONVERGING or record.baseline is None:
        return []
    return nodes.lost(known, record.baseline.control_plane_nodes)


def redundancy_lost(context: Context) -> Problem | None:
    """What the change rested on is gone: reported with the first look, and until it has been back for a while."""
    # It lasts over a restart and while it is not known.
    lost = lost_nodes(context.known)
    if lost:
        message = fitting(lambda most: worded("RedundancyLost", nodes=listed(lost, most), look=_LOOK))
        return problem(context, ProblemReason.REDUNDANCY_LOST, message)
    lasts = lost is None or context.now < _lost_until(context)
    return _before(context, ProblemReason.REDUNDANCY_LOST) if lasts else None


def _lost_until(context: Context) -> datetime:
    """A node that comes and goes is one problem: each beginning and end is a write of Infrastructure."""
    return (context.leader.lost_at or context.leader.since) + cadence.pause(context.leader)


def _paused_pools(context: Context, awaited: tuple[CheckResult, ...]) -> Problem | None:
    """What to unpause, once nothing else is left to wait for, and then until a pool follows: others come and go."""
    failing = {result.name: result for result in awaited if result.status is not CheckStatus.MET}
    pools = failing.get(CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT)
    stable = failing.get(CheckName.CLUSTER_OPERATORS_STABLE)
    behind = [finding for finding in pools.findings if finding.lacks is not None] if pools is not None else []
    paused, before = [finding for finding in behind if finding.action], _before(context, ProblemReason.PAUSED)
    if pools is None or (behind and not paused):
        return None
    others = len(paused) < len(behind) or not set(failing) <= _OF_POOLS
    others |= stable is not None and {finding.name for finding in stable.findings} != {_OPERATOR}
    if not behind or (others and before is None):
        return before
    named = listed(f"{finding.name}: {finding.action}" for finding in paused)
    waits = "Paused machine config pools are awaited too" if others else "Only paused machine config pools are awaited"
    return problem(context, ProblemReason.PAUSED, f"{waits}. {named}")
