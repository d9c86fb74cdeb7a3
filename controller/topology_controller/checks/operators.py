"""ClusterOperators and ClusterVersion: is the cluster at rest, and are upgrades held back?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import CLUSTER_OPERATOR, AdvisoryName, CheckName, CheckStatus

from ..observe import facts
from . import result
from .result import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .result import CheckContext, CheckResult

_KIND = "ClusterOperator"
_STABLE = (("Available", "True"), ("Progressing", "False"), ("Degraded", "False"))
_SET_OFF_BY_WRITES = {"console": "SyncLoopRefresh_InProgress"}
"""Operators whose condition Progressing any write of Infrastructure sets to True, with the reason that it has then.

The console operator puts the resourceVersion of Infrastructure into the pods of Deployment console, so each write
restarts them and is reported as progress: console-operator pkg/console/subresource/deployment/deployment.go and
pkg/console/operator/sync_v400.go (release-4.20 to 4.22, main). If it counted, every write of ours would take this check
back. What a console lacks after the change is told by ConsoleReplicas. Available and Degraded count as everywhere.
"""

Z_STREAM = "Patch (z-stream) upgrades are not held back by Upgradeable=False: do not start one now."


def stable(context: CheckContext) -> CheckResult:
    """Every ClusterOperator but ours is Available, not Progressing, not Degraded.

    Source of the three conditions and their names: api config/v1/types_cluster_operator.go (release-4.22).
    Upstream passes an empty list (reference: upstream-controller a.4); a cluster without operators proves nothing.
    After the change, quiet is not enough: no upgrade may be under way, none of the operators that reported at the
    change may be gone, and those whose operands have to follow must have been seen to react (`_unreacted`).
    """
    found = context.facts.cluster_operators
    if isinstance(found, facts.Unobserved):
        return context.unknown(found)
    if broken := result.unreadable(found, facts.ClusterOperator):
        return context.unknown(broken)
    others = {
        operator.name: operator
        for operator in found
        if isinstance(operator, facts.ClusterOperator) and operator.name != CLUSTER_OPERATOR
    }
    if not others:
        return context.unknown("there are no ClusterOperators besides our own; look at oc get co")
    unstable = tuple(
        Finding(_KIND, operator.name, status, f"{operator.name} ({why})")
        for operator in others.values()
        if (why := instability(operator))
        for status in (CheckStatus.UNMET if _says_no(operator) else CheckStatus.UNKNOWN,)
    )
    if not context.converging:
        return _at_rest(context, unstable)
    return _reacted(context, others, unstable)


def _at_rest(context: CheckContext, unstable: tuple[Finding, ...]) -> CheckResult:
    """The answer before the change."""
    names = result.listed(finding.found for finding in unstable)
    if any(finding.status is CheckStatus.UNMET for finding in unstable):
        text = "Wanted: every ClusterOperator Available, not Progressing, not Degraded. "
        return context.unmet(f"{text}Found: {names}. Look at oc get co", unstable)
    if unstable:
        return context.unknown(f"ClusterOperators that do not say how they are: {names}", unstable)
    return context.met("Every ClusterOperator is Available, not Progressing and not Degraded")


def _reacted(
    context: CheckContext, others: dict[str, facts.ClusterOperator], unstable: tuple[Finding, ...]
) -> CheckResult:
    """The answer after the change."""
    version = context.facts.cluster_version
    upgrade = "" if isinstance(version, facts.Unobserved) else _upgrade(version)
    certain = any(finding.status is CheckStatus.UNMET for finding in unstable)
    waiting = tuple(_unreacted(context, others))
    findings = unstable + _gone(context, others) + waiting
    # Where one of them says that it is not at rest, those that say nothing are told with it.
    wrong = [one.found for one in findings if one.status is CheckStatus.UNMET or (certain and one in unstable)]
    if upgrade:
        wrong.append(upgrade)
    news = "" if isinstance(version, facts.Unobserved) else _newer(context, version)
    if wrong:
        return context.unmet(
            "Wanted: every ClusterOperator Available, not Progressing, not Degraded, those whose operands follow the "
            "topology seen to react, and no upgrade. "
            f"Found: {result.listed(wrong)}. Look at oc get co{news}",
            findings,
        )
    unclear = [finding.found for finding in findings]
    if isinstance(version, facts.Unobserved):
        unclear.append(str(version))
    elif (status := version.conditions.status("Progressing")) != "False":
        unclear.append(f"clusterversions.config.openshift.io/version: condition Progressing is {status}")
    if unclear:
        return context.unknown(result.listed(unclear), findings)
    return context.met(
        f"Every ClusterOperator is Available, not Progressing and not Degraded, and has reacted where it had to{news}"
    )


def _gone(context: CheckContext, others: dict[str, facts.ClusterOperator]) -> tuple[Finding, ...]:
    """Operators that reported at the change and do not any more."""
    baseline = context.convergence.baseline
    names = sorted(one.name for one in (baseline.cluster_operators if baseline else ()) if one.name not in others)
    text = "missing, it was there when the topology moved"
    return tuple(Finding(_KIND, name, CheckStatus.UNMET, f"{name} ({text})") for name in names)


def _unreacted(context: CheckContext, others: dict[str, facts.ClusterOperator]) -> Iterator[Finding]:
    """Operators that still have to react to the change, each with the first of its operands that shows it.

    One that answers for an operand has reacted when it has been busy since (its Progressing condition changed later
    than at the change), or when its operands lack nothing of it (`Finding.lacks`). Guard budgets are left out, since no
    operator reports them, and so are checks that are accepted.
    """
    busy_since = set(_busy_since(context, others))
    matrix = context.convergence.matrix
    first: dict[str, str | facts.Unobserved] = {}
    for spec in context.definition.convergence.checks:
        group, answer = context.group(spec.check), context.answers.get(spec.check)
        if group is None or answer is None or spec.check in context.convergence.accepted:
            continue
        # A group that this cluster lacks has one finding for all of it, and that lacks nothing.
        for operand, finding in zip(group.operands, answer.findings, strict=False):
            operator = group.operator_of(operand)
            if finding.lacks is not None and operator not in busy_since and finding.kind != "PodDisruptionBudget":
                first.setdefault(operator, finding.lacks)
    for operator, lacks in sorted(first.items()):
        if isinstance(lacks, facts.Unobserved):
            yield Finding(_KIND, operator, CheckStatus.UNKNOWN, f"{operator}: {lacks}")
            continue
        reader = ""
        if matrix is not None and matrix.reads_at_start(operator):
            reader = f"; it reads the topology only when it starts, see advisory {AdvisoryName.TOPOLOGY_READ_AT_START}"
        yield Finding(_KIND, operator, CheckStatus.UNMET, f"{operator} (has not reacted yet: {lacks}{reader})")


def _busy_since(context: CheckContext, others: dict[str, facts.ClusterOperator]) -> Iterator[str]:
    """Operators that have come to rest again since the change."""
    baseline = context.convergence.baseline
    for one in baseline.cluster_operators if baseline is not None else ():
        now = others[one.name].settled_time if one.name in others else None
        if now is not None and one.settled_time is not None and now > one.settled_time:
            yield one.name


def _upgrade(version: facts.ClusterVersion) -> str:
    progressing = version.conditions.find("Progressing")
    if progressing is None or progressing.status != "True":
        return ""
    return f"ClusterVersion version (an upgrade is under way: {progressing.reason or 'no reason given'})"


def _newer(context: CheckContext, version: facts.ClusterVersion) -> str:
    """Say that the version changed since the change: what converged may have been the upgrade's doing."""
    baseline = context.convergence.baseline
    before = baseline.version if baseline is not None else None
    if before is None or version.newest in {None, before}:
        return ""
    return f". The cluster went from version {before} to {version.newest} since the topology moved"


