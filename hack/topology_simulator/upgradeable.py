"""What ClusterVersion says about Upgradeable, in the words of each release of the version operator. Pure.

Up to 4.22 one objection is passed on with its reason, several are joined and stand beside it as conditions of their
own; later ones are risks, whose messages alone are passed on. Without objections there is no condition, never a True.
Sources: cluster-version-operator pkg/cvo/upgradeable.go (release-4.20, 4.21, 4.22); pkg/cvo/status.go, pkg/cvo/cvo.go
and pkg/risk/upgradeable/upgradeable.go (main). Left out: acknowledgements, deletions in progress.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from . import conditions

Release = Literal["4.20", "4.21", "4.22", "main"]
TYPES = ("Upgradeable", "UpgradeableClusterOperators", "UpgradeableClusterVersionOverrides",
         "UpgradeableUpgradeInProgress")  # fmt: skip
"""Every type that the version operator writes, and removes where it does not apply."""
_MINOR, _MAJOR = "between minor versions", "between minor or major versions"
_UPDATING = "An update is already in progress and the details are in the Progressing condition"
_ALL, _OPERATORS, _OVERRIDES, _UPDATE = TYPES


@dataclass(frozen=True, slots=True)
class _Words:
    """How a release says it."""

    between: str
    overrides: str
    risks: bool = False


_WORDS: Mapping[Release, _Words] = {
    release: _Words(
        _MINOR,
        "Disabling ownership via cluster version overrides prevents upgrades. "
        "Please remove overrides before continuing.",
    )
    for release in ("4.20", "4.21")
} | {
    "4.22": _Words(
        _MAJOR,
        f"Disabling ownership via cluster version overrides prevents upgrades {_MAJOR}. "
        "Please remove overrides before requesting a minor or major version update.",
    ),
    "main": _Words(
        _MAJOR,
        f"Disabling ownership via cluster version overrides prevents updates {_MAJOR}. "
        "Please remove overrides before requesting a minor or major version update.",
        risks=True,
    ),
}


def of_version(version: str) -> Release:
    """Return the release whose words a cluster of that version has: the newest one that is known here is main."""
    for release in _WORDS:
        if version.startswith(f"{release}."):
            return release
    return "main"


def echo(
    release: Release, version: Mapping[str, Any], operators: Iterable[Mapping[str, Any]]
) -> list[conditions.Condition]:
    """Return the conditions of ClusterVersion about upgrades; those of TYPES that are missing are to be removed."""
    words = _WORDS[release]
    states = {operator["metadata"]["name"]: conditions.find(dict(operator), _ALL) for operator in operators}
    blocking = {name: state for name, state in sorted(states.items()) if state.get("status") == "False"}
    overridden = any(override.get("unmanaged") for override in (version.get("spec") or {}).get("overrides") or [])
    updating = conditions.is_true(dict(version), "Progressing")
    if words.risks:
        return _risks(words, blocking, overridden=overridden, updating=updating)
    objections = []
    if overridden:
        objections = [conditions.Condition(_OVERRIDES, "False", "ClusterVersionOverridesSet", words.overrides)]
    objections += _operators(words, blocking)
    if updating:
        objections.append(conditions.Condition(_UPDATE, "True", "UpdateInProgress", _UPDATING))
    if len(objections) < 2:
        return [objection._replace(type=_ALL, status="False") for objection in objections]
    reasons = ",".join(objection.reason for objection in objections)
    lines = "\n* ".join(objection.message for objection in objections)
    message = f"Cluster should not be upgraded {words.between} for multiple reasons: {reasons}\n* {lines}"
    return [conditions.Condition(_ALL, "False", "MultipleReasons", message), *objections]


def _operators(words: _Words, blocking: Mapping[str, Mapping[str, Any]]) -> list[conditions.Condition]:
    """Return the objection of ClusterOperators, if there is one: several are one, and then each with its reason."""
    lines = {name: f"Cluster operator {name} should not be upgraded {words.between}: " for name in blocking}
    if not blocking:
        return []
    if len(blocking) == 1:
        ((name, state),) = blocking.items()
        return [
            conditions.Condition(_OPERATORS, "False", state.get("reason", ""), lines[name] + state.get("message", ""))
        ]
    several = "\n* ".join(
        f"{lines[name]}{state.get('reason', '')}: {state.get('message', '')}" for name, state in blocking.items()
    )
    message = f"Multiple cluster operators should not be upgraded {words.between}:\n* {several}"
    return [conditions.Condition(_OPERATORS, "False", "ClusterOperatorsNotUpgradeable", message)]


def _risks(
    words: _Words, blocking: Mapping[str, Mapping[str, Any]], *, overridden: bool, updating: bool
) -> list[conditions.Condition]:
    # A risk's name is the reason where it may be one; that of an operator has a hyphen, and may not.
    risks = [("ClusterVersionUpdating", f"{_UPDATING}.")] if updating else []
    risks += [("ClusterVersionOverrides", words.overrides)] if overridden else []
    risks += [("RiskNameNotCompatibleWithReasonProperty", state.get("message", "")) for state in blocking.values()]
    if len(risks) < 2:
        return [conditions.Condition(_ALL, "False", reason, message) for reason, message in risks]
    lines = "\n* ".join(message for _, message in risks)
    message = f"Cluster should not be upgraded {words.between} for multiple reasons:\n* {lines}"
    return [conditions.Condition(_ALL, "False", "MultipleReasons", message)]
