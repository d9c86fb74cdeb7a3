"""From facts to a verdict: what the operator would decide if this were wished for.

The question is put to the operator's own function: the wish is written into the facts, nowhere else, and `decide` says
what follows. So the checks, their answers and the messages are those that the operator would publish. What is made of
the decision here is one word and the exit code that goes with it. Pure: `reading` brings the facts, `plan` and `graph`
show the verdict.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from topology_api import vocabulary
from topology_api.vocabulary import CheckName, Phase, Reason, Stage

from ..checks import advisories
from ..checks.result import CheckResult
from ..decide import applicability, discovery, leader, phases, records
from ..observe import facts
from . import errors

if TYPE_CHECKING:
    from datetime import datetime

    from topology_api.types import Advisory, AvailableTransition, TopologyPair, TopologyTransition

    from ..decide import decision
    from ..transitions import load, model

DONE, FAILED, USAGE, BLOCKED, UNSUPPORTED, TIMED_OUT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
"""Exit codes."""
_LONG_AGO = timedelta(days=1)
_OPERATOR = facts.Unobserved("clusteroperators.config.openshift.io/topology", "not asked", missing=True)


class Verdict(StrEnum):
    """What would come of a wish."""

    POSSIBLE = "Possible"
    FULFILLED = "Fulfilled"
    UNDER_WAY = "UnderWay"
    BLOCKED = "Blocked"
    UNSUPPORTED = "Unsupported"

    @property
    def exit_code(self) -> int:
        """Done or possible, blocked, unsupported."""
        return {Verdict.BLOCKED: BLOCKED, Verdict.UNSUPPORTED: UNSUPPORTED}.get(self, DONE)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict about one wish. `said` is one sentence; `source` is the topology that it would start from."""

    verdict: Verdict
    said: str
    source: TopologyPair
    decision: decision.Decision
    definition: model.Definition | None = None

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """The preflight checks that the operator would publish, in its order."""
        return self.decision.results if self.leads else ()

    @property
    def leads(self) -> bool:
        """Would the operator take this up, now or once everything is met?"""
        return self.definition is not None and self.decision.phase in {Phase.PENDING, Phase.ADMITTING}

    @property
    def advisories(self) -> tuple[Advisory, ...]:
        """What a person should do on the way."""
        record = self.decision.record
        return () if record is None or not self.leads else record.advisories

    @property
    def left(self) -> tuple[tuple[CheckName, Advisory], ...]:
        """What a person has to do before the transition can complete, though all of preflight is met."""
        if self.verdict is not Verdict.POSSIBLE or self.definition is None:
            return ()
        asked = {spec.check for spec in self.definition.convergence.checks}
        named = {name.value: check for name, check in advisories.WAITED_FOR.items() if check in asked}
        return tuple((named[one.name], one) for one in self.advisories if one.name in named)


@dataclass(frozen=True, slots=True)
class Way:
    """A transition that starts here; `elsewhere` says why it is not for this cluster, empty when it is."""

    definition: model.Definition
    found: AvailableTransition | None
    elsewhere: str = ""

    @property
    def verdict(self) -> Verdict:
        """Possible, blocked, or unsupported here."""
        if self.found is None:
            return Verdict.UNSUPPORTED
        return Verdict.POSSIBLE if self.found.available else Verdict.BLOCKED


def wished(known: facts.Facts, transitions: load.Transitions, target: str, now: datetime) -> Judgement:
    """What the operator would decide, were `target` wished for now. `now` is aware UTC.

    Raises PluginError when Infrastructure is not known, or the API lacks our fields.
    """
    infrastructure = _infrastructure(known)
    decided, unseen = _decided(known, infrastructure, transitions, target, now)
    if decided.degraded is not None and decided.degraded.reason is Reason.API_NOT_INSTALLED:
        raise errors.PluginError(decided.degraded.message)
    verdict, said = _verdict(known, infrastructure, decided, target)
    if unseen is not None and verdict is Verdict.POSSIBLE:
        verdict, said = Verdict.BLOCKED, f"Everything that could be read is met, but not all could: {unseen}"
    found = Judgement(verdict, said, records.pair(infrastructure), decided, decided.definition)
    return dataclasses.replace(found, said=_until(found.left)) if found.left else found


def _until(left: tuple[tuple[CheckName, Advisory], ...]) -> str:
    words = ", ".join(f"{check} is met, which needs the command of advisory {one.name}" for check, one in left)
    return f"Possible, but will not complete until: {words}"


