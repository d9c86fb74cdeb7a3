"""The verb `cancel`: takes a wish back, as long as the topology has not moved.

The wish is removed, not set back to what the cluster is: removing it is right for every transition, also for one of the
infrastructure alone, whose wish equals the topology of the control plane. The server does it only if Infrastructure is
as it was read (`writing`), so a flip that comes in between wins, is read, and is told as what it is: there is no way
back then, and this says what there is instead. `judged` is pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import Phase

from ..decide import records
from . import answering, answers, connection, errors, judging, plan, reading, running, writing

if TYPE_CHECKING:
    from topology_api.types import TopologyTransition

    from ..transitions import load

_UNMOVED = frozenset({Phase.UNSUPPORTED, Phase.PENDING, Phase.ADMITTING})


async def cancel(
    made: connection.Connection, transitions: load.Transitions, namespace: str
) -> tuple[answers.Cancel, int]:
    """Read, judge, write, and see whether the operator answers. Returns the exit code too.

    Raises PluginError when the cluster cannot be asked, a right lacks, the wish is another one than it was, or somebody
    else writes in between again and again.
    """
    first: reading.Seen | None = None
    for _ in range(writing.ATTEMPTS):
        raw = await connection.infrastructure(made)
        seen = await reading.head(made, namespace)
        again, first = first is not None, first or seen
        _same_wish(first, seen, writing.changed_by(raw))
        answer, code = judged(seen, transitions, writing.wished_by(raw), made.acting)
        if answer["result"] != "WouldWrite":
            if again:
                answer["message"] = f"Infrastructure changed while the wish was being withdrawn. {answer['message']}"
            return answer, code
        try:
            written = await writing.write(made, seen.infrastructure.resource_version, None)
        except writing.Moved:
            continue
        except writing.Refused as refusal:
            answer["result"] = "Refused"
            answer["message"] = f"The API server refuses to withdraw the wish: {refusal.why}"
            answer["next"] = _instead(seen)
            return answer, judging.BLOCKED
        made.interruption.now(f"the wish {seen.infrastructure.desired} was withdrawn. See: oc topology status")
        await _follow(made, answer, written)
        return answer, judging.DONE
    raise await writing.contended(made)


def _same_wish(first: reading.Seen, seen: reading.Seen, by: str) -> None:
    before, now = first.infrastructure.desired, seen.infrastructure.desired
    if now is not None and now != before:
        raise errors.PluginError(
            f"{by} has changed the wish from {before} to {now} while it was being withdrawn. Nothing was written",
            "If that is to go too, the same command withdraws it",
        )


async def _follow(made: connection.Connection, answer: answers.Cancel, written: writing.Written) -> None:
    answer["result"] = "Written"
    answer["message"] = f"The wish {answer['wish']} is withdrawn; the topology has not moved"
    if written.note:
        answer["warnings"].append(written.note)
    operator = answer["operator"]
    if operator["state"] not in {"Running", "Unknown"}:
        if answer["phase"] not in {None, Phase.IDLE.value}:
            answer["warnings"].append(
                f"The operator does not run, so its record goes on saying {answer['phase']} until it does"
            )
        return
    record = await answering.record(made, written.generation, phase=Phase.IDLE)
    if record is not None:
        answer["phase"] = record.phase.value
        return
    answer["warnings"].append(
        f"The operator has not gone back to Idle within {answering.PATIENCE:g} s; the wish is withdrawn all the same. "
        "Look at it with: oc topology status"
    )


def judged(
    seen: reading.Seen, transitions: load.Transitions, by: str | None, acting: connection.Acting | None = None
) -> tuple[answers.Cancel, int]:
    """Whether there is a wish that can be withdrawn, and the exit code. `by` is the field manager that made it."""
    result, said, code = _result(seen, transitions)
    would = result == "WouldWrite"
    return {
        "apiVersion": answers.API_VERSION,
        "kind": "TopologyCancel",
        "evaluated": answers.stamp(seen.now),
        "cluster": plan.cluster(seen.infrastructure),
        "wish": seen.infrastructure.desired,
        "wishedBy": by if seen.infrastructure.desired is not None else None,
        "phase": plan.phase(seen),
        "operator": running.operator(seen),
        "result": result,
        "message": said,
        "patch": writing.patch(seen.infrastructure.resource_version, None, acting) if would else None,
        "warnings": [],
        "next": _instead(seen) if result == "Refused" else _other(),
    }, code


def _result(seen: reading.Seen, transitions: load.Transitions) -> tuple[answers.Result, str, int]:
    wish, record = seen.infrastructure.desired, seen.record
    here = records.pair(seen.infrastructure)
    if record is not None and _has_moved(seen, record):
        if record.phase is Phase.CONVERGING:
            return "Refused", (
                f"The topology has moved to {here}, and there is no way back: other operators have begun to follow, "
                "and a control plane that has grown cannot give up its members of etcd in service"
            ), judging.BLOCKED  # fmt: skip
        if wish is not None:
            return "Refused", (
                f"The transition is completed: the cluster is {here}, and no transition leads back. The wish may stay; "
                "it does no harm"
            ), judging.BLOCKED  # fmt: skip
    if wish is None:
        return "Unchanged", "There is no wish, so there is nothing to cancel", judging.DONE
    leads = any(one.target.control_plane == wish for one in transitions.starting_at(here))
    if wish == here.control_plane and not leads:
        said = f"The cluster is {here}: the wish {wish} is fulfilled, and nothing is under way"
        return "Unchanged", said, judging.DONE
    return "WouldWrite", f"The wish {wish} can be withdrawn: the topology has not moved", judging.DONE


def _has_moved(seen: reading.Seen, record: TopologyTransition) -> bool:
    """Has the transition of this record, and of this wish, moved the topology?"""
    if record.phase in _UNMOVED or record.target is None or record.target != records.pair(seen.infrastructure):
        return False
    wish = seen.infrastructure.desired
    return record.phase in {Phase.CONVERGING, Phase.COMPLETED} and wish in {None, record.target.control_plane}


def _instead(seen: reading.Seen) -> list[answers.Expected]:
    """What there is where there is no way back."""
    if seen.record is not None and seen.record.phase is Phase.COMPLETED:
        return [_expected("Status", "How it stands, and what is left to do", "oc topology status")]
    return [
        _expected("Status", "How far it is, and what it waits for", "oc topology status"),
        _expected("Wait", "Wait until it is completed", "oc topology wait"),
        _expected(
            "Accept",
            "Past the deadline only: declare that an operand will not come, so that the transition can be completed",
            "oc topology accept --check NAME",
        ),
    ]


def _other() -> list[answers.Expected]:
    return [_expected("Plan", "What could be asked for from here", "oc topology plan")]


def _expected(name: str, message: str, command: str) -> answers.Expected:
    return {"name": name, "message": message, "command": command}
