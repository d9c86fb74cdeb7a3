"""What the status page shows: the last decision, the record and the facts, as one structure that is JSON (`state`).

Nothing is judged here. The phase, the checks and the conditions are those of the last decision (`Latest`, which the
loop sets and the page waits for); on a process that does not lead they are read from what the leader wrote. Computed
only when the page asks (`serve.routes`), so that it costs the loop nothing between a fact and the change.
"""

from __future__ import annotations

import asyncio
import itertools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from topology_api.types import ApiModel, AvailableTransition, TopologyTransition, stamp
from topology_api.vocabulary import CheckStatus, ConditionType, Phase, ProblemReason, Reason, Stage

from ..checks.result import CheckResult
from ..decide import assessment, problems, records
from ..decide.state import STAGES, Decision
from ..definitions import load, model
from ..observe import facts
from . import clusteroperator, state

_STAGES = {**STAGES, Phase.COMPLETED: Stage.CONVERGENCE}  # what has completed shows what it was completed by
RUNBOOKS = {
    ProblemReason.STUCK: "TopologyTransitionStuck",
    ProblemReason.BLOCKED: "TopologyTransitionBlocked",
    ProblemReason.TWO_VOTERS: "TopologyTransitionTwoVoters",
    ProblemReason.REDUNDANCY_LOST: "TopologyTransitionTwoVoters",
}
"""Of problems that have an alert, or are what leads to one."""
_CHANGED = "Preflight checks passed, topology changed"


