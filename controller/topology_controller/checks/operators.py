"""ClusterOperators and ClusterVersion: is the cluster at rest, and are upgrades held back?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import CLUSTER_OPERATOR, CheckName, CheckStatus

from ..observe import facts
from . import reactions, result

if TYPE_CHECKING:
    from .result import CheckResult, Question

_STABLE = (("Available", "True"), ("Progressing", "False"), ("Degraded", "False"))

Z_STREAM = "Patch (z-stream) upgrades are not held back by Upgradeable=False: do not start one now."


def stable(question: Question) -> CheckResult:
    """Every ClusterOperator but ours is Available, not Progressing, not Degraded.

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
    unstable = [f"{operator.name} ({why})" for operator in others.values() if (why := _instability(operator))]
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
    return any(operator.conditions.status(type_) in {"True", "False"} - {wanted} for type_, wanted in _STABLE)


def _instability(operator: facts.ClusterOperator) -> str:
    return ", ".join(
        f"{type_}={operator.conditions.status(type_)}"
        for type_, wanted in _STABLE
        if operator.conditions.status(type_) != wanted
    )


def no_upgrade(question: Question) -> CheckResult:
    """ClusterVersion `version` says Progressing=False; anything absent is Unknown."""
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


def block_message(definition: str, wish: str) -> str:
    """The message of our Upgradeable=False, the same from Pending to Converging.

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
    and its reason is the version operator's.
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
