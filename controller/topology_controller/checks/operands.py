"""Operands: has each of them followed the topology, as the operand matrix says it does?

* Workloads run as many replicas as the target implies, or as the configuration of their operator asks for.
* Static pods are at their newest revision on every control-plane node; where the topologies differ in configuration, at
  another than at the change, because at first their operator has not noticed it.
* PodDisruptionBudgets of guard pods allow one control-plane node less than there are (library-go
  pkg/operator/staticpod/controller/guard). Their controllers do not watch Infrastructure, so there is a command.

An operand that the baseline does not mention was added by a newer version in the middle of a transition: it is asked
for its present state, and where it is absent, it is not in use. Without a baseline nothing that needs it is done.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from topology_api.types import OperandBaseline
from topology_api.vocabulary import AdvisoryName, CheckStatus, Topology

from .. import shell
from ..definitions import model
from ..definitions import operands as matrices
from ..observe import facts
from . import result
from .result import CheckContext, CheckResult, Count, Finding, first_reason

T = TypeVar("T")

_MET, _UNMET, _UNKNOWN = CheckStatus.MET, CheckStatus.UNMET, CheckStatus.UNKNOWN
_MALFORMED = facts.Kind.MALFORMED
_NUDGE = "topology.openshift.io/nudged-for"  # annotation of a node that is no use but the event that it makes


def followed(context: CheckContext) -> CheckResult:
    """Every operand of the check's group has followed, or this cluster does not have them."""
    group = context.group()
    absent = absence(context.facts, group)
    if isinstance(absent, str):
        text = f"Nothing has to follow: {absent}"
        return context.met(text, (Finding("", group.operator, _MET, text),))
    if isinstance(absent, facts.Unobserved):
        unknown = [_finding(group, operand, _UNKNOWN, str(absent)) for operand in group.operands]
        return context.unknown(absent, tuple([dataclasses.replace(finding, lacks=absent) for finding in unknown]))
    if not group.operands:
        return context.unknown(f"the operand matrix names no operand for {context.spec.check}")
    judges = {"StaticPods": _static_pods, "PodDisruptionBudget": _budget}
    findings = [judges.get(operand.kind, _replicas)(context, group, operand) for operand in group.operands]
    return context.of(tuple(findings))


def _finding(
    group: matrices.Group, operand: matrices.Operand, status: CheckStatus, text: str, wanted: str = "", **more: Any
) -> Finding:
    # Static pods go by their operator; a number that is configured lacks nothing of it.
    name = group.operator_of(operand) if operand.kind == "StaticPods" else f"{operand.namespace}/{operand.name}"
    if operand.replicas == "perConfiguration":
        more["lacks"] = None
    return Finding(operand.kind, name, status, text, wanted or operand.key, operand.look, **more)


def absence(known: facts.Facts, group: matrices.Group) -> str | facts.Unobserved | None:
    """Why this cluster has no such operands, None when it has them, Unobserved when that is not known."""
    if group.capability is not None:
        version = known.cluster_version
        if isinstance(version, facts.Unobserved):
            return version
        if group.capability in version.lacks:
            return f"capability {group.capability} is not enabled on this cluster"
    if group.managed_by is None:
        return None
    managed = _read(known, group.managed_by.key, facts.Managed)
    if isinstance(managed, facts.Unobserved):
        # Without a configuration of its own the operator decides by itself: the operands show it.
        return None if managed.missing else managed
    # Where topology implies no number, one that an administrator scales has nothing to follow.
    scaled = not [operand for operand in group.operands if operand.replicas != "perConfiguration"]
    if managed.state == "Removed" or (managed.state == "Unmanaged" and scaled):
        return f"{group.managed_by.key} has managementState {managed.state}"
    return None


def _configuration(known: facts.Facts, group: matrices.Group) -> facts.Fact[facts.Managed] | None:
    return None if group.managed_by is None else _read(known, group.managed_by.key, facts.Managed)


def _read(known: facts.Facts, key: str, kind: type[T]) -> T | facts.Unobserved:
    """An operand as the fact that its kind becomes."""
    fact = known.operand(key)
    if isinstance(fact, (kind, facts.Unobserved)):
        return fact
    return facts.Unobserved(key, f"is not a {kind.__name__}", _MALFORMED)


