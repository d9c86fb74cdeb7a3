"""PodDisruptionBudgets of guard pods: one control-plane node at a time may go."""

from __future__ import annotations

import pytest

from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller.observe import facts

from . import measuring, worlds

GUARDS = CheckName.GUARD_POD_DISRUPTION_BUDGETS
ETCD_GUARD = "poddisruptionbudgets.policy/openshift-etcd/etcd-guard-pdb"
ARBITER = facts.OtherNode("arbiter", master=False, arbiter=True)


@pytest.mark.parametrize("found", [0, 1, 3, None])
def test_another_number_than_one_less_than_the_nodes_is_unmet(found: int | None) -> None:
    status, message = measuring.followed().having(ETCD_GUARD, facts.DisruptionBudget(found)).ask(GUARDS)
    assert status is CheckStatus.UNMET
    assert f"Wanted: {ETCD_GUARD} with minAvailable 2. Found: {ETCD_GUARD} " in message


def test_it_goes_with_the_nodes_as_found() -> None:
    four = tuple(worlds.node(index % 3, name=f"node-{index}") for index in range(4))
    status, message = measuring.followed().but(control_plane_nodes=four).ask(GUARDS)
    assert status is CheckStatus.UNMET
    assert "with minAvailable 3" in message
    assert measuring.followed().but(control_plane_nodes=()).ask(GUARDS)[0] is CheckStatus.UNKNOWN


def test_an_arbiter_that_stays_may_be_counted_in() -> None:
    cluster = measuring.followed(measuring.definition("arbiter-to-ha")).but(other_nodes=(ARBITER,))
    for counted in (2, 3):
        assert cluster.having(ETCD_GUARD, facts.DisruptionBudget(counted)).ask(GUARDS)[0] is CheckStatus.MET
    for wrong in (1, 4):
        assert cluster.having(ETCD_GUARD, facts.DisruptionBudget(wrong)).ask(GUARDS)[0] is CheckStatus.UNMET


def test_what_is_missing_or_unreadable_is_never_met() -> None:
    gone = facts.Unobserved(ETCD_GUARD, "NotFound", missing=True)
    status, message = measuring.followed().having(ETCD_GUARD, gone).ask(GUARDS)
    assert status is CheckStatus.UNMET
    assert f"{ETCD_GUARD} does not exist" in message
    assert "oc -n openshift-etcd get poddisruptionbudgets.policy etcd-guard-pdb" in message
    assert measuring.followed().having(ETCD_GUARD, worlds.BROKEN).ask(GUARDS)[0] is CheckStatus.UNKNOWN
