"""What stands before the control plane: does it lead to every node, and who could know?

A cluster that keeps the address of its API itself follows its nodes. Everywhere else a load balancer and names lead to
it that nothing inside can look at, and after a single node has grown they usually still lead to that node: the cluster
survives no loss of it. So an administrator confirms it, with the addresses and not with a yes: they are compared with
the nodes, and a node that comes later is not among them. `manager` is the one place that says who manages the load
balancer; the advisory asks for the confirmation, and the check, where it is asked, waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from topology_api import types, vocabulary
from topology_api.vocabulary import AdvisoryName, CheckStatus, Topology

from .. import shell
from ..observe import facts
from ..observe import load_balancer as observed
from . import result
from .result import Count, Finding

if TYPE_CHECKING:
    from topology_api.types import Advisory, TopologyPair, TopologyTransition

    from .result import CheckContext, CheckResult

_NONE_OF_ITS_OWN = frozenset({"None", "External"})
_MAY_MANAGE = frozenset({"BareMetal", "Nutanix", "OpenStack", "VSphere"})
_USER, _CLUSTER = "UserManaged", "OpenShiftManagedDefault"
_ANNOTATION = vocabulary.LOAD_BALANCER_BACKENDS_ANNOTATION
_WHERE = f"annotation {_ANNOTATION} of ClusterOperator {vocabulary.CLUSTER_OPERATOR}"
_EXAMPLE = "192.0.2.10,192.0.2.11,192.0.2.12"
_NODES = "oc get nodes -l node-role.kubernetes.io/control-plane -o wide"
_TO_DO = (
    "Let the load balancer lead to every control-plane node on 6443 and, from inside only, 22623; then the command "
    "confirms it"
)
_TO_DO_BY_HAND = (
    "No command can name these nodes: put the addresses of those that the command shows into the annotation"
)
_COMMAND_LIMIT: Final = min(types.MESSAGE_LIMIT, observed.LONGEST)
_MOST_QUOTED: Final = 3
_LONGEST_QUOTE: Final = 40


class Manager(Enum):
    """Who manages the load balancer."""

    OUTSIDE = auto()
    CLUSTER = auto()
    UNKNOWN = auto()
    NOT_ASKED = auto()


@dataclass(frozen=True, slots=True)
class Managed:
    """Who manages it, and how that is known: a sentence without its full stop."""

    by: Manager
    why: str


def manager(infrastructure: facts.Fact[facts.Infrastructure]) -> Managed:
    """Who manages the load balancer of the control plane. Never the cluster unless it says where it keeps its API.

    A type that this version does not know, and a load balancer of the cluster's own without an address, are Unknown; on
    vSphere no address means that the user has provided the infrastructure. Source: openshift/api
    config/v1/types_infrastructure.go (PlatformLoadBalancerType), openshift/origin
    pkg/monitortests/.../onpremhaproxy (where the load balancer's static pods are deployed).
    """
    if isinstance(infrastructure, facts.Unobserved):
        return Managed(Manager.UNKNOWN, str(infrastructure))
    platform, front = infrastructure.platform, infrastructure.load_balancer
    if platform is None:
        return Managed(Manager.UNKNOWN, "Infrastructure cluster names no platform")
    if platform in _NONE_OF_ITS_OWN:
        return Managed(Manager.OUTSIDE, f"On platform {platform} the cluster manages no load balancer")
    if platform not in _MAY_MANAGE:
        return Managed(
            Manager.NOT_ASKED, f"On platform {platform} the load balancer is not the administrator's to see to"
        )
    if isinstance(front, facts.Unobserved):
        return Managed(Manager.UNKNOWN, str(front))
    if front.type == _USER:
        return Managed(Manager.OUTSIDE, f"On this {platform} the load balancer is {_USER}")
    if front.type not in {None, _CLUSTER}:
        return Managed(
            Manager.UNKNOWN,
            f"Infrastructure cluster has loadBalancer.type {_quoted(front.type or '')}, and this version knows "
            f"{_CLUSTER} and {_USER}",
        )
    if front.addresses:
        addresses = result.listed(front.addresses)
        return Managed(Manager.CLUSTER, f"The cluster manages its load balancer itself, at {addresses}")
    if platform == "VSphere":
        return Managed(Manager.OUTSIDE, "This VSphere has no apiServerInternalIPs: its load balancer is the user's")
    return Managed(
        Manager.UNKNOWN,
        f"Infrastructure cluster says that the cluster manages its load balancer on platform {platform}, and has no "
        "apiServerInternalIPs for it",
    )


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The annotation beside the nodes: which of them it confirms, and what is wrong with it.

    Nodes are in the order of their names. `strangers` are addresses of no control-plane node; like `repeated`, they
    keep nothing from being confirmed.
    """

    confirmed: tuple[facts.Node, ...]
    missing: tuple[facts.Node, ...]
    strangers: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    wrong: str = ""
    """Why the annotation cannot be used, empty when it can."""
    given: frozenset[str] = frozenset()

    @property
    def complete(self) -> bool:
        """Every node is confirmed, by an annotation in which nothing is wrong."""
        return not (self.missing or self.wrong)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be said of entries that keep nothing from being confirmed."""
        strangers = f"No control-plane node has {result.listed(self.strangers)}" if self.strangers else ""
        repeated = f"It lists {result.listed(self.repeated)} more than once" if self.repeated else ""
        return tuple(filter(None, (strangers, repeated)))

    @property
    def command(self) -> str:
        """The command that confirms every node, or that shows them where it would be too long, or they have no address.

        Of a node with several addresses the one that is confirmed already, else IPv4.
        """
        nodes = sorted((*self.confirmed, *self.missing), key=lambda node: node.name)
        chosen = [min(node.addresses, key=self._rank) for node in nodes if node.addresses]
        command = shell.command(
            "oc annotate clusteroperator {} --overwrite {}={}",
            vocabulary.CLUSTER_OPERATOR,
            _ANNOTATION,
            ",".join(chosen),
        )
        return command if chosen and len(command) <= _COMMAND_LIMIT else _NODES

    def _rank(self, address: str) -> tuple[bool, bool, str]:
        return address not in self.given, ":" in address, address


def compare(nodes: list[facts.Node], backends: facts.Backends | None) -> Confirmation:
    """Compare the annotation with the control-plane nodes: one InternalIP of each has to be there."""
    ordered = sorted(nodes, key=lambda node: node.name)
    if backends is None:
        return Confirmation((), tuple(ordered))
    given = frozenset(backends.addresses)
    own = {address for node in ordered for address in node.addresses}
    return Confirmation(
        confirmed=tuple(node for node in ordered if given.intersection(node.addresses)),
        missing=tuple(node for node in ordered if not given.intersection(node.addresses)),
        strangers=tuple(address for address in backends.addresses if address not in own),
        repeated=backends.repeated,
        wrong=_wrong(backends),
        given=given,
    )


def _wrong(backends: facts.Backends) -> str:
    if backends.too_long:
        return f"it is longer than {observed.LONGEST} bytes, and was not read"
    if not backends.wrong:
        return ""
    entries = [f"entry {position} ({_quoted(text)})" for position, text in backends.wrong]
    is_no = "is no address" if len(entries) == 1 else "are no addresses"
    return f"{result.listed(entries, _MOST_QUOTED)} {is_no}: write {_EXAMPLE}"


def _quoted(text: str) -> str:
    """Quote what may be anything: nothing in it looks like a line or an escape of a terminal."""
    short = text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."
    return f'"{ascii(short)[1:-1]}"'


def backends(context: CheckContext) -> CheckResult:
    """Is every control-plane node confirmed to be behind the load balancer, where the cluster does not manage it?"""
    known = context.facts
    managed = manager(known.infrastructure)
    if managed.by is Manager.UNKNOWN:
        return context.unknown(managed.why)
    if managed.by is not Manager.OUTSIDE:
        return context.met(managed.why)
    nodes, annotation = result.every(known.control_plane_nodes), _annotation(known)
    if isinstance(annotation, facts.Unobserved):
        return context.unknown(annotation)
    if isinstance(nodes, facts.Unobserved):
        return context.unknown(nodes)
    if not nodes:
        return context.unknown("no node has label node-role.kubernetes.io/control-plane")
    confirmation = compare(nodes, annotation)
    findings = tuple(_finding(node, confirmation) for node in (*confirmation.confirmed, *confirmation.missing))
    if confirmation.complete:
        text = (
            f"{_WHERE} names {_named(confirmation.confirmed)}; nothing inside the cluster can look at the load balancer"
        )
        return context.met(". ".join((f"As {text}", *confirmation.remarks)), findings)
    wanted = f"{_named(confirmation.missing) or 'addresses only'} in {_WHERE}"
    then = f"See advisory {AdvisoryName.LOAD_BALANCER_BACKENDS_UNCONFIRMED}"
    if not context.definition.changes_control_plane:
        # No advisory has the command, and it names annotation and addresses.
        wanted = "every control-plane node confirmed to be behind the load balancer"
        then = f"Once it leads to every node: {confirmation.command}"
    count = Count(len(confirmation.confirmed), len(nodes), "nodes")
    seen = result.sentences(_found(annotation, confirmation), *confirmation.remarks)
    return context.unmet(wanted, seen, then, findings, count)


def _finding(node: facts.Node, confirmation: Confirmation) -> Finding:
    confirmed = node in confirmation.confirmed
    text = "is confirmed" if confirmed else "is not confirmed to be behind the load balancer"
    return Finding("Node", node.name, CheckStatus.MET if confirmed else CheckStatus.UNMET, f"{node.name} {text}")


def _annotation(known: facts.Facts) -> facts.Fact[facts.Backends | None]:
    """What an administrator says; without our ClusterOperator nothing is said."""
    own = known.own_operator
    if isinstance(own, facts.Unobserved):
        return None if own.missing else own
    return own.backends


def _found(backends: facts.Backends | None, confirmation: Confirmation) -> str:
    if backends is None:
        return "no such annotation"
    return confirmation.wrong or result.listed(backends.addresses) or "no address"


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
    managed = manager(infrastructure)
    if managed.by is not Manager.OUTSIDE or isinstance(nodes, facts.Unobserved) or not nodes:
        return None
    if not _changes(infrastructure, target, record):
        return None
    confirmation = compare(nodes, annotation)
    if confirmation.complete:
        return None
    front = infrastructure.load_balancer
    hosts = [] if isinstance(front, facts.Unobserved) else [front.api_host, front.api_internal_host]
    names = list(dict.fromkeys(filter(None, hosts)))
    sentences = (
        f"{managed.why}, and nothing inside can see where {' and '.join(names) or 'api and api-int'} lead",
        *(
            f"{name} is node {node.name} itself: without it there is no API"
            for name in names
            for node in nodes
            if name in node.addresses
        ),
        f"Not confirmed: {_named(confirmation.missing)}" if confirmation.missing else "",
        f"Confirmed: {_named(confirmation.confirmed)}" if confirmation.confirmed else "",
        f"Of {_WHERE} {confirmation.wrong}" if confirmation.wrong else "",
        *confirmation.remarks,
        _TO_DO if confirmation.command != _NODES else _TO_DO_BY_HAND,
    )
    message = ". ".join(filter(None, sentences))
    return result.advisory(AdvisoryName.LOAD_BALANCER_BACKENDS_UNCONFIRMED, message, confirmation.command)


def _changes(infrastructure: facts.Infrastructure, target: TopologyPair, record: TopologyTransition | None) -> bool:
    """Does the transition to `target`, or the one of the record, change the control plane to one of several nodes?"""
    before = record.source.control_plane if record is not None and record.source is not None else None
    if before is None and (record is None or record.admitted_time is None):
        before = infrastructure.control_plane
    return target.control_plane not in {before, Topology.SINGLE_REPLICA}
