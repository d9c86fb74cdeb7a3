"""The Machines of the control plane, as `plan` and `status` show them: whose node each is, and how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_controller.checks import etcd, machines
from topology_controller.observe import facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from . import answers
    from .document import Document


def rows(known: facts.Facts) -> list[answers.Machine]:
    """One entry for each Machine, more where it has the addresses of several nodes. Empty where they are not read."""
    published = etcd.members(known)
    voters = frozenset() if isinstance(published, facts.Unobserved) else frozenset(published.values())
    nodes = () if isinstance(known.control_plane_nodes, facts.Unobserved) else known.control_plane_nodes
    addresses = {node.name: node.addresses for node in nodes if isinstance(node, facts.Node)}
    return [
        {
            "node": claim.node,
            "machine": claim.machine.name,
            "phase": claim.machine.phase,
            "authority": claim.machine.authority,
            "boundBy": None if claim.bound_by is None else claim.bound_by.value,
            "leaving": claim.leaving,
            "host": claim.machine.host if claim.host is None else claim.host.name,
            "hostState": None if claim.host is None else claim.host.state,
            # An arbiter is no control-plane node: only its Machine knows its address here.
            "voter": not voters.isdisjoint(addresses.get(claim.node or "", claim.machine.addresses)),
        }
        for claim in machines.claims(known)
    ]


def table(document: Document, items: Sequence[answers.Machine]) -> None:
    """Add them to what people read, where Machines are in use."""
    if not any(item["phase"] == "Running" for item in items):
        return
    document.add(
        "Machines of the control plane",
        [
            (
                item["machine"],
                "leaving" if item["leaving"] else item["phase"] or "no phase",
                _node(item),
                f"{item['host']} ({item['hostState'] or 'no state'})" if item["host"] is not None else "",
                "voter" if item["voter"] else "",
            )
            for item in items
        ],
    )


def _node(item: answers.Machine) -> str:
    if item["node"] is None:
        return "no node"
    return item["node"] if item["boundBy"] == machines.BoundBy.ADDRESS.value else f"{item['node']} (by nodeRef only)"
