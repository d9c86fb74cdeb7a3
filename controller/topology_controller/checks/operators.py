"""ClusterOperators and ClusterVersion: is the cluster at rest, and are upgrades blocked?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from topology_api.vocabulary import CLUSTER_OPERATOR, CheckName, CheckStatus, Stage

from ..observe import facts
from . import result
from .result import CheckContext, CheckResult, Finding, need

_KIND = "ClusterOperator"
_VERSION = "clusterversions.config.openshift.io/version"
_LOOK = "Look at oc get co"
_STABLE = "every ClusterOperator Available, not Progressing, not Degraded"
_FOLLOWING = "operators of these components have not reacted yet"  # they are listed with their components
_AT_REST = {"Available": "True", "Progressing": "False", "Degraded": "False"}
_SET_OFF_BY_WRITES = {"console": "SyncLoopRefresh_InProgress"}
"""Operators whose condition Progressing any write of Infrastructure sets to True, with the reason that it has then: its
resourceVersion is in the pods of the console (console-operator pkg/console/subresource/deployment/deployment.go)."""
_NATIVE_OPERATOR, _NATIVE_PREFIX = "config-operator", "TopologyTransitionController_"
"""ClusterOperator that the native controller is a part of, and how the reasons begin that it has from it: library-go
pkg/operator/status/condition.go joins them with "::", and with the feature gate off nothing takes them back."""
Z_STREAM = "Patch (z-stream) upgrades are not blocked by Upgradeable=False: do not start one now."


def stable(context: CheckContext) -> CheckResult:
    """Every ClusterOperator but ours is Available, not Progressing, not Degraded; no operators at all is Unknown."""
    # After the change, quiet is not enough: no upgrade may be under way, none of the operators that reported at the
    # change may be gone unless the cluster was upgraded since, and those whose operands have to follow must have been
    # seen to react (`_unreacted`).
    operators = need(result.every(context.facts.cluster_operators))
    others = {operator.name: operator for operator in operators if operator.name != CLUSTER_OPERATOR}
    if not others:
        return context.unknown("there are no ClusterOperators besides our own; look at oc get co")
    unstable = tuple(finding for operator in others.values() for finding in _instability(context.facts, operator))
    if context.stage is Stage.CONVERGENCE:
        return _reacted(context, others, unstable)
    names = [finding.text for finding in unstable]
    if any(finding.status is CheckStatus.UNMET for finding in unstable):
        return context.unmet(_STABLE, names, "Look at oc get co", unstable)
    if unstable:
        return context.unknown([f"{name} does not say how it is" for name in names], unstable)
    return context.met("Every ClusterOperator is Available, not Progressing and not Degraded")


def _reacted(
    context: CheckContext, others: dict[str, facts.ClusterOperator], unstable: tuple[Finding, ...]
) -> CheckResult:
    version, baseline = context.facts.cluster_version, context.convergence.baseline
    before = baseline.version if baseline is not None else None
    upgraded = not isinstance(version, facts.Unobserved) and before is not None and version.newest not in {None, before}
    # A newer payload may have removed an operator for good, and a transition that waits for it would never end.
    recorded = baseline.cluster_operators if baseline is not None and not upgraded else ()
    gone = tuple(
        Finding(_KIND, name, CheckStatus.UNMET, f"{name} (missing, it was there when the topology changed)")
        for name in sorted(entry.name for entry in recorded if entry.name not in others)
    )
    following = tuple(_unreacted(context, others))
    findings, unreacted = unstable + gone + following, {finding.text for finding in following}
    certain = any(finding.status is CheckStatus.UNMET for finding in unstable)
    # Where one of them says that it is not at rest, those that say nothing are named with it.
    wrong = [each.text for each in findings if each.status is CheckStatus.UNMET or (certain and each in unstable)]
    unclear = [finding.text for finding in findings]
    news = ""
    status, why = _upgrading(version)
    if status is CheckStatus.UNMET:
        wrong.append(f"ClusterVersion version (an upgrade is under way: {why})")
    elif status is CheckStatus.UNKNOWN:
        unclear.append(why)
    if upgraded and not isinstance(version, facts.Unobserved):
        # What converged may have been the upgrade's doing.
        news = f". The cluster went from version {before} to {version.newest} since the topology changed"
    if wrong:
        answer = context.unmet(f"{_STABLE}, and no upgrade", wrong, f"{_LOOK}{news}", findings)
        # Those that have not reacted stand with their components.
        others_wrong = [text for text in wrong if text not in unreacted]
        return dataclasses.replace(answer, seen=tuple(others_wrong) or (_FOLLOWING,))
    if unclear:
        return context.unknown(unclear, findings)
    return context.met(
        f"Every ClusterOperator is Available, not Progressing and not Degraded, and has reacted where it had to{news}"
    )


def _unreacted(context: CheckContext, others: dict[str, facts.ClusterOperator]) -> Iterator[Finding]:
    """Operators that still have to react to the change, each with the first of its operands that shows it."""
    # One that answers for an operand has reacted when it has been busy since (its Progressing condition changed later
    # than at the change), or when its operands lack nothing of it (`Finding.lacks`). No operator reports guard budgets.
    baseline = context.convergence.baseline
    busy_since: set[str] = set()
    for entry in baseline.cluster_operators if baseline is not None else ():
        settled = others[entry.name].settled_time if entry.name in others else None
        if settled is not None and entry.settled_time is not None and settled > entry.settled_time:
            busy_since.add(entry.name)
    first: dict[str, str | facts.Unobserved] = {}
    for group in context.convergence.matrix.groups:
        answer = context.answers.get(group.check)
        if answer is None or group.check in context.convergence.accepted:
            continue
        # A group that this cluster lacks has one finding for all of it, and that lacks nothing.
        for operand, finding in zip(group.operands, answer.findings, strict=False):
            operator = group.operator_of(operand)
            if finding.lacks is not None and operator not in busy_since and finding.kind != "PodDisruptionBudget":
                first.setdefault(operator, finding.lacks)
    for operator, lacks in sorted(first.items()):
        if isinstance(lacks, facts.Unobserved):
            yield Finding(_KIND, operator, CheckStatus.UNKNOWN, f"{operator}: {lacks}")
        else:
            yield Finding(_KIND, operator, CheckStatus.UNMET, f"{operator} (has not reacted yet: {lacks})")


def _instability(known: facts.Facts, operator: facts.ClusterOperator) -> Iterator[Finding]:
    # One walk for the three: this is asked of every operator at each look. Of several of a type the first counts.
    statuses = dict.fromkeys(_AT_REST, "absent")
    progressing: facts.Condition | None = None
    for condition in reversed(operator.conditions):
        if condition.type in statuses:
            statuses[condition.type] = condition.status
            progressing = condition if condition.type == "Progressing" else progressing
    if statuses == _AT_REST:
        return
    reason = _SET_OFF_BY_WRITES.get(operator.name)
    if progressing is not None and progressing.status == "True":
        of_native = operator.name == _NATIVE_OPERATOR and known.mutable_topology is False
        of_native = of_native and all(part.startswith(_NATIVE_PREFIX) for part in progressing.reason.split("::"))
        if progressing.reason == reason or of_native:
            statuses["Progressing"] = "False"
    wrong = {type_: statuses[type_] for type_, wanted in _AT_REST.items() if statuses[type_] != wanted}
    if wrong:
        status = CheckStatus.UNMET if {"True", "False"} & set(wrong.values()) else CheckStatus.UNKNOWN
        why = ", ".join(f"{type_}={value}" for type_, value in wrong.items())
        yield Finding(_KIND, operator.name, status, f"{operator.name} ({why})")


def no_upgrade(context: CheckContext) -> CheckResult:
    """ClusterVersion `version` says Progressing=False; anything absent is Unknown."""
    # True from the first step to the last: cluster-version-operator pkg/cvo/status.go (release-4.22).
    status, why = _upgrading(context.facts.cluster_version)
    if status is CheckStatus.UNKNOWN:
        return context.unknown(why)
    if status is CheckStatus.UNMET:
        seen = f"ClusterVersion version is Progressing ({why})"
        return context.unmet("no upgrade under way", seen, "Look at oc get clusterversion")
    return context.met(f"No upgrade is under way. {Z_STREAM}")


def _upgrading(version: facts.Fact[facts.ClusterVersion]) -> tuple[CheckStatus, str]:
    """Is no upgrade under way? With the reason of the one that is, or why that is unknown."""
    if isinstance(version, facts.Unobserved):
        return CheckStatus.UNKNOWN, str(version)
    progressing = version.conditions.find("Progressing")
    if progressing is None or progressing.status not in {"True", "False"}:
        return CheckStatus.UNKNOWN, f"{_VERSION}: condition Progressing is {version.conditions.status('Progressing')}"
    if progressing.status == "True":
        return CheckStatus.UNMET, progressing.reason or "no reason given"
    return CheckStatus.MET, ""


def block_message(definition: str, desired: str, *, changed: bool = False) -> str:
    """The message of our Upgradeable=False, the same from Pending to Admitting: admission waits for its echo."""
    name = "UpgradesBlockedAfterwards" if changed else "UpgradesBlocked"
    return result.worded(name, definition=definition, desired=desired)


def upgrades_blocked(version: facts.Fact[facts.ClusterVersion], message: str) -> CheckResult:
    """ClusterVersion echoes our block: Upgradeable=False, and the message contains ours."""
    # False alone proves nothing: others make it False for their own reasons (cluster-version-operator
    # pkg/cvo/upgradeable.go, release-4.22).
    name = CheckName.UPGRADES_BLOCKED
    if isinstance(version, facts.Unobserved):
        return result.CheckResult(name, CheckStatus.UNKNOWN, f"Cannot tell: {version}")
    upgradeable = version.conditions.find("Upgradeable")
    if upgradeable is not None and upgradeable.status == "False" and message in upgradeable.message:
        return result.CheckResult(name, CheckStatus.MET, "ClusterVersion blocks minor upgrades for this transition")
    status = "absent" if upgradeable is None else f"{upgradeable.status}, for other reasons"
    seen = f"Upgradeable is {status}"
    text = result.worded("UpgradesNotBlocked", operator=CLUSTER_OPERATOR, seen=seen)
    return result.CheckResult(name, CheckStatus.UNMET, text, seen=(seen,))
