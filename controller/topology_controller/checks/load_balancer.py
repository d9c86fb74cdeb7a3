"""What stands before the nodes: does the load balancer lead to each of them, and does the router survive their drains?

A cluster that keeps the address of its API itself follows its nodes. Everywhere else a load balancer and names lead to
it that nothing inside can look at, and after a single node has grown they usually still lead to that node. So an
administrator confirms it, with the addresses and not with a yes: a node that comes later is not among them.

A single node is installed with an explicit `spec.replicas` of 1 for its router and no budget, and is never drained; the
nodes of a larger control plane are, within half a minute of the change (machine-config-operator, release-4.21). Whether
there are two routers after the change is `operands`' question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from topology_api import types, vocabulary
from topology_api.types import Advisory, TopologyPair, TopologyTransition
from topology_api.vocabulary import AdvisoryName, CheckStatus, Topology

from .. import shell
from ..observe import facts
from . import result
from .result import CheckContext, CheckResult, Count, Finding, need

_MET, _UNMET = CheckStatus.MET, CheckStatus.UNMET
_NONE_OF_ITS_OWN = frozenset({"None", "External"})
_MAY_MANAGE = frozenset({"BareMetal", "Nutanix", "OpenStack", "VSphere"})
_USER, _CLUSTER = "UserManaged", "OpenShiftManagedDefault"
_ANNOTATION = vocabulary.LOAD_BALANCER_BACKENDS_ANNOTATION
_WHERE = f"annotation {_ANNOTATION} of ClusterOperator {vocabulary.CLUSTER_OPERATOR}"
_EXAMPLE = "192.0.2.10,192.0.2.11,192.0.2.12"
_NODES = f"oc get nodes -l {facts.CONTROL_PLANE_LABEL} -o wide"
_LONGEST_QUOTE: Final = 40
_ROUTER, _ROUTERS = "IngressController default", 2
_DRAIN = vocabulary.ROUTER_DRAIN_ANNOTATION
TWO_ROUTERS: Final = result.worded("TwoRouters")
"""After it a node can be drained without taking ingress away."""


def managed_outside(infrastructure: facts.Fact[facts.Infrastructure]) -> tuple[bool | None, str]:
    """Does an administrator manage the load balancer, and how is that known? None: it is not."""
    # Never the cluster unless it says where it keeps its API.
    # On vSphere no address means that the user has provided the infrastructure. Source: openshift/api
    # config/v1/types_infrastructure.go (PlatformLoadBalancerType), openshift/origin pkg/monitortests/.../onpremhaproxy.
    if isinstance(infrastructure, facts.Unobserved):
        return None, str(infrastructure)
    platform, front = infrastructure.platform, infrastructure.load_balancer
    outside: bool | None = None
    if platform is None:
        why = "Infrastructure cluster names no platform"
    elif platform in _NONE_OF_ITS_OWN:
        outside, why = True, f"On platform {platform} the cluster manages no load balancer"
    elif platform not in _MAY_MANAGE:
        outside, why = False, f"On platform {platform} the load balancer is not the administrator's to see to"
    elif isinstance(front, facts.Unobserved):
        why = str(front)
    elif front.type == _USER:
        outside, why = True, f"On this {platform} the load balancer is {_USER}"
    elif front.type not in {None, _CLUSTER}:
        why = result.worded("UnknownLoadBalancer", type=_quoted(front.type or ""), cluster=_CLUSTER, user=_USER)
    elif front.addresses:
        addresses = result.listed(front.addresses)
        outside, why = False, f"The cluster manages its load balancer itself, at {addresses}"
    elif platform == "VSphere":
        outside, why = True, "This VSphere has no apiServerInternalIPs: its load balancer is the user's"
    else:
        why = result.worded("NoInternalAddresses", platform=platform)
    return outside, why


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The annotation beside the nodes. `command` confirms every node, or shows them where none can name them all."""

    confirmed: tuple[facts.Node, ...]
    missing: tuple[facts.Node, ...]
    command: str
    remarks: tuple[str, ...]
    wrong: str