@dataclass(frozen=True, slots=True)
class About:
    """What this process knows besides facts: its version, its definitions, and a settle time that overrides theirs."""

    version: str
    transitions: load.Transitions
    settle_seconds: int | None = None
    runbooks: str = ""  # the address of their folder


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One decision, and the facts behind it."""

    decision: Decision
    known: facts.Facts


class Latest:
    """The last decision of this process, None before the first and once it no longer leads; `number` counts changes."""

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None
        self.number = 0
        self._changed = asyncio.Event()
        self.wanted: Callable[[], None] = lambda: None
        """What to call when a reader looks, as often as you like: the loop, which sets it, bounds the price."""

    def set(self, decision: Decision, known: facts.Facts) -> None:
        """Show this decision from now on."""
        self._show(Snapshot(decision, known))

    def written(self) -> None:
        """Say that what is shown of the API has changed by a write of ours, after which nothing is decided."""
        self._show(self.snapshot)

    def clear(self) -> None:
        """Show nothing: this process does not decide any more."""
        self.wanted = lambda: None
        self._show(None)

    async def changed(self, after: int) -> int:
        """Wait until something else is shown than at `number` `after`; return the new number."""
        while self.number == after:
            await self._changed.wait()
        return self.number

    def _show(self, snapshot: Snapshot | None) -> None:
        self.snapshot = snapshot
        self.number += 1
        # Who waits has this event, and is woken; who comes later waits for the next one.
        self._changed.set()
        self._changed = asyncio.Event()


def look(snapshot: Snapshot | None, known: facts.Facts, about: About) -> state.State:
    """Everything that the page shows. `snapshot` is None on a process that does not lead."""
    # `known` are the newest facts: request and topology are shown from them, all else from those behind the decision.
    infrastructure = None if isinstance(known.infrastructure, facts.Unobserved) else known.infrastructure
    own = None if isinstance(known.own_operator, facts.Unobserved) else known.own_operator
    leads = snapshot is not None
    based, definition = known, None
    results: tuple[CheckResult, ...] = ()
    stored = None if infrastructure is None else records.shown(infrastructure, known.own_operator)
    phase = Phase.IDLE if stored is None else stored.phase
    if snapshot is not None:
        decision, based = snapshot.decision, snapshot.known
        phase, definition, results = decision.phase, decision.definition, decision.results
        # Where the decision leaves the record alone, what stands in the API.
        stored = decision.observed or decision.record or stored
    record = stored or TopologyTransition(phase=Phase.IDLE)
    definition = definition or about.transitions.named(record.name)
    conditions = _conditions(snapshot, {} if own is None else own.status)
    degraded = _when_true(conditions, ConditionType.DEGRADED)
    disabled = _when_true(conditions, ConditionType.DISABLED)
    stage = None if stored is None or disabled is not None else _STAGES.get(phase)
    checks = () if stage is None else records.of_stage(record, stage)
    accepted = {item.name for item in record.accepted}
    open_ = [check for check in checks if check.status is not CheckStatus.MET and check.name not in accepted]
    desired = None if infrastructure is None else infrastructure.desired
    control_plane = None if infrastructure is None else infrastructure.control_plane
    value = None if infrastructure is None else infrastructure.infrastructure
    met = sum(check.status is CheckStatus.MET for check in checks)
    operands: state.Operands = {"items": [], "said": state.unwatched(leads=leads)}
    if leads and phase is Phase.CONVERGING and disabled is None:
        operands = state.operands(results, definition, about.transitions.matrix)
    why, advised, last = record.problem, record.advisories, record.last_transition
    went_without = [item.name for item in last.accepted] if last is not None else []
    runbook = None if why is None else RUNBOOKS.get(why.reason)
    return {
        "version": about.version,
        "leads": leads,
        "live": snapshot is not None and snapshot.decision.watch and not based.disturbed,
        "cluster": {
            "name": None if infrastructure is None else infrastructure.cluster_name,
            "platform": None if infrastructure is None else infrastructure.platform,
            "topology": {"controlPlane": control_plane, "infrastructure": value},
        },
        "desired": desired,
        "cancel": records.request(None) if desired is not None and phase.asks else None,
        "phase": phase.value,
        "since": None if (since := record.phase_transition_time) is None else stamp(since),
        "stuck": degraded is not None and degraded["reason"] == Reason.TRANSITION_STUCK,
        "paused": own is not None and own.paused,
        "headline": next((item["message"] for item in conditions if item["type"] == ConditionType.PROGRESSING), ""),
        "problem": _shown(why, state.Problem) if why is not None else None,
        "runbook": f"{about.runbooks.rstrip('/')}/{runbook}.md" if runbook and about.runbooks else None,
        "warning": problems.danger(based),
        "disabled": disabled,
        "degraded": degraded,
        "conditions": conditions,
        "transition": None if stored is None else _transition(record, phase, definition, about),
        "stage": None if stage is None else stage.value,
        "checks": [_shown(each, state.Check, since=stamp(each.last_transition_time)) for each in checks],
        "progress": {"met": met, "total": len(checks)} if checks else None,
        "operands": operands,
        "nodes": state.nodes(based, results, leads=leads),
        "etcd": state.members(based, stage, leads=leads),
        "accepted": [_shown(each, state.Accepted, since=stamp(each.accepted_time)) for each in record.accepted],
        "advisories": [_shown(each, state.Advisory) for each in advised],
        "required": [item.name for item in assessment.awaited(advised, open_)],
        "available": [available(item, about) for item in record.available],
        "lastTransition": None if last is None else _shown(last, state.LastTransition, accepted=went_without),
        "timeline": [] if disabled is not None else _timeline(record, stage),
        "disturbed": list(based.disturbed),
    }


def _shown(model: ApiModel, shape: type, **others: Any) -> Any:
    """What the API has, under the names of the page: times without `Time`, and `others` besides or instead."""
    dumped = model.model_dump(mode="json", by_alias=True)
    known = {name.removesuffix("Time"): value for name, value in dumped.items()} | others
    return {name: known[name] for name in shape.__annotations__}


def _conditions(snapshot: Snapshot | None, written: dict[str, Any]) -> list[state.Condition]:
    """The five conditions: decided here, or as the leader wrote them. Times are those on the server."""
    if snapshot is not None:
        conditions = clusteroperator.merged_conditions(snapshot.decision, written, None)
    else:
        stored = clusteroperator.stored_conditions(written)
        conditions = [stored[type_] for type_ in ConditionType if type_ in stored]
    return [
        {
            "type": item["type"],
            "status": str(item.get("status", "")),
            "reason": str(item.get("reason", "")),
            "message": str(item.get("message", "")),
            "since": str(item["lastTransitionTime"]) if item.get("lastTransitionTime") else None,
        }
        for item in conditions
    ]


def _when_true(conditions: list[state.Condition], type_: ConditionType) -> state.Said | None:
    for item in conditions:
        if item["type"] == type_ and item["status"] == "True":
            return {"reason": item["reason"], "message": item["message"]}
    return None


def _transition(
    record: TopologyTransition, phase: Phase, definition: model.Definition | None, about: About
) -> state.Transition | None:
    if phase is Phase.IDLE:
        return None
    convergence = definition.convergence if definition is not None else None
    settle = convergence.settle_seconds if convergence is not None else None
    started = record.admitted_time or record.phase_transition_time
    deadline = record.deadline_time if phase is Phase.CONVERGING else None
    if phase is Phase.CONVERGING and deadline is None and convergence is not None and started is not None:
        deadline = started + timedelta(minutes=convergence.deadline_minutes)
    of_definition = None if deadline is None or started is None else (deadline - started) // timedelta(minutes=1)
    shown: state.Transition = _shown(
        record,
        state.Transition,
        summary=definition.summary if definition is not None else "",
        deadline=None if deadline is None else stamp(deadline),
        deadlineMinutes=of_definition,
        settleSeconds=settle if about.settle_seconds is None else about.settle_seconds,
        # Of one that is Completed, the last transition is itself.
        typical=assessment.typical(definition, None if phase is Phase.COMPLETED else record.last_transition),
    )
    return shown


def _timeline(record: TopologyTransition, stage: Stage | None) -> list[state.Moment]:
    """What happened when, by the times that the record keeps; checks that were met in one second share an entry."""
    moments: list[tuple[datetime | None, str, str]] = []
    last, going = record.last_transition, record.phase is not Phase.IDLE
    if last is not None and not (going and last.admitted_time == record.admitted_time):
        way = f"{last.name}, from {last.source} to {last.target}"
        moments.append((last.completed_time, "Last transition completed", way))
    if going:
        requested = "Requested" if record.target is None else f"{record.target.control_plane} requested"
        moments.append((record.requested_time, requested, record.name or ""))
        way = f"{record.source} to {record.target}"
        changed = "Native controller changed the topology" if record.by_native else _CHANGED
        moments.append((record.admitted_time, changed, way))
        checks = () if stage is None else records.of_stage(record, stage)
        met = [check for check in checks if check.status is CheckStatus.MET]
        when = operator.attrgetter("last_transition_time")
        for time, group in itertools.groupby(sorted(met, key=when), when):
            names = [check.name for check in group]
            if len(names) == 1:
                moments.append((time, f"{names[0]} met", ""))
            else:
                moments.append((time, f"{len(names)} {str(stage).lower()} checks met", ", ".join(names)))
        moments.append((record.completed_time, "Completed", ""))
    if record.phase is Phase.ADMITTING:
        moments.append((record.phase_transition_time, "Preflight checks passed, everything is read again", ""))
    if record.problem is not None:
        moments.append((record.problem.since, f"Problem {record.problem.reason}", ""))
    known = [(time, what, detail) for time, what, detail in moments if time is not None]
    # Sorting is stable: what happened in the same second stays in the order of the life of a transition.
    known.sort(key=lambda moment: moment[0])
    return [{"time": stamp(time), "what": what, "detail": detail} for time, what, detail in known]


def available(transition: AvailableTransition, about: About) -> state.Available:
    """A transition that starts here, as the page shows it."""
    definition = about.transitions.named(transition.name)
    summary, command = definition.summary if definition else "", records.request(transition.target.control_plane)
    shown: state.Available = _shown(transition, state.Available, summary=summary, command=command)
    return shown
