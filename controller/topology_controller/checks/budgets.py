"""PodDisruptionBudgets of the guard pods: can a drain take more than one control-plane node at a time?

The operators of static pods make them on anything but a single node, with room for one node less than there are
(reference: upstream-controller f). An arbiter carries etcd's static pods too, so it may be counted in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckStatus, Topology

from ..observe import facts
from . import groups

if TYPE_CHECKING:
    from ..operands import model as matrices
    from .result import CheckResult, Question


def guarding(question: Question) -> CheckResult:
    """Every PodDisruptionBudget of the group exists and lets one control-plane node go at a time."""
    return groups.ask(question, _judge)


def _judge(question: Question, group: matrices.Group, operand: matrices.Operand) -> groups.Finding:
    where = groups.place(operand)
    if group.topology(question.definition.target.pair) == Topology.SINGLE_REPLICA:
        text = f"{operand.key} does not exist on a single node"
        return groups.Finding(CheckStatus.MET, operand.key, text, where)
    nodes = groups.control_plane_nodes(question.facts)
    if isinstance(nodes, facts.Unobserved):
        return groups.Finding(CheckStatus.UNKNOWN, operand.key, str(nodes), where)
    wanted = f"{operand.key} with minAvailable {nodes - 1}"
    found = question.facts.operand(operand.key)
    if isinstance(found, facts.Unobserved):
        if found.missing:
            return groups.missing(question, operand, wanted, where)
        return groups.Finding(CheckStatus.UNKNOWN, wanted, str(found), where)
    if not isinstance(found, facts.DisruptionBudget):
        return groups.Finding(CheckStatus.UNKNOWN, wanted, f"{operand.key} is not a PodDisruptionBudget", where)
    if found.min_available is None:
        return groups.Finding(CheckStatus.UNMET, wanted, f"{operand.key} gives minAvailable not as a number", where)
    if nodes - 1 <= found.min_available <= nodes - 1 + groups.arbiters(question.facts):
        return groups.Finding(CheckStatus.MET, wanted, f"{operand.key} has minAvailable {found.min_available}", where)
    return groups.Finding(CheckStatus.UNMET, wanted, f"{operand.key} has minAvailable {found.min_available}", where)
