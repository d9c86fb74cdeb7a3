"""Answers as text, for a person: the most important line first, what is in order last.

Takes the very structures that `-o json` prints (`answers`), so that a person and a script are told the same. Pure.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from topology_api.vocabulary import ACCEPTABLE_CHECKS

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
        paper.table([(found["verdict"], found["message"])], indent=0)
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
    """`plan TARGET`, and `plan --manifests`."""
    manifest = found.get("manifest")
    _head(paper, found, [("Phase", found["phase"] or ""), *(_manifest(manifest) if manifest is not None else ())])
    transition = found["transition"]
    paper.gap()
    if transition is not None:
        paper.say(f"{found['target']} by {transition['name']}: {transition['summary']}")
    left = found.get("notCompleteUntil", [])
    if left:
        # The sentence has the verdict in it.
        paper.say(found["message"])
    else:
        paper.table([(found["verdict"], found["message"])], indent=0)
    for one in left:
        paper.command(one["command"])
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
    if manifest is not None and manifest["skipped"]:
        paper.title("Not looked at in the folder of manifests")
        paper.table([(one["file"], one["why"]) for one in manifest["skipped"]])
    if found["command"] is not None:
        possible = found["verdict"] == "Possible"
        paper.title("Ask for it with" if possible else "Ask for it all the same with; it waits until everything is met")
        paper.command(f"oc topology set {found['target']} --confirm{'' if possible else ' --allow-pending'}")


def status(paper: Paper, found: answers.Status) -> None:
    """`status`: what is waited for comes first."""
    _head(paper, found, _phase(paper, found), written_by=found["topologyWriter"])
    _warnings(paper, found)
    if found["headline"] and found["disabled"] is None:
        paper.gap()
        paper.say(f"{found['headline']}.")
    _checks(paper, f"{found['stage']} checks", [one for one in found["checks"] if one["status"] != "Met"])
    _accepted(paper, found["accepted"])
    _met(paper, found)
    _operands(paper, found["operands"])
    _nodes(paper, found["nodes"])
    _members(paper, found["etcd"])
    _advisories(paper, found["advisories"])
    _acceptable(paper, found)
    if found["wish"] is None and found["disabled"] is None:
        _available(paper, found["available"])
    if found["withdraw"]:
        paper.title("Take the wish back with")
        paper.command("oc topology cancel")
    _unread(paper, found["unread"])


def audit(paper: Paper, found: answers.Audit) -> None:
    """`audit`: the shape, what it was told by, then what does not fit."""
    cluster, vector = found["cluster"], found["vector"]
    several = " or ".join(found["candidates"])
    sure = all(value is not None for name, value in vector.items() if name != "fencing")
    shape = f"{found['shape']}{'' if sure else ', as far as is known'}"
    paper.fields(
        [
            ("Cluster", f"{cluster['name'] or 'without a name'}, platform {cluster['platform'] or 'unknown'}"),
            ("Topology", f"{_pair(cluster['topology'])} (control plane/infrastructure)"),
            ("Phase", found["phase"] or ""),
            ("Shape", shape if found["shape"] is not None else f"cannot tell: {several}"),
        ]
    )
    paper.title("What it is told by")
    paper.table([(name, _known(value)) for name, value in vector.items()])
    if found["disagreements"]:
        paper.title("What does not fit together")
        if found["phase"] == "Converging":
            paper.say("The cluster is following a topology that has just moved: some of it ends by itself.", 2)
    for one in found["disagreements"]:
        paper.table([(one["question"], f"Between {_joined(one['between'])}")])
        paper.table([("Found", one["found"]), ("Wanted", one["wanted"]), ("Means", one["meaning"])], 4)
    if not found["disagreements"]:
        paper.gap()
        paper.say("Status, scheduler and nodes do not disagree, as far as they are known.")
    if found["open"]:
        paper.title("Left open")
        paper.table([(one["question"], f"Not known: {', '.join(one['missing'])}") for one in found["open"]])
    if any("fencing" in one["missing"] for one in found["open"]):
        paper.say("Secrets are not read: those named fencing-credentials-* in namespace openshift-etcd would tell.", 2)
    _unread(paper, found["unread"])


def _manifest(found: answers.Manifest) -> list[tuple[str, str]]:
    wish = found["desiredTopology"]
    asks = f"asks for {wish}" if wish is not None else "has no spec.desiredTopology"
    return [("Manifest", f"{one['file']}:{one['line']} {asks}") for one in found["files"]]


def _joined(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _known(value: object) -> str:
    if value is None:
        return "not known"
    return str(value).lower() if isinstance(value, bool) else str(value)


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
            *place(cluster),
            ("Written by", written_by or ""),
            ("Wish", found["wish"] or "none"),
            ("Operator", f"{operator['state']}: {operator['message']}"),
            *more,
        ]
    )


def place(cluster: state.Cluster) -> list[tuple[str, str]]:
    """Which cluster this is."""
    return [
        ("Cluster", f"{cluster['name'] or 'without a name'}, platform {cluster['platform'] or 'unknown'}"),
        ("Topology", f"{_pair(cluster['topology'])} (control plane/infrastructure)"),
    ]


def _checks(paper: Paper, title: str, checks: Sequence[answers.Check | state.Check]) -> None:
    if checks:
        paper.title(title)
        # What is not met is what somebody looks for; the order of the definition stays otherwise.
        ordered = sorted(checks, key=lambda one: _ORDER.get(one["status"], 1))
        paper.table([(one["status"], one["name"], one["message"]) for one in ordered])


def _accepted(paper: Paper, found: Sequence[state.Accepted]) -> None:
    """What nobody waits for any more, or waited for: it is shown for as long as the record has it."""
    if found:
        paper.title("Accepted without")
        paper.table(
            [
                (one["name"], f"Since {one['since']}: {one['reason'] or 'without a reason'}. It said: {one['message']}")
                for one in found
            ]
        )


def _acceptable(paper: Paper, found: answers.Status) -> None:
    """The way out for whoever knows that something will never come."""
    gone = {one["name"] for one in found["accepted"]}
    open_ = [one["name"] for one in found["checks"] if one["status"] != "Met" and one["name"] not in gone]
    could = [one.value for one in ACCEPTABLE_CHECKS if one.value in open_] if found["stuck"] else []
    if could:
        paper.title("What will never come can be accepted; read first what that means")
        for name in could:
            paper.command(f"oc topology accept --check {name}")


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
    wide = max((len(one["name"]) for one in found), default=0)
    for one in found:
        paper.table([(f"{one['name']:<{wide}}", one["message"])])
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
