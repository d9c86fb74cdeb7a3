"""Static pods: do they run at their newest revision on every control-plane node?

An operator makes a revision from its configuration and installs it node by node. Being at the newest one everywhere is
also true before the operator has noticed the change; where the matrix says that the topologies differ in configuration,
the newest revision must therefore be another than at the change (reference: upstream-controller a.5, c.3).
`lastFailedRevision` survives later success, so it counts only while that very revision is being tried.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckStatus

from ..definitions import operands as matrices
from ..observe import facts
from . import groups, result
from .result import Count

if TYPE_CHECKING:
    from .result import CheckContext, CheckResult, Finding


def at_newest(context: CheckContext) -> CheckResult:
    """Static pods of the group are at their newest revision everywhere, a new one where the topologies differ.

    Source: library-go pkg/operator/staticpod/controller/installer/installer_controller.go (release-4.22).
    """
    return groups.ask(context, _judge)


def revisions(known: facts.Facts, operand: matrices.Operand) -> facts.Fact[facts.StaticPods]:
    """The revisions of static pods; those of etcd come with what else is known of etcd."""
    found = known.operand(operand.key)
    if isinstance(found, facts.Etcd):
        return found.static_pods if found.static_pods is not None else facts.NOT_READ
    if isinstance(found, facts.StaticPods | facts.Unobserved):
        return found
    return facts.Unobserved(operand.key, "has no revisions of static pods", malformed=True)


def must_move(context: CheckContext, group: matrices.Group, operand: matrices.Operand) -> bool:
    """Do the topologies that the definition may start from differ in configuration from the one that it leads to?

    Source for the one that does: cluster-kube-apiserver-operator pkg/operator/configobservation/apiserver
    (release-4.20 to 4.22).
    """
    definition = context.definition
    target = group.topology(definition.target.pair)
    infrastructure = group.follows == "infrastructure"
    sources = definition.source.infrastructure if infrastructure else (definition.source.control_plane.value,)
    return not all(source == target or matrices.same(operand.variant, source, target) for source in sources)


def _judge(context: CheckContext, group: matrices.Group, operand: matrices.Operand) -> Finding:
    nodes = groups.node_names(context.facts)
    found = revisions(context.facts, operand)
    moving = must_move(context, group, operand)
    then = groups.before(context, operand)
    finding = _revision(context, group, operand, moving=moving)
    lacks: str | facts.Unobserved | None = None
    if moving and isinstance(found, facts.Unobserved):
        lacks = found
    elif moving and (then is None or then.revision is None):
        lacks = facts.Unobserved(operand.key, groups.unmeasured("it", "operands"))
    elif moving and not isinstance(found, facts.Unobserved) and then is not None and then.revision is not None:
        lacks = f"{operand.key} is still at revision {found.latest}" if found.latest <= then.revision else None
    count = None
    if not isinstance(found, facts.Unobserved) and not isinstance(nodes, facts.Unobserved):
        count = _count(found, nodes, finding)
    return dataclasses.replace(finding, lacks=lacks, count=count)


def _count(found: facts.StaticPods, nodes: tuple[str, ...], finding: Finding) -> Count:
    """Nodes at the newest revision. None of them is while that revision is the one from before the change."""
    there = {entry.node for entry in found.nodes if entry.current == found.latest and entry.target == 0}
    wanted = {*nodes, *(entry.node for entry in found.nodes)}
    stale = len(there) == len(wanted) and finding.status is CheckStatus.UNMET
    return Count(0 if stale else len(there), len(wanted), "nodes")


def _revision(context: CheckContext, group: matrices.Group, operand: matrices.Operand, *, moving: bool) -> Finding:
    nodes = groups.node_names(context.facts)
    if isinstance(nodes, facts.Unobserved):
        return groups.finding_of(group, operand, CheckStatus.UNKNOWN, str(nodes))
    wanted = f"{operand.key} at its newest revision on every control-plane node"
    found = revisions(context.facts, operand)
    if isinstance(found, facts.Unobserved):
        if found.missing:
            return groups.missing(context, group, operand, wanted)
        return groups.finding_of(group, operand, CheckStatus.UNKNOWN, str(found), wanted=wanted)
    then = groups.before(context, operand)
    revision = then.revision if then is not None else None
    if moving and revision is not None:
        wanted = f"{operand.key} at a revision above {revision} on every control-plane node"
        if found.latest <= revision:
            text = f"{operand.key} is still at revision {found.latest}, from before the topology moved"
            return groups.finding_of(group, operand, CheckStatus.UNMET, text, wanted=wanted)
    if behind := _behind(found, nodes):
        text = f"{operand.key}: {result.listed(behind)}"
        return groups.finding_of(group, operand, CheckStatus.UNMET, text, wanted=wanted)
    if moving and revision is None:
        text = f"{operand.key} needs another revision, and {groups.unmeasured('it', 'operands')}"
        return groups.finding_of(group, operand, CheckStatus.UNKNOWN, text, wanted=wanted)
    text = f"{operand.key} is at its newest revision on {result.listed(nodes)}"
    return groups.finding_of(group, operand, CheckStatus.MET, text, wanted=wanted)


def _behind(found: facts.StaticPods, nodes: tuple[str, ...]) -> list[str]:
    """What is wrong, by node. Entries of other nodes count too: the operator installs pods there.

    Source of the entries: library-go pkg/operator/staticpod/controller/node/node_controller.go (release-4.22).
    """
    if found.latest < 1:
        return ["no revision has been made yet"]
    entries = {entry.node for entry in found.nodes}
    wrong = [f"{name} has no entry" for name in nodes if name not in entries]
    wrong += [f"{entry.node} {why}" for entry in found.nodes if (why := _lag(entry, found.latest))]
    return wrong


def _lag(entry: facts.NodeRevision, latest: int) -> str:
    """What this node lacks; a failure counts only for the revision that is being installed (the same source)."""
    if entry.target != 0 and entry.last_failed == entry.target:
        return f"failed to install revision {entry.target}"
    if entry.target != 0:
        return f"is at revision {entry.current} and on its way to {entry.target}"
    if entry.current != latest:
        return f"is at revision {entry.current} of {latest}"
    return ""
