"""The gauges of a decision and of the facts behind it.

They follow from the last decision alone, so what belonged to a former stage is gone with it. A number that is not known
is not shown: an absent gauge says that it is not observed (nothing is requested, so no node is read), which 0 would
not. That holds for each series by itself, and when a decision ends the watches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from topology_api import shape
from topology_api.vocabulary import CheckName, CheckStatus, Phase, Reason, Stage

from ...checks import etcd, machine_advisories, machines
from ...observe import facts, node_counts
from . import families

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topology_api.types import TopologyTransition

    from ...decide.decision import Decision
    from .families import Series

_TWO = 2
_STAGE = {Phase.PENDING: Stage.PREFLIGHT, Phase.ADMITTING: Stage.PREFLIGHT, Phase.CONVERGING: Stage.CONVERGENCE}
SILENT: Final[dict[str, tuple[Series, ...]]] = {
    "topology_transition_phase": tuple(((phase.value,), 0.0) for phase in Phase),
    "topology_transition_stuck": (((), 0.0),),
    "topology_transition_started_timestamp_seconds": (((), 0.0),),
}
"""What the gauges show before the first decision, and while this process does not lead or is blind."""


def of_transition(decision: Decision, observed: TopologyTransition | None) -> dict[str, tuple[Series, ...]]:
    """Series of every gauge by its name; `observed` is the transition of another controller that is in charge."""
    stage = _STAGE.get(decision.phase)
    # The decision that completes a transition still carries the answers that it rests on: they are of the stage before.
    answers = {} if stage is None else {answer.name: answer.status for answer in decision.results}
    met = sum(status is CheckStatus.MET for status in answers.values())
    stuck = decision.degraded is not None and decision.degraded.reason is Reason.TRANSITION_STUCK
    return {
        "topology_transition_phase": tuple(((phase.value,), float(phase is decision.phase)) for phase in Phase),
        "topology_transition_check_status": tuple(
            ((name.value, str(stage), possible.value), float(possible is status))
            for name, status in answers.items()
            for possible in CheckStatus
        ),
        "topology_transition_progress_ratio": (((str(stage),), met / len(answers)),) if answers else (),
        "topology_transition_stuck": (((), float(stuck)),),
        "topology_transition_started_timestamp_seconds": (((), _started_at(decision, observed)),),
        "topology_transition_available": _available(decision),
    }


def _available(decision: Decision) -> tuple[Series, ...]:
    """Nothing where no definition leads away from here, which is another thing than a check that is not met."""
    items = () if decision.record is None else decision.record.available
    return (((), float(any(item.available for item in items))),) if items else ()


def _started_at(decision: Decision, observed: TopologyTransition | None) -> float:
    record = decision.record if decision.observed is None else observed
    if decision.phase is not Phase.CONVERGING or record is None or record.admitted_time is None:
        return 0.0
    return record.admitted_time.timestamp()


def of_cluster(decision: Decision, known: facts.Facts) -> dict[str, tuple[Series, ...]]:
    """Series of every gauge by its name."""
    if not decision.watch:
        known = facts.Facts(infrastructure=known.infrastructure)
    return {
        "topology_control_plane_nodes": tuple(_nodes(decision, known)),
        "topology_control_plane_machines": tuple(_machines(known)),
        "topology_etcd_members": tuple(_members(known)),
        "topology_info": tuple(_info(known)),
    }


def _nodes(decision: Decision, known: facts.Facts) -> Iterator[Series]:
    nodes = known.control_plane_nodes
    if isinstance(nodes, facts.Unobserved):
        return
    whole = [node for node in nodes if isinstance(node, facts.Node)]
    yield ("present",), len(nodes)
    yield ("ready",), sum(node.ready == "True" for node in whole)
    yield ("schedulable",), sum(not node.cordoned and not node.taints for node in whole)
    answer = next((result for result in decision.results if result.name is CheckName.CONTROL_PLANE_NODES), None)
    if answer is not None and (answer.findings or answer.status is not CheckStatus.UNKNOWN):
        yield ("eligible",), sum(finding.status is CheckStatus.MET for finding in answer.findings)


def _machines(known: facts.Facts) -> Iterator[Series]:
    if not machines.in_use(known):
        return
    present, claims = facts.readable(known.machines), machines.claims(known)
    yield ("present",), len(present)
    yield ("running",), sum(machine.running for machine in present)
    yield ("leaving",), len({claim.machine.name for claim in claims if claim.leaving})
    yield ("without_node",), sum(claim.node is None for claim in claims)
    yield ("missing",), len(machine_advisories.missing(known))


def _members(known: facts.Facts) -> Iterator[Series]:
    published, survey = etcd.members(known), known.etcd_members
    voices = () if isinstance(survey, facts.Unobserved) else survey.voices
    lists = {frozenset(voice.members): voice.members for voice in voices if voice.confirmed}
    # The list that came through the quorum; two that differ say nothing.
    listed = next(iter(lists.values())) if len(lists) == 1 else None
    if not isinstance(published, facts.Unobserved):
        yield ("voter",), len(published)
    elif listed is not None:
        yield ("voter",), sum(not member.learner for member in listed)
    if listed is not None:
        yield ("learner",), sum(member.learner for member in listed)


def two_voters(decision: Decision, known: facts.Facts) -> bool | None:
    """Has etcd exactly two voters while a request is open or the cluster converges? None while that is not known."""
    if not decision.watch or decision.phase not in families.TIMED or known.disturbed:
        return None
    voters = dict(_members(known)).get(("voter",))
    return None if voters is None else voters == _TWO


def _info(known: facts.Facts) -> Iterator[Series]:
    infrastructure = known.infrastructure
    if isinstance(infrastructure, facts.Unobserved):
        return
    fitting = shape.classify(node_counts.shape_vector(known, infrastructure))
    values = (
        families.bounded(infrastructure.desired, families.TOPOLOGIES),
        families.bounded(infrastructure.control_plane, families.CONTROL_PLANES),
        families.bounded(infrastructure.infrastructure, families.INFRASTRUCTURES),
        "" if fitting is None else fitting.value,
    )
    yield values, 1.0
