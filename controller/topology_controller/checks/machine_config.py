"""The machine config operator: can its pools follow, does it work for the new topology, and has that been rolled out?

The change drops the templates of a single node, so every pool gets another rendered configuration and its nodes restart
in turn. A pool that is merely equal to itself proves nothing: for seconds after the templates are rendered every pool
still looks finished. So the controller has to carry the new topology first, and then each pool has to have left the
configuration that it had when the topology changed.

Nothing is asked here that a write to Infrastructure moves. The operator copies the whole object, resourceVersion
included, into ControllerConfig and renders again at each event, so its generation, observedGeneration and
TemplateControllerCompleted follow every write of ours (machine-config-operator pkg/operator/sync.go,
lib/resourceapply/machineconfig.go, pkg/controller/template/status.go; release-4.20, release-4.21, release-4.22).
"""

from __future__ import annotations

import shlex
from datetime import timedelta
from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckName, CheckStatus, Topology

from ..definitions import operands as matrices
from ..observe import facts
from . import groups, result
from .result import Count, Finding

if TYPE_CHECKING:
    from .result import CheckResult, Question

MASTER = "master"
FAILING_BOUND = timedelta(minutes=1)
"""How long TemplateControllerFailing may be True: an API error that passes sets it too (syncFailingStatus)."""
_CONFIG = "controllerconfigs.machineconfiguration.openshift.io/machine-config-controller"
_POOLS = "machineconfigpools.machineconfiguration.openshift.io"
_KIND = "MachineConfigPool"
_FIRST = (
    f"Waiting for {CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED}: until it is Met the pools say nothing about the new "
    "topology"
)
_ANNOTATION = "machineconfiguration.openshift.io/controlPlaneTopology"


def pools_ready(question: Question) -> CheckResult:
    """Every pool is unpaused, not degraded, at its wanted configuration, and all its machines are updated and ready.

    A pool that is paused, broken or behind now can never follow once the topology has changed
    (machine-config-operator pkg/controller/node/node_controller.go, syncMachineConfigPool; release-4.20 to 4.22).
    """
    pools = _pools(question)
    if isinstance(pools, facts.Unobserved):
        return question.unknown(pools)
    waiting = [f"{pool.name} ({why})" for pool in pools if (why := _unready(pool))]
    if waiting:
        return question.unmet(
            "Wanted: every machine config pool unpaused, not degraded and updated. "
            f"Found: {result.listed(waiting)}. Look at oc get {_POOLS}"
        )
    return question.met(f"Machine config pools are ready: {result.listed(pool.name for pool in pools)}")


def _unready(pool: facts.MachineConfigPool) -> str | None:
    if pool.paused:
        return f"paused; {unpause(pool)}"
    return _waiting_for(pool, None)


def controller_observed(question: Question) -> CheckResult:
    """ControllerConfig carries the target's control plane topology, and no control-plane node goes by SingleReplica.

    The node annotation is what the machine config daemon goes by: it drains a node unless that says SingleReplica
    (machine-config-operator pkg/daemon/drain.go; release-4.20 to 4.22). That it equals the target is not asked: where
    a pool's rendered configuration stays as it is, it is written 20 to 40 minutes later.
    """
    status, message = _controller(question)
    if status is CheckStatus.MET:
        return question.met(message)
    return question.unmet(message) if status is CheckStatus.UNMET else question.unknown(message)


