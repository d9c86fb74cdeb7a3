"""OpenShift's own controller of topologies, as others see it: on while its gate is on, gone but for its conditions."""

from __future__ import annotations

import pytest

from topology_simulator import cluster, conditions, kinds, pace, play, scenario
from topology_simulator.actors import native

TYPE = "TopologyTransitionControllerUpgradeable"
PROGRESSING = "TopologyTransitionControllerProgressing"


@pytest.fixture
def switch(living):
    """Turn the gate on or off, as a scenario does, and wait until a process that has read that holds the Lease.

    What a test does next would otherwise reach the process of before, which knows nothing of the gate yet.
    """
    player = play.Player(living.api, living.actors, pace.FAST, lambda _: None)
    processes = 1

    async def switched(*, on):
        nonlocal processes
        await living.eventually(holder(living), f"config-operator-{processes}")
        await player._switch(scenario.Gate(name=native.GATE, enabled=on))
        processes += 1
        await living.eventually(holder(living), f"config-operator-{processes}")

    return switched


async def ask_for(living, topology):
    await living.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"controlPlaneTopology": topology}})


@pytest.fixture
def reason(living):
    async def found():
        return conditions.find(await living.api.get(kinds.CONFIGS, "cluster"), TYPE).get("reason")

    return found


async def topology(living):
    return (await living.api.get(kinds.INFRASTRUCTURES, "cluster"))["status"]["controlPlaneTopology"]


async def test_it_says_what_is_unmet_in_progressing_only_and_moves_the_topology_once_there_are_three_voters(
    living, switch, reason
):
    await switch(on=True)
    await living.eventually(reason, "AsExpected")
    await ask_for(living, "HighlyAvailable")
    await living.eventually(reason, "PreflightCheckFailed")
    assert "insufficient ready control plane nodes: need 3, have 1" in await progressing(living)
    upgradeable = conditions.find(await living.api.get(kinds.CONFIGS, "cluster"), TYPE)
    assert upgradeable["message"].startswith("Cluster upgrade is not allowed while a topology transition is pending")
    assert await topology(living) == "SingleReplica"
    await living.join("master-1", "master-2")
    await living.eventually(lambda: topology(living), "HighlyAvailable")
    await living.eventually(reason, "TopologyTransitionComplete")


async def test_it_says_what_it_does_not_know(living, switch, reason):
    await switch(on=True)
    await ask_for(living, "DualReplica")
    await living.eventually(reason, "UnsupportedTransition")
    await ask_for(living, None)
    await living.eventually(reason, "AsExpected")


async def test_switched_off_it_leaves_its_conditions_and_does_nothing(living, switch, reason):
    assert await reason() is None
    await switch(on=True)
    await living.eventually(reason, "AsExpected")
    await switch(on=False)
    await living.join("master-1", "master-2")
    await living.eventually(living.voters, ["master-0", "master-1", "master-2"])
    await ask_for(living, "HighlyAvailable")
    await living.eventually(lambda: living.operator("etcd", "Progressing"), "False")
    assert await topology(living) == "SingleReplica"
    assert await reason() == "AsExpected"
    gates = (await living.api.get(kinds.FEATURE_GATES, "cluster"))["status"]["featureGates"]
    names = [[one["name"] for one in gates[0][part]].count(native.GATE) for part in ("enabled", "disabled")]
    assert names == [0, 1]


async def progressing(living):
    return conditions.find(await living.api.get(kinds.CONFIGS, "cluster"), PROGRESSING).get("message", "")