def compare(nodes: list[facts.Node], backends: facts.Backends | None) -> Confirmation:
    """Compare the annotation with the control-plane nodes: one InternalIP of each has to be there."""
    backends = backends or facts.Backends()
    ordered = sorted(nodes, key=lambda node: node.name)
    given = frozenset(backends.addresses)
    own = {address for node in ordered for address in node.addresses}
    remarks = []
    if strangers := [address for address in backends.addresses if address not in own]:
        remarks.append(f"No control-plane node has {result.listed(strangers)}")
    if backends.repeated:
        remarks.append(f"It lists {result.listed(backends.repeated)} more than once")
    wrong = f"it is longer than {facts.Backends.LONGEST} bytes, and was not read" if backends.too_long else ""
    if entries := [f"entry {position} ({_quoted(text)})" for position, text in backends.wrong]:
        is_no = "is no address" if len(entries) == 1 else "are no addresses"
        wrong = f"{result.listed(entries)} {is_no}: write {_EXAMPLE}"

    def rank(address: str) -> tuple[bool, bool, str]:
        """Of a node with several addresses the one that is confirmed already, else IPv4."""
        return address not in given, ":" in address, address

    chosen = ",".join(min(node.addresses, key=rank) for node in ordered if node.addresses)
    command = shell.command(
        "oc annotate clusteroperator {} --overwrite {}={}", vocabulary.CLUSTER_OPERATOR, _ANNOTATION, chosen
    )
    return Confirmation(
        confirmed=tuple(node for node in ordered if given.intersection(node.addresses)),
        missing=tuple(node for node in ordered if not given.intersection(node.addresses)),
        command=command if chosen and len(command) <= types.MESSAGE_LIMIT else _NODES,
        remarks=tuple(remarks),
        wrong=wrong,
    )


def _quoted(text: str) -> str:
    """Quote what may be anything: nothing in it looks like a line or an escape of a terminal."""
    short = text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."
    return f'"{ascii(short)[1:-1]}"'


def backends(context: CheckContext) -> CheckResult:
    """Is every control-plane node confirmed to be behind the load balancer, where the cluster does not manage it?"""
    known = context.facts
    outside, why = managed_outside(known.infrastructure)
    if not outside:
        return context.unknown(why) if outside is None else context.met(why)
    annotation, nodes = need(_annotation(known)), need(result.every(known.control_plane_nodes))
    if not nodes:
        return context.unknown(f"no node has label {facts.CONTROL_PLANE_LABEL}")
    confirmation, behind = compare(nodes, annotation), "to be behind the load balancer"
    is_not = f"is not confirmed {behind}"
    findings = (
        *(Finding("Node", node.name, _MET, f"{node.name} is confirmed") for node in confirmation.confirmed),
        *(Finding("Node", node.name, _UNMET, f"{node.name} {is_not}") for node in confirmation.missing),
    )
    if not (confirmation.missing or confirmation.wrong):
        named = _named(confirmation.confirmed)
        text = f"As {_WHERE} names {named}; nothing inside the cluster can look at the load balancer"
        return context.met(". ".join((text, *confirmation.remarks)), findings)
    wanted = f"{_named(confirmation.missing) or 'addresses only'} in {_WHERE}"
    then = f"See advisory {AdvisoryName.LOAD_BALANCER_BACKENDS_UNCONFIRMED}"
    if not context.definition.changes_control_plane:
        # No advisory has the command, and it names annotation and addresses.
        wanted = f"every control-plane node confirmed {behind}"
        then = f"Once it leads to every node: {confirmation.command}"
    count = Count(len(confirmation.confirmed), len(nodes), "nodes")
    given = "no such annotation"
    if annotation is not None:
        given = confirmation.wrong or result.listed(annotation.addresses) or "no address"
    seen = result.sentences(given, *confirmation.remarks)
    return context.unmet(wanted, seen, then, findings, count)


def _annotation(known: facts.Facts) -> facts.Fact[facts.Backends | None]:
    """What an administrator says; without our ClusterOperator nothing is said."""
    own = known.own_operator
    if isinstance(own, facts.Unobserved):
        return None if own.missing else own
    return own.backends


