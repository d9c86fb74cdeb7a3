"""Who has followed the topology, object by object, as the status page draws it: a count, and what its check says.

A check of operands answers for all objects of its group at once. Here it is asked once more for each of them alone, by
a matrix that has nothing else in it, so that a bar and the check above it can never disagree. Only the counts are read
here: ready replicas, nodes at the newest revision, machines of a pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckName, CheckStatus, Stage

from ..checks import catalog, groups, machine_config, static_pods
from ..checks.result import Question, Yardstick
from ..observe import facts
from ..operands import model as matrices

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import TopologyTransition

    from ..checks.result import CheckResult
    from ..transitions import model
    from . import state

Counts = tuple[int, int, str] | None
"""How many are there, how many are wanted, and what is counted; None where there is nothing to count."""


def operands(
    known: facts.Facts,
    record: TopologyTransition | None,
    definition: model.Definition | None,
    matrix: matrices.Matrix,
    now: datetime,
) -> state.Operands:
    """Every operand that the definition asks about, in its order. A group that the cluster lacks is one line."""
    if definition is None or record is None:
        return {"items": [], "said": "Without its definition nobody can tell who has to follow"}
    items: list[state.Operand] = []
    for spec in definition.convergence.checks:
        group = matrix.group(spec.check)
        if group is None:
            continue
        question = Question(known, spec, definition, now, Yardstick(record.baseline, matrix), Stage.CONVERGENCE)
        if isinstance(groups.absence(known, group), str):
            answer = catalog.CHECKS[spec.check](question)
            items.append(_item(group, "", group.operator, answer, None))
        elif spec.check is CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT:
            items += _pools(question, group)
        else:
            items += [_operand(question, group, operand) for operand in group.operands]
    return {"items": items, "said": ""}


def _item(group: matrices.Group, kind: str, name: str, answer: CheckResult, counts: Counts) -> state.Operand:
    return {
        "check": group.check.value,
        "kind": kind,
        "name": name,
        "unit": "" if counts is None else counts[2],
        "have": None if counts is None else counts[0],
        "wanted": None if counts is None else counts[1],
        "status": answer.status.value,
        "message": answer.message,
    }


def _operand(question: Question, group: matrices.Group, operand: matrices.Operand) -> state.Operand:
    alone = group.model_copy(update={"operands": (operand,)})
    whole = question.yardstick.matrix
    readers = whole.startup_readers if whole is not None else ()
    matrix = matrices.Matrix.model_construct(groups=(alone,), startup_readers=readers)
    asked = Question(
        question.facts,
        question.spec,
        question.definition,
        question.now,
        Yardstick(question.yardstick.baseline, matrix),
        question.stage,
    )
    answer = catalog.CHECKS[group.check](asked)
    name = "/".join(part for part in (operand.namespace, operand.name) if part)
    if operand.kind == "StaticPods":
        return _item(group, operand.kind, group.operator_of(operand), answer, _revisions(asked, operand, answer))
    counts = None if operand.replicas is None else _replicas(asked, alone, operand)
    return _item(group, operand.kind, name, answer, counts)


def _replicas(question: Question, group: matrices.Group, operand: matrices.Operand) -> Counts:
    wanted = groups.implied(question, group, operand)
    found = question.facts.operand(operand.key)
    if isinstance(wanted, facts.Unobserved):
        return None
    if isinstance(found, facts.Workload):
        return found.ready, wanted, "replicas"
    if isinstance(found, facts.IngressController):
        return found.available_replicas, wanted, "replicas"
    return None


def _revisions(question: Question, operand: matrices.Operand, answer: CheckResult) -> Counts:
    """Nodes at the newest revision. None of them is while that revision is the one from before the flip."""
    found = static_pods.revisions(question.facts, operand)
    nodes = groups.node_names(question.facts)
    if isinstance(found, facts.Unobserved) or isinstance(nodes, facts.Unobserved):
        return None
    there = {entry.node for entry in found.nodes if entry.current == found.latest and entry.target == 0}
    wanted = {*nodes, *(entry.node for entry in found.nodes)}
    stale = len(there) == len(wanted) and answer.status is CheckStatus.UNMET
    return 0 if stale else len(there), len(wanted), "nodes"


def _pools(question: Question, group: matrices.Group) -> list[state.Operand]:
    answer = catalog.CHECKS[group.check](question)
    found = question.facts.machine_config_pools
    if isinstance(found, facts.Unobserved):
        return [_item(group, "MachineConfigPool", group.operator, answer, None)]
    # The check waits for the controller first, and without a baseline: then it speaks for every pool.
    controller = machine_config.controller_observed(question)
    items: list[state.Operand] = []
    for pool in found:
        if isinstance(pool, facts.Unobserved):
            items.append(_item(group, "MachineConfigPool", pool.what, question.unknown(pool), None))
            continue
        if pool.machines == 0 and pool.name != machine_config.MASTER:
            continue
        why = machine_config.lacks(question, group, pool)
        rolled = pool.configuration == pool.wanted_configuration
        alone = _alone(question, answer, controller, why, pool)
        # Machines that are up to date with what they had before have not followed anything yet.
        there = min(pool.updated, pool.ready) if rolled else pool.updated
        have = 0 if rolled and not alone.met and there >= pool.machines else there
        items.append(_item(group, "MachineConfigPool", pool.name, alone, (have, pool.machines, "machines")))
    return items


def _alone(
    question: Question, answer: CheckResult, controller: CheckResult, why: str | None, pool: facts.MachineConfigPool
) -> CheckResult:
    """What is to be said of one pool."""
    if answer.met or not controller.met:
        return answer
    if why is not None:
        return question.unmet(f"{pool.name}: {why}")
    if answer.status is CheckStatus.UNKNOWN and pool.name == machine_config.MASTER:
        return answer
    return question.met(f"{pool.name} has rolled out")
