"""The machine config operator: does it work for the new topology, and have its pools rolled that out?

The flip drops the templates of a single node, so the rendered configuration of the pool master changes and every
control-plane node restarts in turn. A pool that is merely equal to itself may not have heard of the flip yet
(reference: upstream-controller c.3): first the controller must show that it works with the new topology, then the pool
must be at another configuration than at the flip, unless it is proven that it need not be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckName, CheckStatus

from ..observe import facts
from ..operands import model as matrices
from . import groups, result

if TYPE_CHECKING:
    from .result import CheckResult, Question

MASTER = "master"
_CONFIG = "controllerconfigs.machineconfiguration.openshift.io/machine-config-controller"
_POOLS = "machineconfigpools.machineconfiguration.openshift.io"
_ANNOTATION = "machineconfiguration.openshift.io/controlPlaneTopology"


def controller_observed(question: Question) -> CheckResult:
    """ControllerConfig carries the target's control plane topology, and so does every control-plane node.

    The node annotation is what the machine config daemon goes by: it drains a node unless that says SingleReplica.
    """
    status, message = _controller(question)
    if status is CheckStatus.MET:
        return question.met(message)
    return question.unmet(message) if status is CheckStatus.UNMET else question.unknown(message)


def _controller(question: Question) -> tuple[CheckStatus, str]:
    found = question.facts.controller_config
    target = question.definition.target.control_plane.value
    if isinstance(found, facts.Unobserved):
        return CheckStatus.UNKNOWN, str(found)
    names = groups.node_names(question.facts)
    if isinstance(names, facts.Unobserved):
        return CheckStatus.UNKNOWN, str(names)
    if why := _config_short_of(found, target):
        return CheckStatus.UNMET, (
            f"Wanted: {_CONFIG} made for control plane topology {target}. Found: {why}. "
            f"Look at oc get {_CONFIG} -o yaml and the pods in openshift-machine-config-operator"
        )
    unclear = [
        f"{type_}={status}"
        for type_, status in (("Completed", found.completed), ("Failing", found.failing))
        if status not in {"True", "False"}
    ]
    if unclear:
        return CheckStatus.UNKNOWN, f"{_CONFIG} has {', '.join(f'TemplateController{text}' for text in unclear)}"
    nodes = question.facts.control_plane_nodes
    others = sorted(
        f"{node.name} ({node.observed_topology or 'none'})"
        for node in (() if isinstance(nodes, facts.Unobserved) else nodes)
        if isinstance(node, facts.Node) and node.observed_topology != target
    )
    if others:
        return CheckStatus.UNMET, (
            f"Wanted: annotation {_ANNOTATION}={target} on every control-plane node. Found: {result.listed(others)}. "
            "Look at the pods in openshift-machine-config-operator"
        )
    return CheckStatus.MET, f"Machine configs are made for {target}, and {result.listed(names)} go by that"


def _config_short_of(found: facts.ControllerConfig, target: str) -> str:
    questions = (
        (found.control_plane != target, f"it is made for {found.control_plane or 'no topology'}"),
        (not found.observed, "it was changed, and the controller has not seen that yet"),
        (found.failing == "True", "its templates cannot be rendered (TemplateControllerFailing=True)"),
        (found.completed == "False", "its templates are being rendered (TemplateControllerCompleted=False)"),
    )
    return next((why for failed, why in questions if failed), "")


def pools_rolled_out(question: Question) -> CheckResult:
    """Every machine config pool has rolled out, and the control plane's to another configuration than at the flip.

    Asked only once the controller works with the new topology: before that the pools say nothing about it. The
    configuration need not differ when both topologies have the same word in the matrix, or when the controller worked
    with the target's topology at the flip already.
    """
    group = question.group()
    if group is None:
        return question.unknown(f"the operand matrix has no entry for {question.spec.check}")
    status, message = _controller(question)
    name = CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED
    if status is CheckStatus.UNKNOWN:
        return question.unknown(f"{name}, which comes first, is Unknown: {message}")
    found = question.facts.machine_config_pools
    if isinstance(found, facts.Unobserved):
        return question.unknown(found)
    if broken := result.unreadable(found, facts.MachineConfigPool):
        return question.unknown(broken)
    if status is CheckStatus.UNMET:
        return question.unmet(f"Waiting for {name}: until it is Met the pools say nothing about the new topology")
    pools = sorted((pool for pool in found if isinstance(pool, facts.MachineConfigPool)), key=lambda one: one.name)
    if not any(pool.name == MASTER for pool in pools):
        return question.unknown(f"{_POOLS}/{MASTER}: NotFound")
    must_move, before = _must_move(question, group), _before(question)
    waiting = [
        f"{pool.name} ({why})"
        for pool in pools
        if (why := _waiting_for(pool, before if must_move and pool.name == MASTER else None))
    ]
    if waiting:
        return question.unmet(
            f"Wanted: every machine config pool rolled out. Found: {result.listed(waiting)}. Look at oc get {_POOLS}"
        )
    if must_move and before is None:
        what = groups.unmeasured(f"{_POOLS}/{MASTER}", "machineConfigPools")
        return question.unknown(f"pool {MASTER} needs another rendered configuration, and {what}")
    return question.met(f"Machine config pools rolled out: {result.listed(pool.name for pool in pools)}")


def lacks(question: Question, group: matrices.Group, pool: facts.MachineConfigPool) -> str | None:
    """What this pool still lacks, None when it has rolled out. Says nothing before the controller has observed."""
    must_move = pool.name == MASTER and _must_move(question, group)
    return _waiting_for(pool, _before(question) if must_move else None)


def _must_move(question: Question, group: matrices.Group) -> bool:
    definition, baseline = question.definition, question.yardstick.baseline
    source, target = definition.source.control_plane.value, definition.target.control_plane.value
    ready_before = baseline is not None and baseline.control_plane_observed == target
    return not (source == target or ready_before or matrices.same(group.variant, source, target))


def _before(question: Question) -> str | None:
    baseline = question.yardstick.baseline
    pools = baseline.machine_config_pools if baseline is not None else ()
    return next((pool.configuration for pool in pools if pool.name == MASTER), None)


def _waiting_for(pool: facts.MachineConfigPool, before: str | None) -> str | None:
    """What a pool still lacks. `before` is the configuration that it must leave behind, None when there is none."""
    questions = (
        (pool.degraded > 0, f"{pool.degraded} degraded machines"),
        (not pool.observed, "the machine config operator has not seen its newest generation"),
        (not pool.configuration or not pool.wanted_configuration, "no rendered configuration"),
        (
            before is not None and pool.wanted_configuration == before,
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
