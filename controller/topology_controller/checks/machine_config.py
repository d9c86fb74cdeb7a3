"""The machine config operator: can its pools follow, does it work for the new topology, and has that been rolled out?

The change drops the templates of a single node, so every pool gets another rendered configuration and its nodes restart
in turn. For seconds after the templates are rendered every pool still looks finished: so the controller has to carry
the new topology first, and then each pool has to have left the configuration that it had when the topology changed.

Nothing is asked here that a write to Infrastructure changes: generation, observedGeneration and
TemplateControllerCompleted of ControllerConfig follow every write of ours (pkg/operator/sync.go; release-4.20 to 4.22).
"""

from __future__ import annotations

from datetime import timedelta

from topology_api.vocabulary import CheckName, CheckStatus, Topology

from .. import shell
from ..definitions import operands as matrices
from ..observe import facts
from . import operands, result
from .result import CheckContext, CheckResult, Count, Finding, first_reason, need

MASTER = "master"
FAILING_BOUND = timedelta(minutes=1)
"""How long TemplateControllerFailing may be True: an API error that passes sets it too (syncFailingStatus)."""
_CONFIG = "controllerconfigs.machineconfiguration.openshift.io/machine-config-controller"
_POOLS = "machineconfigpools.machineconfiguration.openshift.io"
_KIND = "MachineConfigPool"
_FIRST = result.worded("PoolsWait", check=CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED)
_ANNOTATION = "machineconfiguration.openshift.io/controlPlaneTopology"


def pools_ready(context: CheckContext) -> CheckResult:
    """Every pool is unpaused, not degraded, at its wanted configuration, and all its machines are updated and ready."""
    # Another can never follow: machine-config-operator pkg/controller/node/node_controller.go (release-4.20 to 4.22).
    pools = need(_pools(context))
    reasons = {pool.name: f"paused; {_unpause(pool)}" if pool.paused else _waiting_for(pool, None) for pool in pools}
    if waiting := [f"{name} ({why})" for name, why in reasons.items() if why]:
        aim = "every machine config pool unpaused, not degraded and updated"
        return context.unmet(aim, waiting, f"Look at oc get {_POOLS}")
    return context.met(f"Machine config pools are ready: {result.listed(reasons)}")


def controller_observed(context: CheckContext) -> CheckResult:
    """ControllerConfig carries the target's control plane topology, and no control-plane node goes by SingleReplica."""
    # The machine config daemon drains a node unless its annotation says SingleReplica (machine-config-operator
    # pkg/daemon/drain.go; release-4.20 to 4.22). That it equals the target is not asked: where a pool's rendered
    # configuration stays as it is, it is written 20 to 40 minutes later.
    config, names = context.facts.controller_config, operands.node_names(context.facts)
    target, single = context.definition.target.control_plane.value, Topology.SINGLE_REPLICA.value
    if isinstance(config, facts.Unobserved):
        return context.unknown(config)
    if isinstance(names, facts.Unobserved):
        return context.unknown(names)
    since = config.failing_since
    failing = config.failing == "True" and (since is None or not since <= context.now < since + FAILING_BOUND)
    if why := first_reason(
        (config.control_plane != target, f"machine configs are made for {config.control_plane or 'no topology'}"),
        (failing, "templates cannot be rendered (TemplateControllerFailing=True)"),
    ):
        look = "Look at the pods in openshift-machine-config-operator"
        return context.unmet(f"{_CONFIG} made for control plane topology {target}", why, look)
    if config.failing not in {"True", "False"}:
        return context.unknown(f"{_CONFIG} has TemplateControllerFailing={config.failing}")
    nodes = facts.readable(context.facts.control_plane_nodes)
    if stale := sorted(node.name for node in nodes if node.observed_topology == single != target):
        pools = facts.readable(context.facts.machine_config_pools)
        paused = next((pool for pool in pools if pool.name == MASTER and pool.paused), None)
        hint = f"Pool {MASTER} is paused; {_unpause(paused)}" if paused else f"Look at oc get {_POOLS} {MASTER}"
        return context.unmet(f"no control-plane node with annotation {_ANNOTATION}={single}", stale, hint)
    return context.met(f"Machine configs are made for {target}, and no control-plane node goes by {single}")


