"""What a decision says, in the words of the tests: conditions by type, reasons of events, checks that fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckStatus, ConditionStatus, ConditionType, Reason
from topology_controller.report import conditions

if TYPE_CHECKING:
    from topology_api.types import TopologyTransition
    from topology_api.vocabulary import EventReason
    from topology_controller.decide.decision import Decision

T, F = ConditionStatus.TRUE, ConditionStatus.FALSE


def said(decision: Decision, type_: ConditionType) -> tuple[ConditionStatus, Reason]:
    found = {condition.type: condition for condition in conditions.of(decision)}
    assert found[type_].message, type_
    return found[type_].status, found[type_].reason


def row(decision: Decision) -> dict[str, tuple[ConditionStatus, Reason]]:
    return {type_.value: said(decision, type_) for type_ in ConditionType}


WELL = {type_.value: (F, Reason.AS_EXPECTED) for type_ in ConditionType} | {
    "Available": (T, Reason.AS_EXPECTED),
    "Upgradeable": (T, Reason.AS_EXPECTED),
}


def reasons(decision: Decision) -> list[EventReason]:
    return [happening.reason for happening in decision.happened]


def failing(record: TopologyTransition | None) -> list[str]:
    return [check.name for check in (record.checks if record else ()) if check.status is not CheckStatus.MET]
