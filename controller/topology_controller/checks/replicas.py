"""Workloads: does each of them run as many replicas as the target implies?

How many that is stands in the operand matrix, or in the configuration of its operator where topology implies no number;
a workload that has more is fine. It counts only once its controller has seen what is asked of it, so that counts of a
former generation prove nothing. Where a person has fixed the number, no operator will ever change it: the message says
so and names the advisory that has the command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import AdvisoryName, CheckName, CheckStatus

from ..observe import facts
from . import groups

if TYPE_CHECKING:
    from ..operands import model as matrices
    from .result import CheckResult, Question


def ready(question: Question) -> CheckResult:
    """Every Deployment, StatefulSet and IngressController of the group has the replicas that the target implies."""
    return groups.ask(question, _judge)


def _judge(question: Question, group: matrices.Group, operand: matrices.Operand) -> groups.Finding:
    where = groups.place(operand)
    count = groups.implied(question, group, operand)
    if isinstance(count, facts.Unobserved):
        return groups.Finding(CheckStatus.UNKNOWN, operand.key, str(count), where)
    wanted = f"{operand.key} with {count} ready replicas"
    found = question.facts.operand(operand.key)
    if isinstance(found, facts.Unobserved):
        if found.missing:
            return groups.missing(question, operand, wanted, where)
        return groups.Finding(CheckStatus.UNKNOWN, wanted, str(found), where)
    router = operand.kind == "IngressController"
    if isinstance(found, facts.Workload) and not router:
        why = _restarting_short_of(found, count) if operand.restarts else _short_of(found, count)
    elif isinstance(found, facts.IngressController) and router:
        why = _router_short_of(found, count)
    else:
        return groups.Finding(CheckStatus.UNKNOWN, wanted, f"{operand.key} is not what was expected there", where)
    if not why:
        # Not how many it has: one more or less above what is implied is no news.
        has = f"asks for at least {count}" if operand.restarts else f"has at least {count} ready"
        return groups.Finding(CheckStatus.MET, wanted, f"{operand.key} {has} replicas", where)
    asks = found.wanted if isinstance(found, facts.Workload) else found.wanted_replicas
    hint = _hint(question, group, operand) if asks is not None and asks < count else ""
    return groups.Finding(CheckStatus.UNMET, wanted, f"{operand.key} {why}", where, hint)


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


def _hint(question: Question, group: matrices.Group, operand: matrices.Operand) -> str:
    """What a person can do about an operand that does not even ask for enough."""
    count = groups.implied(question, group, operand)
    if not isinstance(count, facts.Unobserved) and (who := pinned(question.facts, group, operand, count)):
        if group.check is CheckName.ROUTER_REPLICAS:
            return f"Advisory {AdvisoryName.ROUTER_REPLICAS_PINNED} has the command that changes it"
        return f"Its operator leaves it alone, because {who} has managementState Unmanaged: scale it yourself"
    matrix = question.yardstick.matrix
    readers = matrix.startup_readers if matrix is not None else ()
    operator = group.operator_of(operand)
    if any(reader.operator == operator for reader in readers):
        return (
            f"Operator {operator} reads the topology only when it starts: advisory "
            f"{AdvisoryName.TOPOLOGY_READ_AT_START} has the command that starts it again"
        )
    return ""
