"""What the operator would decide if a topology were requested now, and what that means for the cluster. Pure.

The request is written into the facts, nowhere else, and the operator's own `decide` answers: checks and messages are
those that it would publish. What is added here is one word, and the exit code that goes with it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from topology_api import vocabulary
from topology_api.vocabulary import CheckName, CheckStatus, Phase, Reason, Stage, Topology
from topology_controller.checks.result import CheckResult
from topology_controller.decide import admission, applicability, phases, records, state
from topology_controller.definitions import registry
from topology_controller.observe import facts

from . import answers, errors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from topology_api.types import Advisory, AvailableTransition, Blocker, Check, TopologyPair, TopologyTransition
    from topology_controller.definitions import load, model

_NO_OPERATOR = facts.Unobserved("clusteroperators.config.openshift.io/topology", "not asked", kind=facts.Kind.MISSING)


def exit_code(verdict: answers.Verdict) -> errors.ExitCode:
    """Done or possible, blocked, unsupported; an error where that is not known."""
    codes = {"Blocked": "BLOCKED", "Unsupported": "UNSUPPORTED", "CannotTell": "FAILED"}
    return errors.ExitCode[codes.get(verdict, "DONE")]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict about one request. `message` is one sentence; `source` is the topology that it would start from."""

    verdict: answers.Verdict
    message: str
    source: TopologyPair
    decision: state.Decision
    definition: model.Definition | None = None
    recorded: tuple[tuple[CheckResult, ...], datetime] | None = None
    """The results, where they could not be had live, with the time at which the operator evaluated them."""
    besides: tuple[CheckResult, ...] = ()
    """The checks as they would be, where there is no topology to start from and a single node's is assumed."""

    @property
    def leads(self) -> bool:
        """Would the operator take this up, now or once everything is met?"""
        return self.definition is not None and self.decision.phase in {Phase.PENDING, Phase.ADMITTING}

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """The preflight checks that the operator would publish, in its order."""
        if self.recorded is not None:
            return self.recorded[0]
        return self.decision.results if self.leads else self.besides

    @property
    def advisories(self) -> tuple[Advisory, ...]:
        """What a person should do on the way."""
        record = self.decision.record
        return () if record is None or not self.leads else record.advisories

    @property
    def required(self) -> tuple[tuple[CheckName, Advisory], ...]:
        """What a person has to do because a check waits for it, before the change or after it."""
        if self.definition is None:
            return ()
        asked = {result.name for result in self.results if not result.met}
        asked.update(spec.check for spec in self.definition.convergence.checks)
        waiting = {advisory.value: check for check in asked if (advisory := registry.TRAITS[check].advisory)}
        return tuple((waiting[advisory.name], advisory) for advisory in self.advisories if advisory.name in waiting)

    @property
    def left(self) -> tuple[tuple[CheckName, Advisory], ...]:
        """What of that is to be done before the transition can complete, though all of preflight is met."""
        return self.required if self.verdict == "Possible" else ()


def requested(known: facts.Facts, transitions: load.Transitions, target: str, now: datetime) -> Judgement:
    """What the operator would decide, were `target` requested now, aware UTC. Raises PluginError."""
    infrastructure = _infrastructure(known)
    decided = _decided(known, infrastructure, transitions, target, now)
    if decided.degraded is not None and decided.degraded.reason is Reason.API_NOT_INSTALLED:
        raise errors.PluginError(decided.degraded.message)
    verdict, message = _verdict(known, infrastructure, decided, target)
    own = known.own_operator
    if verdict == "Possible" and isinstance(own, facts.Unobserved) and not own.missing:
        verdict, message = "CannotTell", f"Everything that could be read is met, but not all could: {own}"
    judgement = Judgement(verdict, message, records.pair(infrastructure), decided, decided.definition)
    if decided.disabled is not None and infrastructure.control_plane is None:
        # Old in one thing, old in others: what else is in the way once the command of the message has run.
        single = Topology.SINGLE_REPLICA.value
        here = dataclasses.replace(infrastructure, control_plane=single, infrastructure=single)
        return dataclasses.replace(judgement, besides=_decided(known, here, transitions, target, now).results)
    if not judgement.left:
        return judgement
    left = [f"{check} is met, which needs the command of advisory {todo.name}" for check, todo in judgement.left]
    return dataclasses.replace(judgement, message=f"Possible, but will not complete until: {', '.join(left)}")


