"""What the operator would decide if a topology were requested now, and what that means for the cluster. Pure.

The question is put to the operator's own function: the request is written into the facts, nowhere else, and `decide`
answers. So checks and messages are those that the operator would publish; what is added here is one word, the exit code
that goes with it, and what the transition disturbs. The latter follows from the definition and the operand matrix, the
data that the operator waits by. `cluster` reads the facts, `commands` show the answer.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from topology_api import vocabulary
from topology_api.vocabulary import CheckName, Phase, Reason, Stage, Topology

from ..checks import etcd, operands
from ..checks.result import CheckResult
from ..decide import applicability, convergence, discovery, leader, phases, records
from ..definitions import operands as matrices
from ..definitions import registry
from ..observe import facts
from . import answers, errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from topology_api.types import Advisory, AvailableTransition, TopologyPair, TopologyTransition

    from ..decide import decision
    from ..definitions import load, model

_LONG_AGO = timedelta(days=1)
_NO_OPERATOR = facts.Unobserved("clusteroperators.config.openshift.io/topology", "not asked", missing=True)
_QUORUM = 3
_WITHOUT_LOAD_BALANCER = frozenset({"None", "External"})
"""Platforms on which the cluster manages neither a load balancer nor names."""
_BACKUP = "oc debug node/{node} -- chroot /host /usr/local/bin/cluster-backup.sh /home/core/assets/backup"


class Verdict(StrEnum):
    """What would come of a request."""

    POSSIBLE = "Possible"
    FULFILLED = "Fulfilled"
    UNDER_WAY = "UnderWay"
    BLOCKED = "Blocked"
    UNSUPPORTED = "Unsupported"

    @property
    def exit_code(self) -> errors.ExitCode:
        """Done or possible, blocked, unsupported."""
        codes = {Verdict.BLOCKED: errors.ExitCode.BLOCKED, Verdict.UNSUPPORTED: errors.ExitCode.UNSUPPORTED}
        return codes.get(self, errors.ExitCode.DONE)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict about one request. `message` is one sentence; `source` is the topology that it would start from."""

    verdict: Verdict
    message: str
    source: TopologyPair
    decision: decision.Decision
    definition: model.Definition | None = None

    @property
    def leads(self) -> bool:
        """Would the operator take this up, now or once everything is met?"""
        return self.definition is not None and self.decision.phase in {Phase.PENDING, Phase.ADMITTING}

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """The preflight checks that the operator would publish, in its order."""
        return self.decision.results if self.leads else ()

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
        waiting = {advisory.value: check for check in asked if (advisory := registry.TRAITS[check].advisory)}
        return tuple((waiting[advisory.name], advisory) for advisory in self.advisories if advisory.name in waiting)


def requested(known: facts.Facts, transitions: load.Transitions, target: str, now: datetime) -> Judgement:
    """What the operator would decide, were `target` requested now. `now` is aware UTC.

    Raises PluginError when Infrastructure is not known, or the API lacks our fields.
    """
    infrastructure = _infrastructure(known)
    decided = _decided(known, infrastructure, transitions, target, now)
    if decided.degraded is not None and decided.degraded.reason is Reason.API_NOT_INSTALLED:
        raise errors.PluginError(decided.degraded.message)
    verdict, message = _verdict(known, infrastructure, decided, target)
    own = known.own_operator
    if verdict is Verdict.POSSIBLE and isinstance(own, facts.Unobserved) and not own.missing:
        verdict, message = Verdict.BLOCKED, f"Everything that could be read is met, but not all could: {own}"
    judgement = Judgement(verdict, message, records.pair(infrastructure), decided, decided.definition)
    if not judgement.left:
        return judgement
    left = [
        f"{check} is met, which needs the command of advisory {advisory.name}" for check, advisory in judgement.left
    ]
    return dataclasses.replace(judgement, message=f"Possible, but will not complete until: {', '.join(left)}")


def removed(known: facts.Facts, transitions: load.Transitions, now: datetime) -> Judgement:
    """What would come of a manifest that requests nothing. Raises PluginError as `requested` does."""
    infrastructure = _infrastructure(known)
    here = records.pair(infrastructure)
    decided = _decided(known, infrastructure, transitions, None, now)
    desired, record = infrastructure.desired, records.recover(infrastructure, known.own_operator)
    if desired is None:
        return Judgement(Verdict.FULFILLED, "The manifest requests nothing, and nothing is requested", here, decided)
    lacks = f"The manifest has no spec.{vocabulary.DESIRED}, and {desired} is requested"
    way = "to prune that field, or to replace the object,"
    if record is not None and record.phase is Phase.CONVERGING:
        message = f"{lacks}: {way} is refused until the cluster has followed to {here}. Put {desired} into the manifest"
        return Judgement(Verdict.BLOCKED, message, here, decided)
    is_open = requested(known, transitions, desired, now).verdict is not Verdict.FULFILLED
    effect = "would cancel the request" if is_open else "would remove a request that is fulfilled; the topology stays"
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
) -> decision.Decision:
    asked = dataclasses.replace(known, infrastructure=dataclasses.replace(infrastructure, desired=target))
    if isinstance(known.own_operator, facts.Unobserved) and not known.own_operator.missing:
        # Without its own ClusterOperator the operator decides nothing. A person who may not read that one still wants
        # to know about all the rest.
        asked = dataclasses.replace(asked, own_operator=_NO_OPERATOR)
    # A leader that has led for long: what is waited for after a change of leaders does not block a request.
    term = leader.LeaderState(since=now - _LONG_AGO, next_attempt="planned")
    return phases.decide(asked, transitions, term, now)


