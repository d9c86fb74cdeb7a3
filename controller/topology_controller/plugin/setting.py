"""The verb `set`: makes the wish for a topology, if the very checks that the operator asks allow it.

It is read and judged as `plan` does, and written only if nothing has changed since (`writing`). A check that is not met
ends it here, unless the operator is to wait for it; that it be skipped cannot be asked for, since the operator would
not. When Infrastructure has moved on, it is read and judged again; but a wish that somebody else has made meanwhile is
never replaced unseen. `judged` is pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from topology_api.vocabulary import Phase, Reason

from . import answering, answers, errors, judging, plan, reading, running, wait, writing

if TYPE_CHECKING:
    from ..transitions import load
    from . import connection

_WAITING = frozenset({Phase.PENDING, Phase.ADMITTING})


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for. Without `confirm` nothing is written."""

    target: str
    confirm: bool = False
    allow_pending: bool = False


async def wish(
    made: connection.Connection, transitions: load.Transitions, namespace: str, asked: Asked, *, ask_back: bool = True
) -> tuple[answers.Set, int]:
    """Read, judge, write; with `ask_back` also see whether the operator answers. Returns the exit code too.

    Raises PluginError when the cluster cannot be asked, a right lacks, or somebody else writes in between again and
    again.
    """
    first: reading.Seen | None = None
    for _ in range(writing.ATTEMPTS):
        seen = await reading.everything(made, transitions, namespace)
        first = first or seen
        if seen.infrastructure.desired not in {first.infrastructure.desired, asked.target}:
            raise await _replaced(made, first, seen)
        answer, code = judged(seen, transitions, asked, made.acting)
        if answer["result"] != "WouldWrite" or not asked.confirm:
            return answer, code
        try:
            written = await writing.write(made, seen.infrastructure.resource_version, asked.target)
        except writing.Moved:
            continue
        except writing.Refused as refusal:
            answer["result"] = "Refused"
            answer["message"] = f"The API server refuses this wish: {refusal.why}"
            answer["next"] = _ways(seen)
            return answer, judging.BLOCKED
        made.interruption.now(_stands(asked.target))
        await _follow(made, answer, written, ask_back=ask_back)
        return answer, judging.DONE
    raise await writing.contended(made)


async def _replaced(made: connection.Connection, first: reading.Seen, seen: reading.Seen) -> errors.PluginError:
    before, now = first.infrastructure.desired or "none", seen.infrastructure.desired or "none"
    return errors.PluginError(
        f"{await writing.who(made)} has changed the wish from {before} to {now} while it was being judged. Nothing was "
        "written",
        "Look at it before it is replaced: oc topology status",
    )


def _stands(target: str) -> str:
    return (
        f"the wish {target} was made and stands. The operator goes on with it; wait on with: oc topology wait. Until "
        "the topology has moved it is withdrawn with: oc topology cancel"
    )


async def _follow(
    made: connection.Connection, answer: answers.Set, written: writing.Written, *, ask_back: bool
) -> None:
    """What is said after the write: what the operator makes of it, or why nobody does."""
    operator = answer["plan"]["operator"]
    answer["result"] = "Written"
    answer["message"] = f"The wish {answer['target']} is made"
    if written.note:
        answer["warnings"].append(written.note)
    if not ask_back:
        # Whoever has not asked that the operator be heard waits for it in the next moment.
        answer["next"] = [one for one in answer["next"] if one["name"] != "Wait"]
    if not ask_back or operator["state"] not in {"Running", "Unknown"}:
        return
    record = await answering.record(made, written.generation)
    if record is not None:
        answer["operatorSays"] = wait.progress(record)
    else:
        answer["warnings"].append(
            f"The operator has not answered within {answering.PATIENCE:g} s; the wish stands, and is taken up as soon "
            "as the operator runs. Look at it with: oc get co topology"
        )


def judged(
    seen: reading.Seen, transitions: load.Transitions, asked: Asked, acting: connection.Acting | None = None
) -> tuple[answers.Set, int]:
    """What would be written, or why not, and the exit code. Raises PluginError when the API lacks our fields."""
    found, _ = plan.target(seen, transitions, asked.target)
    judgement = judging.wished(seen.known, transitions, asked.target, seen.now)
    result, said, code = _result(seen, asked, judgement)
    would = result == "WouldWrite"
    operator = found["operator"]
    acts = judgement.verdict not in {judging.Verdict.UNSUPPORTED, judging.Verdict.FULFILLED}
    warned = acts and operator["state"] != "Running"
    return {
        "apiVersion": answers.API_VERSION,
        "kind": "TopologySet",
        "evaluated": answers.stamp(seen.now),
        "target": asked.target,
        "wish": seen.infrastructure.desired,
        "dryRun": not asked.confirm,
        "result": result,
        "message": said,
        "patch": writing.patch(seen.infrastructure.resource_version, asked.target, acting) if would else None,
        "operatorSays": None,
        "warnings": [operator["message"]] if warned else [],
        "next": _next(seen, asked, judgement, result),
        "plan": found,
    }, code


