"""The operands of the simulated cluster: those that the operator's matrix names, and as many of them as it says.

The two accounts are written apart (`topology_simulator.operands` and bindata/operands); here they meet.
"""

from __future__ import annotations

import pytest

from topology_api.types import TopologyPair
from topology_controller.definitions import operands as matrices
from topology_simulator import cluster, conditions, follow, install, kinds, machines

MATRIX = matrices.shipped()
EVERYTHING = cluster.Shape(masters=3, registry="Managed", registry_replicas=2)


def object_of(operand):
    """Return kind, name and namespace as the simulator has them."""
    plural, _, group = operand.plural.partition(".")
    kind = next(one for one in kinds.ALL if (one.plural, one.group) == (plural, group))
    return kind, operand.name, operand.namespace or ""


async def move(api, control_plane, infrastructure):
    status = {"controlPlaneTopology": control_plane, "infrastructureTopology": infrastructure}
    await api.patch_status(kinds.INFRASTRUCTURES, "cluster", status)
    await follow.follow(api)


async def test_every_operand_of_the_matrix_is_there_and_follows(api):
    await install.install(api, EVERYTHING)
    operands = [(group, operand) for group in MATRIX.groups for operand in group.operands]
    before = {operand.key: await api.find(*object_of(operand)) for _, operand in operands}
    absent = {operand.key for _, operand in operands if before[operand.key] is None}
    assert absent == {operand.key for _, operand in operands if operand.kind == "PodDisruptionBudget"}
    await move(api, "HighlyAvailable", "HighlyAvailable")
    for group, operand in operands:
        found = await api.get(*object_of(operand))
        assert has_followed(group, operand, before[operand.key], found), (operand.key, found)


def has_followed(group, operand, before, found):
    """Whether the object is as the matrix says for a HighlyAvailable cluster of three control-plane nodes."""
    status = found.get("status") or {}
    wanted = operand.replicas
    if wanted == "perControlPlaneNode":
        wanted = 3
    elif wanted == "perConfiguration":
        wanted = status["replicas"]
    elif wanted is not None:
        wanted = wanted[group.topology(TopologyPair(control_plane="HighlyAvailable", infrastructure="HighlyAvailable"))]
    match operand.kind:
        case "Deployment" | "StatefulSet":
            observed = status["observedGeneration"] == found["metadata"]["generation"]
            return observed and status["readyReplicas"] == status["updatedReplicas"] == wanted
        case "IngressController":
            return status["availableReplicas"] == wanted
        case "StaticPods":
            latest = status["latestAvailableRevision"]
            new = latest > before["status"]["latestAvailableRevision"]
            current = [one["currentRevision"] for one in status["nodeStatuses"]]
            return new is (operand.variant is not None) and current == [latest] * 3
        case "PodDisruptionBudget":
            return found["spec"]["minAvailable"] == 2
        case "MachineConfigPool":
            return status["configuration"]["name"] != before["status"]["configuration"]["name"]
    return False


async def test_operators_report_and_say_what_they_were_told_where_the_matrix_looks(api):
    await install.install(api, EVERYTHING)
    for group in MATRIX.groups:
        for operator in {group.operator, *(one.operator or group.operator for one in group.operands)}:
            found = await api.get(kinds.CLUSTER_OPERATORS, operator)
            assert conditions.find(found, "Progressing")["status"] == "False", operator
        if group.managed_by:
            plural, _, name = group.managed_by.key.partition("/")
            assert (await api.get(kinds.named(plural), name))["spec"]["managementState"] == "Managed", group.check
    for reader in MATRIX.startup_readers:
        (pod,) = await api.list(kinds.PODS, reader.namespace)
        (lease,) = await api.list(kinds.LEASES, reader.namespace)
        holder = lease["spec"]["holderIdentity"].partition("_")[0]
        assert (holder, lease["spec"]["leaseDurationSeconds"]) == (pod["metadata"]["name"], 270), reader


async def test_a_cluster_that_is_highly_available_from_the_beginning_is_at_rest(api):
    await install.install(api, cluster.Shape(control_plane="HighlyAvailable", masters=3, workers=1, schedulable=False))
    served = [kind for kind in kinds.ALL if kind != kinds.SIGNING_REQUESTS]
    before = [await api.list(kind) for kind in served]
    await follow.follow(api)
    assert [await api.list(kind) for kind in served] == before
    assert len(await api.list(kinds.DISRUPTION_BUDGETS)) == 4
    taints = {one["metadata"]["name"]: one["spec"].get("taints") for one in await api.list(kinds.NODES)}
    assert taints["worker-0"] is None
    assert [one["key"] for one in taints["master-1"]] == [machines.LABEL + "master"]


async def test_what_the_cluster_does_not_have_is_not_deployed(api):
    await install.install(api, cluster.Shape(without=("Console", "OperatorLifecycleManager"), registry="Removed"))
    left_out = ("openshift-console", "openshift-operator-lifecycle-manager", "openshift-image-registry")
    assert [one for namespace in left_out for one in await api.list(kinds.DEPLOYMENTS, namespace)] == []
    await follow.follow(api)
    assert [one for namespace in left_out for one in await api.list(kinds.DEPLOYMENTS, namespace)] == []
    monitoring = {one["metadata"]["name"] for one in await api.list(kinds.DEPLOYMENTS, "openshift-monitoring")}
    assert "prometheus-operator-admission-webhook" in monitoring
    assert "monitoring-plugin" not in monitoring, "it is a part of the console"


class TestFollowing:
    """`follow`, which tests without actors use."""

    @pytest.fixture(autouse=True)
    async def cluster(self, api):
        await install.install(api, EVERYTHING)

    async def test_what_is_left_out_stays(self, api):
        status = {"controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable"}
        await api.patch_status(kinds.INFRASTRUCTURES, "cluster", status)
        await follow.follow(api, without={"console", "openshift-monitoring/prometheus-k8s", "machine-config/pools"})
        assert await replicas(api, kinds.DEPLOYMENTS, "openshift-console") == {"console": 1, "downloads": 1}
        assert await replicas(api, kinds.STATEFUL_SETS, "openshift-monitoring") == {
            "alertmanager-main": 2,
            "prometheus-k8s": 1,
        }
        pool = await api.get(kinds.MACHINE_CONFIG_POOLS, "master")
        assert pool["spec"]["configuration"]["name"] == cluster.rendered("master", "SingleReplica")


async def replicas(api, kind, namespace):
    return {one["metadata"]["name"]: one["spec"]["replicas"] for one in await api.list(kind, namespace)}
