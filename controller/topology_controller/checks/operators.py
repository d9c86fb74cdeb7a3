"""ClusterOperators and ClusterVersion: is the cluster at rest, and are upgrades held back?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import CLUSTER_OPERATOR, CheckName, CheckStatus

from ..observe import facts
from . import reactions, result

if TYPE_CHECKING:
    from .result import CheckResult, Question

_STABLE = (("Available", "True"), ("Progressing", "False"), ("Degraded", "False"))
_SET_OFF_BY_WRITES = {"console": "SyncLoopRefresh_InProgress"}
"""Operators whose condition Progressing any write of Infrastructure sets to True, with the reason that it has then.

The console operator puts the resourceVersion of Infrastructure into the pods of Deployment console, so each write
restarts them and is reported as progress: console-operator pkg/console/subresource/deployment/deployment.go and
pkg/console/operator/sync_v400.go (release-4.20 to 4.22, main). If it counted, every write of ours would take this check
back. What a console lacks after the change is told by ConsoleReplicas. Available and Degraded count as everywhere.
"""

Z_STREAM = "Patch (z-stream) upgrades are not held back by Upgradeable=False: do not start one now."


def stable(question: Question) -> CheckResult:
    """Every ClusterOperator but ours is Available, not Progressing, not Degraded.

    Source of the three conditions and their names: api config/v1/types_cluster_operator.go (release-4.22).
    Upstream passes an empty list (reference: upstream-controller a.4); a cluster without operators proves nothing.
    After the flip, quiet is not enough: no upgrade may be under way, none of the operators that reported at the flip
    may be gone, and those whose operands have to follow must have been seen to react (`reactions`).
    """
    found = question.facts.cluster_operators
    if isinstance(found, facts.Unobserved):
        return question.unknown(found)
    if broken := result.unreadable(found, facts.ClusterOperator):
        return question.unknown(broken)
    others = {
        operator.name: operator
        for operator in found
        if isinstance(operator, facts.ClusterOperator) and operator.name != CLUSTER_OPERATOR
    }
    if not others:
        return question.unknown("there are no ClusterOperators besides our own; look at oc get co")
    unstable = [f"{operator.name} ({why})" for operator in others.values() if (why := instability(operator))]
    certain = any(_says_no(operator) for operator in others.values())
    if not question.converging:
        return _still(question, unstable, certain=certain)
    return _reacted(question, others, unstable, certain=certain)


def _still(question: Question, unstable: list[str], *, certain: bool) -> CheckResult:
    if unstable and not certain:
        return question.unknown(f"ClusterOperators that do not say how they are: {result.listed(unstable)}")
    if unstable:
        return question.unmet(
            f"Wanted: every ClusterOperator Available, not Progressing, not Degraded. "
            f"Found: {result.listed(unstable)}. Look at oc get co"
        )
    return question.met("Every ClusterOperator is Available, not Progressing and not Degraded")


def _reacted(
    question: Question, others: dict[str, facts.ClusterOperator], unstable: list[str], *, certain: bool
) -> CheckResult:
    """The answer after the flip."""
    version = question.facts.cluster_version
    upgrade = "" if isinstance(version, facts.Unobserved) else _upgrade(version)
    waiting = reactions.waiting(question, others)
    gone = reactions.lost(question, others)
    wrong = unstable if certain else []
    wrong = [*wrong, *(f"{name} (missing, it was there when the topology moved)" for name in gone)]
    wrong += [f"{one.operator} (has not reacted yet: {one.why})" for one in waiting if not one.unread]
    if upgrade:
        wrong.append(upgrade)
    news = "" if isinstance(version, facts.Unobserved) else _newer(question, version)
    if wrong:
        return question.unmet(
            "Wanted: every ClusterOperator Available, not Progressing, not Degraded, those whose operands follow the "
            "topology seen to react, and no upgrade. "
            f"Found: {result.listed(wrong)}. Look at oc get co{news}"
        )
    unclear = [] if certain else list(unstable)
    unclear += [f"{one.operator}: {one.why}" for one in waiting]
    if isinstance(version, facts.Unobserved):
        unclear.append(str(version))
    elif (status := version.conditions.status("Progressing")) != "False":
        unclear.append(f"clusterversions.config.openshift.io/version: condition Progressing is {status}")
    if unclear:
        return question.unknown(result.listed(unclear))
    return question.met(
        f"Every ClusterOperator is Available, not Progressing and not Degraded, and has reacted where it had to{news}"
    )


def _upgrade(version: facts.ClusterVersion) -> str:
    progressing = version.conditions.find("Progressing")
    if progressing is None or progressing.status != "True":
        return ""
    return f"ClusterVersion version (an upgrade is under way: {progressing.reason or 'no reason given'})"


def _newer(question: Question, version: facts.ClusterVersion) -> str:
    """Say that the version changed since the flip: what converged may have been the upgrade's doing."""
    baseline = question.yardstick.baseline
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


def no_upgrade(question: Question) -> CheckResult:
    """ClusterVersion `version` says Progressing=False; anything absent is Unknown.

    Source: cluster-version-operator pkg/cvo/status.go (release-4.22) sets it True from the first step to the last.
    """
    found = question.facts.cluster_version
    if isinstance(found, facts.Unobserved):
        return question.unknown(found)
    progressing = found.conditions.find("Progressing")
    if progressing is None or progressing.status not in {"True", "False"}:
        status = progressing.status if progressing else "absent"
        return question.unknown(f"clusterversions.config.openshift.io/version: condition Progressing is {status}")
    if progressing.status == "True":
        return question.unmet(
            f"Wanted: no upgrade under way. Found: ClusterVersion version is Progressing "
            f"({progressing.reason or 'no reason given'}). Look at oc get clusterversion"
        )
    return question.met(f"No upgrade is under way. {Z_STREAM}")


def block_message_after_change(definition: str, target: str) -> str:
    """The message of Upgradeable=False once the topology has changed: when upgrades come back."""
    return f"Minor upgrades are blocked until transition {definition} to {target} completes"


def block_message(definition: str, wish: str) -> str:
    """The message of our Upgradeable=False, the same from Pending to Admitting.

    ClusterVersion echoes it, and the echo is what admission waits for (DESIGN section 4): so it names the definition
    and the wish and nothing that changes in between.
    """
    return (
        f"Minor upgrades are held back while transition {definition} to {wish} is wanted or under way. "
        "Until the topology has moved it can be withdrawn with: oc patch infrastructure cluster --type merge "
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
