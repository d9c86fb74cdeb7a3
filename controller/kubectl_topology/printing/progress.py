"""`status`: how far it is. The live view cuts it off below, so the most important stands first. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from topology_api.vocabulary import CheckName
from topology_controller import shell
from topology_controller.decide import assessment as decided
from topology_controller.definitions import registry

from .. import assessment, machines
from ..document import command
from . import sections

if TYPE_CHECKING:
    from collections.abc import Sequence

    from topology_controller.report import state

    from .. import answers
    from ..document import Document

_TWO: Final = 2
_CONDITIONS: Final = {
    "Stuck": "TransitionStuck", "EvidenceUnreadable": "EvidenceUnreadable", "RedundancyLost": "RedundancyLost",
    "TopologyOverwritten": "TopologyOverwritten",
}  # fmt: skip
"""The reason with which a condition says the same as a problem."""


def status(document: Document, answer: answers.Status, now: datetime | None = None) -> None:
    """`status`: what is waited for comes first. With `now` (aware UTC), ages count on: so the live view has it."""
    clock = now or datetime.fromisoformat(answer["evaluated"])
    document.add("", [assessment.line(answer, clock)])
    phase, since, progress, transition = answer["phase"], answer["since"], answer["progress"], answer["transition"]
    problem = answer["problem"]
    state = phase or "no record: the operator has written nothing here"
    if answer["stuck"]:
        # Since it is stuck, not since it began to converge.
        state, since = "Stuck", problem["since"] if problem is not None else None
    fields = [("Phase", f"{state} since {since} ({assessment.age(since, clock)})" if since else state)]
    if transition is not None:
        fields.append(("Transition", f"{transition['name']}: {transition['summary']}" if transition["name"] else ""))
        deadline = transition["deadline"] or ""
        if deadline:
            left = assessment.length(clock.isoformat(), datetime.fromisoformat(deadline))
            deadline += f" (in {left})" if left else f" (passed {assessment.age(deadline, clock)})"
        fields.append(("Deadline", deadline))
    if progress is not None:
        met, total, size = progress["met"], progress["total"], 10 if 0 < document.width < 64 else 20
        done = size * met // total if total else 0
        fields.append(("Progress", f"{met}/{total} [{'#' * done}{'-' * (size - done)}] {answer['stage']} checks"))
    sections.head(document, answer, fields, written_by=answer["topologyWriter"])
    voters = sum(member["role"] == "voter" for member in answer["etcd"]["items"])
    few = {_TWO: ("Two voters", decided.TWO_VOTERS)}
    if phase == "Converging":
        few[1] = ("One voter", decided.ONE_VOTER)
    if voters in few and (problem is None or problem["reason"] != "TwoVoters"):
        title, danger = few[voters]
        document.add(title, [f"{danger}: do not restart a control-plane node."])
    _troubles(document, answer, clock)
    unmet = [check for check in answer["checks"] if check["status"] != "Met"]
    sections.checks(document, f"{answer['stage']} checks", unmet)
    # What is not waited for any more is listed for as long as the record has it.
    document.add(
        "Accepted without",
        [
            (
                check["name"],
                f"Since {check['since']}: {check['reason'] or 'without a reason'}. It said: {check['message']}",
            )
            for check in answer["accepted"]
        ],
    )
    required = [step for step in answer["advisories"] if step["name"] in answer["required"]]
    sections.steps(document, sections.REQUIRED, required)
    sections.steps(document, "Left to do", [step for step in answer["advisories"] if step not in required])
    gone = {check["name"] for check in answer["accepted"]}
    open_ = {check["name"] for check in unmet} - gone if answer["stuck"] else set()
    document.add(
        "A check that will never be met can be accepted; read first what that means",
        [
            command(shell.command("oc topology accept --check {}", check.value))
            for check in registry.ACCEPTABLE_CHECKS
            if check.value in open_
        ],
    )
    # What was found of each that is in order stands in `-o json`.
    in_order = ", ".join(check["name"] for check in answer["checks"] if check["status"] == "Met")
    document.add(f"{answer['stage']} checks that are met", [in_order] if in_order else [])
    _objects(document, answer)
    if (answer["desired"] is None or phase == "Unsupported") and answer["disabled"] is None:
        _available(document, answer["available"], clock)
    sections.explained(document, [check for check in unmet if check["name"] not in gone])
    if answer["cancel"]:
        document.add("Cancel the request with", [command("oc topology cancel")])
    sections.unread(document, answer["unread"], answer["operator"])


def _troubles(document: Document, answer: answers.Status, clock: datetime) -> None:
    """What a person should know first. Each paragraph once: the problem of a record and a condition may be the same."""
    problem, degraded, disabled = answer["problem"], answer["degraded"], answer["disabled"]
    if problem is not None:
        since = f"since {problem['since']}, {assessment.age(problem['since'], clock)}"
        document.add(f"Problem: {problem['reason']} ({since})", [_trouble(answer, problem)])
    if degraded is not None and (problem is None or _CONDITIONS.get(problem["reason"]) != degraded["reason"]):
        document.add(f"Degraded ({degraded['reason']})", [_trouble(answer, degraded)])
    if disabled is not None:
        document.add(f"Disabled ({disabled['reason']})", [disabled["message"]])
    if answer["paused"] and (problem is None or problem["reason"] != "Paused"):
        why = "No transition starts: annotation topology.openshift.io/paused on ClusterOperator topology"
        document.add("Paused", [why])
    if answer["phase"] == "Unsupported" and answer["headline"] and disabled is None:
        document.add("", [sections.sentence(answer["headline"])])


def _trouble(answer: answers.Status, trouble: state.Problem | state.Said) -> str:
    """Its message; where nothing progresses, without what the check that is listed below says itself.

    The check is the one that `decide.convergence` names: what an administrator can repair, else what fails longest.
    """
    transition, advisories = answer["transition"], {item["name"]: item["command"] for item in answer["advisories"]}
    gone = {check["name"] for check in answer["accepted"]}
    failing = [check for check in answer["checks"] if check["status"] != "Met" and check["name"] not in gone]
    if trouble["reason"] not in {"Stuck", "TransitionStuck"} or transition is None or not failing:
        return trouble["message"]
    repairs = {check.value: traits.advisory for check, traits in registry.TRAITS.items() if traits.advisory}
    blocking = min(
        failing,
        key=lambda check: (
            repairs.get(check["name"]) not in advisories,
            check["since"],
            check["name"] == CheckName.CLUSTER_OPERATORS_STABLE,
        ),
    )
    text = f"Overdue since {transition['deadline']}, and nothing progresses. Blocked by {blocking['name']}: see below"
    command = advisories.get(repairs.get(blocking["name"], ""))
    return f"{text}. Action required: {command}" if command else text


def _available(document: Document, available: Sequence[state.Available], clock: datetime) -> None:
    rows = []
    for way in available:
        unknown = bool(way["blockers"]) and all(blocker["status"] == "Unknown" for blocker in way["blockers"])
        verdict = "Possible" if way["available"] else "Cannot tell" if unknown else "Blocked"
        names = ", ".join(blocker["name"] for blocker in way["blockers"])
        rows.append(
            (verdict, way["name"], f"evaluated {assessment.age(way['evaluated'], clock)}", names or way["summary"])
        )
    document.add("Available transitions", rows)
    targets = dict.fromkeys(way["target"]["controlPlane"] or "" for way in available)
    document.add("For details", [command(shell.command("oc topology plan {}", target)) for target in targets])


def _objects(document: Document, answer: answers.Status) -> None:
    """Components that are not updated, control-plane nodes, and etcd members."""
    operands = answer["operands"]["items"]
    waiting = [operand for operand in operands if operand["status"] != "Met"]
    followed = f"Components updated: {len(operands) - len(waiting)} of {len(operands)}"
    rows = [
        (
            operand["status"],
            "" if operand["have"] is None else f"{operand['have']}/{operand['wanted']} {operand['unit']}",
            operand["check"],
            operand["name"],
        )
        for operand in waiting
    ]
    if rows or not operands:
        document.add(followed, rows)
    else:
        document.add("", [followed])
    words = {True: "eligible", False: "not eligible", None: "cannot tell"}
    # While nothing is requested no check asks whether a node is eligible: then there is no answer to show.
    asked = any(node["eligible"] is not None or node["why"] for node in answer["nodes"]["items"])
    document.add(
        "Control-plane nodes",
        [
            (node["name"], f"Ready={node['ready']}", *((words[node["eligible"]], node["why"]) if asked else ()))
            for node in answer["nodes"]["items"]
        ],
    )
    document.add(
        "etcd members",
        [
            (member["role"], member["id"], member["address"], member["node"] or "on no control-plane node")
            for member in answer["etcd"]["items"]
        ],
    )
    machines.table(document, answer["machines"])