def _controller(question: Question) -> tuple[CheckStatus, str]:
    config = question.facts.controller_config
    target = question.definition.target.control_plane.value
    if isinstance(config, facts.Unobserved):
        return CheckStatus.UNKNOWN, str(config)
    nodes = question.facts.control_plane_nodes
    if isinstance(nodes, facts.Unobserved):
        return CheckStatus.UNKNOWN, str(nodes)
    names = groups.node_names(question.facts)
    if isinstance(names, facts.Unobserved):
        return CheckStatus.UNKNOWN, str(names)
    if why := _config_short_of(question, config, target):
        return CheckStatus.UNMET, (
            f"Wanted: {_CONFIG} made for control plane topology {target}. Found: {why}. "
            f"Look at oc get {_CONFIG} -o yaml and the pods in openshift-machine-config-operator"
        )
    if config.failing not in {"True", "False"}:
        return CheckStatus.UNKNOWN, f"{_CONFIG} has TemplateControllerFailing={config.failing}"
    single = Topology.SINGLE_REPLICA.value
    stale = sorted(
        node.name
        for node in nodes
        if isinstance(node, facts.Node) and node.observed_topology == single and target != single
    )
    if stale:
        paused = [pool for pool in _paused(question) if pool.name == MASTER]
        hint = f"Pool {MASTER} is paused; {unpause(paused[0])}" if paused else f"Look at oc get {_POOLS} {MASTER}"
        return CheckStatus.UNMET, (
            f"Wanted: no control-plane node with annotation {_ANNOTATION}={single}. Found: {result.listed(stale)}. "
            f"{hint}"
        )
    return CheckStatus.MET, f"Machine configs are made for {target}, and no control-plane node goes by {single}"


def _config_short_of(question: Question, config: facts.ControllerConfig, target: str) -> str:
    if config.control_plane != target:
        return f"it is made for {config.control_plane or 'no topology'}"
    since = config.failing_since
    if config.failing == "True" and (since is None or question.now >= since + FAILING_BOUND):
        return "its templates cannot be rendered (TemplateControllerFailing=True for more than a minute)"
    return ""


def pools_rolled_out(question: Question) -> CheckResult:
    """Every machine config pool has rolled out, and each with machines to another configuration than at the change.

    Asked only once the controller works with the new topology: before that the pools say nothing about it. The
    configuration need not differ when both topologies have the same word in the matrix, or when the controller worked
    with the target's topology at the change already (machine-config-operator templates/common/sno,
    templates/master/00-master/sno, pkg/controller/template/render.go; release-4.20 to 4.22).
    """
    group = question.group()
    if group is None:
        return question.unknown(f"the operand matrix has no entry for {question.spec.check}")
    status, message = _controller(question)
    pools = _pools(question)
    findings = _findings(question, group, pools, status, message)
    if status is CheckStatus.UNKNOWN or isinstance(pools, facts.Unobserved):
        return question.unknown(findings[0].found, findings)
    if status is CheckStatus.UNMET:
        return question.unmet(_FIRST, findings)
    if waiting := [f"{finding.name} ({finding.lacks})" for finding in findings if finding.lacks]:
        text = f"Wanted: every machine config pool rolled out. Found: {result.listed(waiting)}. Look at oc get {_POOLS}"
        return question.unmet(text, findings)
    unknown = [finding.found for finding in findings if finding.status is CheckStatus.UNKNOWN]
    if unknown:
        return question.unknown(result.listed(unknown), findings)
    return question.met(f"Machine config pools rolled out: {result.listed(pool.name for pool in pools)}", findings)


def _findings(
    question: Question,
    group: matrices.Group,
    pools: list[facts.MachineConfigPool] | facts.Unobserved,
    controller: CheckStatus,
    message: str,
) -> tuple[Finding, ...]:
    """What is to be said of each pool. The controller comes first."""
    first = ""
    if controller is CheckStatus.UNKNOWN:
        first = f"{CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED}, which comes first, is Unknown: {message}"
    if isinstance(pools, facts.Unobserved):
        return (Finding(_KIND, group.operator, CheckStatus.UNKNOWN, first or str(pools)),)
    unmeasured = _must_move(question, group) and _before(question, MASTER) is None
    findings = []
    for pool in pools:
        lacks = _lacks(question, group, pool)
        status, text = CheckStatus.MET, f"{pool.name} has rolled out"
        if first:
            status, text = CheckStatus.UNKNOWN, first
        elif controller is CheckStatus.UNMET:
            status, text = CheckStatus.UNMET, _FIRST
        elif lacks is not None:
            status, text = CheckStatus.UNMET, f"{pool.name}: {lacks}"
        elif unmeasured and pool.name == MASTER:
            what = groups.unmeasured(f"{_POOLS}/{MASTER}", "machineConfigPools")
            status, text = CheckStatus.UNKNOWN, f"pool {MASTER} needs another rendered configuration, and {what}"
        rolled = pool.configuration == pool.wanted_configuration
        # Machines that are up to date with what they had before have not followed anything yet.
        there = min(pool.updated, pool.ready) if rolled else pool.updated
        have = 0 if rolled and status is not CheckStatus.MET and there >= pool.machines else there
        findings.append(
            Finding(
                _KIND,
                pool.name,
                status,
                text,
                action=unpause(pool) if pool.paused else "",
                count=Count(have, pool.machines, "machines"),
                lacks=lacks,
            )
        )
    return tuple(findings)


