"""When this operator must not act: the cluster is of another kind, or another controller is in charge.

A value that is not known is treated like External: refused and explained. The native controller (PR 495, 499 of
cluster-config-operator) starts nothing while a ClusterOperator is not at rest. So it is always we who stand down, first
of all. Where its transition is, is read from its conditions on configs.operator.openshift.io/cluster: the older version
writes Progressing and Upgradeable in one update, the newer one only Upgradeable. So that is what is gone by; the words
come from Progressing where both have the same reason.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from topology_api import vocabulary
from topology_api.types import NATIVE_ATTEMPT, TopologyPair, TopologyTransition, fit, whole_seconds
from topology_api.vocabulary import EXTERNAL, Phase, Reason, Topology

from ..checks import advisories
from ..checks.result import first_reason, worded
from ..definitions import model
from ..observe import facts
from . import baseline, records
from .state import Cause, Context, LeaderState

_INFRASTRUCTURE_TOPOLOGIES = frozenset({Topology.SINGLE_REPLICA, Topology.HIGHLY_AVAILABLE})
_GRACE = timedelta(seconds=facts.USUAL_LEASE + 1.2 * 26 + 18)
_SINGLE_GRACE = timedelta(seconds=facts.SINGLE_NODE_LEASE + 1.2 * 60 + 18)
"""Duration of the Lease of an operator, a retry period with its jitter, and its start; the same on a single node."""
_UPGRADEABLE, _PROGRESSING = advisories.NATIVE_BLOCKS
_ROUTE = (
    TopologyPair(control_plane=Topology.SINGLE_REPLICA, infrastructure=Topology.SINGLE_REPLICA),
    TopologyPair(control_plane=Topology.HIGHLY_AVAILABLE, infrastructure=Topology.HIGHLY_AVAILABLE),
)
"""From where to where its one transition leads."""
_SHORTEST = 32  # characters of its words below which they say nothing
NATIVE_ACTS = "The controller of cluster-config-operator (feature gate MutableTopology) changes the topology"


def disabled(known: facts.Facts, infrastructure: facts.Infrastructure) -> Cause | None:
    """Why nothing may be done here, or None."""
    control_plane, value = infrastructure.control_plane, infrastructure.infrastructure
    if control_plane == EXTERNAL:
        return Cause(Reason.HOSTED_CONTROL_PLANE, worded("HostedControlPlane"))
    if control_plane is None:
        return Cause(Reason.UNKNOWN_TOPOLOGY, worded("NoTopology"))
    if unknown := first_reason(
        (control_plane not in set(Topology), f"status.controlPlaneTopology {control_plane}"),
        (value not in _INFRASTRUCTURE_TOPOLOGIES, f"status.infrastructureTopology {value or 'no value'}"),
    ):
        return Cause(Reason.UNKNOWN_TOPOLOGY, worded("UnknownTopology", unknown=unknown))
    if infrastructure.image_based_install:
        label = vocabulary.IMAGE_BASED_INSTALL_LABEL
        return Cause(Reason.IMAGE_BASED_INSTALL, worded("ImageBasedInstall", label=label))
    if native_in_charge(known):
        return Cause(Reason.NATIVE_CONTROLLER_ACTIVE, f"{NATIVE_ACTS}{_handed_over(known, infrastructure)}")
    return None


def _handed_over(known: facts.Facts, infrastructure: facts.Infrastructure) -> str:
    """The next command by which a request reaches it (`explain` has all): it only leads away from one node."""
    here, desired, native = infrastructure.control_plane, infrastructure.desired, infrastructure.native_desired
    single, installed = here == Topology.SINGLE_REPLICA, known.installed
    request = records.request(Topology.HIGHLY_AVAILABLE, vocabulary.NATIVE_DESIRED)
    if native is None and isinstance(installed, facts.Installed) and not installed.native:
        text = f". The served definition of Infrastructure has no spec.{vocabulary.NATIVE_DESIRED}"
        if known.lacks:
            return f"{text}, so it cannot be requested of it: wait until it is served"
        return f"{text}: our patch keeps it out. Take the patch out with: sh crd-patch.sh remove"
    if single and desired == Topology.HIGHLY_AVAILABLE != native:
        return f". It does not read spec.desiredTopology; hand the request over with: {request}"
    if single and known.lacks and native is None and desired is None:
        # Our field is not served, so what is wanted cannot be requested with it.
        return f". To request {Topology.HIGHLY_AVAILABLE} of it: {request}"
    if native not in {None, here} and not (single and native == Topology.HIGHLY_AVAILABLE):
        # What is fulfilled is always accepted.
        back = records.request(here, vocabulary.NATIVE_DESIRED)
        return f". No transition of it leads to {native}, which blocks upgrades. Take it back with: {back}"
    return ""


def native_in_charge(known: facts.Facts) -> bool:
    """Does the native controller change the topology? Its conditions outlive it, so the gate has to be on as well."""
    return known.mutable_topology is True and _present(known)


def _present(known: facts.Facts) -> bool:
    """Is the native controller there? Its conditions are, and its process has not been silent for its grace."""
    native = known.native_controller
    return not isinstance(native, facts.Unobserved) and native.present and not _silent(known)


def _silent(known: facts.Facts) -> bool:
    """A Lease that cannot be read, or does not exist, is no sign of its death."""
    return isinstance(known.native_lease, facts.Lease) and known.native_lease.silent


def gate_needs_version(known: facts.Facts) -> bool:
    """Do the versions of an upgrade or a downgrade differ about the gate, while it is not known which of them runs?"""
    gates = known.feature_gates
    if isinstance(gates, facts.Unobserved) or not isinstance(known.cluster_version, facts.Unobserved):
        return False
    return len({on for _, on in gates}) > 1


def native_grace(known: facts.Facts) -> timedelta:
    """How long the native controller may show no sign of life."""
    # 328.7 s were measured on a single node (cluster-config-operator 3c62e476). A process from before the change still
    # has the Lease of a single node.
    lease = known.native_lease
    seconds = lease.duration_seconds if isinstance(lease, facts.Lease) else None
    return _SINGLE_GRACE if known.single_node or (seconds or 0) > facts.USUAL_LEASE else _GRACE


def native_unreadable(known: facts.Facts) -> facts.Unobserved | None:
    """Why it is not known whether the native controller is in charge; an object that does not exist is no reason."""
    shown_by = (known.feature_gates, known.native_controller)
    return next((fact for fact in shown_by if isinstance(fact, facts.Unobserved) and not fact.missing), None)


def native_awaited(known: facts.Facts, leader: LeaderState, now: datetime) -> float | None:
    """Seconds, from its last sign, for which a native controller that is on may still show up; None: it will not."""
    if known.mutable_topology is not True or _present(known) or _silent(known):
        return None
    grace, lease = native_grace(known), known.native_lease
    left = ((leader.gate_since or leader.since) + grace - now).total_seconds()
    if left > 0:
        return left
    # One whose process has just begun may write its first conditions at any moment.
    return grace.total_seconds() if isinstance(lease, facts.Lease) and lease.taken else None


def idle_note(known: facts.Facts, infrastructure: facts.Infrastructure) -> str:
    """What Progressing adds while nothing is requested: that the native controller is off, or missing."""
    desired = infrastructure.native_desired
    if known.mutable_topology is True:
        return "" if _present(known) else worded("NativeSilent" if _silent(known) else "NativeMissing")
    if desired is None or desired == infrastructure.control_plane or infrastructure.desired:
        return ""
    return worded("NativeOff", desired=desired)


def native_transition(context: Context) -> TopologyTransition:
    """The native controller's transition, as a record. Source and target are left out where they are not known."""
    phase, here = _phase(_condition(context.known), context.infrastructure), records.pair(context.infrastructure)
    if phase.changed:
        return TopologyTransition(phase=phase, target=here)
    desired = context.infrastructure.native_desired
    targets = [definition.target.pair for definition in context.transitions.starting_at(here)]
    target = next((target for target in targets if target.control_plane == desired), None)
    return TopologyTransition(phase=phase, source=here, target=None if phase is Phase.IDLE else target)