def _says_no(operator: facts.ClusterOperator) -> bool:
    """Does a condition say the opposite of what is wanted? Absent and Unknown say nothing."""
    return any(_status(operator, type_) in {"True", "False"} - {wanted} for type_, wanted in _STABLE)


def instability(operator: facts.ClusterOperator) -> str:
    """What keeps an operator from being at rest, empty when nothing does."""
    return ", ".join(f"{type_}={status}" for type_, wanted in _STABLE if (status := _status(operator, type_)) != wanted)


def _status(operator: facts.ClusterOperator, type_: str) -> str:
    """The status of a condition, where progress that a write of Infrastructure alone sets off is none."""
    found = operator.conditions.find(type_)
    reason = _SET_OFF_BY_WRITES.get(operator.name)
    if type_ == "Progressing" and reason is not None and found is not None and found.reason == reason:
        return "False" if found.status == "True" else found.status
    return operator.conditions.status(type_)


def no_upgrade(context: CheckContext) -> CheckResult:
    """ClusterVersion `version` says Progressing=False; anything absent is Unknown.

    Source: cluster-version-operator pkg/cvo/status.go (release-4.22) sets it True from the first step to the last.
    """
    found = context.facts.cluster_version
    if isinstance(found, facts.Unobserved):
        return context.unknown(found)
    progressing = found.conditions.find("Progressing")
    if progressing is None or progressing.status not in {"True", "False"}:
        status = progressing.status if progressing else "absent"
        return context.unknown(f"clusterversions.config.openshift.io/version: condition Progressing is {status}")
    if progressing.status == "True":
        return context.unmet(
            f"Wanted: no upgrade under way. Found: ClusterVersion version is Progressing "
            f"({progressing.reason or 'no reason given'}). Look at oc get clusterversion"
        )
    return context.met(f"No upgrade is under way. {Z_STREAM}")