def _verdict(
    known: facts.Facts, infrastructure: facts.Infrastructure, decided: decision.Decision, target: str
) -> tuple[Verdict, str]:
    here = records.pair(infrastructure)
    if decided.disabled is not None:
        return Verdict.UNSUPPORTED, f"{decided.disabled.message} ({decided.disabled.reason})"
    record = records.recover(infrastructure, known.own_operator)
    if record is not None and record.phase is Phase.CONVERGING and record.target is not None and record.target == here:
        changed = f"The topology has changed to {here}, and"
        if record.target.control_plane == target:
            return Verdict.UNDER_WAY, f"{changed} the cluster follows: see oc topology status"
        return Verdict.BLOCKED, f"{changed} the request cannot be changed until the cluster has followed"
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
    # What blocks everything is shown besides the checks, not instead of them.
    note = "" if decided.note.startswith("Waiting for ") else f". {decided.note}"
    return f"{count}: {', '.join(failing)}{note}"


def only_recorded(record: TopologyTransition | None, judgement: Judgement) -> tuple[CheckResult, ...]:
    """Checks that the operator has recorded for this very transition and that are not asked here.

    It can ask the members of etcd themselves when it has certificates for that; the command has none.
    """
    definition, results = judgement.definition, judgement.results
    if record is None or definition is None or record.name != definition.name or not results:
        return ()
    asked = {result.name.value for result in results}
    return tuple(
        CheckResult(CheckName(check.name), check.status, check.message)
        for check in records.of_stage(record, Stage.PREFLIGHT)
        if check.name not in {*asked, CheckName.UPGRADES_BLOCKED} and check.name in set(CheckName)
    )


@dataclass(frozen=True, slots=True)
class Way:
    """A transition that starts here; `elsewhere` says why it is not for this cluster, empty when it is."""

    definition: model.Definition
    available: AvailableTransition | None
    elsewhere: str = ""

    @property
    def verdict(self) -> Verdict:
        """Possible, blocked, or unsupported here."""
        if self.available is None:
            return Verdict.UNSUPPORTED
        return Verdict.POSSIBLE if self.available.available else Verdict.BLOCKED


def ways(known: facts.Facts, transitions: load.Transitions, now: datetime) -> tuple[tuple[Way, ...], str]:
    """Every transition that starts here, as the operator's own discovery finds it; or none, and the reason.

    Raises PluginError when Infrastructure is not known.
    """
    infrastructure = _infrastructure(known)
    if disabled := applicability.disabled(known, infrastructure):
        return (), f"{disabled.message} ({disabled.reason})"
    here = records.pair(infrastructure)
    starting = transitions.starting_at(here)
    if not starting:
        why = vocabulary.NEVER_A_SOURCE.get(here.control_plane)
        return (), f"No transition leads away from {here}{f', because {why}' if why else ''}"
    available = {transition.name: transition for transition in discovery.available(known, transitions, now) or ()}
    platform = infrastructure.platform or "unknown"
    return tuple(
        Way(definition, available[definition.name])
        if definition.name in available
        else Way(definition, None, f"on platform {' or '.join(definition.platforms)} only; this is {platform}")
        for definition in starting
    ), ""


def best(every: tuple[Way, ...]) -> Verdict:
    """The verdict about all of them: possible if one is, else blocked if one is."""
    verdicts = {way.verdict for way in every}
    order = (Verdict.POSSIBLE, Verdict.BLOCKED)
    return next((verdict for verdict in order if verdict in verdicts), Verdict.UNSUPPORTED)


def item(name: str, message: str, command: str = "") -> answers.Expected:
    """Something to be expected, to be seen to, or to be done next."""
    return {"name": name, "message": message, "command": command}


def disruption(
    known: facts.Facts, definition: model.Definition, source: TopologyPair, transitions: load.Transitions
) -> list[answers.Expected]:
    """What happens to the cluster on the way, in the order in which it happens."""
    asked = {spec.check for spec in definition.convergence.checks}
    asking = [group for group in transitions.matrix.groups if group.check in asked]
    target = definition.target.pair
    minutes = convergence.minutes(definition, known) // timedelta(minutes=1)
    return [
        *_two_voters(known, definition),
        item(
            "UpgradesHeldBack",
            "Minor upgrades are blocked from the request until the transition is completed. Patch upgrades are not: "
            "do not start one",
        ),
        item(
            "PointOfNoReturn",
            "Once the topology has changed there is no way back; before that the request can be cancelled at any time",
        ),
        _machine_config(known, asking, source, target),
        *_static_pods(asking, source, target),
        *_replicas(known, asking, source, target),
        item("Duration", f"Deadline: {minutes} minutes after the change; nothing is rolled back then"),
    ]


