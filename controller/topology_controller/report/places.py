"""Where things run, as the status page shows it: control-plane nodes and the members of etcd.

Which node is eligible and which address is a voter is what the checks say (`checks.nodes`, `checks.etcd`); here it is
only put side by side. Facts that are not watched are said to be so, facts that could not be read say why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckName, Stage

from ..checks import etcd
from ..checks import nodes as node_checks
from ..observe import facts, parse

if TYPE_CHECKING:
    from ..transitions import model
    from . import state


def unwatched(*, leads: bool) -> str:
    """Why something is not shown that only the watches of an open wish tell."""
    return "Not watched while nothing is in progress" if leads else "Told by the operator process that leads"


def _said(found: facts.Unobserved, *, leads: bool) -> str:
    if found == facts.NOT_READ:
        return unwatched(leads=leads)
    return f"Cannot tell: {found}"


def nodes(known: facts.Facts, definition: model.Definition | None, stage: Stage | None, *, leads: bool) -> state.Nodes:
    """Every control-plane node, whether it is Ready, and whether it could carry the control plane of the target."""
    found = known.control_plane_nodes
    if isinstance(found, facts.Unobserved):
        return {"items": [], "said": _said(found, leads=leads)}
    reasons, why = _reasons(known, definition, stage)
    items: list[state.Node] = []
    for node in found:
        if isinstance(node, facts.Unobserved):
            items.append({"name": node.what, "ready": "Unknown", "eligible": None, "why": str(node)})
            continue
        known_of = node.name in reasons
        reason = reasons.get(node.name)
        items.append(
            {
                "name": node.name,
                "ready": node.ready,
                "eligible": reason is None if known_of else None,
                "why": (reason or "") if known_of else why,
            }
        )
    seen = {item["name"] for item in items}
    # A candidate that lacks the label control-plane is no Node fact: only its name and why are known.
    items += [
        {"name": name, "ready": "Unknown", "eligible": False, "why": reason or ""}
        for name, reason in reasons.items()
        if name not in seen
    ]
    items.sort(key=lambda item: item["name"])
    return {
        "items": items,
        "said": "" if items else "There are no nodes with label node-role.kubernetes.io/control-plane",
    }


def _reasons(
    known: facts.Facts, definition: model.Definition | None, stage: Stage | None
) -> tuple[dict[str, str | None], str]:
    """The first failing reason by node, or none at all and why that cannot be told."""
    if definition is None:
        return {}, ""
    specs = definition.stages[stage or Stage.PREFLIGHT]
    spec = next((one for one in specs if one.check is CheckName.CONTROL_PLANE_NODES), None)
    if spec is None:
        return {}, f"{definition.name} does not ask {CheckName.CONTROL_PLANE_NODES}"
    found = node_checks.candidates(known, spec, definition)
    if isinstance(found, facts.Unobserved):
        return {}, f"Cannot tell: {found}"
    return found, ""


def members(known: facts.Facts, stage: Stage | None, *, leads: bool) -> state.Members:
    """Voters by what the etcd operator publishes; learners and names too where etcd itself is asked."""
    homes = _homes(known)
    asked = _asked(known)
    found = etcd.members(known)
    if isinstance(found, facts.Unobserved):
        if known.etcd_endpoints is facts.NOT_READ or found == facts.NOT_READ:
            return {"items": [], "said": unwatched(leads=leads)}
        return {"items": [], "said": f"Cannot tell: {found}"}
    items: list[state.Member] = [
        {
            "id": id_,
            "name": asked[id_].name if id_ in asked else "",
            "address": address,
            "role": "learner" if id_ in asked and asked[id_].learner else "voter",
            "node": homes.get(address),
        }
        for id_, address in found.items()
    ]
    items += [
        {
            "id": id_,
            "name": member.name,
            "address": "",
            "role": "learner" if member.learner else "voter",
            "node": member.name if member.name in homes.values() else None,
        }
        for id_, member in asked.items()
        if id_ not in found
    ]
    items.sort(key=lambda item: (item["role"] != "voter", item["node"] or "~", item["id"]))
    said = "" if items else f"There are none in {etcd.ENDPOINTS}"
    if items and isinstance(known.etcd_members, facts.Unobserved):
        said = f"Voters only: {_why_no_more(known.etcd_members, stage)}"
    return {"items": items, "said": said}


def _why_no_more(found: facts.Unobserved, stage: Stage | None) -> str:
    if found == facts.NO_ETCD_ACCESS:
        return "a learner is seen only where etcd itself is asked (--etcd-cert-dir)"
    # Nobody asks it once its answer could not keep the topology from moving any more.
    return (
        "etcd itself is asked until the topology moves" if stage is Stage.CONVERGENCE else f"cannot tell more: {found}"
    )


def _homes(known: facts.Facts) -> dict[str, str]:
    found = known.control_plane_nodes
    if isinstance(found, facts.Unobserved):
        return {}
    return {
        parse.address(address) or address: node.name
        for node in found
        if isinstance(node, facts.Node)
        for address in node.addresses
    }


def _asked(known: facts.Facts) -> dict[str, facts.EtcdMember]:
    """The members as etcd itself lists them, where a list came through the quorum."""
    found = known.etcd_members
    if isinstance(found, facts.Unobserved):
        return {}
    return {member.id: member for voice in found.voices if voice.confirmed for member in voice.members}