def block_message_after_change(definition: str, target: str) -> str:
    """The message of Upgradeable=False once the topology has changed: when upgrades come back."""
    return f"Minor upgrades are blocked until transition {definition} to {target} completes"


def block_message(definition: str, desired: str) -> str:
    """The message of our Upgradeable=False, the same from Pending to Admitting.

    ClusterVersion echoes it, and the echo is what admission waits for (DESIGN section 4): so it names the definition
    and the request and nothing that changes in between.
    """
    return (
        f"Minor upgrades are held back while transition {definition} to {desired} is wanted or under way. "
        "Until the topology has moved it can be cancelled with: oc patch infrastructure cluster --type merge "
        """-p '{"spec":{"desiredTopology":null}}'"""
    )


def upgrades_blocked(found: facts.Fact[facts.ClusterVersion], message: str) -> CheckResult:
    """ClusterVersion echoes our block: Upgradeable=False, and the message contains ours.

    False alone proves nothing: other operators, overrides and acknowledgements make it False for their own reasons,
    and its reason is the version operator's. Source: cluster-version-operator pkg/cvo/upgradeable.go (release-4.22).
    """
    name = CheckName.UPGRADES_BLOCKED
    if isinstance(found, facts.Unobserved):
        return result.CheckResult(name, CheckStatus.UNKNOWN, f"Cannot tell: {found}")
    upgradeable = found.conditions.find("Upgradeable")
    if upgradeable is not None and upgradeable.status == "False" and message in upgradeable.message:
        return result.CheckResult(name, CheckStatus.MET, "ClusterVersion holds minor upgrades back for this transition")
    status = "absent" if upgradeable is None else f"{upgradeable.status}, for other reasons"
    return result.CheckResult(
        name,
        CheckStatus.UNMET,
        f"Wanted: ClusterVersion version with Upgradeable=False and the message of ClusterOperator {CLUSTER_OPERATOR}. "
        f"Found: Upgradeable is {status}. Look at the cluster-version-operator in openshift-cluster-version",
    )
