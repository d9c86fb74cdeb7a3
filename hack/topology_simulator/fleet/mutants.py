"""Mutants of the pack: each takes one of its safeguards away, and one story must then not hold.

A story that holds anyway would prove nothing about that safeguard. `change` gets each object on its way to the
hub or to a cluster and alters it in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class Mutant:
    """A safeguard that is missing, and the story that shows it."""

    what: str
    story: str
    change: Callable[[dict[str, Any]], None]


def _templates(obj: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the spec of a ManifestWork, wherever it is in an object."""
    spec = obj.get("spec") or {}
    if obj["kind"] == "ManifestWorkReplicaSet":
        yield spec["manifestWorkTemplate"]
    if obj["kind"] == "ManifestWork":
        yield spec


def _configs(obj: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for template in _templates(obj):
        yield from template.get("manifestConfigs") or []


def _no_orphan(obj: dict[str, Any]) -> None:
    for template in _templates(obj):
        template.pop("deleteOption", None)


def _no_apply(obj: dict[str, Any]) -> None:
    for config in _configs(obj):
        config.pop("updateStrategy", None)


def _force(obj: dict[str, Any]) -> None:
    for config in _configs(obj):
        if "updateStrategy" in config:
            config["updateStrategy"]["serverSideApply"]["force"] = True


def _unguarded(obj: dict[str, Any]) -> None:
    """Ask the record alone, as if it were always there.

    Beside a comparison that is False an error does not count: CEL's && and || take either side's answer.
    """
    phase = "object.status.topologyTransition.phase"
    expressions = {"Progressing": f"{phase} != 'Completed'", "Degraded": f"{phase} == 'Unsupported'"}
    for rule in (rule for config in _configs(obj) for rule in config.get("conditionRules") or []):
        rule["celExpressions"] = [expressions[rule["condition"]]]


def _no_failure(obj: dict[str, Any]) -> None:
    for config in _configs(obj):
        rules = config.get("conditionRules") or []
        config["conditionRules"] = [rule for rule in rules if rule["condition"] != "Degraded"]


def _no_toleration(obj: dict[str, Any]) -> None:
    if obj["kind"] == "Placement":
        obj["spec"].pop("tolerations")


def _no_canary(obj: dict[str, Any]) -> None:
    if obj["kind"] == "ManifestWorkReplicaSet":
        for reference in obj["spec"]["placementRefs"]:
            (reference["rolloutStrategy"].get("progressive") or {}).pop("mandatoryDecisionGroups", None)


def _update(obj: dict[str, Any]) -> None:
    if obj["kind"] == "ClusterRole":
        for rule in obj["rules"]:
            if "patch" in rule["verbs"]:
                rule["verbs"] = [*rule["verbs"], "update"]


MUTANTS = {
    "no-canary": Mutant("no group goes first", "spoke-unreachable", _no_canary),
    "no-apply": Mutant("the whole object is replaced", "canary-then-wave", _no_apply),
    "no-orphan": Mutant("the object goes with its work", "canary-then-wave", _no_orphan),
    "no-failure": Mutant("no rule says that a cluster has failed", "canary-stuck", _no_failure),
    "no-toleration": Mutant("a cluster that is unreachable is no longer placed", "canary-lost", _no_toleration),
    "unguarded": Mutant("rules ask a record that may be missing", "operator-missing", _unguarded),
    "force": Mutant("conflicts are won by force", "bad-manifest", _force),
    "update": Mutant("the work agent may replace the object", "bad-manifest", _update),
}
