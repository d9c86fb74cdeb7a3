"""Infrastructure that was read and makes no sense: nothing is decided, what was under way keeps upgrades blocked."""

from __future__ import annotations

import pytest

from topology_api.vocabulary import Phase, Reason
from topology_controller.decide import decision
from topology_controller.observe import facts

from . import worlds

WHAT = "infrastructures.config.openshift.io/cluster"
NONSENSE = facts.Unobserved(WHAT, "spec.desiredTopology should be a string, found int", malformed=True)


def _decided(own: facts.Fact[facts.OwnOperator]) -> decision.Decision:
    return worlds.decide(worlds.healthy(infrastructure=NONSENSE, own_operator=own))


def test_what_was_under_way_keeps_upgrades_blocked() -> None:
    found = _decided(worlds.copy_of(worlds.converging()))
    assert (found.phase, found.watch, found.steps) == (Phase.CONVERGING, True, (decision.Step.REPORT,))
    assert found.upgrade_block
    assert found.degraded is not None
    assert found.degraded.reason is Reason.EVIDENCE_UNREADABLE
    assert "spec.desiredTopology" in found.degraded.message


@pytest.mark.parametrize("own", [worlds.own(), worlds.copy_of(worlds.completed())], ids=["no copy", "completed"])
def test_where_nothing_is_under_way_it_is_only_told(own: facts.OwnOperator) -> None:
    found = _decided(own)
    assert (found.phase, found.watch, found.upgrade_block) == (Phase.IDLE, False, None)
    assert found.degraded is not None
    assert found.degraded.reason is Reason.EVIDENCE_UNREADABLE
