"""Has an operator reacted to the flip, or does it need nothing?

After the flip a quiet cluster proves little: an operator may not have looked yet. One that answers for an operand which
has to follow counts as having reacted when it has been busy since (its Progressing condition moved later than at the
flip), or when its operand shows it: it asks for what the target implies, or its static pods have a newer revision. It
need not react where this cluster has no such operand, where topology implies no number, or where a person has fixed the
number: then the operator does as it was told, and the operand's own check names it. `operators` asks this in
convergence; guard budgets are left out, since no operator reports them.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from topology_api.vocabulary import AdvisoryName

from ..observe import facts
from . import groups, replicas, static_pods

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..operands import model as matrices
    from .result import Question

_SILENT = frozenset({"PodDisruptionBudget"})


@dataclasses.dataclass(frozen=True, slots=True)
class Waiting:
    """An operator that has not been seen to react. `unread` is why that cannot be told, where it cannot."""

    operator: str
    why: str
    unread: bool = False


def waiting(question: Question, reported: Mapping[str, facts.ClusterOperator]) -> list[Waiting]:
    """The operators that still have to react, each with the first of its operands that shows it.

    Operators are those of the operand checks that the definition asks in convergence.
    """
    found: dict[str, Waiting] = {}
    busy_since = set(_busy_since(question, reported))
    for operator, group, operand in _answerable(question):
        if operator in busy_since or operator in found:
            continue
        if (why := _still(question, group, operand)) is not None:
            unread = isinstance(why, facts.Unobserved)
            found[operator] = Waiting(operator, f"{why}{'' if unread else _reader(question, operator)}", unread)
    return [found[name] for name in sorted(found)]


def lost(question: Question, reported: Mapping[str, facts.ClusterOperator]) -> list[str]:
    """Operators that reported at the flip and do not any more."""
    baseline = question.yardstick.baseline
    return sorted(one.name for one in (baseline.cluster_operators if baseline else ()) if one.name not in reported)


def _answerable(question: Question) -> Iterator[tuple[str, matrices.Group, matrices.Operand]]:
    for spec in question.definition.convergence.checks:
        if spec.check in question.yardstick.accepted:
            continue
        group = question.group(spec.check)
        for operand in group.operands if group is not None else ():
            if group is not None and operand.kind not in _SILENT:
                yield group.operator_of(operand), group, operand


def _busy_since(question: Question, reported: Mapping[str, facts.ClusterOperator]) -> Iterator[str]:
    """Operators that have come to rest again since the flip."""
    baseline = question.yardstick.baseline
    for one in baseline.cluster_operators if baseline is not None else ():
        now = reported[one.name].settled_time if one.name in reported else None
        if now is not None and one.settled_time is not None and now > one.settled_time:
            yield one.name


def _still(question: Question, group: matrices.Group, operand: matrices.Operand) -> str | facts.Unobserved | None:
    """What shows that the operator has yet to react; None when nothing does."""
    absent = groups.absence(question.facts, group)
    if isinstance(absent, facts.Unobserved):
        return absent
    if absent:
        return None
    if operand.replicas == "perConfiguration":
        return None
    if operand.kind == "StaticPods":
        return _static(question, group, operand)
    count = groups.implied(question, group, operand)
    found = question.facts.operand(operand.key)
    if isinstance(count, facts.Unobserved):
        return count
    if isinstance(found, facts.Unobserved):
        return _missing(question, operand) if found.missing else found
    if replicas.pinned(question.facts, group, operand, count):
        return None
    if isinstance(found, facts.Workload):
        return None if found.wanted >= count else f"{operand.key} asks for {found.wanted} of {count}"
    if isinstance(found, facts.IngressController):
        enough = found.wanted_replicas is not None or found.available_replicas >= count
        return None if enough else f"{operand.key} has {found.available_replicas} of {count} available"
    return facts.Unobserved(operand.key, "is not a workload", malformed=True)


def _static(question: Question, group: matrices.Group, operand: matrices.Operand) -> str | facts.Unobserved | None:
    if not static_pods.must_move(question, group, operand):
        return None
    found = static_pods.revisions(question.facts, operand)
    if isinstance(found, facts.Unobserved):
        return found
    then = groups.before(question, operand)
    if then is None or then.revision is None:
        return facts.Unobserved(operand.key, groups.unmeasured("it", "operands"))
    return None if found.latest > then.revision else f"{operand.key} is still at revision {found.latest}"


def _missing(question: Question, operand: matrices.Operand) -> str | facts.Unobserved | None:
    then = groups.before(question, operand)
    if operand.optional and then is None:
        return facts.Unobserved(operand.key, f"NotFound, and {groups.unmeasured('it', 'operands')}")
    if operand.optional and then is not None and then.missing:
        return None
    return f"{operand.key} does not exist"


def _reader(question: Question, operator: str) -> str:
    matrix = question.yardstick.matrix
    readers = matrix.startup_readers if matrix is not None else ()
    if not any(reader.operator == operator for reader in readers):
        return ""
    return f"; it reads the topology only when it starts, see advisory {AdvisoryName.TOPOLOGY_READ_AT_START}"
