"""The life of a transition: from the facts to one decision (DESIGN section 4).

    Idle → Unsupported | Pending → Admitting → Converging → Completed

`decide` first settles whether it may speak at all (object there, API installed, cluster of our kind, nobody wrote over
us), then goes by the phase of the record: before the flip everything is decided from the wish and the preflight checks,
afterwards from the record and the convergence checks only. The flip itself is decided only from facts that were read
live, and only when the live Infrastructure carries an attempt that this very leader has recorded.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from topology_api.types import TopologyTransition
from topology_api.vocabulary import CheckName, CheckStatus, EventReason, Phase, Reason, Stage

from ..checks import catalog, etcd, operators
from ..checks.result import listed
from ..observe import facts
from . import applicability, discovery, happenings, records
from .decision import Decision, Happening, Said, Step

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import AvailableTransition, Check, TopologyPair

    from ..checks.result import CheckResult
    from ..transitions import load, model
    from .decision import Term

ECHO_BOUND = timedelta(minutes=5)
"""How long an admission waits for ClusterVersion to echo our block before it goes back to Pending."""
ECHO_BACKOFF = timedelta(seconds=60)
"""How long after such a timeout the next admission may start, even if the echo appears at once."""
UNREADABLE_BOUND = timedelta(minutes=5)
"""How long a fact may be unreadable before the operator calls itself Degraded."""
_MOVED = frozenset({Phase.CONVERGING, Phase.COMPLETED})
_BEFORE_FLIP = frozenset({Phase.UNSUPPORTED, Phase.PENDING, Phase.ADMITTING})


@dataclass(frozen=True, slots=True)
class _Scene:
    """Everything that one decision looks at, once it is clear that there is something to decide."""

    known: facts.Facts
    infrastructure: facts.Infrastructure
    record: TopologyTransition | None
    transitions: load.Transitions
    term: Term
    now: datetime

    @property
    def phase(self) -> Phase:
        return self.record.phase if self.record is not None else Phase.IDLE

    @property
    def evidence_awaited(self) -> bool:
        """Is a fact of an open wish still on its way? Then deciding now would publish "not read yet" as news."""
        known = self.known
        found = (
            known.cluster_version, known.cluster_operators, known.control_plane_nodes, known.other_nodes,
            known.scheduler, known.etcd_endpoints, known.etcd, known.etcd_lease,
            known.machine_config_pools, known.ingress_controller,
        )  # fmt: skip
        return any(isinstance(fact, facts.Unobserved) and fact.awaited for fact in found)


def decide(known: facts.Facts, transitions: load.Transitions, term: Term, now: datetime) -> Decision:
    """Decide what follows from the facts. The same arguments always give the same decision."""
    infrastructure, own = known.infrastructure, known.own_operator
    if isinstance(own, facts.Unobserved) and not own.missing:
        # The copy of the record may be in it: without having read it nothing can be called a fresh start, and nothing
        # can be reported either.
        return _blind(infrastructure, own)
    if isinstance(infrastructure, facts.Unobserved):
        return _without_infrastructure(infrastructure)
    record = records.recover(infrastructure, own)
    scene = _Scene(known, infrastructure, record, transitions, term, now)
    if isinstance(known.installed, facts.Installed) and known.installed.lacks:
        return Decision(
            scene.phase,
            steps=(Step.REPORT,),
            look_again=60.0,
            degraded=Said(
                Reason.API_NOT_INSTALLED,
                f"CustomResourceDefinition {known.installed.lacks}: a wish would be dropped unseen. "
                "Install it with the commands of: cluster-topology-operator manifests --crd-patch",
            ),
        )
    if said := applicability.disabled(known, infrastructure):
        return _disabled(scene, said)
    if record is not None and record.phase in _MOVED:
        if _overwritten(scene, record):
            return _report_overwritten(scene, record)
        if record.phase is Phase.CONVERGING and record.target == records.pair(infrastructure):
            return _converging(scene, record)
        if record.target == records.pair(infrastructure) and infrastructure.desired == record.target.control_plane:
            return _keep(scene, record)
    return _wish(scene)


def _blind(infrastructure: facts.Fact[facts.Infrastructure], own: facts.Unobserved) -> Decision:
    """Our own ClusterOperator cannot be read: nothing changes until it can, and the watches stay as they are needed."""
    found = None if isinstance(infrastructure, facts.Unobserved) else infrastructure.record
    phase = found.phase if isinstance(found, TopologyTransition) else Phase.IDLE
    watched = phase in {Phase.PENDING, Phase.ADMITTING, Phase.CONVERGING}
    return Decision(phase, watch=watched, note=str(own))


def _without_infrastructure(why: facts.Unobserved) -> Decision:
    if why.missing:
        message = "Infrastructure cluster does not exist: it is created by the installer. Nothing is decided without it"
        said = Said(Reason.INFRASTRUCTURE_MISSING, message)
        return Decision(Phase.IDLE, steps=(Step.REPORT,), degraded=said)
    # What cannot be read is no reason to change what was said; readiness tells that we are blind.
    return Decision(Phase.IDLE, note=str(why))


def _disabled(scene: _Scene, said: Said) -> Decision:
    """Stand down.

    A record that was not admitted is cleared once; a hosted cluster's Infrastructure is never written.
    """
    record = scene.record
    if said.reason is not Reason.HOSTED_CONTROL_PLANE and record is not None and record.phase in _BEFORE_FLIP:
        cleared = _idle_record(scene)
        return Decision(Phase.IDLE, cleared, (Step.SAVE, Step.REPORT), disabled=said)
    return Decision(scene.phase, steps=(Step.REPORT,), disabled=said)


def _overwritten(scene: _Scene, record: TopologyTransition) -> bool:
    """Did somebody set the topology back while the wish still stands?"""
    target = record.target
    return (
        target is not None
        and target != records.pair(scene.infrastructure)
        and scene.infrastructure.desired == target.control_plane
    )


def _report_overwritten(scene: _Scene, record: TopologyTransition) -> Decision:
    who = scene.infrastructure.topology_writer or "somebody unknown"
    message = (
        f"Status topology was {record.target} and is {records.pair(scene.infrastructure)} now; it was written by "
        f"field manager {who}. Nothing is written until the wish is removed and made again: oc patch infrastructure "
        """cluster --type merge -p '{"spec":{"desiredTopology":null}}'"""
    )
    return Decision(
        record.phase,
        steps=(Step.REPORT,),
        degraded=Said(Reason.TOPOLOGY_OVERWRITTEN, message),
        note="Stopped",
    )


def _wish(scene: _Scene) -> Decision:
    """Nothing has moved: decide from the wish."""
    infrastructure = scene.infrastructure
    here = records.pair(infrastructure)
    wish = infrastructure.desired
    if wish is None:
        return _idle(scene)
    leading = [
        definition for definition in scene.transitions.starting_at(here) if definition.target.control_plane == wish
    ]
    if not leading:
        return _idle(scene) if wish == here.control_plane else _unsupported(scene, wish)
    on_platform = [definition for definition in leading if infrastructure.platform in definition.platforms]
    if not on_platform:
        return _unsupported(scene, wish)
    if scene.evidence_awaited:
        return Decision(scene.phase, watch=True)
    definition = _choose(scene.known, on_platform)
    if definition is None:
        # The number of workers decided, so the watches stay open: it may change.
        return dataclasses.replace(_unsupported(scene, wish), watch=True)
    return _preflight(scene, definition, wish)


def _choose(known: facts.Facts, candidates: list[model.Definition]) -> model.Definition | None:
    """Tell definitions with the same source apart by the number of dedicated workers.

    With one candidate its own check says whether the number fits. With several and an unreadable number, the first
    one is shown: it cannot be admitted, since DedicatedWorkers answers Unknown for each of them.
    """
    others = known.other_nodes
    if len(candidates) == 1 or isinstance(others, facts.Unobserved):
        return candidates[0]
    if any(isinstance(node, facts.Unobserved) for node in others):
        return candidates[0]
    count = sum(isinstance(node, facts.OtherNode) and node.dedicated_worker for node in others)
    return next((definition for definition in candidates if definition.workers.fits(count)), None)


def _idle_record(scene: _Scene) -> TopologyTransition:
    return TopologyTransition(
        phase=Phase.IDLE,
        phase_transition_time=records.phase_time(scene.record, Phase.IDLE, scene.now),
        observed_generation=scene.infrastructure.generation,
        available=_available(scene),
    )


def _available(scene: _Scene) -> tuple[AvailableTransition, ...]:
    found = discovery.merged(scene.record.available if scene.record else (), scene.term.available)
    # What was discovered before the topology moved leads away from where the cluster no longer is.
    here = {definition.name for definition in scene.transitions.starting_at(records.pair(scene.infrastructure))}
    return tuple(item for item in found if item.name in here)


def _idle(scene: _Scene) -> Decision:
    record = _idle_record(scene)
    note = applicability.orphaned_native_wish(scene.known, scene.infrastructure)
    if scene.infrastructure.record is None and scene.record is None and scene.term.available is None:
        # The first record waits for what discovery finds: one write instead of two.
        return Decision(Phase.IDLE, steps=(Step.REPORT,), note=note)
    return _written(scene, Decision(Phase.IDLE, record, note=note))


def _unsupported(scene: _Scene, wish: str) -> Decision:
    """No definition leads from here to the wish: say why, and what would be legal."""
    infrastructure = scene.infrastructure
    here = records.pair(infrastructure)
    legal = [
        f"{definition.target.control_plane} ({definition.name}, on platform {' or '.join(definition.platforms)}, with "
        f"{definition.workers} dedicated workers)"
        for definition in scene.transitions.starting_at(here)
    ]
    message = (
        f"No transition leads from {here} to {wish} on platform {infrastructure.platform or 'unknown'}. "
        f"From here: {listed(legal) or 'none'}"
    )
    kept = scene.record if scene.phase is Phase.UNSUPPORTED else None
    same_wish = kept is not None and kept.observed_generation == infrastructure.generation
    record = TopologyTransition(
        phase=Phase.UNSUPPORTED,
        source=here,
        requested_time=kept.requested_time if kept is not None and same_wish else _requested(scene, None),
        phase_transition_time=records.phase_time(scene.record, Phase.UNSUPPORTED, scene.now),
        observed_generation=infrastructure.generation,
        available=_available(scene),
    )
    block = (
        f"{message}. Withdraw the wish to allow minor upgrades again: oc patch infrastructure cluster --type merge "
        """-p '{"spec":{"desiredTopology":null}}'"""
    )
    return _written(scene, Decision(Phase.UNSUPPORTED, record, note=message, upgrade_block=block))


def _requested(scene: _Scene, target: TopologyPair | None) -> datetime:
    """When this wish was first seen: kept while the target stays."""
    record = scene.record
    if record is not None and record.phase in _BEFORE_FLIP and record.requested_time and record.target == target:
        return record.requested_time
    return scene.now.replace(microsecond=0)


def _preflight(scene: _Scene, definition: model.Definition, wish: str) -> Decision:
    """A definition matches: Pending, or Admitting, or the flip."""
    known, now = scene.known, scene.now
    block = operators.block_message(definition.name, wish)
    results = catalog.ask(Stage.PREFLIGHT, definition, known, now)
    echo = operators.upgrades_blocked(known.cluster_version, block)
    timed_out = _echo_timed_out(scene, echo)
    if timed_out:
        results = (*results, echo if not echo.met else dataclasses.replace(echo, status=CheckStatus.UNMET))
    hold = _hold(scene, definition)
    failing = [result for result in results if not result.met]
    ready = not failing and not hold
    phase = Phase.ADMITTING if ready else Phase.PENDING
    target = definition.target.pair
    record = TopologyTransition(
        phase=phase,
        name=definition.name,
        source=records.pair(scene.infrastructure),
        target=target,
        attempt=_attempt(scene, definition) if ready else None,
        requested_time=_requested(scene, target),
        phase_transition_time=records.phase_time(scene.record, phase, now),
        observed_generation=scene.infrastructure.generation,
        checks=records.checks(scene.record, Stage.PREFLIGHT, results, now),
        progress=records.progress(results),
        available=_available(scene),
    )
    note = hold or _what_is_unmet(failing)
    decision = Decision(
        phase,
        record,
        watch=True,
        definition=definition,
        results=results,
        note=note if not ready else "All preflight checks are met; waiting until ClusterVersion holds upgrades back",
        upgrade_block=block,
        degraded=_unreadable(record, Stage.PREFLIGHT, now),
        look_again=_next_look(scene, record),
    )
    decision = _written(scene, decision)
    if not ready or not echo.met:
        return decision
    if known.live and _is_ours(scene, record):
        return _flip(scene, definition, decision, record)
    return decision if known.live else dataclasses.replace(decision, steps=(*decision.steps, Step.GATHER))


def _what_is_unmet(failing: list[CheckResult]) -> str:
    return f"Waiting for {listed(result.name for result in failing)}"


def _hold(scene: _Scene, definition: model.Definition) -> str:
    """Why nothing may be admitted although the checks may be met; empty when nothing keeps it."""
    own = scene.known.own_operator
    if not isinstance(own, facts.Unobserved) and own.paused:
        return "Paused by annotation topology.openshift.io/paused on ClusterOperator topology: nothing new is admitted"
    if unread := applicability.native_unreadable(scene.known):
        return f"It cannot be told whether the native controller is in charge: {unread}"
    if applicability.native_awaited(scene.known, scene.term.since, scene.now) is not None:
        return "Feature gate MutableTopology is on: waiting whether the native controller shows up"
    if scene.term.hold_until is not None and scene.now < scene.term.hold_until:
        return "What was read live differed from what was watched: waiting a moment"
    asks_pools = any(s.check is CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT for s in definition.convergence.checks)
    if asks_pools and records.baseline(scene.known) is None:
        return "The machine config pools cannot be read, and convergence is measured against them"
    return ""


def _attempt(scene: _Scene, definition: model.Definition) -> str:
    """The attempt to record: the one under way if this leader recorded it for this definition, else a new one."""
    record = scene.record
    under_way = record is not None and record.phase is Phase.ADMITTING and record.name == definition.name
    if under_way and record is not None and record.attempt is not None and record.attempt == scene.term.attempt:
        return record.attempt
    return scene.term.next_attempt


def _is_ours(scene: _Scene, record: TopologyTransition) -> bool:
    """Does the live Infrastructure itself carry the attempt that this leader recorded, for this very transition?"""
    found = scene.infrastructure.record
    return (
        isinstance(found, TopologyTransition)
        and found.phase is Phase.ADMITTING
        and found.attempt is not None
        and found.attempt == scene.term.attempt == record.attempt
        and (found.name, found.source, found.target) == (record.name, record.source, record.target)
    )


def _echo_timed_out(scene: _Scene, echo: CheckResult) -> bool:
    """Is this admission out of time, or did the last one run out and has not been allowed again yet?"""
    record, now = scene.record, scene.now
    if record is None or record.phase_transition_time is None:
        return False
    if record.phase is Phase.ADMITTING:
        return not echo.met and now - record.phase_transition_time >= ECHO_BOUND
    marked = record.phase is Phase.PENDING and any(
        check.name == CheckName.UPGRADES_BLOCKED and check.status is not CheckStatus.MET for check in record.checks
    )
    return marked and (not echo.met or now - record.phase_transition_time < ECHO_BACKOFF)


def _flip(scene: _Scene, definition: model.Definition, decision: Decision, record: TopologyTransition) -> Decision:
    """Everything holds, live: move the topology and the record in one write."""
    now = scene.now
    measured = records.baseline(scene.known)
    results = catalog.ask(Stage.CONVERGENCE, definition, scene.known, now, measured)
    admitted = now.replace(microsecond=0)
    moved = dataclasses.replace(
        decision,
        phase=Phase.CONVERGING,
        record=record.model_copy(
            update={
                "phase": Phase.CONVERGING,
                "phase_transition_time": admitted,
                "admitted_time": admitted,
                "baseline": measured,
                "checks": (*record.checks, *records.checks(None, Stage.CONVERGENCE, results, now)),
                "progress": records.progress(results),
                # They lead away from where the cluster no longer is (`_available` keeps them out from now on).
                "available": (),
            }
        ),
        results=results,
        note=_what_is_awaited(results),
        degraded=None,
        steps=(Step.FLIP, Step.REPORT),
    )
    return _with_happenings(scene, moved)


def _what_is_awaited(results: tuple[CheckResult, ...]) -> str:
    failing = [result for result in results if not result.met]
    return f"{_what_is_unmet(failing)}" if failing else "All convergence checks are met; waiting until it stays quiet"


def _converging(scene: _Scene, record: TopologyTransition) -> Decision:
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
    results = catalog.ask(Stage.CONVERGENCE, definition, known, now, record.baseline)
    converged = records.checks(record, Stage.CONVERGENCE, results, now)
    kept = record.model_copy(
        update={
            "checks": (*records.of_stage(record, Stage.PREFLIGHT), *converged),
            "progress": records.progress(results),
            "observed_generation": scene.infrastructure.generation,
            "available": _available(scene),
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
        return _written(scene, Decision(Phase.COMPLETED, kept, definition=definition, results=results))
    started = record.admitted_time or record.phase_transition_time or now
    deadline = started + timedelta(minutes=definition.convergence.deadline_minutes)
    stuck = _stuck(converged, definition) if now >= deadline and not all_met else None
    moments = [quiet_at] if all_met else [deadline, *_lease_moments(known), *_unreadable_moments(converged)]
    decision = Decision(
        Phase.CONVERGING,
        kept,
        watch=True,
        definition=definition,
        results=results,
        note=_what_is_awaited(results),
        upgrade_block=block,
        degraded=stuck or _unreadable(kept, Stage.CONVERGENCE, now),
        look_again=_until(moments, now),
    )
    decision = _written(scene, decision)
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


def _keep(scene: _Scene, record: TopologyTransition) -> Decision:
    """Completed, and the wish stays what it was."""
    kept = record.model_copy(
        update={"observed_generation": scene.infrastructure.generation, "available": _available(scene)}
    )
    return _written(scene, Decision(Phase.COMPLETED, kept))


def _unreadable(record: TopologyTransition, stage: Stage, now: datetime) -> Said | None:
    """A fact that could not be read for long makes the operator Degraded; a moment does not."""
    lasting = [
        check
        for check in records.of_stage(record, stage)
        if check.status is CheckStatus.UNKNOWN and now - check.last_transition_time >= UNREADABLE_BOUND
    ]
    if not lasting:
        return None
    text = "; ".join(f"{check.name}: {check.message}" for check in lasting)
    return Said(Reason.EVIDENCE_UNREADABLE, f"Cannot be told for more than 5 minutes: {text}")


def _written(scene: _Scene, decision: Decision) -> Decision:
    """Add the steps that a decision without a flip needs: save the record if it differs, then report."""
    save = (Step.SAVE,) if decision.record != scene.infrastructure.record else ()
    return _with_happenings(scene, dataclasses.replace(decision, steps=(*save, Step.REPORT)))


def _with_happenings(scene: _Scene, decision: Decision) -> Decision:
    if decision.record is None:
        return decision
    happened = happenings.between(scene.record, decision.record, scene.infrastructure.desired, decision.note)
    return dataclasses.replace(decision, happened=happened)


def _next_look(scene: _Scene, record: TopologyTransition) -> float | None:
    """When time alone could change this decision, in seconds."""
    moments = [*_lease_moments(scene.known), *_unreadable_moments(record.checks)]
    if scene.term.hold_until is not None:
        moments.append(scene.term.hold_until)
    awaited = applicability.native_awaited(scene.known, scene.term.since, scene.now)
    if awaited is not None:
        moments.append(scene.now + timedelta(seconds=awaited))
    if record.phase_transition_time is not None:
        bound = ECHO_BOUND if record.phase is Phase.ADMITTING else ECHO_BACKOFF
        moments.append(record.phase_transition_time + bound)
    return _until(moments, scene.now)


def _lease_moments(known: facts.Facts) -> list[datetime]:
    lease = known.etcd_lease
    if isinstance(lease, facts.Unobserved) or lease.renew_time is None:
        return []
    return [lease.renew_time + etcd.expiry(lease)]


def _unreadable_moments(checks: tuple[Check, ...]) -> list[datetime]:
    return [check.last_transition_time + UNREADABLE_BOUND for check in checks if check.status is CheckStatus.UNKNOWN]


def _until(moments: list[datetime], now: datetime) -> float | None:
    """Seconds until the first of these that is still to come; a moment after it, so that it has passed then."""
    ahead = [(moment - now).total_seconds() for moment in moments if moment > now]
    return min(ahead) + 0.05 if ahead else None
