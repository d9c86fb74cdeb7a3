"""etcd: are there enough voters, are they healthy, and is the one who says so alive?

Three voters before the change is the promise that everything else serves: with HighlyAvailable the etcd operator scales
only with a healthy quorum, so a topology that changes early can never get one (cluster-etcd-operator
pkg/operator/ceohelpers/bootstrap.go).
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from .. import shell
from ..observe import facts, fields
from . import machines, result

if TYPE_CHECKING:
    from .result import CheckContext, CheckResult

ENDPOINTS = "configmaps/etcd-endpoints in namespace openshift-etcd"
_LOOK = "oc -n openshift-etcd get configmap etcd-endpoints -o yaml"
_MEMBER_ID = re.compile(r"[1-9a-f][0-9a-f]{0,15}\Z")
_HEALTH = (
    ("EtcdMembersAvailable", "True"),
    ("EtcdMembersDegraded", "False"),
    ("EtcdMembersProgressing", "False"),
)
_LEASE = "leases.coordination.k8s.io/openshift-cluster-etcd-operator-lock in namespace openshift-etcd-operator"
LEASE_GRACE = timedelta(seconds=30)


@facts.once
def members(known: facts.Facts) -> dict[str, str] | facts.Unobserved:
    """Voters by member id with their address, or why they are not known.

    The etcd operator keys the ConfigMap by hexadecimal member id. When it could not list members it writes every
    control-plane node keyed by node name instead, which looks like three voters; so a key that equals a node name is
    tested first (`cafe` is both), and neither that nor any other key proves anything. Source: cluster-etcd-operator
    pkg/operator/etcdendpointscontroller/etcdendpointscontroller.go (release-4.22; by node name since release-4.21).
    """
    endpoints = known.etcd_endpoints
    nodes, others = result.every(known.control_plane_nodes), result.every(known.other_nodes)
    if isinstance(endpoints, facts.Unobserved):
        return endpoints
    # The name of a node that cannot be read may be one of the keys.
    if isinstance(nodes, facts.Unobserved):
        return nodes
    if isinstance(others, facts.Unobserved):
        return others
    names = {node.name for node in nodes} | {node.name for node in others}
    voters: dict[str, str] = {}
    for key, value in endpoints.entries:
        if key in names:
            why = f"key {key} is a node name: the etcd operator could not list the members"
            return facts.Unobserved(ENDPOINTS, why)
        if not _MEMBER_ID.match(key):
            return facts.Unobserved(ENDPOINTS, f"key {key} is not a member id")
        address = fields.address(value)
        if address is None:
            return facts.Unobserved(ENDPOINTS, f"member {key} has no IP address")
        voters[key] = address
    return voters


def voting_members(context: CheckContext) -> CheckResult:
    """At least N voters, each at an address of a control-plane node of its own, and none elsewhere.

    Only voters are published: cluster-etcd-operator pkg/operator/etcdendpointscontroller (release-4.22).
    """
    voters, nodes = members(context.facts), result.every(context.facts.control_plane_nodes)
    if isinstance(voters, facts.Unobserved):
        return context.unknown(voters)
    if isinstance(nodes, facts.Unobserved):
        return context.unknown(nodes)
    homes = {address: node.name for node in nodes for address in node.addresses}
    housed = sorted({homes[address] for address in voters.values() if address in homes})
    strangers = sorted(f"{key} at {address}" for key, address in voters.items() if address not in homes)
    wanted = context.spec.at_least or 0
    aim = f"{wanted} etcd voters, each on a control-plane node"
    if strangers:
        text = f"{result.few(strangers)} is no address of a control-plane node"
        return context.unmet(aim, text, f"Look at {_LOOK}")
    if len(housed) < wanted:
        reasons = machines.left_out(context.facts)
        ignored = "".join(
            f"; {node.name} is not home of an etcd voter: {reasons[node.name]}"
            for node in nodes
            if node.name in reasons and node.name not in housed
        )
        seen = f"{len(housed)}: {result.few(housed) or 'none'}{ignored}"
        return context.unmet(aim, seen, f"Look at {_LOOK}", count=result.Count(len(housed), wanted, "voters"))
    return context.met(f"{len(housed)} etcd voters, on {result.listed(housed)}")


def healthy(context: CheckContext) -> CheckResult:
    """The etcd operator reports members available, none degraded, none unstarted; all three conditions present.

    Source: cluster-etcd-operator pkg/operator/etcdmemberscontroller/etcdmemberscontroller.go (release-4.20 to 4.22).
    """
    etcd = context.facts.etcd
    if isinstance(etcd, facts.Unobserved):
        return context.unknown(etcd)
    statuses = {type_: etcd.conditions.status(type_) for type_, _ in _HEALTH}
    wrong = [f"{type_}={statuses[type_]}" for type_, wanted in _HEALTH if statuses[type_] != wanted]
    if not wrong:
        return context.met("All etcd members are started and healthy")
    text = f"etcds.operator.openshift.io/cluster has {', '.join(wrong)}"
    if not set(statuses.values()) <= {"True", "False"}:
        return context.unknown(text)
    return context.unmet(", ".join(f"{type_}={status}" for type_, status in _HEALTH), text)


def scaling_safe(context: CheckContext) -> CheckResult:
    """No override keeps the etcd operator at its rules for one voter.

    With it no roll-out, certificate or removal of a member waits for a quorum, whatever the topology is. No operator
    removes it. Source: cluster-etcd-operator pkg/operator/ceohelpers/bootstrap.go (main).
    """
    etcd = context.facts.etcd
    if isinstance(etcd, facts.Unobserved):
        return context.unknown(etcd)
    if isinstance(etcd.unsafe_scaling, facts.Unobserved):
        return context.unknown(etcd.unsafe_scaling)
    if not etcd.unsafe_scaling:
        return context.met("The etcd operator waits for a quorum")
    key = f"/spec/unsupportedConfigOverrides/{facts.UNSAFE_SCALING}"
    command = shell.command("oc patch etcd cluster --type json -p {}", f'[{{"op":"remove","path":"{key}"}}]')
    seen = "etcds.operator.openshift.io/cluster has an override against that"
    return context.unmet("an etcd operator that waits for a quorum", seen, f"Remove it with: {command}")


def operator_alive(context: CheckContext) -> CheckResult:
    """The etcd operator holds its lease and renews it: conditions outlive their author.

    Past its time, but seen to move by our own clock, the two clocks disagree: Unknown. Source of its name:
    cluster-etcd-operator pkg/cmd/operator/cmd.go; of its times: library-go pkg/config/leaderelection/leaderelection.go
    (release-4.22).
    """
    lease = context.facts.etcd_lease
    if isinstance(lease, facts.Unobserved):
        return context.unknown(lease)
    aim = "an etcd operator that renews its lease"
    if not lease.holder:
        return context.unmet(aim, f"{_LEASE} has no holder")
    if lease.renew_time is None or lease.duration_seconds is None:
        return context.unknown(f"{_LEASE} has no renewTime or no leaseDurationSeconds")
    age = context.now - lease.renew_time
    if age < -LEASE_GRACE:
        return context.unknown(f"{_LEASE} was renewed in the future: the clocks disagree")
    if age <= expiry(lease):
        return context.met("The etcd operator renews its lease")
    if lease.moving:
        return context.unknown(f"{_LEASE} is renewed, but its times are too old: the clocks disagree")
    seen = f"{_LEASE} is held by {lease.holder} but has expired"
    return context.unmet(aim, seen, "Look at the pods in openshift-etcd-operator")


def expiry(lease: facts.Lease) -> timedelta:
    """How long after its last renewal the lease counts as alive."""
    return timedelta(seconds=lease.duration_seconds or 0) + LEASE_GRACE