def _implied(context: CheckContext, group: matrices.Group, operand: matrices.Operand) -> int | facts.Unobserved:
    """How many ready replicas a workload should have: as the target implies, or as its configuration asks for."""
    if operand.replicas == "perControlPlaneNode":
        names = node_names(context.facts)
        return names if isinstance(names, facts.Unobserved) else len(names)
    if operand.replicas != "perConfiguration":
        return at(operand, group.topology(context.definition.target.pair))
    managed = _configuration(context.facts, group)
    if isinstance(managed, facts.Unobserved):
        return managed
    if managed is None or managed.replicas is None:
        what = group.managed_by.key if group.managed_by is not None else group.check.value
        return facts.Unobserved(what, "does not say spec.replicas", _MALFORMED)
    return managed.replicas


def at(operand: matrices.Operand, topology: str) -> int | facts.Unobserved:
    """How many replicas this topology implies, by the matrix alone."""
    counts: Mapping[Any, int] = operand.replicas if isinstance(operand.replicas, dict) else {}
    if topology in counts:
        return counts[topology]
    return facts.Unobserved(operand.key, f"the operand matrix does not say what topology {topology} implies for it")


@facts.once
def node_names(known: facts.Facts) -> tuple[str, ...] | facts.Unobserved:
    """Names of the control-plane nodes as the operators count them, or why they are not known."""
    # They go by the label master (library-go pkg/operator/staticpod/controller/node): a node that has only the newer
    # label control-plane never gets their pods, and must not be waited for.
    nodes = result.every_node(known)
    if isinstance(nodes, facts.Unobserved):
        return nodes
    names = sorted([node.name for node in nodes if node.master])
    return tuple(names) or facts.Unobserved(f"nodes with label {facts.MASTER_LABEL}", "there are none")


def _before(context: CheckContext, operand: matrices.Operand) -> OperandBaseline | None:
    baseline = context.convergence.baseline
    entries = baseline.operands if baseline is not None else ()
    return next((entry for entry in entries if entry.name == operand.key), None)


def _missing(
    context: CheckContext, group: matrices.Group, operand: matrices.Operand, why: facts.Unobserved, wanted: str
) -> Finding:
    """The operand cannot be read, or does not exist: Met where this cluster does not use it."""
    if not why.missing:
        return _finding(group, operand, _UNKNOWN, str(why), wanted, lacks=why)
    # Guard budgets are never recorded.
    action = _nudge(context.facts) if operand.kind == "PodDisruptionBudget" else ""
    before = _before(context, operand)
    text = f"{operand.key} does not exist"
    if before is None and context.convergence.baseline is not None and operand.kind != "PodDisruptionBudget":
        text = f"nothing has to follow: {text}, and the record has no entry of it"
        return _finding(group, operand, _MET, text, wanted)
    if not operand.optional:
        return _finding(group, operand, _UNMET, text, wanted, lacks=text, action=action)
    if before is None:
        lost = result.worded("Unmeasured", what="it", field="operands")
        unread = facts.Unobserved(operand.key, f"NotFound, and {lost}")
        return _finding(group, operand, _UNKNOWN, f"{text}, and {lost}", wanted, lacks=unread, action=action)
    if before.missing:
        text = f"nothing has to follow: {operand.key} did not exist when the topology changed either"
        return _finding(group, operand, _MET, text, wanted)
    return _finding(group, operand, _UNMET, f"{text} any more", wanted, lacks=text, action=action)


