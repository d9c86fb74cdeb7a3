"""Nodes: are there enough that could carry the control plane, each of them in every respect?

Three ready and three schedulable nodes need not be the same three. Here one node has to pass every question, and the
message says for each candidate which one it failed first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from topology_api.vocabulary import CheckStatus

from .. import shell
from ..observe import facts
from . import etcd, machines, result
from .result import CheckContext, CheckResult, Count, Finding, first_reason, need

DEFAULT_CPUS = 4.0
DEFAULT_MEMORY_GIB = 14.5
PODS_MIB = 960 + 1224 + 500 + 150
"""Memory that the static pods of etcd, kube-apiserver, kube-controller-manager and kube-scheduler request: pod.yaml of
their operators (openshift/cluster-*-operator b4786ae3, c813e820, 001746c6, 0dfab715). No node with them has less."""
ETCD_MIB = 8192  # to this size the database of etcd may grow: cluster-etcd-operator b4786ae3 pkg/etcdenvvar/etcd_env.go
_GIB = 2**30
_MASTER_HAS_VALUE = f"label {facts.MASTER_LABEL} has a value, operators select it without one"
_NO_VOTER = "has no voting etcd member"
_VERSION = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})\.")


def control_plane(context: CheckContext) -> CheckResult:
    """At least N nodes that each pass everything in `_failing`."""
    # Static pods are installed on nodes labelled master=, whatever state these are in: library-go
    # pkg/operator/staticpod/controller/node/node_controller.go (release-4.22).
    reasons = candidates(context)
    findings = tuple(
        Finding("Node", name, CheckStatus.MET if why is None else CheckStatus.UNMET, why or "eligible")
        for name, why in sorted(reasons.items())
    )
    eligible = [name for name, why in sorted(reasons.items()) if why is None]
    wanted = context.spec.at_least or 0
    if len(eligible) >= wanted:
        return context.met(f"{len(eligible)} eligible control-plane nodes: {result.listed(eligible)}", findings)
    unfit = [f"{name} ({why})" for name, why in sorted(reasons.items()) if why is not None]
    shown = _candidates(eligible, unfit, facts.CONTROL_PLANE_LABEL, machines.on_the_way(context.facts))
    count = Count(len(eligible), wanted, "nodes")
    return context.unmet(f"{wanted} eligible control-plane nodes", shown, "Look at oc get nodes", findings, count)


def _candidates(eligible: Sequence[str], unfit: Sequence[str], label: str, coming: str = "") -> tuple[str, ...]:
    """How many are eligible and which, what is on its way, and then why each of the others is not."""
    none = "none" if unfit else f"no node with label {label}"
    first = f"{len(eligible)}: {'; '.join(filter(None, (result.few(eligible) or none, coming)))}"
    return (f"{first}. Not eligible: {unfit[0]}", *unfit[1:]) if unfit else (first,)


def candidates(context: CheckContext) -> dict[str, str | None]:
    """Every control-plane node by name with the first reason why it is not eligible, None when it is."""
    # What adds the label control-plane selects an empty label master: machine-config-operator
    # pkg/controller/node/node_controller.go updateMasterNodeControlPlaneLabel (release-4.22).
    nodes, members = need(result.every_node(context.facts)), need(etcd.members(context.facts))
    # Of two kubelet versions that are equally frequent the newer counts as that of the others.
    versions = [version for node in nodes if isinstance(node, facts.Node) and (version := _minor(node))]
    common = max(versions, key=lambda v: (versions.count(v), [int(n) for n in v.split(".")]), default=None)
    voters = frozenset(members.values())
    left_out = machines.left_out(context.facts)
    failures: dict[str, str | None] = {}
    for node in nodes:
        if isinstance(node, facts.Node):
            failures[node.name] = _failing(node, context, common, voters, left_out.get(node.name, ""))
        elif node.master is None:
            failures[node.name] = _MASTER_HAS_VALUE
        elif node.master:
            failures[node.name] = f"lacks label {facts.CONTROL_PLANE_LABEL}"
    return failures


@facts.once
def carrying(known: facts.Facts) -> dict[str, str] | None:
    """Why a control-plane node cannot carry a control plane now, empty where it can; None when that is not known."""
    # A node is cordoned from before it restarts until it has come back: machine-config-operator pkg/daemon/drain.go.
    nodes, voters = result.every(known.control_plane_nodes), etcd.members(known)
    if isinstance(nodes, facts.Unobserved) or isinstance(voters, facts.Unobserved):
        return None
    addresses = frozenset(voters.values())
    return {
        node.name: first_reason(
            (node.deleting, "is being deleted"),
            (node.ready != "True" and not node.cordoned, f"Ready={node.ready}"),
            (not addresses.intersection(node.addresses), _NO_VOTER),
            *_room(node),
        )
        or ""
        for node in nodes
    }


def lost(known: facts.Facts, names: Iterable[str]) -> list[str] | None:
    """Those of these nodes that carry the control plane no more; none where as many others do. None: not known."""
    before = list(names)
    reasons = carrying(known) if before else {}
    if reasons is None:
        return None
    if sum(not why for why in reasons.values()) >= len(before):
        return []
    whys = {name: reasons.get(name, "is not a control-plane node any more") for name in before}
    return [f"{name} ({why})" for name, why in whys.items() if why]


def _failing(
    node: facts.Node, context: CheckContext, common: str | None, voters: frozenset[str], left_out: str
) -> str | None:
    """`common` is the kubelet version of most nodes, `left_out` is why it gets no etcd member."""
    cpus = context.spec.min_cpus or DEFAULT_CPUS
    gib = context.spec.min_memory_gib or DEFAULT_MEMORY_GIB
    compact = context.definition.workers.max == 0
    version, memory = _minor(node), (node.memory or 0) / _GIB
    return first_reason(
        (node.master is None, _MASTER_HAS_VALUE),
        (not node.master, f"lacks label {facts.MASTER_LABEL}"),
        *_state(node),
        (version is None, "kubelet version is not known"),
        (version != common, f"kubelet {version} while others have {common}"),
        (node.cpus is None or node.memory is None, "capacity is not known"),
        ((node.cpus or 0) < cpus, f"has {node.cpus or 0:g} of {cpus:g} CPUs"),
        (memory < gib, f"has {memory:.1f} of {gib:g} GiB memory"),
        (None in {node.free_memory, node.free_storage}, "allocatable memory or ephemeral-storage is not known"),
        *_room(node),
        (not voters.intersection(node.addresses), _NO_VOTER + (f": {left_out}" if left_out else "")),
        (compact and not node.worker, f"lacks label {facts.WORKER_LABEL}"),
        (compact and bool(node.taints), _tainted(node.taints)),
    )


def _room(node: facts.Node) -> tuple[tuple[bool, str], ...]:
    """What it may have too little of for the pods of a control plane; sizes that are not known are no reason here."""
    memory, storage = [math.inf if size is None else size // 2**20 for size in (node.free_memory, node.free_storage)]
    return (
        *[(name != "NetworkUnavailable", f"{name}=True") for name in node.pressure],
        (memory < PODS_MIB, f"has {memory:.0f} of {PODS_MIB} MiB allocatable memory: add memory or reserve less"),
        (storage < ETCD_MIB, f"has {storage:.0f} of {ETCD_MIB} MiB allocatable ephemeral-storage: enlarge its disk"),
    )


def _state(node: facts.Node) -> tuple[tuple[bool, str], ...]:
    # Taints about its state (not-ready, disk-pressure), not about its purpose.
    # Source: kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go (master).
    taints = [taint for taint in node.taints if taint.key.startswith("node.kubernetes.io/")]
    return (
        (node.deleting, "is being deleted"),
        (node.ready != "True", f"Ready={node.ready}"),
        (node.cordoned, "is cordoned"),
        (bool(node.pressure), ", ".join(f"{name}=True" for name in node.pressure)),
        (bool(taints), _tainted(taints)),
    )


def _tainted(taints: Sequence[facts.Taint]) -> str:
    return f"has taint {result.listed(map(str, taints), 2)}" if taints else ""


def _minor(node: facts.Node) -> str | None:
    """The minor version of its kubelet: v1.34.2+abc -> 1.34."""
    version = _VERSION.match(node.kubelet_version or "")
    return f"{version[1]}.{version[2]}" if version else None


def dedicated_workers(context: CheckContext) -> CheckResult:
    """The number of nodes that carry workloads only fits the definition: it decides the infrastructure topology."""
    # Source: installer pkg/asset/manifests/topologies.go (main).
    workers = [node.name for node in need(result.every(context.facts.other_nodes)) if node.dedicated_worker]
    wanted = context.definition.workers
    if wanted.fits(len(workers)):
        several = "s" * (len(workers) != 1)
        return context.met(f"{len(workers)} dedicated worker{several}; {context.definition.name} wants {wanted}")
    shown = result.few(sorted(workers)) or "none"
    several = "s" * ((wanted.min if wanted.max is None else wanted.max) != 1)
    return context.unmet(f"{wanted} dedicated worker{several}", f"{len(workers)}: {shown}", "Look at oc get nodes")


def eligible_workers(context: CheckContext) -> CheckResult:
    """At least N nodes can carry infrastructure pods: two routers and so on are spread over different nodes."""
    nodes = need(result.every(context.facts.control_plane_nodes, context.facts.workers))
    reasons = {node.name: _unfit(node, context.facts.ingress_controller) for node in nodes if node.worker}
    eligible = sorted(name for name, why in reasons.items() if why is None)
    wanted = context.spec.at_least or 0
    if len(eligible) >= wanted:
        # Not which ones: on a large cluster that would be news with every reboot.
        return context.met(f"At least {wanted} nodes can carry infrastructure pods")
    unfit = [f"{name} ({why})" for name, why in sorted(reasons.items()) if why is not None]
    return context.unmet(
        f"{wanted} worker nodes that can carry infrastructure pods",
        _candidates(eligible, unfit, facts.WORKER_LABEL),
        f"Look at oc get nodes -l {facts.WORKER_LABEL} (control-plane nodes have it while mastersSchedulable=true)",
        count=Count(len(eligible), wanted, "nodes"),
    )


def _unfit(node: facts.Node, routers: facts.Fact[facts.IngressController]) -> str | None:
    """The first reason why this node cannot carry infrastructure pods, None when it can."""
    # A taint that routers tolerate marks a node that is meant for infrastructure. Source: cluster-ingress-operator
    # pkg/operator/controller/ingress/deployment.go (release-4.22). Until that is read, none is known to be tolerated.
    why = first_reason(*_state(node))
    if why is not None or not node.taints:
        return why
    if isinstance(routers, facts.Unobserved):
        return _tainted(node.taints)
    refused = [taint for taint in node.taints if not any(entry.tolerates(taint) for entry in routers.tolerations)]
    if refused:
        return f"{_tainted(refused)}, which IngressController default does not tolerate"
    if lacking := sorted(routers.node_labels.difference(node.labels)):
        return f"lacks label {lacking[0]}, by which IngressController default selects nodes"
    return None


def masters_schedulable(context: CheckContext) -> CheckResult:
    """Scheduler `cluster` says what the target shape needs: true where there are no workers."""
    # Source: installer pkg/asset/manifests/scheduler.go (main).
    flags = context.spec.wanted, need(context.facts.scheduler)
    wanted, value = (str(bool(flag)).lower() for flag in flags)
    if value == wanted:
        return context.met(f"Scheduler cluster has mastersSchedulable={wanted}")
    body = f'{{"spec":{{"mastersSchedulable":{wanted}}}}}'
    command = shell.command("oc patch scheduler cluster --type merge -p {}", body)
    aim = f"schedulers.config.openshift.io/cluster with mastersSchedulable={wanted}"
    return context.unmet(aim, value, f"Change it with: {command}")
