"""Nodes: are there enough that could carry the control plane, each of them in every respect?

Upstream counts how many are Ready, how many schedulable and so on, each count for itself (reference:
upstream-controller a.4); three ready and three schedulable nodes need not be the same three. Here one node has to
pass every question, and the message says for each candidate which one it failed first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckStatus

from ..observe import facts
from . import etcd, result
from .result import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..definitions import model
    from .result import CheckContext, CheckResult

DEFAULT_CPUS = 4.0
DEFAULT_MEMORY_GIB = 14.5
_GIB = 2**30
_SHOWN = 10
_MASTER = "node-role.kubernetes.io/master"
_MASTER_HAS_VALUE = f"label {_MASTER} has a value, operators select it without one"
_WORKER = "node-role.kubernetes.io/worker"
_VERSION = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})\.")


def control_plane(context: CheckContext) -> CheckResult:
    """At least N nodes that each pass everything in `failing`.

    Source: library-go pkg/operator/staticpod/controller/node/node_controller.go (release-4.22): static pods are
    installed on the nodes that select `node-role.kubernetes.io/master=`, whatever state these are in.
    """
    found = candidates(context.facts, context.spec, context.definition)
    if isinstance(found, facts.Unobserved):
        return context.unknown(found)
    findings = tuple(
        Finding("Node", name, CheckStatus.MET if why is None else CheckStatus.UNMET, why or "eligible")
        for name, why in sorted(found.items())
    )
    eligible = [finding.name for finding in findings if finding.status is CheckStatus.MET]
    wanted = context.spec.at_least or 0
    if len(eligible) >= wanted:
        text = f"{len(eligible)} eligible control-plane nodes: {result.listed(eligible, _SHOWN)}"
        return context.met(text, findings)
    named = [f"{finding.name} ({finding.found})" for finding in findings]
    shown = result.listed(named or ["no node with label node-role.kubernetes.io/control-plane"], _SHOWN)
    return context.unmet(
        f"Wanted: {wanted} eligible control-plane nodes. Found: {len(eligible)}: {shown}. Look at oc get nodes",
        findings,
    )


def candidates(
    known: facts.Facts, spec: model.CheckSpec, definition: model.Definition
) -> dict[str, str | None] | facts.Unobserved:
    """Every control-plane node by name with the first reason why it is not eligible, None when it is.

    Source: machine-config-operator pkg/controller/node/node_controller.go updateMasterNodeControlPlaneLabel
    (release-4.22) adds the label control-plane to what its pool `master` selects, which is an empty label master.
    """
    found, others = known.control_plane_nodes, known.other_nodes
    if isinstance(found, facts.Unobserved):
        return found
    if isinstance(others, facts.Unobserved):
        return others
    for unread in (*found, *others):
        if isinstance(unread, facts.Unobserved):
            return unread
    voters = etcd.voters(known)
    if isinstance(voters, facts.Unobserved):
        return voters
    nodes = [node for node in found if isinstance(node, facts.Node)]
    version = _common_version(nodes)
    failures = {node.name: failing(node, spec, definition, version, voters) for node in nodes}
    for other in others:
        if isinstance(other, facts.OtherNode) and other.master_has_value:
            failures[other.name] = _MASTER_HAS_VALUE
        elif isinstance(other, facts.OtherNode) and other.master:
            failures[other.name] = "lacks label node-role.kubernetes.io/control-plane"
    return failures


def failing(
    node: facts.Node,
    spec: model.CheckSpec,
    definition: model.Definition,
    version: str | None,
    voters: frozenset[str],
) -> str | None:
    """The first reason why this node cannot carry the control plane, None when it can.

    `version` is the kubelet minor version that most nodes have; `voters` are addresses of etcd voters.
    Source of pressure and the taints that come with it: kubernetes
    pkg/controller/nodelifecycle/node_lifecycle_controller.go (master), nodeConditionToTaintKeyStatusMap.
    """
    cpus = spec.min_cpus or DEFAULT_CPUS
    gib = spec.min_memory_gib or DEFAULT_MEMORY_GIB
    compact = definition.workers.max == 0
    questions = (
        (node.master_has_value, _MASTER_HAS_VALUE),
        (not node.master, f"lacks label {_MASTER}"),
        *_state(node),
        (minor(node.kubelet_version) is None, "kubelet version is not known"),
        (
            minor(node.kubelet_version) != version,
            f"kubelet {minor(node.kubelet_version)} while others have {version}",
        ),
        (node.cpus is None or node.memory_bytes is None, "capacity is not known"),
        ((node.cpus or 0) < cpus, f"has {node.cpus or 0:g} of {cpus:g} CPUs"),
        (
            (node.memory_bytes or 0) < gib * _GIB,
            f"has {(node.memory_bytes or 0) / _GIB:.1f} of {gib:g} GiB memory",
        ),
        (not voters.intersection(node.addresses), "is not home of an etcd voter"),
        (compact and not node.worker, "lacks label node-role.kubernetes.io/worker"),
        (compact and bool(node.taints), _tainted(node.taints)),
    )
    return next((why for failed, why in questions if failed), None)


def _state(node: facts.Node) -> tuple[tuple[bool, str], ...]:
    """What every node is asked, whatever it is to carry: each with the words for its failure."""
    taints = [taint for taint in node.taints if taint.of_node_state]
    return (
        (node.deleting, "is being deleted"),
        (node.ready != "True", f"Ready={node.ready}"),
        (node.cordoned, "is cordoned"),
        (bool(node.pressure), ", ".join(f"{name}=True" for name in node.pressure)),
        (bool(taints), _tainted(taints)),
    )


def _tainted(taints: Iterable[facts.Taint]) -> str:
    return f"has taint {result.listed(map(str, taints), 2)}"


def minor(version: str | None) -> str | None:
    """The minor version of a kubelet: v1.34.2+abc -> 1.34."""
    found = _VERSION.match(version or "")
    return f"{found[1]}.{found[2]}" if found else None


def _common_version(nodes: list[facts.Node]) -> str | None:
    """The minor version that most nodes have; of two that are equally frequent, the newer."""
    versions = [found for node in nodes if (found := minor(node.kubelet_version))]
    return max(versions, key=lambda v: (versions.count(v), [int(n) for n in v.split(".")]), default=None)


def dedicated_workers(context: CheckContext) -> CheckResult:
    """The number of nodes that carry workloads only fits the definition.

    Source: installer pkg/asset/manifests/topologies.go (main): their number decides the infrastructure topology.
    """
    found = context.facts.other_nodes
    if isinstance(found, facts.Unobserved):
        return context.unknown(found)
    if broken := result.unreadable(found, facts.OtherNode):
        return context.unknown(broken)
    workers = [node.name for node in found if isinstance(node, facts.OtherNode) and node.dedicated_worker]
    wanted = context.definition.workers
    if wanted.fits(len(workers)):
        return context.met(f"{len(workers)} dedicated workers; {context.definition.name} wants {wanted}")
    return context.unmet(
        f"Wanted: {wanted} dedicated workers. "
        f"Found: {len(workers)}: {result.listed(sorted(workers), _SHOWN) or 'none'}. Look at oc get nodes"
    )


def eligible_workers(context: CheckContext) -> CheckResult:
    """At least N nodes can carry infrastructure pods: dedicated workers, and control-plane nodes that are workers too.

    Two routers, two Prometheuses and so on are spread over different nodes; on fewer nodes they never become ready
    (reference: native-controller-and-handover 0.3, the shape called standby).

    A taint that routers tolerate marks a node that is meant for infrastructure. Source: cluster-ingress-operator
    pkg/operator/controller/ingress/deployment.go (release-4.22): routers get nodePlacement of their IngressController,
    tolerations and nodeSelector. While that is not read, no taint is known to be tolerated.
    """
    nodes: list[facts.Node] = []
    for group in (context.facts.control_plane_nodes, context.facts.workers):
        if isinstance(group, facts.Unobserved):
            return context.unknown(group)
        if broken := result.unreadable(group, facts.Node):
            return context.unknown(broken)
        nodes += [node for node in group if isinstance(node, facts.Node) and node.worker]
    routers = context.facts.ingress_controller
    found = {node.name: _unfit(node, routers) for node in nodes}
    eligible = sorted(name for name, why in found.items() if why is None)
    wanted = context.spec.at_least or 0
    if len(eligible) >= wanted:
        # Not which ones: on a large cluster that would be news with every reboot.
        return context.met(f"At least {wanted} nodes can carry infrastructure pods")
    # The unfit come first: they are what the message is about.
    named = [f"{name} ({why})" for name, why in sorted(found.items()) if why is not None]
    named += [f"{name} (eligible)" for name in eligible]
    shown = result.listed(named or [f"no node with label {_WORKER}"], _SHOWN)
    return context.unmet(
        f"Wanted: {wanted} nodes with label {_WORKER} that can carry infrastructure pods. Found: {len(eligible)}: "
        f"{shown}. Look at oc get nodes -l {_WORKER}; control-plane nodes get that label while Scheduler cluster has "
        "mastersSchedulable=true"
    )


def _unfit(node: facts.Node, routers: facts.Fact[facts.IngressController]) -> str | None:
    """The first reason why this node cannot carry infrastructure pods, None when it can."""
    return next((why for failed, why in _state(node) if failed), None) or _kept_away(node, routers)


def _kept_away(node: facts.Node, routers: facts.Fact[facts.IngressController]) -> str | None:
    """Why taints of this node keep routers away, None when they do not."""
    if not node.taints:
        return None
    if isinstance(routers, facts.Unobserved):
        return _tainted(node.taints)
    refused = [taint for taint in node.taints if not any(one.tolerates(taint) for one in routers.tolerations)]
    if refused:
        return f"{_tainted(refused)}, which IngressController default does not tolerate"
    if lacking := sorted(routers.node_labels.difference(node.labels)):
        return f"lacks label {lacking[0]}, by which IngressController default selects nodes"
    return None


def masters_schedulable(context: CheckContext) -> CheckResult:
    """Scheduler `cluster` says what the target shape needs (`spec.mastersSchedulable`).

    Source: installer pkg/asset/manifests/scheduler.go (main): true where there are no workers.
    """
    found = context.facts.scheduler
    if isinstance(found, facts.Unobserved):
        return context.unknown(found)
    wanted = bool(context.spec.wanted)
    if found.masters_schedulable == wanted:
        return context.met(f"Scheduler cluster has mastersSchedulable={str(wanted).lower()}")
    return context.unmet(
        f"Wanted: schedulers.config.openshift.io/cluster with mastersSchedulable={str(wanted).lower()}. "
        f"Found: {str(found.masters_schedulable).lower()}. Change it with: oc patch scheduler cluster --type merge "
        f"""-p '{{"spec":{{"mastersSchedulable":{str(wanted).lower()}}}}}'"""
    )
