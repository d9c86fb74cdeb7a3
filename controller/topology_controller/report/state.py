"""The shape of `/state`, what the status page shows and a script may read; and nodes, members and operands in it.

Plain dictionaries, so that they are JSON as they stand. A list that cannot be shown comes with a sentence that says why
(`said`). Times are RFC 3339 in UTC with whole seconds, None where there is none. docs/page.md and docs/api.md describe
it; `view` makes it. `Annotated` says which words a string is one of, or which format it has: for docs/schemas alone.
Each node, member and operand is shown with the finding of its check: nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, TypeAlias, TypedDict

from topology_api.vocabulary import CheckName, CheckStatus, Stage

from ..checks import etcd
from ..checks.result import CheckResult, Finding
from ..definitions import model
from ..definitions import operands as matrices
from ..observe import facts

Time: TypeAlias = Annotated[str, "date-time"]


class Pair(TypedDict):
    """Control plane and infrastructure topology."""

    controlPlane: str | None
    infrastructure: str | None


class Said(TypedDict):
    """A reason and a message, as a condition has them."""

    reason: str
    message: str


class Condition(Said):
    """A condition of ClusterOperator `topology`; `since` is None until it was written."""

    type: str
    status: str
    since: Time | None


class Check(TypedDict):
    """One check of the current stage, as the record has it."""

    name: str
    status: Annotated[str, CheckStatus]
    message: str
    since: Time


class Progress(TypedDict):
    """Checks of the current stage that are Met, out of all of them."""

    met: int
    total: int


class Transition(TypedDict):
    """The transition under way, or the last one. `deadline` is there from the change to the end of it.

    `typical` says how long the change usually takes, from the definition or from the last time; empty: not known.
    """

    name: str | None
    summary: str
    source: Pair | None
    target: Pair | None
    attempt: str | None
    requested: Time | None
    admitted: Time | None
    completed: Time | None
    deadline: Time | None
    deadlineMinutes: int | None
    settleSeconds: int | None
    typical: str


class Operand(TypedDict):
    """One object that has to follow the topology.

    `have` of `wanted` are where they should be, counted in `unit` (replicas, nodes, machines); both are None where
    there is nothing to count. `status` and `message` are what its check says of this one object.
    """

    check: str
    kind: str
    name: str
    unit: str
    have: int | None
    wanted: int | None
    status: Annotated[str, CheckStatus]
    message: str


class Node(TypedDict):
    """A control-plane node. `eligible` is None when that is not known; `why` says why not, or why it cannot."""

    name: str
    ready: str
    eligible: bool | None
    why: str


class Member(TypedDict):
    """A member of etcd. `role` is voter or learner; `node` is None for an address of no control-plane node."""

    id: str
    name: str
    address: str
    role: Annotated[str, ("voter", "learner")]
    node: str | None


# `said` is why a list is empty, or what it leaves out. It is a key of the JSON, and no name for a field here.
Operands = TypedDict("Operands", {"items": list[Operand], "said": str})  # noqa: UP013 - as above
Nodes = TypedDict("Nodes", {"items": list[Node], "said": str})  # noqa: UP013 - as above
Members = TypedDict("Members", {"items": list[Member], "said": str})  # noqa: UP013 - as above


class Advisory(TypedDict):
    """Something for an administrator to do, with the command that does it."""

    name: str
    message: str
    command: str


class Accepted(Said):
    """A check that the transition does not wait for: its message then, why it was accepted, and since when."""

    name: str
    since: Time


class Problem(Said):
    """Why an administrator should look: a `ProblemReason`, what is wrong and what to do, and since when."""

    since: Time


class Moment(TypedDict):
    """Something that happened, of which the record or a check knows the time; `detail` may be empty."""

    time: Time
    what: str
    detail: str


class LastTransition(TypedDict):
    """The last transition that completed here; it outlives its request."""

    name: str | None
    source: Pair | None
    target: Pair | None
    requested: Time | None
    admitted: Time | None
    completed: Time | None
    accepted: list[str]


class Blocker(TypedDict):
    """A check that keeps a transition from being available: Unmet, or Unknown."""

    name: str
    status: Annotated[str, ("Unmet", "Unknown")]
    message: str


class Available(TypedDict):
    """A transition that could be requested, and the command that requests it."""

    name: str
    summary: str
    target: Pair
    available: bool
    evaluated: Time
    blockers: list[Blocker]
    command: str


class Cluster(TypedDict):
    """Which cluster this is, and its topology now."""

    name: str | None
    platform: str | None
    topology: Pair


class State(TypedDict):
    """Everything that the status page shows.

    `leads` says whether the process that answers decides; if not, it shows what is recorded, and has no operands, nodes
    or members. `live`: everything shown follows what happens, because it is watched; else what is shown has an age.
    `headline` is the message of Progressing. `disturbed` names watches whose events may be late. `cancel` is the
    command that cancels the request, None where that is not possible any more. `runbook` is the address of the runbook
    for `problem`, None where there is none or no address is configured. `warning` is the danger that etcd is in while
    it has two voters, else empty. `required` names the advisories that a check waits for. `timeline` begins with what
    is oldest.
    """

    version: str
    leads: bool
    live: bool
    cluster: Cluster
    desired: str | None
    cancel: str | None
    phase: str
    since: Time | None
    stuck: bool
    paused: bool
    headline: str
    problem: Problem | None
    runbook: str | None
    warning: str
    disabled: Said | None
    degraded: Said | None
    conditions: list[Condition]
    transition: Transition | None
    stage: Annotated[str, Stage] | None
    checks: list[Check]
    progress: Progress | None
    operands: Operands
    nodes: Nodes
    etcd: Members
    accepted: list[Accepted]
    advisories: list[Advisory]
    required: list[str]
    available: list[Available]
    lastTransition: LastTransition | None
    timeline: list[Moment]
    disturbed: list[str]


def unwatched(why: facts.Unobserved = facts.NOT_READ, *, leads: bool) -> str:
    """Why something is not shown that only the watches of an open request observe."""
    if why != facts.NOT_READ:
        return f"Cannot tell: {why}"
    return "Not watched while nothing is in progress" if leads else "Shown by the operator process that leads"


def operands(results: Sequence[CheckResult], definition: model.Definition | None, matrix: matrices.Matrix) -> Operands:
    """Every operand that convergence asks about, in the order of the definition, as its check judges it alone."""
    if definition is None:
        return {"items": [], "said": "Without its definition it is not known which components have to be updated"}
    items: list[Operand] = []
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


def nodes(known: facts.Facts, results: Iterable[CheckResult], *, leads: bool) -> Nodes:
    """Every control-plane node, whether it is Ready, and whether it could carry the control plane of the target."""
    observed = known.control_plane_nodes
    if isinstance(observed, facts.Unobserved):
        return {"items": [], "said": unwatched(observed, leads=leads)}
    answer = next((result for result in results if result.name is CheckName.CONTROL_PLANE_NODES), None)
    findings = {finding.name: finding for finding in (answer.findings if answer is not None else ())}
    # Without findings the check could not be answered, and says why.
    why = answer.message if answer is not None and not findings else ""
    items: list[Node] = []
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
    return {"items": items, "said": "" if items else f"There are no nodes with label {facts.CONTROL_PLANE_LABEL}"}


def _node(finding: Finding, ready: str) -> Node:
    eligible = finding.status is CheckStatus.MET
    return {"name": finding.name, "ready": ready, "eligible": eligible, "why": "" if eligible else finding.text}


def members(known: facts.Facts, stage: Stage | None, *, leads: bool) -> Members:
    """Voters by what the etcd operator publishes; learners and names too where etcd itself is asked."""
    published, survey = etcd.members(known), known.etcd_members
    # As etcd itself lists them, where a list came through the quorum.
    listed = {member.id: member for member in etcd.listed(known) or ()}
    if isinstance(published, facts.Unobserved):
        if not listed:
            why = facts.NOT_READ if known.control_plane_nodes is facts.NOT_READ else published
            return {"items": [], "said": unwatched(why, leads=leads)}
        published = {}
    control_plane = facts.readable(known.control_plane_nodes)
    homes = {address: node.name for node in control_plane for address in node.addresses}
    items: list[Member] = []
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
