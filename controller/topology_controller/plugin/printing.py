"""Answers as text, for a person: the most important line first, what is in order last.

Takes the very structures that `-o json` prints (`answers`), so that a person and a script are told the same. Pure.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..report import state
    from . import answers
    from .paper import Paper

_ORDER = {"Unmet": 0, "Unknown": 1, "Met": 2}


def overview(paper: Paper, found: answers.Overview) -> None:
    """`plan`: a row for each transition, then what blocks it."""
    _head(paper, found, [("Phase", found["phase"] or "")])
    paper.gap()
    if not found["transitions"]:
        paper.say(f"{found['message']}.")
    else:
        rows = [
            (way["verdict"], way["name"], _pair(way["target"]), way["elsewhere"] or way["summary"])
            for way in found["transitions"]
        ]
        paper.table([("VERDICT", "TRANSITION", "TARGET", "WHAT"), *rows], indent=0)
    for way in found["transitions"]:
        if way["blockers"]:
            paper.title(f"What blocks {way['name']}")
            paper.table([(one["name"], one["message"]) for one in way["blockers"]])
    targets = list(
        dict.fromkeys(way["target"]["controlPlane"] or "" for way in found["transitions"] if not way["elsewhere"])
    )
    if targets:
        paper.title("Everything about one of them")
        for target in targets:
            paper.command(f"oc topology plan {target}")
    _unread(paper, found["unread"])


def plan(paper: Paper, found: answers.Plan) -> None:
    """`plan TARGET`."""
    _head(paper, found, [("Phase", found["phase"] or "")])
    transition = found["transition"]
    paper.gap()
    if transition is not None:
        paper.say(f"{found['target']} by {transition['name']}: {transition['summary']}")
    paper.table([(found["verdict"], found["message"])], indent=0)
    _checks(paper, "Preflight", found["checks"])
    if found["onlyOperator"]:
        _checks(paper, "Asked by the operator only, as it was answered last", found["onlyOperator"])
    _advisories(paper, found["advisories"])
    if found["changes"]:
        paper.title("What would change")
        paper.table([(one["field"], f"{one['now']} -> {one['then']}") for one in found["changes"]])
    _expected(paper, "What to expect", found["expected"])
    _expected(paper, "To be seen to before, which no check can", found["checklist"])
    _unread(paper, found["unread"])
    if found["command"] is not None:
        possible = found["verdict"] == "Possible"
        paper.title("Ask for it with" if possible else "Asked for with (it would wait until everything is met)")
        paper.command(found["command"])


def status(paper: Paper, found: answers.Status) -> None:
    """`status`: what is waited for comes first."""
    _head(paper, found, _phase(paper, found), written_by=found["topologyWriter"])
    _warnings(paper, found)
    if found["headline"] and found["disabled"] is None:
        paper.gap()
        paper.say(f"{found['headline']}.")
    _checks(paper, f"{found['stage']} checks", [one for one in found["checks"] if one["status"] != "Met"])
    _met(paper, found)
    _operands(paper, found["operands"])
    _nodes(paper, found["nodes"])
    _members(paper, found["etcd"])
    _advisories(paper, found["advisories"])
    if found["wish"] is None:
        _available(paper, found["available"])
    if found["withdraw"]:
        paper.title("Take the wish back with")
        paper.command(found["withdraw"])
    _unread(paper, found["unread"])


def _phase(paper: Paper, found: answers.Status) -> list[tuple[str, str]]:
    transition, progress = found["transition"], found["progress"]
    phase = "Stuck" if found["stuck"] else found["phase"] or "no record: the operator has written nothing here"
    since = f" since {found['since']}{_ago(found['since'], found['evaluated'])}" if found["since"] else ""
    rows = [("Phase", f"{phase}{since}")]
    if transition is not None:
        rows.append(("Transition", f"{transition['name']}: {transition['summary']}" if transition["name"] else ""))
        rows.append(("Deadline", transition["deadline"] or ""))
    if progress is not None:
        bar = paper.bar(progress["met"], progress["total"])
        rows.append(("Progress", f"{progress['met']}/{progress['total']} {bar} {found['stage']} checks"))
    return rows


def _warnings(paper: Paper, found: answers.Status) -> None:
    for title, said in (("Degraded", found["degraded"]), ("Disabled", found["disabled"])):
        if said is not None:
            paper.title(f"{title} ({said['reason']})")
            paper.say(said["message"], 2)
    if found["paused"]:
        paper.title("Paused")
        paper.say("Nothing new is admitted: annotation topology.openshift.io/paused on ClusterOperator topology", 2)


def _available(paper: Paper, found: Sequence[state.Available]) -> None:
    if found:
        paper.title("What could be asked for, as it was found last")
        paper.table([("Possible" if one["available"] else "Blocked", one["name"], _blockers(one)) for one in found])
    paper.gap()
    paper.say("What could be asked for now: oc topology plan")


def _head(
    paper: Paper,
    found: answers.Plan | answers.Overview | answers.Status,
    more: Iterable[tuple[str, str]],
    written_by: str | None = None,
) -> None:
    """The paragraph that every answer begins with."""
    cluster, operator = found["cluster"], found["operator"]
    paper.fields(
        [
            ("Cluster", f"{cluster['name'] or 'without a name'}, platform {cluster['platform'] or 'unknown'}"),
            ("Topology", f"{_pair(cluster['topology'])} (control plane/infrastructure)"),
            ("Written by", written_by or ""),
            ("Wish", found["wish"] or "none"),
            ("Operator", f"{operator['state']}: {operator['message']}"),
            *more,
        ]
    )


def _checks(paper: Paper, title: str, checks: Sequence[answers.Check | state.Check]) -> None:
    if checks:
        paper.title(title)
        # What is not met is what somebody looks for; the order of the definition stays otherwise.
        ordered = sorted(checks, key=lambda one: _ORDER.get(one["status"], 1))
        paper.table([(one["status"], one["name"], one["message"]) for one in ordered])


def _met(paper: Paper, found: answers.Status) -> None:
    """What is in order is only named: what was found of each stands in `-o json`."""
    names = [one["name"] for one in found["checks"] if one["status"] == "Met"]
    if names:
        paper.title(f"{found['stage']} checks that are met")
        paper.say(", ".join(names), 2)


def _operands(paper: Paper, found: state.Operands) -> None:
    waiting = [one for one in found["items"] if one["status"] != "Met"]
    if not found["items"]:
        return
    done = len(found["items"]) - len(waiting)
    paper.title(f"Who has followed: {done} of {len(found['items'])}")
    paper.table([(one["status"], _count(one), one["check"], one["name"]) for one in waiting])


def _count(one: state.Operand) -> str:
    return "" if one["have"] is None else f"{one['have']}/{one['wanted']} {one['unit']}"


def _nodes(paper: Paper, found: state.Nodes) -> None:
    if found["items"]:
        paper.title("Control-plane nodes")
        words = {True: "eligible", False: "not eligible", None: "cannot tell"}
        paper.table(
            [(one["name"], f"Ready={one['ready']}", words[one["eligible"]], one["why"]) for one in found["items"]]
        )


def _members(paper: Paper, found: state.Members) -> None:
    if found["items"]:
        paper.title("Members of etcd")
        paper.table(
            [
                (one["role"], one["id"], one["address"], one["node"] or "on no control-plane node")
                for one in found["items"]
            ]
        )


def _advisories(paper: Paper, found: Iterable[state.Advisory]) -> None:
    for index, one in enumerate(found):
        if not index:
            paper.title("Left for a person to do")
        paper.table([(one["name"], one["message"])])
        paper.command(one["command"], 4)


def _expected(paper: Paper, title: str, found: Sequence[answers.Expected]) -> None:
    if found:
        paper.title(title)
        paper.table([(one["name"], one["message"]) for one in found])
    for one in found:
        if one["command"]:
            paper.command(one["command"], 4)


def _unread(paper: Paper, found: Sequence[answers.Unread]) -> None:
    rights = list(dict.fromkeys(one["right"] for one in found if one["right"]))
    others = [(one["what"], one["why"]) for one in found if not one["right"]]
    if rights:
        paper.title("Rights that you lack, without which something is Unknown")
        for right in rights:
            paper.say(right, 2)
    if others:
        paper.title("What could not be read")
        paper.table(others)


def _blockers(one: state.Available) -> str:
    return ", ".join(blocker["name"] for blocker in one["blockers"]) or one["summary"]


def _pair(found: state.Pair) -> str:
    return f"{found['controlPlane'] or 'none'}/{found['infrastructure'] or 'none'}"


def _ago(since: str, now: str) -> str:
    """How long ago, as `oc get` has it: 90s, 12m, 3h, 2d."""
    seconds = int((datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds())
    for unit, size, most in (("s", 1, 120), ("m", 60, 7200), ("h", 3600, 172800)):
        if 0 <= seconds < most:
            return f" ({seconds // size}{unit} ago)"
    return f" ({seconds // 86400}d ago)" if seconds >= 0 else ""
