"""Which function answers which check, and how a whole stage is asked. What else is known of a check: `registry`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from topology_api.vocabulary import CheckName, Stage

from ..definitions import model, registry
from ..observe import facts
from . import etcd, load_balancer, machine_config, machines, nodes, operands, operators
from .result import CheckContext, CheckResult, ConvergenceContext, UnreadError

CHECKS: dict[CheckName, Callable[[CheckContext], CheckResult]] = {
    CheckName.CLUSTER_OPERATORS_STABLE: operators.stable,
    CheckName.NO_UPGRADE_IN_PROGRESS: operators.no_upgrade,
    CheckName.CONTROL_PLANE_NODES: nodes.control_plane,
    CheckName.CONTROL_PLANE_MACHINES: machines.control_plane,
    CheckName.DEDICATED_WORKERS: nodes.dedicated_workers,
    CheckName.ELIGIBLE_WORKERS: nodes.eligible_workers,
    CheckName.MASTERS_SCHEDULABLE: nodes.masters_schedulable,
    CheckName.ETCD_VOTING_MEMBERS: etcd.voting_members,
    CheckName.ETCD_HEALTHY: etcd.healthy,
    CheckName.ETCD_OPERATOR_ALIVE: etcd.operator_alive,
    CheckName.ETCD_SCALING_SAFE: etcd.scaling_safe,
    CheckName.ETCD_MEMBERS_DIRECT: etcd.members_direct,
    CheckName.LOAD_BALANCER_BACKENDS: load_balancer.backends,
    CheckName.ROUTER_SURVIVES_DRAINS: load_balancer.router_survives_drains,
    CheckName.MACHINE_CONFIG_POOLS_READY: machine_config.pools_ready,
    CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED: machine_config.controller_observed,
    **dict.fromkeys(registry.OPERAND_CHECKS, operands.followed),
    CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT: machine_config.pools_rolled_out,
}


def ask(
    stage: Stage,
    definition: model.Definition,
    known: facts.Facts,
    now: datetime,
    convergence: ConvergenceContext = ConvergenceContext(),  # noqa: B008 - frozen
) -> tuple[CheckResult, ...]:
    """Answer every check of a stage, in the order of the definition. None of them stops another."""
    answers: dict[CheckName, CheckResult] = {}
    specs = definition.stages[stage]
    # It looks at what the checks of operands have found.
    last = [spec for spec in specs if spec.check is CheckName.CLUSTER_OPERATORS_STABLE]
    for spec in (*[spec for spec in specs if spec not in last], *last):
        context = CheckContext(known, spec, definition, now, convergence, stage, answers)
        answers[spec.check] = answer(context)
    return tuple([answers[spec.check] for spec in specs])


def answer(context: CheckContext) -> CheckResult:
    """Answer one check: Unknown where a fact that it needs could not be read."""
    try:
        return CHECKS[context.spec.check](context)
    except UnreadError as error:
        return context.unknown(error.fact)