def _replicas(context: CheckContext, group: matrices.Group, operand: matrices.Operand) -> Finding:
    """A Deployment, StatefulSet or IngressController has the replicas that the target implies."""
    # It lacks something of its operator until that has asked enough of it, unless an administrator has fixed it.
    count, known, key = _implied(context, group, operand), context.facts, operand.key
    routers = operand.kind == "IngressController"
    kind: type[facts.IngressController | facts.Workload] = facts.IngressController if routers else facts.Workload
    workload = _read(known, key, kind)
    if isinstance(count, facts.Unobserved):
        return _finding(group, operand, _UNKNOWN, str(count), lacks=count)
    replicas = "replica" if count == 1 else "replicas"
    wanted = f"{count} ready {replicas}"
    if isinstance(workload, facts.Unobserved):
        return _missing(context, group, operand, workload, wanted)
    asks: int | None
    if isinstance(workload, facts.Workload):
        asks, have, why = workload.wanted, workload.ready, _short_of(workload, count, restarts=operand.restarts)
        subject, lacks = operand.key, f"{operand.key} asks for {asks} of {count}" if asks < count else None
    else:
        # The key of the one IngressController is longer than all that is said of it.
        subject, asks, have = f"{operand.kind} {operand.name}", workload.wanted_replicas, workload.available_replicas
        lacks = f"{subject} has {have} of {count} available" if asks is None and have < count else None
        why = first_reason(
            (asks is not None and asks < count, f"has spec.replicas set to {asks}, which no operator changes"),
            (have < count, f"has {have} of {count} available"),
        )
    # Not how many it has: one more or less above what is implied is no news.
    enough = f"asks for at least {count} {replicas}" if operand.restarts else f"has at least {count} ready {replicas}"
    status, text = (_MET, enough) if why is None else (_UNMET, why)
    action = _action(context.facts, group, operand) if asks is not None and asks < count else ""
    lacks, counted = None if action else lacks, Count(have, count, "replicas")
    return _finding(group, operand, status, f"{subject} {text}", wanted, action=action, lacks=lacks, count=counted)


def _short_of(workload: facts.Workload, count: int, *, restarts: bool) -> str | None:
    """What a Deployment or StatefulSet is short of."""
    # With `restarts` its pods are replaced at each write of Infrastructure: what its controller has seen and how many
    # are updated says nothing then, and one may be missing, so that no write of ours takes the answer back.
    least = max(1, count - 1) if restarts else count
    return first_reason(
        (workload.wanted < count, f"asks for {workload.wanted}"),
        (not restarts and not workload.observed, "was changed, and its controller has not seen that yet"),
        (not restarts and workload.updated < count, f"has {workload.updated} of {count} updated"),
        (not restarts and workload.ready < count, f"has {workload.ready} of {count} ready"),
        (workload.available < least, f"has {workload.available} of {count} available"),
    )


def _action(known: facts.Facts, group: matrices.Group, operand: matrices.Operand) -> str:
    if operand.kind == "IngressController":
        return f"See advisory {AdvisoryName.ROUTER_REPLICAS_PINNED}"
    managed = _configuration(known, group)
    unmanaged = isinstance(managed, facts.Managed) and managed.state == "Unmanaged" and group.managed_by
    return f"Scale it yourself: {unmanaged.key} has managementState Unmanaged" if unmanaged else ""


def _static_pods(context: CheckContext, group: matrices.Group, operand: matrices.Operand) -> Finding:
    nodes, pods = node_names(context.facts), _read(context.facts, operand.key, facts.StaticPods)
    before = _before(context, operand)
    anew = needs_revision(context.definition, group, operand)
    recorded = before.revision if before is not None and anew else None
    finding = _revision(context, group, operand, recorded)
    lacks: str | facts.Unobserved | None = None
    if anew and context.convergence.baseline is None:
        lost = result.worded("Unmeasured", what="it", field="operands")
        lacks = pods if isinstance(pods, facts.Unobserved) else facts.Unobserved(operand.key, lost)
        if finding.status is _MET:
            text = f"{operand.key} needs another revision, and {lost}"
            finding = dataclasses.replace(finding, status=_UNKNOWN, text=text)
    elif anew and finding.status is not _MET:
        if isinstance(pods, facts.Unobserved):
            lacks = pods
        elif recorded is not None and pods.latest <= recorded:
            lacks = f"{operand.key} is still at revision {pods.latest}"
    count = None
    if not isinstance(pods, facts.Unobserved) and not isinstance(nodes, facts.Unobserved):
        there = {entry.node for entry in pods.nodes if entry.current == pods.latest and entry.target == 0}
        wanted = {*nodes, *(entry.node for entry in pods.nodes)}
        # No node has followed while the newest revision is the one from before the change.
        stale = len(there) == len(wanted) and finding.status is _UNMET
        count = Count(0 if stale else len(there), len(wanted), "nodes")
    return dataclasses.replace(finding, lacks=lacks, count=count)