def by_record(
    judgement: Judgement, record: TopologyTransition | None, target: str, transitions: load.Transitions
) -> Judgement:
    """The same, with what could not be read live as the operator has recorded it, at its time."""
    items = [item for item in (() if record is None else record.available) if item.target.control_plane == target]
    item = min(items, key=lambda item: (not item.available, len(item.blockers)), default=None)
    definition = None if item is None else transitions.named(item.name)
    if judgement.verdict != "CannotTell" or item is None or definition is None:
        return judgement
    asked = [spec.check for spec in definition.preflight]
    every = {name: CheckResult(name, CheckStatus.MET, "Met, as the operator evaluated it") for name in asked}
    recorded = [_result(each) for each in item.blockers if each.name in set(CheckName)]
    own = judgement.definition is not None and judgement.definition.name == definition.name
    live = [each for each in judgement.decision.results if own and each.status is not CheckStatus.UNKNOWN]
    every.update({result.name: result for result in (*recorded, *live) if result.name in every})
    results = list(every.values())
    failing = [result for result in results if not result.met]
    if any(result.status is CheckStatus.UNKNOWN for result in failing):
        return judgement
    verdict: answers.Verdict = "Blocked" if failing else "Possible"
    names = ", ".join(result.name.value for result in failing)
    message = f"{len(failing)} of {len(results)} preflight checks not met: {names}"
    message = message if failing else f"All {len(results)} preflight checks are met"
    message += f", as the operator evaluated it at {answers.stamp(item.evaluated_time)}"
    evaluated = tuple(results), item.evaluated_time
    return dataclasses.replace(judgement, verdict=verdict, message=message, definition=definition, recorded=evaluated)


def _result(recorded: Blocker | Check) -> CheckResult:
    return CheckResult(CheckName(recorded.name), recorded.status, recorded.message)


def removed(known: facts.Facts, transitions: load.Transitions, now: datetime) -> Judgement:
    """What would come of a manifest that requests nothing. Raises PluginError as `requested` does."""
    infrastructure = _infrastructure(known)
    here = records.pair(infrastructure)
    decided = _decided(known, infrastructure, transitions, None, now)
    desired, record = infrastructure.desired, records.recover(infrastructure, known.own_operator)
    if desired is None:
        return Judgement("Fulfilled", "The manifest requests nothing, and nothing is requested", here, decided)
    lacks = f"The manifest has no spec.{vocabulary.DESIRED}, and {desired} is requested"
    way = "to prune that field, or to replace the object,"
    if record is not None and record.phase is Phase.CONVERGING:
        message = f"{lacks}: {way} is refused until the cluster has followed to {here}. Put {desired} into the manifest"
        return Judgement("Blocked", message, here, decided)
    is_open = requested(known, transitions, desired, now).verdict != "Fulfilled"
    effect = "would cancel the request" if is_open else "would remove a request that is fulfilled; the topology stays"
    return Judgement("Possible", f"{lacks}: {way} {effect}", here, decided)


def _infrastructure(known: facts.Facts) -> facts.Infrastructure:
    if isinstance(known.infrastructure, facts.Unobserved):
        raise errors.PluginError(str(known.infrastructure))
    return known.infrastructure


def _decided(
    known: facts.Facts,
    infrastructure: facts.Infrastructure,
    transitions: load.Transitions,
    target: str | None,
    now: datetime,
) -> state.Decision:
    asked = dataclasses.replace(known, infrastructure=dataclasses.replace(infrastructure, desired=target))
    if isinstance(known.own_operator, facts.Unobserved) and not known.own_operator.missing:
        # Without its own ClusterOperator the operator decides nothing. A person who may not read that one still wants
        # to know about all the rest.
        asked = dataclasses.replace(asked, own_operator=_NO_OPERATOR)
    # A leader that has led for long: what is waited for after a change of leaders does not block a request.
    term = state.LeaderState(since=now - timedelta(days=1), next_attempt="planned")
    return phases.decide(asked, transitions, term, now)


def _verdict(
    known: facts.Facts, infrastructure: facts.Infrastructure, decided: state.Decision, target: str
) -> tuple[answers.Verdict, str]:
    here = records.pair(infrastructure)
    if decided.disabled is not None:
        return "Unsupported", f"{decided.disabled.message} ({decided.disabled.reason})"
    record = records.recover(infrastructure, known.own_operator)
    if record is not None and record.phase is Phase.CONVERGING and record.target is not None and record.target == here:
        changed = f"The topology has changed to {here}, and"
        if record.target.control_plane == target:
            return "UnderWay", f"{changed} the cluster follows: see oc topology status"
        return "Blocked", f"{changed} the request cannot be changed until the cluster has followed"
    if decided.degraded is not None and decided.degraded.reason is Reason.TOPOLOGY_OVERWRITTEN:
        return "Blocked", decided.degraded.message
    if decided.phase is Phase.UNSUPPORTED:
        return "Unsupported", decided.note
    if decided.watch and decided.definition is None:
        return "CannotTell", "Not everything that this depends on has been read"
    if decided.phase is Phase.PENDING:
        return _pending(decided)
    if decided.phase is Phase.ADMITTING:
        return "Possible", f"All {len(decided.results)} preflight checks are met"
    return "Fulfilled", f"The cluster is {here} already"


