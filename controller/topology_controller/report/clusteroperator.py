"""ClusterOperator `topology`: the conditions that follow from a decision, as docs/api.md lists them, and its status.

The same decision always gives the same text, and reason and message are there also when all is well: an empty one looks
like an operator that never ran. A condition keeps its lastTransitionTime while its status stays (the API's promise).
`extension` carries the head of the record, in case Infrastructure loses it. The object is written only when something
in it would differ; between two writes the server's copy is the truth.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from datetime import datetime
from typing import Any, NamedTuple

from topology_api.types import RecordCopy, stamp
from topology_api.vocabulary import ConditionStatus, ConditionType, Phase, Reason

from .. import bindata
from ..decide.state import Cause, Decision
from ..observe import facts

Raw = dict[str, Any]
_REASONS = {
    Phase.IDLE: (ConditionStatus.FALSE, Reason.AS_EXPECTED, Reason.AS_EXPECTED),
    Phase.UNSUPPORTED: (ConditionStatus.FALSE, Reason.UNSUPPORTED_TRANSITION, Reason.UNSUPPORTED_TRANSITION),
    Phase.PENDING: (ConditionStatus.FALSE, Reason.PREFLIGHT_UNMET, Reason.TRANSITION_PENDING),
    Phase.ADMITTING: (ConditionStatus.TRUE, Reason.TRANSITION_ADMITTING, Reason.TRANSITION_IN_PROGRESS),
    Phase.CONVERGING: (ConditionStatus.TRUE, Reason.TRANSITION_CONVERGING, Reason.TRANSITION_IN_PROGRESS),
    Phase.COMPLETED: (ConditionStatus.FALSE, Reason.TRANSITION_COMPLETED, Reason.AS_EXPECTED),
}
"""Status and reason of Progressing, and the reason of Upgradeable where there is a block."""
_STOPPING = frozenset({Reason.API_NOT_INSTALLED, Reason.INFRASTRUCTURE_MISSING, Reason.TOPOLOGY_OVERWRITTEN})
"""Nothing goes on while these last, whatever was under way: but what was keeps blocking upgrades."""


class Condition(NamedTuple):
    """A condition to report; its time is added where it is compared with what was reported before."""

    type: ConditionType
    status: ConditionStatus
    reason: Reason
    message: str


def conditions(decision: Decision) -> tuple[Condition, ...]:
    """All five conditions, in the order in which they are written."""
    degraded, disabled, block = decision.degraded, decision.disabled, decision.upgrade_block
    stood_down, true, false = _both(disabled, decision.misconfigured), ConditionStatus.TRUE, ConditionStatus.FALSE
    # Of the reasons of Degraded the transition goes before the configuration. An operator that stands down is well: the
    # controller that is in charge may wait for all others to be.
    trouble = None if disabled else _both(degraded, decision.misconfigured) or decision.misconfigured
    status, reason, of_block = _REASONS[decision.phase]
    progressing = Condition(ConditionType.PROGRESSING, status, reason, decision.sentence)
    message = ""
    if disabled is not None:
        message = "The operator takes no action on this cluster"
    elif degraded is not None and (block is None or degraded.reason in _STOPPING):
        message = f"Stopped: {degraded.message}"
    if message:
        progressing = Condition(ConditionType.PROGRESSING, false, Reason.AS_EXPECTED, message)
    blocked = None if block is None or disabled else Cause(of_block, block)
    return (
        _unless(None, ConditionType.AVAILABLE, true, "The cluster topology operator watches Infrastructure cluster"),
        progressing,
        _unless(trouble, ConditionType.DEGRADED, false, "Nothing is wrong"),
        _unless(blocked, ConditionType.UPGRADEABLE, true, "Upgrades are not blocked by this operator"),
        _unless(stood_down, ConditionType.DISABLED, false, "The operator manages this cluster's topology"),
    )


def _both(first: Cause | None, second: Cause | None) -> Cause | None:
    """The first cause, with the second in its message; None where the first is."""
    if first is None or second is None:
        return first
    return dataclasses.replace(first, message=f"{first.message}. Besides, {second.reason}: {second.message}")


def _unless(cause: Cause | None, type_: ConditionType, usual: ConditionStatus, well: str) -> Condition:
    """The condition with the status that it has when all is well, or with the other one, for this cause."""
    if cause is None:
        return Condition(type_, usual, Reason.AS_EXPECTED, well)
    other = ConditionStatus.FALSE if usual is ConditionStatus.TRUE else ConditionStatus.TRUE
    return Condition(type_, other, cause.reason, cause.message)


@functools.cache
def related_objects(namespace: str) -> list[Raw]:
    """What must-gather collects for us, whether or not the operator runs (the same list stands in the manifest)."""
    named = {"group": "", "resource": "namespaces", "name": namespace}
    leases = {"group": "coordination.k8s.io", "resource": "leases", "namespace": namespace, "name": ""}
    others = json.loads((bindata.root() / "related-objects.json").read_text(encoding="utf-8"))
    return [named, leases, *others]


def status(
    decision: Decision, own: facts.Fact[facts.OwnOperator], *, now: datetime, version: str, namespace: str
) -> Raw:
    """The status that should stand on the server after this decision."""
    before = own.status if isinstance(own, facts.OwnOperator) else {}
    # A decision that leaves the record alone leaves its copy alone too.
    copy = before.get("extension") if decision.record is None else RecordCopy.of(decision.record).to_api()
    # The version operator waits for this number before it calls an upgrade done (the promise of a ClusterOperator): it
    # is ours once this version can do its work on this cluster, and until then what was reported before.
    versions = [{"name": "operator", "version": version}] if decision.level else before.get("versions")
    return {
        "conditions": merged_conditions(decision, before, stamp(now)),
        "versions": [item for item in versions if isinstance(item, dict)] if isinstance(versions, list) else [],
        "relatedObjects": related_objects(namespace),
        "extension": copy if isinstance(copy, dict) else None,
    }


def differs(wanted: Raw, own: facts.Fact[facts.OwnOperator]) -> bool:
    """Would writing this status change anything?"""
    if isinstance(own, facts.Unobserved):
        return True
    return any(own.status.get(key) != value for key, value in wanted.items())


def news(wanted: Raw, own: facts.Fact[facts.OwnOperator]) -> bool:
    """Is more of this status new than a text? The version operator compares the message of Upgradeable: it is more."""
    if isinstance(own, facts.Unobserved):
        return True
    return _lasting(wanted) != _lasting({key: own.status.get(key) for key in wanted})


def _lasting(status: Raw) -> Raw:
    """What of a status is more than a text: an answer of a check is one, a problem is its reason and its time."""
    listed, extension = status["conditions"], status["extension"]
    if isinstance(listed, list):
        listed = [_untexted(item) for item in listed]
    if isinstance(extension, dict):
        extension = {name: value for name, value in extension.items() if name not in {"checks", "progress"}}
        extension["problem"] = _untexted(extension.get("problem"))
    return {**status, "conditions": listed, "extension": extension}


def _untexted(item: object) -> object:
    if not isinstance(item, dict) or item.get("type") == ConditionType.UPGRADEABLE:
        return item
    return {name: value for name, value in item.items() if name != "message"}


def stored_conditions(status: Raw) -> dict[str, Raw]:
    """Conditions by type as they stand on the server, where anything may stand."""
    listed = status.get("conditions")
    items = [item for item in (listed if isinstance(listed, list) else []) if isinstance(item, dict)]
    return {item["type"]: item for item in items if isinstance(item.get("type"), str)}


def merged_conditions(decision: Decision, before: Raw, stamp: str | None) -> list[Raw]:
    """The conditions of a decision; those whose status changes since the status `before` get the time `stamp`."""
    stored = stored_conditions(before)
    merged = []
    for condition in conditions(decision):
        earlier = stored.get(condition.type.value)
        same = earlier is not None and earlier.get("status") == condition.status.value
        time = earlier.get("lastTransitionTime") if same and earlier else None
        texts = dict(zip(Condition._fields, map(str, condition), strict=True))
        merged.append({**texts, "lastTransitionTime": time if isinstance(time, str) else stamp})
    return merged
