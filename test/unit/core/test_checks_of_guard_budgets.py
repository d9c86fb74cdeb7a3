"""PodDisruptionBudgets of guard pods: one control-plane node at a time may go."""

from __future__ import annotations

import dataclasses

import pytest

from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller.definitions import model
from topology_controller.observe import facts

from . import measured_cluster, worlds

GUARDS = CheckName.GUARD_POD_DISRUPTION_BUDGETS
ETCD_GUARD = "poddisruptionbudgets.policy/openshift-etcd/etcd-guard-pdb"
NUDGE = "oc annotate node node-0 topology.openshift.io/nudged-for=guard --overwrite"


@pytest.mark.parametrize("found", [0, 1, 3, None])
def test_another_number_than_one_less_than_the_nodes_is_unmet(found: int | None) -> None:
    status, message = measured_cluster.followed().having(ETCD_GUARD, facts.DisruptionBudget(found)).ask(GUARDS)
    assert status is CheckStatus.UNMET
    assert f"Wanted: {ETCD_GUARD} with minAvailable 2. Found: {ETCD_GUARD} " in message


@pytest.mark.parametrize(
    "found",
    [facts.Unobserved(ETCD_GUARD, "NotFound", missing=True), facts.DisruptionBudget(1), facts.DisruptionBudget(None)],
    ids=["missing", "another number", "a percentage"],
)
def test_a_budget_that_lacks_says_what_its_operator_waits_for(found: facts.Fact[facts.Operand]) -> None:
    """The guard controllers do not watch Infrastructure: beside a real etcd operator nothing came for 80 s."""
    _, message = measured_cluster.followed().having(ETCD_GUARD, found).ask(GUARDS)
    assert (
        "looks again at the next event of a Node, Pod or ServiceAccount. The machine config controller makes one"
        in message
    )
    assert message.endswith(NUDGE)


def test_nothing_is_nudged_where_all_is_well_or_unreadable() -> None:
    assert "oc annotate" not in measured_cluster.followed().ask(GUARDS)[1]
    assert "oc annotate" not in measured_cluster.followed().having(ETCD_GUARD, worlds.BROKEN).ask(GUARDS)[1]


def test_a_single_node_needs_none() -> None:
    single = model.Target.model_validate({"controlPlane": "SingleReplica", "infrastructure": "SingleReplica"})
    cluster = measured_cluster.followed().having(ETCD_GUARD, facts.Unobserved(ETCD_GUARD, "NotFound", missing=True))
    assert cluster.ask(GUARDS)[0] is CheckStatus.UNMET
    asked = cluster.asked.model_copy(update={"target": single})
    assert dataclasses.replace(cluster, asked=asked).ask(GUARDS)[0] is CheckStatus.MET
