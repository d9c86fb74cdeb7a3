"""Answers as sections of rows: the most important first, what is in order last.

Takes the structures that `-o json` prints (`answers`), so that people and scripts read the same. The live view draws
`status` too, and hides the rows of the highest `document.Rank` first on a small terminal. Pure.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from topology_api.vocabulary import CheckName

from ..definitions import registry
from .document import Rank, Row, command

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..report import state
    from . import answers
    from .commands import accept
    from .document import Document

_ORDER: Final = {"Unmet": 0, "Unknown": 1, "Met": 2}
_HEAD: Final = {
    "Cluster": Rank.HEAD, "Topology": Rank.HEAD, "Phase": Rank.HEAD, "Progress": Rank.HEAD,
    "Operator": Rank.UNMET, "Written by": Rank.IN_ORDER, "Transition": Rank.IN_ORDER,
}  # fmt: skip
_REFUSED: Final = "Nothing was written"
_LEFT: Final = "Action required"
_FINAL: Final = (
    "The transition completes without it, once every other check is met and stable. Then minor upgrades are allowed.",
    "It is final for this attempt: recorded with your reason and the time, and shown wherever this transition is.",
    "The component can still be repaired later. That needs no further command.",
)


def overview(document: Document, answer: answers.Overview) -> None:
    """`plan`: a row for each transition, then what blocks it."""
    _head(document, answer, [("Phase", answer["phase"] or "")])
    ways = answer["transitions"]
    if ways:
        rows = [(way["verdict"], way["name"], _pair(way["target"]), way["elsewhere"] or way["summary"]) for way in ways]
        document.add("", [("VERDICT", "TRANSITION", "TARGET", "WHAT"), *rows])
    else:
        document.add("", [(answer["verdict"], answer["message"])])
    for way in ways:
        document.add(f"What blocks {way['name']}", [(check["name"], check["message"]) for check in way["blockers"]])
    targets = dict.fromkeys(way["target"]["controlPlane"] or "" for way in ways if not way["elsewhere"])
    document.add("Everything about one of them", [command(f"oc topology plan {target}") for target in targets])
    _unread(document, answer["unread"])


def plan(document: Document, answer: answers.Plan) -> None:
    """`plan TARGET`, and `plan -f`."""
    manifest, transition, left = answer.get("manifest"), answer["transition"], answer.get("notCompleteUntil", [])
    fields = [("Phase", answer["phase"] or "")]
    if manifest is not None:
        desired = manifest["desiredTopology"]
        asks = f"asks for {desired}" if desired is not None else "has no spec.desiredTopology"
        fields += [("Manifest", f"{file['file']}:{file['line']} {asks}") for file in manifest["files"]]
    _head(document, answer, fields)
    document.add(
        "",
        [
            *([f"{answer['target']} by {transition['name']}: {transition['summary']}"] if transition else ()),
            # With something left to do the sentence has the verdict in it.
            answer["message"] if left else (answer["verdict"], answer["message"]),
            *(command(step["command"]) for step in left),
        ],
    )
    _checks(document, "Preflight", answer["checks"])
    _checks(document, "Checked by the operator only, as last recorded", answer["onlyOperator"])
    _steps(document, _LEFT, answer["advisories"])
    changes = [(change["field"], f"{change['now']} -> {change['then']}") for change in answer["changes"]]
    document.add("What would change", changes)
    for title, steps in (
        ("What to expect", answer["expected"]),
        ("To do before; no check verifies it", answer["checklist"]),
    ):
        _steps(document, title, steps, wide=max((len(step["name"]) for step in steps), default=0))
    _unread(document, answer["unread"])
    if manifest is not None:
        skipped = [(file["file"], file["why"]) for file in manifest["skipped"]]
        document.add("Not looked at in the manifest", skipped)
    if answer["command"] is not None:
        possible = answer["verdict"] == "Possible"
        document.add(
            "Request it with" if possible else "Request it anyway with; the operator waits until every check is met",
            [command(f"oc topology set {answer['target']} --confirm{'' if possible else ' --allow-pending'}")],
        )


def status(document: Document, answer: answers.Status, now: datetime | None = None) -> None:
    """`status`: what is waited for comes first. With `now` (aware UTC), ages count on: so the live view has it."""
    phase, since, progress, transition = answer["phase"], answer["since"], answer["progress"], answer["transition"]
    clock = now or datetime.fromisoformat(answer["evaluated"])
    state = "Stuck" if answer["stuck"] else phase or "no record: the operator has written nothing here"
    fields = [("Phase", f"{state} since {since}{ago(since, clock)}" if since else state)]
    if transition is not None:
        fields.append(("Transition", f"{transition['name']}: {transition['summary']}" if transition["name"] else ""))
        deadline = transition["deadline"] or ""
        if deadline and now is not None:
            left = _length(now.isoformat(), datetime.fromisoformat(deadline))
            deadline += f" (in {left})" if left else f" (passed{ago(deadline, now)})"
        fields.append(("Deadline", deadline))
    if progress is not None:
        met, total, size = progress["met"], progress["total"], 10 if 0 < document.width < 64 else 20
        done = size * met // total if total else 0
        fields.append(("Progress", f"{met}/{total} [{'#' * done}{'-' * (size - done)}] {answer['stage']} checks"))
    _head(document, answer, fields, written_by=answer["topologyWriter"])
    for title, condition in (("Degraded", answer["degraded"]), ("Disabled", answer["disabled"])):
        if condition is not None:
            document.add(f"{title} ({condition['reason']})", [condition["message"]], Rank.UNMET)
    if answer["paused"]:
        why = "No transition starts: annotation topology.openshift.io/paused on ClusterOperator topology"
        document.add("Paused", [why], Rank.UNMET)
    if answer["headline"] and answer["disabled"] is None:
        document.add("", [f"{answer['headline']}."])
    unmet = [check for check in answer["checks"] if check["status"] != "Met"]
    _checks(document, f"{answer['stage']} checks", unmet)
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
    # What was found of each that is in order stands in `-o json`.
    in_order = ", ".join(check["name"] for check in answer["checks"] if check["status"] == "Met")
    document.add(f"{answer['stage']} checks that are met", [in_order] if in_order else [], Rank.IN_ORDER)
    _objects(document, answer)
    _steps(document, _LEFT, answer["advisories"], Rank.TO_DO)
    gone = {check["name"] for check in answer["accepted"]}
    open_ = {check["name"] for check in unmet} - gone if answer["stuck"] else set()
    document.add(
        "A check that will never be met can be accepted; read first what that means",
        [
            command(f"oc topology accept --check {check.value}", rank=Rank.TO_DO)
            for check in registry.ACCEPTABLE_CHECKS
            if check.value in open_
        ],
    )
    if answer["desired"] is None and answer["disabled"] is None:
        rows = [
            (
                "Possible" if way["available"] else "Blocked",
                way["name"],
                ", ".join(check["name"] for check in way["blockers"]) or way["summary"],
            )
            for way in answer["available"]
        ]
        document.add("What can be requested, as last evaluated", rows)
        document.add("", ["What can be requested now: oc topology plan"])
    if answer["cancel"]:
        document.add("Cancel the request with", [command("oc topology cancel", rank=Rank.IN_ORDER)])
    _unread(document, answer["unread"])


def audit(document: Document, answer: answers.Audit) -> None:
    """`audit`: the shape, what it is derived from, then what does not fit."""
    vector, disagreements = answer["vector"], answer["disagreements"]
    sure = all(value is not None for name, value in vector.items() if name != "fencing")
    shape = f"{answer['shape']}{'' if sure else ', as far as is known'}"
    several = f"cannot tell: {' or '.join(answer['candidates'])}"
    _fields(
        document,
        [
            *_place(answer["cluster"]),
            ("Phase", answer["phase"] or ""),
            ("Shape", shape if answer["shape"] is not None else several),
        ],
    )
    document.add("Derived from", [(name, _known(value)) for name, value in vector.items()])
    if disagreements:
        rows: list[Row | tuple[str, str] | str] = []
        if answer["phase"] == "Converging":
            rows.append("The topology has just changed, and the cluster follows: some of this resolves by itself.")
        for item in disagreements:
            *first, last = item["between"]
            rows.append((item["question"], f"Between {', '.join(first)} and {last}" if first else f"Between {last}"))
            parts = (("Found", item["found"]), ("Wanted", item["wanted"]), ("Means", item["meaning"]))
            rows += [Row(part, indent=4) for part in parts]
        document.add("What does not fit together", rows)
    else:
        document.add("", ["Status, scheduler and nodes do not disagree, as far as they are known."])
    unfenced = any("fencing" in item["missing"] for item in answer["open"])
    secrets = "Secrets are not read: those named fencing-credentials-* in namespace openshift-etcd would show it."
    questions = [(item["question"], f"Not known: {', '.join(item['missing'])}") for item in answer["open"]]
    document.add("Left open", [*questions, secrets] if unfenced else questions)
    _unread(document, answer["unread"])


def request(document: Document, answer: answers.Set) -> None:
    """`set`: without --confirm a plan that ends with what would be sent; one that was refused is shown again."""
    result, patch, operator = answer["result"], answer["patch"], answer["plan"]["operator"]
    # The command of the plan knows no version; what is really sent stands below.
    basis: answers.Plan = {**answer["plan"], "command": None}
    if answer["dryRun"]:
        plan(document, basis)
    elif result == "Refused":
        # Why not, and not again all that it would have meant.
        plan(document, {**basis, "advisories": [], "changes": [], "expected": [], "checklist": []})
    else:
        before = answer["desired"] or "none"
        # What keeps an operator from running is the warning that follows.
        leads = f": {operator['message']}" if operator["state"] == "Running" else ""
        _fields(
            document,
            [
                *_place(answer["plan"]["cluster"]),
                ("Request", f"{answer['target']}, before: {before}" if result == "Written" else before),
                ("Operator", f"{operator['state']}{leads}"),
            ],
        )
    document.add("Warning", map(_sentence, answer["warnings"]))
    if result == "WouldWrite":
        document.add("", [f"{_sentence(answer['message'])} {_REFUSED}, because --confirm was not given."])
        if patch is not None:
            version = patch["body"]["metadata"]["resourceVersion"]
            title = f"What would be sent; it is refused when Infrastructure is no longer at version {version}"
            document.add(title, [command(patch["command"])])
    elif result == "Refused":
        # The verdict of the plan stands above.
        why = "" if answer["message"] == answer["plan"]["message"] else f"{_sentence(answer['message'])} "
        document.add("", [(result, f"{why}{_REFUSED}.")])
    else:
        operator_says = [("Operator", answer["operatorSays"])] if answer["operatorSays"] else []
        document.add("", [(result, _sentence(answer["message"])), *operator_says])
    _next(document, answer["next"])


def cancel(document: Document, answer: answers.Cancel) -> None:
    """`cancel`."""
    _head(document, answer, [("Phase", answer["phase"] or "")], requested_by=answer["requestedBy"])
    document.add("Warning", map(_sentence, answer["warnings"]))
    refused = f" {_REFUSED}." if answer["result"] == "Refused" else ""
    document.add("", [(answer["result"], f"{_sentence(answer['message'])}{refused}")])
    _next(document, answer["next"])


def offer(document: Document, answer: accept.Offer) -> None:
    """`accept`, before the consent: what was found, what is given up, and that it is final."""
    record, check = answer.record, answer.check
    _fields(
        document,
        [
            ("Check", f"{check.status.value}  {check.name}"),
            ("Found", check.message),
            ("Transition", f"{record.name} to {record.target}, attempt {answer.attempt}"),
            ("Operator", answer.operator),
        ],
    )
    given_up = f"It is not repaired: {registry.TRAITS[CheckName(check.name)].acceptable}."
    document.add(
        f"If you accept that {check.name} will not be met", [("*", sentence) for sentence in (given_up, *_FINAL)]
    )


def ago(since: str, now: datetime) -> str:
    """How long ago, in brackets; empty for what is to come."""
    age = _length(since, now)
    return f" ({age} ago)" if age else ""


def _length(begin: str, end: datetime) -> str:
    """A length of time as `oc get` has it: 90s, 12m, 3h, 2d. Empty when it is negative."""
    seconds = int((end - datetime.fromisoformat(begin)).total_seconds())
    for unit, size, most in (("s", 1, 120), ("m", 60, 7200), ("h", 3600, 172800)):
        if 0 <= seconds < most:
            return f"{seconds // size}{unit}"
    return f"{seconds // 86400}d" if seconds >= 0 else ""


def _head(
    document: Document,
    answer: answers.Plan | answers.Overview | answers.Status | answers.Cancel,
    fields: Iterable[tuple[str, str]],
    *,
    written_by: str | None = None,
    requested_by: str | None = None,
) -> None:
    """The paragraph that an answer begins with."""
    desired, operator = answer["desired"], answer["operator"]
    _fields(
        document,
        [
            *_place(answer["cluster"]),
            ("Written by", written_by or ""),
            ("Request", f"{desired}, made by {requested_by}" if desired and requested_by else desired or "none"),
            ("Operator", f"{operator['state']}: {operator['message']}"),
            *fields,
        ],
    )


def _fields(document: Document, pairs: Iterable[tuple[str, str]]) -> None:
    """Names and values; a name without a value is left out."""
    document.add("", [Row(pair, _HEAD.get(pair[0], Rank.PROGRESS), indent=0) for pair in pairs if pair[1]])


def _place(cluster: state.Cluster) -> list[tuple[str, str]]:
    return [
        ("Cluster", f"{cluster['name'] or 'without a name'}, platform {cluster['platform'] or 'unknown'}"),
        ("Topology", f"{_pair(cluster['topology'])} (control plane/infrastructure)"),
    ]


def _checks(document: Document, title: str, checks: Sequence[answers.Check | state.Check]) -> None:
    # What is not met is looked for; the order of the definition stays otherwise.
    ordered = sorted(checks, key=lambda check: _ORDER.get(check["status"], 1))
    document.add(title, [(check["status"], check["name"], check["message"]) for check in ordered], Rank.UNMET)


def _objects(document: Document, answer: answers.Status) -> None:
    """Components that are not updated, control-plane nodes, and members of etcd."""
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
        document.add("", [followed], Rank.IN_ORDER)
    words = {True: "eligible", False: "not eligible", None: "cannot tell"}
    document.add(
        "Control-plane nodes",
        [
            Row(
                (node["name"], f"Ready={node['ready']}", words[node["eligible"]], node["why"]),
                Rank.IN_ORDER if node["eligible"] and node["ready"] == "True" else Rank.PROGRESS,
            )
            for node in answer["nodes"]["items"]
        ],
    )
    document.add(
        "Members of etcd",
        [
            Row(
                (member["role"], member["id"], member["address"], member["node"] or "on no control-plane node"),
                Rank.IN_ORDER if member["role"] == "voter" and member["node"] else Rank.PROGRESS,
            )
            for member in answer["etcd"]["items"]
        ],
    )


def _steps(
    document: Document,
    title: str,
    steps: Sequence[answers.Expected],
    rank: Rank = Rank.PROGRESS,
    wide: int = 0,
) -> None:
    """What is to be expected, or done by a person, each with its command. A command ends a table, hence `wide`."""
    rows: list[Row] = []
    for step in steps:
        rows.append(Row((f"{step['name']:<{wide}}", step["message"]), rank))
        if step["command"]:
            rows.append(command(step["command"], 4, rank))
    document.add(title, rows)


def _next(document: Document, steps: Sequence[answers.Expected]) -> None:
    rows: list[Row | str] = []
    for step in steps:
        if step["command"]:
            rows += [f"{step['message']}:", command(step["command"], 4)]
        else:
            document.add("", [_sentence(step["message"])])
    document.add("What can be done now", rows)


def _unread(document: Document, unread: Sequence[answers.Unread]) -> None:
    rights = dict.fromkeys(fact["right"] for fact in unread if fact["right"])
    document.add("Rights that you lack, without which something is Unknown", [right for right in rights if right])
    document.add("What could not be read", [(fact["what"], fact["why"]) for fact in unread if not fact["right"]])


def _pair(pair: state.Pair) -> str:
    return f"{pair['controlPlane'] or 'none'}/{pair['infrastructure'] or 'none'}"


def _known(value: object) -> str:
    if value is None:
        return "not known"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
