"""PodDisruptionBudgets of the guard pods: can a drain take more than one control-plane node at a time?

The operators of static pods make them on anything but a single node, with room for one node less than there are
(library-go pkg/operator/staticpod/controller/guard, release-4.20 to 4.22). Their controllers watch pods, nodes and
service accounts, not Infrastructure: on a quiet cluster nothing happens until the next such event, so the message has a
command that makes one.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckStatus, Topology

from ..observe import facts
from . import groups

if TYPE_CHECKING:
    from ..operands import model as matrices
    from .result import CheckResult, Question


_NUDGE = "topology.openshift.io/nudged-for"
"""Annotation of a node that is no use but the event that it makes."""


def guarding(question: Question) -> CheckResult:
    """Every PodDisruptionBudget of the group exists and lets one control-plane node go at a time."""
    return groups.ask(question, _judge)


def _judge(question: Question, group: matrices.Group, operand: matrices.Operand) -> groups.Finding:
    where = groups.place(operand)
    if group.topology(question.definition.target.pair) == Topology.SINGLE_REPLICA:
        text = f"{operand.key} does not exist on a single node"
        return groups.Finding(CheckStatus.MET, operand.key, text, where)
    nodes = groups.node_names(question.facts)
    if isinstance(nodes, facts.Unobserved):
        return groups.Finding(CheckStatus.UNKNOWN, operand.key, str(nodes), where)
    wanted = f"{operand.key} with minAvailable {len(nodes) - 1}"
    found = question.facts.operand(operand.key)
    if isinstance(found, facts.Unobserved):
        if found.missing:
            return dataclasses.replace(groups.missing(question, operand, wanted, where), hint=_nudge(nodes[0]))
        return groups.Finding(CheckStatus.UNKNOWN, wanted, str(found), where)
    if not isinstance(found, facts.DisruptionBudget):
        return groups.Finding(CheckStatus.UNKNOWN, wanted, f"{operand.key} is not a PodDisruptionBudget", where)
    if found.min_available is None:
        text = f"{operand.key} gives minAvailable not as a number"
        return groups.Finding(CheckStatus.UNMET, wanted, text, where, _nudge(nodes[0]))
    if found.min_available == len(nodes) - 1:
        return groups.Finding(CheckStatus.MET, wanted, f"{operand.key} has minAvailable {found.min_available}", where)
    text = f"{operand.key} has minAvailable {found.min_available}"
    return groups.Finding(CheckStatus.UNMET, wanted, text, where, _nudge(nodes[0]))


def _nudge(node: str) -> str:
    """What wakes the controllers. They do not wait for long where nodes report, so it is a hint, not an advisory."""
    return (
        "Its operator does not watch Infrastructure and looks again at the next event of a Node, Pod or "
        f"ServiceAccount; this makes one: oc annotate node {node} {_NUDGE}=guard --overwrite"
    )