@pytest.mark.parametrize("wrong", [("Progressing", "True"), ("Degraded", "True"), ("Available", "False")])
async def test_every_other_operator_has_to_be_at_rest_ours_too(living, switch, wrong):
    await living.join("master-1", "master-2")
    await living.eventually(living.voters, ["master-0", "master-1", "master-2"])
    ours = [*conditions.stated("operator at rest", name="topology"), conditions.Condition(*wrong)]
    named = {one.type: one for one in ours}.values()
    await living.api.create(kinds.CLUSTER_OPERATORS, kinds.CLUSTER_OPERATORS.new("topology", spec={}))
    await living.api.patch_status(kinds.CLUSTER_OPERATORS, "topology", {"conditions": conditions.written(named)})
    await switch(on=True)
    await ask_for(living, "HighlyAvailable")

    async def refuses():
        return f"topology: {wrong[0]}={wrong[1]}" in await progressing(living)

    await living.eventually(refuses, wanted=True)
    assert await topology(living) == "SingleReplica"
    well = conditions.written(conditions.stated("operator at rest", name="topology"))
    await living.api.patch_status(kinds.CLUSTER_OPERATORS, "topology", {"conditions": well})
    await living.eventually(lambda: topology(living), "HighlyAvailable")


async def test_its_operator_blocks_upgrades_until_its_conditions_are_removed_also_without_the_gate(
    living, switch, reason
):
    await switch(on=True)
    await ask_for(living, "HighlyAvailable")
    await living.eventually(reason, "PreflightCheckFailed")
    await living.eventually(lambda: living.operator("config-operator", "Upgradeable"), "False")
    await switch(on=False)
    await ask_for(living, None)
    await looks(living)
    assert await living.operator("config-operator", "Upgradeable") == "False"
    found = (await living.api.get(kinds.CLUSTER_OPERATORS, "config-operator"))["status"]["conditions"]
    said = next(one for one in found if one["type"] == "Upgradeable")
    assert said["reason"] == "TopologyTransitionController_PreflightCheckFailed"
    config = await living.api.get(kinds.CONFIGS, "cluster")
    left = [one for one in config["status"]["conditions"] if not one["type"].startswith("TopologyTransition")]
    await living.api.patch_status(kinds.CONFIGS, "cluster", {"conditions": left})
    await living.eventually(lambda: living.operator("config-operator", "Upgradeable"), "True")


async def looks(living):
    """Wait until the controller has looked once more: until its Lease was renewed by two steps."""
    for _ in range(2):
        before = await renewed(living)
        await living.eventually(lambda before=before: later(living, before), wanted=True)


async def renewed(living):
    lease = await living.api.get(kinds.LEASES, cluster.NATIVE_LEASE, cluster.NATIVE_NAMESPACE)
    return lease["spec"]["renewTime"]


async def later(living, before):
    return await renewed(living) != before


def holder(living):
    async def found():
        lease = await living.api.get(kinds.LEASES, cluster.NATIVE_LEASE, cluster.NATIVE_NAMESPACE)
        return lease["spec"]["holderIdentity"]

    return found


async def test_it_writes_the_whole_status_and_drops_what_it_does_not_know(living, switch, reason):
    """A typed client: our record goes, the request stays."""
    await living.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"desiredTopology": "HighlyAvailable"}})
    await living.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": {"phase": "Idle"}})
    await living.join("master-1", "master-2")
    await switch(on=True)
    await ask_for(living, "HighlyAvailable")
    await living.eventually(lambda: topology(living), "HighlyAvailable")
    found = await living.api.get(kinds.INFRASTRUCTURES, "cluster")
    assert "topologyTransition" not in found["status"]
    assert found["spec"]["desiredTopology"] == "HighlyAvailable"
    assert found["status"]["infrastructureName"]


async def test_it_is_complete_after_a_pause_although_nothing_followed(running):
    async with running(hold=("ingress",)) as living:
        player = play.Player(living.api, living.actors, pace.FAST, lambda _: None)
        await living.eventually(holder(living), "config-operator-1")
        await player._switch(scenario.Gate(name=native.GATE, enabled=True))
        await living.join("master-1", "master-2")
        await ask_for(living, "HighlyAvailable")

        async def found():
            return conditions.find(await living.api.get(kinds.CONFIGS, "cluster"), TYPE).get("reason")

        await living.eventually(found, "TopologyTransitionComplete")
        assert await living.routers() == 1
