"""What a command has read, made from facts, and what it would answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from topology_api.vocabulary import Phase
from topology_controller.observe import facts
from topology_controller.plugin import cluster, document, printing
from topology_controller.plugin.commands import audit, plan, status

from ..core import worlds

if TYPE_CHECKING:
    from datetime import datetime

LEASE = facts.EtcdLease("operator-a_1", worlds.NOW, 137)
WITHOUT_REQUEST = worlds.with_infrastructure(worlds.healthy(), desired=None, cluster_name="edge-7f4kd")


def seen(known: facts.Facts, now: datetime = worlds.NOW, **changes: Any) -> cluster.Snapshot:
    assert isinstance(known.infrastructure, facts.Infrastructure)
    return cluster.Snapshot(known, known.infrastructure, **{"operator": LEASE, "now": now, **changes})


def planned(known: facts.Facts, target: str = "HighlyAvailable", **changes: Any) -> dict[str, Any]:
    found, _ = plan.target(seen(known, **changes), worlds.TRANSITIONS, target)
    return through_json(found)


def overview(known: facts.Facts, **changes: Any) -> dict[str, Any]:
    found, _ = plan.overview(seen(known, **changes), worlds.TRANSITIONS)
    return through_json(found)


def told(known: facts.Facts, **changes: Any) -> dict[str, Any]:
    return through_json(status.status(seen(known, **changes), worlds.TRANSITIONS))


def audited(known: facts.Facts, **changes: Any) -> dict[str, Any]:
    found, _ = audit.audit(seen(known, **changes), worlds.TRANSITIONS)
    return through_json(found)


def through_json(found: Any) -> dict[str, Any]:
    again: dict[str, Any] = json.loads(json.dumps(found, allow_nan=False))
    assert again == found, "an answer is JSON as it stands"
    return again


def printed(found: Any, width: int = 0, *, colour: bool = False) -> str:
    sheet = document.Document(width, colour)
    by_kind: dict[str, Any] = {
        "TopologyPlan": printing.plan,
        "TopologyPlanList": printing.overview,
        "TopologyStatus": printing.status,
        "TopologyAudit": printing.audit,
        "TopologySet": printing.request,
        "TopologyCancel": printing.cancel,
    }
    by_kind[found["kind"]](sheet, found)
    return sheet.text()


def in_phase(phase: Phase) -> facts.Facts:
    """A cluster in that phase, as the operator has recorded it."""
    if phase is Phase.IDLE:
        return WITHOUT_REQUEST
    if phase is Phase.CONVERGING:
        return worlds.moved(worlds.healthy(), worlds.converging())
    if phase is Phase.COMPLETED:
        return worlds.moved(worlds.converged(worlds.healthy()), worlds.completed())
    if phase is Phase.ADMITTING:
        return worlds.recorded(worlds.healthy(), worlds.admitting())
    known = worlds.healthy(scheduler=facts.Scheduler(masters_schedulable=False))
    if phase is Phase.UNSUPPORTED:
        known = worlds.with_infrastructure(known, desired="DualReplica")
    return worlds.recorded(known, worlds.decide(known, transitions=worlds.TRANSITIONS).record)
