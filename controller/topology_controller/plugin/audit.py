"""The verb `audit`: which kind of cluster is this, and do status, scheduler and nodes fit together?

The rules are those of `topology_api.audit`, the numbers those of `observe.facts`, as the operator counts them; here
they become one answer (`answers.Audit`), which `printing` turns into text. A cluster that the operator has never seen
can be audited as well, a hosted one too, and one whose API lacks our fields. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from topology_api import audit as rules

from . import answers, judging, plan

if TYPE_CHECKING:
    from topology_api.shape import Vector

    from . import reading

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


def audit(seen: reading.Seen) -> tuple[answers.Audit, int]:
    """What was found, and the exit code: blocked (3) when something disagrees. What is left open is no disagreement."""
    workers = seen.known.control_plane_workers()
    found = rules.audit(seen.known.shape_vector(seen.infrastructure), workers)
    answer: answers.Audit = {
        "apiVersion": answers.API_VERSION,
        "kind": "TopologyAudit",
        "evaluated": answers.stamp(seen.now),
        "cluster": plan.cluster(seen.infrastructure),
        "phase": plan.phase(seen),
        "shape": None if found.shape is None else found.shape.value,
        "candidates": [one.value for one in found.candidates],
        "vector": _vector(found.vector, workers),
        "disagreements": [
            {
                "question": one.question.value,
                "between": [part.value for part in one.between],
                "found": one.found,
                "wanted": one.wanted,
                "meaning": one.meaning,
            }
            for one in found.disagreements
        ],
        "open": [
            {"question": one.question.value, "missing": [_NAMES[name] for name in one.missing]} for one in found.open
        ],
        "unread": plan.unread(seen),
    }
    return answer, judging.BLOCKED if found.disagreements else judging.DONE


def _vector(found: Vector, workers: int | None) -> answers.Vector:
    return {
        "controlPlaneTopology": found.control_plane,
        "infrastructureTopology": found.infrastructure,
        "mastersSchedulable": found.masters_schedulable,
        "controlPlaneNodes": found.control_plane_nodes,
        "controlPlaneWorkers": workers,
        "arbiterNodes": found.arbiter_nodes,
        "dedicatedWorkers": found.dedicated_workers,
        "fencing": found.fencing,
    }