def _pending(decided: state.Decision) -> tuple[answers.Verdict, str]:
    """Blocked where something is known to be in the way; cannot tell where it is only not known that nothing is."""
    failing = [result for result in decided.results if not result.met]
    names = [result.name.value for result in failing]
    if failing and all(result.status is CheckStatus.UNKNOWN for result in failing):
        count = f"{len(failing)} of {len(decided.results)}"
        return "CannotTell", f"{count} preflight checks could not be answered: {', '.join(names)}"
    if not failing or not decided.held:
        return "Blocked", decided.note
    # What blocks everything is shown besides the checks, not instead of them.
    count = f"{len(failing)} of {len(decided.results)} preflight checks not met"
    return "Blocked", f"{count}: {', '.join(names)}. {decided.note}"


def only_recorded(record: TopologyTransition | None, judgement: Judgement) -> tuple[CheckResult, ...]:
    """What the operator has recorded for this very transition and only it can ask: etcd's members, by certificates."""
    definition, results = judgement.definition, judgement.results
    if record is None or definition is None or record.name != definition.name or not results:
        return ()
    others = set(CheckName) - {result.name for result in results} - {CheckName.UPGRADES_BLOCKED}
    return tuple(_result(check) for check in records.of_stage(record, Stage.PREFLIGHT) if check.name in others)


def ways(
    known: facts.Facts,
    transitions: load.Transitions,
    now: datetime,
    instead: Mapping[str, AvailableTransition] | None = None,
) -> tuple[list[answers.Way], str]:
    """Every transition that starts here, or none, and why. `instead`: verdicts that count where one is not known."""
    infrastructure = _infrastructure(known)
    if disabled := applicability.disabled(known, infrastructure):
        more = "" if infrastructure.control_plane else ". For what else is in the way: oc topology plan HighlyAvailable"
        return [], f"{disabled.message} ({disabled.reason}){more}"
    here = records.pair(infrastructure)
    starting = transitions.starting_at(here)
    if not starting:
        why = vocabulary.NEVER_A_SOURCE.get(here.control_plane)
        return [], f"No transition leads away from {here}{f', because {why}' if why else ''}"
    available = evaluated(known, transitions, now, instead or {})
    platform = infrastructure.platform or "unknown"
    return [_way(definition, available.get(definition.name), platform) for definition in starting], ""


def _way(definition: model.Definition, item: AvailableTransition | None, platform: str) -> answers.Way:
    blockers = () if item is None else item.blockers
    verdict: answers.Verdict = "Unsupported"
    if item is not None:
        known = any(blocker.status is not CheckStatus.UNKNOWN for blocker in blockers)
        verdict = "Blocked" if known or not blockers else "CannotTell"
        verdict = "Possible" if item.available else verdict
    target = definition.target.pair
    return {
        "name": definition.name,
        "summary": definition.summary,
        "target": answers.pair(target),
        "verdict": verdict,
        "blockers": [{"name": each.name, "status": each.status.value, "message": each.message} for each in blockers],
        "evaluated": None if item is None else answers.stamp(item.evaluated_time),
        "elsewhere": "" if item else f"on platform {' or '.join(definition.platforms)} only; this is {platform}",
        "command": records.request(target.control_plane),
    }


def evaluated(
    known: facts.Facts, transitions: load.Transitions, now: datetime, instead: Mapping[str, AvailableTransition]
) -> dict[str, AvailableTransition]:
    """What could be requested, by name. What is not known is as `instead` has it, where it has it."""
    fresh = {item.name: item for item in admission.available(known, transitions, now) or ()}
    for name, item in fresh.items():
        if name in instead and any(blocker.status is CheckStatus.UNKNOWN for blocker in item.blockers):
            fresh[name] = instead[name]
    return fresh


def is_settled(known: facts.Facts, transitions: load.Transitions) -> bool:
    """Is there nowhere to go because the cluster has its topology?"""
    infrastructure = _infrastructure(known)
    here = records.pair(infrastructure)
    if here.control_plane == Topology.SINGLE_REPLICA or transitions.starting_at(here):
        return False
    return applicability.disabled(known, infrastructure) is None


def item(name: str, message: str, command: str = "") -> answers.Expected:
    """Something to be expected, to be seen to, or to be done next."""
    return {"name": name, "message": message, "command": command}