def native_text(known: facts.Facts, phase: Phase, space: int) -> str:
    """The sentence about it in condition Disabled, as long as `space` allows; empty where there is none."""
    condition, progressing = _condition(known), _condition(known, (_PROGRESSING,))
    if condition is not None and progressing is not None and progressing.reason == condition.reason:
        condition = progressing
    short = f"Its transition is {phase}"
    if condition is None:
        return short if len(short) <= space else ""
    begin = f"{short} ({condition.type}={condition.status}, {condition.reason or 'no reason given'}"
    longest = space - len(begin) - len(": )")
    words = f": {fit(condition.message, longest)}" if condition.message and longest >= _SHORTEST else ""
    return next((text for text in (f"{begin}{words})", short) if len(text) <= space), "")


def _condition(known: facts.Facts, types: tuple[str, ...] = (_UPGRADEABLE, _PROGRESSING)) -> facts.Condition | None:
    native = known.native_controller
    conditions = () if isinstance(native, facts.Unobserved) else map(native.conditions.find, types)
    return next(filter(None, conditions), None)


def _phase(condition: facts.Condition | None, infrastructure: facts.Infrastructure) -> Phase:
    desired = infrastructure.native_desired
    wanted = desired is not None and desired != infrastructure.control_plane
    reason = condition.reason if condition is not None else ""
    if reason == advisories.NATIVE_MOVING:
        return Phase.ADMITTING if wanted else Phase.CONVERGING
    if wanted:
        # What it has not looked at yet is pending too.
        return Phase.UNSUPPORTED if reason == "UnsupportedTransition" else Phase.PENDING
    # Its one transition leads there. It also completes one whose request was taken away meanwhile, and one that never
    # changed the topology, because its request was.
    if reason == "TopologyTransitionComplete" and infrastructure.control_plane == Topology.HIGHLY_AVAILABLE:
        return Phase.COMPLETED
    # Any other reason that speaks of a request which is gone is old: nothing is wanted.
    return Phase.IDLE


