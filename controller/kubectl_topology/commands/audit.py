"""`audit`: which kind of cluster is this, and do status, scheduler and nodes fit together?

The rules are those of `kubectl_topology.audit`, the numbers those of `observe.facts`, as the operator counts them. It
also audits a cluster that the operator has never seen, a hosted one, and one whose API lacks our fields. The command's
function `audit` is pure.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, cast

from topology_controller.observe import facts, node_counts

from .. import audit as rules
from .. import cluster, errors, hosted, printing
from . import show

if TYPE_CHECKING:
    import argparse

    from topology_controller.definitions import load

    from .. import answers

_NAMES: Final = {
    "control_plane": "controlPlaneTopology",
    "infrastructure": "infrastructureTopology",
    "masters_schedulable": "mastersSchedulable",
    "control_plane_nodes": "controlPlaneNodes",
    "control_plane_workers": "controlPlaneWorkers",
    "arbiter_nodes": "arbiterNodes",
    "dedicated_workers": "dedicatedWorkers",
    "fencing": "fencing",
}
"""How the answer names what the rules go by."""


async def run(connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    """Print what was found."""
    if options.capi:
        from .. import capi  # noqa: PLC0415 - `audit` without it does not need it

        reading = await capi.read(connection)
        owners, code = capi.audit(reading)
        show(options, owners, printing.definitions)
        return code
    snapshot = await cluster.census(connection, transitions, options.operator_namespace)
    answer, code = audit(snapshot, transitions)
    show(options, answer, printing.audit)
    return code


def audit(snapshot: cluster.Snapshot, transitions: load.Transitions) -> tuple[answers.Audit, errors.ExitCode]:
    """The answer, and the exit code: blocked when something disagrees, an error when nothing could be read.

    What is left open is no disagreement. On a hosted cluster an action that is required blocks.
    """
    here = snapshot.infrastructure
    workers = control_plane_workers(snapshot.known)
    result = rules.audit(node_counts.shape_vector(snapshot.known, snapshot.infrastructure), workers)
    values = {**dataclasses.asdict(result.vector), "control_plane_workers": workers}
    verdict: answers.Consistency = "Consistent"
    code = errors.ExitCode.DONE
    if result.disagreements:
        verdict, code = "Inconsistent", errors.ExitCode.BLOCKED
    elif all(values[name] is None for name in ("masters_schedulable", "control_plane_nodes", "dedicated_workers")):
        verdict, code = "CannotTell", errors.ExitCode.FAILED
    answer: answers.Audit = {
        **snapshot.heading("TopologyAudit"),  # type: ignore[typeddict-item] # it has no key that may be left out
        "verdict": verdict,
        "phase": snapshot.phase,
        "shape": None if result.shape is None else result.shape.value,
        "candidates": [shape.value for shape in result.candidates],
        "vector": cast("answers.Vector", {name: values[field] for field, name in _NAMES.items()}),
        "disagreements": [
            {
                "question": disagreement.question.value,
                "between": [part.value for part in disagreement.between],
                "found": disagreement.actual,
                "wanted": disagreement.wanted,
                "meaning": disagreement.meaning,
            }
            for disagreement in result.disagreements
        ],
        "open": [
            {"question": question.question.value, "missing": [_NAMES[name] for name in question.missing]}
            for question in result.open
        ],
        "unread": list(snapshot.unread),
    }
    if hosted.is_hosted(here):
        answer["advisories"] = hosted.advised(snapshot.known, here, transitions, snapshot.now)
        answer["next"] = hosted.step(here)
        if any(advisory["name"] == hosted.REQUIRED for advisory in answer["advisories"]):
            code = errors.ExitCode.BLOCKED
    return answer, code


def control_plane_workers(known: facts.Facts) -> int | None:
    """How many control-plane nodes have the label node-role.kubernetes.io/worker; None when not known of each.

    Of a master without the label control-plane only its role is read.
    """
    if isinstance(known.control_plane_nodes, facts.Unobserved):
        return None
    nodes = [node for node in known.control_plane_nodes if isinstance(node, facts.Node)]
    others = () if isinstance(known.other_nodes, facts.Unobserved) else known.other_nodes
    unread = any(isinstance(node, facts.OtherNode) and node.master for node in others)
    return None if unread or len(nodes) < len(known.control_plane_nodes) else sum(node.worker for node in nodes)