def _named(nodes: tuple[facts.Node, ...]) -> str:
    return result.listed(
        f"{' or '.join(node.addresses[:2])} ({node.name})" if node.addresses else f"{node.name} (has no InternalIP)"
        for node in nodes
    )


def unconfirmed(known: facts.Facts, target: TopologyPair, record: TopologyTransition | None) -> Advisory | None:
    """The advisory that asks for the confirmation; None where there is nothing to confirm, or it is not known."""
    infrastructure, annotation = known.infrastructure, _annotation(known)
    nodes = result.every(known.control_plane_nodes)
    if isinstance(infrastructure, facts.Unobserved) or isinstance(annotation, facts.Unobserved):
        return None
    outside, why = managed_outside(infrastructure)
    if not outside or isinstance(nodes, facts.Unobserved) or not nodes:
        return None
    confirmation = compare(nodes, annotation)
    before = record.source.control_plane if record is not None and record.source is not None else None
    if before is None and (record is None or record.admitted_time is None):
        before = infrastructure.control_plane
    complete = not (confirmation.missing or confirmation.wrong)
    # Only where the control plane becomes one of several nodes.
    if complete or target.control_plane in {before, Topology.SINGLE_REPLICA}:
        return None
    front = infrastructure.load_balancer
    hosts = [] if isinstance(front, facts.Unobserved) else [front.api_host, front.api_internal_host]
    names = list(dict.fromkeys(filter(None, hosts)))
    itself = [f"{name} is node {node.name} itself" for name in names for node in nodes if name in node.addresses]
    message = result.sentences(
        f"{why}, and nothing inside can see where {' and '.join(names) or 'api and api-int'} lead",
        *(f"{text}: without it there is no API" for text in itself),
        f"Not confirmed: {_named(confirmation.missing)}" if confirmation.missing else "",
        f"Confirmed: {_named(confirmation.confirmed)}" if confirmation.confirmed else "",
        f"Of {_WHERE} {confirmation.wrong}" if confirmation.wrong else "",
        *confirmation.remarks,
        result.worded("ConfirmBackendsByHand" if confirmation.command == _NODES else "ConfirmBackends"),
    )
    return result.advisory(AdvisoryName.LOAD_BALANCER_BACKENDS_UNCONFIRMED, confirmation.command, message)


def router_survives_drains(context: CheckContext) -> CheckResult:
    """The default router asks for two replicas and has them before the change, or its drain is accepted."""
    # An explicit number is honoured at any topology: cluster-ingress-operator pkg/operator/controller/ingress (4.22).
    if drain_accepted(context.facts):
        return context.met(f"Accepted by annotation {_DRAIN} of ClusterOperator {vocabulary.CLUSTER_OPERATOR}")
    router = need(context.facts.ingress_controller)
    asks, has = router.wanted_replicas, router.available_replicas
    if asks is not None and min(asks, has) >= _ROUTERS:
        return context.met(f"{_ROUTER} has {_ROUTERS} replicas or more available")
    wait = "Wait until they are available" if asks is not None and asks >= _ROUTERS else f"Run: {TWO_ROUTERS}"
    wait += f". To accept one, annotate ClusterOperator {vocabulary.CLUSTER_OPERATOR} with {_DRAIN}=true"
    seen = f"{'none' if asks is None else asks} requested, {has} available"
    count = Count(min(asks or 0, has), _ROUTERS, "replicas")
    return context.unmet(f"{_ROUTERS} routers of {_ROUTER}", seen, wait, count=count)


def drain_accepted(known: facts.Facts) -> bool:
    """Does an administrator accept that the only router is drained? Without our ClusterOperator nothing is accepted."""
    own = known.own_operator
    return isinstance(own, facts.OwnOperator) and own.router_drain_accepted


def router_alone(known: facts.Facts) -> bool:
    """Is there a single router that its configuration fixes, which the drains after the change will evict?"""
    router = known.ingress_controller
    return isinstance(router, facts.IngressController) and router.wanted_replicas == 1