def abandoned(context: Context) -> list[model.Definition]:
    """The definitions by which a transition that the native controller has begun and will not end could be followed."""
    # It has changed the topology, and was switched off before it said that this is complete. Its conditions alone do
    # not say so: it writes them before the change, which may never have come, and they stay when all is over.
    known, here, platform = context.known, records.pair(context.infrastructure), context.infrastructure.platform
    condition = _condition(known)
    if known.mutable_topology is not False or condition is None or here != _ROUTE[1]:
        return []
    moving = advisories.NATIVE_BLOCKS[condition.type], advisories.NATIVE_MOVING
    if (condition.status, condition.reason) != moving or _completed_since(context):
        return []
    leading = context.transitions.starting_at(_ROUTE[0])
    return [definition for definition in leading if definition.target.pair == here and platform in definition.platforms]


def inherited(context: Context, definition: model.Definition) -> TopologyTransition:
    """The record of such a transition, as if it had been recorded at the change: from there on it is like any other."""
    changed = whole_seconds(min(_changed(context) or context.now, context.now))
    return TopologyTransition(
        phase=Phase.CONVERGING,
        name=definition.name,
        source=_ROUTE[0],
        target=_ROUTE[1],
        # The same for every leader, so that events and acceptances belong to one transition.
        attempt=f"{NATIVE_ATTEMPT}{changed:%Y%m%dT%H%M%SZ}",
        phase_transition_time=changed,
        admitted_time=changed,
        last_transition=records.last(context),
        baseline=baseline.afterwards(context, definition, changed),
    )


def _changed(context: Context) -> datetime | None:
    """When it changed the topology: right after it had said so. None where that is not known."""
    native = context.known.native_controller
    return None if isinstance(native, facts.Unobserved) else native.moving_since


def _completed_since(context: Context) -> bool:
    """Has a transition of ours been completed here after that change? Then its conditions are left over from before."""
    changed, latest, here = _changed(context), context.leader.latest, records.pair(context.infrastructure)
    remembered = None if latest is None else records.completed(latest) or latest.last_transition
    ended = [last for last in (records.last(context), remembered) if last is not None and last.target == here]
    return any(changed is None or last.completed_time is None or last.completed_time >= changed for last in ended)
