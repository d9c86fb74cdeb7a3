"""While the native controller is in charge: where is its transition?

It leaves conditions on configs.operator.openshift.io/cluster and nothing else that could be watched, no metrics, no
record. Read as a record they let `report` show its transition the way ours is shown; nothing of it is ever written to
Infrastructure. Two versions of that controller are known (reference: upstream-controller a.6): the older one writes a
Progressing and an Upgradeable condition, both in one update, the newer one only Upgradeable. So Upgradeable is what is
gone by, also because the older one forgets its Progressing when a request is cancelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.types import TopologyPair, TopologyTransition, fit
from topology_api.vocabulary import Phase, Topology

from ..observe import facts

if TYPE_CHECKING:
    from ..definitions import load

_UPGRADEABLE = "TopologyTransitionControllerUpgradeable"
_PROGRESSING = "TopologyTransitionControllerProgressing"
_LONGEST = 1024


def transition(
    known: facts.Facts, infrastructure: facts.Infrastructure, transitions: load.Transitions
) -> TopologyTransition:
    """The native controller's transition, as a record. Source and target are left out where they cannot be told."""
    phase = _phase(_said(known), infrastructure)
    here = TopologyPair(
        control_plane=infrastructure.control_plane or "", infrastructure=infrastructure.infrastructure or ""
    )
    if phase in {Phase.CONVERGING, Phase.COMPLETED}:
        return TopologyTransition(phase=phase, target=here)
    desired = infrastructure.native_desired
    target = next(
        (one.target.pair for one in transitions.starting_at(here) if one.target.control_plane == desired), None
    )
    return TopologyTransition(phase=phase, source=here, target=None if phase is Phase.IDLE else target)


def text(known: facts.Facts, phase: Phase) -> str:
    """What is said of it in condition Disabled."""
    said = _said(known)
    if said is None:
        return f"Its transition is {phase}"
    why = f": {fit(said.message, _LONGEST)}" if said.message else ""
    return f"Its transition is {phase} ({said.type}={said.status}, {said.reason or 'no reason given'}{why})"


def _said(known: facts.Facts) -> facts.Condition | None:
    native = known.native_controller
    found = facts.Conditions() if isinstance(native, facts.Unobserved) else native.conditions
    return found.find(_UPGRADEABLE) or found.find(_PROGRESSING)


def _phase(said: facts.Condition | None, infrastructure: facts.Infrastructure) -> Phase:
    desired = infrastructure.native_desired
    wanted = desired is not None and desired != infrastructure.control_plane
    reason = said.reason if said is not None else ""
    if reason == "TopologyTransitionInProgress":
        return Phase.ADMITTING if wanted else Phase.CONVERGING
    if wanted:
        # What it has not looked at yet is pending too.
        return Phase.UNSUPPORTED if reason == "UnsupportedTransition" else Phase.PENDING
    if reason == "TopologyTransitionComplete" and desired in set(Topology):
        return Phase.COMPLETED
    # A reason that speaks of a request which is gone is old: nothing is wanted.
    return Phase.IDLE
