"""Deployments, StatefulSets and PodDisruptionBudgets on the embedded server, where no controller manager runs."""

from __future__ import annotations

import pytest

from topology_simulator import kinds, operands

DEPLOYMENT = next(one for one in operands.WORKLOADS if one.kind is kinds.DEPLOYMENTS)
STATEFUL_SET = next(one for one in operands.WORKLOADS if one.kind is kinds.STATEFUL_SETS)


@pytest.fixture
def made(api):
    """Create a workload in namespace default, without a number of replicas."""

    async def create(one):
        obj = operands.workload(one, 2)
        del obj["spec"]["replicas"]
        return await api.create(one.kind, {**obj, "metadata": {"name": "one", "namespace": "default"}})

    return create


@pytest.mark.parametrize(("one", "status"), [(DEPLOYMENT, {}), (STATEFUL_SET, {"replicas": 0, "availableReplicas": 0})])
async def test_a_workload_without_a_number_has_one_replica_and_no_status(made, one, status):
    found = await made(one)
    assert found["spec"]["replicas"] == 1
    assert found["status"] == status


@pytest.mark.parametrize("one", [DEPLOYMENT, STATEFUL_SET])
async def test_the_generation_counts_what_was_asked_for_and_not_what_is(api, made, one):
    await made(one)
    written = await api.patch_status(one.kind, "one", operands.workload_status(one, 1, 1, 1), "default")
    assert (written["metadata"]["generation"], written["status"]["readyReplicas"]) == (1, 1)
    asked = await api.patch(one.kind, "one", {"spec": {"replicas": 2}, "status": {"readyReplicas": 2}}, "default")
    assert (asked["metadata"]["generation"], asked["status"]["readyReplicas"]) == (2, 1)


async def test_a_budget_counts_from_nothing(api):
    budget = operands.budget(operands.STATIC_PODS[0], 3)
    found = await api.create(kinds.DISRUPTION_BUDGETS, {**budget, "metadata": {"name": "one", "namespace": "default"}})
    assert found["spec"]["minAvailable"] == 2
    assert set(found["status"].values()) == {0}


@pytest.mark.parametrize(
    ("one", "name", "ready"), [(DEPLOYMENT, "deployments", "0/1"), (STATEFUL_SET, "statefulsets", "0/1")]
)
async def test_kubectl_shows_how_many_are_ready(api, made, one, name, ready):
    await made(one)
    assert one.kind.plural == name
    table = await api._call(
        "GET", one.kind.path("one", "default"), accept="application/json;as=Table;v=v1;g=meta.k8s.io"
    )
    assert table["rows"][0]["cells"][:2] == ["one", ready]
