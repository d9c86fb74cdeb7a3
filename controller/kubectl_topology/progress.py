"""`status` for people: how far it is. The live view cuts it off below, so the most important stands first. Pure.

The first line says how far it is, since when, what is waited for, and what to do next. It is made of the answer alone,
so that it is in `-o json` too, and the live view counts on. The operator's own sentence (`decide.assessment`) says the
same without the time that has passed. A command stands last, so that it can be copied.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from topology_api.vocabulary import CheckName, Phase
from topology_controller import shell
from topology_controller.decide import assessment
from topology_controller.definitions import registry

from . import machines, sections
from .document import command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from topology_controller.report import state

    from . import answers
    from .document import Document

_UNITS: Final = ((" s", 1, 120), (" min", 60, 7200), (" h", 3600, 172800))
_LONGEST: Final = 200
"""Characters of a command in the first line; a longer one stands below, with its advisory."""
_IDLE: Final = frozenset({Phase.IDLE, Phase.UNSUPPORTED})

_TWO: Final = 2
_CONDITIONS: Final = {
    "Stuck": "TransitionStuck", "EvidenceUnreadable": "EvidenceUnreadable", "RedundancyLost": "RedundancyLost",
    "TopologyOverwritten": "TopologyOverwritten",
}  # fmt: skip
"""The reason with which a condition says the same as a problem."""


def line(answer: answers.Status, now: datetime) -> str:
    """The assessment at this time, in aware UTC."""
    if answer["disabled"] is not None:
        return f"The operator takes no action on this cluster ({answer['disabled']['reason']})"
    problem, operator, phase = answer["problem"], answer["operator"]["state"], answer["phase"]
    parts = [_progress(answer, now)]
    if problem is not None:
        parts[0] = f"{problem['reason']}{_lasting(' for ', problem['since'], now)}: {parts[0]}"
    is_wanted = answer["desired"] is not None and phase != Phase.COMPLETED
    if operator in sections.ABSENT and (is_wanted or phase is None):
        parts.append("no operator is installed" if operator == "NotInstalled" else "no operator is running")
    if action := _action(answer):
        parts.append(action)
    return ", ".join(parts)


def _progress(answer: answers.Status, now: datetime) -> str:
    phase, progress, transition = answer["phase"], answer["progress"], answer["transition"]
    if phase is None:
        return f"{_request(answer)}; the operator has recorded nothing yet"
    if phase in _IDLE:
        return _idle(answer, now)
    requested = "" if transition is None else transition["requested"] or answer["since"] or ""
    if phase == Phase.COMPLETED:
        return _completed(answer)
    if phase == Phase.CONVERGING:
        return _converging(answer, now)
    met, total = (progress["met"], progress["total"]) if progress is not None else (0, 0)
    waiting = f"; waiting for {awaited}" if (awaited := _awaited(answer)) else "; all that is needed is there"
    if phase == Phase.ADMITTING:
        waiting = "; changing the topology"
    return f"{met} of {total} preflight checks met{waiting}{_lasting(', ', requested, now, ' so far')}"


def _converging(answer: answers.Status, now: datetime) -> str:
    transition, operands = answer["transition"], answer["operands"]["items"]
    updated = sum(operand["status"] == "Met" for operand in operands)
    text = f"{updated} of {len(operands)} components updated"
    if not operands and answer["progress"] is not None:
        text = f"{answer['progress']['met']} of {answer['progress']['total']} convergence checks met"
    changed = "" if transition is None else transition["admitted"] or answer["since"] or ""
    text += _lasting(", ", changed, now, " so far")
    if transition is not None and transition["typical"]:
        text += f" ({transition['typical']})"
    if transition is not None and transition["deadline"] and now > datetime.fromisoformat(transition["deadline"]):
        text += _lasting(", overdue for ", transition["deadline"], now)
    if not answer["awaited"] and transition is not None and transition["settleSeconds"]:
        text += f", waiting until all checks have stayed met for {transition['settleSeconds']} s"
    return text


def _completed(answer: answers.Status) -> str:
    transition = answer["transition"]
    text = f"Completed: the cluster is {sections.pair(answer['cluster']['topology'])}"
    begun, ended = (transition["admitted"], transition["completed"]) if transition is not None else (None, None)
    return f"{text}, {_ended(begun, ended)}" if begun and ended else text


def _idle(answer: answers.Status, now: datetime) -> str:
    parts = [
        f"No transition leads to {answer['desired']}" if answer["phase"] == Phase.UNSUPPORTED else _request(answer)
    ]
    if (last := answer["lastTransition"]) is not None:
        begun, ended = last["admitted"], last["completed"]
        when = f" {_ended(begun, ended)}" if begun and ended else ""
        without = f", without {', '.join(last['accepted'])}" if last["accepted"] else ""
        parts.append(f"last transition: {last['name']}{when}{without}")
    if answer["available"] and (answer["desired"] is None or answer["phase"] == Phase.UNSUPPORTED):
        parts.append(_available(answer["available"], now))
    return "; ".join(parts)


def _available(available: list[state.Available], now: datetime) -> str:
    possible = [way for way in available if way["available"]]
    if possible:
        targets = " or ".join(dict.fromkeys(way["target"]["controlPlane"] or "" for way in possible))
        return f"possible: {targets} (evaluated {age(possible[0]['evaluated'], now)})"
    nearest = min(available, key=lambda way: len(way["blockers"]))
    unknown = all(blocker["status"] == "Unknown" for blocker in nearest["blockers"])
    checks = f"{len(nearest['blockers'])} check{'' if len(nearest['blockers']) == 1 else 's'}"
    state_ = f"cannot tell about {nearest['name']}" if unknown else f"{nearest['name']} is blocked by {checks}"
    return f"{state_} (evaluated {age(nearest['evaluated'], now)})"


def _request(answer: answers.Status) -> str:
    desired = answer["desired"]
    if desired is None:
        return "Nothing is requested"
    if desired == answer["cluster"]["topology"]["controlPlane"] and answer["phase"] == Phase.IDLE:
        return f"The request {desired} is fulfilled"
    return f"{desired} is requested"


def _awaited(answer: answers.Status) -> str:
    return ", ".join(
        check["name"] if check["have"] is None else f"{check['name']} ({check['have']} of {check['wanted']})"
        for check in answer["awaited"]
    )


def _action(answer: answers.Status) -> str:
    """How many actions a check waits for, else how many are left to do, with the command of the first."""
    advisories, required = answer["advisories"], answer["required"]
    awaited = [advisory for advisory in advisories if advisory["name"] in required]
    kind, steps = ("required", awaited) if awaited else ("left to do", advisories)
    if not steps:
        return ""
    count = f"1 action {kind}" if len(steps) == 1 else f"{len(steps)} actions {kind}, first"
    repair = steps[0]["command"]
    return f"{count}: {repair if 0 < len(repair) <= _LONGEST else 'see ' + steps[0]['name']}"


def _ended(begun: str, ended: str) -> str:
    return f"after {length(begun, datetime.fromisoformat(ended))}, at {ended}"


def _lasting(before: str, since: str, now: datetime, after: str = "") -> str:
    """How long it has lasted, between these words; empty for what is to come or not known."""
    lasted = length(since, now) if since else ""
    return f"{before}{lasted}{after}" if lasted else ""


def age(since: str, now: datetime) -> str:
    """How long ago: `32 s ago`."""
    lasted = length(since, now)
    return f"{lasted} ago" if lasted else "just now"


def length(begin: str, end: datetime) -> str:
    """A length of time as it is read at a glance: 90 s, 12 min, 3 h, 2 d. Empty when it is negative."""
    seconds = int((end - datetime.fromisoformat(begin)).total_seconds())
    for unit, size, most in _UNITS:
        if 0 <= seconds < most:
            return f"{seconds // size}{unit}"
    return f"{seconds // 86400} d" if seconds >= 0 else ""


def add_status(document: Document, answer: answers.Status, now: datetime | None = None) -> None:
    """`status`: what is waited for comes first. With `now` (aware UTC), ages count on: so the live view has it."""
    clock = now or datetime.fromisoformat(answer["evaluated"])
    document.add("", [line(answer, clock)])
    _head(document, answer, clock)
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
    sections.advised(document, answer["advisories"], answer["required"])
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
    if (answer["desired"] is None or answer["phase"] == "Unsupported") and answer["disabled"] is None:
        _add_available(document, answer["available"], clock)
    sections.explained(document, [check for check in unmet if check["name"] not in gone])
    if answer["cancel"]:
        document.add("Cancel the request with", [command("oc topology cancel")])
    sections.unread(document, answer["unread"], answer["operator"])


def _head(document: Document, answer: answers.Status, clock: datetime) -> None:
    phase, since, progress, transition = answer["phase"], answer["since"], answer["progress"], answer["transition"]
    problem = answer["problem"]
    state = phase or "no record: the operator has written nothing here"
    if answer["stuck"]:
        # Since it is stuck, not since it began to converge.
        state, since = "Stuck", problem["since"] if problem is not None else None
    fields = [("Phase", f"{state} since {since} ({age(since, clock)})" if since else state)]
    if transition is not None:
        fields.append(("Transition", f"{transition['name']}: {transition['summary']}" if transition["name"] else ""))
        deadline = transition["deadline"] or ""
        if deadline:
            left = length(clock.isoformat(), datetime.fromisoformat(deadline))
            deadline += f" (in {left})" if left else f" (passed {age(deadline, clock)})"
        fields.append(("Deadline", deadline))
    if progress is not None:
        met, total, size = progress["met"], progress["total"], 10 if 0 < document.width < 64 else 20
        done = size * met // total if total else 0
        fields.append(("Progress", f"{met}/{total} [{'#' * done}{'-' * (size - done)}] {answer['stage']} checks"))
    sections.head(document, answer, fields, written_by=answer["topologyWriter"])


def _troubles(document: Document, answer: answers.Status, clock: datetime) -> None:
    """What a person should know first. Each paragraph once: the problem of a record and a condition may be the same."""
    problem, degraded, disabled = answer["problem"], answer["degraded"], answer["disabled"]
    voters = sum(member["role"] == "voter" for member in answer["etcd"]["items"])
    few = {_TWO: ("Two voters", assessment.TWO_VOTERS)}
    if answer["phase"] == "Converging":
        few[1] = ("One voter", assessment.ONE_VOTER)
    if voters in few and (problem is None or problem["reason"] != "TwoVoters"):
        title, danger = few[voters]
        document.add(title, [f"{danger}: do not restart a control-plane node."])
    if problem is not None:
        since = f"since {problem['since']}, {age(problem['since'], clock)}"
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
    overdue = f"Overdue since {transition['deadline']}" if transition["deadline"] else "Overdue"
    text = f"{overdue}, and nothing progresses. Blocked by {blocking['name']}: see below"
    repair = advisories.get(repairs.get(blocking["name"], ""))
    return f"{text}. Action required: {repair}" if repair else text


def _add_available(document: Document, available: Sequence[state.Available], clock: datetime) -> None:
    rows = []
    for way in available:
        unknown = bool(way["blockers"]) and all(blocker["status"] == "Unknown" for blocker in way["blockers"])
        verdict = "Possible" if way["available"] else "Cannot tell" if unknown else "Blocked"
        names = ", ".join(blocker["name"] for blocker in way["blockers"])
        rows.append((verdict, way["name"], f"evaluated {age(way['evaluated'], clock)}", names or way["summary"]))
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
