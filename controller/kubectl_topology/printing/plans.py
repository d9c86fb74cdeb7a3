"""`plan`: what can be requested, and what would come of one request. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from topology_controller import shell

from .. import answers, assessment, machines
from ..document import command
from . import sections

if TYPE_CHECKING:
    from ..document import Document


def overview(document: Document, answer: answers.Overview) -> None:
    """`plan`: a row for each transition, then what blocks it."""
    sections.head(document, answer, [("Phase", answer["phase"] or "")])
    ways = answer["transitions"]
    if ways:
        rows = [
            (
                answers.words(way["verdict"]),
                way["name"],
                sections.pair(way["target"]),
                way["elsewhere"] or way["summary"],
            )
            for way in ways
        ]
        document.add("", [("VERDICT", "TRANSITION", "TARGET", "WHAT"), *rows])
    else:
        document.add("", [(answers.words(answer["verdict"]), sections.sentence(answer["message"]))])
    clock = datetime.fromisoformat(answer["evaluated"])
    for way in ways:
        old = way["evaluated"] is not None and way["evaluated"] != answer["evaluated"]
        when = f" (evaluated by the operator {assessment.age(way['evaluated'] or '', clock)})" if old else ""
        blockers = [(check["status"], check["name"], check["message"]) for check in way["blockers"]]
        document.add(f"What blocks {way['name']}{when}", blockers)
    targets = dict.fromkeys(way["target"]["controlPlane"] or "" for way in ways if not way["elsewhere"])
    document.add("For details", [command(shell.command("oc topology plan {}", target)) for target in targets])
    sections.advised(document, answer.get("advisories", []))
    sections.following(document, answer.get("next", []))
    sections.unread(document, answer["unread"], answer["operator"])


def plan(document: Document, answer: answers.Plan) -> None:
    """`plan TARGET`, and `plan -f`."""
    manifest, transition, left = answer.get("manifest"), answer["transition"], answer.get("notCompleteUntil", [])
    fields = [("Phase", answer["phase"] or "")]
    if manifest is not None:
        desired = manifest["desiredTopology"]
        asks = f"asks for {desired}" if desired is not None else "has no spec.desiredTopology"
        fields += [("Manifest", f"{file['file']}:{file['line']} {asks}") for file in manifest["files"]]
    sections.head(document, answer, fields)
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
    sections.checks(document, "Preflight", answer["checks"])
    sections.checks(document, "Checked by the operator only, as last recorded", answer["onlyOperator"])
    sections.explained(document, [*answer["checks"], *answer["onlyOperator"]])
    _probed(document, answer)
    sections.steps(document, sections.REQUIRED, answer["advisories"])
    machines.table(document, answer["machines"])
    changes = [(change["field"], f"{change['now']} -> {change['then']}") for change in answer["changes"]]
    document.add("What would change", changes)
    for title, steps in (
        ("What to expect", answer["expected"]),
        ("Verify yourself, outside the cluster", answer["checklist"]),
    ):
        sections.steps(document, title, steps, wide=max((len(step["name"]) for step in steps), default=0))
    sections.following(document, answer.get("next", []))
    sections.unread(document, answer["unread"], answer["operator"])
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
        document.add(title, [command(shell.command("oc topology set {} --confirm", answer["target"]) + flag)])


def _probed(document: Document, answer: answers.Plan) -> None:
    """What names and addresses answered, then what that means, and what it leaves open."""
    rows = [
        (
            probe["result"],
            probe["what"],
            probe["address"] if probe["node"] is None else f"{probe['address']} ({probe['node']})",
            probe["message"],
        )
        for probe in answer.get("probes", [])
    ]
    document.add("Asked from here", rows)
    sections.steps(document, "What that means", answer.get("findings", []))
    document.add("What that leaves open", [("*", sections.sentence(note)) for note in answer.get("probeNotes", [])])
