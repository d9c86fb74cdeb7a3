"""What is known of the cluster, from the facts that the last decision was made from.

A number that is not known is not shown: a gauge that is absent says "nobody has looked" (nothing is wanted, so no node
is read), which 0 would not. That holds for each series by itself: learners are known only where etcd itself is asked.
It holds also for what was known a moment ago: when a decision ends the watches, what they said last is not shown on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from topology_api import shape
from topology_api.vocabulary import CheckName, CheckStatus

from ...checks import etcd
from ...observe import facts
from . import family, labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...decide.decision import Decision

NODES = family.Family(
    "topology_control_plane_nodes",
    "gauge",
    "Control-plane nodes: how many are present, ready, schedulable (not cordoned, no taint NoSchedule or NoExecute), "
    "and eligible (pass everything that check ControlPlaneNodes asks of a node).",
    {"state": frozenset({"present", "ready", "schedulable", "eligible"})},
)
MEMBERS = family.Family(
    "topology_etcd_members",
    "gauge",
    "Members of etcd: voters as the etcd operator publishes them, learners as etcd itself says.",
    {"role": frozenset({"voter", "learner"})},
)
INFO = family.Family(
    "topology_info",
    "gauge",
    "Always 1; the labels tell the topology of the cluster, the one that is wanted (empty: none), and the shape "
    "(empty: not known).",
    {
        "desired": labels.TOPOLOGIES | {"", labels.OTHER},
        "control_plane": labels.CONTROL_PLANES | {"", labels.OTHER},
        "infrastructure": labels.INFRASTRUCTURES | {"", labels.OTHER},
        "shape": frozenset(one.value for one in shape.Shape) | {""},
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
    found = known.control_plane_nodes
    if isinstance(found, facts.Unobserved):
        return
    whole = [node for node in found if isinstance(node, facts.Node)]
    yield ("present",), len(found)
    yield ("ready",), sum(node.ready == "True" for node in whole)
    yield ("schedulable",), sum(not node.cordoned and not node.taints for node in whole)
    answer = next((result for result in decision.results if result.name is CheckName.CONTROL_PLANE_NODES), None)
    if answer is not None and (answer.findings or answer.status is not CheckStatus.UNKNOWN):
        yield ("eligible",), sum(finding.status is CheckStatus.MET for finding in answer.findings)


def _members(known: facts.Facts) -> Iterator[family.Series]:
    published, said = etcd.members(known), _said(known)
    if not isinstance(published, facts.Unobserved):
        yield ("voter",), len(published)
    elif said is not None:
        yield ("voter",), sum(not member.learner for member in said)
    if said is not None:
        yield ("learner",), sum(member.learner for member in said)


def _said(known: facts.Facts) -> tuple[facts.EtcdMember, ...] | None:
    """The member list that came through the quorum; None when there is none, or more than one."""
    found = known.etcd_members
    if isinstance(found, facts.Unobserved):
        return None
    lists = {frozenset(voice.members): voice.members for voice in found.voices if voice.confirmed}
    return next(iter(lists.values())) if len(lists) == 1 else None


def _info(known: facts.Facts) -> Iterator[family.Series]:
    found = known.infrastructure
    if isinstance(found, facts.Unobserved):
        return
    fitting = shape.classify(known.shape_vector(found))
    yield (
        (
            labels.told(found.desired, labels.TOPOLOGIES),
            labels.told(found.control_plane, labels.CONTROL_PLANES),
            labels.told(found.infrastructure, labels.INFRASTRUCTURES),
            "" if fitting is None else fitting.value,
        ),
        1.0,
    )
