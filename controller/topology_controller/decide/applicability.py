"""When this operator must not act: the cluster is of another kind, or another controller is in charge.

Every answer is a reason of condition Disabled with a message that says whom to turn to. A value that is not known is
treated like External: refused and explained, never taken for something that it resembles.

The native controller (cluster-config-operator PR 495) knows of us only what every ClusterOperator reports, and starts
nothing while one is not at rest. So it is always we who stand down, before anything else is judged, and an operator
that stands down is neither Progressing nor Degraded. Condition Disabled says whether we did: False, with the Lease
renewed, is our claim; True with reason NativeControllerActive gives it back, since its lastTransitionTime. There is no
annotation beside it: it would cost the right to write more of ClusterOperators than status.
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

    from .state import LeaderState

_INFRASTRUCTURE_TOPOLOGIES = frozenset({Topology.SINGLE_REPLICA, Topology.HIGHLY_AVAILABLE})
_LEASE, _RETRY = timedelta(seconds=137), timedelta(seconds=26)
_SINGLE_LEASE, _SINGLE_RETRY = timedelta(seconds=270), timedelta(seconds=60)
"""Lease duration and retry period of an operator of OpenShift, and those on a single node: library-go
pkg/config/leaderelection/leaderelection.go. They are chosen when a process starts."""
_JITTER = 1.2
_START = timedelta(seconds=18)
_GATE_ON = "Feature gate MutableTopology is on, but the native controller"
_WE_ACT = "this operator acts on spec.desiredTopology"
_NATIVE_MISSING = f"{_GATE_ON} has not shown up: {_WE_ACT}"
_NATIVE_SILENT = (
    f"{_GATE_ON} shows no sign of life: Lease config-operator-lock in namespace openshift-config-operator is not "
    f"renewed. So {_WE_ACT}. Look at the pods in openshift-config-operator"
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
        single = {"controlPlaneTopology": Topology.SINGLE_REPLICA, "infrastructureTopology": Topology.SINGLE_REPLICA}
        body = json.dumps({"status": single}, separators=(",", ":"))
        write = shell.command("oc patch infrastructure cluster --subresource status --type merge -p {}", body)
        unknown = (
            "Infrastructure cluster has no status.controlPlaneTopology, as before OpenShift 4.8. On a single node, "
            f"which restarts then, set it with: {write}"
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
        return Cause(Reason.NATIVE_CONTROLLER_ACTIVE, f"{NATIVE_ACTS}{_handed_over(known, infrastructure)}")
    return None


NATIVE_ACTS = "The controller of cluster-config-operator (feature gate MutableTopology) changes the topology"


def _handed_over(known: facts.Facts, infrastructure: facts.Infrastructure) -> str:
    """How a request reaches it: the only change that it makes, and that the API lets through, is from one node on.

    One command, the next; `explain NativeControllerActive` has all of them, in their order.
    """
    here, desired, native = infrastructure.control_plane, infrastructure.desired, infrastructure.native_desired
    single, installed = here == Topology.SINGLE_REPLICA, known.installed
    lacks = isinstance(installed, facts.Installed) and installed.lacks is not None
    if native is None and isinstance(installed, facts.Installed) and not installed.native:
        text = f". The served definition of Infrastructure has no spec.{vocabulary.NATIVE_DESIRED}"
        if lacks:
            return f"{text}, so it cannot be requested of it: wait until it is served"
        return f"{text}: our patch keeps it out. Take the patch out with: sh crd-patch.sh remove"
    if single and desired == Topology.HIGHLY_AVAILABLE != native:
        return f". It does not read spec.desiredTopology; hand the request over with: {_native_request(desired)}"
    if single and lacks and native is None and desired is None:
        # Our field is not served, so what is wanted cannot be requested with it.
        return f". To request {Topology.HIGHLY_AVAILABLE} of it: {_native_request(Topology.HIGHLY_AVAILABLE)}"
    if native not in {None, here} and not (single and native == Topology.HIGHLY_AVAILABLE):
        # What is fulfilled is always accepted.
        request = _native_request(here)
        return f". No transition of it leads to {native}, which blocks upgrades. Take it back with: {request}"
    return ""


def _native_request(topology: str | None) -> str:
    body = json.dumps({"spec": {vocabulary.NATIVE_DESIRED: topology}}, separators=(",", ":"))
    return shell.command("oc patch infrastructure cluster --type merge -p {}", body)


def native_in_charge(known: facts.Facts) -> bool:
    """Does the native controller change the topology? Its conditions outlive it, so the gate has to be on as well."""
    return gate(known) and native_present(known)


def gate(known: facts.Facts) -> bool:
    """Is MutableTopology on for the version that runs? When that is not known, we stand down."""
    return known.mutable_topology is True


def gate_needs_version(known: facts.Facts) -> bool:
    """Do the versions that are in play differ about the gate, while it is not known which of them runs?

    So it is around an upgrade, and after a downgrade: there ClusterVersion alone says who is in charge.
    """
    gates = known.feature_gates
    if isinstance(gates, facts.Unobserved) or not isinstance(known.cluster_version, facts.Unobserved):
        return False
    return len({on for _, on in gates.mutable_topology}) > 1


def native_present(known: facts.Facts) -> bool:
    """Is the native controller there? Its conditions are, and its process has not been silent for its grace.

    A Lease that cannot be read, or does not exist, is no sign of its death.
    """
    native = known.native_controller
    return not isinstance(native, facts.Unobserved) and native.present and not _silent(known)


def _silent(known: facts.Facts) -> bool:
    return isinstance(known.native_lease, facts.Lease) and known.native_lease.silent


def native_grace(known: facts.Facts) -> timedelta:
    """How long the native controller may show no sign of life: its Lease, one retry with its jitter, and its start.

    After it was ended, the next process takes the Lease only when it has expired: 328.7 s were measured on a single
    node (cluster-config-operator 3c62e476). A process from before the change still has the Lease of a single node.
    """
    infrastructure, lease = known.infrastructure, known.native_lease
    single = isinstance(infrastructure, facts.Infrastructure) and (
        infrastructure.control_plane == Topology.SINGLE_REPLICA
    )
    seconds = lease.duration_seconds if isinstance(lease, facts.Lease) else None
    if single or (seconds or 0) > _LEASE.total_seconds():
        return _SINGLE_LEASE + _JITTER * _SINGLE_RETRY + _START
    return _LEASE + _JITTER * _RETRY + _START


def native_unreadable(known: facts.Facts) -> facts.Unobserved | None:
    """Why it is not known whether the native controller is in charge; an object that does not exist is no reason."""
    for fact in (known.feature_gates, known.native_controller):
        if isinstance(fact, facts.Unobserved) and not fact.missing:
            return fact
    return None


def native_awaited(known: facts.Facts, leader: LeaderState, now: datetime) -> float | None:
    """Seconds for which a native controller that is switched on may still show up, None when it need not be awaited.

    Counted from its last sign: when this leader first saw the gate on, or last saw the controller there. One whose
    process has just begun may write its first conditions at any moment.
    """
    if not gate(known) or native_present(known) or _silent(known):
        return None
    grace, lease = native_grace(known), known.native_lease
    left = ((leader.gate_since or leader.since) + grace - now).total_seconds()
    if left > 0:
        return left
    return grace.total_seconds() if isinstance(lease, facts.Lease) and lease.taken else None


def idle_note(known: facts.Facts, infrastructure: facts.Infrastructure) -> str:
    """What Progressing adds while nothing is requested: that the native controller is off, or missing."""
    desired = infrastructure.native_desired
    if gate(known):
        if native_present(known):
            return ""
        return _NATIVE_SILENT if _silent(known) else _NATIVE_MISSING
    if desired is None or desired == infrastructure.control_plane or infrastructure.desired:
        return ""
    return (
        f"No controller acts on spec.controlPlaneTopology {desired} while feature gate MutableTopology is off; "
        "this operator reads spec.desiredTopology"
    )
