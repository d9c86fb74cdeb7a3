"""After the flip: watch the cluster follow, and say when it has.

Topology is never written again. Completed needs every convergence check Met without a break for the settle time, read
from the times that the record keeps, so a restart changes nothing. Past the deadline the transition is stuck: said, and
never rolled back.
"""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckStatus, EventReason, Phase, Reason, Stage

from ..checks import catalog, operators
from . import records
from . import scene as scenes
from .decision import Decision, Happening, Said, Step

if TYPE_CHECKING:
    from topology_api.types import Check, TopologyTransition

    from ..transitions import model


def converging(scene: scenes.Scene, record: TopologyTransition) -> Decision:
    """The topology has moved: watch the cluster follow. Topology is never written again."""
    now, known = scene.now, scene.known
    definition = scene.transitions.named(record.name)
    block = operators.block_message(record.name or "", record.target.control_plane if record.target else "")
    if definition is None:
        message = (
            f"Transition {record.name} is under way, but this version has no definition of that name: "
            "it cannot tell when it is completed. Install the version that started it"
        )
        said = Said(Reason.TRANSITION_STUCK, message)
        return Decision(Phase.CONVERGING, steps=(Step.REPORT,), degraded=said, note=message, upgrade_block=block)
    if scene.evidence_awaited:
        return Decision(Phase.CONVERGING, watch=True, upgrade_block=block)
    results = catalog.ask(Stage.CONVERGENCE, definition, known, now, scene.yardstick(record.baseline))
    converged = records.checks(record, Stage.CONVERGENCE, results, now)
    kept = record.model_copy(
        update={
            "checks": (*records.of_stage(record, Stage.PREFLIGHT), *converged),
            "progress": records.progress(results),
            "observed_generation": scene.infrastructure.generation,
            "available": scenes.available(scene),
        }
    )
    settle = definition.convergence.settle_seconds
    if scene.term.settle_seconds is not None:
        settle = scene.term.settle_seconds
    # Times are kept in whole seconds: one more makes up for the fraction that was cut off.
    quiet_at = max(check.last_transition_time for check in converged) + timedelta(seconds=settle + 1)
    all_met = all(result.met for result in results)
    if all_met and now >= quiet_at and not known.disturbed:
        completed = now.replace(microsecond=0)
        kept = kept.model_copy(
            update={"phase": Phase.COMPLETED, "phase_transition_time": completed, "completed_time": completed}
        )
        return scenes.written(scene, Decision(Phase.COMPLETED, kept, definition=definition, results=results))
    started = record.admitted_time or record.phase_transition_time or now
    deadline = started + timedelta(minutes=definition.convergence.deadline_minutes)
    stuck = _stuck(converged, definition) if now >= deadline and not all_met else None
    moments = [quiet_at] if all_met else [deadline, *scenes.lease_moments(known), *scenes.unreadable_moments(converged)]
    decision = Decision(
        Phase.CONVERGING,
        kept,
        watch=True,
        definition=definition,
        results=results,
        note=scenes.what_is_awaited(results, known.disturbed),
        upgrade_block=block,
        degraded=stuck or scenes.unreadable(kept, Stage.CONVERGENCE, now),
        look_again=scenes.until(moments, now),
    )
    decision = scenes.written(scene, decision)
    if stuck is not None:
        happening = Happening(EventReason.TRANSITION_STUCK, stuck.message, warning=True)
        return dataclasses.replace(decision, happened=(*decision.happened, happening))
    return decision


def _stuck(converged: tuple[Check, ...], definition: model.Definition) -> Said:
    failing = [check for check in converged if check.status is not CheckStatus.MET]
    longest = min(failing, key=lambda check: check.last_transition_time)
    return Said(
        Reason.TRANSITION_STUCK,
        f"Not converged after {definition.convergence.deadline_minutes} minutes; waiting longest for "
        f"{longest.name}: {longest.message}",
    )
