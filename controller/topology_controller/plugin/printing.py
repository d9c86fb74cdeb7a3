"""Answers as sections of rows: the most important first, what is in order last.

Takes the structures that `-o json` prints (`answers`), so that people and scripts read the same. The live view draws
`status` too, and hides the rows of the highest `document.Rank` first on a small terminal. Pure.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from topology_api.vocabulary import CheckName

from ..decide import assessment as decided
from ..definitions import registry
from . import answers, assessment, cluster, machines
from .document import Rank, Row, command

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..report import state
    from .commands import accept
    from .document import Document

_ORDER: Final = {"Unmet": 0, "Unknown": 1, "Met": 2}
_HEAD: Final = {
    "Cluster": Rank.HEAD, "Topology": Rank.HEAD, "Phase": Rank.HEAD, "Progress": Rank.HEAD,
    "Operator": Rank.UNMET, "Set by": Rank.IN_ORDER, "Transition": Rank.IN_ORDER,
}  # fmt: skip
_REFUSED: Final = "Nothing was written"
_REQUIRED: Final = "Action required"
_TWO: Final = 2
_ALIKE: Final = 200
_FEW: Final = 3
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
        rows = [
            (answers.words(way["verdict"]), way["name"], _pair(way["target"]), way["elsewhere"] or way["summary"])
            for way in ways
        ]
        document.add("", [("VERDICT", "TRANSITION", "TARGET", "WHAT"), *rows])
    else:
        document.add("", [(answers.words(answer["verdict"]), _sentence(answer["message"]))])
    clock = datetime.fromisoformat(answer["evaluated"])
    for way in ways:
        old = way["evaluated"] is not None and way["evaluated"] != answer["evaluated"]
        when = f" (evaluated by the operator {assessment.age(way['evaluated'] or '', clock)})" if old else ""
        blockers = [(check["status"], check["name"], check["message"]) for check in way["blockers"]]
        document.add(f"What blocks {way['name']}{when}", blockers)
    targets = dict.fromkeys(way["target"]["controlPlane"] or "" for way in ways if not way["elsewhere"])
    document.add("For details", [command(f"oc topology plan {target}") for target in targets])
    _unread(document, answer["unread"], answer["operator"])


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
            answer["message"] if left else (answers.words(answer["verdict"]), answer["message"]),
            *(command(step["command"]) for step in left),
        ],
    )
    recorded = answer["recorded"]
    if recorded is not None:
        clock = datetime.fromisoformat(answer["evaluated"])
        source = (
            "You may not read all that this depends on: where so, it is as the operator evaluated it "
            f"{assessment.age(recorded, clock)}."
        )
        document.add("", [source])
    _checks(document, "Preflight", answer["checks"])
    _checks(document, "Checked by the operator only, as last recorded", answer["onlyOperator"])
    _explained(document, [*answer["checks"], *answer["onlyOperator"]])
    _steps(document, _REQUIRED, answer["advisories"])
    machines.table(document, answer["machines"])
    changes = [(change["field"], f"{change['now']} -> {change['then']}") for change in answer["changes"]]
    document.add("What would change", changes)
    for title, steps in (
        ("What to expect", answer["expected"]),
        ("Verify yourself, outside the cluster", answer["checklist"]),
    ):
        _steps(document, title, steps, wide=max((len(step["name"]) for step in steps), default=0))
    _unread(document, answer["unread"], answer["operator"])
    if manifest is not None:
        skipped = [(file["file"], file["why"]) for file in manifest["skipped"]]
        document.add("Not looked at in the manifest", skipped)
    if answer["command"] is not None:
        absent = answer["operator"]["state"] in {"NotRunning", "NotInstalled"}
        title, flag = "Request it with", ""
        if answer["verdict"] != "Possible":
            title, flag = "Request it anyway (the operator waits until all checks pass)", " --allow-pending"
        elif absent:
            title, flag = "Request it anyway (no operator runs that would act on it)", " --allow-pending"
        document.add(title, [command(f"oc topology set {answer['target']} --confirm{flag}")])


def status(document: Document, answer: answers.Status, now: datetime | None = None) -> None:
    """`status`: what is waited for comes first. With `now` (aware UTC), ages count on: so the live view has it."""
    clock = now or datetime.fromisoformat(answer["evaluated"])
    document.add("", [assessment.line(answer, clock)], Rank.HEAD)
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
    _head(document, answer, fields, written_by=answer["topologyWriter"])
    voters = sum(member["role"] == "voter" for member in answer["etcd"]["items"])
    if voters == _TWO and (problem is None or problem["reason"] != "TwoVoters"):
        document.add("Two voters", [f"{decided.TWO_VOTERS}: do not restart a control-plane node."], Rank.UNMET)
    _troubles(document, answer, clock)
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
    required = [step for step in answer["advisories"] if step["name"] in answer["required"]]
    _steps(document, _REQUIRED, required, Rank.TO_DO)
    _steps(document, "Left to do", [step for step in answer["advisories"] if step not in required], Rank.TO_DO)
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
    # What was found of each that is in order stands in `-o json`.
    in_order = ", ".join(check["name"] for check in answer["checks"] if check["status"] == "Met")
    document.add(f"{answer['stage']} checks that are met", [in_order] if in_order else [], Rank.IN_ORDER)
    _objects(document, answer)
    if (answer["desired"] is None or phase == "Unsupported") and answer["disabled"] is None:
        _available(document, answer["available"], clock)
    _explained(document, [check for check in unmet if check["name"] not in gone])
    if answer["cancel"]:
        document.add("Cancel the request with", [command("oc topology cancel", rank=Rank.IN_ORDER)])
    _unread(document, answer["unread"], answer["operator"])


def _troubles(document: Document, answer: answers.Status, clock: datetime) -> None:
    """What a person should know first. Each paragraph once: the problem of a record and a condition may be the same."""
    problem, degraded, disabled = answer["problem"], answer["degraded"], answer["disabled"]
    printed: list[str] = []
    if problem is not None:
        since = f"since {problem['since']}, {assessment.age(problem['since'], clock)}"
        document.add(f"Problem: {problem['reason']} ({since})", [_trimmed(answer, problem["message"])], Rank.UNMET)
        printed.append(problem["message"])
    for title, condition in (("Degraded", degraded), ("Disabled", disabled)):
        if condition is not None and not any(_same(condition["message"], message) for message in printed):
            document.add(f"{title} ({condition['reason']})", [_trimmed(answer, condition["message"])], Rank.UNMET)
            printed.append(condition["message"])
    if answer["paused"] and (problem is None or problem["reason"] != "Paused"):
        why = "No transition starts: annotation topology.openshift.io/paused on ClusterOperator topology"
        document.add("Paused", [why], Rank.UNMET)
    if answer["phase"] == "Unsupported" and answer["headline"] and disabled is None:
        document.add("", [_sentence(answer["headline"])])


def _same(message: str, other: str) -> bool:
    """A condition and the problem may differ in length only."""
    return message[:_ALIKE] == other[:_ALIKE]


def _trimmed(answer: answers.Status, message: str) -> str:
    """The message without what a check that is listed below says itself, and without the command of an advisory."""
    for check in answer["checks"]:
        if check["status"] != "Met" and check["message"] in message:
            message = message.replace(check["message"], "see below")
    return message


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
    document.add("For details", [command(f"oc topology plan {target}") for target in targets])


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
    document.add("Evidence", [(name, _known(value)) for name, value in vector.items()])
    if disagreements:
        rows: list[Row | tuple[str, str] | str] = []
        if answer["phase"] == "Converging":
            rows.append("The topology has just changed, and the cluster follows: some of this resolves by itself.")
        for item in disagreements:
            *first, last = item["between"]
            rows.append((item["question"], f"Between {', '.join(first)} and {last}" if first else f"Between {last}"))
            parts = (("Found", item["found"]), ("Wanted", item["wanted"]), ("Means", item["meaning"]))
            rows += [Row(part, indent=4) for part in parts]
        document.add("Inconsistencies", rows)
    else:
        known = "Status, scheduler and nodes do not disagree" + ("." if sure else ", as far as they are known.")
        unknown = "Cannot tell whether status, scheduler and nodes disagree: they could not be read."
        document.add("", [unknown if answer["verdict"] == "CannotTell" else known])
    unfenced = any("fencing" in item["missing"] for item in answer["open"])
    secrets = "Secrets are not read: those named fencing-credentials-* in namespace openshift-etcd would show it."
    questions = [(item["question"], f"Not known: {', '.join(item['missing'])}") for item in answer["open"]]
    document.add("Not determined", [*questions, secrets] if unfenced else questions)
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
        leads = _operator(operator) if operator["state"] == "Running" else operator["state"]
        _fields(
            document,
            [
                *_place(answer["plan"]["cluster"]),
                ("Request", f"{answer['target']}, before: {before}" if result == "Written" else before),
                ("Operator", leads),
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
    request = ", made by ".join(filter(None, (answer["desired"], answer["requestedBy"])))
    if answer["result"] == "Written":
        # Everything here is as it is after that.
        request = f"none; before: {request}"
    _head(document, answer, [("Phase", answer["phase"] or "")], request=request)
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
            ("Message", check.message),
            ("Transition", f"{record.name} to {record.target}, attempt {answer.attempt}"),
            ("Operator", answer.operator),
        ],
    )
    given_up = f"It is not repaired: {registry.TRAITS[CheckName(check.name)].acceptable}."
    document.add(
        f"If you accept that {check.name} will not be met", [("*", sentence) for sentence in (given_up, *_FINAL)]
    )


def _head(
    document: Document,
    answer: answers.Plan | answers.Overview | answers.Status | answers.Cancel,
    fields: Iterable[tuple[str, str]],
    *,
    written_by: str | None = None,
    request: str = "",
) -> None:
    """The paragraph that an answer begins with. `request` stands for what is requested, where that needs more words."""
    desired, operator = answer["desired"], answer["operator"]
    _fields(
        document,
        [
            *_place(answer["cluster"]),
            ("Set by", written_by or ""),
            ("Request", request or desired or "none"),
            ("Operator", _operator(operator)),
            *fields,
        ],
    )


def _operator(operator: answers.Operator) -> str:
    is_running = operator["state"] == "Running"
    return f"Running ({operator['message']})" if is_running else f"{operator['state']}: {operator['message']}"


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


def _explained(document: Document, checks: Iterable[answers.Check | state.Check]) -> None:
    """Where to read on about the first check that is not met; its message says only what was found."""
    name = next((check["name"] for check in checks if check["status"] != "Met"), "")
    if name:
        document.add("What a check asks, and what to do", [command(f"oc topology explain {name}", rank=Rank.IN_ORDER)])


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
        document.add("", [followed], Rank.IN_ORDER)
    words = {True: "eligible", False: "not eligible", None: "cannot tell"}
    # While nothing is requested no check asks whether a node is eligible: then there is no answer to show.
    asked = any(node["eligible"] is not None or node["why"] for node in answer["nodes"]["items"])
    document.add(
        "Control-plane nodes",
        [
            Row(
                (node["name"], f"Ready={node['ready']}", *((words[node["eligible"]], node["why"]) if asked else ())),
                Rank.IN_ORDER if node["ready"] == "True" and (node["eligible"] or not asked) else Rank.PROGRESS,
            )
            for node in answer["nodes"]["items"]
        ],
    )
    document.add(
        "etcd members",
        [
            Row(
                (member["role"], member["id"], member["address"], member["node"] or "on no control-plane node"),
                Rank.IN_ORDER if member["role"] == "voter" and member["node"] else Rank.PROGRESS,
            )
            for member in answer["etcd"]["items"]
        ],
    )
    machines.table(document, answer["machines"])


def _steps(
    document: Document,
    title: str,
    steps: Sequence[answers.Expected],
    rank: Rank = Rank.PROGRESS,
    wide: int = 0,
) -> None:
    """What is to be expected, or done by a person, each with its command. A command ends a table, hence `wide`."""
    rows: list[Row] = []
    before = ""
    for step in steps:
        name = "" if step["name"] == before else step["name"]
        before = step["name"]
        rows.append(Row((f"{name:<{wide}}", step["message"]), rank))
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


def _unread(document: Document, unread: Sequence[answers.Unread], operator: answers.Operator | None = None) -> None:
    """What could not be read; of all rights that lack, the one role that has them, and who gives it.

    Who lacks nothing but what the operator adds to that role has the role without the addition.
    """
    forbidden = [fact["what"] for fact in unread if fact["right"]]
    others = sum(not cluster.added_to_reader(what) for what in forbidden)
    is_installed = operator is None or operator["state"] != "NotInstalled"
    is_added = len(forbidden) == others or (is_installed and others > 0)
    if forbidden:
        count = "1 object" if len(forbidden) == 1 else f"{len(forbidden)} objects"
        few = f": {', '.join(forbidden)}" if len(forbidden) <= _FEW else ""
        rows: list[Row | str] = [f"You may not read {count} that this depends on{few}."]
        if others:
            grants = "that" if is_added else f"{others} of them"
            rows = [f"{rows[0]} Role {cluster.READER} grants {grants}:"]
            rows.append(command(f"oc adm policy add-cluster-role-to-user {cluster.READER} USER", 4))
        if not is_added:
            which = "the others" if others else "that"
            by = f"ClusterRole {cluster.ADDED_TO_READER} is installed, which comes with the operator"
            rows.append(f"Role {cluster.READER} grants {which} once {by}.")
        document.add("Permissions", rows)
    document.add("What could not be read", [(fact["what"], fact["why"]) for fact in unread if not fact["right"]])


def _pair(pair: state.Pair) -> str:
    return f"{pair['controlPlane'] or 'none'}/{pair['infrastructure'] or 'none'}"


def _known(value: object) -> str:
    if value is None:
        return "not known"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