def _result(seen: reading.Seen, asked: Asked, found: judging.Judgement) -> tuple[answers.Result, str, int]:
    wish, target = seen.infrastructure.desired, asked.target
    waits = _waits(found)
    if found.verdict is judging.Verdict.UNSUPPORTED:
        return "Refused", found.said, judging.UNSUPPORTED
    if found.verdict is judging.Verdict.BLOCKED and not waits:
        return "Refused", found.said, judging.BLOCKED
    if wish == target:
        return "Unchanged", f"The wish {target} stands already. {found.said}", judging.DONE
    if found.verdict is judging.Verdict.FULFILLED and wish is None:
        return "Unchanged", f"There is nothing to wish for. {found.said}", judging.DONE
    if found.verdict is judging.Verdict.BLOCKED and not asked.allow_pending:
        return "Refused", found.said, judging.BLOCKED
    if found.verdict is judging.Verdict.FULFILLED:
        return "WouldWrite", f"{found.said}: this withdraws the wish {wish}", judging.DONE
    replaced = f". It replaces the wish {wish}" if wish is not None else ""
    return "WouldWrite", f"{found.said}{replaced}", judging.DONE


def _waits(found: judging.Judgement) -> bool:
    """Would the operator take it up, and wait if it had to? It does not where nothing can come of waiting."""
    degraded = found.decision.degraded
    overwritten = degraded is not None and degraded.reason is Reason.TOPOLOGY_OVERWRITTEN
    return not overwritten and (found.decision.phase in _WAITING or found.decision.watch) and not _moved(found)


def _moved(found: judging.Judgement) -> bool:
    return found.decision.phase in {Phase.CONVERGING, Phase.COMPLETED}


def _next(seen: reading.Seen, asked: Asked, found: judging.Judgement, result: answers.Result) -> list[answers.Expected]:
    if found.decision.disabled is not None:
        # Whatever else is asked here gets the same answer.
        return []
    if result == "Refused":
        return [*_ways(seen), *(_allowing(asked.target) if _waits(found) else ())]
    if not asked.confirm and result == "WouldWrite":
        flag = " --allow-pending" if found.verdict is judging.Verdict.BLOCKED else ""
        return [_expected("Confirm", "Make the wish", f"oc topology set {asked.target} --confirm{flag}")]
    if found.verdict is judging.Verdict.FULFILLED:
        return [_expected("Status", "How it stands", "oc topology status")]
    following = [
        _expected("Wait", "Wait until it is completed", "oc topology wait"),
        _expected("Status", "How far it is, and what it waits for", "oc topology status"),
    ]
    if found.verdict is judging.Verdict.UNDER_WAY:
        return following
    cancel = _expected("Cancel", "Withdraw it, until the topology has moved", "oc topology cancel")
    return [_expected("GoesOn", _goes_on(seen, found)), *following, cancel]


def _goes_on(seen: reading.Seen, found: judging.Judgement) -> str:
    absent = running.operator(seen)["state"] in {"NotRunning", "NotInstalled"}
    if found.verdict is judging.Verdict.BLOCKED:
        return (
            f"The operator waits{', once it runs,' if absent else ''} until every check is met and then goes on by "
            "itself, whenever that is: it moves the topology, and from then on there is no way back"
        )
    return (
        f"The operator goes on {'as soon as it runs' if absent else 'at once'}: it holds minor upgrades back, looks at "
        "everything once more and moves the topology. From then on there is no way back"
    )


def _ways(seen: reading.Seen) -> list[answers.Expected]:
    """What can be done when this was refused."""
    other = "What could be asked for from here, and what blocks it"
    return [
        _expected("Plan", other, "oc topology plan")
        if seen.infrastructure.desired is None
        else _expected("Status", "How the wish that stands is getting on", "oc topology status")
    ]


def _allowing(target: str) -> list[answers.Expected]:
    return [
        _expected(
            "AllowPending",
            "Make the wish all the same: the operator waits until every check is met and goes on by itself then. No "
            "check can be skipped",
            f"oc topology set {target} --confirm --allow-pending",
        )
    ]


def _expected(name: str, message: str, command: str = "") -> answers.Expected:
    return {"name": name, "message": message, "command": command}
