"""`plan`: what can be requested from here, or what would come of one request. Nothing is written."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import TYPE_CHECKING

from topology_api.vocabulary import Phase
from topology_controller import shell
from topology_controller.decide import records

from .. import answers, cluster, disruption, optional, probe, progress, sections, simulate
from ..document import command
from . import show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from topology_controller.checks.result import CheckResult
    from topology_controller.definitions import load

    from ..document import Document


CHECKLIST = "Verify yourself, outside the cluster"


async def run(connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    """Print the plan of TARGET, of a manifest, or of everything that starts here."""
    if options.target is None and options.filename is None:
        snapshot = await cluster.overview(connection, transitions)
        ways = overview(snapshot, transitions)
        show(options, ways, add_overview)
        return simulate.exit_code(ways["verdict"])
    snapshot = await cluster.everything(connection, transitions)
    if options.filename is None:
        plan, judgement = target(snapshot, transitions, options.target)
    else:
        plan, judgement = manifest(snapshot, transitions, options.manifest)
    if judgement.leads:
        await optional.add(plan, connection, transitions.matrix, None)
    if options.probe:
        await probe.run(plan, connection, snapshot.known)
    show(options, plan, add_plan)
    return simulate.exit_code(judgement.verdict)


def manifest(
    snapshot: cluster.Snapshot, transitions: load.Transitions, wanted: answers.Manifest
) -> tuple[answers.Plan, simulate.Judgement]:
    """What would come of these manifests. Raises PluginError when the API lacks our fields."""
    if wanted["desiredTopology"] is None:
        judgement = simulate.removed(snapshot.known, transitions, snapshot.now)
        plan = _plan(snapshot, transitions, "", judgement)
    else:
        plan, judgement = target(snapshot, transitions, wanted["desiredTopology"])
    plan["manifest"] = wanted
    return plan, judgement


def target(
    snapshot: cluster.Snapshot, transitions: load.Transitions, wanted: str
) -> tuple[answers.Plan, simulate.Judgement]:
    """What would come of this request. Raises PluginError when the API lacks our fields."""
    judgement = simulate.requested(snapshot.known, transitions, wanted, snapshot.now)
    if any(fact["right"] for fact in snapshot.unread):
        judgement = simulate.by_record(judgement, snapshot.record, wanted, transitions)
    unknown = judgement.leads and snapshot.collected and snapshot.unread
    if unknown and judgement.verdict == "Blocked" and all(result.met for result in judgement.results):
        judgement = dataclasses.replace(judgement, verdict="CannotTell")
    return _plan(snapshot, transitions, wanted, judgement), judgement


def _plan(
    snapshot: cluster.Snapshot, transitions: load.Transitions, wanted: str, judgement: simulate.Judgement
) -> answers.Plan:
    definition, source = judgement.definition, judgement.source
    checks = _checks(judgement.results)
    met = sum(check["status"] == "Met" for check in checks)
    unasked = judgement.leads and snapshot.infrastructure.desired != wanted
    plan: answers.Plan = {
        **sections.judged(snapshot, "TopologyPlan"),  # type: ignore[typeddict-item] # it has no key that may be left out
        "target": wanted,
        "verdict": judgement.verdict,
        "message": judgement.message,
        "transition": None,
        "checks": checks,
        "progress": {"met": met, "total": len(checks)} if checks else None,
        "onlyOperator": _checks(simulate.only_recorded(snapshot.record, judgement)),
        "advisories": [simulate.item(todo.name, todo.message, todo.command) for todo in judgement.advisories],
        "required": [todo.name for _, todo in judgement.required],
        "machines": sections.machines(snapshot.known),
        "changes": [],
        "expected": [],
        "checklist": [],
        "command": records.request(wanted) if unasked else None,
        "recorded": None if judgement.recorded is None else answers.stamp(judgement.recorded[1]),
        "unread": list(snapshot.unread),
    }
    if judgement.leads and definition is not None:
        now, then = answers.pair(source), answers.pair(definition.target.pair)
        plan["transition"] = {"name": definition.name, "summary": definition.summary, "source": now, "target": then}
        parts = [
            (f"status.{name}Topology", now[name] or "", then[name] or "") for name in ("controlPlane", "infrastructure")
        ]
        plan["changes"] = [{"field": field, "now": old, "then": new} for field, old, new in parts if old != new]
        left = {check: advisory.name for check, advisory in judgement.left}
        plan["expected"] = disruption.disruption(snapshot.known, definition, source, transitions, left)
        plan["checklist"] = disruption.checklist(snapshot.known, definition, source)
    if judgement.left:
        plan["notCompleteUntil"] = [
            {"check": check.value, "advisory": advisory.name, "command": advisory.command}
            for check, advisory in judgement.left
        ]
    disruption.add_hosted(plan, snapshot.known, snapshot.infrastructure, transitions, snapshot.now)
    return plan


def overview(snapshot: cluster.Snapshot, transitions: load.Transitions) -> answers.Overview:
    """What can be requested from here. What the caller may not read is judged as the operator has recorded it."""
    ways, message = simulate.ways(snapshot.known, transitions, snapshot.now, snapshot.instead)
    # Possible if one is, not known if one may be, else blocked if one is.
    order: tuple[answers.Verdict, ...] = ("Possible", "CannotTell", "Blocked")
    verdict: answers.Verdict = next((word for word in order if word in {way["verdict"] for way in ways}), "Unsupported")
    possible = sorted({way["name"] for way in ways if way["verdict"] == "Possible"})
    if snapshot.phase == Phase.CONVERGING and not ways:
        verdict = "UnderWay"
        message = "The topology has changed, and the cluster follows: see oc topology status"
    elif not ways and simulate.is_settled(snapshot.known, transitions):
        verdict, message = "NothingToDo", f"The cluster has its topology. {message}"
    elif not message and possible:
        message = f"Possible now: {', '.join(possible)}"
    elif verdict == "CannotTell":
        message = "Cannot tell whether a transition is possible: what decides that could not be read"
    answer: answers.Overview = {
        **sections.judged(snapshot, "TopologyPlanList"),  # type: ignore[typeddict-item] # it has no key that may be left out
        "verdict": verdict,
        "message": message or "No transition is possible now; see below what blocks each of them",
        "transitions": ways,
        "unread": list(snapshot.unread),
    }
    disruption.add_hosted(answer, snapshot.known, snapshot.infrastructure, transitions, snapshot.now)
    return answer


def _checks(results: Iterable[CheckResult]) -> list[answers.Check]:
    return [{"name": result.name.value, "status": result.status.value, "message": result.message} for result in results]


def add_overview(document: Document, answer: answers.Overview) -> None:
    """`plan`: a row for each transition, then what blocks it."""
    sections.head(document, answer)
    ways, rows = answer["transitions"], list[tuple[str, ...]]([("VERDICT", "TRANSITION", "TARGET", "WHAT")])
    for way in ways:
        what = way["elsewhere"] or way["summary"]
        rows.append((answers.words(way["verdict"]), way["name"], sections.pair(way["target"]), what))
    nowhere = (answers.words(answer["verdict"]), sections.sentence(answer["message"]))
    document.add("", rows if ways else [nowhere])
    clock = datetime.fromisoformat(answer["evaluated"])
    for way in ways:
        old = way["evaluated"] is not None and way["evaluated"] != answer["evaluated"]
        when = f" (evaluated by the operator {progress.age(way['evaluated'] or '', clock)})" if old else ""
        blockers = [(check["status"], check["name"], check["message"]) for check in way["blockers"]]
        document.add(f"What blocks {way['name']}{when}", blockers)
    targets = dict.fromkeys(way["target"]["controlPlane"] or "" for way in ways if not way["elsewhere"])
    document.add("For details", [command(shell.command("oc topology plan {}", target)) for target in targets])
    sections.advised(document, answer.get("advisories", []), answer.get("required", []))
    sections.following(document, answer.get("next", []))
    sections.unread(document, answer["unread"], answer["operator"])


def add_plan(document: Document, answer: answers.Plan) -> None:
    """`plan TARGET`, and `plan -f`."""
    manifest, transition, left = answer.get("manifest"), answer["transition"], answer.get("notCompleteUntil", [])
    fields = []
    if manifest is not None:
        desired = manifest["desiredTopology"]
        asks = f"asks for {desired}" if desired is not None else "has no spec.desiredTopology"
        fields = [("Manifest", f"{file['file']}:{file['line']} {asks}") for file in manifest["files"]]
    sections.head(document, answer, fields)
    # With something left to do the sentence has the verdict in it.
    verdict = answer["message"] if left else (answers.words(answer["verdict"]), answer["message"])
    way = [f"{answer['target']} by {transition['name']}: {transition['summary']}"] if transition else []
    document.add("", [*way, verdict, *(command(step["command"]) for step in left)])
    if (recorded := answer["recorded"]) is not None:
        age = progress.age(recorded, datetime.fromisoformat(answer["evaluated"]))
        lacking = "You may not read all that this depends on"
        document.add("", [f"{lacking}: where so, it is as the operator evaluated it {age}."])
    sections.checks(document, "Preflight", answer["checks"])
    sections.checks(document, "Checked by the operator only, as last recorded", answer["onlyOperator"])
    sections.explained(document, [*answer["checks"], *answer["onlyOperator"]])
    _add_probed(document, answer)
    sections.advised(document, answer["advisories"], answer["required"])
    sections.add_machines(document, answer["machines"])
    changes = [(change["field"], f"{change['now']} -> {change['then']}") for change in answer["changes"]]
    document.add("What would change", changes)
    sections.steps(document, "What to expect", answer["expected"], aligned=True)
    optional.show(document, answer.get("optionalOperators", []))
    sections.steps(document, CHECKLIST, answer["checklist"], aligned=True)
    sections.following(document, answer.get("next", []))
    sections.unread(document, answer["unread"], answer["operator"])
    if manifest is not None:
        skipped = [(file["file"], file["why"]) for file in manifest["skipped"]]
        document.add("Not looked at in the manifest", skipped)
    if answer["command"] is not None:
        title, flag = "Request it with", ""
        if answer["operator"]["state"] in sections.ABSENT:
            title, flag = "Request it anyway (nothing acts on it until an operator runs)", " --allow-pending"
        elif answer["verdict"] != "Possible":
            title, flag = "Request it anyway (the operator waits until all checks pass)", " --allow-pending"
        document.add(title, [command(shell.command("oc topology set {} --confirm", answer["target"]) + flag)])


def _add_probed(document: Document, answer: answers.Plan) -> None:
    rows = []
    for asked in answer.get("probes", []):
        where = asked["address"] if asked["node"] is None else f"{asked['address']} ({asked['node']})"
        rows.append((asked["result"], asked["what"], where, asked["message"]))
    document.add("Asked from here", rows)
    sections.steps(document, "What that means", answer.get("findings", []))
    document.add("What that leaves open", [("*", sections.sentence(note)) for note in answer.get("probeNotes", [])])
