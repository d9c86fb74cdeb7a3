"""Which function answers which check, and how a whole stage is asked. What else is known of a check: `registry`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckName

from . import etcd, etcd_direct, machine_config, nodes, operands, operators
from .result import CheckContext, ConvergenceContext

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from topology_api.vocabulary import Stage

    from ..definitions import model
    from ..observe import facts
    from .result import CheckResult

CHECKS: dict[CheckName, Callable[[CheckContext], CheckResult]] = {
    CheckName.CLUSTER_OPERATORS_STABLE: operators.stable,
    CheckName.NO_UPGRADE_IN_PROGRESS: operators.no_upgrade,
    CheckName.CONTROL_PLANE_NODES: nodes.control_plane,
    CheckName.DEDICATED_WORKERS: nodes.dedicated_workers,
    CheckName.ELIGIBLE_WORKERS: nodes.eligible_workers,
    CheckName.MASTERS_SCHEDULABLE: nodes.masters_schedulable,
    CheckName.ETCD_VOTING_MEMBERS: etcd.voting_members,
    CheckName.ETCD_HEALTHY: etcd.healthy,
    CheckName.ETCD_OPERATOR_ALIVE: etcd.operator_alive,
    CheckName.ETCD_MEMBERS_DIRECT: etcd_direct.members,
    CheckName.MACHINE_CONFIG_POOLS_READY: machine_config.pools_ready,
    CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED: machine_config.controller_observed,
    CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT: machine_config.pools_rolled_out,
    CheckName.KUBE_API_SERVER_REVISION: operands.at_newest_revision,
    CheckName.KUBE_CONTROLLER_MANAGER_REVISION: operands.at_newest_revision,
    CheckName.KUBE_SCHEDULER_REVISION: operands.at_newest_revision,
    CheckName.ETCD_REVISION: operands.at_newest_revision,
    CheckName.API_SERVER_REPLICAS: operands.replicas,
    CheckName.ROUTER_REPLICAS: operands.replicas,
    CheckName.CONSOLE_REPLICAS: operands.replicas,
    CheckName.OAUTH_REPLICAS: operands.replicas,
    CheckName.MONITORING_REPLICAS: operands.replicas,
    CheckName.IMAGE_REGISTRY_REPLICAS: operands.replicas,
    CheckName.PACKAGE_SERVER_REPLICAS: operands.replicas,
    CheckName.MULTUS_ADMISSION_REPLICAS: operands.replicas,
    CheckName.GUARD_POD_DISRUPTION_BUDGETS: operands.guarded,
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
    for spec in sorted(specs, key=lambda spec: spec.check is CheckName.CLUSTER_OPERATORS_STABLE):
        context = CheckContext(known, spec, definition, now, convergence, stage, answers)
        answers[spec.check] = CHECKS[spec.check](context)
    return tuple(answers[spec.check] for spec in specs)