def needs_revision(definition: model.Definition, group: matrices.Group, operand: matrices.Operand) -> bool:
    """Do the topologies that the definition may start from differ in configuration from the one that it leads to?"""
    target = group.topology(definition.target.pair)
    infrastructure = group.follows == "infrastructure"
    sources = definition.source.infrastructure if infrastructure else (definition.source.control_plane.value,)
    return bool([each for each in sources if each != target and not matrices.same(operand.variant, each, target)])


def _revision(context: CheckContext, group: matrices.Group, operand: matrices.Operand, recorded: int | None) -> Finding:
    """Are static pods at their newest revision, and that another than the `recorded` one, if it must be left?"""
    nodes, pods = node_names(context.facts), _read(context.facts, operand.key, facts.StaticPods)
    wanted = "the newest revision on every control-plane node"
    if isinstance(nodes, facts.Unobserved):
        return _finding(group, operand, _UNKNOWN, str(nodes))
    if isinstance(pods, facts.Unobserved):
        return _missing(context, group, operand, pods, wanted)
    if recorded is not None:
        wanted = f"a revision above {recorded} on every control-plane node"
        if pods.latest <= recorded:
            text = f"{operand.key} is still at revision {pods.latest}, from before the topology changed"
            return _finding(group, operand, _UNMET, text, wanted)
    if behind := _behind(pods, nodes):
        return _finding(group, operand, _UNMET, f"{operand.key}: {result.few(behind)}", wanted)
    text = f"{operand.key} is at its newest revision on {result.listed(nodes)}"
    return _finding(group, operand, _MET, text, wanted)


def _behind(pods: facts.StaticPods, nodes: tuple[str, ...]) -> list[str]:
    """What is wrong, by node. Entries of other nodes count too: the operator installs pods there."""
    # `lastFailedRevision` survives later success, so it counts only while that very revision is being tried.
    if pods.latest < 1:
        return ["no revision has been made yet"]
    entries = {entry.node for entry in pods.nodes}
    wrong = [f"{name} has no entry" for name in nodes if name not in entries]
    for entry in pods.nodes:
        why = first_reason(
            (entry.last_failed == entry.target != 0, f"failed to install revision {entry.target}"),
            (entry.target != 0, f"is at revision {entry.current} and on its way to {entry.target}"),
            (entry.current != pods.latest, f"is at revision {entry.current} of {pods.latest}"),
        )
        wrong += [f"{entry.node} {why}"] if why else []
    return wrong


def _budget(context: CheckContext, group: matrices.Group, operand: matrices.Operand) -> Finding:
    if group.topology(context.definition.target.pair) == Topology.SINGLE_REPLICA:
        return _finding(group, operand, _MET, f"{operand.key} does not exist on a single node")
    nodes, budget = node_names(context.facts), _read(context.facts, operand.key, facts.DisruptionBudget)
    if isinstance(nodes, facts.Unobserved):
        return _finding(group, operand, _UNKNOWN, str(nodes))
    wanted = f"minAvailable {len(nodes) - 1}"
    if isinstance(budget, facts.Unobserved):
        return _missing(context, group, operand, budget, wanted)
    text = f"{operand.key} has minAvailable {budget.min_available}"
    if budget.min_available == len(nodes) - 1:
        return _finding(group, operand, _MET, text, wanted)
    if budget.min_available is None:
        text = f"{operand.key} has no number as minAvailable"
    return _finding(group, operand, _UNMET, text, wanted, action=_nudge(context.facts))


@facts.once
def _nudge(known: facts.Facts) -> str:
    """What wakes the controllers. They do not wait long where nodes are annotated or report, so it is no advisory."""
    nodes = node_names(known)
    name = "NODE" if isinstance(nodes, facts.Unobserved) else nodes[0]
    command = shell.command("oc annotate node {} {}=guard --overwrite", name, _NUDGE)
    return f"Its operator looks again when a Node changes: {command}"
