"""`audit`: which kind of cluster is this, and do status, scheduler and nodes fit together?

The rules are those of `kubectl_topology.audit`, the numbers those of `observe.facts`, as the operator counts them. It
also audits a cluster that the operator has never seen, a hosted one, and one whose API lacks our fields. The command's
function `audit` is pure.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, cast

from topology_api import shape
from topology_controller.observe import facts, node_counts

from .. import audit as rules
from .. import cluster, errors, hosted, printing
from . import show

if TYPE_CHECKING:
    import argparse

    from topology_controller.definitions import load

    from .. import answers


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
    vector = node_counts.shape_vector(snapshot.known, here)
    disagreements, unanswered = rules.audit(vector, workers)
    values = {**dataclasses.asdict(vector), "control_plane_workers": workers}
    named = shape.classify(vector)
    verdict: answers.Consistency = "Consistent"
    code = errors.ExitCode.DONE
    if disagreements:
        verdict, code = "Inconsistent", errors.ExitCode.BLOCKED
    elif all(values[name] is None for name in ("masters_schedulable", "control_plane_nodes", "dedicated_workers")):
        verdict, code = "CannotTell", errors.ExitCode.FAILED
    answer: answers.Audit = {
        **snapshot.heading("TopologyAudit"),  # type: ignore[typeddict-item] # it has no key that may be left out
        "verdict": verdict,
        "phase": snapshot.phase,
        "shape": None if named is None else named.value,
        "candidates": [candidate.value for candidate in shape.candidates(vector)],
        "vector": cast("answers.Vector", {name: values[field] for field, name in rules.NAMES.items()}),
        "disagreements": disagreements,
        "open": unanswered,
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
