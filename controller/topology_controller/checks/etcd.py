"""etcd: are there enough voters, are they healthy, and is the one who says so alive?

Three voters before the change is the promise that everything else serves: with HighlyAvailable the etcd operator scales
only with a healthy quorum, so a topology that changes early can never get one (reference: upstream-controller c.2).
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from ..observe import facts, parse
from . import result

if TYPE_CHECKING:
    from .result import CheckContext, CheckResult

ENDPOINTS = "configmaps/etcd-endpoints in namespace openshift-etcd"
_MEMBER_ID = re.compile(r"[1-9a-f][0-9a-f]{0,15}\Z")
_HEALTH = (
    ("EtcdMembersAvailable", "True"),
    ("EtcdMembersDegraded", "False"),
    ("EtcdMembersProgressing", "False"),
)
_LEASE = "leases.coordination.k8s.io/openshift-cluster-etcd-operator-lock in namespace openshift-etcd-operator"
LEASE_GRACE = timedelta(seconds=30)


def members(known: facts.Facts) -> dict[str, str] | facts.Unobserved:
    """Voters by member id with their address, or why they cannot be told.

    The etcd operator keys the ConfigMap by hexadecimal member id. When it could not list members it writes every
    control-plane node keyed by node name instead, which looks like three voters; so a key that equals a node name is
    tested first (`cafe` is both), and neither that nor any other key proves anything. Source: cluster-etcd-operator
    pkg/operator/etcdendpointscontroller/etcdendpointscontroller.go (release-4.22; by node name since release-4.21).
    """
    found, nodes, others = known.etcd_endpoints, known.control_plane_nodes, known.other_nodes
    if isinstance(found, facts.Unobserved):
        return found
    for group in (nodes, others):
        if isinstance(group, facts.Unobserved):
            return group
        for node in group:
            if isinstance(node, facts.Unobserved):
                # Its name may be one of the keys.
                return node
    names = {
        node.name
        for group in (nodes, others)
        if not isinstance(group, facts.Unobserved)
        for node in group
        if not isinstance(node, facts.Unobserved)
    }
    voters: dict[str, str] = {}
    for key, value in found.entries:
        if key in names:
            return facts.Unobserved(
                ENDPOINTS, f"key {key} is a node name: the etcd operator could not list the members"
            )
        if not _MEMBER_ID.match(key):
            return facts.Unobserved(ENDPOINTS, f"key {key} is not a member id")
        where = parse.address(value)
        if where is None:
            return facts.Unobserved(ENDPOINTS, f"member {key} has no IP address")
        voters[key] = where
    return voters


def voters(known: facts.Facts) -> frozenset[str] | facts.Unobserved:
    """Addresses of the voters."""
    found = members(known)
    return found if isinstance(found, facts.Unobserved) else frozenset(found.values())


def voting_members(context: CheckContext) -> CheckResult:
    """At least N voters, each at an address of a control-plane node of its own, and none elsewhere.

    Only voters are published: cluster-etcd-operator pkg/operator/etcdendpointscontroller (release-4.22).
    """
    found = members(context.facts)
    if isinstance(found, facts.Unobserved):
        return context.unknown(found)
    nodes = context.facts.control_plane_nodes
    # Where they cannot be read `members` has no answer either; a voter without a home would be Unmet here.
    known = () if isinstance(nodes, facts.Unobserved) else nodes
    homes = {address: node.name for node in known if isinstance(node, facts.Node) for address in node.addresses}
    housed = {homes[where] for where in found.values() if where in homes}
    strangers = sorted(f"{key} at {where}" for key, where in found.items() if where not in homes)
    wanted = context.spec.at_least or 0
    if strangers:
        return context.unmet(
            f"Wanted: {wanted} etcd voters, each on a control-plane node. Found: {result.listed(strangers)} "
            f"is no address of a control-plane node. Look at {ENDPOINTS}"
        )
    if len(housed) < wanted:
        return context.unmet(
            f"Wanted: {wanted} etcd voters, each on a control-plane node. Found: {len(housed)}: "
            f"{result.listed(sorted(housed)) or 'none'}. A learner becomes a voter once it has caught up, and none is "
            f"added while a member is unhealthy. Look at {ENDPOINTS}"
        )
    return context.met(f"{len(housed)} etcd voters, on {result.listed(sorted(housed))}")


def healthy(context: CheckContext) -> CheckResult:
    """The etcd operator reports members available, none degraded, none unstarted; all three conditions present.

    Source: cluster-etcd-operator pkg/operator/etcdmemberscontroller/etcdmemberscontroller.go (release-4.20 to 4.22).
    """
    found = context.facts.etcd
    if isinstance(found, facts.Unobserved):
        return context.unknown(found)
    wrong = [
        f"{type_}={found.conditions.status(type_)}"
        for type_, wanted in _HEALTH
        if found.conditions.status(type_) != wanted
    ]
    if not wrong:
        return context.met("All etcd members are started and healthy")
    text = f"etcds.operator.openshift.io/cluster has {', '.join(wrong)}"
    if any(found.conditions.status(type_) not in {"True", "False"} for type_, _ in _HEALTH):
        return context.unknown(text)
    wanted_text = ", ".join(f"{type_}={status}" for type_, status in _HEALTH)
    return context.unmet(f"Wanted: {wanted_text}. Found: {text}")


def operator_alive(context: CheckContext) -> CheckResult:
    """The etcd operator holds its lease and renews it: conditions outlive their author.

    Past its time, but seen to move by our own clock, the two clocks disagree: Unknown. Source of its name:
    cluster-etcd-operator pkg/cmd/operator/cmd.go; of its times: library-go pkg/config/leaderelection/leaderelection.go
    (release-4.22).
    """
    lease = context.facts.etcd_lease
    if isinstance(lease, facts.Unobserved):
        return context.unknown(lease)
    if not lease.holder:
        return context.unmet(f"Wanted: an etcd operator that renews its lease. Found: nobody holds {_LEASE}")
    if lease.renew_time is None or lease.duration_seconds is None:
        return context.unknown(f"{_LEASE} has no renewTime or no leaseDurationSeconds")
    age = context.now - lease.renew_time
    if age < -LEASE_GRACE:
        return context.unknown(f"{_LEASE} was renewed in the future: the clocks disagree")
    if age <= expiry(lease):
        return context.met("The etcd operator renews its lease")
    if lease.moving:
        return context.unknown(f"{_LEASE} is renewed, but its times are too old: the clocks disagree")
    return context.unmet(
        f"Wanted: an etcd operator that renews its lease. Found: {_LEASE} is held by {lease.holder} but has expired. "
        "Look at the pods in openshift-etcd-operator"
    )


def expiry(lease: facts.EtcdLease) -> timedelta:
    """How long after its last renewal the lease counts as alive."""
    return timedelta(seconds=lease.duration_seconds or 0) + LEASE_GRACE
