"""The verb `plan`: what could be asked for from here, or what would come of one wish. Nothing is written.

`reading` brings the facts, `judging` the verdict, `expecting` what it means for the cluster; here they become one
answer (`answers.Plan`, `answers.Overview`), which `printing` turns into text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from topology_api.types import TopologyTransition

from ..decide import records
from . import answers, expecting, judging, running

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..checks.result import CheckResult
    from ..observe import facts
    from ..report import state
    from ..transitions import load
    from . import manifest as manifests
    from . import reading


def manifest(
    seen: reading.Seen, transitions: load.Transitions, wanted: manifests.Wanted
) -> tuple[answers.Plan, judging.Verdict]:
    """What would come of these manifests. Raises PluginError when the API lacks our fields."""
    if wanted.wish is None:
        plan, verdict = _plan(seen, transitions, "", judging.unwished(seen.known, transitions, seen.now))
    else:
        plan, verdict = target(seen, transitions, wanted.wish)
    plan["manifest"] = wanted.answer()
    return plan, verdict


def target(seen: reading.Seen, transitions: load.Transitions, wish: str) -> tuple[answers.Plan, judging.Verdict]:
    """What would come of this wish. Raises PluginError when the API lacks our fields."""
    return _plan(seen, transitions, wish, judging.wished(seen.known, transitions, wish, seen.now))


def _plan(
    seen: reading.Seen, transitions: load.Transitions, wish: str, found: judging.Judgement
) -> tuple[answers.Plan, judging.Verdict]:
    definition = found.definition
    checks = _checks(found.results)
    plan: answers.Plan = {
        "apiVersion": answers.API_VERSION,
        "kind": "TopologyPlan",
        "evaluated": answers.stamp(seen.now),
        "cluster": cluster(seen.infrastructure),
        "wish": seen.infrastructure.desired,
        "phase": phase(seen),
        "operator": running.operator(seen),
        "target": wish,
        "verdict": found.verdict.value,
        "message": found.said,
        "transition": None,
        "checks": checks,
        "progress": _progress(checks),
        "onlyOperator": _checks(judging.only_recorded(seen.record, found)),
        "advisories": [{"name": one.name, "message": one.message, "command": one.command} for one in found.advisories],
        "changes": [],
        "expected": [],
        "checklist": [],
        "command": command(wish) if found.leads and seen.infrastructure.desired != wish else None,
        "unread": unread(seen),
    }
    if found.leads and definition is not None:
        plan["transition"] = {
            "name": definition.name,
            "summary": definition.summary,
            "source": answers.pair(found.source),
            "target": answers.pair(definition.target.pair),
        }
        plan["changes"] = expecting.changes(found.source, definition.target.pair)
        plan["expected"] = expecting.disruption(seen.known, definition, found.source, transitions)
        plan["checklist"] = expecting.checklist(seen.known, definition, found.source)
    if found.left:
        plan["notCompleteUntil"] = [
            {"check": check.value, "advisory": one.name, "command": one.command} for check, one in found.left
        ]
    return plan, found.verdict


def overview(seen: reading.Seen, transitions: load.Transitions) -> tuple[answers.Overview, judging.Verdict]:
    """What could be asked for from here."""
    ways, none = judging.ways(seen.known, transitions, seen.now)
    verdict = judging.best(ways)
    return {
        "apiVersion": answers.API_VERSION,
        "kind": "TopologyPlanList",
        "evaluated": answers.stamp(seen.now),
        "cluster": cluster(seen.infrastructure),
        "wish": seen.infrastructure.desired,
        "phase": phase(seen),
        "operator": running.operator(seen),
        "verdict": verdict.value,
        "message": none or _summary(ways),
        "transitions": [_way(one) for one in ways],
        "unread": unread(seen),
    }, verdict


def _summary(ways: tuple[judging.Way, ...]) -> str:
    possible = sorted({way.definition.name for way in ways if way.verdict is judging.Verdict.POSSIBLE})
    if possible:
        return f"Possible now: {', '.join(possible)}"
    return "Nothing is possible now; what blocks each of them stands below"


def _way(one: judging.Way) -> answers.Way:
    blockers = one.found.blockers if one.found is not None else ()
    return {
        "name": one.definition.name,
        "summary": one.definition.summary,
        "target": answers.pair(one.definition.target.pair),
        "verdict": one.verdict.value,
        "blockers": [{"name": blocker.name, "message": blocker.message} for blocker in blockers],
        "elsewhere": one.elsewhere,
        "command": command(one.definition.target.control_plane.value),
    }


def _checks(results: Iterable[CheckResult]) -> list[answers.Check]:
    return [{"name": one.name.value, "status": one.status.value, "message": one.message} for one in results]


def _progress(checks: list[answers.Check]) -> state.Progress | None:
    return {"met": sum(one["status"] == "Met" for one in checks), "total": len(checks)} if checks else None


def cluster(infrastructure: facts.Infrastructure) -> state.Cluster:
    """Which cluster this is, and its topology now."""
    return {
        "name": infrastructure.cluster_name,
        "platform": infrastructure.platform,
        "topology": {"controlPlane": infrastructure.control_plane, "infrastructure": infrastructure.infrastructure},
    }


def phase(seen: reading.Seen) -> str | None:
    """The phase that the operator has recorded, None when there is no record."""
    record = records.recover(seen.infrastructure, seen.known.own_operator)
    return record.phase.value if isinstance(record, TopologyTransition) else None


def unread(seen: reading.Seen) -> list[answers.Unread]:
    """What could not be read."""
    return [{"what": one.what, "why": one.why, "right": one.right} for one in seen.unread]


def command(wish: str) -> str:
    """The command that makes this wish."""
    body = json.dumps({"spec": {"desiredTopology": wish}}, separators=(",", ":"))
    return f"oc patch infrastructure cluster --type merge -p '{body}'"
