"""The line that `status` and its live view begin with: how far it is, since when, what is waited for, what to do next.

Made of the answer of `status` alone, so that it is in `-o json` too; and pure, so that the live view counts on. The
operator's own sentence (`decide.assessment`) says the same without the time that has passed. A command stands last, so
that it can be copied.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from topology_api.vocabulary import Phase

if TYPE_CHECKING:
    from topology_controller.report import state

    from . import answers

_UNITS: Final = ((" s", 1, 120), (" min", 60, 7200), (" h", 3600, 172800))
_LONGEST: Final = 200
"""Characters of a command in the first line; a longer one stands below, with its advisory."""
_IDLE: Final = frozenset({Phase.IDLE, Phase.UNSUPPORTED})


def line(answer: answers.Status, now: datetime) -> str:
    """The assessment at this time, in aware UTC."""
    if answer["disabled"] is not None:
        return f"The operator takes no action on this cluster ({answer['disabled']['reason']})"
    problem, operator, phase = answer["problem"], answer["operator"]["state"], answer["phase"]
    parts = [_progress(answer, now)]
    if problem is not None:
        parts[0] = f"{problem['reason']}{_lasting(' for ', problem['since'], now)}: {parts[0]}"
    is_wanted = answer["desired"] is not None and phase != Phase.COMPLETED
    if operator in {"NotRunning", "NotInstalled"} and (is_wanted or phase is None):
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
    text = f"Completed: the cluster is {_pair(answer['cluster']['topology'])}"
    begun, ended = (transition["admitted"], transition["completed"]) if transition is not None else (None, None)
    return f"{text}, {_taken(begun, ended)}" if begun and ended else text


def _idle(answer: answers.Status, now: datetime) -> str:
    parts = [
        f"No transition leads to {answer['desired']}" if answer["phase"] == Phase.UNSUPPORTED else _request(answer)
    ]
    if (last := answer["lastTransition"]) is not None:
        begun, ended = last["admitted"], last["completed"]
        taken = f" {_taken(begun, ended)}" if begun and ended else ""
        without = f", without {', '.join(last['accepted'])}" if last["accepted"] else ""
        parts.append(f"last transition: {last['name']}{taken}{without}")
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
    command = steps[0]["command"]
    return f"{count}: {command if 0 < len(command) <= _LONGEST else 'see ' + steps[0]['name']}"


def _taken(begun: str, ended: str) -> str:
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


def _pair(pair: state.Pair) -> str:
    return f"{pair['controlPlane'] or 'none'}/{pair['infrastructure'] or 'none'}"