def pools_rolled_out(context: CheckContext) -> CheckResult:
    """Every machine config pool has rolled out, and each with machines to another configuration than at the change."""
    # That need not differ when both topologies have the same word in the matrix, or when the controller worked with the
    # target's topology at the change already (machine-config-operator templates/common/sno,
    # templates/master/00-master/sno, pkg/controller/template/render.go; release-4.20 to 4.22).
    group, controller, pools, first = context.group(), controller_observed(context), _pools(context), ""
    if controller.status is CheckStatus.UNKNOWN:
        why = controller.message.removeprefix("Cannot tell: ")
        first = f"{CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED}, which comes first, is Unknown: {why}"
    if isinstance(pools, facts.Unobserved):
        text = first or str(pools)
        return context.unknown(text, (Finding(_KIND, group.operator, CheckStatus.UNKNOWN, text),))
    findings = tuple(_finding(context, group, pool, controller.status, first) for pool in pools)
    if first:
        return context.unknown(first, findings)
    if controller.status is CheckStatus.UNMET:
        return result.CheckResult(context.spec.check, CheckStatus.UNMET, _FIRST, findings, seen=(_FIRST,))
    if waiting := [f"{finding.name} ({finding.lacks})" for finding in findings if finding.lacks]:
        return context.unmet("every machine config pool rolled out", waiting, f"Look at oc get {_POOLS}", findings)
    if unknown := [finding.text for finding in findings if finding.status is CheckStatus.UNKNOWN]:
        return context.unknown(unknown, findings)
    return context.met(f"Machine config pools rolled out: {result.listed(pool.name for pool in pools)}", findings)


def _finding(
    context: CheckContext, group: matrices.Group, pool: facts.MachineConfigPool, controller: CheckStatus, first: str
) -> Finding:
    """The finding of one pool. `controller` is the answer of the controller; where it is Unknown, `first` says why."""
    baseline = context.convergence.baseline
    must_change = _must_change(context, group) and (pool.machines > 0 or pool.name == MASTER)
    recorded = baseline.machine_config_pools if baseline is not None and must_change else ()
    # A pool that is younger than the record has nothing to leave behind.
    before = next((entry.configuration for entry in recorded if entry.name == pool.name), None)
    lacks = _waiting_for(pool, before)
    if lacks is not None and pool.paused:
        lacks = f"paused; {_unpause(pool)}"
    status, text = CheckStatus.MET, f"{pool.name} has rolled out"
    if first:
        status, text = CheckStatus.UNKNOWN, first
    elif controller is CheckStatus.UNMET:
        status, text = CheckStatus.UNMET, _FIRST
    elif lacks is not None:
        status, text = CheckStatus.UNMET, f"{pool.name}: {lacks}"
    elif must_change and pool.name == MASTER and baseline is None:
        what = result.worded("Unmeasured", what=f"{_POOLS}/{MASTER}", field="machineConfigPools")
        status, text = CheckStatus.UNKNOWN, f"pool {MASTER} needs another rendered configuration, and {what}"
    rolled = pool.configuration == pool.wanted_configuration
    # Machines that are up to date with what they had before have not followed anything yet.
    there = min(pool.updated, pool.ready) if rolled else pool.updated
    have = 0 if rolled and status is not CheckStatus.MET and there >= pool.machines else there
    action = _unpause(pool) if pool.paused else ""
    count = Count(have, pool.machines, "machines")
    # A pool without machines takes another configuration within seconds: no component comes and goes for that.
    passes = not (pool.machines or pool.paused or pool.troubles or pool.degraded)
    return Finding(_KIND, pool.name, status, text, action=action, count=count, lacks=lacks, passes=passes)


def _unpause(pool: facts.MachineConfigPool) -> str:
    command = shell.command('oc patch machineconfigpool {} --type merge -p \'{"spec":{"paused":false}}\'', pool.name)
    return f"unpause it: {command}"


def _pools(context: CheckContext) -> list[facts.MachineConfigPool] | facts.Unobserved:
    """Every pool by name; master has to be among them."""
    pools = result.every(context.facts.machine_config_pools)
    if isinstance(pools, facts.Unobserved):
        return pools
    if not any(pool.name == MASTER for pool in pools):
        return facts.Unobserved(f"{_POOLS}/{MASTER}", "NotFound", kind=facts.Kind.MISSING)
    return sorted(pools, key=lambda pool: pool.name)


def _must_change(context: CheckContext, group: matrices.Group) -> bool:
    """Do the topologies have different configurations, and did the controller not work with the target already?"""
    definition, baseline = context.definition, context.convergence.baseline
    source, target = definition.source.control_plane.value, definition.target.control_plane.value
    ready_before = baseline is not None and baseline.control_plane_observed == target
    return not (source == target or ready_before or matrices.same(group.variant, source, target))


def _waiting_for(pool: facts.MachineConfigPool, before: str | None) -> str | None:
    """What a pool still lacks. `before` is the configuration that it must leave behind, None when there is none."""
    wanted, updated = pool.wanted_configuration, f"{pool.updated} of {pool.machines} machines updated"
    still = before is not None and wanted == before
    return first_reason(
        (bool(pool.troubles), f"condition {result.listed(pool.troubles)} is True"),
        (pool.degraded > 0, f"{pool.degraded} degraded machines"),
        (not pool.observed, "the machine config operator has not seen its newest generation"),
        (not pool.configuration or not wanted, "no rendered configuration"),
        (still, f"still at {before}, the configuration from before the topology changed"),
        (pool.configuration != wanted, f"rolling out {wanted}, {updated}"),
        (pool.updated < pool.machines, updated),
        (pool.ready < pool.machines, f"{pool.ready} of {pool.machines} machines ready"),
    )
