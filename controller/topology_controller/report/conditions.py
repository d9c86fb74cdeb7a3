"""The conditions that follow from a decision, as docs/api.md lists them.

The same decision always gives the same text. Reason and message are there also when all is well, because an empty one
looks like an operator that never ran.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topology_api.vocabulary import ConditionStatus, ConditionType, Phase, Reason

if TYPE_CHECKING:
    from ..decide.decision import Cause, Decision


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition to report; its time is added where it is compared with what was reported before."""

    type: ConditionType
    status: ConditionStatus
    reason: Reason
    message: str


_PROGRESSING = {
    Phase.IDLE: (ConditionStatus.FALSE, Reason.AS_EXPECTED),
    Phase.UNSUPPORTED: (ConditionStatus.FALSE, Reason.UNSUPPORTED_TRANSITION),
    Phase.PENDING: (ConditionStatus.FALSE, Reason.PREFLIGHT_UNMET),
    Phase.ADMITTING: (ConditionStatus.TRUE, Reason.TRANSITION_ADMITTING),
    Phase.CONVERGING: (ConditionStatus.TRUE, Reason.TRANSITION_CONVERGING),
    Phase.COMPLETED: (ConditionStatus.FALSE, Reason.TRANSITION_COMPLETED),
}
_STOPPING = frozenset({Reason.API_NOT_INSTALLED, Reason.TOPOLOGY_OVERWRITTEN})
"""Nothing goes on while these last, whatever was under way: but what was keeps blocking upgrades."""
_UPGRADEABLE = {
    Phase.UNSUPPORTED: Reason.UNSUPPORTED_TRANSITION,
    Phase.PENDING: Reason.TRANSITION_PENDING,
    Phase.ADMITTING: Reason.TRANSITION_IN_PROGRESS,
    Phase.CONVERGING: Reason.TRANSITION_IN_PROGRESS,
}


def of(decision: Decision) -> tuple[Condition, ...]:
    """All five conditions, in the order in which they are written."""
    degraded = decision.degraded
    stopped = decision.disabled is not None or (
        degraded is not None and (decision.upgrade_block is None or degraded.reason in _STOPPING)
    )
    return (
        Condition(
            ConditionType.AVAILABLE,
            ConditionStatus.TRUE,
            Reason.AS_EXPECTED,
            "The cluster topology operator watches Infrastructure cluster",
        ),
        _stopped_progressing(decision) if stopped else _progressing(decision),
        _when_true(ConditionType.DEGRADED, _trouble(decision), "Nothing is wrong"),
        _upgradeable(decision),
        _when_true(
            ConditionType.DISABLED,
            _both(decision.disabled, decision.misconfigured),
            "The operator manages this cluster's topology",
        ),
    )


def _trouble(decision: Decision) -> Cause | None:
    """The reason of Degraded: the transition before the configuration, and both where both are in trouble.

    An operator that stands down is well: the controller that is in charge may wait for all others to be.
    """
    if decision.disabled is not None:
        return None
    return _both(decision.degraded, decision.misconfigured) or decision.misconfigured


def _both(first: Cause | None, second: Cause | None) -> Cause | None:
    """The first cause, with the second in its message; None where the first is."""
    if first is None or second is None:
        return first
    return dataclasses.replace(first, message=f"{first.message}. Besides, {second.reason}: {second.message}")


def _progressing(decision: Decision) -> Condition:
    status, reason = _PROGRESSING[decision.phase]
    return Condition(ConditionType.PROGRESSING, status, reason, decision.sentence)


def _stopped_progressing(decision: Decision) -> Condition:
    degraded = decision.degraded
    message = "The operator takes no action on this cluster"
    if decision.disabled is None and degraded is not None:
        message = f"Stopped: {degraded.message}"
    return Condition(ConditionType.PROGRESSING, ConditionStatus.FALSE, Reason.AS_EXPECTED, message)


def _upgradeable(decision: Decision) -> Condition:
    if decision.upgrade_block is None or decision.disabled is not None:
        message = "Upgrades are not blocked by this operator"
        return Condition(ConditionType.UPGRADEABLE, ConditionStatus.TRUE, Reason.AS_EXPECTED, message)
    return Condition(
        ConditionType.UPGRADEABLE, ConditionStatus.FALSE, _UPGRADEABLE[decision.phase], decision.upgrade_block
    )


def _when_true(type_: ConditionType, trouble: Cause | None, well: str) -> Condition:
    if trouble is None:
        return Condition(type_, ConditionStatus.FALSE, Reason.AS_EXPECTED, well)
    return Condition(type_, ConditionStatus.TRUE, trouble.reason, trouble.message)
