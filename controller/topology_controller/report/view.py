"""What the status page shows: the last decision, the record and the facts, as one structure that is JSON (`state`).

Nothing is judged here. The phase, the checks and the conditions are those of the decision that the loop has pinned; on
a process that does not lead they are read from what the leader wrote, in Infrastructure and ClusterOperator `topology`.
Nodes, members and operands are in `evidence`. Pure, and computed only when somebody looks (`serve.page`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

from topology_api.vocabulary import ConditionType, Phase, Reason, Stage

from ..decide import records
from ..observe import facts
from . import conditions, evidence

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import TopologyPair, TopologyTransition

    from ..definitions import load, model
    from . import board, state

_STAGES = {
    Phase.PENDING: Stage.PREFLIGHT,
    Phase.ADMITTING: Stage.PREFLIGHT,
    Phase.CONVERGING: Stage.CONVERGENCE,
    Phase.COMPLETED: Stage.CONVERGENCE,
}
_BEFORE_CHANGE = frozenset({Phase.UNSUPPORTED, Phase.PENDING, Phase.ADMITTING})


@dataclass(frozen=True, slots=True)
class About:
    """What this process knows besides facts: its version, its definitions, and another settle time if it was told."""

    version: str
    transitions: load.Transitions
    settle_seconds: int | None = None


def look(pinned: board.Pinned | None, known: facts.Facts, about: About) -> state.State:
    """Everything that the page shows.

    `pinned` is None on a process that does not lead. `known` are the newest facts: request and topology are told from
    them, everything else from what the decision was made from.
    """
    infrastructure = known.infrastructure
    seen = None if isinstance(infrastructure, facts.Unobserved) else infrastructure
    based = known if pinned is None else pinned.known
    record = _record(pinned, known)
    phase = _phase(pinned, record)
    definition = _definition(pinned, record, about)
    said = _conditions(pinned, known.own_operator)
    degraded = _when_true(said, ConditionType.DEGRADED)
    disabled = _when_true(said, ConditionType.DISABLED)
    stage = None if record is None or disabled is not None else _STAGES.get(phase)
    checks = () if stage is None else records.of_stage(record, stage)
    results = pinned.decision.results if pinned is not None else ()
    own = known.own_operator
    desired = None if seen is None else seen.desired
    return {
        "version": about.version,
        "leads": pinned is not None,
        "cluster": {
            "name": None if seen is None else seen.cluster_name,
            "platform": None if seen is None else seen.platform,
            "topology": {
                "controlPlane": None if seen is None else seen.control_plane,
                "infrastructure": None if seen is None else seen.infrastructure,
            },
        },
        "desired": desired,
        "cancel": _request(None) if desired is not None and phase in _BEFORE_CHANGE else None,
        "phase": phase.value,
        "since": _time(record.phase_transition_time) if record is not None else None,
        "stuck": degraded is not None and degraded["reason"] == Reason.TRANSITION_STUCK,
        "paused": not isinstance(own, facts.Unobserved) and own.paused,
        "headline": next((one["message"] for one in said if one["type"] == ConditionType.PROGRESSING), ""),
        "disabled": disabled,
        "degraded": degraded,
        "conditions": said,
        "transition": _transition(record, phase, definition, about),
        "stage": stage.value if stage is not None else None,
        "checks": [
            {
                "name": check.name,
                "status": check.status.value,
                "message": check.message,
                "since": _stamp(check.last_transition_time),
            }
            for check in checks
        ],
        "progress": {"met": sum(check.status.value == "Met" for check in checks), "total": len(checks)}
        if checks
        else None,
        "operands": evidence.operands(results, definition, about.transitions.matrix)
        if pinned is not None and phase is Phase.CONVERGING and disabled is None
        else {"items": [], "said": evidence.unwatched(leads=pinned is not None)},
        "nodes": evidence.nodes(based, results, leads=pinned is not None),
        "etcd": evidence.members(based, stage, leads=pinned is not None),
        "accepted": [
            {"name": one.name, "message": one.message, "reason": one.reason, "since": _stamp(one.accepted_time)}
            for one in (record.accepted if record is not None else ())
        ],
        "advisories": [
            {"name": one.name, "message": one.message, "command": one.command}
            for one in (record.advisories if record is not None else ())
        ],
        "available": _available(record, about),
        "disturbed": list(based.disturbed),
    }


def _record(pinned: board.Pinned | None, known: facts.Facts) -> TopologyTransition | None:
    """What is decided; where the decision leaves the record alone, and on a standby, what stands in the API."""
    if pinned is not None:
        decided = pinned.decision.observed or pinned.decision.record
        if decided is not None:
            return decided
    infrastructure = known.infrastructure
    if isinstance(infrastructure, facts.Unobserved):
        return None
    return records.shown(infrastructure, known.own_operator)


def _phase(pinned: board.Pinned | None, record: TopologyTransition | None) -> Phase:
    if pinned is not None:
        return pinned.decision.phase
    return record.phase if record is not None else Phase.IDLE


def _definition(
    pinned: board.Pinned | None, record: TopologyTransition | None, about: About
) -> model.Definition | None:
    if pinned is not None and pinned.decision.definition is not None:
        return pinned.decision.definition
    return about.transitions.named(record.name) if record is not None else None


def _conditions(pinned: board.Pinned | None, own: facts.Fact[facts.OwnOperator]) -> list[state.Condition]:
    """The five conditions: decided here, or as the leader wrote them. Times are those on the server."""
    written = {} if isinstance(own, facts.Unobserved) else _written(own.status.get("conditions"))
    if pinned is None:
        return [written[type_] for type_ in ConditionType if type_ in written]
    decided: list[state.Condition] = []
    for one in conditions.of(pinned.decision):
        before = written.get(one.type.value)
        since = before["since"] if before is not None and before["status"] == one.status else None
        decided.append(
            {
                "type": one.type.value,
                "status": one.status.value,
                "reason": one.reason.value,
                "message": one.message,
                "since": since,
            }
        )
    return decided


def _written(found: object) -> dict[str, state.Condition]:
    """Conditions as they stand on the server, where anything may stand."""
    items = found if isinstance(found, list) else []
    return {
        str(item["type"]): {
            "type": str(item["type"]),
            "status": str(item.get("status", "")),
            "reason": str(item.get("reason", "")),
            "message": str(item.get("message", "")),
            "since": str(item["lastTransitionTime"]) if item.get("lastTransitionTime") else None,
        }
        for item in items
        if isinstance(item, dict) and item.get("type")
    }


def _when_true(said: list[state.Condition], type_: ConditionType) -> state.Said | None:
    found = next((one for one in said if one["type"] == type_ and one["status"] == "True"), None)
    return None if found is None else {"reason": found["reason"], "message": found["message"]}


def _transition(
    record: TopologyTransition | None, phase: Phase, definition: model.Definition | None, about: About
) -> state.Transition | None:
    if record is None or phase is Phase.IDLE:
        return None
    convergence = definition.convergence if definition is not None else None
    settle = convergence.settle_seconds if convergence is not None else None
    started = record.admitted_time or record.phase_transition_time
    deadline = None
    if phase is Phase.CONVERGING:
        deadline = record.deadline_time
    if phase is Phase.CONVERGING and deadline is None and convergence is not None and started is not None:
        deadline = _later(started, timedelta(minutes=convergence.deadline_minutes))
    return {
        "name": record.name,
        "summary": definition.summary if definition is not None else "",
        "source": _pair(record.source),
        "target": _pair(record.target),
        "attempt": record.attempt,
        "requested": _time(record.requested_time),
        "admitted": _time(record.admitted_time),
        "completed": _time(record.completed_time),
        "deadline": _time(deadline),
        "deadlineMinutes": None
        if deadline is None or started is None
        else (deadline - started) // timedelta(minutes=1),
        "settleSeconds": settle if about.settle_seconds is None else about.settle_seconds,
    }


def _available(record: TopologyTransition | None, about: About) -> list[state.Available]:
    found: list[state.Available] = []
    for one in record.available if record is not None else ():
        definition = about.transitions.named(one.name)
        found.append(
            {
                "name": one.name,
                "summary": definition.summary if definition is not None else "",
                "target": {"controlPlane": one.target.control_plane, "infrastructure": one.target.infrastructure},
                "available": one.available,
                "evaluated": _stamp(one.evaluated_time),
                "blockers": [{"name": blocker.name, "message": blocker.message} for blocker in one.blockers],
                "command": _request(one.target.control_plane),
            }
        )
    return found


def _request(topology: str | None) -> str:
    """The command that makes this request, or takes it back."""
    body = json.dumps({"spec": {"desiredTopology": topology}}, separators=(",", ":"))
    return f"oc patch infrastructure cluster --type merge -p '{body}'"


def _pair(pair: TopologyPair | None) -> state.Pair | None:
    if pair is None:
        return None
    return {"controlPlane": pair.control_plane, "infrastructure": pair.infrastructure}


def _later(moment: datetime, by: timedelta) -> datetime | None:
    try:
        return moment + by
    except OverflowError:
        return None


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else _stamp(moment)


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
