"""What every check of operands has in common: what the matrix wants here, and how its operands' findings add up.

A group of the matrix says which objects show that an operator has followed the topology. `workloads` and `static_pods`
judge one object each; here is what comes before (does this cluster have it at all, how many are implied, how
was it at the change) and what comes after (one answer that names each object, what is wanted and where to look).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckStatus

from ..observe import facts
from .result import Finding

if TYPE_CHECKING:
    from collections.abc import Callable

    from topology_api.types import OperandBaseline

    from ..definitions import operands as matrices
    from .result import CheckContext, CheckResult


_MASTER = "node-role.kubernetes.io/master"


def ask(
    context: CheckContext, judge: Callable[[CheckContext, matrices.Group, matrices.Operand], Finding]
) -> CheckResult:
    """Judge every operand of the check's group; Met when each is, or when this cluster does not have them."""
    group = context.group()
    if group is None:
        return context.unknown(f"the operand matrix has no entry for {context.spec.check}")
    absent = absence(context.facts, group)
    if isinstance(absent, str):
        text = f"Nothing has to follow: {absent}"
        return context.met(text, (Finding("", group.operator, CheckStatus.MET, text),))
    if isinstance(absent, facts.Unobserved):
        findings = [
            dataclasses.replace(finding_of(group, operand, CheckStatus.UNKNOWN, str(absent)), lacks=absent)
            for operand in group.operands
        ]
        return context.unknown(absent, tuple(findings))
    if not group.operands:
        return context.unknown(f"the operand matrix names no operand for {context.spec.check}")
    return context.of(tuple(judge(context, group, operand) for operand in group.operands))


def finding_of(
    group: matrices.Group, operand: matrices.Operand, status: CheckStatus, found: str, **parts: str
) -> Finding:
    """What was found of an operand; static pods go by their operator. `parts` are `wanted` and `action`."""
    name = group.operator_of(operand) if operand.kind == "StaticPods" else f"{operand.namespace}/{operand.name}"
    where = place(operand) + (" -o yaml" if operand.kind == "StaticPods" else "")
    wanted, action = parts.get("wanted", operand.key), parts.get("action", "")
    return Finding(operand.kind, name, status, found, wanted, where, action)


def absence(known: facts.Facts, group: matrices.Group) -> str | facts.Unobserved | None:
    """Why this cluster has no such operands, None when it has them, Unobserved when that cannot be told."""
    if group.capability is not None:
        version = known.cluster_version
        if isinstance(version, facts.Unobserved):
            return version
        if version.lacks(group.capability):
            return f"capability {group.capability} is not enabled on this cluster"
    managed = configuration(known, group)
    if isinstance(managed, facts.Unobserved):
        # Without a configuration of its own the operator decides by itself: the operands tell.
        return None if managed.missing else managed
    if managed is None or group.managed_by is None:
        return None
    # Where topology implies no number, one that a person scales has nothing to follow.
    told = all(operand.replicas == "perConfiguration" for operand in group.operands)
    if managed.state == "Removed" or (managed.state == "Unmanaged" and told):
        return f"{group.managed_by.key} has managementState {managed.state}"
    return None


def configuration(known: facts.Facts, group: matrices.Group) -> facts.Managed | facts.Unobserved | None:
    """The configuration of the group's operator, None where the matrix names none."""
    if group.managed_by is None:
        return None
    found = known.operand(group.managed_by.key)
    if isinstance(found, facts.Managed | facts.Unobserved):
        return found
    return facts.Unobserved(group.managed_by.key, "is not a configuration with a managementState", malformed=True)


def implied(context: CheckContext, group: matrices.Group, operand: matrices.Operand) -> int | facts.Unobserved:
    """How many ready replicas a workload should have: as the target implies, or as its configuration asks for."""
    if operand.replicas == "perControlPlaneNode":
        names = node_names(context.facts)
        return names if isinstance(names, facts.Unobserved) else len(names)
    if operand.replicas == "perConfiguration":
        return _configured(context.facts, group)
    return at(operand, group.topology(context.definition.target.pair))


def _configured(known: facts.Facts, group: matrices.Group) -> int | facts.Unobserved:
    found = configuration(known, group)
    if isinstance(found, facts.Unobserved):
        return found
    if found is None or found.replicas is None:
        what = group.managed_by.key if group.managed_by is not None else group.check.value
        return facts.Unobserved(what, "does not say spec.replicas", malformed=True)
    return found.replicas


def at(operand: matrices.Operand, topology: str) -> int | facts.Unobserved:
    """How many replicas this topology implies, by the matrix alone."""
    counts = operand.replicas if isinstance(operand.replicas, dict) else {}
    found = next((count for named, count in counts.items() if named.value == topology), None)
    if found is None:
        return facts.Unobserved(operand.key, f"the operand matrix does not say what topology {topology} implies for it")
    return found


def node_names(known: facts.Facts) -> tuple[str, ...] | facts.Unobserved:
    """Names of the control-plane nodes as the operators count them, or why they cannot be told.

    They go by the label master alone (library-go, pkg/operator/staticpod/controller/node): a node that has only the
    newer label control-plane never gets their pods, and must not be waited for.
    """
    names: list[str] = []
    for group in (known.control_plane_nodes, known.other_nodes):
        if isinstance(group, facts.Unobserved):
            return group
        for node in group:
            if isinstance(node, facts.Unobserved):
                return node
            if node.master:
                names.append(node.name)
    if not names:
        return facts.Unobserved(f"nodes with label {_MASTER}", "there are none")
    return tuple(sorted(names))


def before(context: CheckContext, operand: matrices.Operand) -> OperandBaseline | None:
    """How the operand was at the change, None when nobody recorded it."""
    baseline = context.convergence.baseline
    recorded = baseline.operands if baseline is not None else ()
    return next((one for one in recorded if one.name == operand.key), None)


def unmeasured(what: str, field: str) -> str:
    """Say that the baseline is silent about something that cannot be judged without it, and what to do."""
    return (
        f"the record does not say how {what} was when the topology moved. Whoever knows it can write it to "
        f"status.topologyTransition.baseline.{field} with: oc edit infrastructure cluster --subresource=status"
    )


def missing(context: CheckContext, group: matrices.Group, operand: matrices.Operand, wanted: str) -> Finding:
    """The API server says that the operand does not exist: is that how it was configured, or did it get lost?"""
    then = before(context, operand)
    status, lacks = CheckStatus.UNMET, f"{operand.key} does not exist"
    text = lacks if not operand.optional else f"{lacks} any more"
    if operand.optional and then is None:
        status, text = CheckStatus.UNKNOWN, f"{lacks}, and {unmeasured('it', 'operands')}"
        unread = facts.Unobserved(operand.key, f"NotFound, and {unmeasured('it', 'operands')}")
        return dataclasses.replace(finding_of(group, operand, status, text, wanted=wanted), lacks=unread)
    if operand.optional and then is not None and then.missing:
        text = f"nothing has to follow: {operand.key} did not exist when the topology moved either"
        return finding_of(group, operand, CheckStatus.MET, text, wanted=wanted)
    return dataclasses.replace(finding_of(group, operand, status, text, wanted=wanted), lacks=lacks)


def place(operand: matrices.Operand) -> str:
    """The command that shows the operand."""
    namespace = f"-n {operand.namespace} " if operand.namespace else ""
    return f"oc {namespace}get {operand.plural} {operand.name}"
