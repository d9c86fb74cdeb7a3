"""`set`: requests a topology, if the checks that the operator asks allow it.

It is read and judged as `plan` does, and written only if nothing has changed since (`write`). A check that is not met
refuses it, unless the operator is to wait for that; no flag skips a check, since the operator would not. A request that
another client has made meanwhile is never replaced unseen. `judged` is pure.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from topology_api.vocabulary import Phase, Reason
from topology_controller import shell

from .. import answers, cluster, disruption, errors, sections, simulate, write
from ..document import Document, Row, command
from . import accept, plan, show, wait

if TYPE_CHECKING:
    from topology_controller.definitions import load

_UNMET = frozenset({"Blocked", "CannotTell"})


async def run(connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    """Request the topology, print what became of that, and with --wait wait until the transition is completed."""
    if options.confirm and not options.yes and sys.stdin.isatty():
        shown, _ = await request(connection, transitions, argparse.Namespace(**{**vars(options), "confirm": False}))
        if not await _consents(shown):
            return errors.Ended("not requested; nothing was written", errors.ExitCode.FAILED).printed(sys.stdout)
    answer, code = await request(connection, transitions, options)
    show(options, answer, add_request)
    # When the cluster is what was asked for and nothing is requested, there is nothing to wait for.
    is_settled = answer["result"] == "Unchanged" and answer["desired"] is None
    if not options.wait or code != errors.ExitCode.DONE or is_settled:
        return code
    sys.stdout.flush()
    out = sys.stdout if options.output == "text" else sys.stderr
    return await wait.run(connection, options, transitions, out)


async def _consents(answer: answers.Set) -> bool:
    """Show what cannot be undone, and what keeps it from completing, and ask. What is refused needs no consent."""
    if answer["result"] != "WouldWrite" or not answer["plan"]["changes"]:
        return True
    sheet = Document.for_stream(sys.stderr)
    before = {"PointOfNoReturn", "Reboots", disruption.LONE_ROUTER, "Duration"}
    expected = [step for step in answer["plan"]["expected"] if step["name"] in before]
    sections.steps(sheet, "What to expect", expected, aligned=True)
    _add_open(sheet, answer["plan"])
    return await accept.consented(sheet, answer["target"], "request it")


def _add_open(document: Document, planned: answers.Plan) -> None:
    rows: list[Row] = []
    for left in planned.get("notCompleteUntil", []):
        rows += [Row((left["check"], f"advisory {left['advisory']}")), command(left["command"], 4)]
    document.add("It will not complete until this is done", rows)
    sections.steps(document, plan.CHECKLIST, planned["checklist"], aligned=True)


async def request(
    connection: cluster.Connection, transitions: load.Transitions, asked: argparse.Namespace
) -> tuple[answers.Set, errors.ExitCode]:
    """Read, judge, write, without --wait see whether the operator answers. Raises PluginError as `write.request`."""
    answer, code, generation = await write.request(
        connection,
        lambda: cluster.everything(connection, transitions),
        lambda snapshot, *_: judged(snapshot, transitions, asked, connection.acting),
        asked.target,
        dry_run=not asked.confirm,
    )
    if answer["result"] == "Refused" and answer["patch"] is not None:
        answer["next"] = [_where_to_look(answer["desired"])]
    if generation is None:
        return answer, code
    connection.interruption.text = (
        f"{asked.target} is requested. The operator continues; wait again with: oc topology wait."
        " Until the topology has changed it is cancelled with: oc topology cancel"
    )
    answer["message"] = f"{asked.target} is requested"
    late = f"The operator has not answered within {write.OBSERVED_TIMEOUT:g} s; the request stands, and is taken up as"
    if asked.wait:
        # The command itself waits next.
        answer["next"] = [step for step in answer["next"] if step["name"] != "Wait"]
    elif answer["plan"]["operator"]["state"] in {"Running", "Unknown"}:
        if (record := await write.observed_generation(connection, generation)) is not None:
            answer["operatorSays"] = wait.summary(record)
        else:
            answer["warnings"].append(f"{late} soon as the operator runs. Look at it with: oc get co topology")
    return answer, code


def judged(
    snapshot: cluster.Snapshot,
    transitions: load.Transitions,
    asked: argparse.Namespace,
    acting: cluster.Acting | None = None,
) -> tuple[answers.Set, errors.ExitCode]:
    """What would be written, or why not. Raises PluginError when the API lacks our fields."""
    planned, judgement = plan.target(snapshot, transitions, asked.target)
    # It does not wait where nothing can come of waiting.
    degraded, phase = judgement.decision.degraded, judgement.decision.phase
    overwritten = degraded is not None and degraded.reason is Reason.TOPOLOGY_OVERWRITTEN
    is_open = phase in {Phase.PENDING, Phase.ADMITTING} or judgement.decision.watch
    waits = is_open and not overwritten and not phase.changed
    operator = planned["operator"]
    runs = operator["state"] not in sections.ABSENT
    here, version = snapshot.infrastructure.desired, snapshot.infrastructure.resource_version
    result, message, code = _result(here, asked, judgement, waits=waits, runs=runs)
    acts = judgement.verdict not in {"Unsupported", "Fulfilled"} and result != "Refused"
    warnings = [operator["message"]] if operator["state"] != "Running" else []
    lone = (item for item in planned["expected"] if item["name"] == disruption.LONE_ROUTER)
    warnings += [f"{item['message']}: {item['command']}" for item in lone]
    return {
        "apiVersion": answers.API_VERSION,
        "kind": "TopologySet",
        "evaluated": answers.stamp(snapshot.now),
        "target": asked.target,
        "desired": here,
        "dryRun": not asked.confirm,
        "result": result,
        "message": message,
        "patch": write.patch(version, asked.target, acting) if result == "WouldWrite" else None,
        "operatorSays": None,
        "warnings": warnings if acts else [],
        "next": _next(planned, asked, judgement, result, waits=waits or (not runs and result == "Refused")),
        "plan": planned,
    }, code


def _result(
    desired: str | None, asked: argparse.Namespace, judgement: simulate.Judgement, *, waits: bool, runs: bool
) -> tuple[answers.Result, str, errors.ExitCode]:
    verdict, message, target = judgement.verdict, judgement.message, asked.target
    if verdict == "Unsupported":
        return "Refused", message, errors.ExitCode.UNSUPPORTED
    if verdict in _UNMET and not waits:
        return "Refused", message, simulate.exit_code(verdict)
    if desired == target:
        return "Unchanged", f"The request {target} stands already. {message}", errors.ExitCode.DONE
    if verdict == "Fulfilled" and desired is None:
        return "Unchanged", f"There is nothing to request. {message}", errors.ExitCode.DONE
    if verdict in _UNMET and not asked.allow_pending:
        return "Refused", message, simulate.exit_code(verdict)
    if verdict == "Fulfilled":
        return "WouldWrite", f"{message}: this cancels the request {desired}", errors.ExitCode.DONE
    if not runs and not asked.allow_pending:
        # It would lie there, and act whenever an operator is installed or started.
        return "Refused", f"{message}, but no operator runs that would act on the request", errors.ExitCode.BLOCKED
    replaced = f". It replaces the request {desired}" if desired is not None else ""
    return "WouldWrite", f"{message}{replaced}", errors.ExitCode.DONE


def _next(
    planned: answers.Plan,
    asked: argparse.Namespace,
    judgement: simulate.Judgement,
    result: answers.Result,
    *,
    waits: bool,
) -> list[answers.Expected]:
    verdict, absent = judgement.verdict, planned["operator"]["state"] in sections.ABSENT
    if judgement.decision.disabled is not None:
        # Whatever else is asked here gets the same answer.
        return []
    confirm = shell.command("oc topology set {} --confirm", asked.target)
    if result == "Refused":
        who = "nothing acts on it until an operator runs, which then" if absent else "the operator"
        anyway = f"Request it anyway: {who} waits until all checks pass and continues automatically"
        allowing = simulate.item("AllowPending", f"{anyway}. No check is skipped", f"{confirm} --allow-pending")
        return [_where_to_look(planned["desired"]), *([allowing] if waits else [])]
    if not asked.confirm and result == "WouldWrite":
        confirm += " --allow-pending" if asked.allow_pending else ""
        return [simulate.item("Confirm", "Make the request", confirm)]
    if verdict == "Fulfilled":
        return [simulate.item("Status", "How it stands", "oc topology status")]
    following = [
        simulate.item("Wait", "Wait until it is completed", "oc topology wait"),
        simulate.item("Status", "How far it is, and what it waits for", "oc topology status"),
    ]
    if verdict == "UnderWay":
        return following
    if verdict in _UNMET:
        waits_for = f"waits{', once it runs,' if absent else ''} until all checks pass, then continues automatically"
        goes_on = f"The operator {waits_for}, whenever that is: it changes the topology"
    else:
        begins = f"The operator begins {'as soon as it runs' if absent else 'at once'}"
        goes_on = f"{begins}: it blocks minor upgrades, re-checks everything and changes the topology"
    cancel = simulate.item("Cancel", "Cancel it, until the topology has changed", "oc topology cancel")
    return [simulate.item("GoesOn", f"{goes_on}. This cannot be undone"), *following, cancel]


def _where_to_look(desired: str | None) -> answers.Expected:
    if desired is None:
        return simulate.item("Plan", "What can be requested from here, and what blocks it", "oc topology plan")
    return simulate.item("Status", "What the present request waits for", "oc topology status")


def add_request(document: Document, answer: answers.Set) -> None:
    """`set`: without --confirm a plan that ends with what would be sent; one that was refused is shown again."""
    result, patch, operator = answer["result"], answer["patch"], answer["plan"]["operator"]
    # The command of the plan knows no version; what is really sent stands below.
    basis: answers.Plan = {**answer["plan"], "command": None}
    if answer["dryRun"]:
        plan.add_plan(document, basis)
    elif result == "Refused":
        # Why not, and not again all that it would have meant.
        plan.add_plan(document, {**basis, "advisories": [], "changes": [], "expected": [], "checklist": []})
    else:
        before = answer["desired"] or "none"
        request = ("Request", f"{answer['target']}, before: {before}" if result == "Written" else before)
        # What keeps an operator from running is the warning that follows.
        leads = ("Operator", sections.running(operator) if operator["state"] == "Running" else operator["state"])
        sections.fields(document, [*sections.place(answer["plan"]["cluster"]), request, leads])
    # A command at the end of a warning stands on a line of its own, without a full stop.
    expected = {f"{item['message']}: {item['command']}": item for item in answer["plan"]["expected"] if item["command"]}
    rows: list[Row | str] = []
    for warning in answer["warnings"]:
        item = expected.get(warning)
        rows += [sections.sentence(warning)] if item is None else [f"{item['message']}:", command(item["command"], 4)]
    document.add("Warning", rows)
    message = sections.sentence(answer["message"])
    if result == "WouldWrite":
        document.add("", [f"{message} {sections.REFUSED}, because --confirm was not given."])
        if patch is not None:
            version = patch["body"]["metadata"]["resourceVersion"]
            title = f"What would be sent; it is refused when Infrastructure is no longer at version {version}"
            document.add(title, [command(patch["command"])])
    elif result == "Refused":
        # The verdict of the plan stands above.
        why = "" if answer["message"] == answer["plan"]["message"] else f"{message} "
        document.add("", [(result, f"{why}{sections.REFUSED}.")])
    else:
        if result == "Written":
            _add_open(document, answer["plan"])
        operator_says = [("Operator", answer["operatorSays"])] if answer["operatorSays"] else []
        document.add("", [(result, message), *operator_says])
    sections.following(document, answer["next"])