def unwished(known: facts.Facts, transitions: load.Transitions, now: datetime) -> Judgement:
    """What would come of a manifest without a wish; `wished` has the rest. Raises PluginError as that does."""
    infrastructure = _infrastructure(known)
    here = records.pair(infrastructure)
    decided, _ = _decided(known, infrastructure, transitions, None, now)
    wish, record = infrastructure.desired, records.recover(infrastructure, known.own_operator)
    if wish is None:
        return Judgement(Verdict.FULFILLED, "The manifest wishes for nothing, and nothing is wanted", here, decided)
    lacks = f"The manifest has no spec.{vocabulary.WISH}, and {wish} is wanted"
    way = "to prune that field, or to replace the object,"
    if record is not None and record.phase is Phase.CONVERGING:
        said = f"{lacks}: {way} is refused until the cluster has followed to {here}. Put {wish} into the manifest"
        return Judgement(Verdict.BLOCKED, said, here, decided)
    open_ = wished(known, transitions, wish, now).verdict is not Verdict.FULFILLED
    effect = "would withdraw the wish" if open_ else "would remove a wish that is fulfilled; the topology stays"
    return Judgement(Verdict.POSSIBLE, f"{lacks}: {way} {effect}", here, decided)


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
) -> tuple[decision.Decision, facts.Unobserved | None]:
    """The decision, and what was left out of it: without its own ClusterOperator the operator decides nothing.

    A person who may not read that one still wants to know about all the rest.
    """
    asked = dataclasses.replace(known, infrastructure=dataclasses.replace(infrastructure, desired=target))
    own = known.own_operator
    unseen = own if isinstance(own, facts.Unobserved) and not own.missing else None
    if unseen is not None:
        asked = dataclasses.replace(asked, own_operator=_OPERATOR)
    # Nobody here has admitted anything, and whoever leads has led for long: what has to be waited for after a change of
    # leaders is not what stands in the way of a wish.
    term = leader.LeaderState(since=now - _LONG_AGO, next_attempt="planned")
    return phases.decide(asked, transitions, term, now), unseen


def _verdict(
    known: facts.Facts, infrastructure: facts.Infrastructure, decided: decision.Decision, target: str
) -> tuple[Verdict, str]:
    here = records.pair(infrastructure)
    if decided.disabled is not None:
        return Verdict.UNSUPPORTED, f"{decided.disabled.message} ({decided.disabled.reason})"
    record = records.recover(infrastructure, known.own_operator)
    moved = record is not None and record.phase is Phase.CONVERGING and record.target == here
    if moved and record is not None and record.target is not None:
        if record.target.control_plane == target:
            return (
                Verdict.UNDER_WAY,
                f"The topology has moved to {here}, and the cluster follows: see oc topology status",
            )
        return Verdict.BLOCKED, (
            f"The topology has moved to {here}, and the wish cannot be changed before the cluster has followed"
        )
    if decided.degraded is not None and decided.degraded.reason is Reason.TOPOLOGY_OVERWRITTEN:
        return Verdict.BLOCKED, decided.degraded.message
    if decided.phase is Phase.UNSUPPORTED:
        return Verdict.UNSUPPORTED, decided.note
    if decided.watch and decided.definition is None:
        return Verdict.BLOCKED, "Not everything that this depends on has been read"
    if decided.phase is Phase.PENDING:
        return Verdict.BLOCKED, _blocked(decided)
    if decided.phase is Phase.ADMITTING:
        return Verdict.POSSIBLE, f"All {len(decided.results)} preflight checks are met"
    return Verdict.FULFILLED, f"The cluster is {here} already"


def _blocked(decided: decision.Decision) -> str:
    failing = [result.name.value for result in decided.results if not result.met]
    if not failing:
        return decided.note
    count = f"{len(failing)} of {len(decided.results)} preflight checks {'is' if len(failing) == 1 else 'are'} not met"
    # What holds everything back is told besides the checks, not instead of them.
    held = "" if decided.note.startswith("Waiting for ") else f". {decided.note}"
    return f"{count}: {', '.join(failing)}{held}"


def ways(known: facts.Facts, transitions: load.Transitions, now: datetime) -> tuple[tuple[Way, ...], str]:
    """Every transition that starts here, as the operator's own discovery finds it; and why there is none, or none ours.

    Raises PluginError when Infrastructure is not known.
    """
    infrastructure = _infrastructure(known)
    if said := applicability.disabled(known, infrastructure):
        return (), f"{said.message} ({said.reason})"
    here = records.pair(infrastructure)
    found = {one.name: one for one in discovery.available(known, transitions, now) or ()}
    starting = transitions.starting_at(here)
    if not starting:
        why = vocabulary.NEVER_A_SOURCE.get(here.control_plane)
        return (), f"No transition leads away from {here}{f', because {why}' if why else ''}"
    return tuple(
        Way(
            definition,
            found.get(definition.name),
            "" if definition.name in found else _elsewhere(definition, here=infrastructure),
        )
        for definition in starting
    ), ""


def _elsewhere(definition: model.Definition, here: facts.Infrastructure) -> str:
    return f"on platform {' or '.join(definition.platforms)} only; this is {here.platform or 'unknown'}"


def best(found: tuple[Way, ...]) -> Verdict:
    """The verdict about all of them: possible if one is, else blocked if one is."""
    verdicts = {way.verdict for way in found}
    order = (Verdict.POSSIBLE, Verdict.BLOCKED)
    return next((verdict for verdict in order if verdict in verdicts), Verdict.UNSUPPORTED)


def only_recorded(record: TopologyTransition | None, found: Judgement) -> tuple[CheckResult, ...]:
    """Checks that the operator has recorded for this very transition and that are not asked here.

    It can ask the members of etcd themselves when it was given certificates; whoever plans has none.
    """
    if record is None or found.definition is None or record.name != found.definition.name or not found.results:
        return ()
    asked = {result.name.value for result in found.results}
    return tuple(
        CheckResult(CheckName(check.name), check.status, check.message)
        for check in records.of_stage(record, Stage.PREFLIGHT)
        if check.name not in {*asked, CheckName.UPGRADES_BLOCKED} and check.name in set(CheckName)
    )