def _lacks(question: Question, group: matrices.Group, pool: facts.MachineConfigPool) -> str | None:
    """What this pool still lacks, None when it has rolled out. Says nothing before the controller has observed."""
    must_move = _must_move(question, group) and (pool.machines > 0 or pool.name == MASTER)
    why = _waiting_for(pool, _before(question, pool.name) if must_move else None)
    return f"paused; {unpause(pool)}" if why is not None and pool.paused else why


def unpause(pool: facts.MachineConfigPool) -> str:
    """The command that lets a paused pool follow."""
    name, body = shlex.quote(pool.name), '{"spec":{"paused":false}}'
    return f"unpause it: oc patch machineconfigpool {name} --type merge -p '{body}'"


def _pools(question: Question) -> list[facts.MachineConfigPool] | facts.Unobserved:
    """Every pool by name; master has to be among them."""
    pools = question.facts.machine_config_pools
    if isinstance(pools, facts.Unobserved):
        return pools
    broken = next((pool for pool in pools if isinstance(pool, facts.Unobserved)), None)
    if broken is not None:
        return broken
    known = sorted((pool for pool in pools if isinstance(pool, facts.MachineConfigPool)), key=lambda pool: pool.name)
    if not any(pool.name == MASTER for pool in known):
        return facts.Unobserved(f"{_POOLS}/{MASTER}", "NotFound", missing=True)
    return known


def _paused(question: Question) -> list[facts.MachineConfigPool]:
    pools = _pools(question)
    return [] if isinstance(pools, facts.Unobserved) else [pool for pool in pools if pool.paused]


def _must_move(question: Question, group: matrices.Group) -> bool:
    definition, baseline = question.definition, question.yardstick.baseline
    source, target = definition.source.control_plane.value, definition.target.control_plane.value
    ready_before = baseline is not None and baseline.control_plane_observed == target
    return not (source == target or ready_before or matrices.same(group.variant, source, target))


def _before(question: Question, name: str) -> str | None:
    """The pool's configuration when the topology changed, None where none was recorded: it may be younger."""
    baseline = question.yardstick.baseline
    pools = baseline.machine_config_pools if baseline is not None else ()
    return next((pool.configuration for pool in pools if pool.name == name), None)


def _waiting_for(pool: facts.MachineConfigPool, before: str | None) -> str | None:
    """What a pool still lacks. `before` is the configuration that it must leave behind, None when there is none."""
    questions = (
        (bool(pool.troubles), f"condition {result.listed(pool.troubles)} is True"),
        (pool.degraded > 0, f"{pool.degraded} degraded machines"),
        (not pool.observed, "the machine config operator has not seen its newest generation"),
        (not pool.configuration or not pool.wanted_configuration, "no rendered configuration"),
        (
            before is not None and pool.wanted_configuration == before,
            f"still at {before}, the configuration from before the topology changed",
        ),
        (
            pool.configuration != pool.wanted_configuration,
            f"rolling out {pool.wanted_configuration}, {pool.updated} of {pool.machines} machines updated",
        ),
        (pool.updated < pool.machines, f"{pool.updated} of {pool.machines} machines updated"),
        (pool.ready < pool.machines, f"{pool.ready} of {pool.machines} machines ready"),
    )
    return next((why for failed, why in questions if failed), None)
