"""When this operator must not act: the cluster is of another kind, or another controller is in charge.

Every answer is a reason of condition Disabled (DESIGN section 9) with a message that says whom to turn to. A value that
is not known is treated like External: refused and explained, never taken for something that it resembles.

The native controller (reference: native-controller-and-handover A3) knows nothing of us, so it is always we who stand
down. Condition Disabled says whether we did: False, with the Lease renewed, is our claim; True with reason
NativeControllerActive gives it back, since its lastTransitionTime. There is no annotation beside it: it would cost the
right to write more of ClusterOperators than status.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from topology_api import vocabulary
from topology_api.vocabulary import EXTERNAL, Reason, Topology

from .. import shell
from ..observe import facts
from .decision import Cause

if TYPE_CHECKING:
    from datetime import datetime

    from .leader import LeaderState

_INFRASTRUCTURE_TOPOLOGIES = frozenset({Topology.SINGLE_REPLICA, Topology.HIGHLY_AVAILABLE})
NATIVE_GRACE = timedelta(seconds=137)
"""How long a native controller whose gate is on, but that has not shown up, is waited for: one lease duration."""
_NATIVE_MISSING = (
    "Feature gate MutableTopology is on, but the native controller has not shown up: "
    "this operator acts on spec.desiredTopology"
)


def disabled(known: facts.Facts, infrastructure: facts.Infrastructure) -> Cause | None:
    """Why nothing may be done here, or None."""
    control_plane = infrastructure.control_plane
    if control_plane == EXTERNAL:
        return Cause(
            Reason.HOSTED_CONTROL_PLANE,
            "The control plane is hosted: its availability is set on the management cluster. There "
            "controllerAvailabilityPolicy is fixed when a HostedCluster is made; infrastructureAvailabilityPolicy can "
            "be changed",
        )
    unknown = ""
    if control_plane is None:
        unknown = (
            "Infrastructure cluster has no status.controlPlaneTopology: the installer or cluster-config-operator "
            "writes it; nothing is done until it is there"
        )
    elif control_plane not in set(Topology):
        unknown = (
            f"Infrastructure cluster has status.controlPlaneTopology {control_plane}, which this version does not know"
        )
    elif infrastructure.infrastructure not in _INFRASTRUCTURE_TOPOLOGIES:
        value = infrastructure.infrastructure or "no value"
        unknown = f"Infrastructure cluster has status.infrastructureTopology {value}, which this version does not know"
    if unknown:
        return Cause(Reason.UNKNOWN_TOPOLOGY, unknown)
    if infrastructure.image_based_install:
        return Cause(
            Reason.IMAGE_BASED_INSTALL,
            f"Infrastructure cluster carries label {vocabulary.IMAGE_BASED_INSTALL_LABEL}: the topology of a cluster "
            "that was installed from an image is fixed by that image",
        )
    if native_in_charge(known):
        return Cause(Reason.NATIVE_CONTROLLER_ACTIVE, _handed_over(infrastructure))
    return None


def _handed_over(infrastructure: facts.Infrastructure) -> str:
    text = (
        "The controller of cluster-config-operator (feature gate MutableTopology) changes the topology of this cluster"
    )
    if infrastructure.desired and infrastructure.desired != infrastructure.native_desired:
        body = json.dumps({"spec": {"controlPlaneTopology": infrastructure.desired}}, separators=(",", ":"))
        command = shell.command("oc patch infrastructure cluster --type merge -p {}", body)
        text += f". It does not read spec.desiredTopology; hand the request over with: {command}"
    return text


def native_in_charge(known: facts.Facts) -> bool:
    """Does the native controller change the topology? Its conditions outlive it, so the gate has to be on as well."""
    return gate(known) and native_present(known)


def gate(known: facts.Facts) -> bool:
    """Is MutableTopology on for the version that runs? When that is not known, we stand down."""
    gates = known.feature_gates
    if isinstance(gates, facts.Unobserved):
        return False
    entries = dict(gates.mutable_topology)
    version = known.cluster_version
    if not isinstance(version, facts.Unobserved) and version.version in entries:
        return entries[version.version]
    return any(entries.values())


def gate_needs_version(known: facts.Facts) -> bool:
    """Do the versions that are in play differ about the gate, while it is not known which of them runs?

    So it is around an upgrade, and after a downgrade: there ClusterVersion alone says who is in charge.
    """
    gates = known.feature_gates
    if isinstance(gates, facts.Unobserved) or not isinstance(known.cluster_version, facts.Unobserved):
        return False
    return len({on for _, on in gates.mutable_topology}) > 1


def native_present(known: facts.Facts) -> bool:
    """Does the native controller leave its conditions on configs.operator.openshift.io/cluster?"""
    native = known.native_controller
    return not isinstance(native, facts.Unobserved) and native.present


def native_unreadable(known: facts.Facts) -> facts.Unobserved | None:
    """Why it is not known whether the native controller is in charge; an object that does not exist is no reason."""
    for fact in (known.feature_gates, known.native_controller):
        if isinstance(fact, facts.Unobserved) and not fact.missing:
            return fact
    return None


def native_awaited(known: facts.Facts, leader: LeaderState, now: datetime) -> float | None:
    """Seconds for which a native controller that is switched on may still show up, None when it need not be awaited.

    Counted from when this leader first saw the gate on: it may be switched on at any time.
    """
    if not gate(known) or native_present(known):
        return None
    left = ((leader.gate_since or leader.since) + NATIVE_GRACE - now).total_seconds()
    return left if left > 0 else None


def idle_note(known: facts.Facts, infrastructure: facts.Infrastructure) -> str:
    """What Progressing adds while nothing is requested: that the native controller is off, or missing."""
    desired = infrastructure.native_desired
    if gate(known):
        return "" if native_present(known) else _NATIVE_MISSING
    if desired is None or desired == infrastructure.control_plane or infrastructure.desired:
        return ""
    return (
        f"No controller acts on spec.controlPlaneTopology {desired} while feature gate MutableTopology is off; "
        "this operator reads spec.desiredTopology"
    )
