"""Numbers of nodes by role, as far as they are known: the vector by which the shape of a cluster is recognised."""

from __future__ import annotations

from topology_api import shape

from . import facts


def shape_vector(known: facts.Facts, infrastructure: facts.Infrastructure) -> shape.Vector:
    """Topologies and numbers of nodes by role, as far as they are known. Secrets are not read: no fencing."""
    homes = None if isinstance(known.control_plane_nodes, facts.Unobserved) else len(known.control_plane_nodes)
    others, rest = known.other_nodes, facts.readable(known.other_nodes)
    counted = not isinstance(others, facts.Unobserved) and len(rest) == len(others)
    if counted and homes is not None:
        # A master that lacks the other label is still a node of the control plane.
        homes += sum(node.master for node in rest)
    scheduler = known.scheduler
    return shape.Vector(
        control_plane=infrastructure.control_plane,
        infrastructure=infrastructure.infrastructure,
        masters_schedulable=None if isinstance(scheduler, facts.Unobserved) else scheduler.masters_schedulable,
        control_plane_nodes=homes,
        arbiter_nodes=sum(node.arbiter for node in rest) if counted else None,
        dedicated_workers=sum(node.dedicated_worker for node in rest) if counted else None,
    )
