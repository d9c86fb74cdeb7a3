"""`status` for people: how far it is. The live view cuts it off below, so the most important stands first. Pure.

The first line says how far it is, since when, what is waited for, and what to do next, with a command last, so that it
can be copied. It is in `-o json` too; `decide.assessment` says the same without the time that has passed. The screen
has each thing once: what is missing is a row, what is met a number. `-o wide` has every message and command.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from topology_api.vocabulary import CheckName, Phase
from topology_controller import shell
from topology_controller.decide import problems
from topology_controller.definitions import registry

from . import optional, sections
from .document import Row, command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from topology_controller.report import state

    from . import answers
    from .document import Document

_UNITS: Final = ((" s", 1, 120), (" min", 60, 7200), (" h", 3600, 172800))
_DANGER: Final = 4
"""Lines of one of the paragraphs that a screen begins with."""


def line(answer: answers.Status, now: datetime, *, rows: bool = False) -> str:
    """The assessment at this time, in aware UTC; without what stands in `rows` below it."""
    if answer["disabled"] is not None:
        return f"The operator takes no action on this cluster ({answer['disabled']['reason']})"
    problem, operator, phase = answer["problem"], answer["operator"]["state"], answer["phase"]
    parts = [_progress(answer, now, rows=rows)]
    if problem is not None:
        parts[0] = f"{problem['reason']}{_lasting(' for ', problem['since'], now)}: {parts[0]}"
    is_wanted = answer["desired"] is not None and phase != Phase.COMPLETED
    if operator in sections.ABSENT and (is_wanted or phase is None):
        parts.append("no operator is installed" if operator == "NotInstalled" else "no operator is running")
    return ", ".join(filter(None, (*parts, _action(answer, rows=rows))))


def _progress(answer: answers.Status, now: datetime, *, rows: bool) -> str:
    phase, progress, transition = answer["phase"], answer["progress"], answer["transition"]
    if phase is None:
        return f"{_request(answer)}; the operator has recorded nothing yet"
    if phase in {Phase.IDLE, Phase.UNSUPPORTED}:
        return _idle(answer, now, rows=rows)
    requested = "" if transition is None else transition["requested"] or answer["since"] or ""
    if phase == Phase.COMPLETED:
        text = f"Completed: the cluster is {sections.pair(answer['cluster']['topology'])}"
        return text if transition is None else text + _ended(", ", transition["admitted"], transition["completed"])
    if phase == Phase.CONVERGING:
        return _converging(answer, now)
    met, total = (progress["met"], progress["total"]) if progress is not None else (0, 0)
    awaited = ", ".join(
        check["name"] if check["have"] is None else f"{check['name']} ({check['have']} of {check['wanted']})"
        for check in answer["awaited"]
    )
    waiting = f"; waiting for {awaited}" * (not rows) if awaited else "; all that is needed is there"
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


def _idle(answer: answers.Status, now: datetime, *, rows: bool) -> str:
    is_unsupported = answer["phase"] == Phase.UNSUPPORTED
    parts = [f"No transition leads to {answer['desired']}" if is_unsupported else _request(answer)]
    if (last := answer["lastTransition"]) is not None:
        when = _ended(" ", last["admitted"], last["completed"])
        without = f", without {', '.join(last['accepted'])}" if last["accepted"] else ""
        parts.append(f"last transition: {last['name']}{when}{without}")
    if not rows and answer["available"] and (answer["desired"] is None or is_unsupported):
        parts.append(_available(answer["available"], now))
    return "; ".join(parts)


def _available(available: list[state.Available], now: datetime) -> str:
    possible = [way for way in available if way["available"]]
    if possible:
        targets = " or ".join(dict.fromkeys(way["target"]["controlPlane"] or "" for way in possible))
        return f"possible: {targets} (evaluated {age(possible[0]['evaluated'], now)})"
    nearest = min(available, key=lambda way: len(way["blockers"]))
    checks = f"{len(nearest['blockers'])} check{'' if len(nearest['blockers']) == 1 else 's'}"
    unknown = all(blocker["status"] == "Unknown" for blocker in nearest["blockers"])
    verdict = f"cannot tell about {nearest['name']}" if unknown else f"{nearest['name']} is blocked by {checks}"
    return f"{verdict} (evaluated {age(nearest['evaluated'], now)})"


def _request(answer: answers.Status) -> str:
    desired = answer["desired"]
    if desired is None:
        return "Nothing is requested"
    if desired == answer["cluster"]["topology"]["controlPlane"] and answer["phase"] == Phase.IDLE:
        return f"The request {desired} is fulfilled"
    return f"{desired} is requested"


def _action(answer: answers.Status, *, rows: bool) -> str:
    """How many actions a check waits for, with the command of the first if it fits; else how many are recommended."""
    (_, awaited), (_, others) = sections.divided(answer["advisories"], answer["required"])
    if not awaited:
        # A command confirms what only a person knows, or acts on what nothing waits for: it stands with its message.
        return f"{len(others)} action{'s' * (len(others) > 1)} recommended" if others else ""
    count = "1 action required" if len(awaited) == 1 else f"{len(awaited)} actions required, first"
    # A longer one stands below, with its advisory.
    if 0 < len(awaited[0]["command"]) <= 200:
        return f"{count}: {awaited[0]['command']}"
    return "" if rows else f"{count}: see {awaited[0]['name']}"


def _ended(before: str, begun: str | None, ended: str | None) -> str:
    return f"{before}after {length(begun, datetime.fromisoformat(ended))}, at {ended}" if begun and ended else ""


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
    """`status`: the danger, how far it is, what is missing, what is left to do. With `now` (UTC) ages count on."""
    clock, failing = now or datetime.fromisoformat(answer["evaluated"]), _failing(answer)
    for reason, text in _troubles(answer):
        # Of what is not met, which these repeat, there are rows.
        if reason not in {"Stuck", "TransitionStuck", "Blocked"} or not failing:
            document.add("", [Row((f"{reason}: {text}" if document.whole else text,), 0, lines=_DANGER)])
    first = line(answer, clock, rows=not document.whole)
    document.add("", [first])
    _add_fields(document, answer, clock)
    _add_missing(document, answer, clock)
    # What is not waited for any more is listed for as long as the record has it.
    accepted = []
    for check in answer["accepted"]:
        why = f"Since {check['since']}: {check['reason'] or 'without a reason'}. It said: {check['message']}"
        accepted.append(Row((check["name"], why), lines=1))
    document.add("Accepted without", accepted)
    if document.whole:
        sections.checks(document, f"{answer['stage']} checks", failing)
        sections.advised(document, answer["advisories"], answer["required"])
        _add_objects(document, answer)
    else:
        _add_actions(document, answer, first)
    optional.show(document, answer.get("optionalOperators", []), brief=not document.whole)
    if (answer["desired"] is None or answer["phase"] == "Unsupported") and answer["disabled"] is None:
        _add_available(document, answer["available"], clock)
    sections.unread(document, answer["unread"], answer["operator"])
    more = [] if document.whole else ["oc topology status -o wide"]
    if failing or answer["advisories"]:
        more.append("oc topology explain NAME")
    if answer["cancel"]:
        more.append("oc topology cancel")
    if answer["stuck"] and any(check["name"] in registry.ACCEPTABLE_CHECKS for check in failing):
        more.append("oc topology accept --check NAME")
    sections.fields(document, [("More", ", ".join(more))])


def _add_fields(document: Document, answer: answers.Status, clock: datetime) -> None:
    """What and since when. What is as it should be is a number, or left out of a screen."""
    whole, operator, transition = document.whole, answer["operator"], answer["transition"]
    state, since = answer["phase"] or "no record: the operator has written nothing here", answer["since"]
    if answer["stuck"] and answer["problem"] is not None:
        # Since it is stuck, not since it began to converge.
        state, since = "Stuck", answer["problem"]["since"]
    state += f" since {since}" if since else ""
    if answer["stuck"] and (blocking := _blocking(answer)):
        state += f", blocked by {blocking['name']}"
    request, deadline = answer["desired"] or "none", ""
    if transition is not None and transition["name"]:
        request += f" ({transition['name']}: {transition['summary']})" if whole else f" ({transition['name']})"
    if transition is not None and transition["deadline"] and (whole or not answer["stuck"]):
        left = length(clock.isoformat(), datetime.fromisoformat(transition["deadline"]))
        passed = f"in {left}" if left else f"passed {age(transition['deadline'], clock)}"
        deadline = f"{transition['deadline']} ({passed})"
    met = []
    if (progress := answer["progress"]) is not None:
        met.append(f"{progress['met']} of {progress['total']} {(answer['stage'] or '').lower()} checks")
    if nodes := answer["nodes"]["items"]:
        ready = sum(node["ready"] == "True" for node in nodes)
        met.append(f"{ready} of {len(nodes)} control-plane nodes Ready")
    if members := answer["etcd"]["items"]:
        met.append(f"{sum(member['role'] == 'voter' for member in members)} etcd voters")
    writer, runs = answer["topologyWriter"] or "" if whole else "", operator["state"] == "Running"
    leads = sections.running(operator) if whole or not runs else ""
    rows = [("Set by", writer), ("Request", request), ("Operator", leads), ("Phase", state), ("Deadline", deadline)]
    sections.fields(document, [*sections.place(answer["cluster"]), *rows, ("Met", ", ".join(met))])


def _add_missing(document: Document, answer: answers.Status, clock: datetime) -> None:
    """A row for each component that is not updated, and for each check that is not met and has none."""
    operands = answer["operands"]["items"]
    short = [operand["name"].rpartition("/")[2] for operand in operands]
    counts = {check["name"]: check for check in answer["awaited"]}
    waited = any(operand["status"] != "Met" for operand in operands)
    gone, rows = {check["name"] for check in answer["accepted"]}, []
    for check in (check for check in answer["checks"] if check["name"] not in gone):
        # What is read now may be newer than the record of its check.
        since = length(check["since"], clock) if check["status"] != "Met" else ""
        own = [operand for operand in operands if operand["check"] == check["name"] and operand["status"] != "Met"]
        for operand in own:
            name = operand["name"].rpartition("/")[2]
            name = operand["name"] if document.whole or short.count(name) > 1 else name
            number = _number(operand, operand["status"]) + f" {operand['unit']}" * document.whole
            rows.append(Row((number, since, check["name"], name), 0, lines=_DANGER))
        if not own and check["status"] != "Met":
            awaited = counts.get(check["name"])
            seen = (awaited["seen"] if awaited is not None else None) or check["message"]
            number = _number(awaited, check["status"])
            rows.append(Row((number, since, check["name"], seen), 0, lines=1 if waited else _DANGER))
    title = Row(("NOW", "SINCE", "CHECK", "COMPONENT" if waited else "FOUND"), 0)
    document.add("", [title, *rows] if rows else [])


def _number(count: answers.Awaited | state.Operand | None, status: str) -> str:
    """How far it is, where that is a number; else its status."""
    return status if count is None or count["have"] is None else f"{count['have']}/{count['wanted']}"


def _add_actions(document: Document, answer: answers.Status, first: str) -> None:
    """A line for each advisory; where a check waits for it, its command too, unless the first line has that."""
    for title, advisories in sections.divided(answer["advisories"], answer["required"]):
        rows, lines = [], 2 if title == sections.REQUIRED else 1
        for advisory in advisories:
            rows.append(Row((advisory["name"], advisory["message"].partition(". ")[0]), lines=lines))
            if title == sections.REQUIRED and advisory["command"] not in first:
                rows.append(command(advisory["command"], 4))
        document.add(title, rows)


def _troubles(answer: answers.Status) -> Iterator[tuple[str, str]]:
    """Reason and text of what a person should know first; a problem and a condition of the same reason once."""
    problem, degraded, disabled = answer["problem"], answer["degraded"], answer["disabled"]
    voters = sum(member["role"] == "voter" for member in answer["etcd"]["items"])
    few = {2: problems.TWO_VOTERS}
    if answer["phase"] == "Converging":
        few[1] = problems.ONE_VOTER
    if voters in few and (problem is None or problem["reason"] != "TwoVoters"):
        yield "Danger", f"{few[voters]}: do not restart a control-plane node."
    if problem is not None:
        yield problem["reason"], problem["message"]
    # A condition says the same as a problem: of one that is Stuck with a reason of its own.
    same = "" if problem is None else {"Stuck": "TransitionStuck"}.get(problem["reason"], problem["reason"])
    if degraded is not None and degraded["reason"] != same:
        yield degraded["reason"], degraded["message"]
    if disabled is not None:
        yield disabled["reason"], disabled["message"]
    if answer["paused"] and (problem is None or problem["reason"] != "Paused"):
        yield "Paused", "No transition starts: annotation topology.openshift.io/paused on ClusterOperator topology"
    if answer["phase"] == "Unsupported" and answer["headline"] and disabled is None:
        yield "Unsupported", sections.sentence(answer["headline"])


def _failing(answer: answers.Status) -> list[state.Check]:
    gone = {check["name"] for check in answer["accepted"]}
    return [check for check in answer["checks"] if check["status"] != "Met" and check["name"] not in gone]


def _blocking(answer: answers.Status) -> state.Check | None:
    """The check that `decide.convergence` names: what an administrator can repair, else what fails longest."""
    advised = {advisory["name"] for advisory in answer["advisories"]}
    repairs = {check.value: traits.advisory for check, traits in registry.TRAITS.items() if traits.advisory}

    def order(check: state.Check) -> tuple[bool, str, bool]:
        name = check["name"]
        return repairs.get(name) not in advised, check["since"], name == CheckName.CLUSTER_OPERATORS_STABLE

    return min(_failing(answer), key=order, default=None)


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


def _add_objects(document: Document, answer: answers.Status) -> None:
    """What is met, control-plane nodes, etcd members and Machines."""
    # What was found of each that is in order stands in `-o json`.
    in_order = ", ".join(check["name"] for check in answer["checks"] if check["status"] == "Met")
    document.add(f"{answer['stage']} checks that are met", [in_order] if in_order else [])
    words, nodes = {True: "eligible", False: "not eligible", None: "cannot tell"}, answer["nodes"]["items"]
    # While nothing is requested no check asks whether a node is eligible: then there is no answer to show.
    asked = any(node["eligible"] is not None or node["why"] for node in nodes)
    rows = [(node["name"], f"Ready={node['ready']}", words[node["eligible"]], node["why"]) for node in nodes]
    document.add("Control-plane nodes", rows if asked else [row[:2] for row in rows])
    members, nowhere = answer["etcd"]["items"], "on no control-plane node"
    where = [(item["role"], item["id"], item["address"], item["node"] or nowhere) for item in members]
    document.add("etcd members", where)
    sections.add_machines(document, answer["machines"])