def _two_voters(known: facts.Facts, definition: model.Definition) -> Iterator[answers.Expected]:
    wanted = next((spec.at_least for spec in definition.preflight if spec.check is CheckName.ETCD_VOTING_MEMBERS), None)
    if wanted is None:
        return
    members = etcd.members(known)
    if isinstance(members, facts.Unobserved):
        yield item("TwoVoters", f"How many voters etcd has is not known: {members}")
    elif len(members) < min(wanted, _QUORUM):
        has = ("no voters that are known of", "one voter", "two voters")[len(members)]
        join = "the third node" if len(members) == 2 else "the second and the third node"
        yield item(
            "TwoVoters",
            f"etcd has {has}. With two, the loss of either node ends the quorum, and with it the API: let {join} join "
            "without delay, and take the backup before",
        )


def _machine_config(
    known: facts.Facts, asking: list[matrices.Group], source: TopologyPair, target: TopologyPair
) -> answers.Expected:
    pools = next((group for group in asking if group.check is CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT), None)
    if pools is None or matrices.same(pools.variant, pools.topology(source), pools.topology(target)):
        return item("NoReboots", "No machine configuration follows this change: no node restarts because of it")
    names = operands.node_names(known)
    count = "" if isinstance(names, facts.Unobserved) else f". In pool master they are {', '.join(names)} now"
    return item(
        "Reboots",
        "Every machine config pool gets another machine configuration: in each its nodes are drained and restart one "
        f"after the other{count}",
    )


def _static_pods(
    asking: list[matrices.Group], source: TopologyPair, target: TopologyPair
) -> Iterator[answers.Expected]:
    changed = [
        group.operator_of(operand)
        for group in asking
        for operand in group.operands
        if operand.kind == "StaticPods"
        and not matrices.same(operand.variant, group.topology(source), group.topology(target))
    ]
    if changed:
        yield item(
            "Revisions",
            f"{', '.join(changed)}: a new revision on every control-plane node, one after the other. Watches of the "
            "API are cut then, and go on at another node",
        )


def _replicas(
    known: facts.Facts, asking: list[matrices.Group], source: TopologyPair, target: TopologyPair
) -> Iterator[answers.Expected]:
    more: list[str] = []
    for group in asking:
        if isinstance(operands.absence(known, group), str):
            continue
        for operand in group.operands:
            name = f"{operand.namespace}/{operand.name}"
            if operand.replicas == "perControlPlaneNode" and group.topology(source) != group.topology(target):
                more.append(f"{name} (one for each control-plane node)")
            elif isinstance(operand.replicas, dict):
                before, after = (operands.at(operand, group.topology(pair)) for pair in (source, target))
                if isinstance(before, int) and isinstance(after, int) and before != after:
                    more.append(f"{name} ({before} to {after})")
    if more:
        yield item("Replicas", f"Other operators run more replicas: {', '.join(more)}")


def checklist(known: facts.Facts, definition: model.Definition, source: TopologyPair) -> list[answers.Expected]:
    """What an administrator has to do beforehand, because no check can verify it."""
    items = [_backup(known)]
    infrastructure = known.infrastructure
    platform = None if isinstance(infrastructure, facts.Unobserved) else infrastructure.platform
    grows = source.control_plane == Topology.SINGLE_REPLICA and definition.target.control_plane != source.control_plane
    if platform in _WITHOUT_LOAD_BALANCER and grows:
        items += [
            item(
                "LoadBalancer",
                f"On platform {platform} the cluster manages no load balancer. Yours has to lead to every "
                "control-plane node: API on 6443 (healthy by /readyz), machine config server on 22623 (from inside "
                "only); ingress on 80 and 443 to every node that runs a router",
            ),
            item(
                "DNS",
                "api, api-int and *.apps have to lead to that load balancer, and no longer to the address of the "
                "single node",
            ),
        ]
    return items


def _backup(known: facts.Facts) -> answers.Expected:
    own, others, masters = known.own_operator, known.cluster_operators, known.control_plane_nodes
    times = [] if isinstance(own, facts.Unobserved) else [own.backup_time]
    if not isinstance(others, facts.Unobserved):
        times += [
            operator.backup_time
            for operator in others
            if isinstance(operator, facts.ClusterOperator) and operator.name == "etcd"
        ]
    newest = max((time for time in times if time is not None), default=None)
    known_of = "None is known of" if newest is None else f"The newest that is known of is from {answers.stamp(newest)}"
    nodes = [] if isinstance(masters, facts.Unobserved) else [node for node in masters if isinstance(node, facts.Node)]
    ready = next((node.name for node in nodes if node.ready == "True" and not node.deleting), "NODE")
    return item(
        "EtcdBackup",
        f"Take a backup of etcd, and another one when it is completed: one from before brings the old topology back. "
        f"{known_of}",
        _BACKUP.format(node=ready),
    )
