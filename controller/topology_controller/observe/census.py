"""How many nodes there are of which role, beside the topologies: what the shape of a cluster is told by.

`topology_api.shape` and `topology_api.audit` know what such numbers mean, and know no facts; this is the step between.
The operator takes it for `topology_info`, the command line for its audit, so that both count alike. What is not known
stays None. Secrets are never read, so fencing is never known.
"""

from __future__ import annotations

from topology_api import shape

from . import facts


def vector(known: facts.Facts, infrastructure: facts.Infrastructure) -> shape.Vector:
    """What the shape is told by, as far as it is known."""
    scheduler, homes, others = known.scheduler, known.control_plane_nodes, known.other_nodes
    control_plane = arbiters = workers = None
    if not isinstance(homes, facts.Unobserved):
        control_plane = len(homes)
    if not isinstance(others, facts.Unobserved) and not any(isinstance(one, facts.Unobserved) for one in others):
        rest = [one for one in others if isinstance(one, facts.OtherNode)]
        arbiters = sum(one.arbiter for one in rest)
        workers = sum(one.dedicated_worker for one in rest)
        # A master that lacks the other label is a node of the control plane all the same.
        control_plane = None if control_plane is None else control_plane + sum(one.master for one in rest)
    return shape.Vector(
        control_plane=infrastructure.control_plane,
        infrastructure=infrastructure.infrastructure,
        masters_schedulable=None if isinstance(scheduler, facts.Unobserved) else scheduler.masters_schedulable,
        control_plane_nodes=control_plane,
        arbiter_nodes=arbiters,
        dedicated_workers=workers,
    )


def control_plane_workers(known: facts.Facts) -> int | None:
    """How many of those control-plane nodes have the label node-role.kubernetes.io/worker.

    None when that is not known of each: of a master without the newer label nobody reads more than its role.
    """
    homes, others = known.control_plane_nodes, known.other_nodes
    if isinstance(homes, facts.Unobserved):
        return None
    found = [one for one in homes if isinstance(one, facts.Node)]
    masters = () if isinstance(others, facts.Unobserved) else others
    if len(found) < len(homes) or any(isinstance(one, facts.OtherNode) and one.master for one in masters):
        return None
    return sum(one.worker for one in found)
