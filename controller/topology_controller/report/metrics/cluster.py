"""Nodes, members of etcd and the topology, from the facts that the last decision was made from.

A number that is not known is not shown: an absent gauge says that it is not observed (nothing is requested, so no node
is read), which 0 would not. That holds for each series by itself, and when a decision ends the watches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from topology_api import shape
from topology_api.vocabulary import CheckName, CheckStatus

from ...checks import etcd
from ...observe import facts
from . import family
from .family import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...decide.decision import Decision

NODES = Family(
    "topology_control_plane_nodes",
    "gauge",
    "Control-plane nodes: how many are present, ready, schedulable (not cordoned, no taint NoSchedule or NoExecute), "
    "and eligible (pass everything that check ControlPlaneNodes asks of a node).",
    {"state": frozenset({"present", "ready", "schedulable", "eligible"})},
)
MEMBERS = Family(
    "topology_etcd_members",
    "gauge",
    "Members of etcd: voters as the etcd operator publishes them, learners as etcd itself says.",
    {"role": frozenset({"voter", "learner"})},
)
INFO = Family(
    "topology_info",
    "gauge",
    "Always 1; the labels tell the topology of the cluster, the one that is wanted (empty: none), and the shape "
    "(empty: not known).",
    {
        "desired": family.TOPOLOGIES | {"", family.OTHER},
        "control_plane": family.CONTROL_PLANES | {"", family.OTHER},
        "infrastructure": family.INFRASTRUCTURES | {"", family.OTHER},
        "shape": frozenset(known.value for known in shape.Shape) | {""},
    },
)
FAMILIES: Final = (NODES, MEMBERS, INFO)


def series(decision: Decision, known: facts.Facts) -> dict[str, tuple[family.Series, ...]]:
    """Series of every gauge by its name."""
    if not decision.watch:
        known = facts.Facts(infrastructure=known.infrastructure)
    return {
        NODES.name: tuple(_nodes(decision, known)),
        MEMBERS.name: tuple(_members(known)),
        INFO.name: tuple(_info(known)),
    }


def _nodes(decision: Decision, known: facts.Facts) -> Iterator[family.Series]:
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


def _members(known: facts.Facts) -> Iterator[family.Series]:
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


def _info(known: facts.Facts) -> Iterator[family.Series]:
    infrastructure = known.infrastructure
    if isinstance(infrastructure, facts.Unobserved):
        return
    fitting = shape.classify(known.shape_vector(infrastructure))
    values = (
        family.bounded(infrastructure.desired, family.TOPOLOGIES),
        family.bounded(infrastructure.control_plane, family.CONTROL_PLANES),
        family.bounded(infrastructure.infrastructure, family.INFRASTRUCTURES),
        "" if fitting is None else fitting.value,
    )
    yield values, 1.0
