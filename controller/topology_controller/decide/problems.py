"""Why an administrator should look: `status.topologyTransition.problem`.

It is what fleets and health checks go by, so it lasts: each reason has its own bound, and the one that is there keeps
its time while it stays. Of several the first in the order below is shown; conditions and checks have the rest. Nothing
here decides about the topology.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from topology_api import vocabulary
from topology_api.types import Problem, TopologyTransition, fit, whole_seconds
from topology_api.vocabulary import CheckName, CheckStatus, Phase, ProblemReason, Reason

from .. import shell
from ..checks import etcd, nodes
from ..checks.result import fitting, listed
from ..observe import facts
from . import assessment, cadence

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import TopologyPair

    from ..checks.result import CheckResult
    from . import context as contexts
    from .decision import Cause

_BLOCKED_BOUND = timedelta(hours=1)
"""How long a request may be Pending before it is a problem."""
TWO_VOTERS_BOUND = timedelta(minutes=15)
"""How long etcd may have two voters before that is a problem; the alert of that name waits as long."""
_TWO = 2
PAUSED = (
    f"Annotation {vocabulary.PAUSED_ANNOTATION} is set on ClusterOperator {vocabulary.CLUSTER_OPERATOR}. Remove it "
    f"with: oc annotate clusteroperator {vocabulary.CLUSTER_OPERATOR} {vocabulary.PAUSED_ANNOTATION}-"
)
_OF_POOLS = frozenset(
    {
        CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED,
        CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT,
        CheckName.CLUSTER_OPERATORS_STABLE,
    }
)
"""What a paused pool keeps from being Met; the last only because of the machine config operator itself."""
_OPERATOR = "machine-config"


def before_change(
    context: contexts.Context, record: TopologyTransition, unreadable: Cause | None, note: str
) -> Problem | None:
    """The problem of a request that is Pending or Admitting."""
    own = context.known.own_operator
    if (two := _two_voters(context)) is not None:
        return two
    if unreadable is not None:
        return problem(context, ProblemReason.EVIDENCE_UNREADABLE, unreadable.message)
    if not isinstance(own, facts.Unobserved) and own.paused:
        return problem(context, ProblemReason.PAUSED, PAUSED)
    if record.phase is Phase.PENDING and context.now >= blocked_at(record, context.now):
        return problem(context, ProblemReason.BLOCKED, f"Pending for more than an hour. {note}")
    return None


def two_voters(known: facts.Facts) -> bool | None:
    """Does etcd have exactly two voting members, or, after the change, only one? None when that is not known.

    Before the change one is what a single node has.
    """
    voters = etcd.members(known)
    if isinstance(voters, facts.Unobserved):
        return None
    return len(voters) == _TWO or (len(voters) == 1 and _converging(known) is not None)


def danger(known: facts.Facts) -> str:
    """How few voting members etcd has and what that means; empty where it has enough, or where that is not known."""
    voters = etcd.members(known)
    if not two_voters(known) or isinstance(voters, facts.Unobserved):
        return ""
    return assessment.TWO_VOTERS if len(voters) == _TWO else assessment.ONE_VOTER


def _converging(known: facts.Facts) -> TopologyTransition | None:
    """The record of a change that the cluster still follows."""
    infrastructure = known.infrastructure
    record = None if isinstance(infrastructure, facts.Unobserved) else infrastructure.record
    return record if isinstance(record, TopologyTransition) and record.phase is Phase.CONVERGING else None


def lost_nodes(known: facts.Facts) -> list[str] | None:
    """What the change rested on and is gone: `checks.nodes.lost`, of the nodes that the record has of the change."""
    record = _converging(known)
    if record is None or record.baseline is None:
        return []
    return nodes.lost(known, record.baseline.control_plane_nodes)


def redundancy_lost(context: contexts.Context) -> Problem | None:
    """What the change rested on is gone: reported with the first look, and until it has been back for a while.

    It lasts over a restart and while it is not known.
    """
    lost = lost_nodes(context.known)
    before = context.record.problem if context.record is not None else None
    if lost:
        message = fitting(
            lambda most: (
                "Fewer control-plane nodes carry a voting member of etcd than when the topology changed: "
                f"{listed(lost, most)}. Bring them back. Do not restart or drain another one. "
                "Look at: oc get nodes -l node-role.kubernetes.io/control-plane"
            )
        )
        return problem(context, ProblemReason.REDUNDANCY_LOST, message)
    if before is None or before.reason is not ProblemReason.REDUNDANCY_LOST:
        return None
    return before if lost is None or context.now < _lost_until(context) else None


def redundancy_moments(context: contexts.Context) -> list[datetime]:
    """When what was lost will have been back for long enough."""
    before = context.record.problem if context.record is not None else None
    return [_lost_until(context)] if before is not None and before.reason is ProblemReason.REDUNDANCY_LOST else []


def _lost_until(context: contexts.Context) -> datetime:
    """A node that comes and goes is one problem: each beginning and end is a write of Infrastructure."""
    return (context.leader.lost_at or context.leader.since) + cadence.pause(context.leader)


def two_voters_moments(context: contexts.Context) -> list[datetime]:
    """When two voters will have lasted too long."""
    since = context.leader.two_voters_since
    return [] if since is None else [since + TWO_VOTERS_BOUND]


def _two_voters(context: contexts.Context) -> Problem | None:
    """Two voters for too long, by this leader or by the record: it lasts over a restart, and while it is not known."""
    since = context.leader.two_voters_since
    before = context.record.problem if context.record is not None else None
    recorded = before is not None and before.reason is ProblemReason.TWO_VOTERS
    late = since is not None and context.now >= since + TWO_VOTERS_BOUND
    if two_voters(context.known) is False or not (recorded or late):
        return None
    voters = etcd.members(context.known)
    if isinstance(voters, facts.Unobserved) and before is not None and recorded:
        return before
    single = not isinstance(voters, facts.Unobserved) and len(voters) == 1
    text = "one voting member" if single else "two voting members"
    harm = "its loss" if single else "the loss of either one"
    message = (
        f"etcd has had {text} for more than 15 minutes, and {harm} stops the cluster. Do "
        f"not restart or drain a control-plane node, and bring in the {'others' if single else 'third one'}. Look at: "
        "oc get nodes -l node-role.kubernetes.io/control-plane"
    )
    return problem(context, ProblemReason.TWO_VOTERS, message)


def blocked_at(record: TopologyTransition, now: datetime) -> datetime:
    """From when on a request that stays Pending is a problem."""
    return (record.phase_transition_time or now) + _BLOCKED_BOUND


def after_change(
    context: contexts.Context, record: TopologyTransition, awaited: tuple[CheckResult, ...], degraded: Cause | None
) -> Problem | None:
    """The problem of a transition that converges. `awaited` are the answers that it still goes by."""
    if (first := _two_voters(context) or redundancy_lost(context)) is not None:
        return first
    if degraded is not None:
        stuck = degraded.reason is Reason.TRANSITION_STUCK
        return problem(context, ProblemReason.STUCK if stuck else ProblemReason.EVIDENCE_UNREADABLE, degraded.message)
    if message := _paused_pools(awaited):
        return problem(context, ProblemReason.PAUSED, message)
    if record.target is not None and context.infrastructure.desired is None and not record.by_native:
        return problem(context, ProblemReason.REQUEST_LOST, restored(record.target))
    return None


def restored(target: TopologyPair) -> str:
    """Say that the request is gone after the topology has changed to this, and which command makes it again."""
    body = json.dumps({"spec": {vocabulary.DESIRED: target.control_plane}}, separators=(",", ":"))
    command = shell.command("oc patch infrastructure cluster --type merge -p {}", body)
    return f"The topology has changed to {target}, and spec.{vocabulary.DESIRED} is gone. Restore it with: {command}"


def _paused_pools(awaited: tuple[CheckResult, ...]) -> str:
    """What to unpause, where nothing else is left to wait for; else empty."""
    failing = {result.name: result for result in awaited if result.status is not CheckStatus.MET}
    pools = failing.get(CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT)
    stable = failing.get(CheckName.CLUSTER_OPERATORS_STABLE)
    if pools is None or not set(failing) <= _OF_POOLS:
        return ""
    if stable is not None and {finding.name for finding in stable.findings} != {_OPERATOR}:
        return ""
    behind = [finding for finding in pools.findings if finding.lacks is not None]
    if not behind or not all(finding.action for finding in behind):
        return ""
    named = listed(f"{finding.name}: {finding.action}" for finding in behind)
    return f"All that is waited for are paused machine config pools. {named}"


def problem(context: contexts.Context, reason: ProblemReason, message: str) -> Problem:
    """The problem, since the time when the record began to have one for this reason."""
    before = context.record.problem if context.record is not None else None
    since = before.since if before is not None and before.reason is reason else whole_seconds(context.now)
    return Problem(reason=reason, message=fit(message), since=since)
