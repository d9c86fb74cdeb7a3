"""Workloads: does each of them run as many replicas as the target implies, and do its guards let one node go at a time?

How many replicas that is stands in the operand matrix, or in the configuration of its operator where topology implies
no number; a workload that has more is fine. It counts only once its controller has seen what is asked of it, so that
counts of a former generation prove nothing. Where an administrator has fixed the number, no operator will ever change
it: the message says so and names the advisory that has the command.

The operators of static pods make PodDisruptionBudgets for the guard pods on anything but a single node, with room for
one node less than there are (library-go pkg/operator/staticpod/controller/guard, release-4.20 to 4.22). Their
controllers watch pods, nodes and service accounts, not Infrastructure: on a quiet cluster nothing happens until the
next such event, so the message has a command that makes one.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from topology_api.vocabulary import AdvisoryName, CheckName, CheckStatus, Topology

from ..observe import facts
from . import groups
from .result import Count

if TYPE_CHECKING:
    from ..definitions import operands as matrices
    from .result import CheckContext, CheckResult, Finding

_NUDGE = "topology.openshift.io/nudged-for"
"""Annotation of a node that is no use but the event that it makes."""


def replicas(context: CheckContext) -> CheckResult:
    """Every Deployment, StatefulSet and IngressController of the group has the replicas that the target implies."""
    return groups.ask(context, _replicas)


def _replicas(context: CheckContext, group: matrices.Group, operand: matrices.Operand) -> Finding:
    wanted = groups.implied(context, group, operand)
    found = context.facts.operand(operand.key)
    finding = _ready(context, group, operand, wanted)
    count = None
    if isinstance(found, facts.Workload | facts.IngressController) and not isinstance(wanted, facts.Unobserved):
        have = found.ready if isinstance(found, facts.Workload) else found.available_replicas
        count = Count(have, wanted, "replicas")
    lacks = _unasked(context, group, operand, finding)
    return dataclasses.replace(finding, count=count, lacks=lacks)


def _ready(
    context: CheckContext, group: matrices.Group, operand: matrices.Operand, count: int | facts.Unobserved
) -> Finding:
    if isinstance(count, facts.Unobserved):
        return groups.finding_of(group, operand, CheckStatus.UNKNOWN, str(count))
    wanted = f"{operand.key} with {count} ready replicas"
    found = context.facts.operand(operand.key)
    if isinstance(found, facts.Unobserved):
        if found.missing:
            return groups.missing(context, group, operand, wanted)
        return groups.finding_of(group, operand, CheckStatus.UNKNOWN, str(found), wanted=wanted)
    router = operand.kind == "IngressController"
    if isinstance(found, facts.Workload) and not router:
        why = _restarting_short_of(found, count) if operand.restarts else _short_of(found, count)
    elif isinstance(found, facts.IngressController) and router:
        why = _router_short_of(found, count)
    else:
        text = f"{operand.key} is not what was expected there"
        return groups.finding_of(group, operand, CheckStatus.UNKNOWN, text, wanted=wanted)
    if not why:
        # Not how many it has: one more or less above what is implied is no news.
        has = f"asks for at least {count}" if operand.restarts else f"has at least {count} ready"
        return groups.finding_of(group, operand, CheckStatus.MET, f"{operand.key} {has} replicas", wanted=wanted)
    asks = found.wanted if isinstance(found, facts.Workload) else found.wanted_replicas
    action = _action(context, group, operand, count) if asks is not None and asks < count else ""
    return groups.finding_of(group, operand, CheckStatus.UNMET, f"{operand.key} {why}", wanted=wanted, action=action)


def _unasked(
    context: CheckContext, group: matrices.Group, operand: matrices.Operand, finding: Finding
) -> str | facts.Unobserved | None:
    """What shows that the operator has yet to react to the change: an operand that it has not asked enough of.

    It need not react where topology implies no number, or where an administrator has fixed it: then the operator does
    as it was told, and `finding` says what is missing.
    """
    if operand.replicas == "perConfiguration":
        return None
    wanted = groups.implied(context, group, operand)
    found = context.facts.operand(operand.key)
    if isinstance(wanted, facts.Unobserved):
        return wanted
    if isinstance(found, facts.Unobserved):
        return finding.lacks if found.missing else found
    if pinned(context.facts, group, operand, wanted):
        return None
    if isinstance(found, facts.Workload):
        return None if found.wanted >= wanted else f"{operand.key} asks for {found.wanted} of {wanted}"
    if isinstance(found, facts.IngressController):
        enough = found.wanted_replicas is not None or found.available_replicas >= wanted
        return None if enough else f"{operand.key} has {found.available_replicas} of {wanted} available"
    return facts.Unobserved(operand.key, "is not a workload", malformed=True)


def _short_of(found: facts.Workload, count: int) -> str:
    questions = (
        (found.wanted < count, f"asks for {found.wanted}"),
        (not found.observed, "was changed, and its controller has not seen that yet"),
        (found.updated < count, f"has {found.updated} of {count} updated"),
        (found.ready < count, f"has {found.ready} of {count} ready"),
        (found.available < count, f"has {found.available} of {count} available"),
    )
    return next((why for failed, why in questions if failed), "")


def _restarting_short_of(found: facts.Workload, count: int) -> str:
    """What is short where pods are replaced at each write of Infrastructure: no write of ours may take the answer back.

    Whether its controller has seen that and how many are updated says nothing then, and one may be missing.
    """
    least = max(1, count - 1)
    questions = (
        (found.wanted < count, f"asks for {found.wanted}"),
        (found.available < least, f"has {found.available} of {count} available"),
    )
    return next((why for failed, why in questions if failed), "")


def _router_short_of(found: facts.IngressController, count: int) -> str:
    if found.wanted_replicas is not None and found.wanted_replicas < count:
        return f"asks for {found.wanted_replicas} explicitly, which no operator will change"
    if found.available_replicas < count:
        return f"has {found.available_replicas} of {count} available"
    return ""


def pinned(known: facts.Facts, group: matrices.Group, operand: matrices.Operand, count: int) -> str:
    """What keeps the number as a person has set it, empty when nothing does: then the operator does as it was told."""
    found = known.operand(operand.key)
    if isinstance(found, facts.IngressController):
        fixed = found.wanted_replicas is not None and found.wanted_replicas < count
        return operand.key if fixed else ""
    managed = groups.configuration(known, group)
    if not isinstance(managed, facts.Managed) or group.managed_by is None:
        return ""
    return group.managed_by.key if managed.state == "Unmanaged" else ""


def _action(context: CheckContext, group: matrices.Group, operand: matrices.Operand, count: int) -> str:
    """What an administrator can do about an operand that does not even ask for enough."""
    if who := pinned(context.facts, group, operand, count):
        if group.check is CheckName.ROUTER_REPLICAS:
            return f"Advisory {AdvisoryName.ROUTER_REPLICAS_PINNED} has the command that changes it"
        return f"Its operator leaves it alone, because {who} has managementState Unmanaged: scale it yourself"
    matrix = context.convergence.matrix
    operator = group.operator_of(operand)
    if matrix is not None and matrix.reads_at_start(operator):
        return (
            f"Operator {operator} reads the topology only when it starts: advisory "
            f"{AdvisoryName.TOPOLOGY_READ_AT_START} has the command that starts it again"
        )
    return ""


def guarded(context: CheckContext) -> CheckResult:
    """Every PodDisruptionBudget of the group exists and lets one control-plane node go at a time."""
    return groups.ask(context, _budget)


def _budget(context: CheckContext, group: matrices.Group, operand: matrices.Operand) -> Finding:
    if group.topology(context.definition.target.pair) == Topology.SINGLE_REPLICA:
        text = f"{operand.key} does not exist on a single node"
        return groups.finding_of(group, operand, CheckStatus.MET, text)
    nodes = groups.node_names(context.facts)
    if isinstance(nodes, facts.Unobserved):
        return groups.finding_of(group, operand, CheckStatus.UNKNOWN, str(nodes))
    wanted = f"{operand.key} with minAvailable {len(nodes) - 1}"
    found = context.facts.operand(operand.key)
    if isinstance(found, facts.Unobserved):
        if found.missing:
            return dataclasses.replace(groups.missing(context, group, operand, wanted), action=_nudge(nodes[0]))
        return groups.finding_of(group, operand, CheckStatus.UNKNOWN, str(found), wanted=wanted)
    if not isinstance(found, facts.DisruptionBudget):
        text = f"{operand.key} is not a PodDisruptionBudget"
        return groups.finding_of(group, operand, CheckStatus.UNKNOWN, text, wanted=wanted)
    count, text = found.min_available, f"{operand.key} has minAvailable {found.min_available}"
    if count == len(nodes) - 1:
        return groups.finding_of(group, operand, CheckStatus.MET, text, wanted=wanted)
    if count is None:
        text = f"{operand.key} gives minAvailable not as a number"
    return groups.finding_of(group, operand, CheckStatus.UNMET, text, wanted=wanted, action=_nudge(nodes[0]))


def _nudge(node: str) -> str:
    """What wakes the controllers. They do not wait for long where nodes report, so it is no advisory."""
    return (
        "Its operator does not watch Infrastructure and looks again at the next event of a Node, Pod or "
        f"ServiceAccount; this makes one: oc annotate node {node} {_NUDGE}=guard --overwrite"
    )
