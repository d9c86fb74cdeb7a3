"""Nodes, members of etcd and operands, as the status page shows them.

What is said of each is a finding of a check, taken as it is: nothing is judged here. Facts that are not watched are
said to be so, facts that could not be read say why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckName, CheckStatus, Stage

from ..checks import etcd
from ..observe import facts, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..checks.result import CheckResult, Finding
    from ..definitions import model
    from ..definitions import operands as matrices
    from . import state


def unwatched(*, leads: bool) -> str:
    """Why something is not shown that only the watches of an open request tell."""
    return "Not watched while nothing is in progress" if leads else "Told by the operator process that leads"


def _said(found: facts.Unobserved, *, leads: bool) -> str:
    if found == facts.NOT_READ:
        return unwatched(leads=leads)
    return f"Cannot tell: {found}"


def operands(
    results: Iterable[CheckResult], definition: model.Definition | None, matrix: matrices.Matrix
) -> state.Operands:
    """Every operand that convergence asks about, in the order of the definition, as its check judges it alone."""
    if definition is None:
        return {"items": [], "said": "Without its definition nobody can tell who has to follow"}
    items: list[state.Operand] = []
    answers = tuple(results)
    if not answers:
        return {"items": [], "said": unwatched(leads=True)}
    for answer in answers:
        findings = answer.findings if matrix.group(answer.name) is not None else ()
        for finding in findings:
            count = finding.count
            if count is not None and count.wanted == 0 and finding.lacks is None:
                # A pool without machines.
                continue
            items.append(
                {
                    "check": answer.name.value,
                    "kind": finding.kind,
                    "name": finding.name,
                    "unit": "" if count is None else count.unit,
                    "have": None if count is None else count.have,
                    "wanted": None if count is None else count.wanted,
                    "status": finding.status.value,
                    "message": finding.message,
                }
            )
    return {"items": items, "said": ""}


def nodes(known: facts.Facts, results: Iterable[CheckResult], *, leads: bool) -> state.Nodes:
    """Every control-plane node, whether it is Ready, and whether it could carry the control plane of the target."""
    found = known.control_plane_nodes
    if isinstance(found, facts.Unobserved):
        return {"items": [], "said": _said(found, leads=leads)}
    answer = next((result for result in results if result.name is CheckName.CONTROL_PLANE_NODES), None)
    findings = {finding.name: finding for finding in (answer.findings if answer is not None else ())}
    # Without findings the check could not be answered, and says why.
    why = answer.message if answer is not None and not findings else ""
    items: list[state.Node] = []
    for node in found:
        if isinstance(node, facts.Unobserved):
            items.append({"name": node.what, "ready": "Unknown", "eligible": None, "why": str(node)})
        elif node.name in findings:
            items.append(_node(findings.pop(node.name), node.ready))
        else:
            items.append({"name": node.name, "ready": node.ready, "eligible": None, "why": why})
    # A candidate that lacks the label control-plane is no Node fact: only its name and why are known.
    items += [_node(finding, "Unknown") for finding in findings.values()]
    items.sort(key=lambda item: item["name"])
    return {
        "items": items,
        "said": "" if items else "There are no nodes with label node-role.kubernetes.io/control-plane",
    }


def _node(finding: Finding, ready: str) -> state.Node:
    eligible = finding.status is CheckStatus.MET
    return {"name": finding.name, "ready": ready, "eligible": eligible, "why": "" if eligible else finding.text}


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
