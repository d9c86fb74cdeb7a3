"""Operands: has what other operators run followed the topology?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..observe import facts
from . import result

if TYPE_CHECKING:
    from .result import CheckResult, Question


def pools_rolled_out(question: Question) -> CheckResult:
    """Every machine config pool has rolled out, and the control plane's to another configuration than at the flip.

    The flip drops the single-node templates, so the rendered configuration of the master pool must change; a pool that
    is merely equal to itself may not have heard of the flip yet (reference: upstream-controller c.3).
    """
    found = question.facts.machine_config_pools
    if isinstance(found, facts.Unobserved):
        return question.unknown(found)
    if broken := result.unreadable(found, facts.MachineConfigPool):
        return question.unknown(broken)
    pools = [pool for pool in found if isinstance(pool, facts.MachineConfigPool)]
    if not any(pool.name == "master" for pool in pools):
        return question.unknown("machineconfigpools.machineconfiguration.openshift.io/master: NotFound")
    baseline = question.yardstick.baseline
    before = {pool.name: pool.configuration for pool in (baseline.machine_config_pools if baseline else ())}
    waiting = [f"{pool.name} ({why})" for pool in pools if (why := _waiting_for(pool, before.get(pool.name)))]
    if waiting:
        return question.unmet(
            f"Wanted: every machine config pool rolled out. Found: {result.listed(waiting)}. Look at oc get mcp"
        )
    return question.met(f"Machine config pools rolled out: {result.listed(pool.name for pool in pools)}")


def _waiting_for(pool: facts.MachineConfigPool, before: str | None) -> str | None:
    questions = (
        (pool.degraded > 0, f"{pool.degraded} degraded machines"),
        (not pool.observed, "the machine config operator has not seen its newest generation"),
        (not pool.configuration or not pool.wanted_configuration, "no rendered configuration"),
        (
            pool.name == "master" and before is not None and pool.wanted_configuration == before,
            f"still at {before}, the configuration from before the topology moved",
        ),
        (
            pool.configuration != pool.wanted_configuration,
            f"rolling out {pool.wanted_configuration}, {pool.updated} of {pool.machines} machines updated",
        ),
        (pool.updated < pool.machines, f"{pool.updated} of {pool.machines} machines updated"),
        (pool.ready < pool.machines, f"{pool.ready} of {pool.machines} machines ready"),
    )
    return next((why for failed, why in questions if failed), None)


def routers(question: Question) -> CheckResult:
    """The default router has as many available replicas as the target implies.

    An explicit spec.replicas wins over the topology (reference: upstream-controller c.3), so nobody will scale it.
    """
    found = question.facts.ingress_controller
    if isinstance(found, facts.Unobserved):
        return question.unknown(found)
    wanted = question.spec.at_least or 0
    if found.available_replicas >= wanted:
        return question.met(f"{found.available_replicas} routers are available")
    where = "ingresscontrollers.operator.openshift.io/default in namespace openshift-ingress-operator"
    if found.wanted_replicas is not None and found.wanted_replicas < wanted:
        return question.unmet(
            f"Wanted: {wanted} available routers. Found: {found.available_replicas}, and {where} asks for "
            f"{found.wanted_replicas} explicitly, which nobody will change. Change it with: "
            "oc -n openshift-ingress-operator patch ingresscontroller default --type merge "
            f"""-p '{{"spec":{{"replicas":{wanted}}}}}'"""
        )
    return question.unmet(f"Wanted: {wanted} available routers. Found: {found.available_replicas}. Look at {where}")
