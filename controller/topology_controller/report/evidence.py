"""Nodes, members of etcd and operands, as the status page shows them.

Each is shown with the finding of its check: nothing is judged here. Facts that are not watched are marked so, facts
that could not be read say why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from topology_api.vocabulary import CheckName, CheckStatus, Stage

from ..checks import etcd
from ..checks.result import CheckResult, Finding
from ..definitions import model
from ..definitions import operands as matrices
from ..observe import facts, fields
from . import state

_NO_NODES = "There are no nodes with label node-role.kubernetes.io/control-plane"


def unwatched(*, leads: bool) -> str:
    """Why something is not shown that only the watches of an open request observe."""
    return "Not watched while nothing is in progress" if leads else "Shown by the operator process that leads"


def _unobserved(why: facts.Unobserved, *, leads: bool) -> str:
    return unwatched(leads=leads) if why == facts.NOT_READ else f"Cannot tell: {why}"


def operands(
    results: Sequence[CheckResult], definition: model.Definition | None, matrix: matrices.Matrix
) -> state.Operands:
    """Every operand that convergence asks about, in the order of the definition, as its check judges it alone."""
    if definition is None:
        return {"items": [], "said": "Without its definition it is not known which components have to be updated"}
    items: list[state.Operand] = []
    for answer in results:
        judged = answer.findings if matrix.group(answer.name) is not None else ()
        for finding in [finding for finding in judged if finding.counts]:
            count = finding.count
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
    return {"items": items, "said": "" if results else unwatched(leads=True)}


def nodes(known: facts.Facts, results: Iterable[CheckResult], *, leads: bool) -> state.Nodes:
    """Every control-plane node, whether it is Ready, and whether it could carry the control plane of the target."""
    observed = known.control_plane_nodes
    if isinstance(observed, facts.Unobserved):
        return {"items": [], "said": _unobserved(observed, leads=leads)}
    answer = next((result for result in results if result.name is CheckName.CONTROL_PLANE_NODES), None)
    findings = {finding.name: finding for finding in (answer.findings if answer is not None else ())}
    # Without findings the check could not be answered, and says why.
    why = answer.message if answer is not None and not findings else ""
    items: list[state.Node] = []
    for node in observed:
        if isinstance(node, facts.Unobserved):
            items.append({"name": node.what, "ready": "Unknown", "eligible": None, "why": str(node)})
        elif node.name in findings:
            items.append(_node(findings.pop(node.name), node.ready))
        else:
            items.append({"name": node.name, "ready": node.ready, "eligible": None, "why": why})
    # A candidate that lacks the label control-plane is no Node fact: only its name and why are known.
    items += [_node(finding, "Unknown") for finding in findings.values()]
    items.sort(key=lambda item: item["name"])
    return {"items": items, "said": "" if items else _NO_NODES}


def _node(finding: Finding, ready: str) -> state.Node:
    eligible = finding.status is CheckStatus.MET
    return {"name": finding.name, "ready": ready, "eligible": eligible, "why": "" if eligible else finding.text}


def members(known: facts.Facts, stage: Stage | None, *, leads: bool) -> state.Members:
    """Voters by what the etcd operator publishes; learners and names too where etcd itself is asked."""
    published, survey = etcd.members(known), known.etcd_members
    if isinstance(published, facts.Unobserved):
        why = facts.NOT_READ if known.etcd_endpoints is facts.NOT_READ else published
        return {"items": [], "said": _unobserved(why, leads=leads)}
    homes = {
        fields.address(address) or address: node.name
        for node in facts.readable(known.control_plane_nodes)
        for address in node.addresses
    }
    # As etcd itself lists them, where a list came through the quorum.
    voices = () if isinstance(survey, facts.Unobserved) else survey.voices
    listed = {member.id: member for voice in voices if voice.confirmed for member in voice.members}
    items: list[state.Member] = []
    for id_ in dict.fromkeys((*published, *listed)):
        member, address = listed.get(id_), published.get(id_, "")
        name = "" if member is None else member.name
        node = homes.get(address) if address else name
        role = "learner" if member is not None and member.learner else "voter"
        home = node if node in homes.values() else None
        items.append({"id": id_, "name": name, "address": address, "role": role, "node": home})
    items.sort(key=lambda item: (item["role"] != "voter", item["node"] or "~", item["id"]))
    note = "" if items else f"There are none in {etcd.ENDPOINTS}"
    if items and isinstance(survey, facts.Unobserved):
        # It is not asked once its answer could not stop the change any more.
        after = stage is Stage.CONVERGENCE
        reason = "etcd itself is asked until the topology changes" if after else f"cannot tell more: {survey}"
        if survey == facts.NO_ETCD_ACCESS:
            reason = "a learner is seen only where etcd itself is asked (--etcd-cert-dir)"
        note = f"Voters only: {reason}"
    return {"items": items, "said": note}
