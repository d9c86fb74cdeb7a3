"""While the native controller is in charge: where is its transition?

It leaves conditions on configs.operator.openshift.io/cluster and nothing else that could be watched, no metrics, no
record. Read as a record they let `report` show its transition the way ours is shown; nothing of it is ever written to
Infrastructure. Two versions of that controller are known (cluster-config-operator PR 495, 499): the older one writes a
Progressing and an Upgradeable condition, both in one update, the newer one only Upgradeable. So Upgradeable is what is
gone by, also because the older one forgets its Progressing when a request is cancelled. What is unmet the older one
says in Progressing only, and Upgradeable has one sentence for each reason: the words come from Progressing where both
have the same reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.types import TopologyPair, TopologyTransition, fit
from topology_api.vocabulary import Phase, Topology

from ..observe import facts
from . import records

if TYPE_CHECKING:
    from ..definitions import load

_UPGRADEABLE = "TopologyTransitionControllerUpgradeable"
_PROGRESSING = "TopologyTransitionControllerProgressing"
_SHORTEST = 32
"""Characters of its words below which they say nothing."""
_MOVING = "TopologyTransitionInProgress"
ROUTE = (
    TopologyPair(control_plane=Topology.SINGLE_REPLICA, infrastructure=Topology.SINGLE_REPLICA),
    TopologyPair(control_plane=Topology.HIGHLY_AVAILABLE, infrastructure=Topology.HIGHLY_AVAILABLE),
)
"""From where to where its one transition leads."""


def transition(
    known: facts.Facts, infrastructure: facts.Infrastructure, transitions: load.Transitions
) -> TopologyTransition:
    """The native controller's transition, as a record. Source and target are left out where they are not known."""
    phase = _phase(_condition(known), infrastructure)
    here = records.pair(infrastructure)
    if phase.changed:
        return TopologyTransition(phase=phase, target=here)
    desired = infrastructure.native_desired
    targets = [definition.target.pair for definition in transitions.starting_at(here)]
    target = next((target for target in targets if target.control_plane == desired), None)
    return TopologyTransition(phase=phase, source=here, target=None if phase is Phase.IDLE else target)


def text(known: facts.Facts, phase: Phase, space: int) -> str:
    """The sentence about it in condition Disabled, as long as `space` allows; empty where there is none."""
    condition, progressing = _condition(known), _find(known, _PROGRESSING)
    if condition is not None and progressing is not None and progressing.reason == condition.reason:
        condition = progressing
    short = f"Its transition is {phase}"
    if condition is None:
        return short if len(short) <= space else ""
    begin = f"{short} ({condition.type}={condition.status}, {condition.reason or 'no reason given'}"
    longest = space - len(begin) - len(": )")
    if condition.message and longest >= _SHORTEST:
        return f"{begin}: {fit(condition.message, longest)})"
    return next((text for text in (f"{begin})", short) if len(text) <= space), "")


def abandoned(known: facts.Facts, here: TopologyPair) -> bool:
    """Has it changed the topology, and was it switched off before it said that this is complete?

    Its conditions alone do not say so: it writes them before the change, which may never have come.
    """
    condition = _condition(known)
    if known.mutable_topology is not False or condition is None or here != ROUTE[1]:
        return False
    blocks = "False" if condition.type == _UPGRADEABLE else "True"
    return (condition.status, condition.reason) == (blocks, _MOVING)


def _condition(known: facts.Facts) -> facts.Condition | None:
    return _find(known, _UPGRADEABLE) or _find(known, _PROGRESSING)


def _find(known: facts.Facts, type_: str) -> facts.Condition | None:
    native = known.native_controller
    return None if isinstance(native, facts.Unobserved) else native.conditions.find(type_)


def _phase(condition: facts.Condition | None, infrastructure: facts.Infrastructure) -> Phase:
    desired = infrastructure.native_desired
    wanted = desired is not None and desired != infrastructure.control_plane
    reason = condition.reason if condition is not None else ""
    if reason == _MOVING:
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
